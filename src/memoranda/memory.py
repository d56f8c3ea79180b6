"""What users hold: Memory (a home) and Agent (one caller in one scope of it). They delegate and decide nothing."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from memoranda.config import Config
from memoranda.domain.checkpoint import Checkpoint, CheckpointReason
from memoranda.domain.operation import Append, Batch, Cut, DeleteFile, Operation, ReplaceFile
from memoranda.domain.outcome import BatchOutcome, Saved
from memoranda.domain.policy import default_file
from memoranda.domain.query import Filters, Grain, Mode, Query, RecallResult, Strategy
from memoranda.domain.record import Provenance, Status
from memoranda.domain.report import (
    BlameLine,
    Chunk,
    Event,
    FileDiff,
    Finding,
    History,
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
from memoranda.domain.times import read_time
from memoranda.errors import BackendError, Conflict, IntegrityError, InvalidInput, MemorandaError
from memoranda.ports import Embedder, EmbeddingCache
from memoranda.services import checkpoints, gateway, indexing, reading, status, verify
from memoranda.services import sync as sync_service
from memoranda.services.embedding import embed_pending
from memoranda.services.recall import recall
from memoranda.services.stores import Stores

_EMBED_AT_ONCE = 64
"""Passages a save embeds at most before it returns: its own, the newest; the rest is the watcher's."""


class Embedders(Protocol):
    """The home's embedder, opened at its first use."""

    @property
    def address(self) -> str:
        """Address in use, `none` where there is no embedder."""

    @property
    def reason(self) -> str:
        """Why this one."""

    @property
    def loaded(self) -> bool:
        """Whether it has been opened in this process."""

    def open(self) -> Embedder | None:
        """Return the embedder, or None for keyword search only."""


class Watcher(Protocol):
    """Watches a folder for changes."""

    def changes(self, folder: Path, *, stop: threading.Event, debounce: float, timeout: float) -> Iterator[None]:
        """Yield once watching has begun, after every burst of changes, and after `timeout` seconds without one.

        Ends when `stop` is set. What happens while the caller works is not missed.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What bootstrap puts together."""

    stores: Stores
    config: Config
    embedders: Embedders
    cache: EmbeddingCache
    watcher: Watcher
    index_bytes: Callable[[], int]
    close: Callable[[], None]


class Memory(AbstractContextManager["Memory"]):
    """One home: all memory of all agents of one realm. Threads may share it."""

    def __init__(self, home: Path, parts: Parts) -> None:
        self.home = home
        self._parts = parts

    @property
    def config(self) -> Config:
        """The settings in force."""
        return self._parts.config

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

    def _handle(self, principal: Principal, agent_id: str) -> Agent:
        own = agent_scope(agent_id)
        teams = {Scope("team", team) for team, members in self.config.teams.items() if agent_id in members}
        return Agent(self._parts, Viewer(principal, own, frozenset({own, OPERATOR, REALM, *teams})))

    def _scopes(self, agents: Sequence[str] | None) -> list[Scope]:
        stores = self._parts.stores
        if agents is None:
            return sorted({*stores.documents.scopes(), *stores.ledger.scopes()})
        return sorted({scope for agent in agents for scope in self._handle(APPLICATION, agent).viewer.scopes})

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
            index_bytes=self._parts.index_bytes(),
        )

    def doctor(self) -> tuple[Finding, ...]:
        """Return what is well and what a person should look at."""
        return tuple(status.doctor(self._parts.stores, self.status()))

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


def _scoped(progress: Progress | None, what: str) -> Callable[[int, int], None] | None:
    if progress is None:
        return None
    return lambda done, total: progress(what, done, total)


