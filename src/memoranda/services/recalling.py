"""What both kinds of recall share: the journal of a search, scoring of a passage, and its form as an answer."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from memoranda.domain import ranking
from memoranda.domain.passage import IndexedPassage, TextStatistics
from memoranda.domain.query import Hit
from memoranda.domain.ranking import Candidate, Ranked
from memoranda.domain.scope import Scope
from memoranda.domain.words import ParsedQuery


@dataclass(slots=True)
class Journal:
    """Notes and times of one search, for its trace."""

    notes: list[str] = field(default_factory=list)
    times: list[tuple[str, float]] = field(default_factory=list)
    _last: float = field(default_factory=time.perf_counter)

    def step(self, name: str) -> None:
        """Note how long it took since the last step, in milliseconds."""
        now = time.perf_counter()
        self.times.append((name, round((now - self._last) * 1000, 3)))
        self._last = now


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
