"""Search while a merge is written: the fact is found at every moment, under its old record or its new one."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from memoranda.domain.operation import Batch, Create, Remove
from memoranda.domain.outcome import Saved
from memoranda.domain.query import Query
from memoranda.memory import Agent, Memory
from memoranda.services import gateway, indexing
from tests.homes import home

ROUNDS = 25


def merge(agent: Agent, record_id: str, number: int) -> str:
    """Put a new record in an old one's place as a merge does, and return its id."""
    stores = agent._parts.stores
    operations = (
        Create("memory/notes.md", f"The walrus is told of, number {number}."),
        Remove(record_id, keep_value=True),
    )
    outcome = gateway.commit(stores, Batch(agent.viewer.principal, agent.scope, operations, "dream"))
    made = outcome.items[0]
    assert isinstance(made, Saved)
    return made.record_ids[0]


def merging(memory: Memory, record_id: str, over: threading.Event) -> None:
    """Merge again and again, and say when it is over."""
    try:
        for number in range(ROUNDS):
            record_id = merge(memory.agent("main"), record_id, number)
            time.sleep(0.01)
    finally:
        over.set()


def test_the_fact_is_never_missed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even where the index follows its file late, a search waits for it; one that does not wait misses the fact."""
    project = indexing.project

    def late(*arguments: object) -> bool:
        time.sleep(0.03)
        return project(*arguments)  # type: ignore[arg-type]  # handed on

    monkeypatch.setattr(indexing, "project", late)
    with home(tmp_path) as memory:
        agent = memory.agent("main")
        agent.remember("Nothing to do with it.")
        made = agent.remember("The walrus is told of.").items[0]
        assert isinstance(made, Saved)
        over = threading.Event()
        writer = threading.Thread(target=merging, args=(memory, made.record_ids[0], over))
        writer.start()
        missed = hasty = searches = 0
        while not over.is_set():
            hasty += not any("walrus" in hit.text for hit in agent._recall_now(Query(text="walrus")).hits)
            missed += not any("walrus" in hit.text for hit in agent.search("walrus").hits)
            searches += 1
        writer.join()
        assert searches >= ROUNDS
        assert missed == 0
        assert hasty > 0


def test_a_persons_edit_is_left_out_and_said_so(tmp_path: Path) -> None:
    """Where nothing is being written a search does not wait: what a hand took away is left out, with a note."""
    with home(tmp_path) as memory:
        agent = memory.agent("main")
        agent.remember("The walrus is told of.")
        agent.remember("A walrus swims.")
        path = tmp_path / "memory" / "notes.md"
        path.write_text(path.read_text(encoding="utf-8").replace("A walrus swims.", ""), encoding="utf-8")
        found = agent.search("walrus")
        assert [hit.text for hit in found.hits] == ["The walrus is told of."]
        assert found.trace.gone == 1
