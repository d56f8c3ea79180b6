"""A real HTTP server on loopback that speaks OpenAI's chat completions, as well or as badly as it is told."""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.loopback import QuietHandler, serving


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

    class Handler(QuietHandler):
        def do_POST(self) -> None:  # noqa: N802 - the name that http.server calls
            """Answer one request."""
            state.asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            reply = state.reply()
            if reply == "hang":
                state.over.wait(20)
                return
            body = _body(reply if isinstance(reply, str) else "", str(state.asked[-1]["model"]))
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

    with serving(Handler, state.over) as state.url:
        yield state


def _body(text: str, model: str) -> bytes:
    return json.dumps({
        "id": "1", "object": "chat.completion", "created": 1, "model": model,
        "choices": [{
            "index": 0, "finish_reason": "length" if text == "cut" else "stop",
            "message": {"role": "assistant", "content": '{"writes": [' if text == "cut" else text},
        }],
        "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
    }).encode()  # fmt: skip
