"""Opens SQLite databases the one way this project uses them, and turns their errors into ours."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import apsw

from memoranda.domain.given import NOT_UNICODE
from memoranda.errors import BackendError, Busy, IntegrityError, InvalidInput

_RETRY_SECONDS = 0.01
BUSY_MILLISECONDS = 30_000
"""How long a writer waits for another process; `BEGIN IMMEDIATE` makes waiting possible at all."""


def connect(path: Path, *, durable: bool) -> apsw.Connection:
    """Open a WAL database, created 0600 where absent.

    `durable` sets `synchronous=FULL` (truth); otherwise NORMAL (derived data that can be rebuilt).

    Raises:
        BackendError: the file cannot be opened.
        IntegrityError: it is not a database.
    """
    with foreign_errors(path):
        if not path.exists():
            path.touch(mode=0o600)
        connection = apsw.Connection(str(path))
        connection.set_busy_timeout(BUSY_MILLISECONDS)
        _use_wal(connection)
        connection.execute(f"PRAGMA synchronous={'FULL' if durable else 'NORMAL'}")
        connection.execute("PRAGMA foreign_keys=ON")
        connection.execute("PRAGMA secure_delete=ON")
        if not durable:
            connection.execute("PRAGMA mmap_size=268435456")
    return connection


def _use_wal(connection: apsw.Connection) -> None:
    """Switch to WAL; while two processes make one database, SQLite answers "busy" here without waiting itself."""
    limit = time.monotonic() + BUSY_MILLISECONDS / 1000
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except apsw.BusyError:
            if time.monotonic() >= limit:
                raise
            time.sleep(_RETRY_SECONDS)
        else:
            return


def rows_of(connection: apsw.Connection, query: str, arguments: Sequence[Any] = ()) -> list[Any]:
    """Return all rows of a query as tuples whose types the schema (STRICT tables) guarantees."""
    return list(connection.execute(query, arguments).fetchall())


@contextlib.contextmanager
def foreign_errors(path: Path | str) -> Iterator[None]:
    """Turn apsw's errors into the library's; the message names the file, never a value."""
    try:
        yield
    except UnicodeEncodeError as error:
        raise InvalidInput(f"{NOT_UNICODE}; nothing was changed") from error
    except apsw.BusyError as error:
        raise Busy(f"{path} is held by another process; try again") from error
    except (apsw.CorruptError, apsw.NotADBError) as error:
        raise IntegrityError(f"{path} is damaged: {type(error).__name__}; run `memoranda verify`") from error
    except (apsw.CantOpenError, apsw.ReadOnlyError, OSError) as error:
        raise BackendError(_cannot_write(Path(path)) or f"{path}: {type(error).__name__}: {error}") from error
    except apsw.Error as error:
        raise BackendError(f"{path}: {type(error).__name__}: {error}") from error


def _cannot_write(path: Path) -> str:
    """Say that a database or its folder cannot be written, "" where that is not why it failed: readers write, too."""
    for place in (path.parent, path):
        if place.exists() and not os.access(place, os.W_OK):
            return f"{place} cannot be written; reading memory needs that, too: check its permissions, or use a copy"
    return ""


@contextlib.contextmanager
def transaction(connection: apsw.Connection) -> Iterator[apsw.Connection]:
    """Run a write transaction; it begins IMMEDIATE, because a deferred read-then-write fails under contention."""
    with foreign_errors(connection.db_filename("main")):
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield connection
        except BaseException:
            if not connection.get_autocommit():
                connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")
