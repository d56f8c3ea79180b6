"""Names for what a person wrote into a file in the instant in which it was written, and whose place is taken."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import PurePosixPath


def aside_names(name: str) -> Iterator[str]:
    """Yield names beside a file's `name`, in the order to try them; the first that is free is used."""
    place = PurePosixPath(name)
    yield f"{place.stem} (edited during a write){place.suffix}"
    yield from (f"{place.stem} (edited during a write {number}){place.suffix}" for number in itertools.count(2))
