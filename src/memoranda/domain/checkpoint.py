"""A checkpoint: the content of everything a write is about to change, kept before it changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

CheckpointReason = Literal[
    "save", "replace", "delete", "restore", "undo", "edit", "conflict", "remember", "update", "forget", "propose",
    "review", "retier", "adopt", "import", "erase", "block", "dream",
    "pin",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class CheckpointFile:
    """One file as it was: `before` and `after` name content objects; "" means that the file did not exist."""

    path: str
    before: str
    after: str

    @property
    def existed(self) -> bool:
        """Whether the file existed before the change."""
        return bool(self.before)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What a batch was about to change. `reason` is `edit` for a person's change that sync found."""

    id: str
    at: str
    scope: str
    reason: CheckpointReason
    author: str
    files: tuple[CheckpointFile, ...]

    @property
    def paths(self) -> tuple[str, ...]:
        """The files it covers."""
        return tuple(file.path for file in self.files)
