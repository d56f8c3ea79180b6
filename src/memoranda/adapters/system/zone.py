"""The user's time zone: what `USER.md` names, else the system's."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from memoranda.domain.day import Zone, zone_in

PROFILE = "USER.md"
_MAX_PROFILE_BYTES = 1_000_000


class UserZone:
    """Reads the profile again where it has changed."""

    def __init__(self, home: Path) -> None:
        self._path = home / PROFILE
        self._lock = threading.Lock()
        self._seen: tuple[tuple[int, int], str] = ((-1, -1), "")

    def __call__(self) -> Zone:
        """Return the zone in force; one that nobody knows counts as none (`problem` says so)."""
        name = self._named()
        if name:
            with suppress(ZoneInfoNotFoundError, ValueError, OSError):
                return Zone(name, ZoneInfo(name))
        return Zone(_system_name())

    def problem(self) -> str:
        """Return what is wrong with the profile's zone, "" where nothing is."""
        name = self._named()
        if not name or self().name == name:
            return ""
        return f"{PROFILE} names the time zone {name}, which is not known; the system's is used"

    def _named(self) -> str:
        try:
            status = self._path.stat()
            key = (status.st_mtime_ns, status.st_size)
            with self._lock:
                if self._seen[0] != key:
                    with self._path.open("rb") as stream:
                        self._seen = (key, zone_in(stream.read(_MAX_PROFILE_BYTES).decode("utf-8", "replace")))
                return self._seen[1]
        except OSError:
            return ""


def _system_name() -> str:
    name = os.environ.get("TZ", "").lstrip(":")
    if name:
        return name
    return datetime.now(UTC).astimezone().tzname() or "UTC"
