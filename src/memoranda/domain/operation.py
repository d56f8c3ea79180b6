"""What can be asked of the gateway: a batch of operations by one author in one scope."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from memoranda.domain.block import CORE, BlockAction
from memoranda.domain.checkpoint import CheckpointReason
from memoranda.domain.given import check_fields
from memoranda.domain.record import Details, Provenance, Trust
from memoranda.domain.scope import Principal, Scope
from memoranda.domain.tombstone import Tombstone

if TYPE_CHECKING:
    from memoranda.domain.proposal import Decision


@dataclass(frozen=True, slots=True)
class Append:
    """Add text at the end of a file, as one or more records."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class ReplaceFile:
    """Make a file hold this text; unchanged blocks keep their records.

    `described` maps a block's index in the new text to what is known of it. `expected` is the hash of the file that
    was read, "absent" for none; "" does not ask.
    """

    path: str
    text: str
    described: tuple[tuple[int, Details], ...] = ()
    expected: str = ""


@dataclass(frozen=True, slots=True)
class Cut:
    """Remove a snippet from a file: whole records are removed, a part of a record supersedes it.

    `keep_value` removes without rejecting: the value may be saved again by anyone. `expected` as in `ReplaceFile`.
    """

    path: str
    text: str
    all_matches: bool = False
    delete_if_empty: bool = True
    keep_value: bool = False
    expected: str = ""


@dataclass(frozen=True, slots=True)
class DeleteFile:
    """Remove a file and retire its records; a missing file is a success. `expected` as in `ReplaceFile`."""

    path: str
    expected: str = ""


@dataclass(frozen=True, slots=True)
class Restore:
    """Bring one file back to the content of an object; "" means that it did not exist. `expected` as above."""

    path: str
    content: str
    expected: str = ""


@dataclass(frozen=True, slots=True)
class Observe:
    """Take note of a file as a person left it; `text` None means that it is gone.

    `moved` maps a block's index in the new text to the id of the record that moved there from another file.
    """

    path: str
    text: str | None
    content_hash: str
    size: int
    stamp: int
    moved: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Create:
    """Write a record with its details at the end of a file: a heading where it has a title, then the body.

    A body of several blocks becomes several records of one group.
    """

    path: str
    body: str
    details: Details = field(default_factory=Details)


@dataclass(frozen=True, slots=True)
class Supersede:
    """Put a new text in a record's place; the new record supersedes it. `expected` is the block hash that was read."""

    record_id: str
    body: str
    details: Details = field(default_factory=Details)
    expected: str = ""


@dataclass(frozen=True, slots=True)
class Remove:
    """Remove one record; its value is rejected unless `keep_value`. `expected` is the block hash that was read."""

    record_id: str
    keep_value: bool = False
    expected: str = ""


@dataclass(frozen=True, slots=True)
class Retier:
    """Change how far a record is believed; `evidence` must resolve where it is raised."""

    record_id: str
    trust: Trust
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Adopt:
    """Make a record's text the operator's own: a new record without its lineage."""

    record_id: str


@dataclass(frozen=True, slots=True)
class Admit:
    """Let a record that is withheld in a person's file become active: a person has read it."""

    record_id: str


@dataclass(frozen=True, slots=True)
class Pin:
    """Keep a record from being changed by background work, or let it go again; a person's to decide."""

    record_id: str
    pinned: bool = True


@dataclass(frozen=True, slots=True)
class Reject:
    """Rule against what a quarantined or withheld record offers: its value is rejected for ever."""

    record_id: str


@dataclass(frozen=True, slots=True)
class Carry:
    """Take in tombstones that came with an archive, as they are."""

    tombstones: tuple[Tombstone, ...]


ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class EditBlock:
    """Change a core block: append text, put `text` in the place of the first `old`, or set the whole value."""

    label: str
    action: BlockAction
    text: str
    old: str = ""
    path: str = CORE
    expected: str = ""


Bound = ReplaceFile | DeleteFile | Restore | Cut | EditBlock
"""What takes something away from a file; where it waits, it is bound to the file that was read."""

FileOperation = Append | ReplaceFile | Cut | DeleteFile | Restore | Observe | Create | EditBlock
RecordOperation = Supersede | Remove | Retier | Adopt | Admit | Reject | Pin
Operation = FileOperation | RecordOperation | Carry

MAX_OPERATIONS = 1_024


def check_operation(operation: Operation) -> None:
    """Raise InvalidInput where something that has to be text is none."""
    check_fields(operation)
    if isinstance(operation, Create | Supersede):
        check_fields(operation.details)


Door = Literal["trusted", "review", "session", "tainted"]
"""How a change that sync found in a file is taken: as a person's; withheld until approved (`external_edits`); found
while a session of that very agent was open; or while such a session was tainted."""


Asks = Literal["", "unsure", "dream", "similar", "replace"]
"""Why a whole batch waits for a person; "" where it does not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """On whose behalf a batch writes: an approved proposal is its author's words, not the approver's.

    `by_value` maps a value key to the quarantined record that offered it. `quarantined` tells that it was withheld
    because of where it came from, so that trust stays capped for ever.
    """

    author: Principal
    provenance: Provenance
    by_value: Mapping[str, str] = field(default_factory=dict)
    quarantined: bool = False


@dataclass(frozen=True, slots=True)
class Batch:
    """Operations by one author in one scope; each sees the effect of those before it.

    `door` matters for what sync found only. `proposes` makes a proposal of a change that the author may not make
    directly; where it `asks`, all operations together become one that a person confirms: `unsure` a removal, `dream`,
    `similar` and `replace` what a job would change or add. `origin` and `decision` belong to a review.
    """

    author: Principal
    scope: Scope
    operations: tuple[Operation, ...]
    reason: CheckpointReason
    provenance: Provenance = field(default_factory=Provenance)
    door: Door = "trusted"
    proposes: bool = False
    asks: Asks = ""
    origin: Origin | None = None
    decision: Decision | None = None
