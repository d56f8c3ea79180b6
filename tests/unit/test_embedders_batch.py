"""OpenAI's Batch API against a real server on this machine: threshold, restarts, partial failures, tidying up."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import filelock
import numpy as np
import pytest

import memoranda
from memoranda.adapters.embedders import http_client, openai, openai_batch
from memoranda.adapters.embedders.hashing import HashingEmbedder
from memoranda.adapters.embedders.openai_batch import BatchingEmbedder
from memoranda.domain.settings import EmbedderSettings
from memoranda.errors import BackendError
from memoranda.memory import Memory
from memoranda.ports import BulkResult
from tests.embedding_server import EmbeddingServer, Fault, serving

TEXTS = [f"private note number {number}" for number in range(60)]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[EmbeddingServer]:
    """Return a server; pauses are short."""
    monkeypatch.setattr(http_client, "FIRST_PAUSE", 0.001)
    monkeypatch.setattr(openai_batch, "FIRST_POLL", 0.01)
    with serving() as server:
        yield server


def opened(server: EmbeddingServer, folder: Path, **settings: Any) -> BatchingEmbedder:
    """Open an embedder with the Batch API on, as a new process would."""
    given = {"base_url": server.url, "api_key": "k" * 20, "timeout_seconds": 2.0, "query_timeout_seconds": 2.0}
    given |= {"batch_api": True, "batch_wait_seconds": 0.0, "state": str(folder / ".state")}
    embedder = openai.open_embedder("m", EmbedderSettings(**{**given, **settings}))
    assert isinstance(embedder, BatchingEmbedder)
    return embedder


def files(folder: Path) -> list[Path]:
    """Return the state files that are there."""
    return sorted((folder / ".state").glob("openai-batch-*.json"))


def assert_right(result: BulkResult, texts: list[str]) -> None:
    """Fail unless every text has its own vector."""
    assert set(result.vectors) == set(texts)
    right = HashingEmbedder(64).embed_documents(texts)
    np.testing.assert_allclose(np.stack([result.vectors[text] for text in texts]), right, atol=1e-6)


def test_few_texts_are_left_to_the_caller(server: EmbeddingServer, tmp_path: Path) -> None:
    """Under the threshold nothing is uploaded; from it on a batch is made."""
    embedder = opened(server, tmp_path)
    assert embedder.embed_bulk(TEXTS[:49]) == BulkResult()
    assert server.paths == []
    assert_right(embedder.embed_bulk(TEXTS[:50]), TEXTS[:50])
    assert server.asked("POST /v1/batches") == 1


def test_a_batch_goes_through_at_once_where_it_is_done(server: EmbeddingServer, tmp_path: Path) -> None:
    """Upload, create, poll, download: each text has its vector, and nothing stays, here or there."""
    assert_right(opened(server, tmp_path).embed_bulk(TEXTS), TEXTS)
    assert [path.rsplit("/v1", 1)[1] for path in server.paths if "DELETE" not in path] == [
        "/files", "/batches?limit=100", "/batches", "/batches/batch_0", "/files/batch_0-out/content",
    ]  # fmt: skip
    assert server.inputs == []
    assert server.files == {"batch_0-err": b""}
    assert files(tmp_path) == []


def test_the_upload_is_what_openai_asks_for(server: EmbeddingServer, tmp_path: Path) -> None:
    """The file has a JSON line a text, each with its own id, method, endpoint and model."""
    server.is_done = False
    opened(server, tmp_path).embed_bulk(TEXTS)
    (content,) = server.files.values()
    lines = [json.loads(line) for line in content.splitlines()]
    assert len({line["custom_id"] for line in lines}) == 60
    assert {(line["method"], line["url"], line["body"]["model"]) for line in lines} == {("POST", "/v1/embeddings", "m")}
    assert [line["body"]["input"] for line in lines] == TEXTS
    batch = server.batches["batch_0"]
    assert (batch["endpoint"], batch["completion_window"]) == ("/v1/embeddings", "24h")


def test_a_restart_takes_up_what_is_under_way(server: EmbeddingServer, tmp_path: Path) -> None:
    """What is not done is remembered, without a text, for the owner alone; a new process fetches it."""
    server.is_done = False
    assert opened(server, tmp_path).embed_bulk(TEXTS).under_way == set(TEXTS)
    (file,) = files(tmp_path)
    assert b"private" not in file.read_bytes()
    if os.name == "posix":
        assert file.stat().st_mode & 0o077 == 0
    assert opened(server, tmp_path).embed_bulk([*TEXTS, "new"]).under_way == set(TEXTS)
    server.is_done = True
    assert_right(opened(server, tmp_path).embed_bulk([*TEXTS[10:], "new"]), TEXTS[10:])
    assert server.asked("POST /v1/files") == server.asked("POST /v1/batches") == 1
    assert files(tmp_path) == []


def test_a_process_killed_between_upload_and_batch_makes_one_batch(
    server: EmbeddingServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed before or after the batch was made, the next process goes on with the same upload and the same batch."""

    class KilledError(BaseException):
        """What stands for the end of a process."""

    written: list[str] = []
    write = openai_batch._write

    def dying(file: Path, state: openai_batch.BatchState) -> None:
        written.append(state.batch)
        if state.batch:
            raise KilledError  # the batch is made, and nobody has noted it
        write(file, state)

    server.is_done = False
    monkeypatch.setattr(openai_batch, "_write", dying)
    with pytest.raises(KilledError):
        opened(server, tmp_path).embed_bulk(TEXTS)
    monkeypatch.setattr(openai_batch, "_write", write)
    assert written == ["", "batch_0"]
    server.is_done = True
    assert_right(opened(server, tmp_path).embed_bulk(TEXTS), TEXTS)
    assert server.asked("POST /v1/files") == server.asked("POST /v1/batches") == 1


