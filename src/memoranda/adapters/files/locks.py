"""One writer per scope, across threads and processes, by lock files that outlive nobody."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from memoranda.domain.scope import Scope
from memoranda.errors import BackendError, Busy

WAIT_SECONDS = 120.0
_POLL_SECONDS = 0.003
"""How often a waiting writer looks: a write takes some ten milliseconds, so a longer sleep would be most of it."""


@contextmanager
def locked(path: Path, what: str, *, busy: str, wait: float, poll: float = _POLL_SECONDS) -> Iterator[None]:
    """Hold a lock file; `what` names what it locks, `busy` says why it is not free in time. Times are seconds."""
    lock = FileLock(path, timeout=wait, poll_interval=poll, mode=0o600)
    try:
        lock.acquire()
    except Timeout as error:
        raise Busy(busy) from error
    except OSError as error:
        raise BackendError(f"the lock of {what} cannot be taken: {error.strerror}") from error
    try:
        yield
    finally:
        lock.release()


class FileLocks:
    """Locks as files in one folder; the operating system frees them when a process dies."""

    def __init__(self, folder: Path, *, wait: float = WAIT_SECONDS) -> None:
        self._folder, self._wait = folder, wait
        self._held = threading.local()

    @contextmanager
    def hold(self, scope: Scope) -> Iterator[None]:
        """Hold the scope's lock; a thread may take again what it holds."""
        held: set[str] = self._held.__dict__.setdefault("scopes", set())
        name = scope.folder
        if name in held:
            yield
            return
        busy = f"{scope} is being written by another process; try again"
        with locked(self._folder / f"{name}.lock", str(scope), busy=busy, wait=self._wait):
            held.add(name)
            try:
                yield
            finally:
                held.discard(name)

    @contextmanager
    def alone(self, work: str) -> Iterator[None]:
        """Be the only one at a piece of work, across threads and processes."""
        with locked(self._folder / f"{work}.lock", work, busy=f"{work} is under way already", wait=0):
            yield
