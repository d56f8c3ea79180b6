"""MCP over standard input and output: one agent, for as long as the client keeps our input open.

Nothing but JSON-RPC may reach standard output. The SDK points descriptor 1 at standard error while it serves,
which covers child processes and `os.write`; `print` would stay in Python's own buffer and reach the real
output at exit, so `sys.stdout` itself is replaced as well.
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import AsyncIterable, Awaitable, Callable, Sequence

import anyio
import mcp_types as types
from anyio.streams.memory import MemoryObjectSendStream
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from memoranda.domain.given import is_unicode
from memoranda.interfaces import tools
from memoranda.interfaces.mcp.server import CallerOf, build_server

Incoming = SessionMessage | Exception


def serve_stdio(offered: Sequence[tools.Tool], caller_of: CallerOf, *, version: str) -> None:
    """Serve until standard input closes."""
    server = build_server(offered, caller_of, version=version)

    async def serve() -> None:
        async with stdio_server() as (incoming, outgoing), anyio.create_task_group() as group:
            readable, read = anyio.create_memory_object_stream[Incoming](0)
            group.start_soon(_pass_on, incoming, readable, outgoing.send)
            with contextlib.redirect_stdout(sys.stderr):
                await server.run(read, outgoing, server.create_initialization_options())
            group.cancel_scope.cancel()

    anyio.run(serve)


async def _pass_on(
    incoming: AsyncIterable[Incoming],
    readable: MemoryObjectSendStream[Incoming],
    answers: Callable[[SessionMessage], Awaitable[None]],
) -> None:
    """Hand on what the SDK could read, and answer a request that it could not: it would drop it without a word."""
    async with readable:
        async for item in incoming:
            answer = unreadable(item) if isinstance(item, ValidationError) else None
            if answer is None:
                await readable.send(item)
            else:
                await answers(SessionMessage(answer))


def unreadable(error: ValidationError) -> types.JSONRPCError | None:
    """Return the answer to a request that Python reads as JSON and the SDK does not: it holds half of a surrogate pair.

    None for every other line: it names no request to answer, or is no message of the protocol.
    """
    found = error.errors(include_url=False, include_context=False)[0]
    if found["type"] != "json_invalid":
        return None
    try:
        request = json.loads(found["input"])
    except (ValueError, TypeError, RecursionError):
        return None
    name = request.get("id") if isinstance(request, dict) and "method" in request else None
    if type(name) not in (str, int) or not is_unicode(str(name)):
        return None
    why = "this request cannot be read: it holds half of a surrogate pair, which is no Unicode"
    problem = types.ErrorData(code=types.INVALID_REQUEST, message=why)
    return types.JSONRPCError(jsonrpc="2.0", id=name, error=problem)
