"""Embedders behind HTTP, against a real server on this machine that fails in every way it can."""

from __future__ import annotations

import logging
import math
import sys
from collections.abc import Callable, Iterator
from email.utils import format_datetime
from typing import Any

import numpy as np
import pytest

from memoranda.adapters import registry
from memoranda.adapters.embedders import http_client
from memoranda.adapters.embedders.addresses import endpoint
from memoranda.adapters.embedders.hashing import HashingEmbedder
from memoranda.adapters.embedders.http_client import JsonClient, Patience
from memoranda.adapters.embedders.recipes import recipe_of
from memoranda.domain.settings import EmbedderSettings
from memoranda.errors import BackendError, ConfigurationError, MissingExtra
from memoranda.ports import Embedder
from tests.embedding_server import EmbeddingServer, Fault, serving

KEY = "a-key-that-nobody-may-see"
TEXTS = ("My private words about Ann.", "Deploys run on Tuesday.", "Tea, not coffee.")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[EmbeddingServer]:
    """Return a server; the pauses between attempts are short."""
    monkeypatch.setattr(http_client, "FIRST_PAUSE", 0.001)
    with serving() as server:
        yield server


def opened(server: EmbeddingServer, address: str = "custom:m", **settings: Any) -> Embedder:
    """Open an embedder of the server."""
    given = {"base_url": server.url, "api_key": KEY, "timeout_seconds": 2.0, "query_timeout_seconds": 2.0}
    embedder = registry.open_embedder(address, EmbedderSettings(**{**given, **settings}))
    assert embedder is not None
    return embedder


ADDRESSES = ("custom:m", "openai:m", "ollama:other:1b")


@pytest.mark.parametrize("address", ADDRESSES)
def test_vectors_are_those_of_the_server(server: EmbeddingServer, address: str) -> None:
    """Rows are what the server computed, in the order of the texts, and the key goes in the header."""
    rows = opened(server, address).embed_documents(TEXTS)
    np.testing.assert_allclose(rows, HashingEmbedder(64).embed_documents(TEXTS), atol=1e-6)
    assert server.keys == [f"Bearer {KEY}"]


@pytest.mark.parametrize(
    ("address", "base", "path"),
    [
        ("custom:m", "", "/v1/embeddings"),
        ("custom:m", "/", "/v1/embeddings"),
        ("custom:m", "/v1", "/v1/embeddings"),
        ("custom:m", "/v1/", "/v1/embeddings"),
        ("custom:m", "/v1/embeddings", "/v1/embeddings"),
        ("custom:m", "/deep/v2", "/deep/v2/embeddings"),
        ("openai:m", "/v1", "/v1/embeddings"),
        ("ollama:m", "", "/api/embed"),
        ("ollama:m", "/api/embed", "/api/embed"),
        ("ollama:m", "/api", "/api/embed"),
        ("ollama:m", "/v1/", "/api/embed"),
    ],
)
def test_a_server_is_named_by_host_folder_or_whole_address(
    server: EmbeddingServer, address: str, base: str, path: str
) -> None:
    """A host, a folder and the whole address lead to the same place."""
    opened(server, address, base_url=server.url + base).embed_query("x")
    assert server.paths == [f"POST {path}"]


def test_an_address_without_scheme_is_safe_by_default() -> None:
    """This machine is asked over http and every other over https."""
    paths = {"path": "/v1/embeddings", "ending": "/embeddings"}
    assert endpoint("localhost:8080", **paths) == "http://localhost:8080/v1/embeddings"
    assert endpoint("[::1]:8080/v1", **paths) == "http://[::1]:8080/v1/embeddings"
    assert endpoint("models.example.org/v1", **paths) == "https://models.example.org/v1/embeddings"
    assert endpoint("localhost.example.org", **paths) == "https://localhost.example.org/v1/embeddings"


@pytest.mark.parametrize(
    "wrong", ["ftp://x", "http://", "http://user:pass@x/v1", "http://x/v1?key=1", "http://x:99999"]
)
def test_what_is_no_server_is_refused(wrong: str) -> None:
    """An address with a user, a query, another scheme or no host is a ConfigurationError that does not repeat it."""
    with pytest.raises(ConfigurationError, match="base_url") as caught:
        registry.open_embedder("custom:m", EmbedderSettings(base_url=wrong))
    assert "pass" not in str(caught.value)


def test_texts_are_sent_in_batches_by_number_and_size(server: EmbeddingServer) -> None:
    """No request holds more than 32 texts or 128 KiB, and nothing is lost or mixed up at the edges."""
    texts = [f"text {number}" for number in range(70)] + ["ab " * 2_333] * 40
    rows = opened(server).embed_documents(texts)
    assert [len(group) for group in server.inputs] == [32, 32, 24, 18, 4]
    assert all(sum(map(len, group)) <= 128 * 1024 for group in server.inputs)
    np.testing.assert_allclose(rows, HashingEmbedder(64).embed_documents(texts), atol=1e-6)


