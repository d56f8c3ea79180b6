"""One caller in one agent's memory: what tools, the CLI and MCP hold. It delegates and decides nothing."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from memoranda.domain.checkpoint import Checkpoint
from memoranda.domain.operation import Append, Cut, DeleteFile, ReplaceFile
from memoranda.domain.outcome import BatchOutcome
from memoranda.domain.policy import default_file
from memoranda.domain.query import Filters, Grain, Mode, Query, RecallResult, Strategy
from memoranda.domain.record import Status
from memoranda.domain.report import (
    BlameLine,
    Chunk,
    Event,
    FileDiff,
    History,
)
from memoranda.domain.session import Audience, SessionState
from memoranda.domain.times import read_time
from memoranda.errors import Conflict, InvalidInput
from memoranda.memory.recorder import Recorder
from memoranda.services import checkpoints, reading
from memoranda.services import sync as sync_service
from memoranda.services.recall import recall
from memoranda.services.recall_past import Past
from memoranda.services.visibility import rejected

if TYPE_CHECKING:
    from memoranda.memory.session import Session


class Agent(Recorder):
    """One caller in one agent's memory; identity and reach are fixed when it is made."""

    def session(self, key: str, *, audience: Audience = "private") -> Session:
        """Open or go on with a session of this agent: what it writes from then on carries the session's taint.

        Raises InvalidInput where this handle is a person's.
        """
        from memoranda.memory.session import Session  # noqa: PLC0415 - a session is an agent, too

        return Session.begin(self._parts, self.viewer, key, audience)

    def sessions(self) -> tuple[SessionState, ...]:
        """Return this agent's open sessions, newest first."""
        return tuple(self._parts.stores.ledger.sessions(self.scope))

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
        keep_value: bool = False,
    ) -> BatchOutcome:
        """Remove a text from a file (its first occurrence, or all), or a whole file.

        Unless `keep_value`, the value of a whole record that goes with the text is rejected: a person's removal binds
        every model, an agent's binds jobs and imports.

        Raises:
            InvalidInput: both or neither of `text` and `delete_file` are given.
        """
        if delete_file == (text is not None):
            raise InvalidInput("give either the text to remove or delete_file, not both and not neither")
        if text is None:
            return self._commit(DeleteFile(file), "delete", "memory_delete")
        operation = Cut(file, text, all_matches=all_matches, delete_if_empty=delete_if_empty, keep_value=keep_value)
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
        as_of: str = "",
        valid_at: str = "",
    ) -> RecallResult:
        """Search everything this caller may read; see `Query` for the ranges.

        `as_of` asks what was believed at a time, `valid_at` what was true at one; both may be given.
        """
        self._guard()
        config, stores = self._parts.config, self._parts.stores
        query = Query(
            text=text,
            limit=limit,
            mode=mode,
            grain=grain,
            filters=replace(filters or Filters(), valid_at=valid_at or (filters.valid_at if filters else "")),
            as_of=as_of,
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
            past=Past(stores.ledger.believed, partial(rejected, stores)),
        )
        return replace(
            result,
            withheld=sum(stores.ledger.count(self.scope, status) for status in (Status.WITHHELD, Status.QUARANTINED)),
        )

    def get(self, chunk_id: str) -> Chunk:
        """Return a record, a part of it (`rec_…#n`), or the record at `path:line`. Raises NotFound."""
        self._guard()
        return reading.get(self._parts.stores, self.viewer, chunk_id)

    def checkpoints(self, *, limit: int = 20, path_contains: str = "") -> tuple[Checkpoint, ...]:
        """Return this scope's newest checkpoints (at most 100)."""
        self._guard()
        return checkpoints.listed(self._parts.stores, self.scope, limit=limit, path_contains=path_contains)

    def restore(self, checkpoint_id: str) -> BatchOutcome:
        """Bring back what a change replaced. Raises NotFound for an unknown id or another scope's."""
        self._guard()
        stores = self._parts.stores
        return checkpoints.restore(
            stores, self.viewer.principal, self.scope, checkpoint_id, provenance=self._provenance("checkpoint_restore")
        )

    def newest_checkpoint(self) -> str:
        """Return the id of this scope's newest checkpoint, "" where there is none; takes in hand edits first."""
        self._guard()
        stores = self._parts.stores
        sync_service.sync(stores, [self.scope])
        found = stores.ledger.checkpoints(self.scope, limit=1)
        return found[0].id if found else ""

    def undo(self, count: int = 1, *, expected: str = "") -> BatchOutcome:
        """Take back this scope's last changes.

        `expected` is the newest checkpoint that was looked at. Raises Conflict where there is a newer one, NotFound
        where there are not so many changes.
        """
        self._guard()
        stores = self._parts.stores
        with stores.locks.hold(self.scope):
            newest = self.newest_checkpoint()
            if expected and newest != expected:
                raise Conflict("something was changed since it was shown; nothing was taken back. Look again.")
            return checkpoints.undo(
                stores, self.viewer.principal, self.scope, count, provenance=self._provenance("undo")
            )

    def undo_preview(self, count: int = 1) -> tuple[FileDiff, ...]:
        """Return what `undo` would do, as diffs."""
        self._guard()
        sync_service.sync(self._parts.stores, [self.scope])
        return checkpoints.undo_preview(self._parts.stores, self.viewer, count)

    def diff(self, checkpoint_id: str) -> tuple[FileDiff, ...]:
        """Return what restoring a checkpoint would do, as diffs."""
        self._guard()
        return checkpoints.diff(self._parts.stores, self.viewer, checkpoint_id)

    def history(self, record_id: str) -> History:
        """Return a record's versions and events. Raises NotFound."""
        self._guard()
        return reading.history(self._parts.stores, self.viewer, record_id)

    def blame(self, file: str) -> tuple[BlameLine, ...]:
        """Return every block of a file with its record. Raises NotFound."""
        self._guard()
        return reading.blame(self._parts.stores, self.viewer, file)

    def log(self, *, limit: int = 50, kind: str = "", subject: str = "", since: str = "") -> tuple[Event, ...]:
        """Return this scope's newest events; `kind` may be a prefix such as `record`."""
        self._guard()
        after = read_time(since) if since else ""
        found = reading.log(self._parts.stores, self.viewer, limit=limit, kind=kind, subject=subject, since=after)
        return tuple(found)
