"""Looks for text in the raw bytes of a home, sharing nothing with the code that writes them.

Every file is read byte by byte, free pages and logs included; packed streams are unpacked wherever they begin; and
every value of every SQLite file is looked at with the interpreter's own SQLite. Standard library only.
"""

from __future__ import annotations

import json
import os
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path

from memoranda.domain.erasure import Sweep

_BLOCK = 1 << 20
_MIN_LINE = 8
_STREAM = re.compile(rb"\x78[\x01\x5e\x9c\xda]|\x1f\x8b\x08")
"""How a zlib stream (RFC 1950, at the usual window size) or a gzip stream (RFC 1952) begins."""
_EITHER = 47
"""`wbits` for a zlib or gzip header, told apart by zlib itself."""

_UNPACKED = 1 << 20
_SQLITE = b"SQLite format 3\x00"


class RawSweep:
    """Sweeps one home folder."""

    def __init__(self, home: Path) -> None:
        self._home = home

    def sweep(self, pieces: Sequence[str]) -> Sweep:
        """Look for pieces, and for each of their lines of 8 characters or more, in every file below the home."""
        needles = _needles(pieces)
        longest = max(map(len, needles), default=0)
        files = total = 0
        residue: list[str] = []
        for path in _files(self._home):
            name = path.relative_to(self._home).as_posix()
            try:
                size, found = _in_file(path, needles, longest)
            except OSError:
                residue.append(f"{name}: could not be read")
                continue
            files += 1
            total += size
            if found:
                residue.append(f"{name}: raw bytes")
            elif _is_database(path) and _in_values(path, needles):
                residue.append(f"{name}: a stored value")
            elif _in_members(path, needles):
                residue.append(f"{name}: inside the archive")
        return Sweep(files=files, bytes=total, residue=tuple(residue))


def _files(home: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(home):
        folders.sort()
        for name in sorted(names):
            path = Path(folder) / name
            if path.is_file() and not path.is_symlink():
                yield path


def _needles(pieces: Sequence[str]) -> list[bytes]:
    """A text in each form in which it may stand in a file."""
    texts = {text for piece in pieces for text in (piece, *piece.splitlines()) if len(text.strip()) >= _MIN_LINE}
    forms: set[bytes] = set()
    for text in (item.strip() for item in texts):
        for written in _quoted(text, 3):
            for coding in ("utf-8", "utf-16-le", "utf-16-be"):
                forms.add(written.encode(coding, "surrogatepass"))
    return sorted(forms)


def _quoted(text: str, depth: int) -> set[str]:
    """A text as it is and as JSON has it, JSON within JSON too."""
    forms = {text}
    for _ in range(depth):
        forms |= {json.dumps(form, ensure_ascii=plain)[1:-1] for form in forms for plain in (True, False)}
    return forms


def _in_file(path: Path, needles: Sequence[bytes], longest: int) -> tuple[int, bool]:
    """Return a file's size and whether a needle is in it; neighbouring blocks overlap by the longest needle."""
    size, tail, found = 0, b"", False
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            size += len(block)
            seen = tail + block
            found = found or _holds(seen, needles) or _in_streams(seen, needles)
            tail = seen[-max(longest, 4_096) :]
    return size, found


def _holds(data: bytes, needles: Sequence[bytes]) -> bool:
    return any(needle in data for needle in needles)


def _in_streams(data: bytes, needles: Sequence[bytes]) -> bool:
    """Unpack from every place where a packed stream may begin, as far as it goes."""
    for match in _STREAM.finditer(data):
        with suppress(zlib.error):
            if _holds(zlib.decompressobj(_EITHER).decompress(data[match.start() :], _UNPACKED), needles):
                return True
    return False


def _is_database(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_SQLITE)) == _SQLITE


def _in_values(path: Path, needles: Sequence[bytes]) -> bool:
    """Look at every value of every table, packed ones unpacked; a damaged database has had its bytes looked at."""
    import sqlite3  # noqa: PLC0415 - only a sweep needs the interpreter's own

    with suppress(sqlite3.Error), closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
        database.text_factory = bytes
        names = database.execute("SELECT name FROM sqlite_master WHERE type='table'").fetchall()
        for (name,) in names:
            quoted = name.decode().replace('"', '""')
            with suppress(sqlite3.Error):
                for row in database.execute(f'SELECT * FROM "{quoted}"'):  # noqa: S608 - a name of the schema, quoted
                    if any(_in_value(value, needles) for value in row):
                        return True
    return False


def _in_members(path: Path, needles: Sequence[bytes]) -> bool:
    """Look into the members of a zip archive: their streams have no header that could be found."""
    import zipfile  # noqa: PLC0415 - only a sweep needs it here

    if not zipfile.is_zipfile(path):
        return False
    with suppress(zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError), zipfile.ZipFile(path) as archive:
        return any(_holds(archive.read(name), needles) for name in archive.namelist())
    return False


def _in_value(value: object, needles: Sequence[bytes]) -> bool:
    if not isinstance(value, bytes):
        return False
    if _holds(value, needles):
        return True
    with suppress(zlib.error):
        return _holds(zlib.decompress(value), needles)
    return False
