"""Scores passages by words and by meaning, puts the two together, and says whether anything is relevant."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from memoranda.domain.passage import IndexedPassage, TextStatistics
from memoranda.domain.query import Grain
from memoranda.domain.scope import Scope
from memoranda.domain.words import ParsedQuery

K1 = 1.2
"""Saturation of term frequency in BM25 (Robertson and Zaragoza 2009, section 3.2)."""

B = 0.75
"""Length normalisation of BM25, from the same source."""

LENGTH_FLOOR = 50
"""Passages shorter than this many words are not favoured for being short."""

HEADING_WEIGHT = 0.5
"""A word in the heading trail, titles, description or tags counts this part of a word in the text."""

EXACT_WEIGHT = 0.5
"""An exact word counts this much more than a word that only shares its stem."""

RRF_K = 60
"""Constant of reciprocal rank fusion (Cormack, Clarke and Büttcher 2009)."""

CLOSEST_SHARE = 0.36
"""Share of the nearest words in the score, where candidates have any; words and meaning divide the rest. Learned on
LoCoMo (`bench/train_ranker.py`), and good for notes as well: 0.2 to 0.5 is flat on XQuAD.
"""

GROUP_SUPPORT = (0.3, 0.2)
"""Shares of its second and third passage that a section or file gains: several that fit say more than one.
Measured at grain `file` on 25 vague questions over six documents: first place 0.80 to 0.88 by words, hits
among the first three 0.96 to 1.00 with vectors.
"""

TURN_PRIOR = 0.7
"""What a turn of the log scores against a note with the same words: what was kept on purpose goes first."""

RECENCY_SHARE, RECENCY_HALF_DAYS = 0.05, 30
"""A turn loses at most this share with age, half of it in so many days: enough to decide between equals."""

MIN_COVERAGE = 1 / 3
"""Share of the question's informative terms that one passage must hold to be relevant by words alone."""

MIN_CANDIDATES = 50
"""Candidates taken from each arm in each scope, at least."""

MAX_SEARCH_TERMS = 64
"""Terms searched for, the rarest first: more only repeat what those say, and cost time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A passage with its raw scores: BM25, share of the question it covers, cosine where it has one.

    `nearness` is what counts as its meaning where that is not its own cosine: a turn's neighbours count too.
    `closeness` is how near its words come to those of the question (`word_vectors.nearest`). `addends` speak for or
    against it beside these.
    """

    scope: Scope
    indexed: IndexedPassage
    keyword: float
    coverage: float
    cosine: float | None = None
    nearness: float | None = None
    closeness: float | None = None
    addends: tuple[tuple[str, float], ...] = ()

    @property
    def meaning(self) -> float | None:
        """What is ranked as its meaning."""
        return self.cosine if self.nearness is None else self.nearness


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """A candidate with its final score; `addends` sum to it."""

    candidate: Candidate
    score: float
    addends: tuple[tuple[str, float], ...]


def candidates_per_arm(limit: int) -> int:
    """Return how many candidates to take from each arm for a result of `limit` hits."""
    return max(MIN_CANDIDATES, 4 * limit)


def pooled(statistics: Iterable[TextStatistics]) -> TextStatistics:
    """Add up the statistics of several scopes, so that a passage scores the same in whatever scope it is."""
    passages = total = turns = 0
    frequency: dict[str, int] = {}
    for part in statistics:
        passages += part.passages
        total += part.total_length
        turns += part.turns
        for term, count in part.document_frequency.items():
            frequency[term] = frequency.get(term, 0) + count
    return TextStatistics(passages, total, frequency, turns)


def search_terms(terms: Sequence[str], statistics: TextStatistics) -> tuple[str, ...]:
    """Return the terms worth searching for: those that occur, the rarest `MAX_SEARCH_TERMS`, in order."""
    known = [term for term in terms if statistics.document_frequency.get(term)]
    rarest = set(sorted(known, key=lambda term: statistics.document_frequency[term])[:MAX_SEARCH_TERMS])
    return tuple(term for term in known if term in rarest)


