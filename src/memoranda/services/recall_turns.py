"""The turns among the candidates of a search, ranked with what was said around them. Loaded where there are turns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np

from memoranda.domain import spoken
from memoranda.domain.query import Filters, Query
from memoranda.domain.ranking import MIN_COVERAGE, Candidate, coverage
from memoranda.domain.scope import Scope
from memoranda.domain.spoken import Spoken
from memoranda.domain.turn_table import TurnEvidence
from memoranda.domain.words import ParsedQuery
from memoranda.ports import SearchIndex, Vector

SPARE = 10
"""Turns beyond those asked for, at least: some may be gone from the log, or not be for this viewer."""


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
    meaning: tuple[str, Vector, float] | None,
    today: date | None,
) -> TurnCandidates:
    """Return the turns that answer best, over all scopes; `meaning` is identity, vector and the vectors' share.

    `today` is the day for the user, for questions that count from it.

    Raises:
        BackendError: the index failed.
    """
    near = meaning[:2] if meaning else None
    evidence = {scope: index.turn_evidence(scope, words.spoken, words.phrases, filters, near) for scope in scopes}
    asked = spoken.asked_of(query.text, words, evidence.values(), today)
    scores = spoken.scored(asked, evidence, meaning[2] if meaning else 0.0)
    found: list[Candidate] = []
    for scope, rows in _best(scores, evidence, query).items():
        by_key = {int(evidence[scope].table.keys[row]): int(row) for row in rows}
        for indexed in index.fetch(scope, list(by_key)):
            row, item = by_key[indexed.key], scores[scope]
            cosines = evidence[scope].cosines
            cosine = None if cosines is None or np.isnan(cosines[row]) else float(cosines[row])
            addends = {label: float(values[row]) for label, values in item.addends.items() if values[row]}
            covered = coverage(words, indexed)  # a turn of the day that is asked for is about the question
            found.append(
                Candidate(
                    scope=scope,
                    indexed=indexed,
                    keyword=float(item.words[row]),
                    coverage=max(covered, MIN_COVERAGE) if addends.get(spoken.DAY) else covered,
                    cosine=cosine,
                    nearness=None if item.meaning is None else float(item.meaning[row]),
                    addends=tuple(addends.items()),
                )
            )
    lowest = [float(item.meaning.min()) for item in scores.values() if item.meaning is not None and len(item.meaning)]
    others = frozenset(scope for scope, item in evidence.items() if item.is_of_other_model)
    return TurnCandidates(found, min(lowest, default=None), others)


def _best(
    scores: Mapping[Scope, Spoken], evidence: Mapping[Scope, TurnEvidence], query: Query
) -> dict[Scope, Sequence[int]]:
    """Return the rows of the best turns of each scope, as many together as are wanted; of each session its best."""
    wanted = query.limit + max(query.limit, SPARE)
    ranked: list[tuple[float, Scope, int]] = []
    for scope, item in scores.items():
        order = np.argsort(-item.total, kind="stable")[: int(np.isfinite(item.total).sum())]
        if query.grain == "session":
            _, first = np.unique(evidence[scope].table.session[order], return_index=True)
            order = order[np.sort(first)]
        ranked += [(-float(item.total[row]), scope, int(row)) for row in order[:wanted]]
    best: dict[Scope, list[int]] = {}
    for _, scope, row in sorted(ranked)[:wanted]:
        best.setdefault(scope, []).append(row)
    return dict(best)
