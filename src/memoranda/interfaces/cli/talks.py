"""Verbs for sessions, for hooks and for looking: `session list|open|say|messages|compact|tidy|reset|close` and more."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import Annotated

import typer

from memoranda.domain.conversation import Message
from memoranda.domain.episode import one_line
from memoranda.domain.session import SessionState
from memoranda.errors import Denied, NotFound
from memoranda.interfaces import wire_jobs
from memoranda.interfaces.cli.notes import text_argument
from memoranda.interfaces.cli.options import AgentId, AsJson, Home, verb
from memoranda.interfaces.cli.output import indented, plain
from memoranda.interfaces.cli.session import SESSION, in_session, opened, pinned_agent
from memoranda.interfaces.cli.session import Session as Opened
from memoranda.memory import Session
from memoranda.memory.session import KEEP_TURNS

Key = Annotated[str, typer.Argument(metavar="KEY", help="The session's key: the host's own name for it.")]


def register(app: typer.Typer) -> None:
    """Add the verbs to the command line."""
    group = typer.Typer(name="session", help="Sessions of an agent and their taint.", no_args_is_help=True)
    group.command("list")(session_list)
    group.command("open")(session_open)
    group.command("tool-result")(session_tool_result)
    group.command("reset")(session_reset)
    group.command("close")(session_close)
    group.command("say")(session_say)
    group.command("messages")(session_messages)
    group.command("compact")(session_compact)
    group.command("tidy")(session_tidy)
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
    with opened(home, agent, as_json=as_json, make=True) as here:
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
    with opened(home, agent, as_json=as_json, make=True) as here:
        session = _session(here, key)
        session.tool_result(tool, "", server)
        state = session.state
    here.out.result(_facts(state), [_line(state)])


@verb
def session_reset(key: Key, *, agent: AgentId = None, home: Home = None, as_json: AsJson = False) -> None:
    """End a session and begin anew under its key; only a person does that to a tainted one."""
    with opened(home, agent, as_json=as_json) as here:
        session = _ending(here, key)
        session.reset()
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


@verb
def session_say(
    key: Key,
    role: Annotated[str, typer.Argument(metavar="ROLE", help="user, assistant or system.")],
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What was said; - reads standard input.")],
    *,
    speaker: Annotated[str, typer.Option("--speaker", metavar="NAME", help="Who said it.")] = "",
    at: Annotated[
        str,
        typer.Option(
            "--at", metavar="TIME", help="When it was said, if not now (ISO 8601; without an offset your time zone)."
        ),
    ] = "",
    agent: AgentId = None,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Write down a turn of a conversation; it prints the text as a model should get it."""
    with opened(home, agent, as_json=as_json, make=True) as here:
        session = _spoken_in(here, key)
        said = session.say(role, text_argument(text), speaker=speaker, at=at)  # type: ignore[arg-type]  # checked there
        state = session.state
    here.out.result({**_facts(state), "text": said}, [plain(said)])


@verb
def session_messages(key: Key, *, agent: AgentId = None, home: Home = None, as_json: AsJson = False) -> None:
    """Show the messages of a session, as it would go on."""
    with opened(home, agent, as_json=as_json) as here:
        found = _read_in(here, key).messages
    entries = [asdict(message) for message in found]
    lines = [_message_line(item) for item in found if item.text.strip() or item.tool]
    here.out.result({"count": len(entries), "messages": entries}, lines or ["nothing was said yet"])


def _message_line(item: Message) -> str:
    who = one_line(item.speaker or item.role)
    return plain(f"{item.position} {who} {one_line(item.tool)}: {indented(item.text)}")


@verb
def session_compact(
    key: Key,
    *,
    summary: Annotated[str, typer.Option("--summary", metavar="TEXT", help="What to put in their place.")] = "",
    keep: Annotated[int, typer.Option("--keep", min=0, help="Messages that stay.")] = 20,
    agent: AgentId = None,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Put a summary in the place of older messages; the log keeps them all."""
    with opened(home, agent, as_json=as_json) as here:
        session = _read_in(here, key)
        done = session.compact(summary, keep=keep)
        left = len(session.messages)
    line = f"{left} messages are left" if done else "there was nothing to cut"
    here.out.result({"compacted": done, "messages": left}, [line])


@verb
def session_tidy(
    key: Key,
    *,
    keep: Annotated[int, typer.Option("--keep", min=0, help="Turns of the user that stay as they are.")] = KEEP_TURNS,
    restore: Annotated[bool, typer.Option("--restore", help="Show the whole conversation again.")] = False,
    agent: AgentId = None,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Show older results of tools, and runs of heartbeats, as one line each; the log keeps everything."""
    with opened(home, agent, as_json=as_json) as here:
        session = _read_in(here, key)
        if restore:
            back = session.restore_hygiene()
            here.out.result({"restored": back}, [f"{back} messages are shown whole again"])
            return
        report = session.tidy(keep_turns=keep)
    lines = [plain(f"{step.what}: {step.why}") for step in report.steps] or ["there was nothing to shorten"]
    here.out.result(wire_jobs.run(report), lines)


def _spoken_in(here: Opened, key: str) -> Session:
    """Return a session to speak in: for a pinned agent its own alone, as tainted as what it may have read."""
    named = _own_key(key)
    session = _session(here, key)
    if pinned_agent() is not None and not named and not session.tainted:
        beside = [state for state in here.memory.agent(here.agent_id).sessions() if state.is_tainted]
        if beside:
            session.receive("", beside[0].id)
    return session


def _read_in(here: Opened, key: str) -> Session:
    """Return a session to read: a pinned agent reads another's pages in none but its own."""
    named = _own_key(key)
    session = _known(here, key)
    if pinned_agent() is not None and not named and session.tainted:
        raise Denied(f"this session has read untrusted content; set {SESSION} to its key in the process that is it")
    return session


def _own_key(key: str) -> str:
    """Return the key of the session that a pinned process is, "" where that is not said; Denied for another."""
    named = os.environ.get(SESSION, "") if pinned_agent() is not None else ""
    if named and named != key:
        raise Denied(f"{SESSION} says which session this process is; it speaks in no other")
    return named


def _known(here: Opened, key: str) -> Session:
    """Return the open session with this key; raises NotFound, for looking opens none."""
    if key not in [state.key for state in here.agent.sessions()]:
        raise NotFound("no open session has this key; `memoranda session list` shows those there are")
    return _session(here, key)


def _ending(here: Opened, key: str) -> Session:
    """Return a session that is about to end. Raises Denied where an agent would shake off its taint so."""
    session = _known(here, key)
    if pinned_agent() is not None and session.tainted:
        raise Denied("this session has read untrusted content; only a person ends it")
    return session
