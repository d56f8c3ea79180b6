"""One zvec collection beside each scope's index: an HNSW graph that names candidates.

zvec locks a collection for one process. Another one that searches the same scope meanwhile goes by the built-in scan.
"""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from memoranda.errors import MissingExtra
from memoranda.ports import Vector
from memoranda.ports.arm import Keys, Take

FOLDER, KEYS, SPACE = "zvec", "keys.npy", "space.json"
_AT_ONCE = 1_000
"""Vectors given over at a time."""

_OPTIMIZE = 5_000
"""Changes after which the graph is built over what is new; what is not in it is compared one by one."""

_NAME, _LOCKED = "v", "lock"
_ERRORS = (RuntimeError, ValueError, TypeError, LookupError, OSError, AttributeError)
"""What zvec raises; it has no errors of its own."""


def open_arm(folder: Path) -> ZvecArm:
    """Return the arm of the scope in a folder.

    Raises:
        MissingExtra: zvec is not installed.
    """
    try:
        import zvec  # noqa: F401, PLC0415 - an extra
    except ImportError:
        raise MissingExtra("zvec", "the backend 'zvec'") from None
    return ZvecArm(folder / FOLDER)


class ZvecArm:
    """A `VectorArm` on a zvec collection; used by one thread at a time, or behind its own lock."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._collection: Any = None
        self._keys: Keys = np.empty(0, np.int64)
        self._space = ""
        self._changes = 0
        self._problem = ""

    @property
    def problem(self) -> str:
        """Why it does not answer; see the port."""
        return self._problem

    def follow(self, space: str, keys: Keys, dimensions: int, take: Take) -> None:
        """Bring the collection up to these keys; see the port."""
        with self._lock:
            self._attempt(lambda: self._follow(space, keys, dimensions, take))

    def nearest(self, query: Vector, count: int) -> Keys | None:
        """Ask the graph; see the port."""
        with self._lock:
            if self._collection is None or self._problem:
                return None
            found: list[int] = []

            def ask() -> None:
                import zvec  # noqa: PLC0415 - an extra

                hits = self._collection.query(zvec.Query(_NAME, vector=query.tolist()), topk=count)
                found.extend(int(hit.id) for hit in hits)

            return np.array(found, np.int64) if self._attempt(ask) else None

    def close(self) -> None:
        """Let go of the collection; its lock goes with the last reference."""
        with self._lock:
            if self._collection is not None:
                self._attempt(self._collection.flush)
            self._collection, self._space = None, ""

    def _attempt(self, work: Callable[[], None]) -> bool:
        """Do something with zvec and return whether it was done.

        What it fails with is a problem in words, and the built-in scan answers.
        """
        try:
            work()
        except _ERRORS as error:
            told = str(error).partition("\n")[0]
            locked = _LOCKED in told.lower()
            self._problem = "another process uses the zvec collection" if locked else f"zvec failed: {told[:120]}"
            self._collection = None
            return False
        self._problem = ""
        return True

    def _follow(self, space: str, keys: Keys, dimensions: int, take: Take) -> None:
        if self._collection is None or space != self._space:
            self._open(space, dimensions)
        gone, added = np.setdiff1d(self._keys, keys), np.setdiff1d(keys, self._keys)
        if not len(gone) and not len(added):
            return
        (self._folder / SPACE).unlink(missing_ok=True)  # until all is done, what lies here is of no use to the next
        import zvec  # noqa: PLC0415 - an extra

        for start in range(0, len(gone), _AT_ONCE):
            self._collection.delete([str(key) for key in gone[start : start + _AT_ONCE]])
        for start in range(0, len(added), _AT_ONCE):
            part = added[start : start + _AT_ONCE]
            rows = take(part)
            documents = [
                zvec.Doc(id=str(key), vectors={_NAME: row.tolist()}) for key, row in zip(part, rows, strict=True)
            ]
            for status in self._collection.insert(documents):
                if not status.ok():
                    raise RuntimeError(f"insert was refused: {status}")
        self._changes += len(gone) + len(added)
        if self._changes >= _OPTIMIZE:  # what was deleted leaves the files then
            self._collection.optimize()
            self._changes = 0
        self._collection.flush()
        self._keys = keys.copy()
        np.save(self._folder / KEYS, self._keys)
        (self._folder / SPACE).write_text(json.dumps([space, len(self._keys)]), encoding="utf-8")
        self._space = space

    def _open(self, space: str, dimensions: int) -> None:
        """Open the collection if it is of this space and whole, else make it anew."""
        import zvec  # noqa: PLC0415 - an extra

        data, known = self._folder / "data", self._known(space)
        self._collection = _opened(data)
        held = json.loads(str(self._collection.stats))["doc_count"] if self._collection is not None else -1
        if known is not None and held == len(known):
            self._keys, self._space = known, space
            return
        self._collection = None
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        shape = zvec.VectorSchema(
            _NAME, zvec.DataType.VECTOR_FP32, dimension=dimensions,
            index_param=zvec.HnswIndexParam(metric_type=zvec.MetricType.IP),
        )  # fmt: skip
        schema = zvec.CollectionSchema(name="vectors", fields=[], vectors=shape)
        self._collection = zvec.create_and_open(str(data), schema)
        self._keys, self._space = np.empty(0, np.int64), space

    def _known(self, space: str) -> Keys | None:
        """Return the keys that the collection holds, None where it is of another space or was not finished."""
        try:
            told, count = json.loads((self._folder / SPACE).read_text(encoding="utf-8"))
            keys = np.load(self._folder / KEYS, allow_pickle=False)
        except (OSError, ValueError):
            return None
        return np.asarray(keys, np.int64) if (told, count) == (space, len(keys)) else None


def _opened(data: Path) -> Any:
    """Return the collection in a folder, None where there is none or it is damaged; raises where it is locked."""
    import zvec  # noqa: PLC0415 - an extra

    if not data.exists():
        return None
    try:
        return zvec.open(str(data))
    except _ERRORS as error:
        if _LOCKED in str(error).lower():
            raise
        return None
