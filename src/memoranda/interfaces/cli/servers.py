"""Verbs that keep running for others: mcp (one agent over stdio) and serve (HTTP, with the watcher)."""

from __future__ import annotations

import contextlib
import json
import logging
import signal
import threading
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from typing import Annotated, NoReturn

import typer

import memoranda
from memoranda.domain.report import SyncReport
from memoranda.errors import ConfigurationError, MemorandaError, MissingExtra, RemovalsNotAccepted
from memoranda.interfaces import tools
from memoranda.interfaces.cli.options import AgentId, AsJson, Home, verb
from memoranda.interfaces.cli.output import Output
from memoranda.interfaces.cli.session import DEFAULT_AGENT, acting_agent, forbid_agents
from memoranda.memory import Memory

FIRST_SYNC_SECONDS = 10.0
"""How long the first tool call waits for the first sync; a larger vault answers from what is indexed by then."""

STOP_SECONDS = 10.0
"""How long a server waits at its end for the watcher to finish what it is writing."""


def register(app: typer.Typer) -> None:
    """Add the verbs to the command line."""
    for function in (mcp, serve):
        app.command()(function)


@verb
def mcp(
    *,
    agent: AgentId = None,
    watch: Annotated[
        bool, typer.Option("--watch/--no-watch", help="Take in edited files while serving.")
    ] = True,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Serve one agent over MCP on standard input and output.

    With --json: print the configuration to paste into a coding agent, and do not serve.
    """
    agent_id = acting_agent(agent)
    if as_json:
        with memoranda.open(home) as memory:
            Output(as_json=True).result(stdio_configuration(memory.home, agent_id), ())
        return
    try:
        from memoranda.interfaces.mcp.stdio import serve_stdio  # noqa: PLC0415 - a second of imports
    except ModuleNotFoundError as error:
        raise MissingExtra("mcp", "MCP") from error
    with memoranda.open(home) as memory, Watcher(memory, agents=(agent_id,), keep=watch) as watcher:
        caller = tools.Caller(memory.agent(agent_id), citations=memory.config.citations)

        def caller_of(_: object) -> tools.Caller:
            watcher.first_sync_done.wait(FIRST_SYNC_SECONDS)
            return caller

        serve_stdio(_offered(memory), caller_of, version=memoranda.__version__)


@verb
def serve(
    *,
    host: Annotated[
        str | None,
        typer.Option("--host", help="Address to listen on.", show_default="configured, else 127.0.0.1"),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option("--port", min=0, max=65_535, help="0 takes a free one.", show_default="configured"),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-host", metavar="NAME", help="A further Host name to answer to; may be repeated."
        ),
    ] = None,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Serve agents over HTTP (MCP at /mcp), and take in edited files meanwhile."""
    forbid_agents("serve")
    with memoranda.open(home) as memory:
        _serve_http(memory, host=host, port=port, names=frozenset(allow_host or ()), as_json=as_json)


def _serve_http(
    memory: Memory, *, host: str | None, port: int | None, names: frozenset[str], as_json: bool
) -> None:
    try:
        from memoranda.interfaces.http import guard, server  # noqa: PLC0415 - uvicorn and mcp: a second of imports
        from memoranda.interfaces.http.token import own_token  # noqa: PLC0415
        from memoranda.interfaces.mcp.http import loopback_check, open_endpoint  # noqa: PLC0415
        from memoranda.interfaces.mcp.server import Context  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise MissingExtra("server", "the HTTP server") from error

    settings = memory.config
    address = host or settings.host
    check_address(
        address, explicit=host is not None, configured=settings.tokens, local=guard.is_loopback(address)
    )
    tokens = dict(settings.tokens) or {own_token(memory.home): DEFAULT_AGENT}
    doors = guard.Doors.of(address)
    doors = guard.Doors(doors.names | names, any_address=doors.any_address)
    citations = memory.config.citations

    def caller_of(context: Context) -> tools.Caller:
        return tools.Caller(memory.agent(context.request.state.agent), citations=citations)

    endpoint = open_endpoint(
        _offered(memory),
        caller_of,
        version=memoranda.__version__,
        security=loopback_check() if doors.names == guard.LOOPBACK_NAMES and not doors.any_address else None,
    )

    @contextlib.asynccontextmanager
    async def running() -> AsyncIterator[None]:
        with Watcher(memory):
            async with endpoint.running():
                yield

    with server.bind(address, settings.port if port is None else port) as listener:
        url = _url(address, int(listener.getsockname()[1]))
        _announce(memory, url, tokens, as_json=as_json)
        app = server.build_app(
            [endpoint.route()], doors=doors, tokens=guard.Tokens.of(tokens), running=running
        )
        with _terminated_as_interrupted():
            server.run(app, listener)


def check_address(address: str, *, explicit: bool, configured: Mapping[str, str], local: bool) -> None:
    """Refuse to listen beyond this machine unless that was asked for on the command line, with own tokens.

    Raises:
        ConfigurationError: `--host` or `[server] tokens` is missing.
    """
    if local:
        return
    if not explicit:
        raise ConfigurationError(
            f"server.host {address} is reachable from elsewhere; confirm it with --host {address}"
        )
    if not configured:
        raise ConfigurationError(
            f"listening on {address} needs [server] tokens in memoranda.toml (token = agent id)"
        )


def _offered(memory: Memory) -> tuple[tools.Tool, ...]:
    policy = memory.config
    return tools.offered(style=policy.style, agent_write_mode=policy.agent_write_mode)


def _url(address: str, port: int) -> str:
    name = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(address, f"[{address}]" if ":" in address else address)  # noqa: S104
    return f"http://{name}:{port}/mcp"


def stdio_configuration(home: Path, agent_id: str) -> dict[str, object]:
    """Return the lines for a coding agent that starts `memoranda mcp` itself."""
    arguments = ["mcp", "--home", str(home), "--agent", agent_id]
    return {"mcpServers": {"memoranda": {"command": "memoranda", "args": arguments}}}


def http_configuration(url: str, token: str) -> dict[str, object]:
    """Return the lines for a coding agent that connects to a running server."""
    headers = {"Authorization": f"Bearer {token}"}
    return {"mcpServers": {"memoranda": {"type": "http", "url": url, "headers": headers}}}


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
    typer.echo(
        f"home     {memory.home}: {records} records of {len(status.scopes)} scopes, embedder {status.embedder}"
    )
    typer.echo(f"address  {url}  (Ctrl-C ends it)")
    typer.echo(f"paste this into a coding agent's MCP configuration (agent {agent_id}):")
    typer.echo(json.dumps(configuration, ensure_ascii=False))
    typer.echo("or, for an agent that starts memoranda itself:")
    typer.echo(json.dumps(stdio_configuration(memory.home, agent_id), ensure_ascii=False))


class Watcher:
    """A thread that syncs once and then follows the files, for as long as the block it guards.

    `first_sync_done` is set after the first sync, whether or not it succeeded.
    """

    def __init__(self, memory: Memory, *, agents: tuple[str, ...] | None = None, keep: bool = True) -> None:
        self.first_sync_done = threading.Event()
        self._memory, self._agents, self._keep = memory, agents, keep
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="memoranda-watch", daemon=True)

    def __enter__(self) -> Watcher:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(STOP_SECONDS)

    def _run(self) -> None:
        try:
            self._memory.sync(agents=self._agents)
        except RemovalsNotAccepted as error:
            _warn(error)
        except MemorandaError as error:
            _warn(error)
        finally:
            self.first_sync_done.set()
        if self._keep and not self._stop.is_set():
            self._memory.watch(stop=self._stop, on_sync=_quiet, on_error=_warn)


def _quiet(_: SyncReport) -> None:
    """Say nothing: a server's standard error is for warnings."""


def _warn(error: MemorandaError) -> None:
    logging.getLogger(__name__).warning("%s", error)


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
