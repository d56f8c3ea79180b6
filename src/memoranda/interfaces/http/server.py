"""Runs the HTTP server: a socket, the guard, the health page, the MCP endpoint, until it is told to stop."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import BaseRoute, Route

from memoranda.errors import BackendError
from memoranda.interfaces.http.guard import Doors, Guard, Tokens
from memoranda.interfaces.http.refusals import JsonRefusals

GRACE_SECONDS = 3
"""How long running requests may take to finish after Ctrl-C."""


async def _health(_: Request) -> JSONResponse:
    return JSONResponse({"status": "ok"})


def build_app(
    routes: list[BaseRoute],
    *,
    doors: Doors,
    tokens: Tokens,
    running: Callable[[], AbstractAsyncContextManager[None]],
) -> Starlette:
    """Return the application: the given routes and `/health` behind the guard; `running` spans its life."""

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with running():
            yield

    return Starlette(
        routes=[Route("/health", _health, methods=["GET"]), *routes],
        middleware=[Middleware(JsonRefusals), Middleware(Guard, doors=doors, tokens=tokens)],
        lifespan=lifespan,
    )


def bind(host: str, port: int) -> socket.socket:
    """Return a listening socket; port 0 takes a free one.

    Raises:
        BackendError: the address is in use or not ours.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise BackendError(f"cannot listen on {host} port {port}: {error.strerror or error}") from error
    return listener


def run(app: Starlette, listener: socket.socket) -> None:
    """Serve on the socket until SIGINT or SIGTERM; running requests get a few seconds to finish."""
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        lifespan="on",
        ws="none",
        server_header=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    with contextlib.suppress(KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[listener])
