"""Changes one byte of one value of one row, by plain SQL, as a disk or a person might."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import apsw


@dataclass(frozen=True)
class Place:
    """One value: the last row of a table that has something in this column."""

    table: str
    column: str

    def __str__(self) -> str:
        return f"{self.table}.{self.column}"


@contextmanager
def _open(database: Path) -> Iterator[apsw.Connection]:
    connection = apsw.Connection(str(database))
    try:
        yield connection
    finally:
        connection.close()


def flipped(value: object) -> object:
    """Return a value of the same type and length of which one byte (one bit of a number) differs."""
    if isinstance(value, int):
        return value ^ 1
    if isinstance(value, float):
        return value + 1.0
    if isinstance(value, bytes):
        middle = len(value) // 2
        return value[:middle] + bytes([value[middle] ^ 0x01]) + value[middle + 1 :]
    text = str(value)
    middle = len(text) // 2
    return text[:middle] + ("x" if text[middle] != "x" else "y") + text[middle + 1 :]


def tables(database: Path) -> list[str]:
    """Return the names of the ordinary tables; virtual ones cannot be changed like this, their shadows can."""
    with _open(database) as connection:
        rows = connection.execute(
            "SELECT name FROM sqlite_schema WHERE type='table' AND name NOT LIKE 'sqlite_%' "
            "AND sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY name"
        )
        return [str(name) for (name,) in rows.fetchall()]


def columns(database: Path, table: str) -> list[str]:
    """Return a table's columns."""
    with _open(database) as connection:
        return [str(row[1]) for row in connection.execute(f"PRAGMA table_info('{table}')")]


def tamper(database: Path, place: Place) -> bool:
    """Change one byte; return False where no row has a value there."""
    with _open(database) as connection:
        table, column = place.table, place.column
        keys = [str(row[1]) for row in connection.execute(f"PRAGMA table_info('{table}')").fetchall() if row[5]]
        found = connection.execute(
            f'SELECT {", ".join(keys)}, "{column}" FROM "{table}" '  # noqa: S608 - names from the schema
            f'WHERE length("{column}") > 0 ORDER BY {", ".join(f"{key} DESC" for key in keys)} LIMIT 1'
        ).fetchone()
        if found is None:
            return False
        where = " AND ".join(f'"{key}" IS ?' for key in keys)
        is_number = column in keys and isinstance(found[-1], int)
        changed = found[-1] + 1 if is_number else flipped(found[-1])  # the highest key: one that no other row has
        connection.execute(
            f'UPDATE "{table}" SET "{column}" = ? WHERE {where}',  # noqa: S608 - the same
            (changed, *found[:-1]),
        )
        return True
