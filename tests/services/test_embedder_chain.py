"""Embedding and searching with a chain: vectors of two spaces never meet, whatever fails when."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import memoranda
from memoranda.adapters.embedders import http_client
from memoranda.adapters.embedders.chain import ChainEmbedder
from memoranda.adapters.sqlite.index import SqliteIndex
from memoranda.domain.query import Filters
from memoranda.domain.scope import Scope
from memoranda.errors import BackendError
from memoranda.ports import SearchIndex, Vector
from memoranda.services.embedding import embed_pending
from memoranda.testing.index_suite import SCOPE
from memoranda.testing.memory_index import MemoryIndex
from tests.embedding_server import EmbeddingServer, Fault, serving
from tests.services.recall_setup import TopicEmbedder, ask, fill, ids


class TurnedEmbedder(TopicEmbedder):
    """The same topics in another space: every axis is another one."""

    def embed_query(self, text: str) -> Vector:
        """Return the unit vector of a text, turned."""
        return np.roll(super().embed_query(text), 1).astype(np.float32)


@pytest.fixture
def index(tmp_path: Path) -> Iterator[SqliteIndex]:
    """Return an empty index."""
    index = SqliteIndex(tmp_path / "index")
    yield index
    index.close()


def pair() -> tuple[TopicEmbedder, TurnedEmbedder, ChainEmbedder]:
    """Return two embedders of one length and two spaces, and the chain of them."""
    first, second = TopicEmbedder(identity="first"), TurnedEmbedder(identity="second")
    return first, second, ChainEmbedder([first, second])


def test_the_next_embeds_where_one_fails_and_the_first_comes_back(index: SqliteIndex) -> None:
    """An outage moves the scope to the next one's space as a whole, and its end moves it back."""
    first, second, chain = pair()
    fill(index, fruit="an apricot", work="a release")
    assert embed_pending(index, chain, None, SCOPE) == 2
    assert (index.state(SCOPE).embedder, second.embedded) == ("first", [])
    first.failing = True
    fill(index, night="a dark evening")
    assert embed_pending(index, chain, None, SCOPE) == 3
    assert index.state(SCOPE).embedder == "second"
    found = ask(index, "peach", embedder=chain)
    assert (ids(found)[0], found.mode, found.trace.embedder) == ("rec_fruit", "hybrid", "second")
    first.failing = False
    found = ask(index, "peach", embedder=chain)
    assert (ids(found)[0], found.trace.embedder) == ("rec_fruit", "second")  # asked of the one whose vectors are there
    assert embed_pending(index, chain, None, SCOPE) == 3
    found = ask(index, "peach", embedder=chain)
    assert (ids(found)[0], found.trace.embedder) == ("rec_fruit", "first")


def test_an_index_is_asked_by_its_own_embedder_alone(index: SqliteIndex) -> None:
    """While the one whose vectors are there fails, words are searched, and mode and trace say so."""
    first, second, chain = pair()
    fill(index, fruit="an apricot", peach="the word peach")
    embed_pending(index, chain, None, SCOPE)
    assert set(ids(ask(index, "peach", embedder=chain))) == {"rec_fruit", "rec_peach"}
    first.failing = True
    found = ask(index, "peach", embedder=chain)
    assert (ids(found), found.mode, found.trace.embedder) == (["rec_peach"], "keyword", "")
    assert "the embedder failed (backend): the next is asked" in found.trace.notes
    assert "no embedder answers that has vectors here: keyword search only" in found.trace.notes
    assert second.embedded == []


def test_a_save_begins_no_other_space(index: SqliteIndex) -> None:
    """With a limit, as after a save, what fails waits: the next one does not begin beside the one that answers."""
    first, second, chain = pair()
    fill(index, fruit="an apricot")
    embed_pending(index, chain, None, SCOPE)
    first.failing = True
    fill(index, work="a release")
    with pytest.raises(BackendError):
        embed_pending(index, chain, None, SCOPE, limit=1)
    assert (second.embedded, index.state(SCOPE).pending) == ([], 1)
    first.failing = False
    assert embed_pending(index, chain, None, SCOPE, limit=1) == 1
    assert index.state(SCOPE).pending == 0


def test_where_all_fail_it_is_one_error(index: SqliteIndex) -> None:
    """Nothing is stored and the error names what each said."""
    first, second, chain = pair()
    fill(index, fruit="an apricot")
    first.failing = second.failing = True
    with pytest.raises(BackendError, match="no embedder answers: the model is away; the model is away"):
        embed_pending(index, chain, None, SCOPE)
    assert index.state(SCOPE).vectors == 0


SPACES: dict[str, type[TopicEmbedder]] = {"first": TopicEmbedder, "second": TurnedEmbedder}


