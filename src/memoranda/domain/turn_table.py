"""Ranks turns of conversations by words and by meaning, their neighbours included: arrays over all turns of a scope.

A turn means what it says in its place: the answer to a question has the question's words. So each turn counts its own
words and, for less, those of the turns around it in the same session. The method and its constants are measured in
`docs/benchmarks.md`, section "What was said"; only what has a true order has neighbours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memoranda.domain.turn_marks import SHORT_QUESTION, TIME_WORD

K1, B, LENGTH_FLOOR = 1.2, 0.9, 50
"""BM25: saturation, length normalisation, and the words below which no turn gains from being short."""

BEFORE, AFTER, ANSWERED = (0.4, 0.3, 0.2), (0.3, 0.2, 0.1), 1.0
"""Weights of the words of the turns before and after; of a short question just before."""

EXPLAINS_ITSELF = 50
"""A turn of more words takes less from its neighbours, in proportion."""

NEAR_BEFORE, NEAR_AFTER, NEAR_WORDS = (0.6, 0.4), (0.3, 0.2), 30
"""Weights of neighbours' vectors, and the words above which both count less."""

SESSION_K1, SESSION_B = 1.2, 0.4

Floats = NDArray[np.floating[Any]]
Rows = NDArray[np.int64]
Postings = tuple[Rows, Floats]
"""Rows of a table that hold a term, each once and in no order, and how often."""


@dataclass(frozen=True, slots=True)
class TurnColumns:
    """What an index knows of its turns, in the order of sessions, positions and parts; one entry a turn.

    `days` are day numbers as `date.toordinal` has them, 0 for none.
    """

    keys: Rows
    sessions: Sequence[str]
    speakers: Sequence[str]
    lengths: Floats
    marks: NDArray[np.int64]
    days: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class TurnEvidence:
    """What an index says of a question about turns, read from one state of it.

    `postings` are of the terms that any turn holds, `allowed` says which rows pass the filters (None: all do),
    `cosines` has one entry a row, NaN where a turn has no vector; None without vectors of that identity, and
    `is_of_other_model` where there are others.
    """

    table: TurnTable
    postings: Mapping[str, Postings]
    allowed: NDArray[np.bool_] | None
    cosines: Floats | None
    is_of_other_model: bool = False


