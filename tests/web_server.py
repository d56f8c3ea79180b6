"""A small web on loopback: a few pages, good and bad."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from memoranda.adapters.web.pages import MAX_BYTES
from tests.loopback import QuietHandler, serving

HTML = """<!doctype html><html><head><title>News &amp; tea</title><style>p { color: red }</style>
<script>alert("seen by nobody")</script></head><body><h1>Green   tea</h1><p>It is
warm.<br/>And green.</p><ul><li>One<li>Two</ul><template>unseen</template></body></html>"""


@contextmanager
def web() -> Iterator[str]:
    """Serve a few pages on loopback for as long as the block goes on."""
    over = threading.Event()
    pages: dict[str, tuple[int, str, bytes, str]] = {
        "/": (200, "text/html; charset=utf-8", HTML.encode(), ""),
        "/latin": (200, "text/plain; charset=latin-1", "café".encode("latin-1"), ""),
        "/odd-charset": (200, "text/plain; charset=klingon", "café".encode(), ""),
        "/long": (200, "text/plain", b"x" * (MAX_BYTES + 1), ""),
        "/image": (200, "image/png", b"\x89PNG", ""),
        "/json": (200, "application/json", b'{"a": 1}', ""),
        "/gone": (404, "text/plain", b"secret words of the server", ""),
        "/moved": (302, "text/plain", b"", "/latin"),
        "/to-file": (302, "text/plain", b"", "file:///etc/passwd"),
        "/round": (302, "text/plain", b"", "/round"),
        "/broken": (200, "text/html", b"<p>before<![nonsense[ x ]]> after", ""),
    }

    class Handler(QuietHandler):
        def do_GET(self) -> None:  # noqa: N802 - the name that http.server calls
            """Answer one request."""
            if self.path == "/slow":
                over.wait(20)
                return
            status, kind, body, to = pages.get(self.path, (404, "text/plain", b"", ""))
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            if to:
                self.send_header("Location", to)
            self.end_headers()
            self.wfile.write(body)

    with serving(Handler, over) as url:
        yield url
