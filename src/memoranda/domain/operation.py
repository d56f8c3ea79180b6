"""What can be asked of the gateway: a batch of operations by one author in one scope."""

from __future__ import annotations

from dataclasses import dataclass, field

from memoranda.domain.checkpoint import CheckpointReason
from memoranda.domain.record import Provenance
from memoranda.domain.scope import Principal, Scope


@dataclass(frozen=True, slots=True)
class Append:
    """Add text at the end of a file, as one or more records."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class ReplaceFile:
    """Make a file hold this text; unchanged blocks keep their records."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Cut:
    """Remove a snippet from a file: whole records are removed, a part of a record supersedes it."""

    path: str
    text: str
    all_matches: bool = False
    delete_if_empty: bool = True


@dataclass(frozen=True, slots=True)
class DeleteFile:
    """Remove a file and retire its records; a missing file is a success."""

    path: str


@dataclass(frozen=True, slots=True)
class Restore:
    """Bring one file back to the content of an object; "" means that it did not exist."""

    path: str
    content: str


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


Operation = Append | ReplaceFile | Cut | DeleteFile | Restore | Observe

MAX_OPERATIONS = 1_024


@dataclass(frozen=True, slots=True)
class Batch:
    """Operations by one author in one scope; each sees the effect of those before it."""

    author: Principal
    scope: Scope
    operations: tuple[Operation, ...]
    reason: CheckpointReason
    provenance: Provenance = field(default_factory=Provenance)
