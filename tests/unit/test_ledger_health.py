"""The endpoint's health, asked of real servers on this machine."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from memoranda.adapters.system.health import TIMEOUT_SECONDS, EndpointHealth
from memoranda.errors import BackendError, ConfigurationError, LedgerUnavailable


@contextmanager
def server(status: int, asked: list[str] | None = None, *, to: str = "") -> Iterator[str]:
    """Run a server that answers everything with one status; yield its address."""
    paths = [] if asked is None else asked

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            paths.append(self.path)
            self.send_response(status)
            if to:
                self.send_header("Location", to)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{running.server_port}"
        finally:
            running.shutdown()
            thread.join()


@pytest.mark.parametrize("status", [200, 204, 299])
def test_a_good_status_is_well(status: int) -> None:
    """Any status of 2xx counts; the path asked is /v1/health, behind a folder too."""
    asked: list[str] = []
    with server(status, asked) as address:
        EndpointHealth(address).check()
        EndpointHealth(f"{address}/ledger/").check()
    assert asked == ["/v1/health", "/ledger/v1/health"]


@pytest.mark.parametrize("status", [304, 404, 500, 503])
def test_another_status_is_not(status: int) -> None:
    """Any other status is a typed error that names it."""
    with server(status) as address, pytest.raises(LedgerUnavailable, match=f"status {status}") as caught:
        EndpointHealth(address).check()
    assert isinstance(caught.value, BackendError)


def test_a_redirect_is_not_followed() -> None:
    """A server that sends elsewhere is not well, and what it names is not asked."""
    asked: list[str] = []
    with server(200, asked) as good, server(302, to=good) as address:
        with pytest.raises(LedgerUnavailable, match="status 302"):
            EndpointHealth(address).check()
        assert asked == []
        EndpointHealth(good).check()
        assert asked == ["/v1/health"]


def test_a_closed_port_is_not_well() -> None:
    """Nobody there is a typed error."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(LedgerUnavailable, match="cannot be asked"):
        EndpointHealth(f"http://127.0.0.1:{port}").check()


def test_a_server_that_hangs_is_given_up() -> None:
    """A server that takes the connection and says a byte now and then is waited for 2 seconds in all."""
    stop = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as hanging:
        address = f"http://127.0.0.1:{hanging.getsockname()[1]}"

        def drip() -> None:
            connection, _ = hanging.accept()
            with connection:
                connection.sendall(b"HTTP/1.1 200 OK\r\nX-Slow: ")
                while not stop.wait(0.2):
                    connection.sendall(b"x")

        thread = threading.Thread(target=drip)
        thread.start()
        before = time.monotonic()
        with pytest.raises(LedgerUnavailable, match="within 2 seconds"):
            EndpointHealth(address).check()
        assert time.monotonic() - before < TIMEOUT_SECONDS + 1
        stop.set()
        thread.join()


@pytest.mark.parametrize(
    "wrong", ["", "localhost", "ftp://host", "http://", "http://u:p@host", "http://host?x=1", "http://host:0"]
)
def test_a_wrong_address_is_a_setting_that_is_wrong(wrong: str) -> None:
    """What is no address of a server is refused when it is set, without repeating it."""
    with pytest.raises(ConfigurationError, match=r"memory\.ledger\.endpoint"):
        EndpointHealth(wrong)
    EndpointHealth("https://host:8443/ledger")
