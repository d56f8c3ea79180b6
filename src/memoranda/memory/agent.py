"""One caller in one agent's memory: what tools, the CLI and MCP hold. It delegates and decides nothing."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from memoranda.domain.checkpoint import Checkpoint
from memoranda.domain.context import NONCE, Context
from memoranda.domain.given import check_str
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
from memoranda.errors import ConfigurationError, Conflict, InvalidInput, MissingExtra
from memoranda.memory.ledger import Conflicts
from memoranda.memory.recollection import Recollection
from memoranda.memory.recorder import Recorder
from memoranda.memory.tending import Tending
from memoranda.services import checkpoints, episodes, reading
from memoranda.services import sync as sync_service
from memoranda.services.context import Talk, assemble
from memoranda.services.recall import Turns, recall
from memoranda.services.recall_past import Past
from memoranda.services.settling import settled
from memoranda.services.visibility import hides, rejected

if TYPE_CHECKING:
    from memoranda.memory.session import Session


_UNUSED = "0" * 32
"""A nonce for looking only: no envelope that is used has it."""


class Agent(Tending, Recorder, Recollection, Conflicts):
    """One caller in one agent's memory; identity and reach are fixed when it is made."""

    def session(self, key: str, *, audience: Audience = "private") -> Session:
        """Open or go on with a session of this agent: what it writes from then on carries the session's taint.

        Raises InvalidInput where this handle is a person's.
        """
        from memoranda.memory.session import Session  # noqa: PLC0415 - a session is an agent, too

        return Session.begin(self._parts, self.viewer, key, audience)

    def sessions(self) -> tuple[SessionState, ...]:
        """Return this agent's open sessions, newest first."""
        self._guard()
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
        result = self._reranked(query) if config.jobs.reranks and query.text.strip() else self._recall(query)
        return replace(
            result,
            withheld=sum(stores.ledger.count(self.scope, status) for status in (Status.WITHHELD, Status.QUARANTINED)),
        )

    def _reranked(self, query: Query) -> RecallResult:
        """Let the model read the best hits again; where it fails they stay in their order and the trace says so."""
        from memoranda.services.jobs.rerank import noted, rerank, widened  # noqa: PLC0415 - few verbs run a job

        try:
            desk = self._desk()
        except (ConfigurationError, MissingExtra) as error:
            return noted(self._recall(query), f"not reranked: {error}")
        return rerank(desk, self._parts.scores, self.scope, query, self._recall(widened(query)))

    def _recall(self, query: Query) -> RecallResult:
        return settled(self._parts.stores, self.viewer.scopes, partial(self._recall_now, query))

    def _recall_now(self, query: Query) -> RecallResult:
        stores = self._parts.stores
        return recall(
            self.viewer,
            query,
            index=stores.index,
            embedder=None if query.mode == "keyword" else self._parts.embedders.open(),
            clock_now=stores.clock.now,
            locate=reading.Places(stores).locate,
            past=Past(stores.ledger.believed, partial(rejected, stores), partial(hides, stores)),
            turns=Turns(
                partial(episodes.locate, stores), partial(hides, stores), lambda: stores.zone().day(stores.clock.now())
            ),
        )

    def context(self, query: str = "", *, session: Session | None = None) -> Context:
        """Return what a prompt of this agent would get from memory, with a placeholder for the nonce; notes nothing.

        With a `session` it is that session's, for use. Raises as `Session.context`.
        """
        if session is not None:
            if session.viewer != self.viewer:
                raise InvalidInput("this is a session of another agent")
            return session.context(query)
        self._guard()
        check_str(query=query)
        found = self._assemble(query, None)
        shown = found.recalled
        return replace(found, recalled=replace(shown, text=shown.text.replace(_UNUSED, NONCE)) if shown else None)

    def _assemble(self, query: str, talk: Talk | None) -> Context:
        settings = self._parts.config.prompt

        def search(text: str, limit: int, not_session: str) -> RecallResult:
            bar = 0.0 if settings.selection == "always" else self._parts.config.min_score
            filters = Filters(not_session=not_session)
            return self._recall(
                Query(
                    text=text, limit=limit, filters=filters, min_score=bar,
                    strategy=self._parts.config.search_merge_strategy,
                )
            )  # fmt: skip

        return assemble(
            self._parts.stores, self.viewer, query, settings=settings, search=search, talk=talk,
            nonce=talk.nonce if talk else _UNUSED,
        )  # fmt: skip

    def get(self, chunk_id: str) -> Chunk:
        """Return a record, a part of it (`rec_…#n`), or the record at `path:line`. Raises NotFound."""
        self._guard()
        check_str(chunk_id=chunk_id)
        return reading.get(self._parts.stores, self.viewer, chunk_id)

    def checkpoints(self, *, limit: int = 20, path_contains: str = "") -> tuple[Checkpoint, ...]:
        """Return this scope's newest checkpoints (at most 100)."""
        self._guard()
        check_str(path_contains=path_contains)
        return checkpoints.listed(self._parts.stores, self.viewer, limit=limit, path_contains=path_contains)

    def restore(self, checkpoint_id: str) -> BatchOutcome:
        """Bring back what a change replaced. Raises NotFound for an unknown id or another scope's."""
        self._guard()
        check_str(checkpoint_id=checkpoint_id)
        stores = self._parts.stores
        return checkpoints.restore(
            stores, self.viewer, checkpoint_id, provenance=self._provenance("checkpoint_restore")
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
        check_str(expected=expected)
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
        check_str(checkpoint_id=checkpoint_id)
        return checkpoints.diff(self._parts.stores, self.viewer, checkpoint_id)

    def history(self, record_id: str) -> History:
        """Return a record's versions and events. Raises NotFound."""
        self._guard()
        check_str(record_id=record_id)
        return reading.history(self._parts.stores, self.viewer, record_id)

    def blame(self, file: str) -> tuple[BlameLine, ...]:
        """Return every block of a file with its record. Raises NotFound."""
        self._guard()
        check_str(file=file)
        return reading.blame(self._parts.stores, self.viewer, file)

    def log(self, *, limit: int = 50, kind: str = "", subject: str = "", since: str = "") -> tuple[Event, ...]:
        """Return this scope's newest events; `kind` may be a prefix such as `record`."""
        self._guard()
        check_str(kind=kind, subject=subject, since=since)
        after = read_time(since) if since else ""
        found = reading.log(self._parts.stores, self.viewer, limit=limit, kind=kind, subject=subject, since=after)
        return tuple(found)
