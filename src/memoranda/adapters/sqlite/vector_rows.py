"""Which embedder answers in an index, and what waits for a vector: SQL alone, so that keyword search loads no numpy."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import apsw

from memoranda.adapters.sqlite.index_rows import checksum
from memoranda.adapters.sqlite.vector_files import files, shape_of
from memoranda.domain.scope import Scope

_WORN = 20
"""A file may miss one in so many of its vectors."""


def embedder_id(connection: apsw.Connection, identity: str, *, create: bool = False) -> int:
    """Return the number of an embedder in this index, 0 where it has none and `create` is not set."""
    found = connection.execute("SELECT id FROM embedders WHERE identity = ?", (identity,)).get
    if found is None and create:
        connection.execute("INSERT INTO embedders(identity) VALUES (?)", (identity,))
        found = connection.last_insert_rowid()
    return int(found or 0)


def active_embedder(connection: apsw.Connection) -> int:
    """Return the number of the embedder that answers, 0 for none."""
    return int(connection.execute("SELECT value FROM meta WHERE name = 'embedder'").get)


def pending(connection: apsw.Connection, scope: Scope, embedder: int, limit: int) -> list[tuple[int, bytes]]:
    """Return (key, stored passage) of current passages without a vector of this embedder, newest first."""
    rows = connection.execute(
        "SELECT key, passage FROM current p WHERE scope = ? AND NOT EXISTS "
        "(SELECT 1 FROM vectors v WHERE v.key = p.key AND v.embedder = ?) ORDER BY key DESC LIMIT ?",
        (str(scope), embedder, limit),
    )
    return [(int(key), passage) for key, passage in rows]


def count_pending(connection: apsw.Connection, scope: Scope, embedder: int) -> int:
    """Count current passages without a vector of this embedder."""
    return int(
        connection.execute(
            "SELECT (SELECT count(*) FROM current WHERE scope = ?) - (SELECT count(*) FROM vectors WHERE embedder = ?)",
            (str(scope), embedder),
        ).get
    )


def store_words(connection: apsw.Connection, identity: str, keys: Sequence[int], words: Sequence[bytes]) -> None:
    """Write the words' vectors of those keys that have a vector; there may be none for any."""
    if not words:
        return
    embedder = embedder_id(connection, identity)
    connection.executemany(
        "INSERT OR REPLACE INTO word_vectors(key, embedder, words, checksum) "
        "SELECT key, embedder, ?, ? FROM vectors WHERE key = ? AND embedder = ?",
        [
            (said, checksum((int(key), identity, said)), int(key), embedder)
            for key, said in zip(keys, words, strict=True)
        ],
    )


def words(connection: apsw.Connection, identity: str, keys: Sequence[int]) -> dict[int, bytes]:
    """Return the words' vectors of those keys that have any."""
    rows = connection.execute(
        "SELECT key, words FROM word_vectors WHERE embedder = ? AND key IN (SELECT value FROM json_each(?))",
        (embedder_id(connection, identity), json.dumps([int(key) for key in keys])),
    )
    return {int(key): bytes(said) for key, said in rows}


def answer_alone(connection: apsw.Connection, scope: Scope, identity: str) -> bool:
    """Drop the vectors of all other embedders, if this one answers and is whole; return whether any were there."""
    active = active_embedder(connection)
    others = connection.execute("SELECT EXISTS(SELECT 1 FROM embedders WHERE id <> ?)", (active,)).get
    if not others or embedder_id(connection, identity) != active or count_pending(connection, scope, active):
        return False
    connection.execute("DELETE FROM vectors WHERE embedder <> ?", (active,))
    connection.execute("DELETE FROM embedders WHERE id <> ?", (active,))
    return True


def wants_file(connection: apsw.Connection, scope: Scope, folder: Path, large: int) -> bool:
    """Tell whether the vectors that answer are all there, and are to be written into a file beside the index anew."""
    embedder = active_embedder(connection)
    number = connection.execute("SELECT value FROM meta WHERE name = 'number'").get
    shapes = [shape for shape in map(shape_of, files(folder)) if shape and shape.index == number]
    newest = max((shape for shape in shapes if shape.embedder == embedder), key=lambda shape: shape.stamp, default=None)
    later = "SELECT count(*) FROM vectors WHERE embedder = ? AND stamp > ?"
    count = int(connection.execute(later, (embedder, newest.stamp if newest else -1)).get)
    bound = large if newest is None else worn_bound(large, newest.count)
    return count > bound and not count_pending(connection, scope, embedder)


def worn_bound(large: int, count: int) -> int:
    """Return how many vectors may be missing from a file of so many, or gone from it, before it is written anew."""
    return max(large, count // _WORN)


def settle(connection: apsw.Connection, scope: Scope) -> None:
    """Let the newest embedder answer once nothing is pending for it, or the one that answers has nothing.

    What other embedders left is dropped when an embedder takes over complete.
    """
    active = active_embedder(connection)
    counts = dict(connection.execute("SELECT embedder, count(*) FROM vectors GROUP BY embedder"))
    building = sorted((number for number in counts if number != active), reverse=True)
    complete = [number for number in building if not count_pending(connection, scope, number)]
    if complete:
        active = complete[0]
        connection.execute("DELETE FROM vectors WHERE embedder <> ?", (active,))
        connection.execute("DELETE FROM embedders WHERE id <> ?", (active,))
    elif building and not counts.get(active):
        active = building[0]
    else:
        return
    connection.execute("UPDATE meta SET value = ? WHERE name = 'embedder'", (str(active),))
