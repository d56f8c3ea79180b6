"""One conversation of an agent: an agent's handle whose writes carry the session, and with it the taint."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from memoranda.domain.context import Context
from memoranda.domain.conversation import Conversation, Message
from memoranda.domain.episode import ROLES, Episode, EpisodeKind, Role, is_searchable, one_line
from memoranda.domain.given import check_str
from memoranda.domain.operation import Batch
from memoranda.domain.outcome import BatchOutcome, Duplicate, Saved
from memoranda.domain.scope import Viewer
from memoranda.domain.session import Audience, SessionState
from memoranda.domain.times import read_time
from memoranda.errors import BackendError, Busy, Denied, IntegrityError, InvalidInput, MemorandaError
from memoranda.memory.agent import Agent
from memoranda.memory.parts import Parts
from memoranda.services import context, episodes, opening, session_state, sessions, talking, transcripts
from memoranda.services.context import Talk
from memoranda.services.episodes import Event
from memoranda.services.erase import erasures
from memoranda.services.inbound import defanged_if, is_memory_tool

if TYPE_CHECKING:
    from memoranda.domain.job import RunReport

KEEP_MESSAGES, KEEP_TURNS = 20, 10


class Session(Agent):
    """An agent in one conversation. It is made by `Agent.session`.

    What is said goes through it: each event is a line of the daily log, durable when the call returns, and what is
    returned is the text to hand to the model. One process may hold many sessions; threads may share one.
    """

    def __init__(self, parts: Parts, viewer: Viewer, state: SessionState) -> None:
        super().__init__(parts, viewer, state.id)
        self.key = state.key
        self._lock = threading.RLock()
        self._erased = erasures(parts.stores)
        self._conversation, self.warnings = talking.resume(parts.stores, state, parts.config.sessions)

    @classmethod
    def begin(cls, parts: Parts, viewer: Viewer, key: str, audience: Audience) -> Self:
        """Open or go on with a session. Raises InvalidInput where the viewer is no agent."""
        if viewer.principal.kind != "agent":
            raise InvalidInput("only an agent has sessions; use memory.agent(id).session(key)")
        state = opening.open_session(parts.stores, viewer.own, key, author=viewer.principal, audience=audience)
        return cls(parts, viewer, state)

    @property
    def id(self) -> str:
        """The session's id, `ses_…`; a session that was reset has another."""
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

    @property
    def messages(self) -> tuple[Message, ...]:
        """What a model sees of the conversation: the newest messages, oldest first, secrets redacted."""
        from memoranda.services.jobs import hygiene  # noqa: PLC0415 - few verbs run a job

        with self._lock:
            found = hygiene.shown(self._parts.stores, self._session_id, self._current().messages)
        return tuple(
            replace(item, text=self._inbound(item.text)) if item.role != "assistant" else item for item in found
        )

    @property
    def is_open_to_memory(self) -> bool:
        """Whether memory is used here: in a session that a group hears only where the settings allow it."""
        return self.audience != "shared" or self._parts.config.content_trust.shared_audience == "on"

    def _current(self) -> Conversation:
        """Return the conversation; read it from the log again where something was erased meanwhile."""
        erased = erasures(self._parts.stores)
        if erased != self._erased:
            self._conversation, self.warnings = talking.resume(
                self._parts.stores, self.state, self._parts.config.sessions
            )
            self._erased = erased
        return self._conversation

    def _open_state(self) -> SessionState:
        state = self.state
        if not state.is_open:
            raise InvalidInput("this session has ended; open it again under its key")
        return state

    def _guard(self) -> None:
        if not self.is_open_to_memory:
            raise Denied("memory is not used where a group listens (memory.content_trust.shared_audience is off)")

    def say(self, role: Role, text: str, *, speaker: str = "", at: str = "") -> str:
        """Write down a turn (`user`, `assistant`) or system text; return it for the model.

        `at` is when it was said, for what is told later (ISO 8601; without an offset it is a time of the user's zone).
        Marks of recalled memory that a user's text imitates are made harmless.

        Raises:
            InvalidInput: the role is none of these, `at` is no time, a text is none, or the session has ended.
        """
        check_str(text=text, speaker=speaker, at=at)
        if role not in ROLES or role == "tool":
            raise InvalidInput("a turn is said by user, assistant or system; a tool answers with tool_result")
        kind = EpisodeKind.SYSTEM if role == "system" else EpisodeKind.TURN
        when = read_time(at, self._parts.stores.zone().rules) if at else ""
        self._write(Event(kind=kind, role=role, text=text, speaker=one_line(speaker), at=when))
        return self._inbound(text) if role == "user" else text

    def _inbound(self, text: str) -> str:
        """Return a text that came in, with marks of ours that it imitates made harmless; the log keeps it as it was."""
        return defanged_if(text, when=self._parts.config.prompt.defang_inbound)

    def user(self, text: str, *, speaker: str = "", at: str = "") -> str:
        """Write down what the user says."""
        return self.say("user", text, speaker=speaker, at=at)

    def assistant(self, text: str, *, speaker: str = "", at: str = "") -> str:
        """Write down what the model says; the transcript is kept, by default."""
        return self.say("assistant", text, speaker=speaker, at=at)

    def tool_call(self, tool: str, arguments: Mapping[str, object] | str = "", *, call_id: str = "") -> None:
        """Write down that the model calls a tool. What a memory tool is to write is logged by its hash alone."""
        text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False, default=str)
        check_str(tool=tool, text=text, call_id=call_id)
        if is_memory_tool(tool):
            text = json.dumps({"arguments": self._parts.stores.prints.content(text)})
        self._write(Event(kind=EpisodeKind.TOOL_CALL, role="assistant", text=text, tool=tool, call=call_id))

    def tool_result(self, tool: str, text: str, server: str | None = None, *, call_id: str = "") -> str:
        """Hand over a tool's result once the taint that it may bring, and the result itself, are durable.

        It is never found by search. Marks of recalled memory that it imitates are made harmless; beside that it is
        returned unchanged, while the log has it without secrets and at most 10,000 bytes of it.
        """
        check_str(tool=tool, text=text, server="" if server is None else server, call_id=call_id)
        sessions.tool_result(
            self._parts.stores, self._session_id, tool, server=server, policy=self._parts.config.content_trust,
            author=self.viewer.principal,
        )  # fmt: skip
        self._write(Event(kind=EpisodeKind.TOOL_RESULT, role="tool", text=text, tool=tool, call=call_id))
        return text if is_memory_tool(tool) else self._inbound(text)

    def receive(self, text: str, sender: Session | str) -> str:
        """Hand over a message of another session as a user's turn, once its taint is passed on."""
        sender_id = sender.id if isinstance(sender, Session) else sender
        check_str(text=text, sender=sender_id)
        name = str(sender.viewer.principal) if isinstance(sender, Session) else "another session"
        sessions.receive(self._parts.stores, self._session_id, sender_id, author=self.viewer.principal)
        self._write(Event(kind=EpisodeKind.TURN, role="user", text=text, speaker=name))
        return self._inbound(text)

    def note(self, kind: EpisodeKind | str, text: str) -> None:
        """Write down a `decision`, a `note`, an `error` or a `heartbeat`: logged, and never found by search."""
        allowed = (EpisodeKind.DECISION, EpisodeKind.NOTE, EpisodeKind.ERROR, EpisodeKind.HEARTBEAT)
        if kind not in allowed:
            raise InvalidInput(f"a note is one of {', '.join(allowed)}")
        check_str(text=text)
        self._write(Event(kind=EpisodeKind(kind), role="system", text=text))

    def _write(self, event: Event) -> Episode:
        parts = self._parts
        clean = self._without_nonce
        event = replace(
            event, text=clean(event.text), speaker=clean(event.speaker), tool=clean(event.tool), call=clean(event.call)
        )  # fmt: skip
        with self._lock:
            state = self.state
            episode = episodes.write(
                parts.stores, state, self._current(), event, author=self.viewer.principal,
                limit=parts.config.sessions.max_messages,
            )  # fmt: skip
            if talking.is_due(parts.config.sessions, episode):
                self._keep(state)
        if is_searchable(episode):
            with suppress(BackendError, IntegrityError, Busy):  # what is said is durable; vectors follow at a sync
                self._embed_if_loaded(1)
        return episode

    def _keep(self, state: SessionState) -> None:
        """Keep a checkpoint by policy; where that fails the log has everything, and `warnings` says so."""
        try:
            talking.keep(self._parts.stores, state, self._conversation)
        except BackendError as error:
            said = f"the transcript's checkpoint was not written ({error}); after a restart the log is read instead"
            self.warnings = tuple(dict.fromkeys((*self.warnings, said)))

    def _without_nonce(self, text: str) -> str:
        """Leave out the mark of this session's envelopes: it is in its prompts and nowhere else."""
        return re.sub(self._nonce, "…", text, flags=re.IGNORECASE)

    def _commit_batch(self, batch: Batch) -> BatchOutcome:
        """Commit, and write down what was asked of memory: ids of what was saved, the hash of what was not."""
        if self._nonce in repr(batch.operations):
            raise InvalidInput("this text holds the mark of recalled memory in a prompt; leave it out")
        outcome = super()._commit_batch(batch)
        items = [
            {"outcome": type(item).__name__.lower(), "records": list(getattr(item, "record_ids", ()))}
            if isinstance(item, Saved | Duplicate)
            else {"outcome": type(item).__name__.lower(), "asked": self._parts.stores.prints.content(repr(operation))}
            for item, operation in zip(outcome.items, batch.operations, strict=False)
        ]
        if self.state.is_open:
            text = json.dumps({"batch": outcome.batch_id, "items": items})
            tool = batch.provenance.tool or "memory"
            self._write(Event(kind=EpisodeKind.TOOL_CALL, role="assistant", text=text, tool=f"memory:{tool}"))
        return outcome

    def context(self, query: str = "", *, session: Session | None = None) -> Context:
        """Return what the prompt of this turn gets from memory, and note what was recalled into it.

        Raises:
            TooLate, BackendError: recall failed, and `memory.recall.recall_failure_policy` is `fail`.
        """
        if session is not None and session.id != self.id:
            raise InvalidInput("this is another session; ask it for its own prompt")
        check_str(query=query)
        if not self.is_open_to_memory:
            return Context(skipped="memory is not used where a group listens")
        with self._lock:
            return self._assemble(query, Talk(self._session_id, self._current(), self._nonce))

    @property
    def _nonce(self) -> str:
        return self._parts.stores.prints.nonce(self._session_id)

    def refresh(self) -> bool:
        """Let a prompt that was frozen at the session's start follow memory again; return whether there was one."""
        return context.refresh(self._parts.stores, self._session_id)

    def checkpoint(self) -> None:
        """Keep the transcript now, whatever the policy; the last three of a session stay."""
        with self._lock:
            talking.keep(self._parts.stores, self._open_state(), self._current())

    def compact(self, summary: str = "", *, keep: int = KEEP_MESSAGES) -> bool:
        """Put a summary in the place of all but the newest messages; return whether there was anything to cut.

        Without a summary a sentence says what went and how to find it. The log keeps everything; what was recalled
        before may be recalled again.
        """
        check_str(summary=summary)
        self._extract_quietly()
        with self._lock:
            settings = self._parts.config.sessions
            done = talking.compact(
                self._parts.stores, self.state, self._current(), settings, summary=self._without_nonce(summary),
                keep_messages=keep, author=self.viewer.principal,
            )  # fmt: skip
            if done and settings.checkpoints != "none":
                self._keep(self.state)
            return done is not None

    def tidy(self, keep_turns: int = KEEP_TURNS) -> RunReport:
        """Show results of tools before the user's last `keep_turns` turns, and runs of heartbeats, as one line each.

        No model is asked; the log keeps everything, and `restore_hygiene` brings it back. It holds after a restart.

        Raises:
            InvalidInput: `keep_turns` is negative, or the session has ended.
        """
        from memoranda.services.jobs import hygiene  # noqa: PLC0415 - few verbs run a job

        with self._lock:
            return hygiene.tidy(self._parts.stores, self._open_state(), self._current().messages, keep_turns=keep_turns)

    def restore_hygiene(self) -> int:
        """Show the whole conversation again; return how many messages came back. Raises InvalidInput as `tidy`."""
        from memoranda.services.jobs import hygiene  # noqa: PLC0415 - few verbs run a job

        with self._lock:
            return hygiene.restore(
                self._parts.stores, self._open_state(), self._current().messages, author=self.viewer.principal
            )

    def extract(self) -> RunReport:
        """Let a model write down what this conversation taught since the last time; what failed is in the report.

        Raises:
            Denied: a group listens and memory is not used there.
            ConfigurationError, MissingExtra: as `dream`.
        """
        from memoranda.services.jobs.extract import extract  # noqa: PLC0415 - few verbs run a job

        self._guard()
        report = extract(self._desk(), self._sight(), self._open_state())
        self._embed_if_loaded(report.count("saved"))
        return report

    def _extract_quietly(self) -> None:
        """Extract where a model is set; a failure is a warning and never breaks the conversation."""
        if not self._parts.models.name or not self.is_open_to_memory or not self.state.is_open:
            return
        try:
            report = self.extract()
            said = "" if report.state in ("done", "skipped") else report.message
        except MemorandaError as error:
            said = str(error)
        if said:
            self.warnings = tuple(dict.fromkeys((*self.warnings, f"what this conversation taught waits: {said}")))

    def reset(self) -> str:
        """End this conversation and begin anew under the same key: what comes now has read nothing.

        What was written before stays as it was. Returns the path of the copy that was left for people, "" for none.
        Raises InvalidInput where the session has ended.
        """
        self._extract_quietly()
        with self._lock:
            self._open_state()
            path = self._leave()
            state = opening.renew(self._parts.stores, self._session_id, author=self.viewer.principal)
            self._session_id = state.id
            self._conversation, self.warnings = talking.resume(self._parts.stores, state, self._parts.config.sessions)
        return path

    def new(self, key: str) -> Session:
        """End this conversation and begin another under another key; one that goes on under that key ends too."""
        audience, is_open = self.audience, key in [state.key for state in self.sessions()]
        sessions.check_opening(self._parts.stores, key, audience)
        self.close()
        made = Session.begin(self._parts, self.viewer, key, audience)
        if is_open and made.id != self.id and key != self.key:
            made.reset()
        return made

    def close(self) -> str:
        """End the session; a second time changes nothing. Returns as `reset`."""
        self._extract_quietly()
        with self._lock:
            path = self._leave() if self.state.is_open else ""
            sessions.close(self._parts.stores, self._session_id, author=self.viewer.principal)
        return path

    def _leave(self) -> str:
        """Leave a copy for people, and drop what goes with the session."""
        parts, state = self._parts, self.state
        path = transcripts.export(parts.stores, state, self._current()) if self._exports else ""
        parts.stores.transcripts.drop(state.scope, state.id)
        parts.stores.ledger.state_drop(state.id)
        return path

    @property
    def _exports(self) -> bool:
        return self._parts.config.sessions.export == "on-new-or-reset"

    def state_get(self, namespace: str, key: str) -> Any:
        """Return a private value of this session; None where there is none."""
        return session_state.get(self._parts.stores, self._session_id, namespace, key)

    def state_set(self, namespace: str, key: str, value: object) -> None:
        """Keep a private value with this session: JSON, in no prompt, gone when it ends. Raises InvalidInput."""
        self._open_state()
        session_state.put(self._parts.stores, self._session_id, namespace, key, value)

    def state_delete(self, namespace: str, key: str) -> bool:
        """Remove a private value; return whether there was one."""
        return session_state.delete(self._parts.stores, self._session_id, namespace, key)

    def state_list(self, namespace: str) -> tuple[str, ...]:
        """Return the keys of a namespace."""
        return session_state.keys(self._parts.stores, self._session_id, namespace)

    def state_clear(self, namespace: str) -> int:
        """Remove a whole namespace; return how many values there were."""
        return session_state.clear(self._parts.stores, self._session_id, namespace)
