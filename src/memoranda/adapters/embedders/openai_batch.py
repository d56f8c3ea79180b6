"""OpenAI's Batch API: many texts for half the price, within a day, resumable after a restart."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memoranda.adapters.embedders.http_client import known_code
from memoranda.adapters.embedders.recipes import Recipe
from memoranda.adapters.embedders.remote import RemoteEmbedder
from memoranda.domain.settings import EmbedderSettings
from memoranda.errors import BackendError
from memoranda.ports import BulkResult, Vector

if TYPE_CHECKING:
    from memoranda.adapters.embedders.openai import OpenAIDialect

MOST = 50_000
"""Texts in one batch, as OpenAI allows; the rest waits for the next."""
FIRST_POLL, LONGEST_POLL = 1.0, 15.0
"""Seconds between two questions whether a batch is done; doubled each time."""

_ENDPOINT = "/v1/embeddings"
_PATIENT = 4
"""Uploads and downloads get so many times the time of a request."""
_OVER = ("completed", "failed", "expired", "cancelled")
_OK = 200


@dataclass(frozen=True, slots=True)
class BatchState:
    """What is remembered of a batch that is under way; it holds no text, only salted hashes."""

    input_file: str
    salt: str
    ids: tuple[str, ...] = field(repr=False)
    batch: str = ""

    def id_of(self, prepared: str) -> str:
        """Return the name of a text in this batch."""
        return hashlib.blake2b(prepared.encode(), key=bytes.fromhex(self.salt), digest_size=16).hexdigest()


class BatchingEmbedder(RemoteEmbedder):
    """An embedder of OpenAI that gives large amounts to the Batch API; `embed_documents` asks directly as ever."""

    def __init__(self, dialect: OpenAIDialect, recipe: Recipe, settings: EmbedderSettings) -> None:
        super().__init__(dialect, recipe, settings)
        self._client, self._model = dialect.client, dialect.model
        self._root = dialect.url.removesuffix("/embeddings")
        self._threshold, self._wait = settings.batch_threshold, settings.batch_wait_seconds
        name = hashlib.sha256(f"{dialect.url}\0{dialect.model}".encode()).hexdigest()[:12]
        self._file = Path(settings.state) / f"openai-batch-{name}.json" if settings.state else None
        self._patience = self.for_documents
        long = _PATIENT * settings.timeout_seconds
        self._transfer = type(self._patience)(long, self._patience.attempts, 2 * long)

    def embed_bulk(self, texts: Sequence[str]) -> BulkResult:
        """Go on with the batch that is under way, or start one for as many texts as the setting asks for.

        Waits a little for it. What is not done stays with OpenAI and is fetched by a later call, of another process
        too.

        Raises:
            BackendError: OpenAI failed or refuses the batch; the next call tries again.
        """
        if self._file is None:
            return BulkResult()
        import filelock  # noqa: PLC0415 - few need it

        lock = filelock.FileLock(f"{self._file}.lock", timeout=0)
        try:
            with lock:
                return self._go_on(self._file, texts)
        except filelock.Timeout:  # another process has it in hand
            return BulkResult(under_way=frozenset(texts) if len(texts) >= self._threshold else frozenset())

    def _go_on(self, file: Path, texts: Sequence[str]) -> BulkResult:
        state = _read(file)
        if state is None:
            if len(texts) < self._threshold:
                return BulkResult()
            state = self._upload(texts[:MOST])
            _write(file, state)
        if not state.batch:
            state = self._create(state)
            _write(file, state)
        batch = self._poll(state)
        if batch is None:
            file.unlink(missing_ok=True)
            raise BackendError(f"{self._client.source} does not know the batch that was under way; a new one is made")
        mine = {state.id_of(self.prepared(text)): text for text in texts}
        known = set(state.ids)
        if batch.get("status") not in _OVER:
            return BulkResult(under_way=frozenset(text for name, text in mine.items() if name in known))
        result = self._collected(batch, {name: text for name, text in mine.items() if name in known})
        file.unlink(missing_ok=True)
        self._tidy(state, batch)
        return result

    def _upload(self, texts: Sequence[str]) -> BatchState:
        state = BatchState("", secrets.token_hex(16), ())
        prepared = {state.id_of(text): text for text in map(self.prepared, texts)}
        lines = [
            json.dumps({
                "custom_id": name, "method": "POST", "url": _ENDPOINT, "body": {"model": self._model, "input": text},
            })
            for name, text in prepared.items()
        ]  # fmt: skip
        answer = self._client.send(
            "POST", f"{self._root}/files", self._transfer, fields={"purpose": "batch"},
            files={"file": ("texts.jsonl", "\n".join(lines).encode("ascii"))},
        )  # fmt: skip
        return BatchState(_id_in(_parsed(answer), self._client.source), state.salt, tuple(prepared))

    def _create(self, state: BatchState) -> BatchState:
        """Create the batch of an uploaded file, or find the one that was created before a restart."""
        listed = self._client.json("GET", f"{self._root}/batches?limit=100", self._patience)
        for entry in listed.get("data", ()) if isinstance(listed, dict) else ():
            if isinstance(entry, dict) and entry.get("input_file_id") == state.input_file:
                return BatchState(state.input_file, state.salt, state.ids, _id_in(entry, self._client.source))
        body = {"input_file_id": state.input_file, "endpoint": _ENDPOINT, "completion_window": "24h"}
        made = self._client.json("POST", f"{self._root}/batches", self._patience, body=body)
        return BatchState(state.input_file, state.salt, state.ids, _id_in(made, self._client.source))

    def _poll(self, state: BatchState) -> Mapping[str, Any] | None:
        """Return the batch as it is once it is over, or after the time that is waited for it; None for none."""
        until, pause = time.monotonic() + self._wait, FIRST_POLL
        while True:
            found = self._client.json("GET", f"{self._root}/batches/{state.batch}", self._patience, or_none=True)
            if found is None:
                return None
            if not isinstance(found, dict):
                raise BackendError(f"{self._client.source} answered with something that is no batch")
            if found.get("status") in _OVER or time.monotonic() + pause > until:
                return found
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_POLL)

    def _collected(self, batch: Mapping[str, Any], wanted: Mapping[str, str]) -> BulkResult:
        """Return the vectors of the texts that still wait for one, and what failed, in words."""
        vectors: dict[str, Vector] = {}
        codes = [known_code(error.get("code")) for error in (batch.get("errors") or {}).get("data") or ()]
        for key in ("output_file_id", "error_file_id"):
            if batch.get(key):
                content = self._client.send("GET", f"{self._root}/files/{batch[key]}/content", self._transfer)
                for line in _lines(content):
                    self._take(line, wanted, vectors, codes)
        missing = len(wanted) - len(vectors)
        if not missing:
            return BulkResult(vectors)
        said = ", ".join(sorted(set(codes))) or str(batch.get("status"))[:20]
        return BulkResult(vectors, failed=f"{missing} of {len(wanted)} texts of an OpenAI batch failed ({said})")

    def _take(
        self, line: Mapping[str, Any], wanted: Mapping[str, str], vectors: dict[str, Vector], codes: list[str]
    ) -> None:
        """Take in one line of a result: a vector, or the code of an error."""
        text = wanted.get(str(line.get("custom_id")))
        if text is None:
            return
        response = line.get("response") or {}
        try:
            if response.get("status_code") == _OK:
                vectors[text] = self.accept([response["body"]["data"][0]["embedding"]], 1)[0]
                return
            error = line.get("error") or response["body"]["error"]
            codes.append(known_code(error.get("code")))
        except (KeyError, IndexError, TypeError, AttributeError, BackendError):
            codes.append("no usable vector")

    def _tidy(self, state: BatchState, batch: Mapping[str, Any]) -> None:
        """Delete the texts and the results that are left with OpenAI, as far as it does so."""
        names = [state.input_file, batch.get("output_file_id"), batch.get("error_file_id")]
        for name in filter(None, names):
            with contextlib.suppress(BackendError):
                self._client.send("DELETE", f"{self._root}/files/{name}", self._patience)


def _parsed(content: bytes) -> object:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None


def _lines(content: bytes) -> Iterator[Mapping[str, Any]]:
    for line in content.splitlines():
        found = _parsed(line)
        if isinstance(found, dict):
            yield found


def _id_in(answer: object, source: str) -> str:
    """Return the id in an answer, which goes into addresses: letters, digits, `-` and `_` alone."""
    name = answer.get("id") if isinstance(answer, dict) else None
    if not isinstance(name, str) or not name.replace("-", "").replace("_", "").isalnum() or not name.isascii():
        raise BackendError(f"{source} answered without the id of a file or batch")
    return name


def _read(file: Path) -> BatchState | None:
    """Return what is remembered; a file that is damaged is as good as none: its texts are sent again."""
    try:
        found = json.loads(file.read_bytes())
        bytes.fromhex(found["salt"])
        state = BatchState(str(found["input_file"]), found["salt"], tuple(map(str, found["ids"])), str(found["batch"]))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise BackendError(f"cannot read {file.name}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError):
        return None
    return state


def _write(file: Path, state: BatchState) -> None:
    """Replace the file as a whole, readable by its owner alone."""
    fresh = file.with_suffix(".new")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            fresh.unlink()
        with os.fdopen(os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="utf-8") as stream:
            json.dump(asdict(state), stream)
            stream.flush()
            os.fsync(stream.fileno())
        fresh.replace(file)
    except OSError as error:
        raise BackendError(f"cannot write {file.name}: {error.strerror}") from error
