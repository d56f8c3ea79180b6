"""One scope's vectors of one embedder, ready to be compared: in memory, in a large scope in a file beside the index."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import apsw
import numpy as np
from numpy.typing import NDArray

from memoranda.adapters.sqlite import vector_sidecar
from memoranda.adapters.sqlite.vector_files import Shape
from memoranda.adapters.sqlite.vector_rows import worn_bound
from memoranda.adapters.sqlite.vector_sidecar import Keys, Mask, Sidecar
from memoranda.errors import IntegrityError
from memoranda.ports import Vector
from memoranda.ports.arm import VectorArm

RESCORED, RESCORED_OF = 2_000, 100
"""Vectors of a file that are scored exactly, at least, and one in how many (docs/decisions/0023-large-scopes.md)."""

NAMED = 200
"""Candidates that are asked of another arm than the built-in scan, at least."""

_FLOAT_BYTES = 4
_BATCH = 4_096
"""Vectors read at a time, so that a large scope is not in memory twice while it is loaded."""

Rows = NDArray[np.int64]


class VectorCache:
    """Vectors by row; brought up to date by what changed.

    New rows are read by their stamp; removed ones are noticed by the count. Rows are those of the file, in order of
    keys, then those in memory, in no order; rows that are gone are not `alive`.
    """

    def __init__(
        self, folder: Path, is_current: Callable[[], bool], *, large: int, arm: VectorArm | None = None
    ) -> None:
        self._folder, self._is_current, self._large, self._arm = folder, is_current, large, arm
        self._failed = False
        self._reset(0)

    def _reset(self, embedder: int) -> None:
        self._embedder = embedder
        self._stamp = -1
        self._forget()

    def _forget(self) -> None:
        self._file: Sidecar | None = None
        self._gone: Mask = np.empty(0, bool)
        self._count = 0
        self._held: Keys = np.empty(0, np.int64)
        self._matrix: Vector = np.empty((0, 0), np.float32)
        self._all: Keys | None = None

    @property
    def stamp(self) -> tuple[int, int]:
        """Embedder and generation whose vectors these are."""
        return self._embedder, self._stamp

    @property
    def keys(self) -> Keys:
        """Keys of the rows, those that are gone among them."""
        if self._file is None:
            return self._held[: self._count]
        if self._all is None:
            self._all = np.concatenate([self._file.keys, self._held[: self._count]])
        return self._all

    @property
    def alive(self) -> Mask | None:
        """Which rows are not gone; None where all are there."""
        if self._file is None or not (self._gone.any() or self._file.gone.any()):
            return None
        return np.concatenate([~(self._gone | (self._file.gone > 0)), np.ones(self._count, bool)])

    @property
    def dimensions(self) -> int:
        """Length of every vector, 0 without any."""
        return self._file.shape.dimensions if self._file is not None else int(self._matrix.shape[1])

    @property
    def is_large(self) -> bool:
        """Whether not every vector is compared."""
        return self._file is not None

    def scores(self, query: Vector, rows: Rows | None = None) -> Vector:
        """Return the cosine of rows, or of all rows."""
        in_file = 0 if self._file is None else self._file.shape.count
        tail = self._matrix[: self._count]
        if self._file is None:
            return np.asarray(tail @ query if rows is None else tail[rows] @ query, np.float32)
        if rows is None:
            rows = np.arange(in_file + self._count)
        found = np.empty(len(rows), np.float32)
        is_tail = rows >= in_file
        found[~is_tail] = np.asarray(self._file.matrix[rows[~is_tail]]) @ query
        if is_tail.any():
            found[is_tail] = tail[rows[is_tail] - in_file] @ query
        return found

    def nearest(self, query: Vector, allowed: Mask | None, count: int) -> tuple[Rows, Vector]:
        """Return rows and cosines among which the `count` nearest of those allowed are, in no order.

        Exact but for a large scope, where of those in the file the nearest by their signs are compared.
        """
        alive = self.alive
        if alive is not None:
            allowed = alive if allowed is None else allowed & alive
        if self._arm is not None and (named := self._named(self._arm, query, allowed, count)) is not None:
            return named, self.scores(query, named)
        if self._file is None:
            rows = np.arange(self._count) if allowed is None else np.flatnonzero(allowed)
            scores = self.scores(query)
            return rows, scores if allowed is None else scores[rows]
        in_file = self._file.shape.count
        wanted = max(RESCORED, in_file // RESCORED_OF, 4 * count)
        of_file = None if allowed is None else allowed[:in_file]
        if of_file is not None and np.count_nonzero(of_file) <= wanted:
            chosen = np.flatnonzero(of_file)
        else:
            chosen = self._file.nearest(query, of_file, wanted)
        in_memory = np.arange(self._count) if allowed is None else np.flatnonzero(allowed[in_file:])
        beside = self._matrix[: self._count] @ query if self._count else np.empty(0, np.float32)
        scores = np.concatenate([self.scores(query, chosen), beside[in_memory]])
        return np.concatenate([chosen, in_file + in_memory]), scores

    def _named(self, arm: VectorArm, query: Vector, allowed: Mask | None, count: int) -> Rows | None:
        """Return the rows that the arm names; None where it does not answer, or filters leave too few of them."""
        keys = arm.nearest(query, max(NAMED, 4 * count))
        if keys is None:
            return None
        rows = self.rows_of(keys)
        if allowed is not None:
            rows = rows[allowed[rows]]
        there = len(self.keys) if allowed is None else int(np.count_nonzero(allowed))
        return rows if len(rows) >= min(count, there) else None

    def remark(self) -> str:
        """Return why the arm does not answer, "" where it does or there is none."""
        return self._arm.problem if self._arm is not None else ""

    def close(self) -> None:
        """Let go of the file, and of the arm."""
        self._reset(0)
        if self._arm is not None:
            self._arm.close()

    def rows_of(self, keys: Keys) -> Rows:
        """Return the rows of those keys that have a vector, in no order."""
        in_memory = np.flatnonzero(np.isin(self._held[: self._count], keys))
        if self._file is None:
            return in_memory
        rows = self._file.rows_of(keys)
        rows = rows[~self._gone[rows] & (self._file.gone[rows] == 0)]
        return np.concatenate([rows, self._file.shape.count + in_memory])

    def refresh(self, connection: apsw.Connection, embedder: int, generation: int) -> None:
        """Read what has changed since the last call; `generation` is that of the open read transaction."""
        if embedder != self._embedder:
            self._reset(embedder)
        if generation == self._stamp:
            return
        total = int(connection.execute("SELECT count(*) FROM vectors WHERE embedder = ?", (embedder,)).get)
        if self._stamp < 0 and total > self._large:
            self._open(connection, embedder, generation, total)
        if self._stamp != generation:
            self._read_newer(connection, embedder)
            self._drop_gone(connection, embedder, total)
            self._stamp = generation
        if total > self._large and self._is_worn():
            self._write(connection, embedder, total)
        if self._arm is not None and total:
            alive = self.alive
            keys = self.keys if alive is None else self.keys[alive]
            self._arm.follow(f"{_index_number(connection)}:{embedder}", np.unique(keys), self.dimensions, self._of)

    def _of(self, keys: Keys) -> Vector:
        """Return the vectors of keys that are there, in their order."""
        rows = self.rows_of(keys)
        rows = rows[np.argsort(self.keys[rows])][np.argsort(np.argsort(keys))]
        in_file = 0 if self._file is None else self._file.shape.count
        found = np.empty((len(rows), self.dimensions), np.float32)
        is_tail = rows >= in_file
        if self._file is not None:
            found[~is_tail] = self._file.matrix[rows[~is_tail]]
        found[is_tail] = self._matrix[: self._count][rows[is_tail] - in_file]
        return found

    def _open(self, connection: apsw.Connection, embedder: int, generation: int, total: int) -> None:
        """Take up the newest file there is, or make one."""
        self._file = vector_sidecar.opened(self._folder, _index_number(connection), embedder, generation)
        if self._file is not None:
            self._gone = np.zeros(self._file.shape.count, bool)
            self._stamp = self._file.shape.stamp
            return
        self._stamp = generation
        self._write(connection, embedder, total)

    def _read_newer(self, connection: apsw.Connection, embedder: int) -> None:
        fresh = (embedder, self._stamp)
        changed = connection.execute("SELECT key FROM vectors WHERE embedder = ? AND stamp > ?", fresh)
        keys = np.fromiter((key for (key,) in changed), np.int64)
        if not len(keys):
            return
        self._keep(~np.isin(self._held[: self._count], keys))
        if self._file is not None:
            self._gone[self._file.rows_of(keys)] = True
        rows = connection.execute("SELECT key, vector FROM vectors WHERE embedder = ? AND stamp > ?", fresh)
        while batch := list(itertools.islice(rows, _BATCH)):
            self._append(batch, room=self._count + len(keys))

    def _drop_gone(self, connection: apsw.Connection, embedder: int, total: int) -> None:
        alive = self.alive
        if total == (len(self.keys) if alive is None else int(alive.sum())):
            return
        found = connection.execute("SELECT key FROM vectors WHERE embedder = ?", (embedder,))
        known = np.fromiter((key for (key,) in found), np.int64, total)
        self._keep(np.isin(self._held[: self._count], known))
        if self._file is None:
            return
        lost = ~np.isin(self._file.keys, known)
        unmarked = self._file.keys[lost & (self._file.gone == 0)]
        self._gone |= lost
        # What was deleted while the file was being written is overwritten by whoever notices.
        with contextlib.suppress(OSError):
            vector_sidecar.wipe(self._folder, [(embedder, int(key)) for key in unmarked])

    def _is_worn(self) -> bool:
        """Tell whether there is no file, or too much is not in it, or gone from it."""
        if self._file is None:
            return not self._failed
        bound = worn_bound(self._large, self._file.shape.count)
        return self._count > bound or int(self._gone.sum()) > bound

    def _write(self, connection: apsw.Connection, embedder: int, total: int) -> None:
        """Write the file anew; without one all stays in memory, where it has to be loaded then."""
        query = "SELECT key FROM vectors WHERE embedder = ? ORDER BY key"
        keys = np.fromiter((key for (key,) in connection.execute(query, (embedder,))), np.int64, total)
        made: Sidecar | None = None
        with contextlib.suppress(OSError):  # a full disk, a folder that another process has just removed
            vectors = _stored(connection, embedder)
            first = next(vectors)
            shape = Shape(
                _index_number(connection), embedder, self._stamp, total, first.shape[1], vector_sidecar.checked(keys)
            )
            made = vector_sidecar.written(
                self._folder, shape, keys, itertools.chain((first,), vectors), self._is_current
            )
        self._failed = made is None
        if made is not None:
            self._forget()
            self._file, self._gone = made, np.zeros(total, bool)
        elif self._file is None and self._count != total:
            self._load_all(connection, embedder)

    def _load_all(self, connection: apsw.Connection, embedder: int) -> None:
        self._forget()
        rows = connection.execute("SELECT key, vector FROM vectors WHERE embedder = ?", (embedder,))
        while batch := list(itertools.islice(rows, _BATCH)):
            self._append(batch, room=max(len(self._held), 2 * self._count, _BATCH))

    def _append(self, rows: Sequence[Any], *, room: int) -> None:
        vectors = stacked([blob for _, blob in rows])
        if self.dimensions and vectors.shape[1] != self.dimensions:
            raise IntegrityError("vectors of one embedder have different lengths; run `memoranda reindex`")
        needed = self._count + len(rows)
        if needed > len(self._held):
            size = max(needed, room if not self._count else room + room // 4)
            grown = np.empty((size, vectors.shape[1]), np.float32)
            if self._count:
                grown[: self._count] = self._matrix[: self._count]
            self._held = np.concatenate([self._held[: self._count], np.zeros(size - self._count, np.int64)])
            self._matrix = grown
        self._held[self._count : needed] = [key for key, _ in rows]
        self._matrix[self._count : needed] = vectors
        self._count, self._all = needed, None

    def _keep(self, mask: Mask) -> None:
        if mask.all():
            return
        kept = int(mask.sum())
        self._held[:kept] = self._held[: self._count][mask]
        self._matrix[:kept] = self._matrix[: self._count][mask]
        self._count, self._all = kept, None


def _stored(connection: apsw.Connection, embedder: int) -> Iterator[Vector]:
    """Yield an embedder's vectors in order of keys, some at a time."""
    rows = connection.execute("SELECT vector FROM vectors WHERE embedder = ? ORDER BY key", (embedder,))
    while batch := list(itertools.islice(rows, _BATCH)):
        yield stacked([blob for (blob,) in batch])


