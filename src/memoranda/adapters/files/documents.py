"""The Markdown files of all workspaces: where they are, which of them are memory, and how they are read."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from memoranda.adapters.files import atomic
from memoranda.domain.block import CORE
from memoranda.domain.entry import FoundFile
from memoranda.domain.scope import OPERATOR, REALM, Scope
from memoranda.errors import BackendError, InvalidInput

CURATED = ("MEMORY.md", "memory.md")
HAVE_BLOCKS = ("agent", "realm")
"""Kinds of scope whose workspace may hold core blocks."""

FOLDER = "memory"
TRANSCRIPTS = "sessions"
ENDINGS = (".md", ".markdown")
TEMPORARY = ".memoranda-"
_MAIN = Scope("agent", "main")
_PRIVATE_FILE, _PRIVATE_FOLDER = 0o600, 0o700


class FileDocuments:
    """All workspaces below one home; links are never followed, so that no scope can reach into another.

    That holds for the folders of workspaces too. The home itself may be a link: a person put it there.
    """

    def __init__(self, home: Path) -> None:
        self._home = home

    def folder(self, scope: Scope) -> Path:
        """Return the workspace's folder; `main` lives in the root unless `agents/main` exists."""
        if scope == REALM:
            return self._home / "shared"
        if scope == OPERATOR:
            return self._home / "operator"
        if scope.kind == "team":
            return self._home / "teams" / scope.id
        own = self._home / "agents" / scope.id
        return self._home if scope.id == "main" and not (own.is_dir() or own.is_symlink()) else own

    def _link(self, scope: Scope) -> str:
        """Return the part of the workspace's own folder that is a link, "" where none is."""
        folder = self.folder(scope)
        for place in (folder.parent, folder):
            if place != self._home and place.is_relative_to(self._home) and place.is_symlink():
                return place.relative_to(self._home).as_posix()
        return ""

    def _refuse_link(self, scope: Scope) -> None:
        link = self._link(scope)
        if link:
            raise BackendError(f"{link} is a link; links are not followed")

    def workspace(self, scope: Scope) -> str:
        """Return the workspace's absolute folder."""
        return str(self.folder(scope))

    def scopes(self) -> Sequence[Scope]:
        """Return the scopes that have a workspace on disk."""
        found = [_MAIN]
        for kind, folder in (("agent", "agents"), ("team", "teams")):
            with _errors(folder):
                names = sorted(os.listdir(self._home / folder)) if (self._home / folder).is_dir() else []
            for name in names:
                if not (self._home / folder / name).is_dir():
                    continue
                try:
                    found.append(Scope(kind, name))  # type: ignore[arg-type]  # one of the two above
                except InvalidInput:
                    continue
        found.extend(scope for scope in (OPERATOR, REALM) if self.folder(scope).is_dir())
        return [scope for scope in dict.fromkeys(found) if scope == _MAIN or not self._link(scope)]

    def odd_folders(self) -> Sequence[str]:
        """Return folders below agents/ and teams/ whose name is no id: nobody's memory."""
        odd: list[str] = []
        for folder in ("agents", "teams"):
            place = self._home / folder
            for name in sorted(os.listdir(place)) if place.is_dir() and not place.is_symlink() else []:
                try:
                    Scope("agent", name)
                except InvalidInput:
                    odd.append(f"{folder}/{name}")
        return odd

    def walk(self, scope: Scope) -> Iterator[FoundFile]:
        """Yield every memory file of a workspace, and what lies beside them and is not read, by `stat` alone."""
        root = self.folder(scope)
        if self._link(scope):
            curated = CURATED if scope.kind == "agent" else ()  # named, so that what was known there stays known
            yield from (FoundFile(path, 0, 0, "link") for path in (*curated, FOLDER))
            return
        if not root.is_dir():
            return
        seen: set[tuple[int, int]] = set()
        with _errors(str(root)):
            for entry in sorted(os.scandir(root), key=lambda item: item.name):
                is_memory = scope.kind == "agent" and entry.name in CURATED
                if is_memory or (scope.kind in HAVE_BLOCKS and entry.name == CORE):
                    yield from self._file(entry, entry.name, seen)
                elif entry.name.lower().endswith(ENDINGS):
                    yield FoundFile(_printable(entry.name), 0, 0, "not a memory path")
                elif entry.name == FOLDER and entry.is_symlink():
                    yield FoundFile(FOLDER, 0, 0, "link")
        if (root / FOLDER).is_dir() and not (root / FOLDER).is_symlink():
            yield from self._below(root / FOLDER, FOLDER, seen)

    def _below(self, folder: Path, path: str, seen: set[tuple[int, int]]) -> Iterator[FoundFile]:
        try:
            entries = sorted(os.scandir(folder), key=lambda item: item.name)
        except OSError:
            yield FoundFile(path, 0, 0, "unreadable folder")
            return
        for entry in entries:
            place = f"{path}/{entry.name}"
            if entry.name.startswith(TEMPORARY):
                continue
            if entry.name.startswith("."):
                yield FoundFile(_printable(place), 0, 0, "hidden")
            elif entry.is_symlink():
                yield FoundFile(_printable(place), 0, 0, "link")
            elif entry.is_dir(follow_symlinks=False):
                if place == f"{FOLDER}/{TRANSCRIPTS}":
                    yield FoundFile(place, 0, 0, "transcripts")
                else:
                    yield from self._below(Path(entry.path), place, seen)
            elif not entry.name.lower().endswith(ENDINGS):
                yield FoundFile(_printable(place), 0, 0, "not Markdown")
            else:
                yield from self._file(entry, place, seen)

    def _file(self, entry: os.DirEntry[str], path: str, seen: set[tuple[int, int]]) -> Iterator[FoundFile]:
        try:
            status = entry.stat(follow_symlinks=False)
            path.encode()
        except OSError:
            yield FoundFile(_printable(path), 0, 0, "unreadable")
            return
        except UnicodeEncodeError:
            yield FoundFile(_printable(path), 0, 0, "file name is not UTF-8")
            return
        identity = (status.st_dev, status.st_ino)
        if stat.S_ISLNK(status.st_mode):
            yield FoundFile(path, 0, 0, "link")
        elif not stat.S_ISREG(status.st_mode):
            yield FoundFile(path, 0, 0, "not a regular file")
        elif identity in seen:
            yield FoundFile(path, 0, 0, "the same file under another name")
        else:
            seen.add(identity)
            yield _found(path, status)

    def read(self, scope: Scope, path: str) -> tuple[bytes, FoundFile] | None:
        """Return a file's bytes and state; None where it does not exist."""
        self._refuse_link(scope)
        target = self._target(scope, path)
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
        with _errors(path):
            try:
                descriptor = os.open(target, flags)
            except (FileNotFoundError, NotADirectoryError):
                return None
            with os.fdopen(descriptor, "rb") as stream:
                status = os.fstat(stream.fileno())
                if not stat.S_ISREG(status.st_mode):
                    raise BackendError(f"{path} is not a regular file")
                return stream.read(), _found(path, status)

    def check_path(self, scope: Scope, path: str) -> str:
        """Return "" or why this path leads out of the workspace."""
        link = self._link(scope)
        if link:
            return f"{link!r} is a link; links are not followed"
        root = self.folder(scope)
        place = root
        for part in path.split("/"):
            place = place / part
            if place.is_symlink():
                return f"{part!r} is a link; links are not followed"
        real_root = os.path.realpath(root)
        if os.path.commonpath([real_root, os.path.realpath(place)]) != real_root:
            return "it leads out of the workspace"
        if place.exists() and not place.is_file():
            return "it is not a regular file"
        return ""

    def _target(self, scope: Scope, path: str) -> Path:
        return self.folder(scope).joinpath(*path.split("/"))

    def _temporary(self, scope: Scope, path: str, token: str) -> Path:
        return self._target(scope, path).parent / f"{TEMPORARY}{token}"

    def replace(
        self, scope: Scope, path: str, *, expected: bytes | None, data: bytes | None, token: str
    ) -> FoundFile | None:
        """Replace a file atomically and durably; see the port."""
        self._refuse_link(scope)
        target = self._target(scope, path)
        with _errors(path):
            if data is not None:
                self._make_folder(target.parent)
            elif not target.parent.is_dir():
                return None
            mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else _PRIVATE_FILE
            temporary = self._temporary(scope, path, token)
            atomic.replace(target, temporary, expected=expected, data=data, mode=mode)
            if data is None:
                return None
            status = target.stat()
            return _found(path, status)

    def _make_folder(self, folder: Path) -> None:
        if folder.is_dir():
            return
        self._make_folder(folder.parent)
        folder.mkdir(mode=_PRIVATE_FOLDER, exist_ok=True)
        atomic.sync_folder(folder.parent)

    def recover(self, scope: Scope, path: str, token: str) -> bytes | None:
        """Return what an interrupted `replace` left beside the file, or None."""
        self._refuse_link(scope)
        with _errors(path):
            try:
                return atomic.read(self._temporary(scope, path, token))
            except NotADirectoryError:
                return None

    def discard(self, scope: Scope, path: str, token: str) -> None:
        """Remove what an interrupted `replace` left beside the file."""
        self._refuse_link(scope)
        with _errors(path):
            self._temporary(scope, path, token).unlink(missing_ok=True)


def _found(path: str, status: os.stat_result) -> FoundFile:
    stamp = status.st_mtime_ns + status.st_ctime_ns
    changed = max(status.st_mtime_ns, status.st_ctime_ns)
    return FoundFile(path, status.st_size, stamp, changed_ns=changed)


def _printable(path: str) -> str:
    """A name that can be stored and shown, whatever bytes it has."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


@contextmanager
def _errors(what: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise BackendError(f"{_printable(what)}: {error.strerror or type(error).__name__}") from error
