"""Tests of recall over the built-in index."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memoranda.adapters.sqlite.index import SqliteIndex
from memoranda.domain.query import Filters
from memoranda.domain.record import Kind, Record
from memoranda.domain.scope import APPLICATION, REALM, Scope, Viewer
from memoranda.errors import BackendError, InvalidInput
from memoranda.services.embedding import embed_pending
from memoranda.testing.index_suite import SCOPE, made, time_at
from memoranda.testing.turn_suite import LOG, mark, said
from tests.services.recall_setup import PolyglotEmbedder, TopicEmbedder, ask, fill, ids

OTHER = Scope("agent", "a_b")


@pytest.fixture
def index(tmp_path: Path) -> Iterator[SqliteIndex]:
    """Return an empty index."""
    index = SqliteIndex(tmp_path / "index")
    yield index
    index.close()


def test_a_hit_says_where_and_why(index: SqliteIndex) -> None:
    """A hit carries its place in the file, its metadata, and addends that sum to its score."""
    index.put(SCOPE, made("1", "Apricots ripen in July", heading=("Garden",), kind=Kind.FACT, tags=("fruit",)))
    result = ask(index, "when do apricots ripen")
    (hit,) = result.hits
    assert (hit.record_id, hit.chunk_id, hit.scope, hit.heading) == ("rec_1", "rec_1", SCOPE, ("Garden",))
    assert hit.citation == "memory/notes.md#L3-L4"
    assert hit.score == pytest.approx(sum(value for _, value in hit.addends)) == 1.0
    assert (result.mode, result.relevant) == ("keyword", True)
    assert result.trace.terms == ("apricot", "ripen")
    assert result.trace.scopes == ("agent:a-b",)


def test_only_the_viewers_scopes_are_searched(index: SqliteIndex) -> None:
    """What another agent knows is neither found nor counted; its owner and the shared scope are found."""
    fill(index, mine="apricot of mine")
    index.put(OTHER, made("theirs", "apricot of theirs", scope=OTHER))
    index.put(REALM, made("shared", "apricot for all", scope=REALM))
    result = ask(index, "apricot")
    assert sorted(ids(result)) == ["rec_mine", "rec_shared"]
    assert result.trace.scopes == ("agent:a-b", "realm")
    theirs = Viewer(APPLICATION, OTHER, frozenset({OTHER}))
    assert ids(ask(index, "apricot", viewer=theirs)) == ["rec_theirs"]


def test_one_set_of_statistics_ranks_all_scopes(index: SqliteIndex) -> None:
    """A small scope does not win by its own statistics: the same text scores the same in both."""
    fill(index, **{f"n{i}": f"jam number {i}" for i in range(30)}, best="apricot jam")
    index.put(REALM, made("small", "apricot jam", scope=REALM))
    hits = ask(index, "apricot jam").hits
    assert sorted(hit.record_id for hit in hits[:2]) == ["rec_best", "rec_small"]
    assert hits[0].score == pytest.approx(hits[1].score)


def test_meaning_finds_what_words_do_not(index: SqliteIndex) -> None:
    """A text without a shared word is found with an embedder, in mode hybrid, and not without one."""
    fill(index, a="peach trees in the garden", b="the release plan", c="night mode")
    embedder = TopicEmbedder()
    assert embed_pending(index, embedder, None, SCOPE) == 3
    result = ask(index, "which fruit", embedder=embedder)
    assert (result.hits[0].record_id, result.mode) == ("rec_a", "hybrid")
    assert result.trace.weights == (0.6, 0.4)
    assert result.trace.embedder == "topics:1"
    assert ids(ask(index, "which fruit")) == []


def test_each_arms_candidates_get_the_other_arms_score(index: SqliteIndex) -> None:
    """A keyword hit that is far by vector still gets its cosine, and a near one its keyword score."""
    fill(index, **{f"n{i:03d}": f"peach {i}" for i in range(120)}, odd="orchard deploy", both="orchard peach")
    embedder = TopicEmbedder()
    embed_pending(index, embedder, None, SCOPE)
    hits = ask(index, "orchard fruit", embedder=embedder, limit=64).hits
    by_id = {hit.record_id: dict(hit.addends) for hit in hits}
    assert hits[0].record_id == "rec_both"
    assert by_id["rec_odd"]["words"] == pytest.approx(0.6)
    assert by_id["rec_odd"]["meaning"] == 0.0
    assert by_id["rec_both"] == {"words": pytest.approx(0.6), "meaning": pytest.approx(0.4)}
    assert len(hits) == 64


def test_vector_mode_uses_meaning_alone(index: SqliteIndex) -> None:
    """In mode vector the nearest comes first whatever its words; in mode keyword the words decide."""
    fill(index, word="which which which", near="peach apricot fruit")
    embedder = TopicEmbedder()
    embed_pending(index, embedder, None, SCOPE)
    result = ask(index, "fruit which", embedder=embedder, mode="vector")
    assert (result.mode, result.hits[0].record_id) == ("vector", "rec_near")
    assert [name for name, _ in result.hits[0].addends] == ["meaning"]
    assert ask(index, "fruit which", embedder=embedder, mode="keyword").mode == "keyword"


def test_rank_fusion_is_selectable(index: SqliteIndex) -> None:
    """With strategy rrf the addends are reciprocal ranks."""
    fill(index, a="peach jam", b="deploy jam")
    embedder = TopicEmbedder()
    embed_pending(index, embedder, None, SCOPE)
    (first, *_) = ask(index, "peach jam", embedder=embedder, strategy="rrf").hits
    assert first.record_id == "rec_a"
    assert dict(first.addends) == {
        "rank by words": pytest.approx(0.6 / 61), "rank by meaning": pytest.approx(0.4 / 61)
    }  # fmt: skip


def test_a_failing_embedder_leaves_keyword_search(index: SqliteIndex) -> None:
    """A model that fails on the question is noted and words still find; a healthy one leaves no note."""
    fill(index, a="peach jam")
    embedder = TopicEmbedder()
    embed_pending(index, embedder, None, SCOPE)
    result = ask(index, "peach", embedder=TopicEmbedder(failing=True))
    assert (ids(result), result.mode) == (["rec_a"], "keyword")
    assert any("embedder failed" in note for note in result.trace.notes)
    assert ask(index, "peach", embedder=embedder).trace.notes == ()


def test_a_failing_index_is_an_error(index: SqliteIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    """An index that fails raises and never answers that there is nothing; a sound one answers."""
    fill(index, a="peach jam")
    assert ids(ask(index, "peach")) == ["rec_a"]

    def fail(*_: object) -> None:
        raise BackendError("the disk is away")

    monkeypatch.setattr(index, "search_text", fail)
    with pytest.raises(BackendError):
        ask(index, "peach")


def test_a_changed_embedder_never_mixes_spaces(index: SqliteIndex) -> None:
    """After the embedder changed words answer with a note until all is embedded again; then meaning does."""
    fill(index, a="peach trees", b="night mode")
    embed_pending(index, TopicEmbedder(), None, SCOPE)
    changed = TopicEmbedder(identity="topics:2")
    result = ask(index, "peach", embedder=changed)
    assert (ids(result), result.mode) == (["rec_a"], "keyword")
    assert any("not embedded" in note for note in result.trace.notes)
    assert embed_pending(index, changed, None, SCOPE, limit=1) == 1
    assert ask(index, "fruit", embedder=changed).hits == ()
    assert embed_pending(index, changed, None, SCOPE) == 1
    assert ask(index, "fruit", embedder=changed).hits[0].record_id == "rec_a"


def test_an_english_model_stays_out_of_other_scripts(index: SqliteIndex) -> None:
    """A question in another script is answered by words unless the embedder knows every script."""
    fill(index, a="桃の木 peach", b="夜")
    embedder = TopicEmbedder()
    embed_pending(index, embedder, None, SCOPE)
    result = ask(index, "桃の木", embedder=embedder)
    assert (result.mode, ids(result)) == ("keyword", ["rec_a"])
    assert any("English only" in note for note in result.trace.notes)
    assert ask(index, "桃の木", embedder=PolyglotEmbedder()).mode == "hybrid"
    assert ask(index, "peach", embedder=embedder).mode == "hybrid"


def test_texts_in_other_scripts_are_not_near_to_an_english_model(index: SqliteIndex) -> None:
    """What an English model makes of a note or a turn in another script counts for nothing; its words do."""
    fill(index, a="これは果物の話です", b="apricot jam")
    turns = (*said("1", "今日は暑いです"), *said("2", "A ripe apricot!", position=2))
    assert index.put_turns(SCOPE, turns, path=LOG, before=None, after=mark(99))
    embedder = TopicEmbedder()
    embed_pending(index, embedder, None, SCOPE)
    unknown = ask(index, "weather", embedder=embedder, min_score=0.0)
    assert embedder.embed_query("weather") @ embedder.embed_query("これは果物の話です") == 1
    assert {hit.text for hit in unknown.hits} <= {"apricot jam", "A ripe apricot!"}
    assert ask(index, "weather", embedder=embedder).hits == ()
    assert len(ask(index, "weather", embedder=PolyglotEmbedder()).hits) == 4
    assert {hit.text for hit in ask(index, "peach", embedder=embedder).hits} >= {"apricot jam", "A ripe apricot!"}
    assert [hit.text for hit in ask(index, "暑い", embedder=embedder).hits][:1] == ["今日は暑いです"]


def test_signs_alone_have_no_meaning(index: SqliteIndex) -> None:
    """A question of an emoji finds the note that holds it, and nothing by meaning."""
    fill(index, a="sunny days \N{BLACK SUN WITH RAYS}", b="apricot jam")
    embedder = TopicEmbedder()
    embed_pending(index, embedder, None, SCOPE)
    result = ask(index, "\N{BLACK SUN WITH RAYS}", embedder=embedder)
    assert (result.mode, ids(result)) == ("keyword", ["rec_a"])
    assert ask(index, "\N{PARTY POPPER}", embedder=embedder).hits == ()
    assert ask(index, "fruit", embedder=embedder).mode == "hybrid"


def test_the_bar_says_nothing_relevant(index: SqliteIndex) -> None:
    """One word of four and no near vector is not relevant; one of three is; a bar of 0 lets all pass."""
    fill(index, a="apricot jam in the cellar")
    held = ask(index, "apricot motor engine gearbox")
    assert (held.hits, held.relevant) == ((), False)
    assert held.trace.best_coverage == 0.25
    assert ids(ask(index, "apricot motor engine")) == ["rec_a"]
    assert ids(ask(index, "apricot motor engine gearbox", min_score=0.0)) == ["rec_a"]
    nothing = ask(index, "motor")
    assert (nothing.hits, nothing.relevant) == ((), True)


def test_a_cosine_over_the_bar_lets_all_hits_through(index: SqliteIndex) -> None:
    """Where the best hit is near enough the result has its limit of hits, the weak ones included."""
    fill(index, a="apricot", **{f"n{i}": f"entry {i}" for i in range(9)})
    embedder = TopicEmbedder()
    embed_pending(index, embedder, None, SCOPE)
    assert len(ask(index, "fruit", embedder=embedder, limit=7).hits) == 7
    assert ask(index, "ship it", embedder=embedder).relevant is False


def test_an_empty_question_is_newest_first(index: SqliteIndex) -> None:
    """Blank text lists the newest over all scopes; punctuation finds nothing and says so."""
    for day in (3, 1, 2):
        index.put(SCOPE, made(str(day), f"entry {day}", recorded_at=time_at(day)))
    index.put(REALM, made("9", "shared", scope=REALM, recorded_at=time_at(9)))
    assert ids(ask(index, "  ", limit=3)) == ["rec_9", "rec_3", "rec_2"]
    marks = ask(index, "?!")
    assert (marks.hits, marks.relevant, marks.trace.notes) == ((), True, ("the question holds no word",))


def test_phrases_bind_both_arms(index: SqliteIndex) -> None:
    """A near text without the quoted phrase is no hit; without quotes it is."""
    fill(index, a="the fruit bowl", b="peach and apricot")
    embedder = TopicEmbedder()
    embed_pending(index, embedder, None, SCOPE)
    assert ids(ask(index, '"fruit bowl"', embedder=embedder)) == ["rec_a"]
    assert ids(ask(index, '"fruit bowl"', embedder=embedder, mode="vector")) == ["rec_a"]
    assert set(ids(ask(index, "fruit bowl", embedder=embedder))) == {"rec_a", "rec_b"}


def test_filters_bind_both_arms_and_know_now(index: SqliteIndex) -> None:
    """What is no longer valid now is not found unless an earlier time is asked; bad times are an error."""
    index.put(SCOPE, (*made("old", "peach old", valid_to=time_at(20)), *made("new", "peach new", tags=("x",))))
    embedder = TopicEmbedder()
    embed_pending(index, embedder, None, SCOPE)
    assert ids(ask(index, "peach", embedder=embedder)) == ["rec_new"]
    early = Filters(valid_at="2026-01-10")
    assert set(ids(ask(index, "peach", embedder=embedder, filters=early))) == {"rec_old", "rec_new"}
    assert ids(ask(index, "peach", embedder=embedder, filters=Filters(tags=frozenset({"y"})))) == []
    until = Filters(until="2026-01-01", valid_at="2026-01-10T00:00:00Z")
    assert len(ask(index, "peach", filters=until).hits) == 2
    with pytest.raises(InvalidInput):
        ask(index, "peach", filters=Filters(since="yesterday"))


def test_a_text_that_left_its_file_is_replaced_by_the_next(index: SqliteIndex) -> None:
    """A hit whose lines are gone is dropped with a note and the next one fills its place."""
    fill(index, **{f"n{i}": "peach " * (5 - i) for i in range(5)})

    def locate(record: Record, _text: str) -> tuple[int, int] | None:
        return None if record.id in ("rec_n0", "rec_n2") else (1, 1)

    result = ask(index, "peach", limit=3, locate=locate)
    assert ids(result) == ["rec_n1", "rec_n3", "rec_n4"]
    assert any(note.startswith("2 left out: no longer in the file") for note in result.trace.notes)
    assert ids(ask(index, "peach", limit=3)) == ["rec_n0", "rec_n1", "rec_n2"]


def test_the_token_budget_caps_all_hits_together(index: SqliteIndex) -> None:
    """Hits that do not fit the budget are left out with a note, and a smaller one may follow."""
    fill(index, big="peach peach " + "x" * 400, small="peach", tiny="a peach")
    assert len(ask(index, "peach").hits) == 3
    result = ask(index, "peach", token_budget=5)
    assert "rec_big" not in ids(result)
    assert len(result.hits) == 2
    assert any("token budget" in note for note in result.trace.notes)


@pytest.mark.parametrize(("grain", "count"), [("passage", 4), ("section", 3), ("file", 2)])
def test_grains_are_never_mixed(index: SqliteIndex, grain: str, count: int) -> None:
    """Records, sections or files come once each, the parts of a long record included."""
    index.put(SCOPE, made("long", "peach words here. " * 200, heading=("A",)))
    index.put(SCOPE, made("2", "peach", heading=("A",)))
    index.put(SCOPE, made("3", "peach", heading=("B",)))
    index.put(SCOPE, made("4", "peach", heading=("B",), path="MEMORY.md"))
    assert len(ask(index, "peach", limit=20, grain=grain).hits) == count


def test_a_question_of_a_pasted_file_is_cut(index: SqliteIndex) -> None:
    """Very long questions are answered from their beginning, and the trace says so."""
    fill(index, a="peach jam", b="apricot")
    result = ask(index, "peach jam " + "filler " * 20_000 + "apricot", min_score=0.0)
    assert ids(result) == ["rec_a"]
    assert any("cut at" in note for note in result.trace.notes)
