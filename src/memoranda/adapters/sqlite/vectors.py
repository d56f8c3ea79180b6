# ruff: noqa: S608 - names of tables and columns are constants of this package; values are bound
"""The vector side of the index: search over vectors kept as float32 blobs, and what is stored of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import apsw
import numpy as np

from memoranda.adapters.sqlite.index_handles import Handle
from memoranda.adapters.sqlite.index_rows import checksum
from memoranda.adapters.sqlite.index_search import conditions
from memoranda.adapters.sqlite.vector_cache import VectorCache
from memoranda.adapters.sqlite.vector_rows import embedder_id
from memoranda.adapters.sqlite.vector_sidecar import Mask
from memoranda.domain.query import Filters
from memoranda.domain.scope import Scope
from memoranda.errors import InvalidInput
from memoranda.ports import Vector


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
    allowed: Mask | None = None,
) -> list[tuple[int, float]]:
    """Return (key, cosine) of the nearest passages that pass the filters, and are allowed where that is given."""
    if not len(cache.keys):
        return []
    _check_width(cache, query)
    passing = _passing(connection, scope, cache, filters)
    if allowed is not None:
        passing = allowed if passing is None else passing & allowed
    rows, scores = cache.nearest(query, passing, limit)
    keys = cache.keys[rows]
    if len(keys) > limit:
        bar = np.partition(scores, len(scores) - limit)[len(scores) - limit]
        chosen = np.flatnonzero(scores >= bar)
        keys, scores = keys[chosen], scores[chosen]
    order = np.lexsort((keys, -scores))[:limit]
    return [(int(keys[i]), float(scores[i])) for i in order]


def of_notes(handle: Handle, filters: Filters) -> tuple[Filters, Mask | None]:
    """Take "notes alone" out of filters that ask for little else: which rows are turns is known already."""
    if filters != Filters(valid_at=filters.valid_at, sources=frozenset({"note"})):
        return filters, None
    from memoranda.adapters.sqlite.turns import places_of  # noqa: PLC0415 - where there are turns

    return Filters(valid_at=filters.valid_at), places_of(handle).turns < 0


def similarities(cache: VectorCache, query: Vector, wanted: Sequence[int]) -> Mapping[int, float]:
    """Return the cosine of those keys that have a vector."""
    if not len(cache.keys) or not wanted:
        return {}
    _check_width(cache, query)
    rows = cache.rows_of(np.array(wanted, np.int64))
    return {int(key): float(score) for key, score in zip(cache.keys[rows], cache.scores(query, rows), strict=True)}


def _check_width(cache: VectorCache, query: Vector) -> None:
    if cache.dimensions != len(query):
        raise InvalidInput(f"the query vector has {len(query)} dimensions, the index {cache.dimensions}")


def _passing(connection: apsw.Connection, scope: Scope, cache: VectorCache, filters: Filters) -> Mask | None:
    """Return which rows pass the filters, or None where all do.

    Nearly every query asks for what is valid now and nothing else; then only the few rows with a validity are
    read.
    """
    where, values = conditions(filters)
    if not where:
        return None
    values["scope"] = str(scope)
    if filters == Filters(valid_at=filters.valid_at):
        query = (
            "SELECT p.key FROM current p WHERE p.scope = :scope "
            f"AND (p.valid_from <> '' OR p.valid_to <> '') AND NOT (1{where})"
        )
    else:
        query = f"SELECT p.key FROM current p WHERE p.scope = :scope{where}"
    found = np.fromiter((key for (key,) in connection.execute(query, values)), np.int64)
    excludes = filters == Filters(valid_at=filters.valid_at)
    if excludes and not len(found):
        return None
    passing = np.full(len(cache.keys), excludes)
    passing[cache.rows_of(found)] = not excludes
    return passing


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
