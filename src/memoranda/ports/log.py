"""The port of the daily log: append-only files of what happened, and the transcripts made of them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from memoranda.domain.scope import Scope


@dataclass(frozen=True, slots=True)
class LogMark:
    """How far a log file was read: its size, which file it was, and the hash of all lines that were read, chained.

    `stamp` is the sum of its times of modification and change in nanoseconds; `lines` counts all lines up to there.
    """

    size: int
    inode: int
    stamp: int
    tail: str
    lines: int


@dataclass(frozen=True, slots=True)
class LogFile:
    """A log file as `stat` shows it."""

    path: str
    size: int
    inode: int
    stamp: int


@dataclass(frozen=True, slots=True)
class Appended:
    """A line that was added: where it begins, and the file before and after that."""

    offset: int
    before: LogFile
    after: LogFile


class EpisodeLog(Protocol):
    """The daily logs of all workspaces. Every failure raises BackendError."""

    def hold(self, scope: Scope) -> AbstractContextManager[None]:
        """Hold the right to append to the logs of a scope; raises Busy where it is not free in time."""

    def append(self, scope: Scope, path: str, line: bytes) -> Appended:
        """Add one line durably, once a torn line before it is ended; the caller holds the scope's logs."""

    def files(self, scope: Scope, since: str = "") -> Sequence[LogFile]:
        """Return the log files, oldest day first; only those from the path `since` on."""

    def size(self, scope: Scope, path: str) -> int:
        """Return the bytes of a log file; 0 where there is no such file."""

    def read(self, scope: Scope, path: str, start: int = 0, end: int | None = None) -> bytes | None:
        """Return a part of a log file; None where there is no such file."""

    def rewrite(self, scope: Scope, path: str, data: bytes | None) -> None:
        """Replace a log file atomically, or remove it with None; the caller holds the scope's logs."""


class TranscriptStore(Protocol):
    """Transcripts of sessions: copies for people to read, and checkpoints from which a session goes on."""

    def export(self, scope: Scope, name: str, data: bytes) -> str:
        """Write a new read-only copy below memory/sessions and return its path; never over another one."""

    def exports(self, scope: Scope) -> Sequence[tuple[str, float]]:
        """Return the copies that this program wrote, oldest first: path and time of writing (seconds since 1970)."""

    def read_export(self, scope: Scope, path: str) -> bytes | None:
        """Return a copy's bytes."""

    def replace_export(self, scope: Scope, path: str, data: bytes | None) -> None:
        """Rewrite a copy atomically, or remove it with None."""

    def keep(self, scope: Scope, session_id: str, data: bytes, *, last: int) -> None:
        """Store a checkpoint atomically and drop all but the `last` newest of this session."""

    def kept(self, scope: Scope, session_id: str) -> Sequence[bytes]:
        """Return the checkpoints of a session, newest first, damaged or not."""

    def drop(self, scope: Scope, session_id: str) -> None:
        """Remove the checkpoints of a session."""

    def sessions(self, scope: Scope) -> Sequence[str]:
        """Return the ids of sessions that have checkpoints."""

    def tidy(self, scope: Scope) -> None:
        """Remove what writers that were killed have left half written, in the logs' folder too."""
