"""One conversation of an agent: an agent's handle whose writes carry the session, and with it the taint."""

from __future__ import annotations

from typing import Self

from memoranda.domain.scope import Viewer
from memoranda.domain.session import Audience, SessionState
from memoranda.errors import Denied, InvalidInput
from memoranda.memory.agent import Agent
from memoranda.memory.parts import Parts
from memoranda.services import opening, sessions


class Session(Agent):
    """An agent in one conversation. It is made by `Agent.session`."""

    def __init__(self, parts: Parts, viewer: Viewer, session_id: str, key: str) -> None:
        super().__init__(parts, viewer, session_id)
        self.key = key

    @classmethod
    def begin(cls, parts: Parts, viewer: Viewer, key: str, audience: Audience) -> Self:
        """Open or go on with a session. Raises InvalidInput where the viewer is no agent."""
        if viewer.principal.kind != "agent":
            raise InvalidInput("only an agent has sessions; use memory.agent(id).session(key)")
        state = opening.open_session(parts.stores, viewer.own, key, author=viewer.principal, audience=audience)
        return cls(parts, viewer, state.id, key)

    @property
    def id(self) -> str:
        """The session's id, `ses_…`; a renewed session has another."""
        return self._session_id

    @property
    def state(self) -> SessionState:
        """What the ledger knows of it now."""
        return sessions.current(self._parts.stores, self._session_id)

    @property
    def tainted(self) -> bool:
        """Whether untrusted content has been read in it, as the ledger knows now."""
        return self.state.is_tainted

    @property
    def audience(self) -> Audience:
        """Who hears it."""
        return self.state.audience

    def _guard(self) -> None:
        if self.audience == "shared" and self._parts.config.content_trust.shared_audience != "on":
            raise Denied("memory is not used where a group listens (memory.content_trust.shared_audience is off)")

    def tool_result(self, tool: str, text: str, server: str | None = None) -> str:
        """Hand over a tool's result, unchanged, once the taint that it may bring is durable."""
        sessions.tool_result(
            self._parts.stores, self._session_id, tool, server=server, policy=self._parts.config.content_trust,
            author=self.viewer.principal,
        )  # fmt: skip
        return text

    def receive(self, text: str, sender: Session | str) -> str:
        """Hand over a message of another session, unchanged, once its taint is passed on."""
        sender_id = sender.id if isinstance(sender, Session) else sender
        sessions.receive(self._parts.stores, self._session_id, sender_id, author=self.viewer.principal)
        return text

    def renew(self) -> None:
        """Begin anew under the same key: what comes now has read nothing. What was written before stays as it was."""
        self._session_id = opening.renew(self._parts.stores, self._session_id, author=self.viewer.principal).id

    def close(self) -> None:
        """End the session."""
        sessions.close(self._parts.stores, self._session_id, author=self.viewer.principal)
