"""Archives as zip files: written to a temporary name, read only after every bound and hash was checked."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from memoranda.domain.archive import FORMAT, MANIFEST, MAX_BYTES, MAX_MEMBERS, MAX_RATIO, safe_name
from memoranda.errors import BackendError, Conflict, IntegrityError, InvalidInput

if TYPE_CHECKING:
    import zipfile

_SMALL = 4_096
"""Bytes below which no ratio is a trap."""


class ZipArchives:
    """Archives on disk, as zip files."""

    def write(self, path: Path, members: Iterable[tuple[str, bytes]], *, replace: bool) -> None:
        """Write an archive; see the port. The manifest gets the hash of every member."""
        if path.exists() and not replace:
            raise Conflict(f"{path} exists; choose another name, or --force")
        temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
        try:
            with os.fdopen(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600), "w+b") as file:
                self._fill(file, members)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        except OSError as error:
            raise BackendError(f"{path} cannot be written: {error.strerror}") from error
        finally:
            with contextlib.suppress(OSError):
                temporary.unlink()

    @staticmethod
    def _fill(file: object, members: Iterable[tuple[str, bytes]]) -> None:
        import zipfile  # noqa: PLC0415 - only archives need it, and every command starts here

        hashes: dict[str, str] = {}
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:  # type: ignore[call-overload]  # a binary file
            for name, data in members:
                if name == MANIFEST:
                    manifest = json.loads(data) | {"members": hashes}
                    archive.writestr(name, json.dumps(manifest, ensure_ascii=False, indent=1, sort_keys=True))
                else:
                    archive.writestr(name, data)
                    hashes[name] = hashlib.sha256(data).hexdigest()

    def read(self, path: Path) -> Mapping[str, bytes]:
        """Return every member of an archive after all of it was checked; see the port."""
        import zipfile  # noqa: PLC0415 - the same

        try:
            with zipfile.ZipFile(path) as archive:
                return _checked(archive)
        except FileNotFoundError:
            raise InvalidInput(f"there is no file {path}") from None
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
            raise InvalidInput(f"{path} is no archive of memoranda, or it is cut off") from error
        except OSError as error:
            raise BackendError(f"{path} cannot be read: {error.strerror}") from error


def _checked(archive: zipfile.ZipFile) -> dict[str, bytes]:
    infos = archive.infolist()
    _bounds(infos)
    names = [info.filename for info in infos]
    if MANIFEST not in names:
        raise InvalidInput("this is no archive of memoranda: it has no manifest.json")
    manifest = _manifest(archive.read(MANIFEST))
    hashes = manifest["members"]
    if set(hashes) != set(names) - {MANIFEST}:
        raise IntegrityError("the archive's members are not those that its manifest names")
    members = {name: archive.read(name) for name in names}
    for name, expected in hashes.items():
        if hashlib.sha256(members[name]).hexdigest() != expected:
            raise IntegrityError(f"the archive's member {name[:80]!r} was changed")
    return members


def _manifest(data: bytes) -> dict[str, dict[str, str]]:
    try:
        manifest = json.loads(data)
        version, members = manifest["format"], manifest["members"]
    except (ValueError, KeyError, TypeError, UnicodeDecodeError) as error:
        raise InvalidInput("the archive's manifest cannot be read") from error
    if version != FORMAT:
        raise InvalidInput(
            f"the archive has format {str(version)[:20]}, this program reads {FORMAT}: update the program"
        )
    if not isinstance(members, dict):
        raise InvalidInput("the archive's manifest names no members")
    return manifest  # type: ignore[no-any-return]  # checked on the lines above


def _bounds(infos: list[zipfile.ZipInfo]) -> None:
    """Check names, counts and sizes by the directory, and ratios, before anything is unpacked."""
    names = [info.filename for info in infos]
    if len(infos) > MAX_MEMBERS or len(set(names)) != len(names):
        raise IntegrityError("the archive has too many members, or two of one name")
    if sum(info.file_size for info in infos) > MAX_BYTES:
        raise IntegrityError("the archive unpacks to more than 2 GiB")
    for info in infos:
        if not safe_name(info.filename) or stat.S_ISLNK(info.external_attr >> 16):
            raise IntegrityError("the archive has a member whose name leads elsewhere")
        if info.file_size > _SMALL and info.file_size > MAX_RATIO * max(info.compress_size, 1):
            raise IntegrityError("the archive has a member that unpacks to far more than it holds")
