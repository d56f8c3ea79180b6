"""Recall of what the store believed at an earlier time, and of what was true then. By words: the past has no vectors.

The index proposes; the events decide, because a record that went and came back was not believed in between.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from memoranda.domain import ranking
from memoranda.domain.passage import IndexedPassage
from memoranda.domain.query import Filters, Hit, Query, RecallResult, Trace
from memoranda.domain.ranking import Candidate, Ranked
from memoranda.domain.record import Record, Status
from memoranda.domain.scope import Scope, Viewer
from memoranda.domain.words import ParsedQuery, parse_query
from memoranda.ports import SearchIndex
from memoranda.services.recalling import Journal, completing, hit_of, scored

_MOST = 1_000_000
"""Candidates of one arm after which no more are asked for."""


@dataclass(frozen=True, slots=True)
class Past:
    """What only the ledger knows: which records were active at a time, and which texts a model must not see again.

    `rejected` asks by content hash, `hides` by text, for turns of the log.
    """

    believed: Callable[[Sequence[str], str], AbstractSet[str]]
    rejected: Callable[[Scope, Sequence[str]], AbstractSet[str]]
    hides: Callable[[Scope, str], bool]


@dataclass(frozen=True, slots=True)
class _Question:
    """A question with its words, filters and time in the form that is searched."""

    query: Query
    words: ParsedQuery
    filters: Filters
    as_of: str


def recall_past(
    viewer: Viewer,
    query: Query,
    *,
    index: SearchIndex,
    clock_now: Callable[[], str],
    locate: Callable[[Record, str], tuple[int, int] | None],
    past: Past,
) -> RecallResult:
    """Search what was believed at `query.as_of`; a later time than now is now.

    For a model, values that a person has rejected since do not return.

    Raises:
        BackendError: the index failed.
        InvalidInput: a time is none.
    """
    journal = Journal()
    journal.notes.append("the past is searched by words only")
    filters, as_of = query.filters.believed_at(query.as_of)
    as_of = min(as_of, clock_now())
    until = min(filters.until, as_of) if filters.until else as_of
    words = parse_query(query.text, completing(index, viewer))
    question = _Question(query, words, replace(filters, until=until), as_of)
    wanted = ranking.candidates_per_arm(query.limit)
    while True:
        candidates, exhausted = _candidates(index, sorted(viewer.scopes), question, wanted)
        known = _allowed(candidates, viewer, as_of, past)
        ranked = _ranked(known, question)
        groups = {ranking.group_key(item.candidate, query.grain) for item in ranked}
        if exhausted or len(groups) >= query.limit or wanted >= _MOST:
            break
        wanted *= 4
    journal.step("search")
    relevant = not known or not question.words.terms or ranking.is_relevant(known, query.min_score)
    hits = tuple(_hits(ranked, query, locate)) if relevant else ()
    journal.step("files")
    trace = Trace(
        terms=question.words.terms, phrases=tuple(map(" ".join, question.words.phrases)),
        scopes=tuple(map(str, sorted(viewer.scopes))), strategy=query.strategy, candidates=len(known),
        best_coverage=max((item.coverage for item in known), default=None), notes=tuple(journal.notes),
        milliseconds=tuple(journal.times),
    )  # fmt: skip
    return RecallResult(hits=hits, mode="keyword", trace=trace, relevant=relevant)


def _candidates(
    index: SearchIndex, scopes: Sequence[Scope], question: _Question, wanted: int
) -> tuple[list[Candidate], bool]:
    """Take candidates from the present and from the history of each scope; whether there are no more."""
    words, filters = question.words, question.filters
    statistics = ranking.pooled(index.statistics(scope, words.terms) for scope in scopes)
    terms = words.terms[: ranking.MAX_SEARCH_TERMS]
    asked = bool(question.query.text.strip())
    found: list[Candidate] = []
    exhausted = True
    if asked and not words.terms and not words.phrases:
        return [], True
    for scope in scopes:
        keys = (
            index.search_text(scope, terms, words.phrases, wanted, filters)
            if asked
            else index.newest(scope, wanted, filters)
        )
        gone = index.search_history(scope, terms, words.phrases, wanted, filters, as_of=question.as_of)
        exhausted = exhausted and len(keys) < wanted and len(gone) < wanted
        present: Sequence[IndexedPassage] = index.fetch(scope, keys)
        found += (scored(scope, item, words, statistics, None) for item in (*present, *gone))
    return found, exhausted


def _allowed(candidates: Sequence[Candidate], viewer: Viewer, as_of: str, past: Past) -> list[Candidate]:
    """Keep what was believed, and for a model nothing that a person has rejected since."""
    notes = [item for item in candidates if item.indexed.passage.turn is None]
    believed = past.believed(list(dict.fromkeys(item.indexed.passage.record.id for item in notes)), as_of)
    kept = [
        item
        for item in candidates
        if item.indexed.passage.turn is not None or item.indexed.passage.record.id in believed
    ]
    if not (viewer.principal.is_model or viewer.principal.is_job):
        return kept
    kept = [
        item
        for item in kept
        if item.indexed.passage.turn is None or not past.hides(item.scope, item.indexed.passage.text)
    ]
    rejected: set[tuple[Scope, str]] = set()
    for scope in {item.scope for item in kept}:
        texts = [
            item.indexed.passage.record.block_hash
            for item in kept
            if item.scope == scope and item.indexed.passage.turn is None
        ]
        rejected.update((scope, name) for name in past.rejected(scope, texts))
    return [item for item in kept if (item.scope, item.indexed.passage.record.block_hash) not in rejected]


def _ranked(candidates: Sequence[Candidate], question: _Question) -> list[Ranked]:
    if not question.query.text.strip():
        newest = sorted(
            candidates,
            key=lambda item: (item.indexed.passage.record.recorded_at, item.indexed.passage.id),
            reverse=True,
        )
        return [Ranked(candidate=item, score=0.0, addends=()) for item in newest]
    fuse = ranking.fuse_ranks if question.query.strategy == "rrf" else ranking.fuse_scores
    return ranking.supported(fuse(candidates, 0.0), question.query.grain)


def _hits(
    ranked: Sequence[Ranked], query: Query, locate: Callable[[Record, str], tuple[int, int] | None]
) -> Iterator[Hit]:
    seen: set[object] = set()
    characters = 0
    for item in ranked:
        group = ranking.group_key(item.candidate, query.grain)
        passage = item.candidate.indexed.passage
        if len(seen) == query.limit or group in seen:
            continue
        if query.token_budget and characters + len(passage.text) > query.token_budget * 4:
            continue
        seen.add(group)
        characters += len(passage.text)
        is_here = passage.record.status is Status.ACTIVE
        yield hit_of(item, (locate(passage.record, passage.text) or (0, 0)) if is_here else (0, 0))
