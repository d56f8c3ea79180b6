"""What one batch writes to the ledger: values that cross the ledger's and the document store's ports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from memoranda.domain.checkpoint import CheckpointReason
from memoranda.domain.proposal import Decision, Proposal
from memoranda.domain.record import Record
from memoranda.domain.scope import Principal, Scope
from memoranda.domain.tombstone import Tombstone


@dataclass(frozen=True, slots=True)
class FileState:
    """A file as the ledger last knew it.

    `content_hash` is the keyed hash of its bytes. `object` names its kept content, which is the same but for text
    that is withheld: that stands in the person's own file alone. `stamp` is that of `FoundFile`. `by_person` tells
    whether a person has written into it since it was made.
    """

    path: str
    content_hash: str
    object: str
    size: int
    stamp: int
    by_person: bool = False


@dataclass(frozen=True, slots=True)
class FileEdit:
    """One file a batch changes; "" stands for a file that does not exist.

    `before` and `after` name objects, `before_hash` and `after_hash` are hashes of the bytes on disk. `splices`
    (start, end, text) turn the kept content before into the one after; where `whole` is set they turn nothing into
    it, because the kept content before is damaged.
    """

    path: str
    before: str
    after: str
    before_hash: str
    after_hash: str
    splices: tuple[tuple[int, int, str], ...]
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Change:
    """One record's new state; `kind` is the event written for it (`record.created`, `record.retired`, …)."""

    kind: str
    record: Record
    before: str = ""
    """Status the record had before; "" where it is new."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """Everything one batch writes to the ledger, in one transaction.

    `texts` are the exact texts of new blocks by their content hash. `states` are the files as they are
    after the batch; `forgotten` are paths that are no files any more. `lifted` are ids of tombstones that no longer
    bind. Texts of proposals are among `texts`.
    """

    batch_id: str
    at: str
    author: Principal
    scope: Scope
    reason: CheckpointReason
    checkpoint_id: str
    edits: tuple[FileEdit, ...]
    changes: tuple[Change, ...]
    texts: Mapping[str, str]
    states: tuple[FileState, ...] = ()
    forgotten: tuple[str, ...] = ()
    corroborated: tuple[str, ...] = ()
    kept_text: str = ""
    tombstones: tuple[Tombstone, ...] = ()
    lifted: tuple[str, ...] = ()
    proposals: tuple[Proposal, ...] = ()
    decision: Decision | None = None


@dataclass(frozen=True, slots=True)
class Committed:
    """Where a committed entry stands: the scope's last event before it and its own last event."""

    previous_seq: int
    last_seq: int


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A memory file seen by a walk; `skip` says why it is not read ("" where it is).

    `stamp` is the sum of its times of modification and of change, in nanoseconds: an editor or a copy can set the one
    back, not both. `changed_ns` is the later of them.
    """

    path: str
    size: int
    stamp: int
    skip: str = ""
    changed_ns: int = 0
