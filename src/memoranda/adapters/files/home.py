"""The home folder: its places, their permissions, and its secret."""

from __future__ import annotations

import os
from pathlib import Path

from memoranda.adapters.files import atomic
from memoranda.domain.fingerprint import KEY_BYTES
from memoranda.errors import BackendError, IntegrityError

STATE = ".state"


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
        raise BackendError(f"the home {home} cannot be used: {error.strerror}") from error
    return state


def open_key(state: Path) -> bytes:
    """Return the home's secret, made on first use.

    Raises:
        IntegrityError: the key is missing beside an existing ledger, or has the wrong length. A new key would make
            every hash of the old one worthless, so none is made.
    """
    path = state / "key"
    try:
        key = atomic.read(path)
        if key is None:
            if (state / "ledger.db").exists():
                raise IntegrityError(
                    f"{path} is missing; put it back from a backup: the ledger cannot be proven without it"
                )
            key = _make_key(path)
    except OSError as error:
        raise BackendError(f"{path}: {error.strerror}") from error
    if len(key) != KEY_BYTES:
        raise IntegrityError(f"{path} is damaged: it has {len(key)} bytes and not {KEY_BYTES}")
    return key


def _make_key(path: Path) -> bytes:
    """Write a new key once; of two processes that try, both get the one that came first."""
    temporary = path.with_name(f"key-{os.getpid()}-{os.urandom(4).hex()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(os.urandom(KEY_BYTES))
        stream.flush()
        os.fsync(stream.fileno())
    try:
        os.link(temporary, path)
    except FileExistsError:
        pass
    finally:
        temporary.unlink()
    atomic.sync_folder(path.parent)
    return path.read_bytes()
