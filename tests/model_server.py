"""A real HTTP server on loopback that speaks OpenAI's chat completions, as well or as badly as it is told."""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(slots=True)
class ModelServer:
    """What it answers, one reply a request, the last for ever: text, a status, `reset`, `hang` or `cut`."""

    replies: Sequence[str | int] = ("{}",)
    asked: list[dict[str, Any]] = field(default_factory=list)
    url: str = ""
    over: threading.Event = field(default_factory=threading.Event)

    def reply(self) -> str | int:
        """Return the reply to the newest request."""
        return self.replies[min(len(self.asked), len(self.replies)) - 1]


@contextmanager
def model_server(*replies: str | int) -> Iterator[ModelServer]:
    """Run a server for as long as the block goes on."""
    state = ModelServer(replies or ("{}",))

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            """Answer one request."""
            state.asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            reply = state.reply()
            if reply == "hang":
                state.over.wait(20)
                return
            body = _body(reply if isinstance(reply, str) else "")
            self.send_response(reply if isinstance(reply, int) else 200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if reply == "reset":
                self.wfile.write(body[:20])
                self.wfile.flush()
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.connection.close()
                return
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: object) -> None:
            """Leave a client that went away alone."""

    with Server(("127.0.0.1", 0), Handler) as server:
        state.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield state
        finally:
            state.over.set()
            server.shutdown()
            thread.join()


def _body(text: str) -> bytes:
    return json.dumps({
        "id": "1", "object": "chat.completion", "created": 1, "model": "test",
        "choices": [{
            "index": 0, "finish_reason": "length" if text == "cut" else "stop",
            "message": {"role": "assistant", "content": '{"writes": [' if text == "cut" else text},
        }],
        "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
    }).encode()  # fmt: skip
