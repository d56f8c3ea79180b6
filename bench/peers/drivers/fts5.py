"""A plain SQLite FTS5 table: porter stems, any word of the question that is no stop word, best by `bm25`."""

from __future__ import annotations

import re
import sqlite3
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from protocol import Asked, Turn, content, serve

STOP = frozenset(
    """
    a about after all also am an and any are as at be because been before being between both but by can could did
    do does doing during each few for from further had has have having he her here hers him his how i if in into
    is it its just me more most my no nor not now of off on once only or other our out over own same she should so
    some such than that the their them then there these they this those through to too under until up very was we
    were what when where which while who whom why will with would you your
    """.split()  # noqa: SIM905 - a list of words reads better as a text
)


class Fts5:
    """One table for all conversations."""

    name = "FTS5"

    def __init__(self, folder: Path) -> None:
        self._db = sqlite3.connect(folder / "floor.db")
        self._db.execute("CREATE VIRTUAL TABLE turn USING fts5(text, id UNINDEXED, scope UNINDEXED, tokenize='porter')")

    def version(self) -> str:
        """Return SQLite's."""
        return f"SQLite {sqlite3.sqlite_version}"

    def add(self, scope: str, turns: Sequence[Turn]) -> None:
        """Insert a row for each."""
        with self._db:
            self._db.executemany(
                "INSERT INTO turn VALUES (?, ?, ?)", [(content(turn), turn["id"], scope) for turn in turns]
            )

    def finish(self) -> None:
        """Do nothing more."""

    def search(self, asked: Asked) -> list[str]:
        """Match any word of the question."""
        words = re.findall(r"\w+", asked.text.lower())
        match = " OR ".join(f'"{word}"' for word in [word for word in words if word not in STOP] or words)
        query = "SELECT id FROM turn WHERE turn MATCH ? AND scope = ? ORDER BY bm25(turn) LIMIT ?"
        return [row[0] for row in self._db.execute(query, (match, asked.scope, asked.limit))] if match else []

    def close(self) -> None:
        """Close the file."""
        self._db.close()


if __name__ == "__main__":
    serve(Fts5(Path(sys.argv[1])), Path(sys.argv[1]))
