# ruff: noqa: S608 - names of tables and columns are constants of this package; values are bound
"""Remembers vectors in one SQLite file, so that text which comes back is not embedded again."""

from __future__ import annotations

import contextlib
import hashlib
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import apsw

from memoranda.adapters.sqlite.connection import connect, transaction
from memoranda.errors import BackendError, Busy, IntegrityError
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
    checksum BLOB NOT NULL,
    UNIQUE (identity, text_hash)
) STRICT;
CREATE INDEX IF NOT EXISTS vectors_by_use ON vectors(used);
"""


class SqliteEmbeddingCache:
    """An `EmbeddingCache` in the file `path`; text is known by `text_hash` only, which should be keyed.

    Keeps `rows` vectors and drops those that were asked for or stored longest ago. Opened at its first use; never
    the reason that something fails. Safe to use from several threads.
    """

    def __init__(self, path: Path, text_hash: Callable[[str], bytes], *, rows: int = CACHED_ROWS) -> None:
        self._path, self._hash, self._rows = path, text_hash, rows
        self._lock = threading.Lock()
        self._connection: apsw.Connection | None = None
        self._useless = False

    def close(self) -> None:
        """Close the file; a later use opens it again."""
        with self._lock:
            self._let_go()

    def get(self, identity: str, texts: Sequence[str]) -> Mapping[str, Vector]:
        """Return text -> vector for those known, and mark them as used; nothing where the file cannot be used."""
        hashes = {text: self._hash(text) for text in texts}
        query = "UPDATE vectors SET used = ? WHERE identity = ? AND text_hash = ? RETURNING vector, checksum"
        found: dict[str, bytes] = {}

        def look_up(connection: apsw.Connection) -> None:
            now = _next_use(connection)
            for text, key in hashes.items():
                row = connection.execute(query, (now, identity, key)).fetchone()
                if row and _checksum(row[0]) == row[1]:
                    found[text] = row[0]

        if not self._attempt(look_up):
            return {}
        import numpy as np  # noqa: PLC0415 - only who embeds needs it

        return {text: np.frombuffer(blob, np.float32) for text, blob in found.items()}

    def put(self, identity: str, vectors: Mapping[str, Vector]) -> None:
        """Remember vectors, float32; the longest unused make room. Does nothing where the file cannot be used."""
        blobs = {text: vector.astype("float32", copy=False).tobytes() for text, vector in vectors.items()}
        rows = [(blob, _checksum(blob), identity, self._hash(text)) for text, blob in blobs.items()]

        def store(connection: apsw.Connection) -> None:
            now = _next_use(connection)
            insert = (
                "INSERT OR REPLACE INTO vectors(used, vector, checksum, identity, text_hash) VALUES (?, ?, ?, ?, ?)"
            )
            connection.executemany(insert, [(now, *row) for row in rows])
            surplus = int(connection.execute("SELECT count(*) FROM vectors").get) - self._rows
            if surplus > 0:
                oldest = "SELECT id FROM vectors ORDER BY used, id LIMIT ?"
                connection.execute(f"DELETE FROM vectors WHERE id IN ({oldest})", (surplus,))

        self._attempt(store)

    def clear(self) -> None:
        """Delete the file; it is made anew at its next use."""
        with self._lock:
            self._delete()

    def _attempt(self, work: Callable[[apsw.Connection], None]) -> bool:
        """Do something in one transaction and return whether it was done.

        A file that fails is deleted and made anew, once: what it held can be computed again. One that fails even
        then is left alone from there on.
        """
        with self._lock:
            for _ in range(2):
                if self._useless:
                    return False
                try:
                    with transaction(self._opened()) as connection:
                        work(connection)
                except Busy:
                    return False
                except (IntegrityError, BackendError, OSError):
                    self._delete()
                else:
                    return True
            self._useless = True
            return False

    def _opened(self) -> apsw.Connection:
        if self._connection is None:
            self._connection = connect(self._path, durable=False)
            with transaction(self._connection) as connection:
                connection.execute(_TABLE)
        return self._connection

    def _let_go(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(apsw.Error):  # what cannot be closed well is derived data
                self._connection.close()
            self._connection = None

    def _delete(self) -> None:
        self._let_go()
        for ending in ("", "-wal", "-shm"):
            with contextlib.suppress(OSError):
                self._path.with_name(self._path.name + ending).unlink()


def _next_use(connection: apsw.Connection) -> int:
    return int(connection.execute("SELECT coalesce(max(used), 0) + 1 FROM vectors").get)


def _checksum(vector: bytes) -> bytes:
    return hashlib.blake2b(vector, digest_size=8).digest()
