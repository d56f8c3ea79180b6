"""A search index in memory: the same answers as the built-in one, written the plain way."""

from __future__ import annotations

import math
import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from memoranda.domain.passage import IndexedPassage, Passage, TextStatistics
from memoranda.domain.passages import first_of_each, indexed_form
from memoranda.domain.query import Filters
from memoranda.domain.ranking import HEADING_WEIGHT
from memoranda.domain.scope import Scope
from memoranda.domain.turn_table import TurnEvidence
from memoranda.domain.words import analyse, analyse_titled
from memoranda.errors import InvalidInput
from memoranda.ports import IndexState, Vector
from memoranda.ports.log import LogMark
from memoranda.testing.memory_turns import BREAK, evidence_of, holds, passes

_K1, _B = 1.2, 0.75


@dataclass(slots=True)
class _Part:
    """What is held of one scope."""

    current: dict[int, Passage] = field(default_factory=dict)
    past: list[Passage] = field(default_factory=list)
    vectors: dict[str, dict[int, Vector]] = field(default_factory=dict)
    words: dict[str, dict[int, bytes]] = field(default_factory=dict)
    embedder: str = ""
    generation: int = 0
    applied: int = 0
    logs: dict[str, LogMark] = field(default_factory=dict)


class MemoryIndex:
    """A `SearchIndex` that lives as long as the object; for tests."""

    def __init__(self) -> None:
        self._parts: dict[Scope, _Part] = {}
        self._next_key = 1
        self._lock = threading.RLock()

    def put(
        self,
        scope: Scope,
        passages: Sequence[Passage],
        *,
        remove: Sequence[str] = (),
        retire: Sequence[Passage] = (),
        mark: tuple[int, int] | None = None,
    ) -> bool:
        """Replace records; see the port."""
        if any(passage.record.scope != scope for passage in (*passages, *retire)):
            raise InvalidInput(f"every passage put into the index of {scope} must belong to that scope")
        records = {*remove, *(passage.record.id for passage in (*passages, *retire))}
        with self._lock:
            if scope not in self._parts and not passages and not retire and mark is None:
                return True
            part = self._parts.setdefault(scope, _Part())
            old = {p.id: (key, p) for key, p in part.current.items() if p.record.id in records}
            part.past = [p for p in part.past if p.record.id not in records] + list(retire)
            for passage in passages:
                key, before = old.get(passage.id, (0, None))
                if before is not None and before.embedding_text == passage.embedding_text:
                    part.current[key] = passage
                    del old[passage.id]
                else:
                    part.current[self._next_key] = passage
                    self._next_key += 1
            for key, _ in old.values():
                del part.current[key]
                for known in part.vectors.values():
                    known.pop(key, None)
            part.generation += 1
            self._settle(part)
            if mark is not None and part.applied == mark[0]:
                part.applied = mark[1]
            return mark is None or part.applied == mark[1]

    def put_turns(
        self,
        scope: Scope,
        passages: Sequence[Passage],
        *,
        path: str,
        before: LogMark | None,
        after: LogMark | None,
        whole: bool = False,
    ) -> bool:
        """Take in turns of one log file; see the port."""
        with self._lock:
            part = self._parts.setdefault(scope, _Part())
            if part.logs.get(path) != before:
                return False
            gone = [key for key, p in part.current.items() if whole and p.turn and p.record.path == path]
            for key in gone:
                del part.current[key]
                for known in part.vectors.values():
                    known.pop(key, None)
            known_ids = {passage.record.id for passage in part.current.values()}
            for passage in first_of_each(passages):
                if passage.record.id not in known_ids:
                    part.current[self._next_key] = passage
                    self._next_key += 1
            part.generation += 1
            part.logs.pop(path, None)
            if after is not None:
                part.logs[path] = after
            return True

    def logs(self, scope: Scope) -> Mapping[str, LogMark]:
        """Return how far each log file was taken in; see the port."""
        return dict(self._part(scope).logs)

    def parts_of(self, scope: Scope, record_id: str) -> Sequence[Passage]:
        """Return what is indexed of one record or turn; see the port."""
        found = [passage for passage in self._part(scope).current.values() if passage.record.id == record_id]
        return sorted(found, key=lambda passage: passage.part)

    def turns(self, scope: Scope) -> Mapping[str, str]:
        """Return turn id -> fingerprint; see the port."""
        return self._forms(scope, turns=True)

    def records(self, scope: Scope) -> Mapping[str, str]:
        """Return record id -> fingerprint; see the port."""
        return self._forms(scope, turns=False)

    def _forms(self, scope: Scope, *, turns: bool) -> Mapping[str, str]:
        grouped: dict[str, list[Passage]] = {}
        for passage in self._part(scope).current.values():
            if (passage.turn is not None) == turns:
                grouped.setdefault(passage.record.id, []).append(passage)
        return {ident: indexed_form(sorted(found, key=lambda p: p.part)) for ident, found in grouped.items()}

    def state(self, scope: Scope) -> IndexState:
        """Count what is there; see the port."""
        part = self._part(scope)
        newest = next(reversed(part.vectors), "")
        return IndexState(
            passages=len(part.current),
            vectors=len(part.vectors.get(part.embedder, {})),
            embedder=part.embedder,
            pending=len(part.current.keys() - part.vectors.get(newest, {}).keys()),
            generation=part.generation,
            applied=part.applied,
        )

    def clear(self, scope: Scope) -> None:
        """Forget the scope."""
        with self._lock:
            self._parts.pop(scope, None)

    def search_text(
        self,
        scope: Scope,
        terms: Sequence[str],
        phrases: Sequence[Sequence[str]],
        limit: int,
        filters: Filters,
    ) -> Sequence[int]:
        """Return keys of the best passages; see the port."""
        found = {k: p for k, p in self._part(scope).current.items() if passes(p, filters)}
        everything = self._part(scope).current.values()
        scores = _scores(found, everything, terms, phrases)
        return sorted(scores, key=lambda key: (-scores[key], key))[:limit]

    def newest(self, scope: Scope, limit: int, filters: Filters) -> Sequence[int]:
        """Return keys of the newest passages; see the port."""
        found = {k: p for k, p in self._part(scope).current.items() if passes(p, filters)}
        return sorted(found, key=lambda key: (found[key].record.recorded_at, key), reverse=True)[:limit]

    def statistics(self, scope: Scope, terms: Sequence[str]) -> TextStatistics:
        """Return keyword statistics; see the port."""
        passages = list(self._part(scope).current.values())
        frequency = {term: _frequency(term, passages) for term in terms}
        length = sum(len(analyse(p.text).exact) for p in passages)
        known = {term: count for term, count in frequency.items() if count}
        return TextStatistics(len(passages), length, known, sum(1 for passage in passages if passage.turn))

    def words_beginning(self, scope: Scope, beginning: str, limit: int) -> Sequence[str]:
        """Return words that begin so; see the port."""
        held: Counter[str] = Counter()
        for key, passage in self._part(scope).current.items():
            row = _indexed(key, passage)
            held.update(row.counts.keys() | row.exact_counts.keys() | row.heading_counts.keys())
        begun = (word for word in held if word.startswith(beginning))
        return sorted(begun, key=lambda word: (-held[word], word))[:limit]

    def turn_evidence(
        self,
        scope: Scope,
        terms: Sequence[str],
        phrases: Sequence[Sequence[str]],
        filters: Filters,
        meaning: tuple[str, Vector] | None = None,
    ) -> TurnEvidence:
        """Return what is known of turns for a question; see the port."""
        part = self._part(scope)
        known = part.vectors.get(meaning[0], {}) if meaning and meaning[0] == part.embedder else {}
        cosines = {key: float(vector @ meaning[1]) for key, vector in known.items()} if meaning else {}
        is_of_other_model = bool(meaning and part.embedder not in ("", meaning[0]))
        found = evidence_of(part.current, terms, phrases, lambda passage: passes(passage, filters), cosines)
        return replace(found, is_of_other_model=is_of_other_model)

    def search_vector(
        self, scope: Scope, identity: str, query: Vector, limit: int, filters: Filters
    ) -> Sequence[tuple[int, float]] | None:
        """Return the nearest passages; see the port."""
        if query.dtype != np.float32 or query.ndim != 1:
            raise InvalidInput("a query vector must be one-dimensional float32")
        part = self._part(scope)
        if part.embedder not in ("", identity):
            return None
        found = {
            key: float(vector @ query)
            for key, vector in part.vectors.get(part.embedder, {}).items()
            if passes(part.current[key], filters)
        }
        return sorted(found.items(), key=lambda item: (-item[1], item[0]))[:limit]

    def similarities(self, scope: Scope, identity: str, query: Vector, keys: Sequence[int]) -> Mapping[int, float]:
        """Return the cosine of keys that have a vector; see the port."""
        part = self._part(scope)
        known = part.vectors.get(identity, {}) if identity == part.embedder else {}
        return {key: float(known[key] @ query) for key in keys if key in known}

    def fetch(self, scope: Scope, keys: Sequence[int]) -> Sequence[IndexedPassage]:
        """Return passages by key; see the port."""
        current = self._part(scope).current
        return [_indexed(key, current[key]) for key in keys if key in current]

    def pending(self, scope: Scope, identity: str, limit: int) -> Sequence[tuple[int, str]]:
        """Return what waits to be embedded; see the port."""
        part = self._part(scope)
        known = part.vectors.get(identity, {})
        waiting = sorted((key for key in part.current if key not in known), reverse=True)[:limit]
        return [(key, part.current[key].embedding_text) for key in waiting]

    def answer_alone(self, scope: Scope, identity: str) -> None:
        """Drop what other embedders have half built; see the port."""
        with self._lock:
            part = self._part(scope)
            if part.embedder == identity and part.vectors.get(identity, {}).keys() >= part.current.keys():
                part.vectors = {identity: part.vectors.get(identity, {})}

    def words(self, scope: Scope, identity: str, keys: Sequence[int]) -> Mapping[int, bytes]:
        """Return the words' vectors of passages; see the port."""
        part = self._part(scope)
        held, alive = part.words.get(identity, {}), part.vectors.get(identity, {})
        return {key: held[key] for key in keys if key in held and key in alive}

    def put_vectors(
        self, scope: Scope, identity: str, keys: Sequence[int], vectors: Vector, words: Sequence[bytes] = ()
    ) -> int:
        """Store vectors; see the port."""
        if vectors.dtype != np.float32 or vectors.ndim != 2 or len(vectors) != len(keys):  # noqa: PLR2004
            raise InvalidInput("vectors must be float32 with one row per key")
        with self._lock:
            part = self._parts.get(scope)
            if part is None:
                return 0
            fresh = {key: v.copy() for key, v in zip(keys, vectors, strict=True) if key in part.current}
            if fresh:
                part.vectors.setdefault(identity, {}).update(fresh)
                part.words.setdefault(identity, {}).update(zip(keys, words, strict=True) if words else ())
                part.generation += 1
                self._settle(part)
            return len(fresh)

    def search_history(
        self,
        scope: Scope,
        terms: Sequence[str],
        phrases: Sequence[Sequence[str]],
        limit: int,
        filters: Filters,
        *,
        as_of: str,
    ) -> Sequence[IndexedPassage]:
        """Return past passages; see the port."""
        past = dict(enumerate(self._part(scope).past, 1))
        found = {
            key: passage
            for key, passage in past.items()
            if passage.record.recorded_at <= as_of < passage.record.retired_at and passes(passage, filters)
        }
        if terms or phrases:
            scores = _scores(found, past.values(), terms, phrases)
            order = sorted(scores, key=lambda key: (-scores[key], key))
        else:
            order = sorted(found, key=lambda key: (found[key].record.recorded_at, key), reverse=True)
        return [_indexed(key, found[key]) for key in order[:limit]]

    def check(self, scope: Scope) -> Sequence[str]:
        """Return nothing: memory has no bytes that flip by themselves."""
        self._part(scope)
        return ()

    def scopes(self) -> Sequence[Scope]:
        """Return the scopes that have an index."""
        return sorted(self._parts)

    def _part(self, scope: Scope) -> _Part:
        return self._parts.get(scope, _Part())

    @staticmethod
    def _settle(part: _Part) -> None:
        building = [name for name in reversed(part.vectors) if name != part.embedder]
        complete = [name for name in building if part.vectors[name].keys() >= part.current.keys()]
        if complete:
            part.embedder = complete[0]
            part.vectors = {part.embedder: part.vectors[part.embedder]}
        elif building and not part.vectors.get(part.embedder):
            part.embedder = building[0]


