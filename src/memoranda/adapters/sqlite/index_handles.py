"""Open index databases, one per scope: opened on demand, least recently used closed, gone folders noticed."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import threading
import uuid
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import apsw

from memoranda.adapters.sqlite import vector_files
from memoranda.adapters.sqlite.connection import foreign_errors, rows_of, transaction
from memoranda.adapters.sqlite.index_schema import REBUILD, index_errors, open_index
from memoranda.domain.scope import Scope
from memoranda.errors import BackendError, IntegrityError, InvalidInput
from memoranda.ports.arm import Arms

if TYPE_CHECKING:
    from memoranda.adapters.sqlite.turns import Places
    from memoranda.adapters.sqlite.vector_cache import VectorCache
    from memoranda.domain.turn_table import TurnTable

DATABASE = "index.db"
_GONE = "SELECT embedder, key FROM vectors_gone"


class Handle:
    """One open index with what is remembered about it; used by one thread at a time, under `lock`.

    A lock per scope and not a connection per thread: an agent's queries take a few milliseconds and SQLite
    writes one at a time anyway, while connections per thread multiply open files and outlive their threads.
    """

    def __init__(self, path: Path, scope: Scope, large: int, arms: Arms) -> None:
        self.path, self.scope, self._large, self._arms = path, scope, large, arms
        self.text_arm = arms.text(path.parent) if arms.text is not None else None
        self.lock = threading.RLock()
        self.connection = open_index(path, scope)
        self.closed = False
        self._vectors: VectorCache | None = None
        self.turns: tuple[int, TurnTable | None] = (-1, None)
        self.places: tuple[object, Places | None] = (None, None)
        self.sizes: tuple[int, tuple[int, int, int]] = (-1, (0, 0, 0))
        self._identity = _file_identity(path)

    @property
    def vectors(self) -> VectorCache:
        """The scope's vectors in memory; empty until they are first asked for."""
        if self._vectors is None:
            from memoranda.adapters.sqlite.vector_cache import VectorCache  # noqa: PLC0415 - loads numpy

            folder = self.path.parent
            arm = self._arms.vectors(folder) if self._arms.vectors is not None else None
            self._vectors = VectorCache(folder, self.is_current, large=self._large, arm=arm)
        return self._vectors

    def remark(self) -> str:
        """Return why another arm than the built-in one does not answer, as far as it was asked."""
        of_words = self.text_arm.problem if self.text_arm is not None else ""
        return of_words or (self._vectors.remark() if self._vectors is not None else "")

    def is_current(self) -> bool:
        """Tell whether the file that is open is still at its path; another process may have removed it."""
        return not self.closed and self._identity is not None and _file_identity(self.path) == self._identity

    def close(self) -> None:
        """Close the connection; the last one of a database also folds its log into it."""
        self.closed = True
        if self._vectors is not None:
            self._vectors.close()
        with foreign_errors(self.path):
            self.connection.close()

    def generation(self) -> int:
        """Return the number of the last change."""
        return int(self.connection.execute("SELECT value FROM meta WHERE name = 'generation'").get)

    @contextlib.contextmanager
    def reading(self) -> Iterator[apsw.Connection]:
        """Read from one state of the database, with errors of the library."""
        with self._errors():
            self.connection.execute("BEGIN")
            try:
                yield self.connection
            finally:
                if self.connection.in_transaction:  # damage ends a transaction by itself
                    self.connection.execute("COMMIT")

    @contextlib.contextmanager
    def writing(self) -> Iterator[apsw.Connection]:
        """Change the database in one transaction, with errors of the library.

        Vectors that went in it are overwritten in the files beside the database, if there are any. One that cannot be
        written is tried again after the next change; nothing finds those vectors meanwhile.
        """
        with self._errors():
            with transaction(self.connection) as connection:
                yield connection
                gone = rows_of(connection, _GONE)
                if gone and not vector_files.files(self.path.parent):
                    connection.execute("DELETE FROM vectors_gone")
                    gone = []
            if self.text_arm is not None:
                self.text_arm.keep(self._alive)
            if gone:
                self._wipe([(int(embedder), int(key)) for embedder, key in gone])

    def _alive(self, keys: Sequence[int]) -> int:
        """Count those of some keys that are notes here."""
        query = "SELECT count(*) FROM current WHERE origin = 'note' AND key IN (SELECT value FROM json_each(?))"
        return int(self.connection.execute(query, (json.dumps(list(keys)),)).get)

    def _wipe(self, gone: Sequence[tuple[int, int]]) -> None:
        from memoranda.adapters.sqlite import vector_sidecar  # noqa: PLC0415 - loads numpy

        answering: set[object] = {number for (number,) in self.connection.execute("SELECT id FROM embedders")}
        vector_files.drop_others(self.path.parent, answering)
        with contextlib.suppress(OSError):
            vector_sidecar.wipe(self.path.parent, gone)
            with transaction(self.connection) as connection:
                connection.executemany("DELETE FROM vectors_gone WHERE embedder = ? AND key = ?", gone)

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            with index_errors(self.path):
                yield
        except (UnicodeDecodeError, json.JSONDecodeError) as error:
            raise IntegrityError(f"{self.path} is damaged: unreadable row; {REBUILD}") from error


