# ruff: noqa: S101, PLR2004, RUF001 - assert, literals and many scripts are how a suite speaks
"""The conformance suite of `SearchIndex`: subclass it, override the `index` fixture, run it with pytest."""

from __future__ import annotations

import numpy as np
import pytest

from memoranda.domain.passage import Passage
from memoranda.domain.passages import indexed_form, passages_of
from memoranda.domain.query import Filters
from memoranda.domain.record import Kind, Record, Trust
from memoranda.domain.scope import APPLICATION, OPERATOR, REALM, Scope
from memoranda.domain.words import parse_query
from memoranda.errors import InvalidInput
from memoranda.ports import SearchIndex, Vector

SCOPE = Scope("agent", "a-b")
NEIGHBOURS = (
    Scope("agent", "a_b"), Scope("agent", "ab"), Scope("agent", "a-b-c"), Scope("agent", "a"),
    Scope("team", "a-b"), OPERATOR, REALM,
)  # fmt: skip
"""Scopes that differ from `SCOPE` in one sign, are its prefix, or share its id."""


def time_at(day: int) -> str:
    """Return a time in January 2026 as it is stored."""
    return f"2026-01-{day:02d}T00:00:00.000000+00:00"


def made(ident: str, text: str, *, scope: Scope = SCOPE, **fields: object) -> tuple[Passage, ...]:
    """Return the passages of a made-up record `rec_<ident>`; `fields` are those of `Record`."""
    known: dict[str, object] = {"path": "memory/notes.md", "block_hash": "", "recorded_at": time_at(1)}
    record = Record(id=f"rec_{ident}", scope=scope, author=APPLICATION, **(known | fields))  # type: ignore[arg-type]
    return passages_of(record, text, "Notes")


def found(
    index: SearchIndex,
    question: str,
    *,
    scope: Scope = SCOPE,
    filters: Filters | None = None,
    limit: int = 10,
) -> list[str]:
    """Return the record ids that a question finds by words, best first."""
    words = parse_query(question)
    keys = index.search_text(scope, words.terms, words.phrases, limit, filters or Filters())
    return [hit.passage.record.id for hit in index.fetch(scope, keys)]


def unit(*values: float) -> Vector:
    """Return a float32 vector of unit length."""
    vector = np.array(values, np.float32)
    return (vector / np.linalg.norm(vector)).astype(np.float32)


def embed(index: SearchIndex, identity: str, vectors: dict[str, Vector], *, scope: Scope = SCOPE) -> int:
    """Store the vectors of those record ids that wait for one; returns how many were stored."""
    waiting = [key for key, _ in index.pending(scope, identity, 1000)]
    records = {hit.key: hit.passage.record.id for hit in index.fetch(scope, waiting)}
    keys = [key for key in waiting if records[key] in vectors]
    return index.put_vectors(scope, identity, keys, np.stack([vectors[records[key]] for key in keys])) if keys else 0


def nearest(
    index: SearchIndex, identity: str, query: Vector, *, scope: Scope = SCOPE, filters: Filters | None = None
) -> list[str] | None:
    """Return the record ids nearest to a vector, or None where another identity answers."""
    near = index.search_vector(scope, identity, query, 10, filters or Filters())
    if near is None:
        return None
    return [hit.passage.record.id for hit in index.fetch(scope, [key for key, _ in near])]


