"""Daily logs and transcripts as files of a workspace."""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from memoranda.adapters.files import atomic
from memoranda.adapters.files.locks import locked
from memoranda.domain.episode import ENDING, FOLDER, day_of
from memoranda.domain.scope import Scope
from memoranda.errors import BackendError
from memoranda.ports.log import Appended, LogFile

WAIT_SECONDS = 30.0
_POLL_SECONDS = 0.002
_PRIVATE_FILE, _PRIVATE_FOLDER, _READ_ONLY = 0o600, 0o700, 0o400
_EXPORTS = "memory/sessions"
_EXPORT_NAME = re.compile(r"\d{4}-\d{2}-\d{2}-[\w-]{1,60}(?:\.\d+)?\.md")
_EXPORT_MARK = b"<!-- memoranda:transcript"
_TEMPORARY = re.compile(r"\.memoranda-(\d+)-[0-9a-f]{8}")
_STALE_SECONDS = 60.0
"""A file that is being written is younger than this: it is renamed as soon as it is whole."""

_SESSION_ID = re.compile(r"ses_[0-9a-z]{1,64}")


class FileEpisodeLog:
    """One append-only JSONL file a day in each workspace's `log` folder."""

    def __init__(self, workspace: Callable[[Scope], str], locks: Path) -> None:
        self._workspace, self._locks = workspace, locks

    @contextmanager
    def hold(self, scope: Scope) -> Iterator[None]:
        """Hold the right to append; see the port."""
        what, path = f"the log of {scope}", self._locks / f"{scope.folder}.log.lock"
        busy = f"{what} is being written by another process; try again"
        with locked(path, what, busy=busy, wait=WAIT_SECONDS, poll=_POLL_SECONDS):
            yield

    def append(self, scope: Scope, path: str, line: bytes) -> Appended:
        """Add one line durably; see the port."""
        target = self._target(scope, path)
        with _errors(path):
            is_new = not target.exists()
            if is_new:
                _make_folder(target.parent)
            flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
            descriptor = os.open(target, flags, _PRIVATE_FILE)
            try:
                before = os.fstat(descriptor)
                if not stat.S_ISREG(before.st_mode):
                    raise BackendError(f"{path} is not a regular file")
                end = os.lseek(descriptor, 0, os.SEEK_END)
                if end and _last_byte(descriptor, end) != b"\n":
                    _write(descriptor, b"\n")
                    end += 1
                _write_whole(descriptor, line, end)
                status = os.fstat(descriptor)
            finally:
                os.close(descriptor)
            if is_new:
                atomic.sync_folder(target.parent)
        return Appended(end, _log_file(path, before), _log_file(path, status))

    def files(self, scope: Scope, since: str = "") -> Sequence[LogFile]:
        """Return the log files, oldest day first; only those from the path `since` on."""
        folder = Path(self._workspace(scope)) / FOLDER
        found: list[LogFile] = []
        with _errors(FOLDER):
            if folder.is_dir() and not folder.is_symlink():
                for entry in os.scandir(folder):
                    path = f"{FOLDER}/{entry.name}"
                    if path < since:
                        continue
                    if entry.name.endswith(ENDING) and day_of(path) and entry.is_file(follow_symlinks=False):
                        found.append(_log_file(path, entry.stat(follow_symlinks=False)))
        return sorted(found, key=lambda file: file.path)

    def size(self, scope: Scope, path: str) -> int:
        """Return the bytes of a log file; see the port."""
        with _errors(path):
            try:
                return self._target(scope, path).stat(follow_symlinks=False).st_size
            except (FileNotFoundError, NotADirectoryError):
                return 0

    def read(self, scope: Scope, path: str, start: int = 0, end: int | None = None) -> bytes | None:
        """Return a part of a log file; None where there is no such file."""
        flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        with _errors(path):
            try:
                descriptor = os.open(self._target(scope, path), flags)
            except (FileNotFoundError, NotADirectoryError):
                return None
            with os.fdopen(descriptor, "rb") as stream:
                stream.seek(start)
                return stream.read() if end is None else stream.read(max(end - start, 0))

    def rewrite(self, scope: Scope, path: str, data: bytes | None) -> None:
        """Replace a log file atomically, or remove it with None."""
        with _errors(path):
            _rewrite(self._target(scope, path), data, _PRIVATE_FILE)

    def _target(self, scope: Scope, path: str) -> Path:
        folder = Path(self._workspace(scope)) / FOLDER
        if folder.is_symlink():
            raise BackendError(f"{FOLDER} is a link; links are not followed")
        return folder / path.removeprefix(f"{FOLDER}/")


