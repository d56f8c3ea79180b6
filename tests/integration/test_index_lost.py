"""The index is disposable: deleted, half of it or all, it comes back from files and ledger and answers the same."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import memoranda
from memoranda.memory import Memory

EMBEDDER = {"memory.provider": "hashing:64"}
QUESTIONS = (
    "garden tomatoes",
    "the port of the server",
    "who likes tea",
    '"every morning"',
    "nothing of the kind zebra",
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home of two agents with edits, deletions and notes of a person, indexed and embedded."""
    with memoranda.open(tmp_path, settings=EMBEDDER) as memory:
        agent = memory.agent("main")
        agent.save("# Garden\n\nThe tomatoes in the garden need water.\n\n- beans\n- peas")
        agent.save("The server listens on port 8080.", file="memory/server.md")
        agent.save("Ada likes green tea every morning.", file="memory/people.md")
        agent.save("Bob likes coffee.", file="memory/people.md")
        memory.person("main").delete(file="memory/people.md", text="Bob likes coffee.")
        memory.agent("second").save("The second agent's tomatoes are green tea's friends.")
        note = tmp_path / "memory" / "server.md"
        note.write_text(note.read_text(encoding="utf-8").replace("8080", "8081"), encoding="utf-8")
        memory.sync()
        memory.embed()
    return tmp_path


def _answers(memory: Memory) -> list[object]:
    """Return every answer to every question in full, scores and all, in three modes."""
    return [
        (hit.record_id, hit.text, round(hit.score, 6), hit.citation, hit.author, hit.trust, hit.recorded_at)
        for agent in ("main", "second")
        for question in QUESTIONS
        for mode in ("hybrid", "keyword", "vector")
        for hit in memory.agent(agent).search(question, limit=10, mode=mode).hits
    ]


def _all(index: Path) -> None:
    shutil.rmtree(index)


def _one_scope(index: Path) -> None:
    shutil.rmtree(index / "agent+main")


def _database(index: Path) -> None:
    (index / "agent+main" / "index.db").unlink()


def _cache(index: Path) -> None:
    (index / "embeddings.db").unlink()


@pytest.mark.parametrize("loss", [_all, _one_scope, _database, _cache])
def test_index_comes_back(home: Path, loss: Callable[[Path], None]) -> None:
    """After the loss and one sync, every answer is what it was, to the sixth digit of its score."""
    with memoranda.open(home, settings=EMBEDDER) as memory:
        before = _answers(memory)
    assert len(before) > 10
    loss(home / ".state" / "index")
    with memoranda.open(home, settings=EMBEDDER) as memory:
        memory.sync()
        memory.embed()
        assert _answers(memory) == before
        assert memory.verify().clean


def test_index_lost_under_an_open_memory(home: Path) -> None:
    """A process that has the index open notices that its folder is gone, and builds it anew at the next sync."""
    with memoranda.open(home, settings=EMBEDDER) as memory:
        before = _answers(memory)
        shutil.rmtree(home / ".state" / "index" / "agent+main")
        assert memory.agent("main").save("Saved without an index folder.").done
        memory.sync()
        memory.embed()
        memory.person("main").undo()
        memory.sync()
        memory.embed()
        assert _answers(memory) == before
        assert memory.verify().clean


def test_reindex_answers_the_same(home: Path) -> None:
    """`reindex` changes no answer either."""
    with memoranda.open(home, settings=EMBEDDER) as memory:
        before = _answers(memory)
        assert memory.reindex().reindexed or before
        memory.embed()
        assert _answers(memory) == before
