"""The human day: which date a moment has for the user. One function for logs, time frames and prompts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime, timedelta, tzinfo

from memoranda.domain.given import check_str
from memoranda.errors import InvalidInput

MAX_DAYS = 31
"""A time frame spans at most so many days."""

_ZONE_LINE = re.compile(
    r"^[ \t>*+-]*\**(?:time ?zone|tz)\**\s*:\**\s*`?([A-Za-z][A-Za-z0-9_+/-]{1,63})`?", re.IGNORECASE | re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Zone:
    """A time zone: its name for people, and its rules; None means those of the system."""

    name: str
    rules: tzinfo | None = None

    def local(self, at: str) -> datetime:
        """Return a stored time as this zone's clock shows it, daylight saving included.

        On the first and the last day of the calendar, where it would leave the calendar, the time stays in UTC.
        """
        moment = datetime.fromisoformat(at)
        try:
            return moment.astimezone(self.rules)
        except (OverflowError, ValueError, OSError):
            return moment

    def day(self, at: str) -> date:
        """Return the date that a stored time has here."""
        return self.local(at).date()


def zone_in(profile: str) -> str:
    """Return the time zone that a user's profile names (`Time zone: Europe/Berlin`), "" where it names none."""
    found = _ZONE_LINE.search(profile)
    return found[1] if found else ""


@dataclass(frozen=True, slots=True)
class TimeFrame:
    """Whole days from the first to the last, both included."""

    first: date
    last: date

    @property
    def days(self) -> tuple[date, ...]:
        """Every day, oldest first."""
        return tuple(self.first + timedelta(days=number) for number in range((self.last - self.first).days + 1))

    @property
    def days_around(self) -> tuple[date, ...]:
        """The same days, with the day before and the day after where the calendar has them."""
        first, last = self.first.toordinal() - 1, self.last.toordinal() + 1
        return tuple(
            date.fromordinal(number)
            for number in range(max(first, date.min.toordinal()), min(last, date.max.toordinal()) + 1)
        )

    def __str__(self) -> str:
        return self.first.isoformat() if self.first == self.last else f"{self.first} to {self.last}"


def time_frame(day: str = "", first: str = "", last: str = "", *, today: date) -> TimeFrame:
    """Read a day (`2026-11-30`, `today`, `yesterday`) or a range; a swapped range is put in order.

    Raises:
        InvalidInput: nothing or both are given, a date is none, or the range is longer than 31 days.
    """
    check_str(day=day, first=first, last=last)
    if bool(day) == bool(first or last):
        raise InvalidInput("give either a date, or from and to")
    if day:
        one = _day(day, today)
        return TimeFrame(one, one)
    if not (first and last):
        raise InvalidInput("a range needs both from and to")
    low, high = sorted((_day(first, today), _day(last, today)))
    if (high - low).days >= MAX_DAYS:
        raise InvalidInput(f"{low} to {high} is longer than {MAX_DAYS} days; ask for a shorter time")
    return TimeFrame(low, high)


def _day(text: str, today: date) -> date:
    word = text.strip().lower()
    if word in ("today", "yesterday"):
        return today - timedelta(days=word == "yesterday")
    try:
        return date.fromisoformat(word)
    except ValueError:
        raise InvalidInput(f"{text[:40]!r} is no date: use 2026-11-30, today or yesterday") from None
