"""A home: what users open. It delegates and decides nothing."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self

from memoranda.config import Config
from memoranda.domain.given import check_str
from memoranda.domain.report import (
    Finding,
    Progress,
    StatusReport,
    SyncReport,
    VerifyReport,
)
from memoranda.domain.scope import (
    APPLICATION,
    OPERATOR,
    REALM,
    Principal,
    Scope,
    Viewer,
    agent_scope,
    check_id,
)
from memoranda.errors import MemorandaError
from memoranda.memory.agent import Agent
from memoranda.memory.archives import Archives
from memoranda.memory.job import Job
from memoranda.memory.operator import Operator
from memoranda.memory.parts import Parts
from memoranda.ports.arm import Remarking
from memoranda.services import indexing, scan, status, transcript_import, verify
from memoranda.services import operator as operators
from memoranda.services import sync as sync_service
from memoranda.services.embedding import embed_pending
from memoranda.services.secret_text import redacted
from memoranda.services.transcript_import import TranscriptReport

if TYPE_CHECKING:
    from memoranda.domain.job import RunReport
    from memoranda.ports.model import LanguageModel


class Memory(Archives, AbstractContextManager["Memory"]):
    """One home: all memory of all agents of one realm. Threads may share it."""

    def __init__(self, home: Path, parts: Parts) -> None:
        self.home = home
        self._parts = parts

    @property
    def config(self) -> Config:
        """The settings in force."""
        return self._parts.config

    @property
    def model_name(self) -> str:
        """The language model of jobs and chat as `provider:name`, "" where none is set."""
        return self._parts.models.name

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __enter__(self) -> Self:
        return self

    def close(self) -> None:
        """Close files and databases; nothing is pending."""
        self._parts.close()

    def agent(self, agent_id: str) -> Agent:
        """Return a handle that acts as the agent itself: what tools and MCP use.

        Raises:
            MissingIdentity, InvalidInput: the id is absent or has another form than `[a-z0-9][a-z0-9_-]{0,63}`.
        """
        return self._handle(Principal("agent", check_id("agent", agent_id)), agent_id)

    def person(self, agent_id: str) -> Agent:
        """Return a handle that acts for a person in an agent's memory: what the CLI uses. Raises as `agent`."""
        return self._handle(APPLICATION, agent_id)

    def job(
        self, kind: Literal["steward", "distiller", "importer"], run: str, agent_id: str, *, session_id: str = ""
    ) -> Job:
        """Return a handle for background work in an agent's memory: what it writes is bound by every rejection.

        `run` names the run and has the form of an id; `session_id` is the session that it works on, whose taint is
        the job's. Raises as `agent`.
        """
        return Job(self._parts, self._viewer(Principal(kind, check_id("run", run)), agent_id), session_id)

    def operator(self, passphrase: str = "", *, at_terminal: bool = False) -> Operator:
        """Return the operator's handle: review, trust, erase.

        Raises:
            Denied: a credential is set and this is not it, or none is set and nobody is at a terminal.
        """
        return Operator(self._parts, operators.check(self._parts.stores, passphrase, at_terminal=at_terminal))

    @property
    def operator_is_set(self) -> bool:
        """Whether the operator has a passphrase."""
        return operators.is_set(self._parts.stores)

    def set_operator(self, new: str, *, old: str = "", at_terminal: bool = False) -> None:
        """Set or change the operator's passphrase. Raises Denied, InvalidInput."""
        operators.set_credential(self._parts.stores, new, old=old, at_terminal=at_terminal)

    def language_model(self) -> LanguageModel:
        """Return the language model in use; nothing is asked yet.

        Raises:
            ConfigurationError: none is set (`llm.model`), or it cannot be used.
            MissingExtra: the extra `llm` is not installed.
        """
        return self._parts.models.open()

    def _handle(self, principal: Principal, agent_id: str) -> Agent:
        return Agent(self._parts, self._viewer(principal, agent_id))

    def _viewer(self, principal: Principal, agent_id: str) -> Viewer:
        own = agent_scope(agent_id)
        teams = {Scope("team", team) for team, members in self.config.teams.items() if agent_id in members}
        return Viewer(principal, own, frozenset({own, OPERATOR, REALM, *teams}))

    def _scopes(self, agents: Sequence[str] | None) -> list[Scope]:
        stores = self._parts.stores
        if agents is None:
            return sorted({*stores.documents.scopes(), *stores.ledger.scopes()})
        return sorted({scope for agent in agents for scope in self._viewer(APPLICATION, agent).scopes})

    def workspaces(self) -> tuple[str, ...]:
        """Return the scopes that exist."""
        return tuple(str(scope) for scope in self._scopes(None))

    def sync(
        self,
        *,
        accept_removals: bool = False,
        progress: Progress | None = None,
        agents: Sequence[str] | None = None,
    ) -> SyncReport:
        """Take note of what people did to the files of all scopes, or of those that some agents read.

        Raises:
            RemovalsNotAccepted: more than half of a workspace's files are gone.
        """
        return sync_service.sync(
            self._parts.stores, self._scopes(agents), accept_removals=accept_removals, progress=progress
        )

    def embed(self, *, progress: Progress | None = None, limit: int | None = None) -> int:
        """Give vectors to what waits for them; return how many. Loads the embedder only where something waits."""
        stores, done = self._parts.stores, 0
        scopes = [scope for scope in stores.index.scopes() if stores.index.state(scope).passages]
        for scope in scopes:
            embedder = self._parts.embedders.open()
            if embedder is None:
                return 0
            left = None if limit is None else limit - done
            if left == 0:
                break
            report = _scoped(progress, f"embedding {scope}")
            done += embed_pending(stores.index, embedder, self._parts.cache, scope, limit=left, progress=report)
        return done

    def reindex(self, *, progress: Progress | None = None) -> SyncReport:
        """Forget the index and build it again from files and ledger; vectors come with `embed`."""
        stores = self._parts.stores
        for scope in sorted({*stores.index.scopes(), *self._scopes(None)}):
            with stores.locks.hold(scope):
                stores.index.clear(scope)
                indexing.catch_up(stores, scope, progress)
        return self.sync(progress=progress)

    def prepare_search(self) -> tuple[str, ...]:
        """Do what the first search of each scope would have to do; return what keeps the set backend from answering."""
        index = self._parts.stores.index
        if not isinstance(index, Remarking):
            return ()
        for scope in index.scopes():
            index.warm(scope)
        return tuple(f"{scope}: {remark}" for scope in index.scopes() if (remark := index.remark(scope)))

    def verify(self, *, repair: bool = False, progress: Progress | None = None) -> VerifyReport:
        """Check chain, records, objects, files and index; `repair` rebuilds what is derived."""
        return verify.verify(self._parts.stores, repair=repair, progress=progress)

    def status(self) -> StatusReport:
        """Count what the home holds."""
        embedders = self._parts.embedders
        return status.status(
            self._parts.stores,
            home=str(self.home),
            embedder=embedders.address,
            reason=embedders.reason,
            backend=self.config.backend,
            index_bytes=self._parts.index_bytes(),
        )

    def doctor(self) -> tuple[Finding, ...]:
        """Return what is well and what a person should look at."""
        return tuple(status.doctor(self._parts.stores, self.status(), self._parts.embedders.open))

    def scan_secrets(self, *, progress: Progress | None = None) -> tuple[Finding, ...]:
        """Look for secrets in everything that is stored already, in every kept version too."""
        return tuple(scan.scan_secrets(self._parts.stores, progress))

    def redact(self, text: str) -> str:
        """Return a text with `[redacted:<class>]` in the place of every secret: what transcripts pass through."""
        check_str(text=text)
        return redacted(self._parts.stores, text)

    def import_transcript(
        self,
        agent_id: str,
        data: bytes,
        *,
        key: str,
        run: str = "transcript",
        form: str = "",
        progress: Progress | None = None,
    ) -> TranscriptReport:
        """Take a transcript of another tool into an agent's log as the session `key`: each event once, untrusted.

        `form` is `claude-code`, `messages` or `jsonl`; without it it is found out.

        Raises:
            InvalidInput: it has none of these forms, or is too large.
        """
        config = self.config
        return transcript_import.import_transcript(
            self._parts.stores, agent_scope(agent_id), data, key=key, run=check_id("run", run), form=form,
            policy=config.content_trust, settings=config.sessions, progress=progress,
        )  # fmt: skip

    def tend(self) -> tuple[RunReport, ...]:
        """Do what background work is due: note what open sessions taught, dream where an agent is silent.

        After a dream that was carried out what is new is compared, claims are checked, and recall is audited.
        Nothing is done where no model is set. What failed is in the reports. Raises as `Agent.dream`.
        """
        if not self._parts.models.name:
            return ()
        from memoranda.services.jobs.due import due_dreams, due_sessions  # noqa: PLC0415 - few verbs run a job

        stores, settings = self._parts.stores, self.config.jobs
        done = [
            self.agent(state.scope.id).session(state.key, audience=state.audience).extract()
            for state in list(due_sessions(stores, settings))
        ]
        for scope in list(due_dreams(stores, settings)):
            done += _dreamt(self.agent(scope.id))
        return tuple(done)

    def watch(
        self,
        *,
        stop: threading.Event,
        on_sync: Callable[[SyncReport], None],
        on_error: Callable[[MemorandaError], None],
        debounce: float = 1.5,
        resync: float = 900.0,
    ) -> None:
        """Sync and embed now, after every burst of changes, and every `resync` seconds, until `stop` is set.

        Raises BackendError where the home cannot be watched.
        """
        for _ in self._parts.watcher.changes(self.home, stop=stop, debounce=debounce, timeout=resync):
            self._refresh(on_sync, on_error)

    def _refresh(self, on_sync: Callable[[SyncReport], None], on_error: Callable[[MemorandaError], None]) -> None:
        try:
            on_sync(self.sync())
            self.embed()
        except MemorandaError as error:
            on_error(error)


def _dreamt(agent: Agent) -> list[RunReport]:
    """Dream, and do what follows a dream that was carried out; what has nothing to do is left out."""
    dreamt = agent.dream(asked=False)
    if dreamt.state != "done":
        return [dreamt]
    after = (agent.contradictions(), agent.steward(), agent.audit_usage())
    return [dreamt, *(report for report in after if report.state != "skipped")]


def _scoped(progress: Progress | None, what: str) -> Callable[[int, int], None] | None:
    if progress is None:
        return None
    return lambda done, total: progress(what, done, total)
