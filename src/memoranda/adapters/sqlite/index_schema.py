# ruff: noqa: S608 - names of tables and columns are constants of this package; values are bound
"""The tables of a search index, one database per scope.

`current` holds what search finds, `past` what was superseded or retired. Both have the same columns and a
keyword table of their own, so that the past cannot shift the statistics of the present.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterator
from pathlib import Path

import apsw

from memoranda.adapters.sqlite import vector_files
from memoranda.adapters.sqlite.connection import connect, foreign_errors, transaction
from memoranda.domain.ranking import HEADING_WEIGHT
from memoranda.domain.scope import Scope
from memoranda.domain.scripts import SOFT_SYMBOLS
from memoranda.domain.words import ANALYSER
from memoranda.errors import BackendError, IntegrityError

SCHEMA = f"5.{ANALYSER}"
"""Version of tables and words; an index of another version is emptied, because it is derived."""

REBUILD = "run `memoranda sync`, it rebuilds the index"

TABLES = ("current", "past")

_META = "CREATE TABLE meta(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID"

_EMBEDDERS = "CREATE TABLE embedders(id INTEGER PRIMARY KEY AUTOINCREMENT, identity TEXT NOT NULL UNIQUE)"

_VECTORS = """
CREATE TABLE vectors(
    id INTEGER PRIMARY KEY,
    scope TEXT NOT NULL,
    key INTEGER NOT NULL REFERENCES current(key) ON DELETE CASCADE,
    embedder INTEGER NOT NULL REFERENCES embedders(id),
    stamp INTEGER NOT NULL,
    vector BLOB NOT NULL,
    checksum BLOB NOT NULL
);
CREATE UNIQUE INDEX vectors_by_key ON vectors(key, embedder);
CREATE INDEX vectors_by_embedder ON vectors(embedder, stamp, key);
CREATE TABLE word_vectors(
    key INTEGER NOT NULL,
    embedder INTEGER NOT NULL,
    words BLOB NOT NULL,
    checksum BLOB NOT NULL,
    PRIMARY KEY(key, embedder)
);
CREATE TABLE vectors_gone(embedder INTEGER NOT NULL, key INTEGER NOT NULL, PRIMARY KEY(embedder, key)) WITHOUT ROWID;
CREATE TRIGGER vectors_removed AFTER DELETE ON vectors BEGIN
    DELETE FROM word_vectors WHERE key = old.key AND embedder = old.embedder;
    INSERT OR IGNORE INTO vectors_gone VALUES (old.embedder, old.key);
END;
"""

# The tokens come from domain.words; this tokenizer only splits at spaces: to it every character beyond ASCII
# is part of a token, and so are the symbols that words may carry. It folds nothing that is not folded.
_WORDS = """
CREATE VIRTUAL TABLE {table}_words USING fts5(
    terms, exact, heading, origin, content='{table}', content_rowid='key',
    tokenize="ascii tokenchars '{symbols}'"
);
INSERT INTO {table}_words({table}_words, rank) VALUES ('secure-delete', 1);
INSERT INTO {table}_words({table}_words, rank) VALUES ('rank', 'bm25(1.0, 0.0, {heading}, 0.0)');
CREATE VIRTUAL TABLE {table}_vocabulary USING fts5vocab({table}_words, 'col');
CREATE TRIGGER {table}_added AFTER INSERT ON {table} BEGIN
    INSERT INTO {table}_words(rowid, terms, exact, heading, origin)
    VALUES (new.key, new.terms, new.exact, new.heading, new.origin);
END;
CREATE TRIGGER {table}_removed AFTER DELETE ON {table} BEGIN
    INSERT INTO {table}_words({table}_words, rowid, terms, exact, heading, origin)
    VALUES ('delete', old.key, old.terms, old.exact, old.heading, old.origin);
END;
CREATE TRIGGER {table}_changed AFTER UPDATE OF terms, exact, heading, origin ON {table} BEGIN
    INSERT INTO {table}_words({table}_words, rowid, terms, exact, heading, origin)
    VALUES ('delete', old.key, old.terms, old.exact, old.heading, old.origin);
    INSERT INTO {table}_words(rowid, terms, exact, heading, origin)
    VALUES (new.key, new.terms, new.exact, new.heading, new.origin);
