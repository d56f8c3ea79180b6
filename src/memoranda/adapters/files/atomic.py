"""Replaces one file durably, whole or not at all, without losing an edit that lands in the same instant.

On Linux the swap is an exchange (`renameat2`), so that what was displaced can be looked at and put back. Elsewhere
the file is read again right before the swap; the instant that remains is documented in `docs/architecture.md`.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from contextlib import suppress
from pathlib import Path

from memoranda.adapters.files.writers import closed_by_all
from memoranda.domain.aside import aside_names
from memoranda.errors import Conflict

_NOREPLACE, _EXCHANGE = 1, 2
_AT_FDCWD = -100
_MISSING = (38, 22, 95)
"""ENOSYS, EINVAL, ENOTSUP: this kernel or file system cannot do it."""
_NOT_ALLOWED = (errno.EPERM, errno.EACCES, errno.EINVAL, errno.ENOTSUP)
"""The owner or the attributes cannot be kept here; the content matters more."""


def replace(target: Path, temporary: Path, *, expected: bytes | None, data: bytes | None, mode: int) -> None:
    """Make `target` hold `data` if it holds `expected`; None stands for "does not exist".

    `temporary` lies in the same folder and its name is known beforehand, so that an interrupted swap can be found.
    The file's and the folder's content are synced to disk before this returns.

    Raises:
        Conflict: `target` holds something else; it is left, or put back, as it was found.
        OSError: the file system failed.
    """
    if read(target) != expected:
        raise Conflict(f"{target.name} was changed in between")
    if data is None:
        if expected is not None:
            _remove(target, temporary, expected)
    else:
        try:
            _write(temporary, data, mode)
            if expected is None:
                _create(target, temporary)
            else:
                _dress(temporary, target)
                _swap(target, temporary, expected, data)
        finally:
            temporary.unlink(missing_ok=True)
    sync_folder(target.parent)


def read(path: Path) -> bytes | None:
    """Return a file's bytes; None where it does not exist."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def sync_folder(folder: Path) -> None:
    """Make a rename in a folder durable; Windows has no way to ask for it."""
    if sys.platform == "win32":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write(path: Path, data: bytes, mode: int) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
    descriptor = os.open(path, flags, mode)
    with os.fdopen(descriptor, "wb") as stream:
        if hasattr(os, "fchmod"):
            os.fchmod(stream.fileno(), mode)
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())


def _dress(temporary: Path, source: Path) -> None:
    """Give a new file what a person's file had beside its content and mode: owner, group, attributes."""
    with suppress(FileNotFoundError):  # it was removed in between, which the swap will say
        owned, noted = _copy_owner(temporary, source), _copy_attributes(temporary, source)
        if owned or noted:
            descriptor = os.open(temporary, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


def _copy_owner(temporary: Path, source: Path) -> bool:
    """Keep owner and group; only root may give files away, the group alone can be given by others too."""
    if not hasattr(os, "chown"):
        return False
    status, own = source.stat(), temporary.stat()
    if (status.st_uid, status.st_gid) == (own.st_uid, own.st_gid):
        return False
    for owner in (status.st_uid, -1):
        try:
            os.chown(temporary, owner, status.st_gid, follow_symlinks=False)
        except OSError as error:
            if error.errno not in _NOT_ALLOWED:
                raise
        else:
            return True
    return False


def _copy_attributes(temporary: Path, source: Path) -> bool:
    """Keep the attributes that people and desktops give a file; those of the system are the system's."""
    if not sys.platform.startswith("linux"):
        return False
    copied = False
    try:
        for name in os.listxattr(source):
            if name.startswith("user."):
                os.setxattr(temporary, name, os.getxattr(source, name))
                copied = True
    except OSError as error:
        if error.errno not in _NOT_ALLOWED:
            raise
    return copied


def _create(target: Path, temporary: Path) -> None:
    if _rename(temporary, target, _NOREPLACE):
        return
    if target.exists():
        raise Conflict(f"{target.name} was created in between")
    os.replace(temporary, target)


def _swap(target: Path, temporary: Path, expected: bytes, data: bytes) -> None:
    if not _rename(temporary, target, _EXCHANGE):
        if read(target) != expected:
            raise Conflict(f"{target.name} was changed in between")
        os.replace(temporary, target)
        return
    displaced = None
    try:
        displaced = read(temporary) if closed_by_all(temporary) else None
    finally:
        if displaced != expected:
            _swap_back(target, temporary, data)
    if displaced != expected:
        raise Conflict(f"{target.name} was changed in between")


def _swap_back(target: Path, temporary: Path, data: bytes) -> None:
    try:
        _rename(temporary, target, _EXCHANGE)
    finally:
        if read(temporary) not in (data, None):
            _set_aside(target, temporary)


def _remove(target: Path, temporary: Path, expected: bytes) -> None:
    try:
        os.replace(target, temporary)
    except FileNotFoundError as error:
        raise Conflict(f"{target.name} was removed in between") from error
    displaced = None
    try:
        displaced = read(temporary) if closed_by_all(temporary) else None
    finally:
        if displaced != expected:
            _put_back(target, temporary)
    if displaced != expected:
        raise Conflict(f"{target.name} was changed in between")
    temporary.unlink(missing_ok=True)


def _put_back(target: Path, temporary: Path) -> None:
    try:
        if not _rename(temporary, target, _NOREPLACE) and not target.exists():
            os.replace(temporary, target)
    finally:
        if temporary.exists():
            _set_aside(target, temporary)


def _set_aside(target: Path, temporary: Path) -> None:
    """Keep an edit whose place is taken as a file of its own."""
    places = map(target.with_name, aside_names(target.name))
    os.replace(temporary, next(place for place in places if not place.exists()))


def _rename(source: Path, target: Path, flags: int) -> bool:
    """Rename with flags; False where the platform cannot.

    Raises:
        Conflict: the target exists though it must not.
        OSError: anything else.
    """
    if not sys.platform.startswith("linux"):
        return False
    function = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if function is None:
        return False
    if function(_AT_FDCWD, os.fsencode(source), _AT_FDCWD, os.fsencode(target), flags) == 0:
        return True
    number = ctypes.get_errno()
    if number in _MISSING:
        return False
    if flags == _NOREPLACE and number == 17:  # noqa: PLR2004 - EEXIST
        raise Conflict(f"{target.name} was created in between")
    if flags == _EXCHANGE and number == 2:  # noqa: PLR2004 - ENOENT
        raise Conflict(f"{target.name} was removed in between")
    raise OSError(number, os.strerror(number), str(target))