def test_a_long_text_is_cut_at_a_character(server: EmbeddingServer) -> None:
    """At most 8,000 bytes of a text are sent, no character in halves; an empty text is sent as a space."""
    opened(server).embed_documents(["記" * 5_000, "", "\ud800"])
    assert [len(text.encode()) for text in server.inputs[0]] == [7_998, 1, 1]


def backwards(answer: Any) -> Any:
    """Turn the order of the rows round; each still says which it is."""
    return {**answer, "data": answer["data"][::-1]}


def test_rows_are_put_in_order_by_index(server: EmbeddingServer) -> None:
    """A server that answers in another order changes nothing, and one that names no index is taken at its order."""
    right = HashingEmbedder(64).embed_documents(TEXTS)
    server.faults = [Fault(change=backwards), Fault(change=without_index)]
    np.testing.assert_allclose(opened(server).embed_documents(TEXTS), right, atol=1e-6)
    np.testing.assert_allclose(opened(server).embed_documents(TEXTS), right, atol=1e-6)


def without_index(answer: Any) -> Any:
    """Leave out which row is which."""
    return {"data": [{"embedding": item["embedding"]} for item in answer["data"]]}


def of_rows(change: Callable[[list[Any]], list[Any]]) -> Fault:
    """Return a fault that changes the rows of an answer."""

    def changed(answer: Any) -> Any:
        rows = change([item["embedding"] for item in answer["data"]])
        return {"data": [{"index": number, "embedding": row} for number, row in enumerate(rows)]}

    return Fault(change=changed)


NAN_ROW, ZERO_ROW = [math.nan] * 64, [0.0] * 64
WRONG: dict[str, Fault] = {
    "too few rows": of_rows(lambda rows: rows[:-1]),
    "too many rows": of_rows(lambda rows: [*rows, rows[0]]),
    "no rows": of_rows(lambda _rows: []),
    "one row is shorter": of_rows(lambda rows: [rows[0][:10], *rows[1:]]),
    "rows of no length": of_rows(lambda rows: [[] for _ in rows]),
    "not a number": of_rows(lambda rows: [NAN_ROW, *rows[1:]]),
    "zeros": of_rows(lambda rows: [*rows[:-1], ZERO_ROW]),
    "infinite": of_rows(lambda rows: [*rows[:-1], [1e308] * 64]),
    "words": of_rows(lambda rows: [["a"] * 64 for _ in rows]),
    "nothing": of_rows(lambda rows: [None for _ in rows]),
    "rows in rows": of_rows(lambda rows: [[row] for row in rows]),
    "an index twice": Fault(change=lambda answer: {"data": [{**item, "index": 0} for item in answer["data"]]}),
    "an index beyond": Fault(change=lambda answer: {"data": [{**item, "index": 7} for item in answer["data"]]}),
    "no data": Fault(change=lambda _answer: {"error": "My private words"}),
    "a list": Fault(change=lambda _answer: ["My private words"]),
    "no JSON": Fault(body=b"<html>My private words</html>"),
    "deep JSON": Fault(body=b"[" * 100_000),
}


@pytest.mark.parametrize("fault", WRONG.values(), ids=WRONG.keys())
def test_an_answer_that_is_no_vector_is_an_error(server: EmbeddingServer, fault: Fault) -> None:
    """Whatever else a server answers is a BackendError at once, without the words; the right answer is none."""
    embedder = opened(server)
    server.faults = [fault]
    with pytest.raises(BackendError) as caught:
        embedder.embed_documents(TEXTS)
    assert "private" not in str(caught.value)
    assert len(server.paths) == 1
    assert embedder.embed_documents(TEXTS).shape == (3, 64)


def test_another_length_than_before_is_an_error(server: EmbeddingServer) -> None:
    """Once a length is known, vectors of another length are refused: they would be of another space."""
    embedder = opened(server)
    assert embedder.embed_documents(TEXTS).shape == (3, 64)
    server.dimensions = 128
    with pytest.raises(BackendError, match="128 numbers, 64 were expected"):
        embedder.embed_query("x")


AGAIN: dict[str, Fault] = {
    "429 with a wait": Fault(429, headers={"Retry-After": "0"}),
    "429 without": Fault(429),
    "429 with a date": Fault(429, headers={"Retry-After": "Mon, 01 Jan 2024 00:00:00 GMT"}),
    "429 with nonsense": Fault(429, headers={"Retry-After": "soon"}),
    "500": Fault(500),
    "503 in HTML": Fault(503, body=b"<html>busy</html>"),
    "a dropped connection": Fault(cut=True),
}


