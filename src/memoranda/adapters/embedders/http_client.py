"""Asks HTTP services for JSON: with time limits, retries that end, and errors that quote nothing.

Neither keys nor texts nor answers of a server enter a message: a server may repeat what it was sent.
"""

from __future__ import annotations

import json
import time
import weakref
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from memoranda.adapters.embedders.addresses import is_loopback
from memoranda.errors import BackendError, MissingExtra

if TYPE_CHECKING:
    import httpx2
    import tenacity

MAX_ANSWER_BYTES = 512 * 1024 * 1024
"""Larger answers are refused; the result of a batch of 50,000 texts can have some hundred megabytes."""
FIRST_PAUSE = 0.5
"""Seconds before the second attempt at most, by chance; the bound doubles each time."""
LONGEST_PAUSE = 8.0

_ABSENT, _TOO_MANY, _SERVER_FAILED = 404, 429, 500
_TRIED_AGAIN = frozenset({408, 425, _TOO_MANY})
_ADVICE = {
    301: "set memory.base_url to where it leads", 302: "set memory.base_url to where it leads",
    307: "set memory.base_url to where it leads", 308: "set memory.base_url to where it leads",
    400: "it refuses the request: is this an embedding model?", 401: "is the key right?", 403: "is the key right?",
    404: "is there such a model, and is memory.base_url right?", _TOO_MANY: "too many requests, or no quota left",
}  # fmt: skip
_KNOWN_CODES = frozenset({
    "billing_hard_limit_reached", "context_length_exceeded", "insufficient_quota", "invalid_api_key", "model_not_found",
    "rate_limit_exceeded", "token_limit_exceeded", "batch_expired", "batch_cancelled", "server_error",
})  # fmt: skip
"""Codes of errors that are named in a message; any other word of a server is not."""
_HOPELESS = frozenset({"billing_hard_limit_reached", "insufficient_quota"})


@dataclass(frozen=True, slots=True)
class Patience:
    """How long one request may take, how often it is tried, and how long all of that may take; seconds."""

    timeout: float
    attempts: int
    total: float


class _AgainError(Exception):
    """A failure that another attempt may mend, with the seconds that the server asked for; it stays in this module."""

    def __init__(self, message: str, after: float | None = None) -> None:
        super().__init__(message)
        self.after = after


@dataclass(frozen=True, slots=True)
class _Request:
    method: str
    url: str
    timeout: float
    content: Mapping[str, Any] = field(repr=False)
    or_none: bool = False


