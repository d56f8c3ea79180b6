"""Whose memory it is: nothing of one agent reaches another, by any door; each test shows that the owner can."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import memoranda
from memoranda.domain.outcome import Saved
from memoranda.memory import Memory
from tests.homes import home, read, texts, write

LOOK_ALIKES = ["a", "a-b", "a_b", "ab", "a-b-", "a--b", "a1", "1a", "a-b2", "main", "main2", "mai"]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    """An empty home."""
    with home(tmp_path) as opened:
        yield opened


@pytest.mark.parametrize("owner", LOOK_ALIKES)
def test_nothing_crosses_between_ids_that_look_alike(memory: Memory, owner: str) -> None:
    """Search, get, history, checkpoints, diff, restore and delete of another agent answer as for an unknown id."""
    agent = memory.agent(owner)
    saved = agent.save("The hidden treasure lies under the oak.").items[0]
    assert isinstance(saved, Saved)
    record_id, checkpoint = saved.record_ids[0], agent.checkpoints()[0].id
    assert texts(agent, "hidden treasure oak") == ["The hidden treasure lies under the oak."]
    assert agent.get(record_id).text == "The hidden treasure lies under the oak."
    assert agent.diff(checkpoint)
    for other_id in LOOK_ALIKES:
        if other_id == owner:
            continue
        other = memory.agent(other_id)
        assert texts(other, "hidden treasure oak") == []
        assert other.checkpoints() == ()
        assert other.log() == ()
        for call, known, unknown in (
            (other.get, record_id, "rec_" + "0" * 22),
            (other.history, record_id, "rec_" + "0" * 22),
            (other.restore, checkpoint, "cp_" + "0" * 22),
            (other.diff, checkpoint, "cp_" + "0" * 22),
        ):
            with pytest.raises(memoranda.NotFound) as foreign:
                call(known)
            with pytest.raises(memoranda.NotFound) as none:
                call(unknown)
            assert str(foreign.value) == str(none.value)
        outcome = other.delete(file="MEMORY.md", text="The hidden treasure lies under the oak.")
        assert not outcome.done
    assert agent.get(record_id).text == "The hidden treasure lies under the oak."
    assert agent.restore(checkpoint).done


def test_a_team_of_ten_does_not_outrank_an_agents_better_match(tmp_path: Path) -> None:
    """Scores are normalised once over all scopes: a small or large scope cannot win by its own maximum."""
    write(tmp_path, "memoranda.toml", '[teams.core]\nmembers = ["anna"]\n')
    decoys = "".join(f"- Team note {n}: the coffee machine on floor {n} was cleaned.\n" for n in range(10))
    write(tmp_path, "teams/core/memory/notes.md", decoys)
    write(
        tmp_path,
        "agents/anna/MEMORY.md",
        "- Anna takes her coffee machine order as a double espresso without sugar.\n",
    )
    with home(tmp_path) as memory:
        memory.sync()
        hits = memory.agent("anna").search("double espresso coffee machine order", limit=5).hits
        assert (str(hits[0].scope), hits[0].path) == ("agent:anna", "MEMORY.md")
        assert "team:core" in {str(hit.scope) for hit in hits}
        assert {str(hit.scope) for hit in memory.agent("bob").search("coffee machine").hits} == set()


def test_shared_scopes_are_read_by_all_and_written_by_no_agent(tmp_path: Path) -> None:
    """Realm and operator memory reach every agent; team memory its members alone."""
    write(tmp_path, "shared/memory/realm.md", "- The office is in Lisbon.\n")
    write(tmp_path, "operator/memory/op.md", "- The operator prefers short answers.\n")
    with home(tmp_path) as memory:
        memory.sync()
        for agent in ("main", "zoe"):
            found = texts(memory.agent(agent), "office operator lisbon short answers")
            assert set(found) == {"- The office is in Lisbon.", "- The operator prefers short answers."}
        memory.agent("zoe").save("Zoe adds her own line.")
        assert read(tmp_path, "shared/memory/realm.md") == "- The office is in Lisbon.\n"
        assert read(tmp_path, "agents/zoe/MEMORY.md") == "Zoe adds her own line.\n"


def test_main_lives_in_the_root_unless_it_has_a_folder(tmp_path: Path) -> None:
    """agents/main/ takes the place of the root; doctor says so where both hold notes; others never fall back."""
    write(tmp_path, "MEMORY.md", "- in the root\n")
    with home(tmp_path) as memory:
        memory.sync()
        assert texts(memory.agent("main"), "root") == ["- in the root"]
        assert texts(memory.agent("other"), "root") == []
        assert all("agents/main" not in finding.message for finding in memory.doctor())
    write(tmp_path, "agents/main/MEMORY.md", "- in its own folder\n")
    with home(tmp_path) as memory:
        memory.sync(accept_removals=True)
        assert texts(memory.agent("main"), "root folder") == ["- in its own folder"]
        assert any("agents/main" in finding.message and finding.level == "warning" for finding in memory.doctor())
