"""What both kinds of recall share: the journal of a search, scoring of a passage, and its form as an answer."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from memoranda.domain import ranking
from memoranda.domain.passage import IndexedPassage, TextStatistics
from memoranda.domain.query import Hit
from memoranda.domain.ranking import Candidate, Ranked
from memoranda.domain.scope import Scope, Viewer
from memoranda.domain.words import ParsedQuery
from memoranda.ports import SearchIndex

MIN_BEGINNING, MAX_COMPLETIONS = 2, 32
"""The shortest beginning of a word that is completed, and the most words that it may stand for."""


@dataclass(slots=True)
class Journal:
    """Notes and times of one search, for its trace."""

    notes: list[str] = field(default_factory=list)
    times: list[tuple[str, float]] = field(default_factory=list)
    gone: int = 0
    _last: float = field(default_factory=time.perf_counter)

    def step(self, name: str) -> None:
        """Note how long it took since the last step, in milliseconds."""
        now = time.perf_counter()
        self.times.append((name, round((now - self._last) * 1000, 3)))
        self._last = now


def completing(index: SearchIndex, viewer: Viewer) -> Callable[[str], Sequence[str]]:
    """Return what names the words that begin so in what a viewer may read, those that most passages hold first."""

    def words(beginning: str) -> Sequence[str]:
        if len(beginning) < MIN_BEGINNING:
            return ()
        found = [index.words_beginning(scope, beginning, MAX_COMPLETIONS) for scope in sorted(viewer.scopes)]
        return tuple(word for rank in zip_longest(*found) for word in dict.fromkeys(rank) if word)[:MAX_COMPLETIONS]

    return words


def scored(
    scope: Scope,
    indexed: IndexedPassage,
    words: ParsedQuery,
    statistics: TextStatistics,
    cosine: float | None,
    closeness: float | None = None,
) -> Candidate:
    """Return a passage with its raw scores."""
    return Candidate(
        scope=scope,
        indexed=indexed,
        keyword=ranking.keyword_score(words, indexed, statistics),
        coverage=ranking.coverage(words, indexed),
        cosine=cosine,
        closeness=closeness,
    )


def hit_of(item: Ranked, lines: tuple[int, int]) -> Hit:
    """Return the answer that a ranked passage stands for."""
    passage = item.candidate.indexed.passage
    record = passage.record
    return Hit(
        chunk_id=passage.id,
        record_id=record.id,
        scope=record.scope,
        path=record.path,
        line_start=lines[0],
        line_end=lines[1],
        heading=record.heading,
        text=passage.text,
        score=item.score,
        addends=item.addends,
        kind=record.kind,
        title=record.title,
        tags=record.tags,
        trust=record.trust,
        author=str(record.author),
        recorded_at=record.recorded_at,
        status=record.status,
        valid_from=record.valid_from,
        valid_to=record.valid_to,
        retired_at=record.retired_at,
        turn=passage.turn,
    )
