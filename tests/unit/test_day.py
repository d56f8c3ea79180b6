"""The human day: which date a moment has for the user, and how days are asked for."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from memoranda.adapters.system.zone import UserZone
from memoranda.domain.day import MAX_DAYS, TimeFrame, Zone, time_frame, zone_in
from memoranda.errors import InvalidInput
from tests.homes import write

BERLIN = Zone("Europe/Berlin", ZoneInfo("Europe/Berlin"))
TODAY = date(2026, 3, 1)


@pytest.mark.parametrize(
    ("at", "clock"),
    [
        ("2026-11-30T22:59:59.999999+00:00", "2026-11-30 23:59"),
        ("2026-11-30T23:00:00+00:00", "2026-12-01 00:00"),
        ("2026-06-30T21:59:59+00:00", "2026-06-30 23:59"),
        ("2026-06-30T22:00:00+00:00", "2026-07-01 00:00"),
        ("2026-03-29T00:59:59+00:00", "2026-03-29 01:59"),
        ("2026-03-29T01:00:00+00:00", "2026-03-29 03:00"),
        ("2026-03-28T22:59:59+00:00", "2026-03-28 23:59"),
        ("2026-03-28T23:00:00+00:00", "2026-03-29 00:00"),
        ("2026-03-29T21:59:59+00:00", "2026-03-29 23:59"),
        ("2026-03-29T22:00:00+00:00", "2026-03-30 00:00"),
        ("2026-10-25T00:59:59+00:00", "2026-10-25 02:59"),
        ("2026-10-25T01:00:00+00:00", "2026-10-25 02:00"),
        ("2026-10-24T22:00:00+00:00", "2026-10-25 00:00"),
        ("2026-10-25T22:59:59+00:00", "2026-10-25 23:59"),
        ("2026-10-25T23:00:00+00:00", "2026-10-26 00:00"),
    ],
)
def test_a_moment_has_the_date_of_its_zones_clock(at: str, clock: str) -> None:
    """Midnight is that of the zone, on the days of 23 and of 25 hours as well."""
    assert f"{BERLIN.local(at):%Y-%m-%d %H:%M}" == clock
    assert BERLIN.day(at).isoformat() == clock[:10]


def test_one_moment_has_several_dates() -> None:
    """Two zones 25 hours apart never agree on the date; a stored offset does not matter, the moment does."""
    east, west = (Zone(name, ZoneInfo(name)) for name in ("Pacific/Kiritimati", "Pacific/Pago_Pago"))
    at = "2026-11-30T10:30:00+00:00"
    assert (west.day(at), BERLIN.day(at), east.day(at)) == (
        date(2026, 11, 29), date(2026, 11, 30), date(2026, 12, 1),
    )  # fmt: skip
    assert BERLIN.day("2026-12-01T00:30:00+14:00") == date(2026, 11, 30)


@pytest.mark.parametrize(
    ("profile", "name"),
    [
        ("Time zone: Europe/Berlin", "Europe/Berlin"),
        ("# Me\n\n- **Timezone:** `America/Argentina/Buenos_Aires`\n", "America/Argentina/Buenos_Aires"),
        ("> TZ: Etc/GMT+5\n", "Etc/GMT+5"),
        ("  * time zone : UTC  (at work)\n", "UTC"),
        ("Timezone: Asia/Tokyo\nTimezone: Europe/Paris\n", "Asia/Tokyo"),
        ("I wonder about the time zone: it is late.", ""),
        ("Time zone:\n", ""),
        ("Time zone: +02:00", ""),
        ("Time zone: ../../etc/passwd", ""),
        ("", ""),
    ],
)
def test_a_profile_names_its_zone(profile: str, name: str) -> None:
    """A line of its own names it, however it is dressed; a sentence that speaks of zones names none."""
    assert zone_in(profile) == name


@pytest.mark.parametrize("name", ["Europe/Atlantis", "Mars", "Europe", "x/../../etc/passwd", "Europe/Berlin/"])
def test_a_zone_that_nobody_knows_is_said_and_not_used(tmp_path: Path, name: str) -> None:
    """The system's zone is used instead; once the profile names a real one, that is used at once."""
    write(tmp_path, "USER.md", f"Time zone: {name}\n")
    zone = UserZone(tmp_path)
    assert zone().rules is None
    assert "system's is used" in zone.problem()
    write(tmp_path, "USER.md", "Time zone: Europe/Berlin, and this line is longer than the one before it\n")
    assert zone() == BERLIN
    assert zone.problem() == ""


