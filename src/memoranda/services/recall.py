"""The only door through which memory is searched."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date

from memoranda.domain import ranking
from memoranda.domain.access import is_bound_by_rejection
from memoranda.domain.passage import Passage, TextStatistics
from memoranda.domain.query import MAX_QUERY_CHARS, Filters, Hit, Mode, Query, RecallResult, Trace
from memoranda.domain.ranking import Candidate, Ranked
from memoranda.domain.record import Record
from memoranda.domain.scope import Scope, Viewer
from memoranda.domain.words import ParsedQuery, parse_query
from memoranda.errors import InvalidInput
from memoranda.ports import Embedder, SearchIndex
from memoranda.ports.arm import Remarking
from memoranda.services.meaning import Meaning, meaning_of
from memoranda.services.recall_notes import note_candidates
from memoranda.services.recall_past import Past, recall_past
from memoranda.services.recalling import Journal, completing, hit_of

Locate = Callable[[Record, str], tuple[int, int] | None]
"""Finds the lines, from 1, of a record's text in its file as it is now; None where the file no longer holds
it.
"""

CHARACTERS_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class Turns:
    """What the log knows of turns: the line where one stands now (None where it is gone), and what no model sees again.

    `hides` says whether a text says what a person has rejected, `today` which day it is for the user.
    """

    locate: Callable[[Passage], tuple[int, int] | None]
    hides: Callable[[Scope, str], bool]
    today: Callable[[], date]


@dataclass(frozen=True, slots=True)
class _Pool:
    """All candidates, the question's meaning where any has a vector, and what turns are scaled by."""

    candidates: list[Candidate]
    meaning: Meaning | None
    lowest: float | None
    closest: tuple[float, float] | None


def recall(
    viewer: Viewer,
    query: Query,
    *,
    index: SearchIndex,
    embedder: Embedder | None,
    clock_now: Callable[[], str],
    locate: Locate,
    past: Past | None = None,
    turns: Turns | None = None,
) -> RecallResult:
    """Search what the viewer may read and return hits best first, newest first for a question without words.

    With `query.as_of` it is what the store believed then; `past` answers for that.
    A hit whose text is no longer in its file is left out and the next one taken. `withheld` is the caller's
    to fill: what waits for review is in no index.

    Raises:
        BackendError: the index failed. A failing embedder only takes the vector arm away; `mode` says so.
        InvalidInput: a filter holds a time that is none.
    """
    if query.as_of:
        if past is None:
            raise InvalidInput("this search knows the present only")
        return recall_past(viewer, query, index=index, clock_now=clock_now, locate=locate, past=past)
    journal = Journal()
    now = clock_now()
    filters = _of_grain(query).in_utc(now)
    words = parse_query(query.text, completing(index, viewer))
    statistics = {scope: index.statistics(scope, words.terms) for scope in sorted(viewer.scopes)}
    scopes = [scope for scope, counted in statistics.items() if counted.passages]
    if len(query.text) > MAX_QUERY_CHARS:
        journal.notes.append(f"question cut at {MAX_QUERY_CHARS} characters")
    meaning = meaning_of(query, words, embedder, journal, _held(index, scopes)) if scopes else None
    journal.step("question")
    if not query.text.strip():
        candidates = _newest(index, scopes, query, filters)
        ranked = [Ranked(candidate=c, score=0.0, addends=()) for c in candidates]
    elif not words.terms and not words.phrases:
        candidates, ranked = [], []
        journal.notes.append("the question holds no word")
    else:
        pooled = ranking.pooled(statistics.values())
        pool = _candidates(
            index, scopes, query, filters=filters, words=words, statistics=pooled, meaning=meaning, journal=journal,
            today=turns.today() if turns else None,
        )  # fmt: skip
        candidates, meaning = pool.candidates, pool.meaning
        ranked = _fused(pool, query, now)
    journal.step("search")
    relevant = not candidates or not words.terms or ranking.is_relevant(candidates, query.min_score)
    hits = tuple(_hits(ranked, query, _Finder(viewer, locate, turns), journal)) if relevant else ()
    journal.step("files")
    trace = _trace(query, words, scopes, meaning, candidates, journal)
    return RecallResult(hits=hits, mode=_mode(meaning), trace=trace, relevant=relevant)


def _held(index: SearchIndex, scopes: Sequence[Scope]) -> Callable[[], frozenset[str]]:
    """Return what tells the identities whose vectors answer in these scopes."""
    return lambda: frozenset(index.state(scope).embedder for scope in scopes) - {""}


def _of_grain(query: Query) -> Filters:
    """Return the filters for what a grain is made of: sessions of turns, sections and files of notes."""
    if query.grain == "session":
        return query.filters.of("turn")
    return query.filters if query.grain == "passage" else query.filters.of("note")


@dataclass(frozen=True, slots=True)
class _Finder:
    """Finds the lines of a passage as its file is now."""

    viewer: Viewer
    locate: Locate
    turns: Turns | None

    def lines(self, passage: Passage) -> tuple[int, int] | None:
        """Return them; None where the file no longer holds it, or where this viewer must not see it again."""
        if passage.turn is None:
            return self.locate(passage.record, passage.text)
        if self.turns is None:
            return passage.turn.line, passage.turn.line
        if is_bound_by_rejection(self.viewer.principal) and self.turns.hides(passage.record.scope, passage.text):
            return None
        return self.turns.locate(passage)


