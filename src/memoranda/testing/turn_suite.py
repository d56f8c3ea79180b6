# ruff: noqa: S101 - assert and literals are how a suite speaks
"""The part of the conformance suite of `SearchIndex` that is about turns of the log."""

from __future__ import annotations

import pytest

from memoranda.domain.passage import Passage, Turn
from memoranda.domain.passages import passages_of
from memoranda.domain.query import Filters
from memoranda.domain.scope import Scope
from memoranda.ports import SearchIndex
from memoranda.ports.log import LogMark
from memoranda.testing.index_suite import NEIGHBOURS, SCOPE, embed, found, made, nearest, unit

LOG = "log/2026-01-01.jsonl"


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
