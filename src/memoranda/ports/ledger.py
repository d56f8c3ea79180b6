"""The ledger's port: the append-only, hash-chained truth about every change, and its projections."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Protocol

from memoranda.domain.checkpoint import Checkpoint
from memoranda.domain.entry import Committed, Entry, FileState
from memoranda.domain.record import Record, Status
from memoranda.domain.report import Event, Problem, Progress
from memoranda.domain.scope import Principal, Scope
from memoranda.ports.conflicts import ConflictLedger
from memoranda.ports.erasure import ErasureLedger
from memoranda.ports.sessions import SessionLedger
from memoranda.ports.trust import TrustLedger


class Ledger(TrustLedger, SessionLedger, ConflictLedger, ErasureLedger, Protocol):
    """The append-only, hash-chained truth about every change, and its projections."""

    def prepare(self, entry: Entry) -> None:
        """Store an intent durably, before any file is touched."""

    def commit(self, entries: Sequence[Entry]) -> Sequence[Committed]:
        """Write entries in one durable transaction: events, records, files, objects, checkpoints; drop intents."""

    def discard(self, entry: Entry, *, why: str) -> None:
        """Drop an intent whose files were not changed, with an event that says why.

        The entry's `kept_text` is kept as a checkpoint of reason `conflict`.
        """

    def note(
        self,
        *,
        at: str,
        author: Principal,
        kind: str,
        scope: Scope,
        subject: str,
        payload: Mapping[str, object],
    ) -> None:
        """Write one event that changes no record: a refusal, a repair."""

    def intents(self, scope: Scope) -> Sequence[Entry]:
        """Return the intents that no commit followed, oldest first."""

    def record(self, record_id: str, scopes: Collection[Scope] | None = None) -> Record | None:
        """Return a record by id, of these scopes (None: of any) and whatever its status; callers check that.

        Another scope's record costs what an unknown id costs: the scope is a condition of the look-up.
        """

    def listing(self, scope: Scope) -> Sequence[tuple[str, int]]:
        """Return the files of a scope with the number of their active records, by path."""

    def records_in(self, scope: Scope, path: str) -> Sequence[Record]:
        """Return the records that stand in a file now (active or withheld)."""

    def present(self, scope: Scope) -> Iterator[Record]:
        """Return the scope's records that stand in some file now."""

    def past(self, scope: Scope) -> Iterator[Record]:
        """Return the scope's superseded and retired records."""

    def with_value(self, scope: Scope, value_keys: Sequence[str]) -> Mapping[str, str]:
        """Return value key -> id of an active record that has it."""

    def with_text(self, scope: Scope, block_hash: str, statuses: Sequence[Status]) -> Record | None:
        """Return the record with these exact bytes in one of these states that was retired last."""

    def waiting_with(self, scope: Scope, block_hash: str) -> Record | None:
        """Return a record with these exact bytes that is withheld in a file until a person has read it."""

    def chain(self, record_id: str) -> Sequence[Record]:
        """Return a record's whole chain of supersession, oldest first."""

    def text(self, name: str) -> str | None:
        """Return the text of an object; None where there is none. Raises IntegrityError where it is damaged."""

    def files(self, scope: Scope) -> Mapping[str, FileState]:
        """Return path -> state of the scope's known files."""

    def file(self, scope: Scope, path: str) -> FileState | None:
        """Return the state of one known file."""

    def refresh_states(self, scope: Scope, states: Sequence[FileState]) -> None:
        """Store new size and time for files whose content is the same; no event, the content did not change."""

    def events(
        self,
        *,
        scope: Scope | None,
        limit: int,
        kind: str = "",
        subject: str = "",
        since: str = "",
        subjects: Sequence[str] = (),
    ) -> Sequence[Event]:
        """Return the newest events that fit, newest first; `kind` also matches as a prefix before a dot."""

    def checkpoints(self, scope: Scope, *, limit: int, path_contains: str = "") -> Sequence[Checkpoint]:
        """Return checkpoints, newest first; `path_contains` is case-insensitive."""

    def checkpoint(self, scope: Scope, checkpoint_id: str) -> Checkpoint | None:
        """Return one checkpoint of this scope."""

    def prune(self, scope: Scope, *, keep: int, before: str, at: str, author: Principal) -> int:
        """Drop checkpoints that are neither among the `keep` newest nor younger than `before`; return how many.

        This is an event; the objects that nothing else refers to go with them.
        """

    def last_seq(self, scope: Scope) -> int:
        """Return the scope's last event that changed a record; 0 where there is none."""

    def changed_since(self, scope: Scope, seq: int) -> Sequence[str]:
        """Return the ids of the scope's records with an event after `seq`, in order of their last event."""

    def count(self, scope: Scope, status: Status) -> int:
        """Return the number of records in one state, at a cost that does not grow with the others."""

    def counts(self, scope: Scope) -> Mapping[str, int]:
        """Return status -> number of records."""

    def scopes(self) -> Sequence[Scope]:
        """Return the scopes that have records or files."""

    def skipped(self, scope: Scope) -> Sequence[tuple[str, str]]:
        """Return (path, reason) of the files the last sync did not read."""

    def set_skipped(self, scope: Scope, skipped: Sequence[tuple[str, str]]) -> None:
        """Replace what `skipped` returns."""

    def verify(self, progress: Progress | None = None) -> Iterator[Problem | tuple[str, int]]:
        """Check chain, projections and objects; yields problems and (area, how many were checked)."""

    def size(self) -> tuple[int, int, int]:
        """Return (events, checkpoints, bytes on disk)."""
