"""What stands in for the built-in scan of a scope's vectors: it names candidates, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

from memoranda.domain.scope import Scope
from memoranda.ports.embedding import Vector

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Keys: TypeAlias = "NDArray[np.int64]"
Take = Callable[["Keys"], "Vector"]
"""Returns the vectors of some keys, one row a key, in their order."""


class VectorArm(Protocol):
    """Finds what may be near to a vector in one scope; the index compares what it names exactly.

    It is derived: whatever it holds can be made again from the index. It never fails a search: where it cannot answer
    the built-in scan does, and `problem` says why in words, "" where all is well.
    """

    @property
    def problem(self) -> str:
        """Return why it does not answer."""

    def follow(self, space: str, keys: Keys, dimensions: int, take: Take) -> None:
        """Hold exactly these keys from now on; `space` names index and embedder, another one has other vectors."""

    def nearest(self, query: Vector, count: int) -> Keys | None:
        """Return keys among which the nearest are, nearest first as far as it knows; None where it cannot answer."""

    def close(self) -> None:
        """Let go of files and locks."""


class TextArm(Protocol):
    """Names notes for a question's words, beside those that the index finds; like `VectorArm` it fails no search."""

    @property
    def problem(self) -> str:
        """Return why it does not answer."""

    def follow(self, state: str, passages: Callable[[], Iterable[tuple[int, str]]]) -> None:
        """Hold exactly the passages given as (key, text); `state` names them, and where it is known nothing is done."""

    def named(self, terms: Sequence[str]) -> Sequence[int] | None:
        """Return the keys of what it finds, best first; None where it cannot answer."""

    def keep(self, alive: Callable[[Sequence[int]], int]) -> None:
        """Drop at once what is gone: `alive` counts those of some keys that are still there."""

    def close(self) -> None:
        """Let go of everything."""


OpenTextArm = Callable[[Path], TextArm]
OpenArm = Callable[[Path], VectorArm]
"""Returns the arm of the scope whose index lies in a folder; cheap, nothing is opened yet."""


@dataclass(frozen=True, slots=True)
class Arms:
    """What stands beside an index: None where it is alone."""

    vectors: OpenArm | None = None
    text: OpenTextArm | None = None


@runtime_checkable
class Remarking(Protocol):
    """Optional capability of an index that may answer otherwise than it was set to."""

    def warm(self, scope: Scope) -> None:
        """Do what the first search by meaning in a scope would have to do."""

    def remark(self, scope: Scope) -> str:
        """Return what the last search of a scope has to say about that, "" for nothing."""
