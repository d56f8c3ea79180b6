"""Which days a question names: dates, months, weekdays, "two weeks ago".

The languages are English, German, French, Spanish, Chinese and Japanese, names those of the Unicode CLDR. A question
about what was said on a day is answered by that day's log; what is not understood names no day, and costs nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta

from memoranda.domain.languages import language_of
from memoranda.domain.scripts import fold

MAX_QUESTION = 1_000
"""Characters of a question that are looked at for days."""

_MONTHS = (
    "january|januar|jänner|janvier|enero", "february|februar|février|febrero", "march|märz|mars|marzo",
    "april|avril|abril", "may|mai|mayo", "june|juni|juin|junio", "july|juli|juillet|julio", "august|août|agosto",
    "september|septembre|septiembre|setiembre", "october|oktober|octobre|octubre", "november|novembre|noviembre",
    "december|dezember|décembre|diciembre",
)  # fmt: skip
_WEEKDAYS = (
    "monday|montag|lundi|lunes", "tuesday|dienstag|mardi|martes", "wednesday|mittwoch|mercredi|miércoles",
    "thursday|donnerstag|jeudi|jueves", "friday|freitag|vendredi|viernes", "saturday|samstag|sonnabend|samedi|sábado",
    "sunday|sonntag|dimanche|domingo",
)  # fmt: skip
_NUMBERS = {
    word: number
    for number, words in enumerate(
        ("a|an|one|ein|eine|einem|einer|un|une|una|一", "two|zwei|deux|dos|两|二", "three|drei|trois|tres|三",
         "four|vier|quatre|cuatro|四", "five|fünf|cinq|cinco|五", "six|sechs|seis|六", "seven|sieben|sept|siete|七",
         "eight|acht|huit|ocho|八", "nine|neun|neuf|nueve|九", "ten|zehn|dix|diez|十"), 1)
    for word in words.split("|")
}  # fmt: skip
_NEAR = {
    0: "today|heute|aujourd'hui|hoy|今天|今日", 1: "yesterday|gestern|hier|ayer|昨天|昨日",
    2: "the day before yesterday|vorgestern|avant-hier|anteayer|前天|一昨日|おととい",
}  # fmt: skip
_OF_ONE = {"hier": "french", "mars": "french", "mardi": "french"}
"""Words of one language that say something else in others: German *hier*, the planet Mars, Mardi Gras."""
_UNITS = {1: "days?|tage?n?|jours?|días?|天|日", 7: "weeks?|wochen?|semaines?|semanas?|周|週間|週|星期",
          30: "months?|monate?n?|mois|meses|mes|个月|か月|ヶ月",
          365: "years?|jahre?n?|ans?|années?|años?|年"}  # fmt: skip

_MONTH = "|".join(f"(?P<m{number}>{names})" for number, names in enumerate(_MONTHS, 1))
_HAN_LETTERS = r"\u3040-\u30ff\u3400-\u9fff"
_AFTER, _BEFORE = r"(?:st|nd|rd|th|er|\.)?", r"(?:st|nd|rd|th|er|\.)?(?: of| de)?"
_NAMED = re.compile(
    rf"(?:(?<!\d)(?P<d1>\d{{1,2}}){_BEFORE}\s+)?\b(?:{_MONTH})\b(?:\s+(?P<d2>\d{{1,2}}){_AFTER}(?!\d))?"
    r"(?:,?\s+(?:of |de |del )?(?P<y>(?:19|20)\d\d))?"
)
_ISO = re.compile(r"(?<![\w-])(?P<y>(?:19|20)\d\d)-(?P<m>\d\d)(?:-(?P<d>\d\d)(?!\d)|(?![\w-]))")
_HAN = re.compile(r"(?:(?P<y>(?:19|20)\d\d)年)?(?P<m>\d{1,2})月(?:(?P<d>\d{1,2})[日号])?")
_MAY_DAY = re.compile(r"(?:\b(?:in|of|on|since|until|before|after|last|next|this|during|early|late|mid) |\d[a-z.]* )$")
_WEEKDAY = re.compile("|".join(rf"\b(?P<w{number}>{names})\b" for number, names in enumerate(_WEEKDAYS)))
_HAN_WEEKDAY = re.compile(r"(?:星期|周|礼拜)([一二三四五六日天])|([月火水木金土日])曜")
_NEAR_WORD = "|".join(f"(?P<n{days}>{words})" for days, words in sorted(_NEAR.items(), reverse=True))
_RELATIVE = re.compile(rf"(?<![^\W{_HAN_LETTERS}])(?:{_NEAR_WORD})(?![^\W{_HAN_LETTERS}])")
_COUNT = rf"(?P<n>\d{{1,3}}|{'|'.join(sorted(_NUMBERS, key=len, reverse=True))})"
_UNIT = "|".join(f"(?P<u{days}>{words})" for days, words in _UNITS.items())
_AGO = re.compile(rf"\b{_COUNT}\s*(?:{_UNIT})\s+ago\b")
_AGO_BEFORE = re.compile(rf"\b(?:vor|il y a|hace)\s+{_COUNT}\s+(?:{_UNIT})\b")
_AGO_HAN = re.compile(rf"{_COUNT}(?:{_UNIT})前")
_LAST = re.compile(
    r"\b(?:last|past|letzten?|letzter|vergangenen?|vorigen?|vorige)\s+(?P<u7>week|woche)\b"
    r"|\b(?:last|past|letzten?|letzter|vergangenen?|vorigen?)\s+(?P<u30>month|monat)\b"
    r"|(?P<s7>la semaine dernière|la semana pasada|上周|上星期|先週)|(?P<s30>le mois dernier|el mes pasado|上个月|先月)"
)
_BETWEEN = re.compile(r"\b(?:between|from|zwischen|vom|von|entre|du|desde|de)\b|从|至|到|から|まで")


@dataclass(frozen=True, slots=True)
class Named:
    """A day, a month or a span of days that a question names; 0 for what it does not say.

    `first` and `last` are the days of a span as `date.toordinal` has them.
    """

    month: int = 0
    day: int = 0
    year: int = 0
    first: int = 0
    last: int = 0

    def fits(self, day: date) -> float:
        """Return 0 for other days, 1 for the month or near the span, 2 for the day or inside the span."""
        if self.last:
            number, slack = day.toordinal(), self.last - self.first
            if self.first <= number <= self.last:
                return 2.0
            return 1.0 if self.first - slack <= number <= self.last + slack and slack else 0.0
        if day.month != self.month or (self.year and day.year != self.year):
            return 0.0
        return 2.0 if day.day == self.day else 1.0


def days_asked(question: str, today: date | None = None) -> tuple[Named, ...]:
    """Return the days that a question names; those that count from now need `today`."""
    text = question[:MAX_QUESTION].lower()
    language = language_of(re.findall(r"\w+", fold(text)))
    named = [*_dates(text, language)]
    if len(named) > 1 and _BETWEEN.search(text):
        named = [*_spans(named, today)] or named
    if today is not None:
        named += _counted(text, language, today)
    return tuple(named)


def _is_meant(word: str, language: str) -> bool:
    return language in ("", _OF_ONE.get(word, language))


def _dates(text: str, language: str) -> Iterator[Named]:
    for found in _NAMED.finditer(text):
        month = next(number for number in range(1, 13) if found[f"m{number}"])
        day, year = int(found["d1"] or found["d2"] or 0), int(found["y"] or 0)
        start = next(found.start(f"m{number}") for number in range(1, 13) if found[f"m{number}"])
        word = found[f"m{month}"]
        doubtful = not _MAY_DAY.search(text[:start]) if word == "may" else not _is_meant(word, language)
        if doubtful and not (day or year):
            continue
        yield Named(month=month, day=day, year=year)
    for form in (_ISO, _HAN):
        for found in form.finditer(text):
            month = int(found["m"])
            if 1 <= month <= 12:  # noqa: PLR2004 - months
                yield Named(month=month, day=int(found["d"] or 0), year=int(found["y"] or 0))


def _spans(named: list[Named], today: date | None) -> Iterator[Named]:
    """Yield the span from the first named day to the second, where both are days."""
    first, second = named[0], named[1]
    year = second.year or first.year or (today.year if today else 0)
    if not (first.day and second.day and year):
        return
    try:
        low = date(first.year or year, first.month, first.day)
        high = date(second.year or year, second.month, second.day)
    except ValueError:
        return
    yield Named(first=min(low, high).toordinal(), last=max(low, high).toordinal())


def _counted(text: str, language: str, today: date) -> Iterator[Named]:
    """Yield what counts from today."""
    for found in _RELATIVE.finditer(text):
        days = next(days for days in _NEAR if found[f"n{days}"])
        if _is_meant(found[0], language):
            yield _span(today - timedelta(days), 0)
    for form in (_AGO, _AGO_BEFORE, _AGO_HAN):
        for found in form.finditer(text):
            unit = next(days for days in _UNITS if found[f"u{days}"])
            count = int(found["n"]) if found["n"].isdecimal() else _NUMBERS[found["n"]]
            if unit * count < today.toordinal():
                yield _span(today - timedelta(unit * count), unit // 2)
    for found in _LAST.finditer(text):
        week = found["u7"] or found["s7"]
        yield _last_week(today) if week else _last_month(today)
    latin = (found for found in _WEEKDAY.finditer(text) if _is_meant(found[0], language))
    weekdays = [*(int((found.lastgroup or "w0")[1:]) for found in latin), *_han_weekdays(text)]
    for weekday in weekdays:
        yield _span(today - timedelta((today.weekday() - weekday - 1) % 7 + 1), 0)


def _han_weekdays(text: str) -> Iterator[int]:
    for found in _HAN_WEEKDAY.finditer(text):
        yield "一二三四五六日".index(found[1].replace("天", "日")) if found[1] else "月火水木金土日".index(found[2])


def _span(middle: date, slack: int) -> Named:
    return Named(first=middle.toordinal() - slack, last=middle.toordinal() + slack)


def _last_week(today: date) -> Named:
    monday = today.toordinal() - today.weekday() - 7
    return Named(first=monday, last=monday + 6)


def _last_month(today: date) -> Named:
    end = today.replace(day=1) - timedelta(1)
    return Named(first=end.replace(day=1).toordinal(), last=end.toordinal())