def inverse_frequency(statistics: TextStatistics, term: str) -> float:
    """Return BM25's inverse document frequency with the +1 that keeps it above zero."""
    frequency = statistics.document_frequency.get(term, 0)
    return math.log(1 + (statistics.passages - frequency + 0.5) / (frequency + 0.5))


def keyword_score(query: ParsedQuery, indexed: IndexedPassage, statistics: TextStatistics) -> float:
    """Return BM25 of a passage with weighted fields, 0 where it holds no term of the question."""
    mean = statistics.total_length / max(statistics.passages, 1)
    length = max(indexed.length, LENGTH_FLOOR) / max(mean, LENGTH_FLOOR)
    norm = K1 * (1 - B + B * length)
    exact: dict[str, int] = {}
    for root, word in query.forms:
        exact[root] = exact.get(root, 0) + indexed.exact_counts.get(word, 0)
    score = 0.0
    for term in query.terms:
        frequency = indexed.counts.get(term, 0) + HEADING_WEIGHT * indexed.heading_counts.get(term, 0)
        if frequency:
            frequency += EXACT_WEIGHT * exact.get(term, 0)
            score += inverse_frequency(statistics, term) * frequency * (K1 + 1) / (frequency + norm)
    return score


def coverage(query: ParsedQuery, indexed: IndexedPassage) -> float:
    """Return the share of the question's pieces of information that the passage holds, 0 to 1."""
    if not query.units:
        return 0.0
    known = indexed.counts.keys() | indexed.heading_counts.keys()
    return sum(1 for unit in query.units if not known.isdisjoint(unit)) / len(query.units)


def is_relevant(candidates: Sequence[Candidate], min_score: float) -> bool:
    """Tell whether the best candidates answer the question at all.

    Either the best raw cosine reaches `min_score`, or one passage holds a third of the question's terms. With
    a `min_score` of 0 anything is relevant.
    """
    cosine = max((c.cosine for c in candidates if c.cosine is not None), default=None)
    return (
        min_score <= 0
        or (cosine is not None and cosine >= min_score)
        or any(c.coverage >= MIN_COVERAGE for c in candidates)
    )


def fuse_scores(
    candidates: Sequence[Candidate],
    vector_weight: float,
    *,
    lowest: float | None = None,
    closest: tuple[float, float] | None = None,
) -> list[Ranked]:
    """Rank by the weighted sum of the scores, each normalised once over all candidates; ties by passage id.

    The keyword score is divided by the best; the cosine is scaled from the lowest, of the candidates or of all turns
    (`lowest`), to the highest, and so is the nearness of words, of the candidates or of all turns that were looked at
    (`closest`). `vector_weight` is 0 to 1 and the keyword score gets
    the rest; of both the nearest words take their share, unless one arm alone is asked.
    """
    best = max((c.keyword for c in candidates), default=0.0) or 1.0
    meanings = _scaled([c.meaning for c in candidates], () if lowest is None else (lowest,))
    nearest = _scaled([c.closeness for c in candidates], closest or ())
    share = CLOSEST_SHARE if 0 < vector_weight < 1 and any(c.closeness is not None for c in candidates) else 0.0
    ranked: list[Ranked] = []
    for candidate, meaning, close in zip(candidates, meanings, nearest, strict=True):
        addends: list[tuple[str, float]] = []
        if vector_weight < 1:
            addends.append(("words", (1 - share) * (1 - vector_weight) * candidate.keyword / best))
        if vector_weight > 0:
            addends.append(("meaning", (1 - share) * vector_weight * meaning))
        if share:
            addends.append(("nearest words", share * close))
        ranked.append(_ranked(candidate, (*addends, *candidate.addends)))
    return _ordered(ranked)


