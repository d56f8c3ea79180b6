# ruff: noqa: S101 - assert and literals are how a suite speaks
"""The part of the conformance suite of `SearchIndex` that is about turns of the log."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

import numpy as np
import pytest

from memoranda.domain.passage import Passage, Turn
from memoranda.domain.passages import passages_of
from memoranda.domain.query import Filters
from memoranda.domain.scope import Scope
from memoranda.domain.turn_table import TurnEvidence
from memoranda.domain.words import analyse
from memoranda.ports import SearchIndex
from memoranda.ports.log import LogMark
from memoranda.testing.index_suite import NEIGHBOURS, SCOPE, embed, found, made, nearest, unit

LOG = "log/2026-01-01.jsonl"
ODD_TEXTS = (
    "", "c:\\new\\table \\", '"quoted" \'twice\' ""', "a\x00b\x01c\x1f\x7f", "\u6708\u304c\u304d\u308c\u3044",
    "\U0001f986 \U0001f986",
    "c++ c# #tag user@host --force 1.2.3 a,b;c [x] {y}", "\ud800 lone", "\u202ehidden\u200b",
)  # fmt: skip
"""What a turn may say that quoting, tokens or lengths could trip over."""


def said(ident: str, text: str, *, session: str = "ses_1", position: int = 1) -> tuple[Passage, ...]:
    """Return the passages of a made-up turn `rec_<ident>` of a log."""
    turn = Turn(
        session=session, key="talk", position=position, speaker="Ann", role="user", offset=position * 100, size=99,
        line=position,
    )  # fmt: skip
    (made_up,) = made(ident, text, path=LOG)
    return passages_of(made_up.record, text, "", turn)


def mark(size: int, lines: int = 1) -> LogMark:
    """Return how far a made-up log was read."""
    return LogMark(size, 7, 8, "tail", lines)


class TurnIndexSuite:
    """Facts that hold for turns in every search index; override the `index` fixture."""

    @pytest.fixture
    def index(self) -> SearchIndex:
        """Return an empty index."""
        raise NotImplementedError

    def test_turns_are_found_beside_notes_and_apart(self, index: SearchIndex) -> None:
        """By source and by session; a turn is known with its place, and a note is none."""
        index.put(SCOPE, made("n", "A heron in the reeds."))
        assert index.put_turns(SCOPE, said("t", "A heron over the lake."), path=LOG, before=None, after=mark(99))
        other = said("u", "A heron at the weir.", session="ses_2", position=2)
        assert index.put_turns(SCOPE, other, path=LOG, before=mark(99), after=mark(198, 2))
        assert sorted(found(index, "heron")) == ["rec_n", "rec_t", "rec_u"]
        assert sorted(found(index, "heron", filters=Filters(sources=frozenset({"turn"})))) == ["rec_t", "rec_u"]
        assert found(index, "heron", filters=Filters(sources=frozenset({"note"}))) == ["rec_n"]
        assert found(index, "heron", filters=Filters(session="ses_2")) == ["rec_u"]
        assert sorted(found(index, "heron", filters=Filters(not_session="ses_2"))) == ["rec_n", "rec_t"]
        assert sorted(found(index, "Ann")) == ["rec_t", "rec_u"]
        (hit,) = index.fetch(SCOPE, index.search_text(SCOPE, ("weir",), (), 5, Filters()))
        assert hit.passage.turn == other[0].turn
        assert set(index.turns(SCOPE)) == {"rec_t", "rec_u"}
        assert [part.record.id for part in index.parts_of(SCOPE, "rec_u")] == ["rec_u"]

    def test_words_are_known_by_their_beginning(self, index: SearchIndex) -> None:
        """Words of notes, titles and turns that begin so are named, frequent ones first; what is gone not."""
        assert list(index.words_beginning(SCOPE, "ap", 9)) == []
        index.put(SCOPE, (*made("1", "apricot jam"), *made("2", "an apricot, an apple", title="Apiary of Zürich")))
        found = list(index.words_beginning(SCOPE, "ap", 9))
        assert found[0] == "apricot"
        assert {"apricot", "apple", "apiary"} <= set(found)
        assert list(index.words_beginning(SCOPE, "ap", 1)) == ["apricot"]
        assert "zurich" in index.words_beginning(SCOPE, "zur", 9)
        assert list(index.words_beginning(NEIGHBOURS[0], "ap", 9)) == []
        assert index.put_turns(SCOPE, said("t", "The apse is old."), path=LOG, before=None, after=mark(99))
        assert "apse" in index.words_beginning(SCOPE, "ap", 9)
        index.put(SCOPE, (), remove=("rec_2",))
        assert set(index.words_beginning(SCOPE, "ap", 9)) == {"apricot", "aps", "apse"}

    def test_a_log_is_taken_in_from_where_it_was(self, index: SearchIndex) -> None:
        """Another beginning than the mark changes nothing; whole, the turns of this file alone are replaced."""
        other = LOG.replace("01.jsonl", "02.jsonl")
        assert index.put_turns(SCOPE, said("a", "One heron."), path=LOG, before=None, after=mark(99))
        assert not index.put_turns(SCOPE, said("b", "Two herons."), path=LOG, before=None, after=mark(198))
        assert not index.put_turns(SCOPE, said("b", "Two herons."), path=LOG, before=mark(50), after=mark(198))
        assert dict(index.logs(SCOPE)) == {LOG: mark(99)}
        (elsewhere,) = made("c", "Three herons.", path=other)
        turn = said("c", "Three herons.")[0].turn
        kept = passages_of(elsewhere.record, "Three herons.", "", turn)
        assert index.put_turns(SCOPE, kept, path=other, before=None, after=mark(10))
        assert index.put_turns(SCOPE, said("d", "No heron."), path=LOG, before=mark(99), after=mark(60), whole=True)
        assert sorted(index.turns(SCOPE)) == ["rec_c", "rec_d"]
        assert index.put_turns(SCOPE, (), path=LOG, before=mark(60), after=None, whole=True)
        assert sorted(index.turns(SCOPE)) == ["rec_c"]
        assert dict(index.logs(SCOPE)) == {other: mark(10)}
        assert found(index, "heron") == ["rec_c"]

    @pytest.mark.parametrize("other", NEIGHBOURS, ids=str)
    def test_turns_of_other_scopes_are_not_there(self, index: SearchIndex, other: Scope) -> None:
        """Neither their words nor their logs and lengths; one's own are."""
        assert index.put_turns(SCOPE, said("t", "A heron over the lake."), path=LOG, before=None, after=mark(99))
        assert found(index, "heron", scope=other) == []
        assert not index.logs(other)
        assert not index.turns(other)
        assert found(index, "heron") == ["rec_t"]

    def test_turns_get_vectors_and_lose_them(self, index: SearchIndex) -> None:
        """A turn waits for its vector, is found by it, and is not when it is gone."""
        index.put_turns(SCOPE, said("t", "A heron over the lake."), path=LOG, before=None, after=mark(99))
        assert embed(index, "e", {"rec_t": unit(1, 0)}) == 1
        assert nearest(index, "e", unit(1, 0)) == ["rec_t"]
        index.put_turns(SCOPE, (), path=LOG, before=mark(99), after=None, whole=True)
        assert nearest(index, "e", unit(1, 0)) in ([], None)

    def test_turns_come_in_the_order_in_which_they_were_said(self, index: SearchIndex) -> None:
        """By session and position, whatever came first, with speaker, length, marks and day; notes are none of them."""
        index.put(SCOPE, made("n", "A heron."))
        tell(index, ("c", "Where is the heron?", "ses_2", 1), ("b", "It left yesterday.", "ses_1", 2))
        tell(index, ("a", "The heron is gone.", "ses_1", 1), offset=2)
        evidence = index.turn_evidence(SCOPE, ("heron", "nowher"), (), Filters())
        table = evidence.table
        assert names(index, evidence) == ["rec_a", "rec_b", "rec_c"]
        assert [table.session_names[at] for at in table.session] == ["ses_1", "ses_1", "ses_2"]
        assert [table.speaker_names[at] for at in table.speaker] == ["Ann"] * 3
        assert list(table.lengths) == [4, 3, 4]
        assert list(table.is_question) == [False, False, True]
        assert list(table.has_time) == [False, True, False]
        assert set(table.days) == {date(2026, 1, 1).toordinal()}
        assert list(evidence.postings) == ["heron"]
        assert sorted(zip(*evidence.postings["heron"], strict=True)) == [(0, 1.0), (2, 1.0)]
        assert evidence.allowed is None
        assert evidence.cosines is None

    def test_a_turn_that_comes_later_has_its_place(self, index: SearchIndex) -> None:
        """At the end of its session, before its time in one, or in a session of its own: as if all had come at once."""
        tell(index, ("b", "Second.", "ses_2", 2), ("d", "Fourth.", "ses_4", 1))
        order = [("c", "ses_2", 3), ("e", "ses_5", 1), ("a", "ses_1", 1), ("bb", "ses_2", 1), ("f", "ses_5", 2)]
        expected = {"rec_b": ("ses_2", 2), "rec_d": ("ses_4", 1)}
        for at, (ident, session, position) in enumerate(order, 2):
            assert len(names(index, index.turn_evidence(SCOPE, (), (), Filters()))) == at
            tell(index, (ident, f"Later {ident}.", session, position), offset=at)
            expected[f"rec_{ident}"] = (session, position)
            table = index.turn_evidence(SCOPE, (), (), Filters()).table
            found = [table.session_names[number] for number in table.session]
            assert list(zip(found, table.positions, strict=True)) == sorted(expected.values())
        assert names(index, index.turn_evidence(SCOPE, (), (), Filters())) == sorted(expected, key=expected.__getitem__)

    def test_turns_that_are_gone_are_nowhere(self, index: SearchIndex) -> None:
        """Neither in the table, nor in the postings of their words, nor beside others; the others are."""
        tell(index, ("a", "One heron.", "ses_1", 1), ("b", "Two gulls.", "ses_1", 2))
        assert names(index, index.turn_evidence(SCOPE, ("gull",), (), Filters())) == ["rec_a", "rec_b"]
        index.put_turns(SCOPE, said("a", "One heron."), path=LOG, before=mark(2), after=mark(60), whole=True)
        evidence = index.turn_evidence(SCOPE, ("heron", "gull"), (), Filters())
        assert names(index, evidence) == ["rec_a"]
        assert list(evidence.postings) == ["heron"]

    def test_filters_and_phrases_say_which_turns_are_allowed(self, index: SearchIndex) -> None:
        """A phrase may stand beside a turn of the same session; one that nobody has said is no condition."""
        tell(
            index,
            ("a", "The grey heron.", "ses_1", 1), ("b", "It is big.", "ses_1", 2), ("c", "A heron, grey.", "ses_2", 1),
        )  # fmt: skip

        def allowed(filters: Filters, *phrases: Sequence[str]) -> list[bool] | None:
            mask = index.turn_evidence(SCOPE, (), phrases, filters).allowed
            return None if mask is None else list(mask)

        assert allowed(Filters(session="ses_2")) == [False, False, True]
        assert allowed(Filters(not_session="ses_2")) == [True, True, False]
        assert allowed(Filters(), ("grey", "heron")) == [True, True, False]
        assert allowed(Filters(not_session="ses_1"), ("grey", "heron")) == [False, False, False]
        assert allowed(Filters(), ("blue", "heron")) is None

    def test_turns_have_their_cosine(self, index: SearchIndex) -> None:
        """Those with a vector of this model; of another one there is none, and that is said."""
        tell(index, ("a", "One heron.", "ses_1", 1), ("b", "Two gulls.", "ses_1", 2))
        embed(index, "e", {"rec_b": unit(0, 1)})
        cosines = index.turn_evidence(SCOPE, (), (), Filters(), ("e", unit(0, 1))).cosines
        assert cosines is not None
        assert np.isnan(cosines[0])
        assert cosines[1] == pytest.approx(1.0)
        other = index.turn_evidence(SCOPE, (), (), Filters(), ("f", unit(0, 1)))
        assert other.cosines is None
        assert other.is_of_other_model

    @pytest.mark.parametrize("text", ODD_TEXTS, ids=repr)
    def test_any_text_is_taken_in_and_removed(self, index: SearchIndex, text: str) -> None:
        """Whatever a turn says, it is whole in the index, and nothing of it is left when it goes."""
        passages = said("t", f"heron {text}")
        before = index.logs(SCOPE).get(LOG)
        assert index.put_turns(SCOPE, passages, path=LOG, before=before, after=mark(9), whole=True)
        terms = tuple(dict.fromkeys(analyse(f"heron {text}").terms))
        assert set(index.turn_evidence(SCOPE, terms, (), Filters()).postings) == set(terms)
        assert list(index.check(SCOPE)) == []
        assert index.put_turns(SCOPE, (), path=LOG, before=mark(9), after=None, whole=True)
        assert not index.turn_evidence(SCOPE, terms, (), Filters()).postings
        assert list(index.check(SCOPE)) == []


def tell(index: SearchIndex, *turns: tuple[str, str, str, int], offset: int = 0) -> None:
    """Take made-up turns in, one after the other: id, text, session, position."""
    for at, (ident, text, session, position) in enumerate(turns, offset):
        before = index.logs(SCOPE).get(LOG)
        passages = said(ident, text, session=session, position=position)
        assert index.put_turns(SCOPE, passages, path=LOG, before=before, after=mark(at + 1))


def names(index: SearchIndex, evidence: TurnEvidence) -> list[str]:
    """Return the ids of the turns of a table, in its order."""
    return [item.passage.record.id for item in index.fetch(SCOPE, [int(key) for key in evidence.table.keys])]
