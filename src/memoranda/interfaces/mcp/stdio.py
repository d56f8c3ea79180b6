"""MCP over standard input and output: one agent, for as long as the client keeps our input open.

Nothing but JSON-RPC may reach standard output. The SDK points descriptor 1 at standard error while it serves,
which covers child processes and `os.write`; `print` would stay in Python's own buffer and reach the real
output at exit, so `sys.stdout` itself is replaced as well.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence

import anyio
from mcp.server.stdio import stdio_server

from memoranda.interfaces import tools
from memoranda.interfaces.mcp.server import CallerOf, build_server


def serve_stdio(offered: Sequence[tools.Tool], caller_of: CallerOf, *, version: str) -> None:
    """Serve until standard input closes."""
    server = build_server(offered, caller_of, version=version)

    async def serve() -> None:
        async with stdio_server() as (incoming, outgoing):
            with contextlib.redirect_stdout(sys.stderr):
                await server.run(incoming, outgoing, server.create_initialization_options())

    anyio.run(serve)