def _indexed(key: int, passage: Passage) -> IndexedPassage:
    text, heading = analyse_titled(passage.text, passage.heading_text)
    exact = Counter((*text.exact, *heading.exact))
    return IndexedPassage(key, passage, Counter(text.terms), len(text.exact), Counter(heading.terms), exact)


def _frequency(term: str, passages: Sequence[Passage]) -> int:
    in_text = sum(1 for passage in passages if term in analyse(passage.text).terms)
    return max(
        in_text, sum(1 for passage in passages if term in analyse_titled(passage.text, passage.heading_text)[1].terms)
    )


def _scores(
    found: Mapping[int, Passage],
    everything: Iterable[Passage],
    terms: Sequence[str],
    phrases: Sequence[Sequence[str]],
) -> dict[int, float]:
    """Return BM25 of the passages that hold any term and every phrase."""
    if not terms and not phrases:
        return {}
    passages = list(everything)
    mean = sum(len(analyse(p.text).exact) for p in passages) / max(len(passages), 1) or 1.0
    idf = {t: math.log(1 + (len(passages) + 0.5) / (_frequency(t, passages) + 0.5)) for t in terms}
    scores = {}
    for key, passage in found.items():
        text, heading = analyse_titled(passage.text, passage.heading_text)
        bag, titles = Counter(text.terms), Counter(heading.terms)
        held = {t: bag[t] + HEADING_WEIGHT * titles[t] for t in terms if t in bag or t in titles}
        stream = (*text.exact, BREAK, *heading.exact)
        if (held or not terms) and all(holds(stream, {*bag, *titles}, phrase) for phrase in phrases):
            norm = _K1 * (1 - _B + _B * len(text.exact) / mean)
            scores[key] = sum(idf[t] * n * (_K1 + 1) / (n + norm) for t, n in held.items())
    return scores