class FileTranscripts:
    """Copies of transcripts in `memory/sessions`, and checkpoints in `.state/sessions`."""

    def __init__(self, workspace: Callable[[Scope], str], state: Path) -> None:
        self._workspace, self._state = workspace, state / "sessions"

    def export(self, scope: Scope, name: str, data: bytes) -> str:
        """Write a new read-only copy; see the port."""
        folder = self._exports(scope)
        with _errors(_EXPORTS):
            _make_folder(folder)
            for number in range(_highest(folder, name) + 1, 10_000):  # a name that was used is not used again
                target = folder / (f"{name}.md" if number == 1 else f"{name}.{number}.md")
                if target.exists() or target.is_symlink():
                    continue
                temporary = folder / _temporary()
                try:
                    atomic.replace(target, temporary, expected=None, data=data, mode=_READ_ONLY)
                except FileExistsError:
                    continue
                return f"{_EXPORTS}/{target.name}"
        raise BackendError(f"there is no free name for a transcript in {_EXPORTS}")

    def exports(self, scope: Scope) -> Sequence[tuple[str, float]]:
        """Return the copies that this program wrote, oldest first."""
        folder = self._exports(scope)
        found: list[tuple[float, str]] = []
        with _errors(_EXPORTS):
            for entry in os.scandir(folder) if folder.is_dir() and not folder.is_symlink() else ():
                if _EXPORT_NAME.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                    with Path(entry.path).open("rb") as stream:
                        is_ours = stream.read(len(_EXPORT_MARK)) == _EXPORT_MARK
                    if is_ours:
                        found.append((entry.stat(follow_symlinks=False).st_mtime, f"{_EXPORTS}/{entry.name}"))
        return [(path, at) for at, path in sorted(found)]

    def read_export(self, scope: Scope, path: str) -> bytes | None:
        """Return a copy's bytes."""
        with _errors(path):
            return atomic.read(self._exports(scope) / path.rpartition("/")[2])

    def replace_export(self, scope: Scope, path: str, data: bytes | None) -> None:
        """Rewrite a copy atomically, or remove it with None."""
        with _errors(path):
            _rewrite(self._exports(scope) / path.rpartition("/")[2], data, _READ_ONLY)

    def keep(self, scope: Scope, session_id: str, data: bytes, *, last: int) -> None:
        """Store a checkpoint atomically; see the port."""
        folder = self._state / scope.folder
        with _errors("a checkpoint of a transcript"):
            _make_folder(folder)
            numbers = self._numbers(scope, session_id)
            target = folder / f"{_checked(session_id)}.{max(numbers, default=0) + 1}.json"
            _rewrite(target, data, _PRIVATE_FILE)
            for number in numbers[: max(len(numbers) + 1 - last, 0)]:
                (folder / f"{session_id}.{number}.json").unlink(missing_ok=True)

    def kept(self, scope: Scope, session_id: str) -> Sequence[bytes]:
        """Return the checkpoints of a session, newest first."""
        folder = self._state / scope.folder
        with _errors("a checkpoint of a transcript"):
            found = [
                atomic.read(folder / f"{session_id}.{number}.json")
                for number in reversed(self._numbers(scope, session_id))
            ]
        return [data for data in found if data is not None]

    def drop(self, scope: Scope, session_id: str) -> None:
        """Remove the checkpoints of a session."""
        with _errors("a checkpoint of a transcript"):
            for number in self._numbers(scope, session_id):
                (self._state / scope.folder / f"{session_id}.{number}.json").unlink(missing_ok=True)

    def sessions(self, scope: Scope) -> Sequence[str]:
        """Return the ids of sessions that have checkpoints."""
        folder = self._state / scope.folder
        names = os.listdir(folder) if folder.is_dir() else []
        return sorted({name.partition(".")[0] for name in names if name.endswith(".json")})

    def tidy(self, scope: Scope) -> None:
        """Remove what writers that were killed have left half written; see the port."""
        folders = (self._state / scope.folder, self._exports(scope), Path(self._workspace(scope)) / FOLDER)
        with _errors("what a killed writer left"):
            for folder in folders:
                for name in os.listdir(folder) if folder.is_dir() else ():
                    found = _TEMPORARY.fullmatch(name)
                    if found and int(found[1]) != os.getpid() and _age(folder / name) > _STALE_SECONDS:
                        (folder / name).unlink(missing_ok=True)

    def _numbers(self, scope: Scope, session_id: str) -> list[int]:
        folder = self._state / scope.folder
        pieces = (name.split(".") for name in (os.listdir(folder) if folder.is_dir() else []))
        return sorted(
            int(parts[1])
            for parts in pieces
            if len(parts) == 3 and parts[0] == session_id and parts[1].isdecimal() and parts[2] == "json"  # noqa: PLR2004
        )

    def _exports(self, scope: Scope) -> Path:
        folder = Path(self._workspace(scope)) / "memory"
        if folder.is_symlink() or (folder / "sessions").is_symlink():
            raise BackendError(f"{_EXPORTS} is a link; links are not followed")
        return folder / "sessions"


