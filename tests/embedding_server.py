"""A real HTTP server on this machine that speaks what embedding servers speak, and fails as it is told to."""

from __future__ import annotations

import json
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from memoranda.adapters.embedders.hashing import HashingEmbedder

DIGEST = "0a109f422b47e3a30ba2b10eca18548e944e8a23073ee3f3e947efcf3c45e59f"


@dataclass(frozen=True, slots=True)
class Fault:
    """What the server does instead of answering: a status, silence, a cut, or another answer."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    seconds: float = 0.0
    cut: bool = False
    drip: bool = False
    change: Callable[[Any], Any] | None = None
    """Changes the right answer before it is sent."""


@dataclass(slots=True)
class EmbeddingServer:
    """What was asked, what is to go wrong, and the batches."""

    url: str = ""
    dimensions: int = 64
    digest: str = DIGEST
    paths: list[str] = field(default_factory=list)
    """Method and path of every request, in order."""
    inputs: list[list[str]] = field(default_factory=list)
    """Texts of every request for embeddings, in order."""
    keys: list[str] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    """Taken from the front, one for each request for embeddings."""
    always: Fault | None = None
    """Holds for every request for embeddings once `faults` is empty."""
    any_request: list[Fault] = field(default_factory=list)
    """As `faults`, for requests of every kind."""
    files: dict[str, bytes] = field(default_factory=dict)
    batches: dict[str, dict[str, Any]] = field(default_factory=dict)
    is_done: bool = True
    """Whether a batch is over when it is asked for."""
    bad_line: Callable[[int], dict[str, Any] | None] = lambda _number: None
    """Gives the response of a line of a batch that fails, None for one that does not."""
    outcome: str = "completed"

    def vectors(self, texts: list[str]) -> list[list[float]]:
        """Embed as the hashing embedder does."""
        return [[float(v) for v in HashingEmbedder(self.dimensions).embed_query(text)] for text in texts]

    def asked(self, part: str) -> int:
        """Count requests whose method and path hold this."""
        return sum(part in path for path in self.paths)


class _Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    state: EmbeddingServer
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        self._answer("GET", b"")

    def do_DELETE(self) -> None:
        self._answer("DELETE", b"")

    def do_POST(self) -> None:
        self._answer("POST", self.rfile.read(int(self.headers.get("Content-Length", 0))))

    def _answer(self, method: str, body: bytes) -> None:
        state, path = self.state, urlsplit(self.path).path
        state.paths.append(f"{method} {self.path}")
        state.keys.append(self.headers.get("Authorization", ""))
        fault = Fault()
        if state.any_request:
            fault = state.any_request.pop(0)
        elif path.endswith(("/embeddings", "/api/embed")):
            fault = state.faults.pop(0) if state.faults else state.always or fault
        found = self._found(method, path, body)
        status, answer = (404, {"error": {"code": "model_not_found"}}) if found is None else (200, found)
        if fault.change is not None:
            answer = fault.change(answer)
        content = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self._send(fault, status if fault.status == 200 else fault.status, content)

    def _send(self, fault: Fault, status: int, content: bytes) -> None:
        time.sleep(fault.seconds)
        if fault.cut:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        content = fault.body if fault.body is not None else content
        self.send_response(status)
        for name, value in fault.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        try:
            if fault.drip:
                for byte in content[:40]:
                    self.wfile.write(bytes([byte]))
                    self.wfile.flush()
                    time.sleep(0.05)
                self.close_connection = True
                return
            self.wfile.write(content)
        except OSError:  # the client has gone
            self.close_connection = True

    def _found(self, method: str, path: str, body: bytes) -> Any:
        state = self.state
        if path.endswith("/embeddings") and method == "POST":
            asked = json.loads(body)
            state.inputs.append(asked["input"])
            rows = state.vectors(asked["input"])
            data = [{"object": "embedding", "index": number, "embedding": row} for number, row in enumerate(rows)]
            return {"object": "list", "data": data, "model": asked["model"]}
        if path == "/api/embed":
            asked = json.loads(body)
            state.inputs.append(asked["input"])
            return {"model": asked["model"], "embeddings": state.vectors(asked["input"])}
        if path == "/api/tags":
            names = ("nomic-embed-text:latest", "other:1b")
            return {"models": [{"name": n, "model": n, "digest": state.digest} for n in names]}
        return self._batches(method, path, body)

    def _batches(self, method: str, path: str, body: bytes) -> Any:
        state = self.state
        if path == "/v1/files":
            part = next(part for part in body.split(b"\r\n--") if b"filename=" in part)
            name = f"file-{state.asked('POST /v1/files')}"
            state.files[name] = part.split(b"\r\n\r\n", 1)[1]
            return {"id": name}
        if path == "/v1/batches" and method == "POST":
            name = f"batch_{len(state.batches)}"
            state.batches[name] = {"id": name, "status": "in_progress", **json.loads(body)}
            return state.batches[name]
        if path == "/v1/batches":
            return {"data": list(state.batches.values())}
        if found := re.fullmatch(r"/v1/batches/(\w+)", path):
            return self._batch(found[1])
        found = re.fullmatch(r"/v1/files/([\w-]+)(?:/content)?", path)
        if found and method == "DELETE":
            return {"id": found[1], "deleted": state.files.pop(found[1], None) is not None}
        return state.files.get(found[1]) if found else None

    def _batch(self, name: str) -> Any:
        state, batch = self.state, self.state.batches.get(name)
        if batch is None or not state.is_done or batch["status"] != "in_progress":
            return batch
        good: list[str] = []
        bad: list[str] = []
        for number, line in enumerate(state.files[batch["input_file_id"]].decode().splitlines()):
            asked = json.loads(line)
            failed = state.bad_line(number)
            row = state.vectors([asked["body"]["input"]])[0]
            body = {"data": [{"index": 0, "embedding": row}]}
            response = failed if failed is not None else {"status_code": 200, "body": body}
            answer = {"custom_id": asked["custom_id"], "response": response, "error": None}
            (bad if failed is not None else good).insert(0, json.dumps(answer))  # in no order
        state.files |= {f"{name}-out": "\n".join(good).encode(), f"{name}-err": "\n".join(bad).encode()}
        batch["status"] = state.outcome
        if state.outcome == "completed":
            batch |= {"output_file_id": f"{name}-out", "error_file_id": f"{name}-err" if bad else None}
        else:
            batch["errors"] = {"data": [{"code": "billing_hard_limit_reached"}]}
        return batch


class _Server(ThreadingHTTPServer):
    """A server whose clients may go whenever they like."""

    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def serving() -> Iterator[EmbeddingServer]:
    """Serve at a free port of this machine for as long as the block."""
    state = EmbeddingServer()
    handler = type("Handler", (_Handler,), {"state": state})
    server = _Server(("127.0.0.1", 0), handler)
    state.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
