"""One caller in one agent's memory: what tools, the CLI and MCP hold. It delegates and decides nothing."""

from __future__ import annotations

import contextlib
from dataclasses import replace

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
    History,
)
from memoranda.domain.scope import (
    Scope,
    Viewer,
)
from memoranda.domain.times import read_time
from memoranda.errors import BackendError, Conflict, IntegrityError, InvalidInput
from memoranda.memory.parts import Parts
from memoranda.services import checkpoints, gateway, reading
from memoranda.services import sync as sync_service
from memoranda.services.embedding import embed_pending
from memoranda.services.recall import recall

_EMBED_AT_ONCE = 64
"""Passages a save embeds at most before it returns: its own, the newest; the rest is the watcher's."""


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