def test_what_fails_in_a_batch_is_named(server: EmbeddingServer, tmp_path: Path) -> None:
    """Texts that fail are counted and their codes named; the others have their vectors."""
    limited = {"status_code": 429, "body": {"error": {"code": "rate_limit_exceeded", "message": TEXTS[0]}}}
    odd = {"status_code": 200, "body": {"data": [{"embedding": [0.0] * 64}]}}
    server.bad_line = lambda number: limited if number in (3, 4) else odd if number == 5 else None
    result = opened(server, tmp_path).embed_bulk(TEXTS)
    assert set(TEXTS) - set(result.vectors) == set(TEXTS[3:6])
    assert result.failed == "3 of 60 texts of an OpenAI batch failed (no usable vector, rate_limit_exceeded)"
    assert result.under_way == frozenset()


@pytest.mark.parametrize("outcome", ["failed", "expired", "cancelled"])
def test_a_batch_that_comes_to_nothing_is_named(server: EmbeddingServer, tmp_path: Path, outcome: str) -> None:
    """A batch that failed as a whole gives its code, is forgotten, and its texts are left to the caller."""
    server.outcome = outcome
    result = opened(server, tmp_path).embed_bulk(TEXTS)
    assert result.failed == "60 of 60 texts of an OpenAI batch failed (billing_hard_limit_reached)"
    assert result.vectors == {}
    assert files(tmp_path) == []


def test_a_batch_that_vanished_is_forgotten(server: EmbeddingServer, tmp_path: Path) -> None:
    """Where OpenAI does not know the batch it is an error once, and then a new batch."""
    server.is_done = False
    opened(server, tmp_path).embed_bulk(TEXTS)
    server.batches.clear()
    with pytest.raises(BackendError, match="does not know the batch"):
        opened(server, tmp_path).embed_bulk(TEXTS)
    assert files(tmp_path) == []
    server.is_done = True
    assert_right(opened(server, tmp_path).embed_bulk(TEXTS), TEXTS)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"input_file": "x"}', b'{"salt": "zz", "ids": 5}'])