def _scaled(values: Sequence[float | None], bounds: Sequence[float]) -> list[float]:
    """Scale from the lowest to the highest, `bounds` among them, 0 to 1; what has no value is 0, all alike are 1."""
    known = [value for value in values if value is not None]
    low, high = (min(*known, *bounds), max(*known, *bounds)) if len(known) + len(bounds) > 1 else (0.0, 0.0)
    return [0.0 if value is None else (value - low) / (high - low) if high > low else 1.0 for value in values]


def fuse_ranks(candidates: Sequence[Candidate], vector_weight: float, *, k: int = RRF_K) -> list[Ranked]:
    """Rank by weighted reciprocal ranks of both arms; an arm gives nothing to what it does not know."""
    words = _ranks({i: c.keyword for i, c in enumerate(candidates) if c.keyword > 0})
    meaning = _ranks({i: c.meaning for i, c in enumerate(candidates) if c.meaning is not None})
    ranked = []
    for i, candidate in enumerate(candidates):
        addends = [("rank by words", (1 - vector_weight) / (k + words[i]) if i in words else 0.0)]
        if vector_weight > 0:
            addends.append(("rank by meaning", vector_weight / (k + meaning[i]) if i in meaning else 0.0))
        ranked.append(_ranked(candidate, addends))
    return _ordered(ranked)


def with_priors(ranked: Sequence[Ranked], now: str) -> list[Ranked]:
    """Let turns of the log weigh less than what was written down on purpose, old ones a little less again.

    Where all are turns, or none is, the first changes nothing.
    """
    if all(item.candidate.indexed.passage.turn is None for item in ranked):
        return list(ranked)
    return _ordered([_with_prior(item, now) for item in ranked])


def _with_prior(item: Ranked, now: str) -> Ranked:
    passage = item.candidate.indexed.passage
    if passage.turn is None:
        return item
    days = max((datetime.fromisoformat(now) - datetime.fromisoformat(passage.record.recorded_at)).days, 0)
    recency = 1 - RECENCY_SHARE * (1 - 0.5 ** (days / RECENCY_HALF_DAYS))
    addends = (
        ("a turn of the log", item.score * (TURN_PRIOR - 1)),
        ("its age", item.score * TURN_PRIOR * (recency - 1)),
    )
    return _ranked(item.candidate, (*item.addends, *addends))


def supported(ranked: Sequence[Ranked], grain: Grain) -> list[Ranked]:
    """Let sections and files gain from their other passages; passages, and sessions by their best turn, stay."""
    if grain in ("passage", "session"):
        return list(ranked)
    scores: dict[Hashable, list[float]] = {}
    for item in ranked:
        scores.setdefault(group_key(item.candidate, grain), []).append(item.score)
    gains = {
        key: sum(share * score for share, score in zip(GROUP_SUPPORT, found[1:], strict=False))
        for key, found in scores.items()
    }
    label = f"other passages of the {grain}"
    return _ordered(
        [_ranked(item.candidate, (*item.addends, (label, gains[group_key(item.candidate, grain)]))) for item in ranked]
    )


def group_key(candidate: Candidate, grain: Grain) -> Hashable:
    """Return what makes two candidates one hit: the record, the section or the file."""
    record = candidate.indexed.passage.record
    if grain == "passage":
        return candidate.scope, record.id
    if grain == "section":
        return candidate.scope, record.path, record.heading
    turn = candidate.indexed.passage.turn
    if grain == "session" and turn is not None:
        return candidate.scope, turn.session
    return candidate.scope, record.path


def _ranked(candidate: Candidate, addends: Sequence[tuple[str, float]]) -> Ranked:
    return Ranked(candidate=candidate, score=sum(value for _, value in addends), addends=tuple(addends))


def _ordered(ranked: list[Ranked]) -> list[Ranked]:
    return sorted(ranked, key=lambda r: (-r.score, str(r.candidate.scope), r.candidate.indexed.passage.id))


def _ranks(scores: Mapping[int, float]) -> dict[int, int]:
    """Return the rank from 1 of every index, best score first; equal scores keep their order."""
    return {index: rank for rank, index in enumerate(sorted(scores, key=lambda i: -scores[i]), 1)}