def _trace(
    query: Query,
    words: ParsedQuery,
    scopes: Sequence[Scope],
    meaning: Meaning | None,
    candidates: Sequence[Candidate],
    journal: Journal,
) -> Trace:
    return Trace(
        terms=words.terms,
        phrases=tuple(" ".join(phrase) for phrase in words.phrases),
        scopes=tuple(map(str, scopes)),
        embedder=meaning.identity if meaning else "",
        strategy=query.strategy,
        weights=(1 - meaning.weight, meaning.weight) if meaning else (1.0, 0.0),
        candidates=len(candidates),
        best_cosine=max((c.cosine for c in candidates if c.cosine is not None), default=None),
        best_coverage=max((c.coverage for c in candidates), default=None),
        notes=tuple(journal.notes),
        gone=journal.gone,
        milliseconds=tuple(journal.times),
    )


def _mode(meaning: Meaning | None) -> Mode:
    if meaning is None:
        return "keyword"
    return "vector" if meaning.weight >= 1 else "hybrid"


def _newest(index: SearchIndex, scopes: Sequence[Scope], query: Query, filters: Filters) -> list[Candidate]:
    """Return the newest passages of all scopes, newest first."""
    wanted = ranking.candidates_per_arm(query.limit)
    found = [
        Candidate(scope=scope, indexed=indexed, keyword=0.0, coverage=0.0)
        for scope in scopes
        for indexed in index.fetch(scope, index.newest(scope, wanted, filters))
    ]
    return sorted(found, key=lambda c: (c.indexed.passage.record.recorded_at, c.indexed.key), reverse=True)


def _candidates(
    index: SearchIndex,
    scopes: Sequence[Scope],
    query: Query,
    *,
    filters: Filters,
    words: ParsedQuery,
    statistics: TextStatistics,
    meaning: Meaning | None,
    journal: Journal,
    today: date | None,
) -> _Pool:
    """Pool the candidates of all scopes, notes and turns, each kind scored with one set of statistics.

    There is no meaning where no scope could answer by vector.
    """
    found: list[Candidate] = []
    lowest: float | None = None
    closest: tuple[float, float] | None = None
    others: set[Scope] = set()
    if statistics.turns and filters.sources != {"note"}:
        from memoranda.services import recall_turns  # noqa: PLC0415 - numpy costs 0.15 s of every start

        said = recall_turns.turn_candidates(index, scopes, query, words, filters.of("turn"), meaning, today)
        found, lowest, closest, others = list(said.found), said.lowest, said.closest, set(said.others)
    if statistics.turns < statistics.passages and filters.sources != {"turn"}:
        of_notes = filters.of("note") if statistics.turns else filters
        for scope in scopes:
            notes, is_of_other_model = note_candidates(index, scope, query, of_notes, words, statistics, meaning)
            found += notes
            others |= {scope} if is_of_other_model else set()
    for scope in sorted(others):
        journal.notes.append(f"{scope} is not embedded by this model yet: keyword search only there")
    if meaning is not None and isinstance(index, Remarking):
        remarks = dict.fromkeys(remark for scope in scopes if (remark := index.remark(scope)))
        journal.notes.extend(f"{remark}: the built-in scan was used" for remark in remarks)
    is_meant = any(candidate.cosine is not None for candidate in found)
    return _Pool(found, meaning if is_meant else None, lowest, closest)


def _fused(pool: _Pool, query: Query, now: str) -> list[Ranked]:
    weight = pool.meaning.weight if pool.meaning else 0.0
    if query.strategy == "rrf":
        ranked = ranking.fuse_ranks(pool.candidates, weight)
    else:
        ranked = ranking.fuse_scores(pool.candidates, weight, lowest=pool.lowest, closest=pool.closest)
    return ranking.supported(ranking.with_priors(ranked, now), query.grain)


def _hits(ranked: Sequence[Ranked], query: Query, finder: _Finder, journal: Journal) -> Iterator[Hit]:
    """Yield the best candidate of each group that the files still hold, up to limit and token budget."""
    seen: set[object] = set()
    gone = unfit = characters = 0
    for item in ranked:
        group = ranking.group_key(item.candidate, query.grain)
        if len(seen) == query.limit or group in seen:
            continue
        passage = item.candidate.indexed.passage
        lines = finder.lines(passage)
        if lines is None:
            gone += 1
            continue
        if query.token_budget and characters + len(passage.text) > query.token_budget * CHARACTERS_PER_TOKEN:
            unfit += 1
            continue
        seen.add(group)
        characters += len(passage.text)
        yield hit_of(item, lines)
    journal.gone = gone
    if gone:
        journal.notes.append(f"{gone} left out: no longer in the file (`memoranda sync` takes note), or rejected since")
    if unfit:
        journal.notes.append(f"{unfit} left out: over the token budget")
