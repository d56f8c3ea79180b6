"""Verbs that keep running for others: mcp (one agent over stdio) and serve (HTTP, with the watcher)."""

from __future__ import annotations

from typing import Annotated

import typer

import memoranda
from memoranda.errors import MissingExtra
from memoranda.interfaces import tools
from memoranda.interfaces.cli.background import Watcher
from memoranda.interfaces.cli.options import AgentId, AsJson, Home, verb
from memoranda.interfaces.cli.output import Output
from memoranda.interfaces.cli.pasting import stdio_configuration
from memoranda.interfaces.cli.session import acting, acting_agent, forbid_agents
from memoranda.memory import Session as Talk

FIRST_SYNC_SECONDS = 10.0
"""How long tool calls wait for the first sync; a larger vault answers from what is indexed by then."""


def register(app: typer.Typer) -> None:
    """Add the verbs to the command line."""
    for function in (mcp, serve):
        app.command()(function)


@verb
def mcp(
    *,
    agent: AgentId = None,
    watch: Annotated[bool, typer.Option("--watch/--no-watch", help="Take in edited files while serving.")] = True,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Serve one agent over MCP on standard input and output.

    With --json: print the configuration to paste into a coding agent, and do not serve.
    """
    agent_id = acting_agent(agent)
    with memoranda.open(home) as memory:
        if as_json:
            Output(as_json=True).result(stdio_configuration(memory.home, agent_id), ())
            return
        try:
            from memoranda.interfaces.mcp.stdio import serve_stdio  # noqa: PLC0415 - a second of imports
        except ModuleNotFoundError as error:
            raise MissingExtra("mcp", "MCP") from error
        settings = memory.config
        caller = tools.Caller(acting(memory, agent_id), citations=settings.citations)
        with Watcher(memory, agents=(agent_id,), keep=watch) as watcher:

            def caller_of(_: object) -> tools.Caller:
                watcher.first_sync_done.wait(FIRST_SYNC_SECONDS)
                return caller

            session = caller.agent if isinstance(caller.agent, Talk) else None
            offered = tools.offered(
                style=settings.style, agent_write_mode=settings.agent_write_mode, recorder_tool=settings.recorder_tool,
                session=session,
            )  # fmt: skip
            serve_stdio(offered, caller_of, version=memoranda.__version__)


@verb
def serve(
    *,
    host: Annotated[
        str | None,
        typer.Option("--host", help="Address to listen on.", show_default="configured, else 127.0.0.1"),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option("--port", min=0, max=65_535, help="0 takes a free one.", show_default="configured, else 8765"),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option("--allow-host", metavar="NAME", help="A further Host to answer to; may be repeated."),
    ] = None,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Serve agents over HTTP (MCP at /mcp), and take in edited files meanwhile."""
    forbid_agents("serve")
    try:
        from memoranda.interfaces.cli.serving import serve_http  # noqa: PLC0415 - a second of imports
    except ModuleNotFoundError as error:
        raise MissingExtra("server", "the HTTP server") from error
    with memoranda.open(home) as memory:
        serve_http(memory, host=host, port=port, names=frozenset(allow_host or ()), as_json=as_json)
