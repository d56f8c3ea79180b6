"""Verbs for sessions, for hooks and for looking: `session list|open|tool-result|renew|close`."""

from __future__ import annotations

from typing import Annotated

import typer

from memoranda.domain.session import SessionState
from memoranda.errors import Denied
from memoranda.interfaces.cli.options import AgentId, AsJson, Home, verb
from memoranda.interfaces.cli.output import plain
from memoranda.interfaces.cli.session import Session as Opened
from memoranda.interfaces.cli.session import in_session, opened, pinned_agent
from memoranda.memory import Session

Key = Annotated[str, typer.Argument(metavar="KEY", help="The session's key: the host's own name for it.")]


def register(app: typer.Typer) -> None:
    """Add the verbs to the command line."""
    group = typer.Typer(name="session", help="Sessions of an agent and their taint.", no_args_is_help=True)
    group.command("list")(session_list)
    group.command("open")(session_open)
    group.command("tool-result")(session_tool_result)
    group.command("renew")(session_renew)
    group.command("close")(session_close)
    app.add_typer(group)


def _session(opened_home: Opened, key: str, *, shared: bool = False) -> Session:
    agent = opened_home.memory.agent(opened_home.agent_id)
    return in_session(agent, key, "shared" if shared else "private")


def _facts(state: SessionState) -> dict[str, object]:
    return {
        "id": state.id,
        "key": state.key,
        "scope": str(state.scope),
        "audience": state.audience,
        "tainted": state.is_tainted,
        "taint_source": state.taint_source,
        "opened_at": state.opened_at,
        "closed_at": state.closed_at,
    }


def _line(state: SessionState) -> str:
    taint = f"tainted by {state.taint_source}" if state.is_tainted else "clean"
    return plain(f"{state.id}  {state.key}  {state.audience}  {taint}  since {state.opened_at[:16]}")


@verb
def session_list(*, agent: AgentId = None, home: Home = None, as_json: AsJson = False) -> None:
    """List an agent's open sessions, newest first."""
    with opened(home, agent, as_json=as_json) as here:
        found = here.memory.agent(here.agent_id).sessions()
    answer: dict[str, object] = {"count": len(found), "sessions": [_facts(state) for state in found]}
    here.out.result(answer, [_line(state) for state in found] or ["no session is open"])


@verb
def session_open(
    key: Key,
    *,
    shared: Annotated[bool, typer.Option("--shared", help="A group listens.")] = False,
    agent: AgentId = None,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Open a session, or go on with the open one of this key."""
    with opened(home, agent, as_json=as_json) as here:
        state = _session(here, key, shared=shared).state
    here.out.result(_facts(state), [_line(state)])


@verb
def session_tool_result(
    key: Key,
    tool: Annotated[str, typer.Argument(metavar="TOOL", help="The tool whose result is about to be read.")],
    *,
    server: Annotated[str | None, typer.Option("--server", metavar="NAME", help="The MCP server it is of.")] = None,
    agent: AgentId = None,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Note, before it is read, that a tool's result comes into a session; an untrusted one taints it."""
    with opened(home, agent, as_json=as_json) as here:
        session = _session(here, key)
        session.tool_result(tool, "", server)
        state = session.state
    here.out.result(_facts(state), [_line(state)])


@verb
def session_renew(key: Key, *, agent: AgentId = None, home: Home = None, as_json: AsJson = False) -> None:
    """End a session and begin anew under its key; only a person does that to a tainted one."""
    with opened(home, agent, as_json=as_json) as here:
        session = _ending(here, key)
        session.renew()
        state = session.state
    here.out.result(_facts(state), [_line(state)])


@verb
def session_close(key: Key, *, agent: AgentId = None, home: Home = None, as_json: AsJson = False) -> None:
    """End a session; only a person does that to a tainted one."""
    with opened(home, agent, as_json=as_json) as here:
        session = _ending(here, key)
        session.close()
        state = session.state
    here.out.result(_facts(state), [_line(state)])


def _ending(here: Opened, key: str) -> Session:
    """Return a session that is about to end. Raises Denied where an agent would shake off its taint so."""
    session = _session(here, key)
    if pinned_agent() is not None and session.tainted:
        raise Denied("this session has read untrusted content; only a person ends or renews it")
    return session
