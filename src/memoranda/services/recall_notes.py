"""The notes among the candidates of a search: what either arm finds, scored by both."""

from __future__ import annotations

from memoranda.domain import ranking
from memoranda.domain.passage import TextStatistics
from memoranda.domain.query import Filters, Query
from memoranda.domain.ranking import Candidate
from memoranda.domain.scope import Scope
from memoranda.domain.words import ParsedQuery
from memoranda.ports import SearchIndex, Vector
from memoranda.services.recalling import scored


def note_candidates(
    index: SearchIndex,
    scope: Scope,
    query: Query,
    filters: Filters,
    words: ParsedQuery,
    statistics: TextStatistics,
    meaning: tuple[str, Vector, float] | None,
) -> tuple[list[Candidate], bool]:
    """Return the notes that either arm finds, with both scores, and whether their vectors are of another model.

    `meaning` is identity, vector and the vectors' share.

    Raises:
        BackendError: the index failed.
    """
    wanted = ranking.candidates_per_arm(query.limit)
    near = index.search_vector(scope, *meaning[:2], wanted, filters) if meaning else ()
    cosines = dict(near or ())
    keys: list[int] = []
    if meaning is None or meaning[2] < 1 or words.phrases:
        terms = ranking.search_terms(words.terms, statistics)
        keys += index.search_text(scope, terms, words.phrases, wanted, filters)
    if not words.phrases:  # a phrase is a condition: what merely means the same is no answer then
        keys = list(dict.fromkeys((*keys, *cosines)))
    if meaning is not None and near is not None:
        missing = [key for key in keys if key not in cosines]
        cosines |= index.similarities(scope, *meaning[:2], missing)
    found = index.fetch(scope, keys)
    return [scored(scope, item, words, statistics, cosines.get(item.key)) for item in found], near is None
