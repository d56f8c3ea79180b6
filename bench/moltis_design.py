"""The baseline: one SQLite table for all, every vector streamed out of it for every question.

This is the design of Moltis' built-in store as its documentation tells it: chunks with their vectors as float32
blobs in one table, read in batches of 2,000 and compared one batch at a time; FTS5 beside it; both merged by
0.7 and 0.3. It is written with the same engine, the same settings and numpy, to compare designs and not languages.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import apsw
import numpy as np

from memoranda.ports import Vector

BATCH = 2_000
VECTOR_SHARE, KEYWORD_SHARE = 0.7, 0.3
CANDIDATES = 50


class StreamedTable:
    """Chunks of all agents in one table."""

    def __init__(self, path: Path, texts: Sequence[str], vectors: Vector) -> None:
        self._db = apsw.Connection(str(path))
        self._db.execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA mmap_size=268435456")
        self._db.execute(
            "CREATE TABLE chunks(id INTEGER PRIMARY KEY, text TEXT NOT NULL, vector BLOB NOT NULL);"
            "CREATE VIRTUAL TABLE words USING fts5(text, content='chunks', content_rowid='id')"
        )
        with self._db:
            rows = ((i, text, vectors[i].tobytes()) for i, text in enumerate(texts))
            self._db.executemany("INSERT INTO chunks VALUES (?, ?, ?)", rows)
            self._db.execute("INSERT INTO words(words) VALUES ('rebuild')")

    def close(self) -> None:
        """Close the database."""
        self._db.close()

    def nearest(self, query: Vector, limit: int = CANDIDATES) -> list[tuple[int, float]]:
        """Return (id, cosine) of the nearest chunks, nearest first."""
        cursor = self._db.execute("SELECT id, vector FROM chunks")
        best: list[tuple[float, int]] = []
        while batch := _take(cursor, BATCH):
            matrix = np.frombuffer(b"".join(blob for _, blob in batch), np.float32).reshape(len(batch), -1)
            scores = matrix @ query
            top = np.argpartition(-scores, min(limit, len(batch) - 1))[:limit]
            best = sorted([*best, *((float(scores[i]), int(batch[i][0])) for i in top)], reverse=True)[:limit]
        return [(key, score) for score, key in best]

    def by_words(self, text: str, limit: int = CANDIDATES) -> list[tuple[int, float]]:
        """Return (id, score) of the best chunks by BM25, best first."""
        expression = " OR ".join(f'"{word}"' for word in text.split())
        query = "SELECT rowid, -rank FROM words WHERE words MATCH ? ORDER BY rank LIMIT ?"
        return [(int(key), float(score)) for key, score in self._db.execute(query, (expression, limit))]

    def search(self, text: str, query: Vector, limit: int = 5) -> list[tuple[int, str]]:
        """Return (id, text) of the best chunks by both arms together."""
        words = self.by_words(text)
        scores = {key: KEYWORD_SHARE * score / words[0][1] for key, score in words} if words else {}
        for key, cosine in self.nearest(query):
            scores[key] = scores.get(key, 0.0) + VECTOR_SHARE * cosine
        best = sorted(scores, key=lambda key: (-scores[key], key))[:limit]
        find = "SELECT text FROM chunks WHERE id = ?"
        return [(key, str(self._db.execute(find, (key,)).get)) for key in best]


def _take(cursor: apsw.Cursor, count: int) -> list[tuple[int, bytes]]:
    return [row for row, _ in zip(cursor, range(count), strict=False)]
