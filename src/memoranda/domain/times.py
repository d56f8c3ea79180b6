"""Times as the ledger writes them: ISO 8601 in UTC with microseconds, so that text order is time order."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo

from memoranda.domain.given import check_str
from memoranda.errors import InvalidInput


def stamp(moment: datetime) -> str:
    """Write a moment the one way."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def days_before(at: str, days: int) -> str:
    """Return the time so many days before `at`."""
    return stamp(datetime.fromisoformat(at) - timedelta(days=days))


def days_after(at: str, days: int) -> str:
    """Return the time so many days after `at`."""
    return stamp(datetime.fromisoformat(at) + timedelta(days=days))


def read_time(text: str, rules: tzinfo | None = UTC) -> str:
    """Read a date or time a person typed (ISO 8601) into the ledger's form.

    Without an offset it is a time of the zone with these `rules`, UTC unless given; None means the system's zone. A
    date alone is the start of that day.

    Raises:
        InvalidInput: it is neither, or in UTC it would be outside of the years 1 to 9999.
    """
    check_str(**{"a time": text})
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidInput(f"{text[:40]!r} is no date or time: use 2026-11-30 or 2026-11-30T14:00") from None
    try:
        return stamp(moment if moment.tzinfo else moment.replace(tzinfo=rules))
    except (OverflowError, ValueError, OSError):
        raise InvalidInput(f"{text[:40]!r} cannot be reckoned in UTC: use the years 1 to 9999") from None


def seconds_after(at: str, seconds: float) -> str:
    """Return the time so many seconds after `at`."""
    return stamp(datetime.fromisoformat(at) + timedelta(seconds=seconds))
