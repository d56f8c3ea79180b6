"""Scores the turns of several scopes for one question: words, meaning, and what speaks for a turn beside them.

Every weight is an addend of the score; the best turn's words and meaning are 1. Constants are measured in
`docs/benchmarks.md`, section "What was said".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np
from numpy.typing import NDArray

from memoranda.domain.days_asked import Named, days_asked
from memoranda.domain.scope import Scope
from memoranda.domain.turn_marks import asks_when
from memoranda.domain.turn_table import Floats, TurnEvidence, inverse_frequency
from memoranda.domain.words import ParsedQuery, analyse, parse_query

DATE_WEIGHT, TIME_WEIGHT, SPEAKER_WEIGHT, QUESTION_WEIGHT, SESSION_WEIGHT = 0.5, 0.15, 0.07, -0.1, 0.15


ANSWER_WEIGHT = 0.07
"""What a turn gains that comes right after a question, where the nearest words are looked at (`bench/train_ranker.py`);
without them it costs more answers than it wins."""

SPEAKER, DAY = "said by who is named", "of the day or month named"
_ANSWERS = (SPEAKER, DAY)
"""What makes a turn an answer though it holds no word of the question."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question about what was said: the terms that count, whose words are meant, and when.

    `speaker` is the one whose name is in the question, "" where there is none or several.
    """

    text: str
    terms: tuple[str, ...]
    speaker: str
    days: tuple[Named, ...]


@dataclass(frozen=True, slots=True)
class Spoken:
    """Scores of one scope's turns, an entry a row: raw words and meaning, and the addends beside those two.

    `total` is what the turns are ranked by; -inf for those that are no answer.
    """

    words: Floats
    meaning: Floats | None
    addends: Mapping[str, Floats]
    total: Floats


def asked_of(text: str, words: ParsedQuery, evidence: Iterable[TurnEvidence], today: date | None = None) -> Asked:
    """Return what a question asks for; days that count from now need `today`, in the user's zone.

    The names of people who speak are no words of it: they tell who.
    """
    names = {name for item in evidence for name in item.table.speaker_names}
    tokens = {name: frozenset(analyse(name).exact) for name in names}
    said = set(analyse(text).exact)
    named = sorted(name for name in names if not said.isdisjoint(tokens[name]))
    of_names = {term for name in named for term in parse_query(name).terms}
    terms = tuple(term for term in words.spoken if term not in of_names) or words.spoken
    return Asked(text, terms, named[0] if len(named) == 1 else "", days_asked(text, today))


def scored(asked: Asked, evidence: Mapping[Scope, TurnEvidence], weight: float) -> dict[Scope, Spoken]:
    """Return the scores of all turns; `weight` is the share of the vectors, 0 to 1."""
    turns = sum(len(item.table) for item in evidence.values())
    mean = sum(float(item.table.floored.sum()) for item in evidence.values()) / max(turns, 1)
    frequency: dict[str, float] = {}
    for term in asked.terms:
        held = sum(len(item.postings[term][0]) for item in evidence.values() if term in item.postings)
        frequency[term] = inverse_frequency(turns, held)
    raw = {
        scope: item.table.words(
            [(frequency[term], item.postings[term]) for term in asked.terms if term in item.postings],
            item.table.norms(mean),
        )
        for scope, item in evidence.items()
    }
    near = {scope: _meaning(item) for scope, item in evidence.items()} if weight > 0 else {}
    best = max((float(words.max(initial=0.0)) for words in raw.values()), default=0.0) or 1.0
    known = [values for values in near.values() if values is not None and len(values)]
    low = min((float(values.min()) for values in known), default=0.0)
    high = max((float(values.max()) for values in known), default=0.0)
    found: dict[Scope, Spoken] = {}
    for scope, item in evidence.items():
        addends = _addends(asked, item) if weight < 1 else {}
        meaning = near.get(scope)
        share = weight if known else 0.0
        total = (1 - share) * raw[scope] / best + sum(addends.values(), np.zeros(len(item.table)))
        if meaning is not None:
            total = total + share * (meaning - low) / ((high - low) or 1.0)
        answers = (raw[scope] > 0) | sum((addends[name] > 0 for name in _ANSWERS if name in addends), np.False_)
        if item.cosines is not None:
            answers |= ~np.isnan(item.cosines)
        if item.allowed is not None:
            answers &= item.allowed
        found[scope] = Spoken(raw[scope], meaning, addends, np.where(answers, total, -np.inf))
    return found


def _meaning(item: TurnEvidence) -> Floats | None:
    """Return each turn's cosine with its neighbours'; one without a vector counts as the lowest."""
    if item.cosines is None or np.isnan(item.cosines).all():
        return None
    return item.table.smoothed(np.where(np.isnan(item.cosines), np.nanmin(item.cosines), item.cosines))


def _addends(asked: Asked, item: TurnEvidence) -> dict[str, Floats]:
    table = item.table
    sessions = table.sessions([item.postings[term] for term in asked.terms if term in item.postings])
    best = float(sessions.max(initial=0.0))
    found: dict[str, Floats] = {"a question itself": QUESTION_WEIGHT * table.is_question}
    if best > 0:
        found["words of the whole session"] = SESSION_WEIGHT * (sessions / best)[table.session]
    if asked.speaker in table.speaker_names:
        found[SPEAKER] = SPEAKER_WEIGHT * _is(table.speaker, table.speaker_names.index(asked.speaker))
    if asks_when(asked.text):
        found["tells a time"] = TIME_WEIGHT * table.has_time
    if asked.days:
        found[DAY] = DATE_WEIGHT * _fit(asked.days, table.days)
    return found


def _fit(days: Sequence[Named], numbers: NDArray[np.int64]) -> Floats:
    """Return how well each turn's day fits; each day is looked at once."""
    known, at = np.unique(numbers, return_inverse=True)
    fits = [max(one.fits(date.fromordinal(int(number))) for one in days) if number else 0.0 for number in known]
    return np.asarray(np.array(fits, np.float64)[at])


def _is(values: NDArray[np.int64], number: int) -> Floats:
    return np.where(values == number, 1.0, 0.0)
