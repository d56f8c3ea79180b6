"""Writing and reading an archive: one file, whole or not at all, and nothing of it trusted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Protocol


class ArchiveFiles(Protocol):
    """Archives on disk."""

    def write(self, path: Path, members: Iterable[tuple[str, bytes]], *, replace: bool) -> None:
        """Write an archive with its manifest last, by a temporary name.

        Raises:
            Conflict: the file exists and `replace` is not set.
            BackendError: the disk failed.
        """

    def read(self, path: Path) -> Mapping[str, bytes]:
        """Return every member of an archive after all of it was checked.

        Raises:
            InvalidInput: it is no archive of ours, or its format is unknown.
            IntegrityError: a member is missing, changed, misnamed, or larger than an archive may be.
        """


class ForeignKeys(Protocol):
    """Tombstone keys of other homes."""

    def store(self, name: str, key: bytes) -> None:
        """Keep a key under its name, durably."""

    def known(self) -> Mapping[str, bytes]:
        """Return name -> key."""
