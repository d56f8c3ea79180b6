# ruff: noqa: S608 - names of tables and columns are constants of this package; values are bound
"""Remembers vectors in one SQLite file, so that text which comes back is not embedded again."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import apsw

from memoranda.adapters.sqlite.connection import connect, foreign_errors, transaction
from memoranda.ports import Vector

CACHED_ROWS = 50_000
"""Vectors kept; about 80 MB with 384 dimensions."""

_TABLE = """
CREATE TABLE IF NOT EXISTS vectors(
    id INTEGER PRIMARY KEY,
    identity TEXT NOT NULL,
    text_hash BLOB NOT NULL,
    used INTEGER NOT NULL,
    vector BLOB NOT NULL,
    UNIQUE (identity, text_hash)
);
CREATE INDEX IF NOT EXISTS vectors_by_use ON vectors(used);
"""


class SqliteEmbeddingCache:
    """An `EmbeddingCache` in the file `path`; text is known by `text_hash` only, which should be keyed.

    Keeps `rows` vectors and drops those that were asked for or stored longest ago. Safe to use from several
    threads.
    """

    def __init__(self, path: Path, text_hash: Callable[[str], bytes], *, rows: int = CACHED_ROWS) -> None:
        self._path, self._hash, self._rows = path, text_hash, rows
        self._lock = threading.Lock()
        self._connection = connect(path, durable=False)
        if not self._connection.table_exists(None, "vectors"):
            with transaction(self._connection) as connection:
                connection.execute(_TABLE)

    def close(self) -> None:
        """Close the file."""
        with self._lock, foreign_errors(self._path):
            self._connection.close()

    def get(self, identity: str, texts: Sequence[str]) -> Mapping[str, Vector]:
        """Return text -> vector for those known, and mark them as used."""
        hashes = {text: self._hash(text) for text in texts}
        query = "UPDATE vectors SET used = ? WHERE identity = ? AND text_hash = ? RETURNING vector"
        with self._lock, transaction(self._connection) as connection:
            now = _next_use(connection)
            found = {text: connection.execute(query, (now, identity, key)).get for text, key in hashes.items()}
        import numpy as np  # noqa: PLC0415 - only who embeds needs it

        return {text: np.frombuffer(blob, np.float32) for text, blob in found.items() if blob is not None}

    def put(self, identity: str, vectors: Mapping[str, Vector]) -> None:
        """Remember vectors, float32; the longest unused make room."""
        with self._lock, transaction(self._connection) as connection:
            now = _next_use(connection)
            connection.executemany(
                "INSERT OR REPLACE INTO vectors(identity, text_hash, used, vector) VALUES (?, ?, ?, ?)",
                [
                    (identity, self._hash(text), now, vector.astype("float32", copy=False).tobytes())
                    for text, vector in vectors.items()
                ],
            )
            surplus = int(connection.execute("SELECT count(*) FROM vectors").get) - self._rows
            if surplus > 0:
                oldest = "SELECT id FROM vectors ORDER BY used, id LIMIT ?"
                connection.execute(f"DELETE FROM vectors WHERE id IN ({oldest})", (surplus,))


def _next_use(connection: apsw.Connection) -> int:
    return int(connection.execute("SELECT coalesce(max(used), 0) + 1 FROM vectors").get)
