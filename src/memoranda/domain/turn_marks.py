"""What is noted of a turn when it is indexed, so that a search need not read it again."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date

SHORT_QUESTION, TIME_WORD = 1, 2
"""Bits: a short question; a word that tells when something was."""

QUESTION_WORDS = 30
"""A question of at most so many words is asked to be answered, not told."""

_ASIDE = re.compile(r"\s*\[[^\]]*\]\s*$")
_TIME = re.compile(
    r"\b(yesterday|today|tonight|tomorrow|last|next|ago|this (?:morning|weekend)|weekend|week|month|year|recently|just"
    r"|since|the other day|20\d\d|mon|tues|wednes|thurs|fri|satur|sun)(?:day)?\b"
    r"|\b(?:january|february|march|april|may|june|july|august|september|october|november|december)\b",
    re.IGNORECASE,
)
_ASKS_WHEN = re.compile(
    r"^\s*(when|what (date|day|month|year|time)|how long|how often|how many (days|weeks|months|years)"
    r"|which (month|year|day|week))\b",
    re.IGNORECASE,
)


def marks_of(text: str, words: int) -> int:
    """Return the marks of a turn of so many words. What stands in brackets at its end is not said."""
    is_question = words <= QUESTION_WORDS and _ASIDE.sub("", text).rstrip().endswith(("?", "\uff1f"))
    return SHORT_QUESTION * is_question | TIME_WORD * bool(_TIME.search(text))


def asks_when(question: str) -> bool:
    """Whether a question asks for a time."""
    return bool(_ASKS_WHEN.search(question))


_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
_MAY = re.compile(r"\b(?:in|of|on|\d+) may\b|\bmay,? \d")


@dataclass(frozen=True, slots=True)
class DaysAsked:
    """The months, and the day of the month, that a question names; 0 for no day."""

    months: frozenset[int]
    day: int = 0

    def __bool__(self) -> bool:
        return bool(self.months)

    def fits(self, day: date) -> float:
        """Return 0 for another month, 1 for this, 2 where the day fits too."""
        if day.month not in self.months:
            return 0.0
        return 2.0 if day.day == self.day else 1.0


def days_asked(question: str) -> DaysAsked:
    """Return the days that a question names."""
    text = question.lower()
    found = [name for name in _MONTHS if re.search(rf"\b{name}\b", text) and (name != "may" or _MAY.search(text))]
    if not found:
        return DaysAsked(frozenset())
    name = found[0]
    day = re.search(rf"\b(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? {name}\b|\b{name} (\d{{1,2}})(?:st|nd|rd|th)?\b", text)
    return DaysAsked(frozenset(_MONTHS.index(one) + 1 for one in found), int(day[1] or day[2]) if day else 0)