@pytest.mark.parametrize("fault", AGAIN.values(), ids=AGAIN.keys())
def test_what_may_pass_is_tried_again(server: EmbeddingServer, fault: Fault) -> None:
    """Two such failures in a row are got over, and four are an error after four attempts."""
    embedder = opened(server)
    server.faults = [fault, fault]
    assert embedder.embed_documents(TEXTS * 2).shape == (6, 64)
    assert len(server.paths) == 3
    server.always = fault
    with pytest.raises(BackendError, match="custom at 127"):
        embedder.embed_documents(TEXTS * 2)
    assert len(server.paths) == 3 + 4


def test_a_question_and_a_few_texts_are_tried_twice(server: EmbeddingServer) -> None:
    """Somebody waits for a question, and for a save: after the second failure it is an error."""
    embedder, server.always = opened(server), Fault(500)
    with pytest.raises(BackendError, match="status 500"):
        embedder.embed_query("x")
    with pytest.raises(BackendError, match="status 500"):
        embedder.embed_documents(TEXTS)
    assert len(server.paths) == 4


@pytest.mark.parametrize("status", [301, 400, 401, 403, 404, 413])
def test_a_refusal_is_not_tried_again(server: EmbeddingServer, status: int) -> None:
    """What will not pass is an error at the first attempt, and no redirect is followed with the key."""
    server.always = Fault(status, headers={"Location": f"{server.url}/elsewhere"})
    with pytest.raises(BackendError, match=f"status {status}"):
        opened(server).embed_documents(TEXTS)
    assert server.paths == ["POST /v1/embeddings"]


def test_no_quota_is_not_tried_again(server: EmbeddingServer) -> None:
    """A 429 that says that the quota is used up is an error at once, and names that code."""
    server.always = Fault(429, body=b'{"error": {"code": "insufficient_quota", "message": "My private words"}}')
    with pytest.raises(BackendError, match="insufficient_quota") as caught:
        opened(server).embed_documents(TEXTS)
    assert "private" not in str(caught.value)
    assert len(server.paths) == 1


def test_a_wait_that_is_too_long_is_not_waited_for(server: EmbeddingServer) -> None:
    """A server that asks to come back in an hour, by number or by date, is an error now."""
    from datetime import UTC, datetime, timedelta

    hour = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    for value in ("3600", hour):
        server.always = Fault(429, headers={"Retry-After": value})
        with pytest.raises(BackendError, match="status 429"):
            opened(server).embed_documents(TEXTS)
    assert len(server.paths) == 2


@pytest.mark.parametrize("fault", [Fault(seconds=0.6), Fault(drip=True)], ids=["silent", "dripping"])
def test_a_slow_server_is_given_up(server: EmbeddingServer, fault: Fault) -> None:
    """A server that says nothing, or a byte at a time, is an error once the time is over."""
    embedder = opened(server, query_timeout_seconds=0.2)
    server.always = fault
    with pytest.raises(BackendError, match=r"within 0\.2 s|in time"):
        embedder.embed_query("x")
    server.always = None
    assert embedder.embed_query("x").shape == (64,)


def test_a_server_that_is_not_there_is_an_error() -> None:
    """A refused connection is a BackendError that names the host."""
    with serving() as gone:
        pass
    with pytest.raises(BackendError, match="cannot be reached"):
        opened(gone, query_timeout_seconds=0.3).embed_query("x")