def test_without_a_profile_the_system_decides(tmp_path: Path) -> None:
    """No file and a file that is no text are no problem; a real profile beside it counts."""
    zone = UserZone(tmp_path)
    assert (zone().rules, zone.problem()) == (None, "")
    write(tmp_path, "USER.md", b"\xff\xfe\x00 no text")
    assert (zone().rules, zone.problem()) == (None, "")
    write(tmp_path, "USER.md", b"caf\xe9\n- Time zone: Europe/Berlin\n")
    assert zone() == BERLIN


@pytest.mark.parametrize(
    ("asked", "first", "last"),
    [
        ({"day": "2026-02-28"}, date(2026, 2, 28), date(2026, 2, 28)),
        ({"day": " TODAY "}, TODAY, TODAY),
        ({"day": "Yesterday"}, date(2026, 2, 28), date(2026, 2, 28)),
        ({"first": "yesterday", "last": "today"}, date(2026, 2, 28), TODAY),
        ({"first": "2026-01-05", "last": "2026-01-02"}, date(2026, 1, 2), date(2026, 1, 5)),
        ({"first": "2028-02-28", "last": "2028-03-01"}, date(2028, 2, 28), date(2028, 3, 1)),
        ({"first": "2026-01-01", "last": "2026-01-31"}, date(2026, 1, 1), date(2026, 1, 31)),
        ({"first": "2026-01-31", "last": "2026-01-01"}, date(2026, 1, 1), date(2026, 1, 31)),
    ],
)
def test_days_that_can_be_asked_for(asked: dict[str, str], first: date, last: date) -> None:
    """A date, a word or a range is read; a swapped range is put in order; 31 days are not too many."""
    assert time_frame(**asked, today=TODAY) == TimeFrame(first, last)


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({}, "either a date, or from and to"),
        ({"day": "today", "first": "today", "last": "today"}, "either a date, or from and to"),
        ({"day": "today", "last": "today"}, "either a date, or from and to"),
        ({"first": "today"}, "both from and to"),
        ({"last": "today"}, "both from and to"),
        ({"first": "2026-01-01", "last": "2026-02-01"}, "longer than 31 days"),
        ({"first": "2026-02-01", "last": "2026-01-01"}, "longer than 31 days"),
        ({"day": "2026-02-29"}, "is no date"),
        ({"day": "tomorrow"}, "is no date"),
        ({"day": "2026-11-30T10:00"}, "is no date"),
        ({"day": "   "}, "is no date"),
        ({"first": "30.11.2026", "last": "today"}, "is no date"),
    ],
)
def test_days_that_cannot_be_asked_for(asked: dict[str, str], why: str) -> None:
    """The refusal says what is wrong."""
    with pytest.raises(InvalidInput, match=why):
        time_frame(**asked, today=TODAY)


def test_a_frame_lists_its_days() -> None:
    """Oldest first, both ends included, over the end of a month; it names itself for people."""
    frame = TimeFrame(date(2026, 2, 27), date(2026, 3, 2))
    assert [day.isoformat() for day in frame.days] == ["2026-02-27", "2026-02-28", "2026-03-01", "2026-03-02"]
    assert str(frame) == "2026-02-27 to 2026-03-02"
    assert str(TimeFrame(TODAY, TODAY)) == "2026-03-01"
    assert len(time_frame(first="2026-01-01", last="2026-01-31", today=TODAY).days) == MAX_DAYS