class TurnTable:
    """The turns of one scope, ready to be ranked."""

    def __init__(self, columns: TurnColumns) -> None:
        self.keys = columns.keys
        self.lengths = columns.lengths
        self.days = columns.days
        self.session_names, self.session = _numbered(columns.sessions)
        self.speaker_names, self.speaker = _numbered(columns.speakers)
        self.is_question = (columns.marks & SHORT_QUESTION) > 0
        self.has_time = (columns.marks & TIME_WORD) > 0
        self._order = np.argsort(self.keys)

    def __len__(self) -> int:
        return len(self.keys)

    def rows_of(self, keys: Rows) -> tuple[Rows, NDArray[np.bool_]]:
        """Return the rows of those keys that are turns here, in the order of the keys, and which of them are."""
        if not len(self) or not len(keys):
            return np.empty(0, np.int64), np.zeros(len(keys), bool)
        at = np.searchsorted(self.keys, keys, sorter=self._order).clip(max=len(self) - 1)
        rows = self._order[at]
        known = self.keys[rows] == keys
        return rows[known], known

    @cached_property
    def floored(self) -> Floats:
        """Lengths in words, no less than the floor."""
        return np.maximum(self.lengths, float(LENGTH_FLOOR))

    @cached_property
    def session_words(self) -> Floats:
        """Words of each session."""
        return np.asarray(np.bincount(self.session, self.lengths, len(self.session_names)), np.float64)

    @cached_property
    def _need(self) -> Floats:
        return np.minimum(1.0, EXPLAINS_ITSELF / np.maximum(self.lengths, 1))

    @cached_property
    def _near(self) -> list[tuple[Floats, Floats]]:
        """Weights of vectors at distances 1 and 2: of the turn before for the one after, and the other way round."""
        own = np.minimum(1.0, NEAR_WORDS / np.maximum(self.lengths, 1))
        return [
            (
                np.where(same, NEAR_BEFORE[at - 1], 0.0) * own[:-at] * own[at:],
                np.where(same, NEAR_AFTER[at - 1], 0.0) * own[:-at] * own[at:],
            )
            for at in range(1, len(NEAR_BEFORE) + 1)
            if len(self) > at
            for same in (self.session[at:] == self.session[:-at],)
        ]

    def norms(self, mean: float) -> Floats:
        """Return the length norm of each turn, where `mean` is that of the floored lengths of all turns asked."""
        return 1 - B + B * self.floored / max(mean, 1.0)

    def with_neighbours(self, postings: Postings, norms: Floats) -> Postings:
        """Return the rows that hold a term, or stand beside one that does, and its weighted frequency there."""
        rows, counts = postings
        own = counts / norms[rows]
        weights = np.zeros(len(self))
        weights[rows] = own
        touched = [rows]
        for at, (before, after) in enumerate(zip(BEFORE, AFTER, strict=True), 1):
            for step, share in ((at, before), (-at, after)):
                target = rows + step
                inside = (target >= 0) & (target < len(self))
                source, target = rows[inside], target[inside]
                same = self.session[source] == self.session[target]
                source, target, gain = source[same], target[same], own[inside][same] * share
                if step == 1:
                    gain = np.where(self.is_question[source], gain / share * ANSWERED, gain)
                weights[target] += gain * self._need[target]
                touched.append(target)
        found = np.unique(np.concatenate(touched))
        return found, weights[found]

    def around(self, mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return which turns are among these or beside one of them."""
        found = mask.copy()
        for at in range(1, len(BEFORE) + 1):
            if len(self) > at:
                same = self.session[at:] == self.session[:-at]
                found[at:] |= mask[:-at] & same
                found[:-at] |= mask[at:] & same
        return found

    def words(self, postings: Sequence[tuple[float, Postings]], norms: Floats) -> Floats:
        """Return BM25 of every turn with its neighbours' words; `postings` come with their inverse frequency."""
        scores = np.zeros(len(self))
        for weight, held in postings:
            rows, counts = self.with_neighbours(held, norms)
            scores[rows] += weight * counts * (K1 + 1) / (counts + K1)
        return scores

    def sessions(self, postings: Sequence[Postings]) -> Floats:
        """Return BM25 of every session as a whole."""
        count = len(self.session_names)
        scores = np.zeros(count)
        if count < 2:  # noqa: PLR2004 - one session says nothing against others
            return scores
        norms = SESSION_K1 * (1 - SESSION_B + SESSION_B * self.session_words / (self.session_words.mean() or 1.0))
        for rows, frequency in postings:
            held = np.bincount(self.session[rows], frequency, count)
            holding = float((held > 0).sum())
            idf = np.log(1 + (count - holding + 0.5) / (holding + 0.5))
            scores += idf * held * (SESSION_K1 + 1) / (held + norms)
        return scores

    def smoothed(self, cosines: Floats) -> Floats:
        """Return every turn's cosine as the weighted mean of its own and its neighbours'."""
        total, weights = cosines.copy(), np.ones(len(self))
        for at, (before, after) in enumerate(self._near, 1):
            total[at:] += before * cosines[:-at]
            total[:-at] += after * cosines[at:]
            weights[at:] += before
            weights[:-at] += after
        return total / weights


def empty_table() -> TurnTable:
    """Return a table without turns."""
    none = np.empty(0, np.int64)
    return TurnTable(TurnColumns(none, (), (), np.empty(0), none, none))


def _numbered(names: Sequence[str]) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Return each name once, and the number of every entry's name."""
    numbers: dict[str, int] = {}
    found = np.fromiter((numbers.setdefault(name, len(numbers)) for name in names), np.int64, len(names))
    return tuple(numbers), found


def inverse_frequency(turns: int, holding: int) -> float:
    """Return BM25's inverse document frequency with the +1 that keeps it above zero."""
    return float(np.log(1 + (turns - holding + 0.5) / (holding + 0.5)))
