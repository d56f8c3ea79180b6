"""What becomes of a batch: one outcome per operation, as values and never as exceptions."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Saved:
    """The operation took effect.

    `record_ids` are the records that it made or brought back, `removed_ids` those it retired or superseded,
    `duplicate_ids` records that already said a part of what was offered; that part was not written again.
    `matches` counts occurrences that a cut removed. `quarantined_ids` are records of a part that waits for review.
    """

    record_ids: tuple[str, ...] = ()
    removed_ids: tuple[str, ...] = ()
    duplicate_ids: tuple[str, ...] = ()
    withheld_ids: tuple[str, ...] = ()
    matches: int = 0
    quarantined_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Duplicate:
    """Everything that was offered is there already; nothing was written."""

    existing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Quarantined:
    """The operation waits in the ledger for a person's decision; what it offers is in no file and no index.

    `record_ids` are the quarantined records, none where nothing new was offered (a removal, say).
    """

    record_ids: tuple[str, ...]
    reason: str
    proposal_id: str = ""


@dataclass(frozen=True, slots=True)
class Refused:
    """The operation breaks a rule; nothing of the batch was written.

    `rule` is stable (`path`, `size`, `secret`, `mode`, `scope`, `trust`, `empty`, `open_block`, `not_found`, …);
    `message` says what was wrong and what to do, without the offered text.
    """

    rule: str
    message: str


@dataclass(frozen=True, slots=True)
class Conflicted:
    """A person changed the file in between; nothing was written, the offered text is kept in `checkpoint_id`."""

    path: str
    checkpoint_id: str
    message: str


Outcome = Saved | Duplicate | Quarantined | Refused | Conflicted


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file a batch wrote: sizes in bytes; `existed` before, `deleted` now."""

    path: str
    existed: bool
    deleted: bool
    size: int


@dataclass(frozen=True, slots=True)
class BatchOutcome:
    """The result of a batch. `checkpoint_id` is "" when nothing was changed.

    `indexed` is False when the index could not be brought up to date; the next sync repairs it.
    """

    batch_id: str
    items: tuple[Outcome, ...]
    checkpoint_id: str = ""
    files: tuple[FileChange, ...] = ()
    indexed: bool = True

    @property
    def done(self) -> bool:
        """Whether the batch took effect: no item was refused or in conflict."""
        return not any(isinstance(item, Refused | Conflicted) for item in self.items)
