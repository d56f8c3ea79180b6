"""The machine's clock and chance."""

from __future__ import annotations

import secrets
import threading
from datetime import UTC, datetime

from memoranda.domain.times import stamp

_DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"
_TIME_DIGITS, _CHANCE_DIGITS = 10, 12


class SystemClock:
    """Tells the machine's time."""

    def now(self) -> str:
        """Return the time as ISO 8601 in UTC with microseconds."""
        return stamp(datetime.now(UTC))


class TimeOrderedIds:
    """Identifiers of 10 digits of time (milliseconds) and 12 of chance, in Crockford's base 32.

    Within one process each is greater than every one before it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = 0

    def new(self, prefix: str) -> str:
        """Return `<prefix>_` and 22 characters."""
        moment = int(datetime.now(UTC).timestamp() * 1000)
        value = (moment << 5 * _CHANCE_DIGITS) | secrets.randbits(5 * _CHANCE_DIGITS)
        with self._lock:
            value = max(value, self._last + 1)
            self._last = value
        digits = [_DIGITS[(value >> 5 * place) & 31] for place in reversed(range(_TIME_DIGITS + _CHANCE_DIGITS))]
        return f"{prefix}_{''.join(digits)}"
