"""Tests of scoring, fusion, the relevance bar and grouping."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoranda.domain import ranking
from memoranda.domain.passage import IndexedPassage, TextStatistics
from memoranda.domain.passages import passages_of
from memoranda.domain.ranking import Candidate
from memoranda.domain.record import Record
from memoranda.domain.scope import APPLICATION, Scope
from memoranda.domain.words import analyse, parse_query

A, B = Scope("agent", "a"), Scope("agent", "b")


def indexed(
    text: str, *, ident: str = "rec_1", path: str = "memory/n.md", heading: tuple[str, ...] = ()
) -> IndexedPassage:
    """Return a passage with its counts."""
    record = Record(id=ident, scope=A, path=path, block_hash="", heading=heading, author=APPLICATION, recorded_at="t")
    (passage,) = passages_of(record, text, "")
    words, titles = analyse(text), analyse(passage.heading_text)
    exact = Counter((*words.exact, *titles.exact))
    return IndexedPassage(1, passage, Counter(words.terms), len(words.exact), Counter(titles.terms), exact)


def candidate(
    ident: str,
    keyword: float,
    cosine: float | None = None,
    *,
    path: str = "memory/n.md",
    coverage: float = 0.0,
) -> Candidate:
    """Return a candidate with made-up scores."""
    return Candidate(
        scope=A,
        indexed=indexed("x", ident=ident, path=path),
        keyword=keyword,
        coverage=coverage,
        cosine=cosine,
    )


STATISTICS = TextStatistics(100, 2_000, {"apricot": 2, "jam": 50, "run": 5, "univers": 3})


def scored(question: str, text: str, **fields: tuple[str, ...]) -> float:
    """Return the keyword score of a text."""
    return ranking.keyword_score(parse_query(question), indexed(text, **fields), STATISTICS)  # type: ignore[arg-type]


def test_rare_words_frequency_and_headings_count() -> None:
    """A rare word beats a common one, two beat one, text beats heading, heading beats nothing."""
    assert scored("apricot jam", "apricot") > scored("apricot jam", "jam") > 0
    assert scored("apricot", "apricot apricot") > scored("apricot", "apricot tree")
    assert scored("apricot", "apricot") > scored("apricot", "tree", heading=("Apricot",)) > 0
    assert scored("apricot", "tree") == 0


def test_the_exact_word_beats_its_kin() -> None:
    """Of two words with one stem the one that was asked scores higher, and the other still scores."""
    assert scored("university", "university") > scored("university", "universal") > 0


def test_short_texts_are_not_favoured_below_the_floor_and_long_ones_pay() -> None:
    """Under fifty words length does not matter; a long text with the same word scores less."""
    assert scored("apricot", "apricot") == scored("apricot", "apricot and some other words")
    assert scored("apricot", "apricot") > scored("apricot", "apricot " + "word " * 150)


def test_pooled_statistics_are_sums() -> None:
    """Passages, lengths and document frequencies of scopes add up."""
    pooled = ranking.pooled([STATISTICS, TextStatistics(10, 50, {"jam": 1, "new": 1})])
    assert (pooled.passages, pooled.total_length) == (110, 2_050)
    assert pooled.document_frequency == {"apricot": 2, "jam": 51, "run": 5, "univers": 3, "new": 1}


def test_the_rarest_known_terms_are_searched() -> None:
    """Unknown terms are left out, and of many the rarest stay in their order."""
    frequency = {f"t{i}": 1000 - i for i in range(200)}
    terms = ranking.search_terms(["unknown", *frequency], TextStatistics(2_000, 1, frequency))
    assert terms == tuple(f"t{i}" for i in range(200 - ranking.MAX_SEARCH_TERMS, 200))


def test_scores_are_normalised_once_over_all_candidates() -> None:
    """The best keyword score is worth its share, the best cosine the other share, the lowest nothing."""
    ranked = ranking.fuse_scores([candidate("1", 4.0, 0.2), candidate("2", 1.0, 0.8), candidate("3", 0.0, 0.5)], 0.4)
    assert [item.candidate.indexed.passage.id for item in ranked] == ["1", "2", "3"]
    assert [round(item.score, 6) for item in ranked] == [0.6, 0.55, 0.2]
    assert dict(ranked[1].addends) == {"words": pytest.approx(0.15), "meaning": pytest.approx(0.4)}


def test_no_vector_weight_is_keyword_order() -> None:
    """With weight 0 cosines do not move anything; with weight 1 only they do."""
    found = [candidate("1", 1.0, 0.9), candidate("2", 3.0, 0.1)]
    assert [r.candidate.indexed.passage.id for r in ranking.fuse_scores(found, 0.0)] == ["2", "1"]
    assert [r.candidate.indexed.passage.id for r in ranking.fuse_scores(found, 1.0)] == ["1", "2"]


def test_reciprocal_ranks() -> None:
    """Rank fusion adds weighted reciprocals, and an unknown rank adds nothing."""
    ranked = ranking.fuse_ranks([candidate("1", 5.0), candidate("2", 1.0, 0.9)], 0.5, k=60)
    scores = {item.candidate.indexed.passage.id: item.score for item in ranked}
    assert scores == {"1": pytest.approx(0.5 / 61), "2": pytest.approx(0.5 / 62 + 0.5 / 61)}


@given(
    st.lists(st.tuples(st.floats(0, 50), st.none() | st.floats(-1, 1, width=32)), max_size=20),
    st.floats(0, 1),
    st.sampled_from(["fuse_scores", "fuse_ranks"]),
)
def test_addends_sum_to_the_score(scores: list[tuple[float, float | None]], weight: float, fuse: str) -> None:
    """Every candidate is ranked once, in falling order, and its addends explain its score."""
    found = [candidate(str(i), keyword, cosine) for i, (keyword, cosine) in enumerate(scores)]
    ranked = getattr(ranking, fuse)(found, weight)
    assert len(ranked) == len(found)
    assert all(item.score == pytest.approx(sum(value for _, value in item.addends)) for item in ranked)
    assert [item.score for item in ranked] == sorted((item.score for item in ranked), reverse=True)


def test_the_relevance_bar() -> None:
    """A cosine at the bar or a third of the terms is relevant, less of both is not; 0 lets all pass."""
    assert ranking.is_relevant([candidate("1", 0.0, 0.15)], 0.15)
    assert ranking.is_relevant([candidate("1", 1.0, 0.1, coverage=1 / 3)], 0.15)
    assert not ranking.is_relevant([candidate("1", 1.0, 0.14, coverage=0.3)], 0.15)
    assert ranking.is_relevant([candidate("1", 1.0, 0.14, coverage=0.3)], 0.0)


def test_coverage_counts_pieces_of_information() -> None:
    """Coverage is the share of the question's words that text or heading hold; a compound is one of them."""
    question = parse_query("deploy the foo-bar service tonight")
    assert ranking.coverage(question, indexed("foo")) == 1 / 4
    assert ranking.coverage(question, indexed("foo", heading=("Deploy",))) == 2 / 4
    assert ranking.coverage(question, indexed("nothing")) == 0


