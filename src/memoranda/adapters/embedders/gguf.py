"""Embedding models in GGUF files on the CPU, through llama.cpp: `gguf:PATH`, made for EmbeddingGemma-300M.

llama.cpp comes with the package `xllamacpp` (the extra `gguf`), compiled for the usual systems.
"""

from __future__ import annotations

import functools
import hashlib
import os
import secrets
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from memoranda.adapters.embedders.http_client import JsonClient, Patience
from memoranda.adapters.embedders.recipes import DEFAULT_WEIGHT, recipe_of
from memoranda.adapters.embedders.units import unit_rows
from memoranda.domain.settings import EmbedderSettings
from memoranda.errors import BackendError, ConfigurationError, MissingExtra
from memoranda.ports import Vector

if TYPE_CHECKING:
    import xllamacpp

MAX_TOKENS = 2048
"""Of one text; as EmbeddingGemma was trained. A model that was trained with fewer has its own limit."""
MAX_CHARS = 20_000
"""Cut before tokenizing, so that a huge text costs no more than its tokens are worth."""

_MAGIC = b"GGUF"
_LOCAL = Patience(timeout=120.0, attempts=1, total=120.0)
_QUIET = -1
_LOADING = threading.Lock()
"""Held while a model is looked up, so that threads that meet at the first text load it once."""


@dataclass(frozen=True, slots=True)
class _Model:
    """A loaded model. Its server listens on this machine alone, at a port and with a key of the moment: to tokenize."""

    server: xllamacpp.Server
    client: JsonClient
    url: str
    digest: str
    context: int

    def tokens(self, text: str) -> list[int]:
        """Return the tokens of a text, cut to the context; marks such as `[SEP]` in a text are text."""
        body = {"content": text, "add_special": True, "parse_special": False}
        answer = self.client.json("POST", f"{self.url}/tokenize", _LOCAL, body=body)
        found = answer.get("tokens") if isinstance(answer, dict) else None
        if not isinstance(found, list) or not found:
            raise BackendError("the model in the GGUF file gives no tokens")
        # The last token may be a mark that ends every text; it stays the last.
        return found if len(found) <= self.context else [*found[: self.context - 1], found[-1]]


class GgufEmbedder:
    """Embeds with the model in one file: cheap to construct, loads it at the first text, safe in threads.

    All embedders of a process with one file share one loaded model.
    """

    weight = DEFAULT_WEIGHT

    def __init__(self, path: Path, *, threads: int = 0) -> None:
        self._path = path
        self._threads = threads or max(1, (os.cpu_count() or 1) // 2)
        self._recipe = recipe_of(path.name)
        self._dimensions: int | None = None

    @property
    def identity(self) -> str:
        """Name the file by its hash, and the prompts; loads the model.

        Raises:
            BackendError: the file cannot be read, or llama.cpp cannot use it.
            MissingExtra: the extra `gguf` is not installed.
        """
        model = self._loaded()
        return f"gguf:{model.digest[:12]}:{self.dimensions}:{model.context}:{self._recipe.name}:v1"

    @property
    def dimensions(self) -> int:
        """Length of every vector; loads the model, and raises as `identity` does."""
        if self._dimensions is None:
            self.embed_query("memory")
        return self._dimensions or 0

    @property
    def multilingual(self) -> bool:
        """Whether the model's card says that it knows more than English."""
        return self._recipe.multilingual

    def embed_documents(self, texts: Sequence[str]) -> Vector:
        """Return one unit row per text, shape (n, dimensions), float32; text after the model's context is not seen.

        Raises:
            BackendError: the model could not be loaded or failed.
            MissingExtra: the extra `gguf` is not installed.
        """
        rows = [self._embedded(self._recipe.document + text) for text in texts]
        return np.concatenate(rows) if rows else np.empty((0, self.dimensions), np.float32)

    def embed_query(self, text: str) -> Vector:
        """Return the unit vector of a question, shape (dimensions,), float32; raises as `embed_documents`."""
        row: Vector = self._embedded(self._recipe.query + text)[0]
        return row

    def _embedded(self, text: str) -> Vector:
        model = self._loaded()
        clean = text[:MAX_CHARS].encode("utf-8", "replace").decode("utf-8")
        try:
            answer = model.server.handle_embeddings({"input": [model.tokens(clean)]})
        except (RuntimeError, ValueError, TypeError) as error:
            raise BackendError(f"llama.cpp failed: {type(error).__name__}") from error
        data: Any = answer.get("data") if isinstance(answer, dict) else None
        if not data:
            raise BackendError("llama.cpp returned no vector")
        source = f"the model in {self._path.name}"
        found = unit_rows([data[0].get("embedding")], count=1, dimensions=self._dimensions, source=source)
        self._dimensions = int(found.shape[1])
        return found

    def _loaded(self) -> _Model:
        with _LOADING:
            return _open_model(self._path, self._threads)


def open_embedder(rest: str, _settings: EmbedderSettings) -> GgufEmbedder:
    """Return the embedder of an address `gguf:PATH`; `~` is the user's folder.

    Raises:
        ConfigurationError: no path is given, or there is no such file.
    """
    path = Path(rest).expanduser()
    if not rest or not path.is_file():
        raise ConfigurationError("embedder 'gguf' needs the path of a model: write gguf:PATH, of a file that is there")
    return GgufEmbedder(path.absolute())


@functools.cache
def _open_model(path: Path, threads: int) -> _Model:
    try:
        import xllamacpp  # noqa: PLC0415 - a large library that few need
    except ImportError as error:
        raise MissingExtra("gguf", "the embedder gguf") from error

    digest = _digest(path)
    key = secrets.token_urlsafe()
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(path)
    parameters.embedding = True
    parameters.n_ctx = parameters.n_batch = parameters.n_ubatch = MAX_TOKENS
    parameters.n_parallel = 1
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = threads
    parameters.hostnames, parameters.port, parameters.api_keys = ["127.0.0.1"], 0, [key]
    parameters.verbosity, parameters.warmup, parameters.offline = _QUIET, False, True
    try:
        server = xllamacpp.Server(parameters)
    except (RuntimeError, ValueError) as error:
        raise BackendError(f"llama.cpp cannot use {path.name}: is it an embedding model?") from error
    url = str(server.listening_address)
    client = JsonClient("llama.cpp", url, key=key)
    return _Model(server, client, url, digest, _context(client, url))


def _context(client: JsonClient, url: str) -> int:
    """Return how many tokens of a text the model takes."""
    answer = client.json("GET", f"{url}/v1/models", _LOCAL)
    try:
        return max(2, min(MAX_TOKENS, int(answer["data"][0]["meta"]["n_ctx_train"])))
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise BackendError("llama.cpp does not say how long a text may be") from error


def _digest(path: Path) -> str:
    """Return the hash of a file that is GGUF at its first look; llama.cpp ends the process over some others."""
    try:
        with path.open("rb") as file:
            if file.read(len(_MAGIC)) != _MAGIC:
                raise BackendError(f"{path.name} is no GGUF file")
            file.seek(0)
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise BackendError(f"cannot read {path.name}: {error.strerror}") from error
