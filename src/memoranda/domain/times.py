"""Times as the ledger writes them: ISO 8601 in UTC with microseconds, so that text order is time order."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

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


def read_time(text: str) -> str:
    """Read a date or time a person typed (ISO 8601; without a zone it is UTC) into the ledger's form.

    Raises:
        InvalidInput: it is neither.
    """
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidInput(f"{text[:40]!r} is no date or time: use 2026-11-30 or 2026-11-30T14:00") from None
    return stamp(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
