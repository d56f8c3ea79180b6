"""The notes among the candidates of a search: what either arm finds, scored by both."""

from __future__ import annotations

from collections.abc import Sequence

from memoranda.domain import ranking
from memoranda.domain.passage import TextStatistics
from memoranda.domain.query import Filters, Query
from memoranda.domain.ranking import Candidate
from memoranda.domain.scope import Scope
from memoranda.domain.scripts import is_hardly_latin
from memoranda.domain.words import ParsedQuery
from memoranda.ports import SearchIndex
from memoranda.services.meaning import Meaning
from memoranda.services.recalling import scored


def note_candidates(
    index: SearchIndex,
    scope: Scope,
    query: Query,
    filters: Filters,
    words: ParsedQuery,
    statistics: TextStatistics,
    meaning: Meaning | None,
) -> tuple[list[Candidate], bool]:
    """Return the notes that either arm finds, with their scores, and whether their vectors are of another model.

    Raises:
        BackendError: the index failed.
    """
    wanted = ranking.candidates_per_arm(query.limit)
    near = index.search_vector(scope, meaning.identity, meaning.vector, wanted, filters) if meaning else ()
    cosines = dict(near or ())
    keys: list[int] = []
    if meaning is None or meaning.weight < 1 or words.phrases:
        terms = ranking.search_terms(words.terms, statistics)
        keys += index.search_text(scope, terms, words.phrases, wanted, filters)
    by_words = frozenset(keys)
    if not words.phrases:  # a phrase is a condition: what merely means the same is no answer then
        keys = list(dict.fromkeys((*keys, *cosines)))
    if meaning is not None and near is not None:
        missing = [key for key in keys if key not in cosines]
        cosines |= index.similarities(scope, meaning.identity, meaning.vector, missing)
    found = index.fetch(scope, keys)
    if meaning is not None and not meaning.reads_all_scripts:
        unread = {item.key for item in found if is_hardly_latin(item.passage.text)}
        cosines = {key: cosine for key, cosine in cosines.items() if key not in unread}
        found = [item for item in found if item.key not in unread or item.key in by_words]
    close = _closeness(index, scope, meaning, [key for key in keys if key in cosines]) if meaning else {}
    candidates = [scored(scope, item, words, statistics, cosines.get(item.key), close.get(item.key)) for item in found]
    return candidates, near is None


def _closeness(index: SearchIndex, scope: Scope, meaning: Meaning, keys: Sequence[int]) -> dict[int, float]:
    """Return how near the words of those passages that have vectors of words come to the question's."""
    if not meaning.words.words:
        return {}
    from memoranda.domain.word_vectors import nearest  # noqa: PLC0415 - whoever embedded the question has loaded numpy

    held = index.words(scope, meaning.identity, keys)
    near = nearest(meaning.words, list(held.values())).mean(axis=1)
    return {key: float(value) for key, value in zip(held, near, strict=True)}