class HandlePool:
    """The open indexes under one root folder, at most `limit` at a time; safe to use from many threads."""

    def __init__(self, root: Path, limit: int, large: int, arms: Arms) -> None:
        if limit < 1:
            raise InvalidInput(f"at least one index must be open at a time, not {limit}")
        self._root, self._limit, self._large, self._arms = root, limit, large, arms
        self._lock = threading.Lock()
        self._open: OrderedDict[Scope, Handle] = OrderedDict()

    def path(self, scope: Scope) -> Path:
        """Return where the database of a scope is or would be."""
        return self._root / scope.folder / DATABASE

    @contextlib.contextmanager
    def using(self, scope: Scope, *, create: bool = False) -> Iterator[Handle | None]:
        """Yield the scope's handle, held by this thread; None where no index is and none is to be made."""
        while True:
            handle = self._take(scope, create=create)
            if handle is None:
                yield None
                return
            with handle.lock:
                if handle.closed:
                    continue
                yield handle
                return

    def remove(self, scope: Scope) -> None:
        """Delete the folder of a scope; renamed first, so that nobody opens half of it."""
        with self._lock:
            handle = self._open.pop(scope, None)
        if handle is not None:
            with handle.lock:
                handle.close()
        folder = self._root / scope.folder
        doomed = self._root / f".removed-{uuid.uuid4().hex}"
        try:
            folder.rename(doomed)
        except FileNotFoundError:
            return
        except OSError as error:
            raise BackendError(f"{folder} cannot be removed: {error.strerror}") from error
        shutil.rmtree(doomed, ignore_errors=True)

    def close(self) -> None:
        """Close everything; a later use opens again."""
        with self._lock:
            handles, self._open = list(self._open.values()), OrderedDict()
        for handle in handles:
            with handle.lock:
                handle.close()

    def scopes(self) -> list[Scope]:
        """Return the scopes that have a database, in order."""
        found = []
        for folder in self._root.glob(f"*/{DATABASE}"):
            kind, mark, ident = folder.parent.name.partition("+")
            if mark:
                with contextlib.suppress(InvalidInput):
                    found.append(Scope.parse(f"{kind}:{ident}" if ident else kind))
        return sorted(found)

    def _take(self, scope: Scope, *, create: bool) -> Handle | None:
        with self._lock:
            handle = self._open.get(scope)
            if handle is not None and not handle.is_current():
                self._open.pop(scope)
                _close_if_idle(handle)
                handle = None
            if handle is None:
                path = self.path(scope)
                if not path.exists():
                    if not create:
                        return None
                    _make_folder(path.parent)
                handle = Handle(path, scope, self._large, self._arms)
                self._open[scope] = handle
            self._open.move_to_end(scope)
            self._evict()
            return handle

    def _evict(self) -> None:
        for scope in list(self._open)[:-1]:
            if len(self._open) <= self._limit:
                return
            if _close_if_idle(self._open[scope]):
                del self._open[scope]


def _close_if_idle(handle: Handle) -> bool:
    """Close a handle that no thread is using; one in use is closed when the last reference to it goes."""
    if not handle.lock.acquire(blocking=False):
        return False
    try:
        handle.close()
    finally:
        handle.lock.release()
    return True


def _file_identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _make_folder(folder: Path) -> None:
    try:
        folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        os.chmod(folder, 0o700)  # noqa: PTH101 - the mode of mkdir is cut by the umask
    except OSError as error:
        raise BackendError(f"{folder} cannot be made: {error.strerror}") from error
