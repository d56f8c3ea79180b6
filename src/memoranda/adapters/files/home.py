"""The home folder: its places, their permissions, and its secret."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from memoranda.adapters.files import atomic
from memoranda.domain.fingerprint import KEY_BYTES, key_name
from memoranda.errors import BackendError, Busy, IntegrityError

STATE = ".state"
LEDGER = "ledger.db"
_MAKING_SECONDS = 60.0


def open_state(home: Path) -> Path:
    """Create the home and its `.state` folder (0700) where absent, and return the latter.

    Raises:
        BackendError: the folder cannot be made or is not a folder.
    """
    state = home / STATE
    try:
        for folder in (home, state, state / "locks", state / "index"):
            if not folder.is_dir():
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise BackendError(f"the home {home} cannot be made or written: {error.strerror}") from error
    return state


def read_key(state: Path) -> bytes | None:
    """Return the home's secret; None where the home is not made yet.

    The key is stored after the ledger was made, so that a key without a ledger says that the ledger was lost.

    Raises:
        IntegrityError: the key has the wrong length, or its ledger is gone. A new ledger would be attributed to
            nobody, so none is begun.
    """
    path = state / "key"
    try:
        key = atomic.read(path)
        ledger = state / LEDGER
        lost = key is not None and not (ledger.exists() and ledger.stat().st_size)
    except OSError as error:
        raise BackendError(f"{path}: {error.strerror}") from error
    if key is None:
        return None
    if len(key) != KEY_BYTES:
        raise IntegrityError(f"{path} is damaged: it has {len(key)} bytes and not {KEY_BYTES}")
    if lost:
        raise IntegrityError(
            f"{LEDGER} is missing beside its key in {state}; put it back from a backup, or delete {STATE} to begin "
            "anew (history, authors and trust are lost then)"
        )
    return key


@contextmanager
def making(state: Path) -> Iterator[None]:
    """Let one process at a time make what a new home needs.

    Raises:
        Busy: another process has been at it for a minute.
        BackendError: the lock cannot be taken.
    """
    lock = FileLock(state / "locks" / "making.lock", timeout=_MAKING_SECONDS, poll_interval=0.003, mode=0o600)
    try:
        lock.acquire()
    except Timeout as error:
        raise Busy("the home is being made by another process; try again") from error
    except OSError as error:
        raise BackendError(f"the lock of the home cannot be taken: {error.strerror}") from error
    try:
        yield
    finally:
        lock.release()


def store_key(state: Path, key: bytes) -> None:
    """Store a new home's secret durably, whole or not at all; the caller is `making` it.

    Raises:
        BackendError: it cannot be written.
    """
    path = state / "key"
    try:
        temporary = path.with_name(f"key-{os.getpid()}-{os.urandom(4).hex()}")
        atomic.replace(path, temporary, expected=None, data=key, mode=0o600)
    except OSError as error:
        raise BackendError(f"{path}: {error.strerror}") from error


def foreign_keys(state: Path) -> Callable[[], Sequence[bytes]]:
    """Return a look at the tombstone keys that came with archives of other homes, `.state/keys/<name>`.

    Each call looks again where the folder has changed: another process may have imported. A damaged key raises
    IntegrityError, for its tombstones would not bind.
    """
    folder = state / "keys"
    seen: tuple[int, Sequence[bytes]] = (-1, ())

    def keys() -> Sequence[bytes]:
        nonlocal seen
        try:
            stamp = folder.stat().st_mtime_ns
        except FileNotFoundError:
            return ()
        if stamp != seen[0]:
            found = tuple(path.read_bytes() for path in sorted(folder.iterdir()) if "-" not in path.name)
            if any(len(key) != KEY_BYTES for key in found):
                raise IntegrityError(f"a tombstone key in {folder} is damaged; put it back from its archive")
            seen = (stamp, found)
        return seen[1]

    return keys


class StoredKeys:
    """The tombstone keys of other homes, in `.state/keys`."""

    def __init__(self, state: Path) -> None:
        self._folder = state / "keys"
        self._look = foreign_keys(state)

    def known(self) -> Mapping[str, bytes]:
        """Return name -> key."""
        return {key_name(key): key for key in self._look()}

    def store(self, name: str, key: bytes) -> None:
        """Keep the tombstone key of another home under its name, durably.

        Raises:
            BackendError: it cannot be written.
        """
        path = self._folder / name
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            if not path.exists():
                temporary = self._folder / f"{name}-{os.getpid()}-{os.urandom(4).hex()}"
                atomic.replace(path, temporary, expected=None, data=key, mode=0o600)
        except OSError as error:
            raise BackendError(f"{path}: {error.strerror}") from error
