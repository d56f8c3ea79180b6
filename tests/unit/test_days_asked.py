"""Days that questions name, in the languages that are known."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoranda.domain.days_asked import Named, days_asked

TODAY = date(2026, 12, 1)
"""A Tuesday."""


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("What did she do on 25 May, 2022?", Named(5, 25, 2022)),
        ("What happened on March 3rd?", Named(3, 3)),
        ("the 2nd of June", Named(6, 2)),
        ("in July 2022", Named(7, 0, 2022)),
        ("since May", Named(5)),
        ("on 2022-05-08", Named(5, 8, 2022)),
        ("in 2022-05", Named(5, 0, 2022)),
        ("Was geschah am 3. März 2023?", Named(3, 3, 2023)),
        ("Que s'est-il passé le 1er août ?", Named(8, 1)),
        ("¿Qué pasó el 8 de mayo de 2023?", Named(5, 8, 2023)),
        ("Qu'est-il arrivé en mars ?", Named(3)),
        ("on 3 mars", Named(3, 3)),
        ("2023年5月8日做了什么", Named(5, 8, 2023)),
        ("5月に何をしましたか", Named(5)),
    ],
)  # fmt: skip
def test_dates_and_months(question: str, named: Named) -> None:
    """By name or by number, with and without day and year."""
    assert days_asked(question) == (named,)


def span(first: date, last: date) -> Named:
    """A span of days."""
    return Named(first=first.toordinal(), last=last.toordinal())


@pytest.mark.parametrize(
    ("question", "first", "last"),
    [
        ("between August 11 and August 15 2023", date(2023, 8, 11), date(2023, 8, 15)),
        ("zwischen 11. August und 15. August 2023", date(2023, 8, 11), date(2023, 8, 15)),
        ("What did we say yesterday?", date(2026, 11, 30), date(2026, 11, 30)),
        ("vorgestern", date(2026, 11, 29), date(2026, 11, 29)),
        ("昨天说了什么", date(2026, 11, 30), date(2026, 11, 30)),
        ("two weeks ago", date(2026, 11, 14), date(2026, 11, 20)),
        ("vor 3 Tagen", date(2026, 11, 28), date(2026, 11, 28)),
        ("il y a deux jours", date(2026, 11, 29), date(2026, 11, 29)),
        ("hace tres días", date(2026, 11, 28), date(2026, 11, 28)),
        ("3天前", date(2026, 11, 28), date(2026, 11, 28)),
        ("last week", date(2026, 11, 23), date(2026, 11, 29)),
        ("last month", date(2026, 11, 1), date(2026, 11, 30)),
        ("上个月", date(2026, 11, 1), date(2026, 11, 30)),
        ("Qu'avons-nous dit hier ?", date(2026, 11, 30), date(2026, 11, 30)),
        ("hier", date(2026, 11, 30), date(2026, 11, 30)),
        ("ayer por la tarde", date(2026, 11, 30), date(2026, 11, 30)),
        ("我们昨天说了什么", date(2026, 11, 30), date(2026, 11, 30)),
        ("Que faisait-il mardi ?", date(2026, 11, 24), date(2026, 11, 24)),
        ("last Tuesday", date(2026, 11, 24), date(2026, 11, 24)),
        ("am Montag", date(2026, 11, 30), date(2026, 11, 30)),
        ("星期五", date(2026, 11, 27), date(2026, 11, 27)),
        ("金曜日に", date(2026, 11, 27), date(2026, 11, 27)),
    ],
)
def test_spans_and_what_counts_from_today(question: str, first: date, last: date) -> None:
    """Ranges, days ago, weeks and weekdays that are past; without a today only the dates that are written out."""
    assert days_asked(question, TODAY) == (span(first, last),)
    assert days_asked(question) == ((span(first, last),) if first.year == 2023 else ())


@pytest.mark.parametrize(
    "question",
    [
        "What may she do?",
        "He marches on.",
        "Maybe.",
        "call 555-2022-05x",
        "13月",
        "",
        "may I?",
        "Who is the favourite player in the hierarchy?",
        "Ahoy, captain!",
        "Was ist hier passiert?",
        "What do we know about Mars?",
        "Who did we meet at Mardi Gras?",
    ],
)
def test_what_names_no_day(question: str) -> None:
    """Words that only look like months, numbers that are none; a date that follows them is found."""
    assert days_asked(question, TODAY) == ()
    assert days_asked(f"{question} On 2023-05-08.", TODAY) == days_asked("2023-05-08") != ()


def test_how_well_a_day_fits() -> None:
    """The day twice as well as its month or what is near a span; another year or month not at all."""
    named = Named(5, 8, 2023)
    assert [named.fits(day) for day in (date(2023, 5, 8), date(2023, 5, 9), date(2022, 5, 8), date(2023, 6, 8))] == [
        2.0, 1.0, 0.0, 0.0,
    ]  # fmt: skip
    week = span(date(2026, 11, 23), date(2026, 11, 29))
    assert [week.fits(date(2026, 11, number)) for number in (23, 29, 30, 22, 10)] == [2.0, 2.0, 1.0, 1.0, 0.0]


@given(st.text(max_size=80), st.dates())
def test_no_question_breaks_it(question: str, today: date) -> None:
    """Whatever is asked, whenever: days, or none."""
    for named in days_asked(question, today):
        assert named.fits(today) >= 0


@given(st.sampled_from(["{} days ago", "vor {} Jahren", "{}周前", "il y a {} mois"]), st.integers(0, 999), st.dates())
def test_counting_back_leaves_no_calendar(form: str, number: int, today: date) -> None:
    """However far back, near the first day of the calendar too."""
    days_asked(form.format(number), today)
