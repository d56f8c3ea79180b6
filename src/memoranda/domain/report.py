"""What the larger commands report: frozen values that CLI, MCP and tests share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from memoranda.domain.passage import Turn
from memoranda.domain.proposal import Proposal
from memoranda.domain.record import Record

Progress = Callable[[str, int, int], None]
"""Called as progress(what, done, total); total 0 means unknown."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that is not read as memory, and why (`not UTF-8`, `link`, `unreadable`, `not a regular file`)."""

    scope: str
    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class WithheldSecret:
    """A secret in a person's own file: its class and line, never its text."""

    scope: str
    path: str
    line: int
    secret_class: str


@dataclass(frozen=True, slots=True)
class SyncReport:
    """What a sync found and did; counts are of files, then of records."""

    files_seen: int = 0
    files_read: int = 0
    files_changed: int = 0
    files_removed: int = 0
    added: int = 0
    edited: int = 0
    moved: int = 0
    removed: int = 0
    revived: int = 0
    recovered_batches: int = 0
    reindexed: int = 0
    pending_vectors: int = 0
    skipped: tuple[Skipped, ...] = ()
    withheld: tuple[WithheldSecret, ...] = ()


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that `verify` found. `area` is chain, records, objects, files, checkpoints or index."""

    area: str
    subject: str
    message: str
    derived: bool = False


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """What `verify` checked (counts by area) and found; `repaired` names derived data that was rebuilt."""

    checked: tuple[tuple[str, int], ...]
    problems: tuple[Problem, ...]
    repaired: tuple[str, ...] = ()

    @property
    def clean(self) -> bool:
        """Whether nothing is wrong now."""
        return not self.problems


@dataclass(frozen=True, slots=True)
class ScopeStatus:
    """What one scope holds; `waiting` counts proposals that wait for a ruling."""

    scope: str
    workspace: str
    files: int
    active: int
    withheld: int
    retired: int
    indexed_passages: int
    vectors: int
    pending_vectors: int
    waiting: int = 0


@dataclass(frozen=True, slots=True)
class StatusReport:
    """What the home holds and which embedder serves it, and why."""

    home: str
    embedder: str
    embedder_reason: str
    backend: str
    scopes: tuple[ScopeStatus, ...]
    skipped: tuple[Skipped, ...]
    withheld: tuple[WithheldSecret, ...]
    ledger_events: int
    ledger_bytes: int
    index_bytes: int
    checkpoints: int


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of `doctor`: level is ok, warning or error; `advice` says what to do."""

    level: str
    subject: str
    message: str
    advice: str = ""


@dataclass(frozen=True, slots=True)
class Event:
    """One event of the ledger, as a person reads it. `payload` is the JSON text."""

    seq: int
    at: str
    principal: str
    kind: str
    scope: str
    subject: str
    payload: str


@dataclass(frozen=True, slots=True)
class BlameLine:
    """One block of a file with what is known of it; `record` is None for text that no sync has seen yet."""

    line_start: int
    line_end: int
    text: str
    record: Record | None


@dataclass(frozen=True, slots=True)
class Version:
    """One version in a record's chain, oldest first; `text` is None where it was erased."""

    record: Record
    text: str | None


@dataclass(frozen=True, slots=True)
class History:
    """A record's whole chain and its events."""

    versions: tuple[Version, ...]
    events: tuple[Event, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class FileDiff:
    """A unified diff of one file between a checkpoint and the present."""

    path: str
    diff: str


@dataclass(frozen=True, slots=True)
class Chunk:
    """A record or a part of it as `get` returns it. Lines count from 1; 0 where the file cannot be read."""

    chunk_id: str
    record: Record
    text: str
    line_start: int
    line_end: int
    turn: Turn | None = None


@dataclass(frozen=True, slots=True)
class PlannedForget:
    """One record that a request to forget is about; `preview` holds at most 180 characters of its text."""

    record_id: str
    path: str
    line_start: int
    line_end: int
    reason: str
    preview: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetResult:
    """What a request to forget did, or what it would do and a person has to confirm with `token`.

    `results` are the ids of removed records.
    """

    deleted: bool = False
    dry_run: bool = False
    needs_confirmation: bool = False
    rationale: str = ""
    planned: tuple[PlannedForget, ...] = ()
    issues: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    checkpoint_ids: tuple[str, ...] = ()
    token: str = ""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A proposal as a reviewer reads it: the records that hold what is offered, their texts, and what would be done."""

    proposal: Proposal
    records: tuple[Record, ...]
    texts: tuple[str, ...]
    effects: tuple[str, ...]