def stacked(blobs: Sequence[Any]) -> Vector:
    """Return stored vectors as rows; raises IntegrityError where they differ in length."""
    width = len(blobs[0])
    joined = b"".join(blobs)
    if width % _FLOAT_BYTES or len(joined) != width * len(blobs):
        raise IntegrityError("vectors of one embedder have different lengths; run `memoranda reindex`")
    return np.frombuffer(joined, np.float32).reshape(len(blobs), width // _FLOAT_BYTES)


def _index_number(connection: apsw.Connection) -> str:
    return str(connection.execute("SELECT value FROM meta WHERE name = 'number'").get)


def differing(connection: apsw.Connection, folder: Path) -> list[str]:
    """Return the names of files beside an index that do not hold its vectors, or hold what is gone from it."""
    number = _index_number(connection)
    return [
        item.name if isinstance(item, Path) else item.path.name
        for item in vector_sidecar.all_files(folder)
        if isinstance(item, Path) or item.shape.index != number or not _holds_what_is_indexed(connection, item)
    ]


def _holds_what_is_indexed(connection: apsw.Connection, file: Sidecar) -> bool:
    """Compare a file row by row; what was embedded again since is looked for in memory, not in the file."""
    left = np.ones(file.shape.count, bool)
    rows = connection.execute(
        "SELECT key, vector, stamp FROM vectors WHERE embedder = ? ORDER BY key", (file.shape.embedder,)
    )
    while batch := list(itertools.islice(rows, _BATCH)):
        at = [(file.rows_of(np.array([key])), blob, stamp) for key, blob, stamp in batch]
        for row, blob, stamp in at:
            left[row] = False
            if stamp > file.shape.stamp:
                continue
            if not len(row) or file.matrix[row[0]].tobytes() != bytes(blob) or file.gone[row[0]]:
                return False
            if not np.array_equal(file.bits[:, row], vector_sidecar.signs(np.asarray(file.matrix[row]))):
                return False
    return not np.asarray(file.matrix[left]).any()