class SearchIndexSuite:
    """What every search index must do."""

    @pytest.fixture
    def index(self) -> SearchIndex:
        """Return an empty index."""
        raise NotImplementedError

    def test_an_absent_index_is_an_empty_one(self, index: SearchIndex) -> None:
        """Reading a scope that was never written answers empty and creates nothing; a written one exists."""
        assert index.state(SCOPE).passages == 0
        assert found(index, "anything") == []
        assert index.newest(SCOPE, 5, Filters()) == [] or index.newest(SCOPE, 5, Filters()) == ()
        assert not index.search_vector(SCOPE, "m", unit(1, 0), 5, Filters())
        assert index.scopes() == []
        index.put(SCOPE, made("1", "something"))
        assert list(index.scopes()) == [SCOPE]
        assert index.state(SCOPE).passages == 1

    def test_what_was_put_comes_back_whole(self, index: SearchIndex) -> None:
        """A fetched passage equals the one that was put, with every field of its record."""
        passages = made(
            "1", "Tabs, not spaces \ud800 é 日本", heading=("Style", "Code"), title="Indent",
            tags=("py", "style"), kind=Kind.PREFERENCE, trust=Trust.OPERATOR, valid_from=time_at(2),
            valid_to=time_at(9), group="g", derived_from=("rec_0",),
            description="when code is written", pinned=True,
        )  # fmt: skip
        index.put(SCOPE, passages)
        (hit,) = index.fetch(SCOPE, index.newest(SCOPE, 5, Filters()))
        assert hit.passage == passages[0]
        assert hit.counts["tab"] == 1
        assert hit.length == 5
        assert hit.heading_counts["style"] == 2

    @pytest.mark.parametrize("other", NEIGHBOURS, ids=str)
    def test_scopes_that_look_alike_share_nothing(self, index: SearchIndex, other: Scope) -> None:
        """A word, a vector and a statistic of one scope are not there in another; the owner has them."""
        index.put(SCOPE, made("1", "apricot"))
        index.put(other, made("1", "banana", scope=other))
        embed(index, "m", {"rec_1": unit(1, 0)})
        assert found(index, "apricot") == ["rec_1"]
        assert found(index, "apricot", scope=other) == []
        assert index.statistics(SCOPE, ["apricot"]).document_frequency == {"apricot": 1}
        assert index.statistics(other, ["apricot"]).document_frequency == {}
        assert nearest(index, "m", unit(1, 0)) == ["rec_1"]
        assert nearest(index, "m", unit(1, 0), scope=other) == []
        index.clear(SCOPE)
        assert found(index, "apricot") == []
        assert found(index, "banana", scope=other) == ["rec_1"]

    def test_a_passage_of_another_scope_is_refused(self, index: SearchIndex) -> None:
        """Putting a record under another scope is an error and changes nothing; under its own it works."""
        with pytest.raises(InvalidInput):
            index.put(SCOPE, made("1", "apricot", scope=REALM))
        assert found(index, "apricot") == []
        index.put(REALM, made("1", "apricot", scope=REALM))
        assert found(index, "apricot", scope=REALM) == ["rec_1"]

    def test_a_removed_record_leaves_nothing(self, index: SearchIndex) -> None:
        """After removal its words, vector, statistics and fingerprint are gone; those of the others stay."""
        index.put(SCOPE, (*made("1", "apricot jam"), *made("2", "apricot tree")))
        embed(index, "m", {"rec_1": unit(1, 0), "rec_2": unit(0, 1)})
        assert found(index, "jam") == ["rec_1"]
        index.put(SCOPE, (), remove=["rec_1"])
        assert found(index, "apricot jam") == ["rec_2"]
        assert nearest(index, "m", unit(1, 0)) == ["rec_2"]
        assert index.statistics(SCOPE, ["apricot", "jam"]).document_frequency == {"apricot": 1}
        assert index.statistics(SCOPE, []).total_length == 2
        assert set(index.records(SCOPE)) == {"rec_2"}
        assert index.state(SCOPE).vectors == 1

    def test_putting_a_record_again_replaces_it(self, index: SearchIndex) -> None:
        """A record that shrank from many passages to one has just that one, found by its new words only."""
        index.put(SCOPE, made("1", "apricot words are many here. " * 200))
        assert index.state(SCOPE).passages > 1
        index.put(SCOPE, made("1", "banana"))
        assert index.state(SCOPE).passages == 1
        assert found(index, "apricot") == []
        assert found(index, "banana") == ["rec_1"]

    def test_fingerprints_are_those_of_the_domain(self, index: SearchIndex) -> None:
        """`records` tells for each record what `indexed_form` says of its passages."""
        long, short = made("1", "many words are here. " * 200), made("2", "few")
        index.put(SCOPE, (*short, *long))
        assert dict(index.records(SCOPE)) == {"rec_1": indexed_form(long), "rec_2": indexed_form(short)}

    def test_filters_are_conditions_of_the_search(self, index: SearchIndex) -> None:
        """With twenty better matches outside the filter the five inside are all found, in both arms."""
        loud = [p for i in range(20) for p in made(f"loud{i:02d}", "apricot apricot apricot", path="memory/loud.md")]
        quiet = [
            p
            for i in range(5)
            for p in made(
                f"quiet{i}", "one apricot among some other words", path="memory/quiet.md", kind=Kind.GOTCHA,
                tags=("fruit", "x"), trust=Trust.OPERATOR, recorded_at=time_at(20),
            )
        ]  # fmt: skip
        index.put(SCOPE, (*loud, *quiet))
        embed(index, "m", {p.record.id: unit(1, 0.01 if p in quiet else 0) for p in (*loud, *quiet)})
        expected = [f"rec_quiet{i}" for i in range(5)]
        assert not set(expected) & set(found(index, "apricot", limit=5))
        for filters in (
            Filters(path="memory/quiet.md"),
            Filters(kinds=frozenset({Kind.GOTCHA, Kind.REFERENCE})),
            Filters(tags=frozenset({"fruit"})),
            Filters(tags=frozenset({"x", "fruit"})),
            Filters(min_trust=Trust.APPLICATION),
            Filters(since=time_at(19)),
        ):
            assert sorted(found(index, "apricot", limit=5, filters=filters)) == expected
            assert sorted(nearest(index, "m", unit(1, 0), filters=filters) or ()) == expected
            keys = index.newest(SCOPE, 5, filters)
            assert sorted(hit.passage.record.id for hit in index.fetch(SCOPE, keys)) == expected
        assert found(index, "apricot", filters=Filters(tags=frozenset({"fru"}))) == []
        assert found(index, "apricot", filters=Filters(path="memory/quiet")) == []
        assert not set(expected) & set(found(index, "apricot", limit=25, filters=Filters(until=time_at(19))))

    def test_validity_decides_what_is_found(self, index: SearchIndex) -> None:
        """A record is found from the instant it holds until just before it ends, by words and by vector."""
        index.put(SCOPE, (*made("1", "apricot", valid_from=time_at(5), valid_to=time_at(9)), *made("2", "apricot")))
        embed(index, "m", {"rec_1": unit(1, 0), "rec_2": unit(1, 1)})
        for day, expected in (
            (4, ["rec_2"]),
            (5, ["rec_1", "rec_2"]),
            (8, ["rec_1", "rec_2"]),
            (9, ["rec_2"]),
        ):
            filters = Filters(valid_at=time_at(day))
            assert sorted(found(index, "apricot", filters=filters)) == expected
            assert nearest(index, "m", unit(1, 0), filters=filters) == expected

    def test_history_is_found_by_search_history_alone(self, index: SearchIndex) -> None:
        """A retired record is in no current search and statistic; the past finds it between its two times."""
        index.put(SCOPE, (*made("1", "apricot"), *made("2", "banana")))
        index.put(SCOPE, (), retire=made("1", "apricot", retired_at=time_at(10)))
        assert found(index, "apricot banana") == ["rec_2"]
        assert index.statistics(SCOPE, ["apricot"]).document_frequency == {}

        def past(question: str, day: int) -> list[str]:
            words = parse_query(question)
            hits = index.search_history(SCOPE, words.terms, words.phrases, 5, Filters(), as_of=time_at(day))
            return [hit.passage.record.id for hit in hits]

        assert past("apricot", 5) == ["rec_1"]
        assert past('"apricot"', 5) == ["rec_1"]
        assert past("", 5) == ["rec_1"]
        assert past("apricot", 10) == []
        assert past("banana", 5) == []
        index.put(SCOPE, (), remove=["rec_1"])
        assert past("apricot", 5) == []

    def test_phrases_are_conditions(self, index: SearchIndex) -> None:
        """A quoted phrase finds what holds its words in a row, stop words, titles and other scripts too."""
        index.put(
            SCOPE,
            (
                *made("1", "the order of the phoenix"),
                *made("2", "the phoenix gave the order"),
                *made("3", "会議は3月に開く", title="Quarterly report"),
            ),
        )
        assert found(index, "order phoenix") != []
        assert found(index, '"order of the phoenix"') == ["rec_1"]
        assert found(index, '"the order"') == ["rec_1", "rec_2"] or found(index, '"the order"') == [
            "rec_2",
            "rec_1",
        ]
        assert found(index, '"phoenix order"') == []
        assert found(index, '"3月"') == ["rec_3"]
        assert found(index, '"月"') == ["rec_3"]
        assert found(index, '"quarterly report"') == ["rec_3"]
        assert found(index, '"開く quarterly"') == []

    def test_vectors_of_two_identities_are_never_compared(self, index: SearchIndex) -> None:
        """While a new embedder is being built the old one answers and the new one is None; then they swap."""
        index.put(SCOPE, (*made("1", "apricot"), *made("2", "banana")))
        embed(index, "old", {"rec_1": unit(1, 0), "rec_2": unit(0, 1)})
        assert embed(index, "new", {"rec_1": unit(0, 1, 0)}) == 1
        assert index.state(SCOPE).embedder == "old"
        assert index.state(SCOPE).pending == 1
        assert nearest(index, "new", unit(0, 1, 0)) is None
        assert nearest(index, "old", unit(1, 0)) == ["rec_1", "rec_2"]
        key = index.newest(SCOPE, 1, Filters())
        assert index.similarities(SCOPE, "new", unit(0, 1, 0), key) == {}
        assert embed(index, "new", {"rec_2": unit(1, 0, 0)}) == 1
        assert index.state(SCOPE).embedder == "new"
        assert nearest(index, "old", unit(1, 0)) is None
        assert nearest(index, "new", unit(0, 1, 0)) == ["rec_1", "rec_2"]

    def test_an_embedder_that_is_whole_can_answer_alone(self, index: SearchIndex) -> None:
        """What another has half built is dropped and waited for no more; while something waits nothing is dropped."""
        index.put(SCOPE, (*made("1", "apricot"), *made("2", "banana")))
        embed(index, "old", {"rec_1": unit(1, 0), "rec_2": unit(0, 1)})
        embed(index, "new", {"rec_1": unit(0, 1)})
        index.answer_alone(SCOPE, "new")
        assert index.state(SCOPE).pending == 1
        index.answer_alone(SCOPE, "old")
        assert (index.state(SCOPE).embedder, index.state(SCOPE).pending) == ("old", 0)
        assert nearest(index, "old", unit(1, 0)) == ["rec_1", "rec_2"]
        index.put(SCOPE, made("3", "cherry"))
        embed(index, "new", {"rec_3": unit(0, 1)})
        index.answer_alone(SCOPE, "old")
        assert index.state(SCOPE).pending == 2
        index.answer_alone(Scope("agent", "nobody"), "old")

    def test_removing_the_last_that_waits_completes_the_swap(self, index: SearchIndex) -> None:
        """A new embedder takes over when what it lacked is gone; before that it does not."""
        index.put(SCOPE, (*made("1", "apricot"), *made("2", "banana")))
        embed(index, "old", {"rec_1": unit(1, 0), "rec_2": unit(0, 1)})
        embed(index, "new", {"rec_1": unit(0, 1)})
        assert index.state(SCOPE).embedder == "old"
        index.put(SCOPE, (), remove=["rec_2"])
        assert index.state(SCOPE).embedder == "new"
        assert nearest(index, "new", unit(0, 1)) == ["rec_1"]

    def test_the_newest_passage_is_the_next_to_be_embedded(self, index: SearchIndex) -> None:
        """What was put last waits first in line."""
        index.put(SCOPE, made("1", "apricot"))
        index.put(SCOPE, made("2", "banana"))
        assert [text.splitlines()[-1] for _, text in index.pending(SCOPE, "m", 5)] == ["banana", "apricot"]
        assert [text.splitlines()[-1] for _, text in index.pending(SCOPE, "m", 1)] == ["banana"]

    def test_a_vector_stays_while_what_is_embedded_stays(self, index: SearchIndex) -> None:
        """New tags and trust keep the vector; new text or a new heading makes the passage wait again."""
        index.put(SCOPE, made("1", "apricot"))
        embed(index, "m", {"rec_1": unit(1, 0)})
        index.put(SCOPE, made("1", "apricot", tags=("new",), trust=Trust.OPERATOR))
        assert index.pending(SCOPE, "m", 5) == []
        assert found(index, "apricot", filters=Filters(tags=frozenset({"new"}))) == ["rec_1"]
        assert found(index, "new") == ["rec_1"]
        index.put(SCOPE, made("1", "apricot", heading=("Fruit",)))
        assert [text for _, text in index.pending(SCOPE, "m", 5)] == ["Notes › Fruit\napricot"]
        assert nearest(index, "m", unit(1, 0)) == []

    def test_vectors_of_words_live_as_long_as_those_of_texts(self, index: SearchIndex) -> None:
        """Words are kept under their identity and go with the passage, or with the embedder that another replaced."""
        index.put(SCOPE, (*made("1", "apricot"), *made("2", "banana"), *made("3", "cherry")))
        keys = [key for key, _ in index.pending(SCOPE, "m", 5)]
        first, second, third = keys
        said = {first: bytes(range(64)), second: b"", third: bytes(range(128))}
        index.put_vectors(SCOPE, "m", keys, np.stack([unit(1, 0), unit(0, 1), unit(1, 1)]), list(said.values()))
        assert {key: said[key] for key in (first, third)}.items() <= index.words(SCOPE, "m", keys).items()
        assert not index.words(SCOPE, "m", keys).get(second)
        assert index.words(SCOPE, "another", keys) == {}
        assert index.words(Scope("agent", "nobody"), "m", keys) == {}
        index.put(SCOPE, (), remove=["rec_3"])
        assert set(index.words(SCOPE, "m", [first, third])) == {third}
        index.put_vectors(SCOPE, "new", keys[1:], np.stack([unit(1, 0), unit(0, 1)]))
        assert index.state(SCOPE).embedder == "new"
        assert index.words(SCOPE, "m", keys) == {}
        assert not index.check(SCOPE)

    def test_vectors_for_passages_that_are_gone_are_dropped(self, index: SearchIndex) -> None:
        """Vectors that come back late are stored for what still exists and ignored for the rest."""
        index.put(SCOPE, (*made("1", "apricot"), *made("2", "banana")))
        keys = [key for key, _ in index.pending(SCOPE, "m", 5)]
        index.put(SCOPE, (), remove=["rec_1"])
        assert index.put_vectors(SCOPE, "m", keys, np.stack([unit(1, 0), unit(0, 1)])) == 1
        assert nearest(index, "m", unit(1, 0)) == ["rec_2"]

    def test_only_float32_vectors_are_taken(self, index: SearchIndex) -> None:
        """A float64 query or row is refused; the same numbers in float32 are answered."""
        index.put(SCOPE, made("1", "apricot"))
        keys = [key for key, _ in index.pending(SCOPE, "m", 5)]
        with pytest.raises(InvalidInput):
            index.put_vectors(SCOPE, "m", keys, np.array([[1.0, 0.0]]))
        index.put_vectors(SCOPE, "m", keys, np.array([[1.0, 0.0]], np.float32))
        with pytest.raises(InvalidInput):
            index.search_vector(SCOPE, "m", np.array([1.0, 0.0]), 5, Filters())
        assert nearest(index, "m", unit(1, 0)) == ["rec_1"]

    def test_equal_scores_come_in_order_of_keys(self, index: SearchIndex) -> None:
        """Passages with one vector or one text are ranked in the order they were put."""
        names = [f"{i}" for i in range(8)]
        for name in names:
            index.put(SCOPE, made(name, "apricot"))
        embed(index, "m", {f"rec_{name}": unit(1, 0) for name in names})
        expected = [f"rec_{name}" for name in names]
        assert found(index, "apricot") == expected
        assert nearest(index, "m", unit(1, 0)) == expected

    def test_every_change_is_a_generation(self, index: SearchIndex) -> None:
        """Putting, embedding and removing each raise the generation; reading does not."""
        seen = [index.state(SCOPE).generation]
        index.put(SCOPE, made("1", "apricot"))
        seen.append(index.state(SCOPE).generation)
        embed(index, "m", {"rec_1": unit(1, 0)})
        seen.append(index.state(SCOPE).generation)
        found(index, "apricot")
        assert index.state(SCOPE).generation == seen[-1]
        index.put(SCOPE, (), remove=["rec_1"])
        seen.append(index.state(SCOPE).generation)
        assert seen == sorted(set(seen))

    def test_the_mark_moves_without_gaps(self, index: SearchIndex) -> None:
        """The last event seen moves only from where it stands; being there already is as good."""
        assert index.state(SCOPE).applied == 0
        assert index.put(SCOPE, made("1", "apricot"), mark=(0, 4))
        assert index.state(SCOPE).applied == 4
        assert not index.put(SCOPE, made("2", "banana"), mark=(6, 7))
        assert index.state(SCOPE).applied == 4
        assert index.put(SCOPE, (), mark=(0, 4))
        assert index.put(SCOPE, (), mark=(4, 7))
        assert index.put(SCOPE, made("3", "cherry"))
        assert index.state(SCOPE).applied == 7
        assert sorted(found(index, "apricot banana cherry")) == ["rec_1", "rec_2", "rec_3"]

    def test_a_sound_index_has_no_problems(self, index: SearchIndex) -> None:
        """Nothing is reported of a sound index; that damage is reported is tested with each backend."""
        index.put(SCOPE, (*made("1", "apricot é 日本"), *made("2", "banana")))
        embed(index, "m", {"rec_1": unit(1, 0)})
        index.put(SCOPE, (), retire=made("2", "banana", retired_at=time_at(3)))
        assert index.state(SCOPE).passages == 1
        assert list(index.check(SCOPE)) == []