def _temporary() -> str:
    return f".memoranda-{os.getpid()}-{os.urandom(4).hex()}"


def _age(path: Path) -> float:
    try:
        return time.time() - path.stat(follow_symlinks=False).st_mtime
    except FileNotFoundError:
        return 0.0


def _highest(folder: Path, name: str) -> int:
    """Return the highest number of a copy of this name, 0 where there is none."""
    form = re.compile(rf"{re.escape(name)}(?:\.(\d+))?\.md")
    found = (form.fullmatch(entry) for entry in os.listdir(folder))
    return max((int(match[1] or 1) for match in found if match), default=0)


def _log_file(path: str, status: os.stat_result) -> LogFile:
    return LogFile(path, status.st_size, status.st_ino, status.st_mtime_ns + status.st_ctime_ns)


def _checked(session_id: str) -> str:
    if not _SESSION_ID.fullmatch(session_id):
        raise BackendError("a session's id has another form than ses_…")
    return session_id


def _last_byte(descriptor: int, end: int) -> bytes:
    os.lseek(descriptor, end - 1, os.SEEK_SET)
    return os.read(descriptor, 1)


def _write(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _write_whole(descriptor: int, line: bytes, end: int) -> None:
    """Add a line durably; where that fails, as on a full disk, nothing of it stays."""
    try:
        _write(descriptor, line)
        os.fsync(descriptor)
    except OSError:
        with suppress(OSError):
            os.ftruncate(descriptor, end)
        raise


def _rewrite(target: Path, data: bytes | None, mode: int) -> None:
    """Replace a file that only this program writes, durably and whole."""
    if data is None:
        target.unlink(missing_ok=True)
        with suppress(FileNotFoundError):
            atomic.sync_folder(target.parent)
        return
    temporary = target.with_name(_temporary())
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)
    try:
        try:
            _write(descriptor, data)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
    atomic.sync_folder(target.parent)


def _make_folder(folder: Path) -> None:
    if not folder.is_dir():
        _make_folder(folder.parent)
        folder.mkdir(mode=_PRIVATE_FOLDER, exist_ok=True)
        atomic.sync_folder(folder.parent)


@contextmanager
def _errors(what: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise BackendError(f"{what}: {error.strerror or type(error).__name__}") from error
