# ruff: noqa: S608 - names of tables and columns are constants of this package; values are bound
"""The vector side of the index: exact search in memory over vectors kept as float32 blobs."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from typing import Any

import apsw
import numpy as np
from numpy.typing import NDArray

from memoranda.adapters.sqlite.index_rows import checksum
from memoranda.adapters.sqlite.index_search import conditions
from memoranda.adapters.sqlite.vector_rows import embedder_id
from memoranda.domain.query import Filters
from memoranda.domain.scope import Scope
from memoranda.errors import IntegrityError, InvalidInput
from memoranda.ports import Vector

_FLOAT_BYTES = 4
_BATCH = 4_096
"""Vectors read at a time, so that a large scope is not in memory twice while it is loaded."""

Keys = NDArray[np.int64]


class VectorCache:
    """One scope's vectors of one embedder as a matrix; brought up to date by what changed.

    New rows are read by their stamp; removed ones are noticed by the count and dropped without reading
    vectors.
    """

    def __init__(self) -> None:
        self._reset(0)

    def _reset(self, embedder: int) -> None:
        self._embedder = embedder
        self._stamp = -1
        self._count = 0
        self._keys: Keys = np.empty(0, np.int64)
        self._matrix: Vector = np.empty((0, 0), np.float32)

    @property
    def keys(self) -> Keys:
        """Keys of the rows of `matrix`, in no order."""
        return self._keys[: self._count]

    @property
    def matrix(self) -> Vector:
        """Unit vectors, shape (n, dimensions)."""
        return self._matrix[: self._count]

    def refresh(self, connection: apsw.Connection, embedder: int, generation: int) -> None:
        """Read what has changed since the last call; `generation` is that of the open read transaction."""
        if embedder != self._embedder:
            self._reset(embedder)
        if generation == self._stamp:
            return
        fresh = (embedder, self._stamp)
        changed = connection.execute("SELECT key FROM vectors WHERE embedder = ? AND stamp > ?", fresh)
        keys = np.fromiter((key for (key,) in changed), np.int64)
        if len(keys):
            self._keep(~np.isin(self.keys, keys))
            rows = connection.execute("SELECT key, vector FROM vectors WHERE embedder = ? AND stamp > ?", fresh)
            while batch := list(itertools.islice(rows, _BATCH)):
                self._append(batch, room=self._count + len(keys))
        count = connection.execute("SELECT count(*) FROM vectors WHERE embedder = ?", (embedder,)).get
        if count != self._count:
            alive = connection.execute("SELECT key FROM vectors WHERE embedder = ?", (embedder,))
            self._keep(np.isin(self.keys, np.fromiter((key for (key,) in alive), np.int64, count)))
        self._stamp = generation

    def _append(self, rows: Sequence[Any], *, room: int) -> None:
        vectors = _stacked([blob for _, blob in rows])
        if self._count and vectors.shape[1] != self._matrix.shape[1]:
            raise IntegrityError("vectors of one embedder have different lengths; run `memoranda reindex`")
        needed = self._count + len(rows)
        if needed > len(self._keys):
            size = room if not self._count else room + room // 4
            grown = np.empty((size, vectors.shape[1]), np.float32)
            if self._count:
                grown[: self._count] = self.matrix
            self._keys = np.concatenate([self.keys, np.zeros(size - self._count, np.int64)])
            self._matrix = grown
        self._keys[self._count : needed] = [key for key, _ in rows]
        self._matrix[self._count : needed] = vectors
        self._count = needed

    def _keep(self, mask: NDArray[np.bool_]) -> None:
        if mask.all():
            return
        kept = int(mask.sum())
        self._keys[:kept] = self.keys[mask]
        self._matrix[:kept] = self.matrix[mask]
        self._count = kept


def _stacked(blobs: Sequence[Any]) -> Vector:
    width = len(blobs[0])
    joined = b"".join(blobs)
    if width % _FLOAT_BYTES or len(joined) != width * len(blobs):
        raise IntegrityError("vectors of one embedder have different lengths; run `memoranda reindex`")
    return np.frombuffer(joined, np.float32).reshape(len(blobs), width // _FLOAT_BYTES)


def check_query(query: Vector) -> None:
    """Refuse a query vector that is not float32: it would convert the whole matrix, at four times the cost.

    Raises:
        InvalidInput: type or shape is wrong.
    """
    if query.dtype != np.float32 or query.ndim != 1:
        raise InvalidInput(
            f"a query vector must be one-dimensional float32, not {query.ndim}-dimensional {query.dtype}"
        )


def nearest(
    connection: apsw.Connection,
    scope: Scope,
    cache: VectorCache,
    query: Vector,
    *,
    limit: int,
    filters: Filters,
) -> list[tuple[int, float]]:
    """Return (key, cosine) of the nearest passages that pass the filters."""
    keys, matrix = cache.keys, cache.matrix
    if not len(keys):
        return []
    _check_width(matrix, query)
    scores = matrix @ query
    allowed = _allowed(connection, scope, keys, filters)
    if allowed is not None:
        keys, scores = keys[allowed], scores[allowed]
    if len(keys) > limit:
        bar = np.partition(scores, len(scores) - limit)[len(scores) - limit]
        chosen = np.flatnonzero(scores >= bar)
        keys, scores = keys[chosen], scores[chosen]
    order = np.lexsort((keys, -scores))[:limit]
    return [(int(keys[i]), float(scores[i])) for i in order]


def all_cosines(cache: VectorCache, query: Vector) -> tuple[Keys, Vector]:
    """Return every key that has a vector, and its cosine."""
    check_query(query)
    if not len(cache.keys):
        return cache.keys, np.empty(0, np.float32)
    _check_width(cache.matrix, query)
    return cache.keys, cache.matrix @ query


def similarities(cache: VectorCache, query: Vector, wanted: Sequence[int]) -> Mapping[int, float]:
    """Return the cosine of those keys that have a vector."""
    if not len(cache.keys) or not wanted:
        return {}
    _check_width(cache.matrix, query)
    rows = np.flatnonzero(np.isin(cache.keys, np.array(wanted, np.int64)))
    scores = cache.matrix[rows] @ query
    return {int(key): float(score) for key, score in zip(cache.keys[rows], scores, strict=True)}


def _check_width(matrix: Vector, query: Vector) -> None:
    if matrix.shape[1] != len(query):
        raise InvalidInput(f"the query vector has {len(query)} dimensions, the index {matrix.shape[1]}")


def _allowed(connection: apsw.Connection, scope: Scope, keys: Keys, filters: Filters) -> NDArray[np.bool_] | None:
    """Return which keys pass the filters, or None where all do.

    Nearly every query asks for what is valid now and nothing else; then only the few rows with a validity are
    read.
    """
    where, values = conditions(filters)
    if not where:
        return None
    values["scope"] = str(scope)
    if filters == Filters(valid_at=filters.valid_at):
        outside = (
            "SELECT p.key FROM current p WHERE p.scope = :scope "
            f"AND (p.valid_from <> '' OR p.valid_to <> '') AND NOT (1{where})"
        )
        excluded = [key for (key,) in connection.execute(outside, values)]
        return ~np.isin(keys, np.array(excluded, np.int64)) if excluded else None
    inside = connection.execute(f"SELECT p.key FROM current p WHERE p.scope = :scope{where}", values)
    return np.isin(keys, np.array([key for (key,) in inside], np.int64))


def store(
    connection: apsw.Connection,
    scope: Scope,
    identity: str,
    keys: Sequence[int],
    vectors: Vector,
    *,
    stamp: int,
) -> int:
    """Write vectors for those keys that still exist; returns how many."""
    number = embedder_id(connection, identity, create=True)
    alive = {
        int(key)
        for (key,) in connection.execute(
            "SELECT key FROM current WHERE +scope = ? AND key IN (SELECT value FROM json_each(?))",
            (str(scope), json.dumps([int(key) for key in keys])),
        )
    }
    rows = {int(key): vector.tobytes() for key, vector in zip(keys, vectors, strict=True) if int(key) in alive}
    connection.executemany(
        "INSERT OR REPLACE INTO vectors(scope, key, embedder, stamp, vector, checksum) VALUES (?, ?, ?, ?, ?, ?)",
        [
            (str(scope), key, number, stamp, blob, checksum((str(scope), key, identity, blob)))
            for key, blob in rows.items()
        ],
    )
    return len(rows)
