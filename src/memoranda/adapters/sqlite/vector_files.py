"""Names and heads of the files of vectors beside a large scope's index; without numpy, for who only looks."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path

ENDING, DRAFT = ".vectors", ".vectors-draft"
FORMAT, HEADER, WORD = 1, 4_096, 64
"""Version of the files, bytes of their head, bits that are compared at a time."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What a file says of itself: the index it is of, the embedder's number there, the generation, its size.

    `index` is a number that an index is given when it is made: one that is made anew is another.
    """

    index: str
    embedder: int
    stamp: int
    count: int
    dimensions: int
    keys: str

    @property
    def words(self) -> int:
        """Return how many words of 64 bits hold the signs of one vector."""
        return -(-self.dimensions // WORD)

    @property
    def starts(self) -> tuple[int, int, int, int]:
        """Return where keys, bits, the marks of rows that are gone, and vectors begin."""
        bits = HEADER + 8 * self.count
        gone = bits + 8 * self.words * self.count
        return HEADER, bits, gone, -(-(gone + self.count) // WORD) * WORD

    @property
    def size(self) -> int:
        """Return the length of the file in bytes."""
        return self.starts[3] + 4 * self.dimensions * self.count


def files(folder: Path) -> list[Path]:
    """Return the files of a scope."""
    return sorted(folder.glob(f"*{ENDING}"))


def drop(folder: Path, *, keep: Path | None = None) -> None:
    """Remove the files of a scope but one; one that is in use elsewhere stays until the next time (Windows)."""
    for path in (*files(folder), *folder.glob(f"*{DRAFT}")):
        if path != keep:
            with contextlib.suppress(OSError):
                path.unlink()


def drop_others(folder: Path, embedders: AbstractSet[object]) -> None:
    """Remove the files of embedders that are none of these."""
    for path in files(folder):
        number = path.name.partition("-")[0]
        if not number.isdigit() or int(number) not in embedders:
            with contextlib.suppress(OSError):
                path.unlink()


def shape_of(path: Path) -> Shape | None:
    """Return what a file says of itself; None where it is no such file, or not all of it is there."""
    try:
        with path.open("rb") as file:
            told = json.loads(file.read(HEADER))
        if told.pop("format") != FORMAT:
            return None
        shape = Shape(**told)
        return shape if path.stat().st_size == shape.size else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
