"""The turns among the candidates of a search, ranked with what was said around them. Loaded where there are turns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np

from memoranda.domain import spoken
from memoranda.domain.query import Filters, Query
from memoranda.domain.ranking import MIN_COVERAGE, Candidate, coverage
from memoranda.domain.scope import Scope
from memoranda.domain.spoken import Spoken
from memoranda.domain.turn_table import Rows, TurnEvidence
from memoranda.domain.word_vectors import beside, nearest
from memoranda.domain.words import ParsedQuery, analyse
from memoranda.ports import SearchIndex
from memoranda.services.meaning import Meaning

SPARE = 10
"""Turns beyond those asked for, at least: some may be gone from the log, or not be for this viewer."""


RESCORED = 60
"""Turns of which the words are looked at one by one."""


@dataclass(frozen=True, slots=True)
class TurnCandidates:
    """The best turns of all scopes, the lowest cosine of any turn (None: no vectors), and scopes of other models."""

    found: Sequence[Candidate]
    lowest: float | None
    others: frozenset[Scope]


def turn_candidates(
    index: SearchIndex,
    scopes: Sequence[Scope],
    query: Query,
    words: ParsedQuery,
    filters: Filters,
    meaning: Meaning | None,
    today: date | None,
) -> TurnCandidates:
    """Return the turns that answer best, over all scopes.

    `today` is the day for the user, for questions that count from it.

    Raises:
        BackendError: the index failed.
    """
    near = (meaning.identity, meaning.vector) if meaning else None
    evidence = {scope: index.turn_evidence(scope, words.spoken, words.phrases, filters, near) for scope in scopes}
    asked = spoken.asked_of(query.text, words, evidence.values(), today)
    scores = spoken.scored(asked, evidence, meaning.weight if meaning else 0.0)
    by_word = meaning is not None and bool(meaning.words.words) and meaning.weight < 1
    found: list[Candidate] = []
    for scope, rows in _best(scores, evidence, query, RESCORED if by_word else 0).items():
        close = _closeness(index, scope, evidence[scope], rows, meaning) if meaning and by_word else {}
        found += _of_scope(index, scope, rows, words, evidence[scope], scores[scope], close)
    lowest = [float(item.meaning.min()) for item in scores.values() if item.meaning is not None and len(item.meaning)]
    others = frozenset(scope for scope, item in evidence.items() if item.is_of_other_model)
    return TurnCandidates(found, min(lowest, default=None), others)


def _of_scope(
    index: SearchIndex,
    scope: Scope,
    rows: Sequence[int],
    words: ParsedQuery,
    evidence: TurnEvidence,
    scores: Spoken,
    close: Mapping[int, float],
) -> Iterator[Candidate]:
    """Yield the turns of these rows as candidates; `close` says how near their words come."""
    by_key = {int(evidence.table.keys[row]): int(row) for row in rows}
    for indexed in index.fetch(scope, list(by_key)):
        row = by_key[indexed.key]
        cosine = None if evidence.cosines is None or np.isnan(evidence.cosines[row]) else float(evidence.cosines[row])
        addends = {label: float(values[row]) for label, values in scores.addends.items() if values[row]}
        if row in close and evidence.table.comes_after_a_question(row):
            addends["comes after a question"] = spoken.ANSWER_WEIGHT
        covered = coverage(words, indexed)  # a turn of the day that is asked for is about the question
        yield Candidate(
            scope=scope,
            indexed=indexed,
            keyword=float(scores.words[row]),
            coverage=max(covered, MIN_COVERAGE) if addends.get(spoken.DAY) else covered,
            cosine=cosine,
            nearness=None if scores.meaning is None else float(scores.meaning[row]),
            closeness=close.get(row),
            addends=tuple(addends.items()),
        )


def _closeness(
    index: SearchIndex, scope: Scope, evidence: TurnEvidence, rows: Sequence[int], meaning: Meaning
) -> dict[int, float]:
    """Return how near the words of these rows, and of the turns beside them, come to the question's.

    Names of people who speak tell who is meant, and are no words of the question.
    """
    table, wanted = evidence.table, np.array(rows, np.int64)
    if evidence.cosines is None:
        return {}
    around = [table.beside(wanted, step) for step in (-1, 1)]
    needed = np.unique(np.concatenate([wanted, *(at[inside] for at, inside in around)]))
    held = index.words(scope, meaning.identity, [int(key) for key in table.keys[needed]])
    names = {part for name in table.speaker_names for part in analyse(name).exact}
    near = nearest(meaning.words.without(names), [held.get(int(key), b"") for key in table.keys[needed]])
    before, after = (np.where(inside[:, None], near[_places(needed, at)], 0.0) for at, inside in around)
    values = beside(near[np.searchsorted(needed, wanted)], before, after)
    return {row: float(value) for row, value in zip(rows, values, strict=True) if int(table.keys[row]) in held}


def _places(known: Rows, wanted: Rows) -> Rows:
    """Return where rows are among those that are known; any place for one that is not."""
    return np.searchsorted(known, wanted).clip(max=len(known) - 1)


def _best(
    scores: Mapping[Scope, Spoken], evidence: Mapping[Scope, TurnEvidence], query: Query, least: int
) -> dict[Scope, Sequence[int]]:
    """Return the rows of the best turns of each scope, as many together as are wanted, and `least` of all turns.

    Of each session its best counts where sessions are asked for.
    """
    wanted = query.limit + max(query.limit, SPARE)
    ranked: list[tuple[float, Scope, int]] = []
    for scope, item in scores.items():
        order = np.argsort(-item.total, kind="stable")[: int(np.isfinite(item.total).sum())]
        best = order[: max(wanted, least)]
        if query.grain == "session":
            _, first = np.unique(evidence[scope].table.session[order], return_index=True)
            best = np.unique(np.concatenate([order[np.sort(first)][:wanted], order[:least]]))
        ranked += [(-float(item.total[row]), scope, int(row)) for row in best]
    chosen: dict[Scope, list[int]] = {}
    for _, scope, row in sorted(ranked)[: wanted + least if query.grain == "session" else max(wanted, least)]:
        chosen.setdefault(scope, []).append(row)
    return dict(chosen)
