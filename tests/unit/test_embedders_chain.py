"""A chain of embedders: whom it asks, when it leaves one alone, and that it is one space to whoever takes it as one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from memoranda.adapters import registry
from memoranda.adapters.embedders.chain import FAILURES, OPEN_SECONDS, ChainEmbedder, Circuit, Member
from memoranda.adapters.embedders.hashing import HashingEmbedder
from memoranda.adapters.embedders.weighted import WeightedEmbedder
from memoranda.domain.settings import EmbedderSettings
from memoranda.errors import BackendError, ConfigurationError, IntegrityError, MissingExtra
from memoranda.ports import Bulk, BulkResult, Embedder, Multilingual, Vector
from tests.services.recall_setup import PolyglotEmbedder, TopicEmbedder


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now


class Counted(TopicEmbedder):
    """An embedder that counts how often it is asked, failures included."""

    asked = 0

    def embed_query(self, text: str) -> Vector:
        """Count and embed."""
        self.asked += 1
        return super().embed_query(text)


def failing(member: Embedder, times: int = 1) -> None:
    """Ask a member so often; each time it is an error."""
    for _ in range(times):
        with pytest.raises(BackendError):
            member.embed_query("x")


def test_three_failures_in_a_row_open_the_circuit_for_a_minute() -> None:
    """After three it is not asked any more, after a minute once, and after a success as ever."""
    clock, inner = Clock(), Counted(failing=True)
    member = Member("x", lambda: inner, Circuit("x", clock=clock))
    failing(member, FAILURES)
    assert inner.asked == 3
    clock.now += OPEN_SECONDS - 0.1
    with pytest.raises(BackendError, match="not asked for"):
        member.embed_query("x")
    with pytest.raises(BackendError, match="not asked for"):
        _ = member.identity
    assert inner.asked == 3
    clock.now += 0.2
    failing(member, 2)
    assert inner.asked == 4
    clock.now += OPEN_SECONDS
    inner.failing = False
    assert member.identity == "topics:1"
    assert member.embed_query("peach").shape == (4,)
    assert member.embed_documents(["peach"]).shape == (1, 4)
    inner.failing = True
    failing(member, 2)
    assert inner.asked == 4 + 1 + 1 + 2


def test_a_success_in_between_closes_the_count() -> None:
    """Two failures, a success and two failures open nothing."""
    inner = Counted(failing=True)
    member = Member("x", lambda: inner)
    for _ in range(2):
        failing(member, 2)
        inner.failing = False
        member.embed_query("x")
        inner.failing = True
    assert inner.asked == 6


def test_looking_at_a_known_identity_is_no_success() -> None:
    """The identity is asked for before each question; that must not close the count of failures."""
    inner = Counted()
    member = Member("x", lambda: inner)
    member.embed_query("x")
    inner.failing = True
    for _ in range(3):
        assert member.identity
        failing(member)
    with pytest.raises(BackendError, match="not asked for"):
        member.embed_query("x")
    assert inner.asked == 4


def test_of_many_that_wait_for_the_minute_one_tries() -> None:
    """When the circuit lets through again it is one call alone, though several come at once."""
    clock, going, inside = Clock(), threading.Event(), threading.Event()

    class Slow(Counted):
        """One that answers when it is told to."""

        def embed_query(self, text: str) -> Vector:
            """Wait, and embed."""
            if not self.failing:
                inside.set()
                assert going.wait(10)
            return super().embed_query(text)

    inner = Slow(failing=True)
    member = Member("x", lambda: inner, Circuit("x", clock=clock))
    failing(member, 3)
    clock.now += OPEN_SECONDS + 1
    inner.failing = False
    trying = threading.Thread(target=member.embed_query, args=("x",))
    trying.start()
    assert inside.wait(10)
    with pytest.raises(BackendError, match="not asked for"):
        member.embed_query("x")
    going.set()
    trying.join(10)
    assert member.embed_query("x").shape == (4,)


def test_calls_run_beside_each_other() -> None:
    """A long call of documents does not hold up a question."""
    going, inside = threading.Event(), threading.Event()

    class Slow(TopicEmbedder):
        """One whose documents take until they are told to go on."""

        def embed_documents(self, texts: Sequence[str]) -> Vector:
            """Wait, and embed."""
            inside.set()
            assert going.wait(10)
            return super().embed_documents(texts)

    member = Member("x", Slow)
    long = threading.Thread(target=member.embed_documents, args=(["x"],))
    long.start()
    assert inside.wait(10)
    assert member.embed_query("x").shape == (4,)
    going.set()
    long.join(10)


@pytest.mark.parametrize("error", [ConfigurationError("no key"), MissingExtra("gguf", "it"), IntegrityError("other")])
def test_a_member_that_cannot_be_opened_is_a_failure(error: Exception) -> None:
    """A missing key, package or weight is a BackendError of that member; the next is taken."""

    def broken() -> Embedder:
        raise error

    member = Member("x", broken)
    with pytest.raises(BackendError, match=str(error)[:5]):
        _ = member.weight
    failing(member)
    assert ChainEmbedder([member, HashingEmbedder(64)]).dimensions == 64


def test_taken_as_one_it_is_one_space() -> None:
    """Whoever takes a chain as one embedder gets the first that answered, also after it fails and others would do."""
    first, second = TopicEmbedder(identity="a"), TopicEmbedder(identity="b")
    chain = ChainEmbedder([Member("gone", gone), Member("a", lambda: first), Member("b", lambda: second)])
    assert chain.identity == "a"
    first.failing = True
    with pytest.raises(BackendError):
        chain.embed_query("x")
    assert chain.identity == "a"
    assert second.embedded == []


def gone() -> Embedder:
    """Fail to open."""
    raise ConfigurationError("not here")


def test_where_none_answers_all_are_named() -> None:
    """A chain of which nobody answers says why for each."""
    with pytest.raises(BackendError, match=r"one cannot be used: not here; two cannot be used: not here"):
        _ = ChainEmbedder([Member("one", gone), Member("two", gone)]).identity


def test_capabilities_shine_through() -> None:
    """A member and a weighted embedder can what the inner one can, and nothing more."""

    class Large(TopicEmbedder):
        """One that takes many at once."""

        def embed_bulk(self, texts: Sequence[str]) -> BulkResult:
            """Return that they are under way."""
            return BulkResult(under_way=frozenset(texts))

    makes: tuple[Callable[[Embedder], Embedder], ...] = (
        lambda inner: Member("x", lambda: inner),
        lambda inner: WeightedEmbedder(inner, 0.5),
    )
    for make in makes:
        plain, polyglot, large = make(TopicEmbedder()), make(PolyglotEmbedder()), make(Large())
        assert isinstance(plain, Multilingual)
        assert isinstance(polyglot, Multilingual)
        assert (plain.multilingual, polyglot.multilingual) == (False, True)
        assert isinstance(plain, Bulk)
        assert isinstance(large, Bulk)
        assert plain.embed_bulk(["a"]) == BulkResult()
        assert large.embed_bulk(["a"]).under_way == {"a"}


def test_server_and_key_go_to_one_member_alone() -> None:
    """In a chain `memory.base_url` and `memory.api_key` are the first custom's, else the first remote one's."""
    settings = EmbedderSettings(base_url="http://x", api_key="k", model="m")
    for addresses, owner in (
        (["minilm", "openai:a", "ollama:b", "custom:c", "custom:d"], "custom:c"),
        (["hashing", "ollama:b", "openai:a"], "ollama:b"),
        (["minilm", "hashing"], ""),
    ):
        given: dict[str, EmbedderSettings] = {}

        def note(address: str, found: EmbedderSettings, given: dict[str, EmbedderSettings] = given) -> Embedder:
            given[address] = found
            return HashingEmbedder(64)

        chain = registry.open_chain(addresses, note, settings)
        assert isinstance(chain, ChainEmbedder)
        assert len(given) == 0
        for member in chain.members:
            assert member.identity
        assert [address for address in addresses if given[address].base_url or given[address].api_key] == (
            [owner] if owner else []
        )
        assert {found.model for found in given.values()} == {"m"}


def test_addresses_are_checked_at_once() -> None:
    """An unknown scheme anywhere in a chain, one address twice, or `none` among others is a ConfigurationError."""
    registry.check_addresses(["openai", "ollama:x", "minilm"])
    for wrong, word in (
        (["openai", "minlm"], "minilm"),
        (["minilm", "minilm"], "twice"),
        (["minilm", "none"], "alone"),
    ):
        with pytest.raises(ConfigurationError, match=word):
            registry.check_addresses(wrong)


def test_a_server_alone_has_a_circuit_too() -> None:
    """One remote address is opened at once, left alone after three failures, and a missing extra stays what it is."""
    settings = EmbedderSettings(base_url="http://127.0.0.1:9", query_timeout_seconds=0.2)
    one = registry.open_chain(["custom:m"], registry.open_embedder, settings)
    assert isinstance(one, Member)
    failing(one, FAILURES)
    with pytest.raises(BackendError, match="not asked for"):
        one.embed_query("x")
    with pytest.raises(ConfigurationError, match="OPENAI_API_KEY"):
        registry.open_chain(["openai"], registry.open_embedder, settings=EmbedderSettings())

    def missing() -> Embedder:
        raise MissingExtra("remote", "it")

    with pytest.raises(MissingExtra):
        Member("x", missing, alone=True).embed_query("x")


def test_one_address_is_no_chain() -> None:
    """A single address on this machine is opened as itself, at once."""
    one = registry.open_chain(["hashing:64"], registry.open_embedder, EmbedderSettings())
    assert isinstance(one, HashingEmbedder)
    assert np.isclose(np.linalg.norm(one.embed_query("x")), 1.0)
