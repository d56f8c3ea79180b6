"""MCP over streamable HTTP: one endpoint, no sessions, the caller of each request named by its token.

Without sessions there is no id that another token could present, and a restart loses nothing. The server
never pushes, so GET (the push channel) is answered 405, as the protocol allows.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from memoranda.interfaces import tools
from memoranda.interfaces.mcp.server import CallerOf, build_server

MAX_BODY_BYTES = 1_048_576
"""A save carries at most 50 KiB; JSON escapes can make that six times as long."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The ASGI endpoint of the protocol; `running` must be entered while it serves."""

    manager: StreamableHTTPSessionManager

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        await self.manager.handle_request(scope, receive, send)

    def route(self, path: str = "/mcp") -> Route:
        """Return the route of the endpoint; other methods than POST are answered 405."""
        return Route(path, endpoint=self, methods=["POST"])

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Keep the protocol's task group open."""
        async with self.manager.run():
            yield


def open_endpoint(
    offered: Sequence[tools.Tool],
    caller_of: CallerOf,
    *,
    version: str,
    security: TransportSecuritySettings | None = None,
) -> Endpoint:
    """Return the endpoint for these tools; `security` is the SDK's own Host and Origin check beside ours."""
    server = build_server(offered, caller_of, version=version)
    return Endpoint(
        StreamableHTTPSessionManager(
            server,
            json_response=True,
            stateless=True,
            security_settings=security,
            max_request_body_size=MAX_BODY_BYTES,
        )
    )


def loopback_check() -> TransportSecuritySettings:
    """Return the SDK's own check for a server that only this machine can reach."""
    names = ("127.0.0.1", "localhost", "[::1]")
    return TransportSecuritySettings(
        allowed_hosts=[*names, *(f"{name}:*" for name in names)],
        allowed_origins=[
            f"{scheme}://{name}{port}" for scheme in ("http", "https") for name in names for port in ("", ":*")
        ],
    )
