"""Reads pages over http and https with the standard library: text alone, within a time and a size.

Messages of errors quote nothing of what a server sent: they are shown without its content being trusted.
"""

from __future__ import annotations

import http.client
import threading
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import IO
from urllib.error import HTTPError
from urllib.parse import quote, urlsplit, urlunsplit
from urllib.request import (
    HTTPDefaultErrorHandler,
    HTTPErrorProcessor,
    HTTPHandler,
    HTTPRedirectHandler,
    HTTPSHandler,
    OpenerDirector,
    ProxyHandler,
    Request,
)

from memoranda.errors import BackendError, InvalidInput, MemorandaError
from memoranda.ports.fetch import Page

SECONDS = 10.0
"""For one page, looking up its server and every redirect included."""
MAX_BYTES = 200_000

_TEXTS = ("application/json", "application/xml", "application/javascript")
_HTML = ("text/html", "application/xhtml+xml")
_UNSEEN = frozenset({"script", "style", "noscript", "template", "svg", "iframe", "object"})
_BREAKS = frozenset({
    "address", "article", "aside", "blockquote", "br", "dd", "div", "dl", "dt", "figcaption", "footer", "form", "h1",
    "h2", "h3", "h4", "h5", "h6", "header", "hr", "li", "main", "nav", "ol", "p", "pre", "section", "table", "title",
    "tr", "ul",
})  # fmt: skip


@dataclass(slots=True)
class _Outcome:
    """What a thread leaves: a page or why there is none."""

    page: Page | None = None
    error: MemorandaError | None = None


class _Redirects(HTTPRedirectHandler):
    """Follows a redirect to where a fetch may go by itself."""

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: http.client.HTTPMessage, newurl: str
    ) -> Request | None:
        """Return the next request. Raises InvalidInput for an address that may not be fetched."""
        return super().redirect_request(req, fp, code, msg, headers, _address(newurl))


def _opener() -> OpenerDirector:
    """Return an opener that knows http and https and nothing else; a redirect leads to those alone, too."""
    opener = OpenerDirector()
    for handler in (
        ProxyHandler(), HTTPHandler(), HTTPSHandler(), _Redirects(), HTTPErrorProcessor(), HTTPDefaultErrorHandler(),
    ):  # fmt: skip
        opener.add_handler(handler)
    return opener


@dataclass(frozen=True, slots=True)
class UrlFetcher:
    """Reads pages as a visitor without a name: no cookies, no keys. `seconds` bounds one page."""

    seconds: float = SECONDS
    opener: OpenerDirector = field(default_factory=_opener)

    def fetch(self, url: str) -> Page:
        """Return the page at an address; see the port."""
        request = Request(_address(url), headers={"User-Agent": "memoranda", "Accept": "text/*, */*;q=0.1"})  # noqa: S310
        outcome = _Outcome()
        reader = threading.Thread(target=self._read, args=(request, outcome), name="memoranda-fetch", daemon=True)
        reader.start()
        reader.join(self.seconds)
        if outcome.error is not None:
            raise outcome.error
        if outcome.page is None:
            raise BackendError(f"the page did not come within {self.seconds:g} s")
        return outcome.page

    def _read(self, request: Request, outcome: _Outcome) -> None:
        try:
            with self.opener.open(request, timeout=self.seconds) as response:
                kind, charset = response.headers.get_content_type(), response.headers.get_content_charset()
                if not _is_text(kind):
                    raise InvalidInput("what is at this address is no text")
                data = response.read(MAX_BYTES + 1)
            text = _decoded(data[:MAX_BYTES], charset or "utf-8")
            text = _text_of(text) if kind in _HTML else text
            outcome.page = Page(url=request.full_url, text=text, cut=len(data) > MAX_BYTES)
        except MemorandaError as error:
            outcome.error = error
        except HTTPError as error:
            error.close()
            outcome.error = BackendError(f"the server answered {error.code}")
        except (OSError, http.client.HTTPException, ValueError, AssertionError) as error:
            outcome.error = BackendError(f"the page cannot be read ({type(error).__name__})")


def _address(url: str) -> str:
    """Return an address in ASCII.

    Raises:
        InvalidInput: it has another scheme than http and https, no server, or a user's name or password.
    """
    try:
        parts = urlsplit(url.strip())
        host = parts.netloc.encode("idna").decode("ascii") if parts.netloc else ""
        wrong = parts.scheme not in ("http", "https") or not parts.hostname or "@" in host or parts.port == 0
        path, query = (quote(text, safe="/%:@!$&'()*+,;=~?-._") for text in (parts.path or "/", parts.query))
    except ValueError:
        wrong = True
    if wrong or any(mark.isspace() or not mark.isprintable() for mark in host):
        raise InvalidInput("this is no address of a page: use http:// or https:// with a server and without a user")
    return urlunsplit((parts.scheme, host, path, query, ""))


def _is_text(kind: str) -> bool:
    return kind.startswith("text/") or kind in (*_TEXTS, *_HTML) or kind.endswith(("+json", "+xml"))


def _decoded(data: bytes, charset: str) -> str:
    try:
        return data.decode(charset, "replace")
    except LookupError:
        return data.decode("utf-8", "replace")


def _text_of(html: str) -> str:
    """Return the words of a page, a line for each block of it."""
    words = _Words()
    words.feed(html)
    words.close()
    lines = (" ".join(line.split()) for line in "".join(words.parts).split("\n"))
    return "\n".join(line for line in lines if line)


class _Words(HTMLParser):
    """Collects what a reader of the page would see."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._unseen = 0

    def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002 - the parser's form
        """Note where a block begins."""
        self._unseen += tag in _UNSEEN
        if tag in _BREAKS:
            self.parts.append("\n")

    def handle_startendtag(self, tag: str, attrs: object) -> None:  # noqa: ARG002 - the same
        """Note an element without content."""
        if tag in _BREAKS:
            self.parts.append("\n")

    def handle_endtag(self, tag: str) -> None:
        """Note where a block ends."""
        if tag in _UNSEEN and self._unseen:
            self._unseen -= 1
        if tag in _BREAKS:
            self.parts.append("\n")

    def handle_data(self, data: str) -> None:
        """Keep what is seen; a line's end in the source is a space."""
        if not self._unseen:
            self.parts.append(data.replace("\n", " "))
