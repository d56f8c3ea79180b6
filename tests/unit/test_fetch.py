"""Reading pages over real HTTP on loopback: text alone, bounded in time and size, and nowhere but http and https."""

from __future__ import annotations

import time

import pytest

from memoranda.adapters.web.pages import MAX_BYTES, UrlFetcher
from memoranda.errors import BackendError, InvalidInput
from tests.web_server import web


def test_what_a_reader_would_see_is_returned() -> None:
    """Of HTML the words remain, a line a block; of plain text all; a redirect is followed."""
    with web() as url:
        page = UrlFetcher().fetch(url)
        assert page.text.splitlines() == ["News & tea", "Green tea", "It is warm.", "And green.", "One", "Two"]
        assert UrlFetcher().fetch(f"{url}/latin").text == "café"
        assert UrlFetcher().fetch(f"{url}/odd-charset").text == "café"
        assert UrlFetcher().fetch(f"{url}/moved").text == "café"
        assert UrlFetcher().fetch(f"{url}/json").text == '{"a": 1}'


def test_a_long_page_is_cut() -> None:
    """At most 200,000 bytes are read, and the page says that it goes on; a short one does not."""
    with web() as url:
        page = UrlFetcher().fetch(f"{url}/long")
        assert (len(page.text), page.cut) == (MAX_BYTES, True)
        assert not UrlFetcher().fetch(url).cut


@pytest.mark.parametrize(
    ("path", "kind"),
    [("/image", InvalidInput), ("/to-file", BackendError), ("/gone", BackendError), ("/round", BackendError)],
)
def test_what_is_no_page_is_an_error_that_quotes_nothing(path: str, kind: type[Exception]) -> None:
    """Images, redirects to files or in a circle, and refusals end as typed errors without a server's words."""
    with web() as url:
        with pytest.raises(kind) as caught:
            UrlFetcher().fetch(url + path)
        assert "secret" not in str(caught.value)
        assert UrlFetcher().fetch(url).text


def test_html_that_cannot_be_read_is_no_crash() -> None:
    """Markup that the parser gives up on is one typed error, and the next page is read."""
    with web() as url:
        with pytest.raises(BackendError, match="AssertionError"):
            UrlFetcher().fetch(f"{url}/broken")
        assert "Green tea" in UrlFetcher().fetch(url).text


def test_a_page_that_does_not_come_is_left() -> None:
    """The time is kept, whatever the server does."""
    with web() as url:
        began = time.monotonic()
        with pytest.raises(BackendError):
            UrlFetcher(seconds=0.3).fetch(f"{url}/slow")
        assert time.monotonic() - began < 3


@pytest.mark.parametrize(
    "url",
    [
        "", "x", "file:///etc/passwd", "ftp://127.0.0.1/", "data:text/plain,hi", "javascript:alert(1)", "http://",
        "http://user:secret@127.0.0.1/", "http://127.0.0.1:0/", "http://127.0.0.1:99999/", "http://[::1", "http://a b/",
        "http://a\r\nHost: b/", "gopher://x/", "//127.0.0.1/", "http://\ud800.example/",
    ],
)  # fmt: skip
def test_only_addresses_of_pages_are_fetched(url: str) -> None:
    """Anything but http and https with a server, and without a user, is refused before a connection is made."""
    with pytest.raises(InvalidInput, match="no address of a page"):
        UrlFetcher().fetch(url)