class JsonClient:
    """A client of one HTTP service; connections are kept and reused. Safe in threads; opened at its first request.

    Redirects are not followed: the key goes where the settings say and nowhere else.
    """

    def __init__(self, name: str, url: str, *, key: str = "") -> None:
        self.source = f"{name} at {urlsplit(url).netloc}"
        """What errors call it."""
        self._local = is_loopback(urlsplit(url).hostname or "")
        self._headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._client: httpx2.Client | None = None

    def json(self, method: str, url: str, patience: Patience, *, body: object = None, or_none: bool = False) -> Any:
        """Send a JSON body and return the JSON answer; with `or_none` None where there is nothing at that address.

        Raises:
            BackendError: no answer in time after all attempts, a refusal, or an answer that is no JSON.
            MissingExtra: the extra `remote` is not installed.
        """
        content = b"" if body is None else json.dumps(body).encode("ascii")
        kind = {} if body is None else {"Content-Type": "application/json"}
        answer = self.send(method, url, patience, content=content, headers=kind, or_none=or_none)
        if or_none and not answer:
            return None
        try:
            return json.loads(answer)
        except (ValueError, RecursionError) as error:
            raise BackendError(f"{self.source} answered with something that is no JSON") from error

    def send(
        self,
        method: str,
        url: str,
        patience: Patience,
        *,
        content: bytes = b"",
        files: Mapping[str, tuple[str, bytes]] | None = None,
        fields: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        or_none: bool = False,
    ) -> bytes:
        """Send content, or a form with files, and return the bytes of the answer; raises as `json` does.

        With `or_none` nothing is returned where the server answers with status 404.
        """
        try:
            import tenacity  # noqa: PLC0415 - loaded by whoever asks a server, and by nobody else
        except ImportError as error:
            raise MissingExtra("remote", "an embedder behind HTTP") from error

        client = self._opened()
        request = {"content": content} if files is None else {"files": dict(files), "data": dict(fields or {})}
        ask = _Request(method, url, patience.timeout, {**request, "headers": headers}, or_none=or_none)
        attempts = tenacity.Retrying(
            stop=tenacity.stop_after_attempt(patience.attempts) | tenacity.stop_before_delay(patience.total),
            wait=_pause(),
            retry=tenacity.retry_if_exception_type(_AgainError),
            reraise=True,
        )
        try:
            return attempts(self._once, client, ask)
        except _AgainError as error:
            raise BackendError(str(error)) from error.__cause__

    def _opened(self) -> httpx2.Client:
        if self._client is None:
            try:
                import httpx2  # noqa: PLC0415 - as above
            except ImportError as error:
                raise MissingExtra("remote", "an embedder behind HTTP") from error

            # A proxy of the environment is for the outside; what runs on this machine is asked itself.
            self._client = httpx2.Client(headers=self._headers, trust_env=not self._local)
            weakref.finalize(self, self._client.close)
        return self._client

    def _once(self, client: httpx2.Client, ask: _Request) -> bytes:
        """Make one attempt; its time is for all of it, however slowly the answer drips."""
        import httpx2  # noqa: PLC0415 - as above

        until = time.monotonic() + ask.timeout
        try:
            with client.stream(ask.method, ask.url, timeout=ask.timeout, **ask.content) as answer:
                content = self._read(answer, until)
        except httpx2.TimeoutException as error:
            raise _AgainError(f"{self.source} did not answer within {ask.timeout:g} s") from error
        except (httpx2.TransportError, httpx2.StreamError) as error:
            raise _AgainError(f"{self.source} cannot be reached: {type(error).__name__}") from error
        except (httpx2.HTTPError, httpx2.InvalidURL, UnicodeError) as error:
            raise BackendError(f"{self.source} cannot be asked: {type(error).__name__}") from error
        if ask.or_none and answer.status_code == _ABSENT:
            return b""
        if not answer.is_success:
            raise self._refusal(answer.status_code, answer.headers.get("Retry-After", ""), content)
        return content

    def _read(self, answer: httpx2.Response, until: float) -> bytes:
        parts, size = [], 0
        for part in answer.iter_bytes():
            parts.append(part)
            size += len(part)
            if size > MAX_ANSWER_BYTES:
                raise BackendError(f"{self.source} answered with more than {MAX_ANSWER_BYTES >> 20} MiB")
            if time.monotonic() > until:
                raise _AgainError(f"{self.source} did not finish its answer in time")
        return b"".join(parts)

    def _refusal(self, status: int, retry_after: str, content: bytes) -> BackendError | _AgainError:
        code = error_code(content)
        advice = _ADVICE.get(status, "")
        named = f" ({code})" if code else ""
        message = f"{self.source} answered with status {status}{named}" + (f": {advice}" if advice else "")
        if code in _HOPELESS or not (status in _TRIED_AGAIN or status >= _SERVER_FAILED):
            return BackendError(message)
        return _AgainError(message, _seconds(retry_after))


def error_code(content: bytes) -> str:
    """Return the code of an error in a JSON answer where it is one that is known, else an empty text."""
    try:
        found = json.loads(content)["error"]
        words = [str(found[key]) for key in ("code", "type") if found.get(key)]
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        return ""
    return next((word for word in words if word in _KNOWN_CODES), "")


def known_code(word: object) -> str:
    """Return a code where it is one that may be named, else `unknown`."""
    return word if isinstance(word, str) and word in _KNOWN_CODES else "unknown"


def _pause() -> tenacity.wait.WaitBaseT:
    """Return how long to wait: what the server asked for, else longer each time."""
    import tenacity  # noqa: PLC0415 - as above

    growing = tenacity.wait_random_exponential(multiplier=FIRST_PAUSE, max=LONGEST_PAUSE)

    def pause(state: tenacity.RetryCallState) -> float:
        failed = state.outcome.exception() if state.outcome else None
        asked = failed.after if isinstance(failed, _AgainError) else None
        return growing(state) if asked is None else asked

    return pause


def _seconds(retry_after: str) -> float | None:
    """Return the seconds of a Retry-After header, which holds a number or a date; None where it holds neither."""
    if retry_after.isascii() and retry_after.isdecimal():
        return float(retry_after[:9])
    try:
        moment = parsedate_to_datetime(retry_after)
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())