def right_vector(identity: str, text: str) -> Vector:
    """Return the vector that the owner of an identity gives a text."""
    return SPACES[identity]().embed_query(text)


class Watched(MemoryIndex):
    """An index that checks that vectors come from the embedder that they are said to be of."""

    asked = ""
    answered = 0

    def put_vectors(
        self, scope: Scope, identity: str, keys: Sequence[int], vectors: Vector, words: Sequence[bytes] = ()
    ) -> int:
        """Check each row, and store them."""
        for found, vector in zip(self.fetch(scope, keys), vectors, strict=True):
            np.testing.assert_array_equal(vector, right_vector(identity, found.passage.embedding_text))
        return super().put_vectors(scope, identity, keys, vectors, words)

    def search_vector(
        self, scope: Scope, identity: str, query: Vector, limit: int, filters: Filters
    ) -> Sequence[tuple[int, float]] | None:
        """Check the question's vector, and search."""
        np.testing.assert_array_equal(query, right_vector(identity, self.asked))
        found = super().search_vector(scope, identity, query, limit, filters)
        assert not found or identity == self.state(scope).embedder
        self.answered += bool(found)
        return found


WORDS = ("apricot", "fruit", "deploy", "release", "dark", "theme", "other")
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.sampled_from(WORDS)),
        st.tuples(st.just("embed"), st.sampled_from([None, 1, 2])),
        st.tuples(st.just("first"), st.booleans()),
        st.tuples(st.just("second"), st.booleans()),
        st.tuples(st.just("ask"), st.sampled_from(WORDS)),
    ),
    max_size=30,
)


@given(STEPS)
@settings(max_examples=150, deadline=None)
def test_spaces_never_mix(steps: list[tuple[str, object]]) -> None:
    """Whatever fails in whatever order: rows are stored and asked by their own embedder, and by no other."""
    index, (first, second, chain) = Watched(), pair()
    for number, (kind, value) in enumerate(steps):
        if kind == "write":
            fill(index, **{f"r{number}": f"about {value}"})
        elif kind == "embed":
            embedded(index, chain, value)
        elif kind == "ask":
            index.asked = str(value)
            found = ask(index, index.asked, embedder=chain)
            assert found.trace.embedder in ("", index.state(SCOPE).embedder)
        else:
            (first if kind == "first" else second).failing = bool(value)


def embedded(index: SearchIndex, chain: ChainEmbedder, limit: object) -> None:
    """Embed what waits, or fail."""
    try:
        embed_pending(index, chain, None, SCOPE, limit=limit if isinstance(limit, int) else None)
    except BackendError as error:
        logging.getLogger(__name__).debug("%s", error)


def test_the_watched_index_notices_a_foreign_vector() -> None:
    """The check of the property above fails where a vector is of another space, and lets the right one pass."""
    index, (first, _second, chain) = Watched(), pair()
    fill(index, fruit="an apricot")
    index.asked = "fruit"
    assert embed_pending(index, chain, None, SCOPE) == 1
    assert ask(index, "fruit", embedder=chain).mode == "hybrid"
    assert index.answered == 1
    with pytest.raises(AssertionError):
        ask(index, "fruit", embedder=TurnedEmbedder(identity=first.identity))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[EmbeddingServer]:
    """Return a server; the pauses between attempts are short."""
    monkeypatch.setattr(http_client, "FIRST_PAUSE", 0.001)
    with serving() as server:
        yield server


@pytest.mark.slow
def test_a_home_lives_through_an_outage_of_its_server(server: EmbeddingServer, tmp_path: Path) -> None:
    """Server up, down and up again: saves never fail, and each search says what it went by."""
    given = {
        "memory.provider": ["custom:m", "hashing:64"], "memory.base_url": server.url,
        "memory.embedding.timeout_seconds": 2, "memory.embedding.query_timeout_seconds": 2,
    }  # fmt: skip
    with memoranda.open(tmp_path, settings=given) as memory:
        agent = memory.agent("main")
        agent.save("- Deploys run on Fridays.")
        assert memory.embed() == 1
        assert agent.search("when are deploys?").trace.embedder.startswith("custom@127.0.0.1")
        server.always = Fault(500)
        agent.save("- The cat sleeps in the sun.")
        assert agent.search("cat").mode == "keyword"
        assert memory.embed() == 2
        assert agent.search("cat").trace.embedder.startswith("hashing:64")
        status = memory.status()
        assert status.embedder == "custom:m,hashing:64"
        assert "next is asked" in status.embedder_reason
    server.always = None
    with memoranda.open(tmp_path, settings=given) as memory:
        assert memory.embed() == 2
        assert memory.agent("main").search("cat").trace.embedder.startswith("custom@127.0.0.1")
