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

from memoranda.domain.turn_marks import FOREIGN, SHORT_QUESTION, TIME_WORD

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
    positions: Rows
    speakers: Sequence[str]
    lengths: Floats
    marks: NDArray[np.int64]
    days: NDArray[np.int64]

    def numbered(self, sessions: dict[str, int], speakers: dict[str, int]) -> Rows:
        """Return the columns as rows of one array, sessions and speakers by number; new names get the next."""
        return np.stack(
            [
                self.keys, _numbered(self.sessions, sessions), self.positions, _numbered(self.speakers, speakers),
                self.lengths.astype(np.int64), self.marks, self.days,
            ]
        )  # fmt: skip


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

    def __init__(self, values: Rows, sessions: tuple[str, ...], speakers: tuple[str, ...]) -> None:
        self._values = values
        self.session_names, self.speaker_names = sessions, speakers
        self.keys, self.session, self.positions, self.speaker, lengths, marks, self.days = values
        self.lengths: Floats = lengths.astype(np.float64)
        self.is_question = (marks & SHORT_QUESTION) > 0
        self.has_time = (marks & TIME_WORD) > 0
        self.is_foreign = (marks & FOREIGN) > 0
        self._order = np.argsort(self.keys, kind="stable")

    @classmethod
    def of(cls, columns: TurnColumns) -> TurnTable:
        """Return a table of these turns."""
        sessions: dict[str, int] = {}
        speakers: dict[str, int] = {}
        values = columns.numbered(sessions, speakers)
        return cls(values, tuple(sessions), tuple(speakers))

    def extended(self, columns: TurnColumns) -> TurnTable | None:
        """Return the table with turns that came since; None where one belongs among those that are there.

        The turns are in the order of sessions and positions.
        """
        sessions = {name: number for number, name in enumerate(self.session_names)}
        speakers = {name: number for number, name in enumerate(self.speaker_names)}
        last = self.session_names[-1] if self.session_names else ""
        if any(name not in sessions and name < last for name in columns.sessions):
            return None
        added = columns.numbered(sessions, speakers)
        at = np.searchsorted(self.session, added[1], side="right")
        known = at > 0
        known[known] = self.session[at[known] - 1] == added[1][known]
        if (self.positions[at[known] - 1] > columns.positions[known]).any():
            return None
        return TurnTable(np.insert(self._values, at, added, axis=1), tuple(sessions), tuple(speakers))

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
        return np.asarray(np.maximum(self.lengths, LENGTH_FLOOR), np.float64)

    @cached_property
    def session_words(self) -> Floats:
        """Words of each session."""
        return np.asarray(np.bincount(self.session, self.lengths, len(self.session_names)), np.float64)

    @cached_property
    def _need(self) -> Floats:
        return np.asarray(np.minimum(1.0, EXPLAINS_ITSELF / np.maximum(self.lengths, 1)), np.float64)

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

    @cached_property
    def _left(self) -> tuple[Rows, Rows]:
        """How many turns of the same session stand before each turn, and after it."""
        sizes = np.bincount(self.session, minlength=len(self.session_names))
        first = np.concatenate(([0], np.cumsum(sizes)))[:-1]
        before = np.arange(len(self)) - first[self.session]
        return before, sizes[self.session] - 1 - before

    def with_neighbours(self, postings: Postings, norms: Floats) -> tuple[Floats, Rows]:
        """Return the weighted frequency of a term in every turn, and the turns where it is not 0, some twice."""
        rows, counts = postings
        own = counts / norms[rows]
        weights = np.zeros(len(self))
        weights[rows] = own
        touched = [rows]
        before, after = self._left
        answered = np.where(self.is_question[rows], ANSWERED, BEFORE[0])
        for at, (share_before, share_after) in enumerate(zip(BEFORE, AFTER, strict=True), 1):
            for step, room, share in (
                (at, after[rows], answered if at == 1 else share_before), (-at, before[rows], share_after),
            ):  # fmt: skip
                inside = room >= at
                target = rows[inside] + step
                weights[target] += (own * share)[inside] * self._need[target]
                touched.append(target)
        return weights, np.concatenate(touched)

    def comes_after_a_question(self, row: int) -> bool:
        """Tell whether the turn before this one, in the same session, is a short question."""
        return bool(row and self.session[row - 1] == self.session[row] and self.is_question[row - 1])

    def beside(self, rows: Rows, step: int) -> tuple[Rows, NDArray[np.bool_]]:
        """Return the rows a step before (-1) or after (1) these, and which of them are there, in the same session."""
        at = rows + step
        inside = (at >= 0) & (at < len(self))
        at = at.clip(0, max(len(self) - 1, 0))
        return at, inside & (self.session[at] == self.session[rows])

    def of_sessions(self, wanted: str, unwanted: str) -> NDArray[np.bool_] | None:
        """Return which turns are of one session, or not of another; None where neither is named."""
        if not (wanted or unwanted):
            return None
        numbers = {name: number for number, name in enumerate(self.session_names)}
        allowed = np.ones(len(self), bool)
        if wanted:
            allowed &= self.session == numbers.get(wanted, -1)
        if unwanted:
            allowed &= self.session != numbers.get(unwanted, -1)
        return allowed

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
            counts, rows = self.with_neighbours(held, norms)
            if len(rows) > len(self):
                scores += weight * (K1 + 1) * (counts / (counts + K1))
            else:  # what is set twice is set to the same
                gained, found = np.zeros(len(self)), counts[rows]
                gained[rows] = weight * (K1 + 1) * (found / (found + K1))
                scores += gained
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
    return TurnTable.of(TurnColumns(none, (), none, (), np.empty(0), none, none))


def _numbered(names: Sequence[str], numbers: dict[str, int]) -> Rows:
    """Return the number of each name; names that have none get the next."""
    return np.fromiter((numbers.setdefault(name, len(numbers)) for name in names), np.int64, len(names))


def inverse_frequency(turns: int, holding: int) -> float:
    """Return BM25's inverse document frequency with the +1 that keeps it above zero."""
    return float(np.log(1 + (turns - holding + 0.5) / (holding + 0.5)))