def test_a_damaged_state_file_is_as_good_as_none(server: EmbeddingServer, tmp_path: Path, content: bytes) -> None:
    """What cannot be read starts a new batch."""
    server.is_done = False
    opened(server, tmp_path).embed_bulk(TEXTS)
    files(tmp_path)[0].write_bytes(content)
    server.is_done = True
    server.batches.clear()
    assert_right(opened(server, tmp_path).embed_bulk(TEXTS), TEXTS)


@pytest.mark.slow
def test_failures_of_the_server_lose_nothing(server: EmbeddingServer, tmp_path: Path) -> None:
    """Whichever request fails for good, it is a BackendError, and the next call brings every vector."""
    for broken in range(5):
        folder = tmp_path / str(broken)
        server.any_request = [*[Fault()] * broken, Fault(401)]
        with pytest.raises(BackendError, match="401"):
            opened(server, folder).embed_bulk(TEXTS)
        assert_right(opened(server, folder).embed_bulk(TEXTS), TEXTS)


def test_two_processes_make_one_batch(server: EmbeddingServer, tmp_path: Path) -> None:
    """While another process has the batch in hand, its texts count as under way and nothing is sent."""
    embedder = opened(server, tmp_path)
    server.is_done = False
    embedder.embed_bulk(TEXTS)
    sent = len(server.paths)
    with filelock.FileLock(f"{files(tmp_path)[0]}.lock"):
        assert opened(server, tmp_path).embed_bulk(TEXTS).under_way == set(TEXTS)
        assert opened(server, tmp_path).embed_bulk(TEXTS[:5]).under_way == set()
    assert len(server.paths) == sent


def home(server: EmbeddingServer, folder: Path, **more: object) -> Memory:
    """Open a home whose embedder uses the Batch API."""
    given = {
        "memory.provider": "openai:m", "memory.base_url": server.url, "memory.api_key": "k" * 20,
        "memory.embedding.batch_api": True, "memory.embedding.batch_wait_seconds": 0,
        "memory.embedding.batch_threshold": 5, **more,
    }  # fmt: skip
    return memoranda.open(folder, settings=given)


@pytest.mark.slow
def test_a_sync_gives_over_and_a_later_one_fetches(server: EmbeddingServer, tmp_path: Path) -> None:
    """The first sync hands texts over, what is new meanwhile is embedded directly, a later process stores the rest."""
    server.is_done = False
    with home(server, tmp_path) as memory:
        agent = memory.agent("main")
        for number in range(8):
            agent.save(f"- Note {number} about harvests.")
        assert memory.embed() == 0
        assert memory.status().scopes[0].pending_vectors == 8
    with home(server, tmp_path) as memory:
        memory.agent("main").save("- Another one about ships.")
        assert memory.embed() == 1
        assert len(server.inputs[-1]) == 1
    server.is_done = True
    with home(server, tmp_path) as memory:
        assert memory.embed() == 8
        assert memory.status().scopes[0].pending_vectors == 0
        assert memory.agent("main").search("harvests").mode == "hybrid"
    assert server.asked("POST /v1/batches") == 1


@pytest.mark.slow
def test_what_a_batch_did_not_bring_is_asked_for_directly(server: EmbeddingServer, tmp_path: Path) -> None:
    """Texts that failed in a batch are embedded directly in the same sync; where that fails too, both are named."""
    server.bad_line = lambda number: (
        {"status_code": 500, "body": {"error": {"code": "server_error"}}} if number else None
    )
    with home(server, tmp_path) as memory:
        for number in range(8):
            memory.agent("main").save(f"- Note {number} about harvests.")
        server.faults, server.always = [Fault()], Fault(403)  # the first one asks how long vectors are
        with pytest.raises(BackendError, match=r"7 of 8 texts of an OpenAI batch failed \(server_error\); then openai"):
            memory.embed()
        assert memory.status().scopes[0].vectors == 1
        server.always = None
        assert memory.embed() == 7
