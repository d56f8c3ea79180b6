"""The turns among the candidates of a search, ranked with what was said around them. Loaded where there are turns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

import numpy as np

from memoranda.domain import spoken
from memoranda.domain.query import Filters, Grain, Query
from memoranda.domain.ranking import CLOSEST_SHARE, MIN_COVERAGE, Candidate, coverage
from memoranda.domain.scope import Scope
from memoranda.domain.spoken import Spoken
from memoranda.domain.turn_table import Floats, Rows, TurnEvidence
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
    """The best turns of all scopes, and what they are scaled by.

    `lowest` is the lowest cosine of any turn (None: no vectors), `closest` the lowest and highest nearness of words of
    all that were looked at (None: of none). `others` are scopes whose vectors are of another model.
    """

    found: Sequence[Candidate]
    lowest: float | None
    closest: tuple[float, float] | None
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
    evidence = {
        scope: _read(index.turn_evidence(scope, words.spoken, words.phrases, filters, near), meaning)
        for scope in scopes
    }
    asked = spoken.asked_of(query.text, words, evidence.values(), today)
    scores = spoken.scored(asked, evidence, meaning.weight if meaning else 0.0)
    wanted = query.limit + max(query.limit, SPARE)
    by_word = meaning is not None and bool(meaning.words.words) and meaning.weight < 1
    ranked = _best(scores, evidence, query.grain, wanted, RESCORED if by_word else 0)
    close = _all_closeness(index, evidence, ranked, meaning) if meaning and by_word else {}
    found: list[Candidate] = []
    for scope, rows in _by_scope(_again(ranked, scores, evidence, close), query.grain, wanted, evidence).items():
        found += _of_scope(index, scope, rows, words, evidence[scope], scores[scope], close.get(scope, {}))
    lowest = [float(item.meaning.min()) for item in scores.values() if item.meaning is not None and len(item.meaning)]
    values = [value for held in close.values() for value in held.values()]
    others = frozenset(scope for scope, item in evidence.items() if item.is_of_other_model)
    return TurnCandidates(found, min(lowest, default=None), (min(values), max(values)) if values else None, others)


def _read(evidence: TurnEvidence, meaning: Meaning | None) -> TurnEvidence:
    """Leave out what a model makes of turns in scripts that it does not read."""
    if meaning is None or meaning.reads_all_scripts or evidence.cosines is None:
        return evidence
    return replace(evidence, cosines=np.where(evidence.table.is_foreign, np.nan, evidence.cosines))


Ordered = Sequence[tuple[float, Scope, int]]
"""Turns as (score, scope, row), best first."""


def _best(
    scores: Mapping[Scope, Spoken], evidence: Mapping[Scope, TurnEvidence], grain: Grain, wanted: int, least: int
) -> Ordered:
    """Return the best turns of all scopes, as many as are wanted and at least `least`.

    Where sessions are asked for, the best of each of the best sessions is among them.
    """
    ranked: list[tuple[float, Scope, int]] = []
    for scope, item in scores.items():
        if grain == "session":
            order = _first(item.total, len(item.total))
            _, first = np.unique(evidence[scope].table.session[order], return_index=True)
            rows = np.unique(np.concatenate([order[np.sort(first)][:wanted], order[:least]]))
        else:
            rows = _first(item.total, max(wanted, least))
        ranked += [(float(item.total[row]), scope, int(row)) for row in rows]
    ranked.sort(key=lambda item: (-item[0], item[1], item[2]))
    return ranked[: wanted + least if grain == "session" else max(wanted, least)]


def _first(total: Floats, count: int) -> Rows:
    """Return the rows of the highest totals, best first, equal ones in order; those of -inf are none."""
    rows = np.flatnonzero(np.isfinite(total))
    if len(rows) > count:
        values = total[rows]
        rows = rows[values >= np.partition(values, len(values) - count)[len(values) - count]]
    return np.asarray(rows[np.argsort(-total[rows], kind="stable")][:count], np.int64)


def _all_closeness(
    index: SearchIndex, evidence: Mapping[Scope, TurnEvidence], ranked: Ordered, meaning: Meaning
) -> dict[Scope, dict[int, float]]:
    rows: dict[Scope, list[int]] = {}
    for _, scope, row in ranked:
        rows.setdefault(scope, []).append(row)
    return {scope: _closeness(index, scope, evidence[scope], held, meaning) for scope, held in rows.items()}


def _again(
    ranked: Ordered,
    scores: Mapping[Scope, Spoken],
    evidence: Mapping[Scope, TurnEvidence],
    close: Mapping[Scope, Mapping[int, float]],
) -> Ordered:
    """Return the turns in the order that they have with the nearness of their words, as `fuse_scores` will have it."""
    known = [value for held in close.values() for value in held.values()]
    if not known:
        return ranked
    low, span = min(known), (max(known) - min(known)) or 1.0
    found: list[tuple[float, Scope, int]] = []
    for total, scope, row in ranked:
        beside = sum(float(values[row]) for values in scores[scope].addends.values())
        value = close[scope].get(row)
        if value is not None and evidence[scope].table.comes_after_a_question(row):
            beside += spoken.ANSWER_WEIGHT
        closest = 0.0 if value is None else (value - low) / span
        arms = total - sum(float(values[row]) for values in scores[scope].addends.values())
        found.append(((1 - CLOSEST_SHARE) * arms + CLOSEST_SHARE * closest + beside, scope, row))
    return sorted(found, key=lambda item: (-item[0], item[1], item[2]))


def _by_scope(
    ranked: Ordered, grain: Grain, wanted: int, evidence: Mapping[Scope, TurnEvidence]
) -> dict[Scope, Sequence[int]]:
    """Return the rows of each scope among the first that are wanted; of each session its best."""
    seen: set[tuple[Scope, int]] = set()
    chosen: dict[Scope, list[int]] = {}
    for _, scope, row in ranked:
        group = (scope, int(evidence[scope].table.session[row]) if grain == "session" else row)
        if group not in seen and len(seen) < wanted:
            seen.add(group)
            chosen.setdefault(scope, []).append(row)
    return dict(chosen)


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
    if not meaning.reads_all_scripts:
        held = {key: value for key, value in held.items() if key not in set(table.keys[table.is_foreign].tolist())}
    near = nearest(meaning.words.without(names), [held.get(int(key), b"") for key in table.keys[needed]])
    before, after = (np.where(inside[:, None], near[_places(needed, at)], 0.0) for at, inside in around)
    values = beside(near[np.searchsorted(needed, wanted)], before, after)
    return {row: float(value) for row, value in zip(rows, values, strict=True) if int(table.keys[row]) in held}


def _places(known: Rows, wanted: Rows) -> Rows:
    """Return where rows are among those that are known; any place for one that is not."""
    return np.searchsorted(known, wanted).clip(max=len(known) - 1)
