"""Opens the memory for one verb, as the person who types or as the agent that the environment pins."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import memoranda
from memoranda.bootstrap import home_folder
from memoranda.domain.report import SyncReport
from memoranda.domain.scope import check_id
from memoranda.domain.session import Audience
from memoranda.errors import Denied, NotFound, RemovalsNotAccepted
from memoranda.interfaces.cli.output import Output
from memoranda.interfaces.cli.progress import shown
from memoranda.memory import Agent, Memory
from memoranda.memory import Session as Talk

PINNED = "MEMORANDA_AGENT"
"""Set in hooks and sandboxes: whoever runs there acts as that agent and as nobody else."""

SESSION = "MEMORANDA_SESSION"
"""The key of the session that a hook or a tool server works in; without it a write counts for all open sessions."""

DEFAULT_AGENT = "main"


def pinned_agent() -> str | None:
    """Return the agent that the environment pins, or None.

    Raises:
        MissingIdentity: the variable is set and empty; guessing would make an agent a person.
        InvalidInput: it is no legal id.
    """
    value = os.environ.get(PINNED)
    return None if value is None else check_id("agent", value)


def acting_agent(asked: str | None) -> str:
    """Return the agent to act for: the pinned one, else the one asked for, else `main`.

    Raises:
        Denied: another agent than the pinned one was asked for.
    """
    pinned = pinned_agent()
    if pinned is not None and asked is not None and asked != pinned:
        raise Denied(f"{PINNED} pins this process to one agent; --agent cannot name another")
    return check_id("agent", asked if asked is not None else pinned or DEFAULT_AGENT)


def acting(memory: Memory, agent_id: str) -> Agent:
    """Return an agent's handle, in the session that `$MEMORANDA_SESSION` names where it is set."""
    key = os.environ.get(SESSION)
    agent = memory.agent(agent_id)
    return in_session(agent, key) if key else agent


def in_session(agent: Agent, key: str, audience: Audience = "private") -> Talk:
    """Return an agent's session with this key.

    One that a pinned process opens while another of the agent is tainted is tainted too: whoever runs there may have
    read what that one has.
    """
    before = agent.sessions()
    session = agent.session(key, audience=audience)
    beside = [state for state in before if state.is_tainted]
    if pinned_agent() is not None and beside and key not in [state.key for state in before]:
        session.receive("", beside[0].id)
    return session


def forbid_agents(what: str) -> None:
    """Raise Denied where the environment pins an agent: `what` is for a person."""
    if pinned_agent() is not None:
        raise Denied(f"{what} is for a person, and {PINNED} is set")


@dataclass(frozen=True, slots=True)
class Session:
    """A memory opened for one verb, and the agent in whose scope it works."""

    memory: Memory
    agent: Agent
    agent_id: str
    out: Output

    def refresh(self, *, skip: bool = False) -> SyncReport | None:
        """Take in edited files; a mass removal is reported and leaves the memory as it was."""
        if skip:
            return None
        try:
            with shown() as progress:
                return self.memory.sync(agents=[self.agent_id], progress=progress)
        except RemovalsNotAccepted as error:
            self.out.note(f"warning: {error}")
            return None


def existing_home(home: Path | None) -> Path:
    """Return the home; raises NotFound where there is none: a mistyped name must not become an empty memory."""
    folder = home_folder(home)
    if not (folder / ".state").is_dir():
        raise NotFound(f"there is no memory in {folder}; `memoranda init` makes one there")
    return folder


@contextlib.contextmanager
def opened(
    home: Path | None,
    agent: str | None,
    *,
    as_json: bool,
    make: bool = False,
    settings: Mapping[str, object] | None = None,
) -> Iterator[Session]:
    """Open the memory, as the pinned agent where the environment names one, else as a person.

    `make` lets a home be made where there is none; `settings` override file and environment.
    """
    agent_id = acting_agent(agent)
    with memoranda.open(home if make else existing_home(home), settings=settings) as memory:
        handle = memory.person(agent_id) if pinned_agent() is None else acting(memory, agent_id)
        yield Session(memory, handle, agent_id, Output(as_json=as_json))