END;
"""

_LOGS = (
    "CREATE TABLE logs(path TEXT PRIMARY KEY, size INTEGER NOT NULL, inode INTEGER NOT NULL, stamp INTEGER NOT NULL, "
    "tail TEXT NOT NULL, lines INTEGER NOT NULL) WITHOUT ROWID"
)

_PASSAGES = """
CREATE TABLE {table}(
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    scope TEXT NOT NULL,
    record TEXT NOT NULL,
    part INTEGER NOT NULL,
    path TEXT NOT NULL,
    origin TEXT NOT NULL,
    kind TEXT NOT NULL,
    tags TEXT NOT NULL,
    trust INTEGER NOT NULL,
    valid_from TEXT NOT NULL,
    valid_to TEXT NOT NULL,
    recorded_at TEXT NOT NULL,
    retired_at TEXT NOT NULL,
    position INTEGER NOT NULL,
    speaker TEXT NOT NULL,
    marks INTEGER NOT NULL,
    length INTEGER NOT NULL,
    terms TEXT NOT NULL,
    exact TEXT NOT NULL,
    heading TEXT NOT NULL,
    form TEXT NOT NULL,
    passage BLOB NOT NULL,
    checksum BLOB NOT NULL
);
CREATE UNIQUE INDEX {table}_by_record ON {table}(scope, record, part);
CREATE INDEX {table}_by_time ON {table}(scope, recorded_at);
CREATE INDEX {table}_by_length ON {table}(scope, length, origin);
CREATE INDEX {table}_with_validity ON {table}(scope, key) WHERE valid_from <> '' OR valid_to <> '';
"""


def split(row: str) -> str:
    """Return the SQL of a table with one row for each term of a row of `current`.

    Terms are parted by spaces and hold none, so that they become a JSON list by quoting.
    """
    quoted = f"replace(replace(replace({row}.terms, '\\', '\\\\'), '\"', '\\\"'), ' ', '\",\"')"
    return f"json_each('[\"' || {quoted} || '\"]')"


# Turns are found by their own words and by those around them, which FTS5 cannot weigh. Triggers keep the table true to
# the rows in every transaction.
_TURNS = f"""
CREATE INDEX current_turns ON current(origin, position, part, key, length, speaker, marks, path)
WHERE origin <> 'note';
CREATE TABLE postings(
    term TEXT NOT NULL, key INTEGER NOT NULL, frequency INTEGER NOT NULL, PRIMARY KEY(term, key)
) WITHOUT ROWID;
CREATE TRIGGER postings_added AFTER INSERT ON current WHEN new.origin <> 'note' AND new.terms <> '' BEGIN
    INSERT INTO postings SELECT value, new.key, count(*) FROM {split("new")} GROUP BY value;
END;
CREATE TRIGGER postings_removed AFTER DELETE ON current WHEN old.origin <> 'note' AND old.terms <> '' BEGIN
    DELETE FROM postings WHERE key = old.key AND term IN (SELECT value FROM {split("old")});
END;
"""


def open_index(path: Path, scope: Scope) -> apsw.Connection:
    """Open the index database of a scope, with its tables made or, after a change of version, made anew.

    Raises:
        IntegrityError: the database belongs to another scope, or is damaged.
        BackendError: it cannot be opened.
    """
    with index_errors(path):
        connection = connect(path, durable=False)
        try:
            _prepare(connection, path, scope)
        except BaseException:
            connection.close()
            raise
    return connection


@contextlib.contextmanager
def index_errors(path: Path) -> Iterator[None]:
    """Turn apsw's errors into the library's; damage comes with the advice that fits what can be rebuilt.

    Statements are constants, so one that SQLite refuses means that tables or columns are missing.
    """
    try:
        with foreign_errors(path):
            yield
    except (IntegrityError, BackendError) as error:
        cause = error.__cause__
        if isinstance(cause, apsw.CorruptError | apsw.NotADBError | apsw.SQLError):
            raise IntegrityError(f"{path} is damaged: {type(cause).__name__}; {REBUILD}") from cause
        raise


def _prepare(connection: apsw.Connection, path: Path, scope: Scope) -> None:
    if _meta(connection).get("schema") != SCHEMA:
        _create(connection, scope, path.parent)
    if _meta(connection).get("scope") != str(scope):
        raise IntegrityError(f"{path} does not hold the index of {scope}; {REBUILD}")


def _meta(connection: apsw.Connection) -> dict[str, str]:
    """Return what the database says of itself as it is now: a connection remembers the tables it has seen."""
    if not connection.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'meta'").get:
        return {}
    return dict(connection.execute("SELECT name, value FROM meta"))


def _create(connection: apsw.Connection, scope: Scope, folder: Path) -> None:
    """Drop whatever another version left and make the tables; another process may have been faster."""
    connection.execute("PRAGMA foreign_keys=OFF")
    with transaction(connection):
        if _meta(connection).get("schema") != SCHEMA:
            vector_files.drop(folder)
            _drop_everything(connection)
            for statement in (
                _META,
                _EMBEDDERS,
                *(_PASSAGES.format(table=table) for table in TABLES),
                _VECTORS,
                _LOGS,
                _TURNS,
            ):
                connection.execute(statement)
            for table in TABLES:
                connection.execute(
                    _WORDS.format(table=table, symbols=SOFT_SYMBOLS.replace("'", ""), heading=HEADING_WEIGHT)
                )
            connection.executemany(
                "INSERT INTO meta VALUES (?, ?)",
                [
                    ("schema", SCHEMA),
                    ("scope", str(scope)),
                    ("number", uuid.uuid4().hex),
                    ("generation", "0"),
                    ("embedder", "0"),
                    ("applied", "0"),
                ],
            )
    connection.execute("PRAGMA foreign_keys=ON")


def _drop_everything(connection: apsw.Connection) -> None:
    tables = "SELECT name FROM sqlite_schema WHERE type = 'table'"
    virtual = f"{tables} AND sql LIKE 'CREATE VIRTUAL%' ORDER BY name DESC"
    for (name,) in connection.execute(virtual).fetchall():
        connection.execute(f'DROP TABLE "{name}"')
    plain = f"{tables} AND name NOT LIKE 'sqlite_%'"
    for (name,) in connection.execute(plain).fetchall():
        connection.execute(f'DROP TABLE "{name}"')
