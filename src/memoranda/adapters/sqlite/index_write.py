# ruff: noqa: S608 - names of tables and columns are constants of this package; values are bound
"""Writes rows of passages into an index, inside a transaction of the caller."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

import apsw

from memoranda.adapters.sqlite.index_rows import COLUMNS, Row, decoded, row_of
from memoranda.domain.passage import Passage
from memoranda.domain.passages import first_of_each, indexed_form
from memoranda.domain.scope import Scope
from memoranda.ports.log import LogMark

_SET = ", ".join(f"{name} = ?" for name in COLUMNS)
MARKS = ", ".join("?" * len(COLUMNS))


def rows_of_records(passages: Sequence[Passage]) -> Iterable[Row]:
    """Yield the rows of passages, each with the fingerprint of its whole record."""
    by_record: dict[str, list[Passage]] = {}
    for passage in passages:
        by_record.setdefault(passage.record.id, []).append(passage)
    for parts in by_record.values():
        form = indexed_form(parts)
        yield from (row_of(part, form) for part in parts)


def replace_records(connection: apsw.Connection, scope: Scope, records: Sequence[str], rows: Sequence[Row]) -> None:
    """Make the current rows of `records` those given; a row keeps its key while its embedding text stays."""
    query = (
        "SELECT key, record, part, passage, checksum FROM current WHERE scope = ? "
        "AND record IN (SELECT value FROM json_each(?))"
    )
    found = connection.execute(query, (str(scope), json.dumps(records)))
    existing = {(record, part): (key, bytes(passage), check) for key, record, part, passage, check in found}
    fresh: list[Row] = []
    for row in rows:
        key, passage, check = existing.pop((row[1], row[2]), (None, b"", b""))
        if key is None:
            fresh.append(row)
        elif check != row[-1]:
            if decoded(passage).embedding_text != decoded(row[-2]).embedding_text:
                connection.execute("DELETE FROM current WHERE key = ?", (key,))
                fresh.append(row)
            else:
                connection.execute(f"UPDATE current SET {_SET} WHERE key = ?", (*row, key))
    connection.executemany("DELETE FROM current WHERE key = ?", [(key,) for key, _, _ in existing.values()])
    connection.executemany(f"INSERT INTO current({', '.join(COLUMNS)}) VALUES ({MARKS})", fresh)


def replace_past(connection: apsw.Connection, scope: Scope, records: Sequence[str], rows: Sequence[Row]) -> None:
    """Make the past rows of `records` those given."""
    connection.execute(
        "DELETE FROM past WHERE scope = ? AND record IN (SELECT value FROM json_each(?))",
        (str(scope), json.dumps(records)),
    )
    connection.executemany(f"INSERT INTO past({', '.join(COLUMNS)}) VALUES ({MARKS})", rows)


def unknown(connection: apsw.Connection, scope: Scope, passages: Sequence[Passage]) -> list[Passage]:
    """Leave out the turns whose id is known already, in the index or before in these."""
    kept = first_of_each(passages)
    names = json.dumps(sorted({passage.record.id for passage in kept}))
    known = {
        name
        for (name,) in connection.execute(
            "SELECT DISTINCT record FROM current WHERE scope = ? AND record IN (SELECT value FROM json_each(?))",
            (str(scope), names),
        )
    }
    return [passage for passage in kept if passage.record.id not in known]


def log_mark(connection: apsw.Connection, path: str) -> LogMark | None:
    """Return how far a log file was taken in, None where it was not."""
    row = connection.execute("SELECT size, inode, stamp, tail, lines FROM logs WHERE path = ?", (path,)).fetchone()
    return LogMark(*row) if row else None