def test_keys_and_texts_are_in_no_error_and_no_log(
    server: EmbeddingServer, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever goes wrong and however much is logged, neither the key nor a text is repeated."""
    from traceback import format_exception

    monkeypatch.setattr(logging.getLogger("httpx2"), "disabled", False)
    echo = f'{{"error": {{"code": "{KEY}", "message": "{TEXTS[0]}"}}}}'.encode()
    said = ""
    with caplog.at_level(logging.DEBUG):
        for fault in (Fault(400, body=echo), Fault(500, body=echo), Fault(cut=True), Fault(body=echo)):
            server.always = fault
            with pytest.raises(BackendError) as caught:
                opened(server).embed_documents(TEXTS)
            said += "".join(format_exception(caught.value))
    said += caplog.text + repr(EmbedderSettings(api_key=KEY, openai_key=KEY))
    assert "127.0.0.1" in said
    assert KEY not in said
    assert "private" not in said


def test_ollama_names_the_weights(server: EmbeddingServer) -> None:
    """The identity holds the digest of the weights and the prompts; other weights under one name are another space."""
    first = opened(server, "ollama:nomic-embed-text").identity
    server.digest = "f" * 64
    second = opened(server, "ollama:nomic-embed-text").identity
    assert first.startswith("ollama:nomic-embed-text:0a109f422b47:64:prompts-")
    assert first != second
    with pytest.raises(BackendError, match="ollama pull"):
        _ = opened(server, "ollama:absent").identity


def test_identities_tell_spaces_apart(server: EmbeddingServer) -> None:
    """Another model, length, provider or server is another identity; the same again is the same."""
    found = {
        opened(server, address, base_url=server.url + path).identity
        for address in ("custom:a", "custom:b", "openai:a")
        for path in ("/v1", "/other")
    }
    server.dimensions = 32
    found |= {opened(server, "custom:a", base_url=f"{server.url}/v1").identity}
    assert len(found) == 7
    assert opened(server, "custom:a", base_url=f"{server.url}/v1/embeddings").identity in found
    assert not any(KEY in identity for identity in found)


def test_models_get_the_prompts_of_their_cards(server: EmbeddingServer) -> None:
    """Documents and questions begin as the model's card asks; a model without prompts gets the text alone."""
    embedder = opened(server, "ollama:nomic-embed-text")
    embedder.embed_documents(["a"])
    embedder.embed_query("b")
    assert server.inputs == [["search_document: a"], ["search_query: b"]]
    gemma = recipe_of("embeddinggemma-300M-Q8_0.gguf")
    assert (gemma.document, gemma.query) == ("title: none | text: ", "task: search result | query: ")
    assert recipe_of("embeddinggemma:300m") == gemma
    assert recipe_of("mxbai-embed-large").query.startswith("Represent this sentence")
    assert recipe_of("intfloat/multilingual-e5-small").document == "passage: "
    assert recipe_of("text-embedding-3-small").name == recipe_of("unknown").name == "plain"


def test_languages_follow_the_card() -> None:
    """A model that knows many languages says so, and one that knows English alone does not."""
    multilingual = [recipe_of(name).multilingual for name in ("embeddinggemma", "bge-m3", "text-embedding-3-large")]
    assert all(multilingual)
    assert not recipe_of("nomic-embed-text").multilingual
    assert not recipe_of("bge-small-en-v1.5").multilingual


def test_what_is_missing_is_said_when_it_is_opened() -> None:
    """Without a key, a model or a server the address is a ConfigurationError that says what to set."""
    for address, settings, word in (
        ("openai", EmbedderSettings(), "OPENAI_API_KEY"),
        ("custom", EmbedderSettings(base_url="http://x"), "memory.model"),
        ("custom:m", EmbedderSettings(openai_key=KEY), "MEMORANDA_MEMORY_BASE_URL"),
    ):
        with pytest.raises(ConfigurationError, match=word):
            registry.open_embedder(address, settings)


def test_openais_key_goes_to_openai_alone(server: EmbeddingServer) -> None:
    """OPENAI_API_KEY is for `openai`; a server of another kind does not get it."""
    for address in ("custom:m", "ollama:other:1b", "openai:m"):
        opened(server, address, api_key="", openai_key=KEY).embed_query("x")
    assert server.keys == ["", "", f"Bearer {KEY}"]


def test_models_come_from_address_setting_or_default(server: EmbeddingServer) -> None:
    """The address names the model, else the setting, else what is usual."""
    for address, model, wanted in (
        ("openai:a", "b", ":a:"), ("openai", "b", ":b:"), ("openai", "", ":text-embedding-3-small:"),
    ):  # fmt: skip
        assert wanted in opened(server, address, model=model).identity


def test_a_missing_extra_gives_the_install_line(server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the packages of the extra the first text is a MissingExtra with the line that installs them."""
    for module in ("httpx2", "tenacity"):
        monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(MissingExtra, match=r"pip install 'memoranda\[remote\]'"):
            opened(server).embed_query("x")
        monkeypatch.undo()


def test_a_proxy_is_not_asked_about_this_machine(server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy of the environment does not come between Memoranda and a server on this machine."""
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    assert opened(server).embed_query("x").shape == (64,)


def test_a_huge_answer_is_refused(server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer beyond the limit is an error, not memory."""
    monkeypatch.setattr(http_client, "MAX_ANSWER_BYTES", 1 << 20)
    server.always = Fault(body=b"x" * (3 << 20))
    with pytest.raises(BackendError, match="more than 1 MiB"):
        opened(server).embed_query("x")


def test_a_client_is_closed_with_its_owner(server: EmbeddingServer) -> None:
    """Connections are kept between requests and closed when the client goes."""
    client = JsonClient("x", server.url)
    patience = Patience(1, 1, 1)
    assert client.json("GET", f"{server.url}/api/tags", patience)["models"]
    kept = client._client
    assert kept is not None
    assert not kept.is_closed
    del client
    assert kept.is_closed