class Agent:
    """One caller in one agent's memory; identity and reach are fixed when it is made."""

    def __init__(self, parts: Parts, viewer: Viewer) -> None:
        self._parts = parts
        self.viewer = viewer

    @property
    def scope(self) -> Scope:
        """The scope it writes to."""
        return self.viewer.own

    def _commit(self, operation: Operation, reason: CheckpointReason, tool: str) -> BatchOutcome:
        batch = Batch(self.viewer.principal, self.scope, (operation,), reason, Provenance(tool=tool))
        outcome = gateway.commit(self._parts.stores, batch)
        fresh = sum(len(item.record_ids) for item in outcome.items if isinstance(item, Saved))
        if fresh and outcome.indexed:
            self._embed_if_loaded(fresh)
        return outcome

    def _embed_if_loaded(self, fresh: int) -> None:
        """Give vectors to what was just saved, where a model is in memory; elsewhere it waits for the next one."""
        parts = self._parts
        embedder = parts.embedders.open() if parts.embedders.loaded else None
        if embedder is not None:
            with contextlib.suppress(BackendError, IntegrityError):  # it waits, and keyword search finds it meanwhile
                embed_pending(parts.stores.index, embedder, parts.cache, self.scope, limit=min(fresh, _EMBED_AT_ONCE))

    def save(self, content: str, *, file: str | None = None, append: bool = True) -> BatchOutcome:
        """Save text: at the end of a file, or in its place (`append=False`).

        Without `file` it goes to MEMORY.md (memory/notes.md where the write mode is search-only).
        """
        path = default_file(self._parts.stores.write_mode) if file is None else file
        if append:
            return self._commit(Append(path, content), "save", "memory_save")
        return self._commit(ReplaceFile(path, content), "replace", "memory_save")

    def delete(
        self,
        *,
        file: str,
        text: str | None = None,
        delete_file: bool = False,
        all_matches: bool = False,
        delete_if_empty: bool = True,
    ) -> BatchOutcome:
        """Remove a text from a file (its first occurrence, or all), or a whole file.

        Raises:
            InvalidInput: both or neither of `text` and `delete_file` are given.
        """
        if delete_file == (text is not None):
            raise InvalidInput("give either the text to remove or delete_file, not both and not neither")
        if text is None:
            return self._commit(DeleteFile(file), "delete", "memory_delete")
        operation = Cut(file, text, all_matches=all_matches, delete_if_empty=delete_if_empty)
        return self._commit(operation, "delete", "memory_delete")

    def search(
        self,
        text: str,
        *,
        limit: int = 5,
        mode: Mode = "hybrid",
        grain: Grain = "passage",
        filters: Filters | None = None,
        min_score: float | None = None,
        token_budget: int = 0,
        strategy: Strategy | None = None,
    ) -> RecallResult:
        """Search everything this caller may read; see `Query` for the ranges."""
        config, stores = self._parts.config, self._parts.stores
        query = Query(
            text=text,
            limit=limit,
            mode=mode,
            grain=grain,
            filters=filters or Filters(),
            min_score=config.min_score if min_score is None else min_score,
            token_budget=token_budget,
            strategy=strategy or config.search_merge_strategy,
        )
        result = recall(
            self.viewer,
            query,
            index=stores.index,
            embedder=None if mode == "keyword" else self._parts.embedders.open(),
            clock_now=stores.clock.now,
            locate=reading.Places(stores).locate,
        )
        return replace(result, withheld=stores.ledger.count(self.scope, Status.WITHHELD))

    def get(self, chunk_id: str) -> Chunk:
        """Return a record, a part of it (`rec_…#n`), or the record at `path:line`. Raises NotFound."""
        return reading.get(self._parts.stores, self.viewer, chunk_id)

    def checkpoints(self, *, limit: int = 20, path_contains: str = "") -> tuple[Checkpoint, ...]:
        """Return this scope's newest checkpoints (at most 100)."""
        return checkpoints.listed(self._parts.stores, self.scope, limit=limit, path_contains=path_contains)

    def restore(self, checkpoint_id: str) -> BatchOutcome:
        """Bring back what a change replaced. Raises NotFound for an unknown id or another scope's."""
        stores = self._parts.stores
        return checkpoints.restore(stores, self.viewer.principal, self.scope, checkpoint_id, tool="checkpoint_restore")

    def newest_checkpoint(self) -> str:
        """Return the id of this scope's newest checkpoint, "" where there is none; takes in hand edits first."""
        stores = self._parts.stores
        sync_service.sync(stores, [self.scope])
        found = stores.ledger.checkpoints(self.scope, limit=1)
        return found[0].id if found else ""

    def undo(self, count: int = 1, *, expected: str = "") -> BatchOutcome:
        """Take back this scope's last changes.

        `expected` is the newest checkpoint that was looked at. Raises Conflict where there is a newer one, NotFound
        where there are not so many changes.
        """
        stores = self._parts.stores
        with stores.locks.hold(self.scope):
            newest = self.newest_checkpoint()
            if expected and newest != expected:
                raise Conflict("something was changed since it was shown; nothing was taken back. Look again.")
            return checkpoints.undo(stores, self.viewer.principal, self.scope, count, tool="undo")

    def undo_preview(self, count: int = 1) -> tuple[FileDiff, ...]:
        """Return what `undo` would do, as diffs."""
        sync_service.sync(self._parts.stores, [self.scope])
        return checkpoints.undo_preview(self._parts.stores, self.scope, count)

    def diff(self, checkpoint_id: str) -> tuple[FileDiff, ...]:
        """Return what restoring a checkpoint would do, as diffs."""
        return checkpoints.diff(self._parts.stores, self.scope, checkpoint_id)

    def history(self, record_id: str) -> History:
        """Return a record's versions and events. Raises NotFound."""
        return reading.history(self._parts.stores, self.viewer, record_id)

    def blame(self, file: str) -> tuple[BlameLine, ...]:
        """Return every block of a file with its record. Raises NotFound."""
        return reading.blame(self._parts.stores, self.scope, file)

    def log(self, *, limit: int = 50, kind: str = "", subject: str = "", since: str = "") -> tuple[Event, ...]:
        """Return this scope's newest events; `kind` may be a prefix such as `record`."""
        after = read_time(since) if since else ""
        found = reading.log(self._parts.stores, self.scope, limit=limit, kind=kind, subject=subject, since=after)
        return tuple(found)