def test_a_file_gains_from_its_other_passages() -> None:
    """Two good passages of one file beat a slightly better one of another, at grain file alone."""
    found = [
        candidate("1", 10.0, path="memory/a.md"),
        candidate("2", 9.0, path="memory/b.md"),
        candidate("3", 8.0, path="memory/b.md"),
    ]
    ranked = ranking.fuse_scores(found, 0.0)
    assert ranking.supported(ranked, "passage")[0].candidate.indexed.passage.id == "1"
    best = ranking.supported(ranked, "file")[0]
    assert best.candidate.indexed.passage.id == "2"
    assert dict(best.addends)["other passages of the file"] == pytest.approx(0.3 * 0.8)


def test_groups() -> None:
    """Parts of a record are one hit, sections are told by path and heading, files by path, scopes always."""
    one = Candidate(scope=A, indexed=indexed("x", heading=("H",)), keyword=0, coverage=0)
    other = Candidate(scope=A, indexed=indexed("x", heading=("G",)), keyword=0, coverage=0)
    elsewhere = Candidate(scope=B, indexed=indexed("x", heading=("H",)), keyword=0, coverage=0)
    assert ranking.group_key(one, "passage") == ranking.group_key(other, "passage")
    assert ranking.group_key(one, "section") != ranking.group_key(other, "section")
    assert ranking.group_key(one, "file") == ranking.group_key(other, "file")
    assert ranking.group_key(one, "file") != ranking.group_key(elsewhere, "file")
