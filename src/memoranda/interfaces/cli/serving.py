"""Puts the HTTP server together for `memoranda serve`; importing it costs a second (uvicorn, mcp)."""

from __future__ import annotations

import contextlib
import json
import signal
import threading
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import NoReturn

import typer

import memoranda
from memoranda.errors import ConfigurationError, Denied
from memoranda.interfaces import tools
from memoranda.interfaces.cli.background import Tender, Watcher
from memoranda.interfaces.cli.pasting import http_configuration, stdio_configuration
from memoranda.interfaces.cli.session import DEFAULT_AGENT
from memoranda.interfaces.http import guard, server
from memoranda.interfaces.http.token import own_token
from memoranda.interfaces.mcp.http import loopback_check, open_endpoint
from memoranda.interfaces.mcp.server import Context
from memoranda.memory import Memory


def serve_http(memory: Memory, *, host: str | None, port: int | None, names: frozenset[str], as_json: bool) -> None:
    """Serve until SIGINT or SIGTERM, with a watcher beside.

    `host` and `port` override the settings; `names` are further Host names to answer to.

    Raises:
        ConfigurationError: the address is reachable from elsewhere, and `--host` or tokens are missing.
        BackendError: the address is in use.
    """
    settings = memory.config
    address = host or settings.host
    check_address(address, explicit=host is not None, configured=settings.tokens)
    tokens = dict(settings.tokens) or {own_token(memory.home): DEFAULT_AGENT}
    doors = guard.Doors.of(address)
    doors = guard.Doors(doors.names | names, any_address=doors.any_address)

    def caller_of(context: Context) -> tools.Caller:
        return tools.Caller(memory.agent(_agent_of(context)), citations=settings.citations)

    endpoint = open_endpoint(
        tools.offered(
            style=settings.style, agent_write_mode=settings.agent_write_mode, recorder_tool=settings.recorder_tool
        ),
        caller_of,
        version=memoranda.__version__,
        security=loopback_check() if doors == guard.Doors() else None,
    )

    @contextlib.asynccontextmanager
    async def running() -> AsyncIterator[None]:
        with Watcher(memory), Tender(memory):
            async with endpoint.running():
                yield

    with server.bind(address, settings.port if port is None else port) as listener:
        _announce(memory, _url(address, int(listener.getsockname()[1])), tokens, as_json=as_json)
        app = server.build_app([endpoint.route()], doors=doors, tokens=guard.Tokens.of(tokens), running=running)
        with _terminated_as_interrupted():
            server.run(app, listener)


def _agent_of(context: Context) -> str:
    """Return the agent whose token came with a request; the guard has put it there."""
    if context.request is None:
        raise Denied("this request did not come through the guard")
    return str(context.request.state.agent)


def check_address(address: str, *, explicit: bool, configured: Mapping[str, str]) -> None:
    """Refuse to listen beyond this machine unless that was asked for on the command line, with own tokens.

    Raises:
        ConfigurationError: `--host` or `[server] tokens` is missing.
    """
    if guard.is_loopback(address):
        return
    if not explicit:
        raise ConfigurationError(f"server.host {address} is reachable from elsewhere; confirm it with --host {address}")
    if not configured:
        raise ConfigurationError(f"listening on {address} needs [server] tokens in memoranda.toml (token = agent id)")


def _url(address: str, port: int) -> str:
    wildcards = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}  # noqa: S104 - translated, not bound
    name = wildcards.get(address, f"[{address}]" if ":" in address else address)
    return f"http://{name}:{port}/mcp"


def _announce(memory: Memory, url: str, tokens: Mapping[str, str], *, as_json: bool) -> None:
    """Print the home, what it holds, the address, and what to paste into a coding agent."""
    status = memory.status()
    token, agent_id = next(iter(tokens.items()))
    configuration = http_configuration(url, token)
    if as_json:
        document = {"home": str(memory.home), "url": url, "agent": agent_id, "configuration": configuration}
        typer.echo(json.dumps(document, ensure_ascii=False))
        return
    records = sum(scope.active for scope in status.scopes)
    typer.echo(f"home     {memory.home}: {records} records in {len(status.scopes)} scopes")
    typer.echo(f"embedder {status.embedder} ({status.embedder_reason})")
    typer.echo(f"address  {url}  (Ctrl-C ends it)")
    typer.echo(f"\nFor a coding agent's MCP configuration (acts as agent {agent_id}):")
    typer.echo(json.dumps(configuration, ensure_ascii=False))
    typer.echo("Or, for one that starts memoranda itself:")
    typer.echo(json.dumps(stdio_configuration(memory.home, agent_id), ensure_ascii=False))


def _interrupt(*_: object) -> NoReturn:
    raise KeyboardInterrupt


@contextlib.contextmanager
def _terminated_as_interrupted() -> Iterator[None]:
    """Let SIGTERM end the server like Ctrl-C, so that the watcher is stopped and the memory closed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        with contextlib.suppress(KeyboardInterrupt):
            yield
    finally:
        signal.signal(signal.SIGTERM, before)
