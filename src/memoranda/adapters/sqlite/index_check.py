# ruff: noqa: S608 - names of tables and columns are constants of this package; values are bound
"""Finds damage in an index: broken pages, keyword tables that differ from their rows, altered rows."""

from __future__ import annotations

from pathlib import Path

import apsw

from memoranda.adapters.sqlite import vector_files
from memoranda.adapters.sqlite.connection import foreign_errors
from memoranda.adapters.sqlite.index_rows import COLUMNS, checksum
from memoranda.adapters.sqlite.index_schema import TABLES, open_index, split
from memoranda.domain.scope import Scope
from memoranda.errors import IntegrityError

_MAX_PAGE_PROBLEMS = 20
_SEGMENT_BITS = 37
"""A page's id in an FTS5 data table is its segment times two to this power, plus more (SQLite's fts5_index.c)."""


def problems(path: Path, scope: Scope) -> list[str]:
    """Return what is wrong with the database at `path`, one sentence each, without text of records.

    Raises:
        BackendError: the file cannot be read, or another process holds it.
    """
    found: list[str] = []
    try:
        connection = open_index(path, scope)
    except IntegrityError as error:
        return [str(error)]
    try:
        for inspect in (_pages, _keywords, _leaves, _postings, _rows, _vectors, _words, _answering, _scanned):
            try:
                with foreign_errors(path):
                    found += inspect(connection)
            except IntegrityError as error:
                found.append(str(error))
    finally:
        connection.close()
    return found


def _pages(connection: apsw.Connection) -> list[str]:
    rows = connection.execute(f"PRAGMA integrity_check({_MAX_PAGE_PROBLEMS})").fetchall()
    broken = connection.execute("PRAGMA foreign_key_check").fetchall()
    found = ["the database file is damaged: " + str(text).split("\n", 1)[0] for (text,) in rows if text != "ok"]
    return found + [f"a row of table {table} refers to a row that is gone" for table, *_ in broken]


def _keywords(connection: apsw.Connection) -> list[str]:
    found = []
    for table in TABLES:
        try:
            connection.execute(f"INSERT INTO {table}_words({table}_words, rank) VALUES ('integrity-check', 1)")
        except apsw.CorruptError:
            found.append(f"the keyword table of {table} passages does not match its rows")
    return found


def _leaves(connection: apsw.Connection) -> list[str]:
    """Check that the first words of keyword segments lead to their pages; FTS5's own check looks the other way."""
    found = []
    for table in TABLES:
        segments = f"SELECT DISTINCT id >> {_SEGMENT_BITS} FROM {table}_words_data WHERE id >> {_SEGMENT_BITS}"
        listed = f"SELECT DISTINCT segid FROM {table}_words_idx"
        if set(connection.execute(segments)) != set(connection.execute(listed)):
            found.append(f"the keyword table of {table} passages does not lead to all of its pages")
    return found


def _postings(connection: apsw.Connection) -> list[str]:
    """Check that the words of turns are those of their rows."""
    turns = f"current, {split('current')} WHERE origin <> 'note' AND terms <> ''"
    rows = f"SELECT value, current.key, count(*) FROM {turns} GROUP BY current.key, value"
    held = "SELECT term, key, frequency FROM postings"
    differ = connection.execute(f"SELECT EXISTS({rows} EXCEPT {held}) OR EXISTS({held} EXCEPT {rows})").get
    return ["the words of turns do not match their rows"] if differ else []


def _rows(connection: apsw.Connection) -> list[str]:
    # As blobs: damaged text need not be UTF-8, and reading it as text would fail before it could be named.
    columns = ", ".join(f"CAST({name} AS BLOB)" for name in COLUMNS)
    found = []
    for table in TABLES:
        for key, *values in connection.execute(f"SELECT key, {columns} FROM {table} ORDER BY key"):
            if checksum(values[:-1]) != values[-1]:
                found.append(f"passage {key} of record {_name(values[1])} in table {table} is not what was indexed")
    return found


def _name(record: object) -> str:
    """Return a record id that may be damaged, as text."""
    return record.decode("utf-8", "replace") if isinstance(record, bytes) else "?"


def _vectors(connection: apsw.Connection) -> list[str]:
    rows = connection.execute(
        "SELECT CAST(v.scope AS BLOB), v.key, CAST(e.identity AS BLOB), v.vector, v.checksum, "
        "CAST(p.record AS BLOB) FROM vectors v LEFT JOIN embedders e ON e.id = v.embedder "
        "LEFT JOIN current p ON p.key = v.key ORDER BY v.key"
    )
    return [
        f"the vector of passage {values[1]} of record {_name(record)} is not what was indexed"
        for *values, check, record in rows
        if checksum(values) != check
    ]


def _words(connection: apsw.Connection) -> list[str]:
    """Check the vectors of words: each belongs to a passage's vector and is what was stored."""
    rows = connection.execute(
        "SELECT w.key, CAST(e.identity AS BLOB), w.words, w.checksum, CAST(p.record AS BLOB), v.key IS NOT NULL "
        "FROM word_vectors w LEFT JOIN embedders e ON e.id = w.embedder LEFT JOIN current p ON p.key = w.key "
        "LEFT JOIN vectors v ON v.key = w.key AND v.embedder = w.embedder ORDER BY w.key"
    )
    return [
        f"the vectors of the words of passage {values[0]} of record {_name(record)} are not what was indexed"
        for *values, check, record, has_vector in rows
        if checksum(values) != check or not has_vector
    ]


def _scanned(connection: apsw.Connection) -> list[str]:
    """Check that the files of vectors hold what the index does, and nothing of what is gone."""
    folder = Path(connection.db_filename("main")).parent
    if not vector_files.files(folder):
        return []
    from memoranda.adapters.sqlite.vector_cache import differing  # noqa: PLC0415 - loads numpy

    return [f"the file of vectors {name} is not what was indexed" for name in differing(connection, folder)]


def _answering(connection: apsw.Connection) -> list[str]:
    """Check that the embedder that answers has vectors where there are any, and that none is newer than the index."""
    found = []
    active = "(SELECT CAST(value AS INTEGER) FROM meta WHERE name = 'embedder')"
    query = f"SELECT EXISTS(SELECT 1 FROM vectors) AND NOT EXISTS(SELECT 1 FROM vectors WHERE embedder = {active})"
    if connection.execute(query).get:
        found.append("the embedder that should answer has no vectors, others have")
    newest = connection.execute("SELECT coalesce(max(stamp), 0) FROM vectors").get
    if int(connection.execute("SELECT value FROM meta WHERE name = 'generation'").get) < newest:
        found.append("a vector is newer than the last change")
    return found
