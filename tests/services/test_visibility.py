"""What is shown of texts and events: nothing that waits, and to a model nothing that a person rejected."""

from __future__ import annotations

from pathlib import Path

import pytest

from memoranda.domain.outcome import Quarantined, Saved
from memoranda.domain.record import Details
from memoranda.errors import NotFound
from memoranda.memory import Agent, Memory
from tests.homes import home, write


def waiting(memory: Memory) -> str:
    """Let a titled record wait; return its id."""
    session = memory.agent("main").session("s")
    session.tool_result("fetch", "…")
    item = session.remember("Hidden body.", details=Details(title="Hidden title", description="hidden words")).items[0]
    session.close()
    memory.sync()
    assert isinstance(item, Quarantined)
    return item.record_ids[0]


def everything(agent: Agent) -> str:
    """All that the log shows."""
    return repr(agent.log(limit=1_000))


def test_the_log_shows_nothing_of_what_waits(tmp_path: Path) -> None:
    """Neither an agent nor a person at the plain command line sees its words; what is active is in the payloads."""
    with home(tmp_path) as memory:
        ident = waiting(memory)
        memory.agent("main").remember("Shown body.", details=Details(title="Shown title"))
        for handle in (memory.agent("main"), memory.person("main")):
            assert "Hidden" not in everything(handle)
            assert "hidden" not in everything(handle)
            assert "Shown title" in everything(handle)
            with pytest.raises(NotFound):
                handle.history(ident)
        operator = memory.operator(at_terminal=True)
        (proposal,) = operator.waiting()
        operator.reject(proposal.id, proposal.content_hash)
        for handle in (memory.agent("main"), memory.person("main")):
            assert "Hidden" not in everything(handle)
            with pytest.raises(NotFound):
                handle.history(ident)


def test_a_model_sees_no_rejected_value_in_history_diff_and_preview(tmp_path: Path) -> None:
    """A person sees old versions; a model sees the neighbours and a mark in the place of what was rejected."""
    with home(tmp_path) as memory:
        agent, person = memory.agent("main"), memory.person("main")
        first = agent.save("- keep this neighbour\n- the badger code is nine").items[0]
        assert isinstance(first, Saved)
        person.delete(file="MEMORY.md", text="- the badger code is nine\n")
        checkpoint = person.checkpoints(limit=1)[0].id
        assert "badger" in repr(person.diff(checkpoint)) + repr(person.undo_preview(1))
        assert "badger" in repr(person.history(first.record_ids[1]))
        for shown in (repr(agent.diff(checkpoint)), repr(agent.undo_preview(1))):
            assert "badger" not in shown
            assert "[withheld]" in shown
            assert "keep this neighbour" in shown
        with pytest.raises(NotFound):
            agent.history(first.record_ids[1])
        assert "keep this neighbour" in repr(agent.history(first.record_ids[0]))


def test_blame_shows_a_model_active_lines_alone(tmp_path: Path) -> None:
    """What is withheld or what no sync has seen is a mark to a model and text to a person."""
    with home(tmp_path, memory__external_edits="review") as memory:
        memory.person("main").save("- shown line")
        write(tmp_path, "MEMORY.md", "- shown line\n- unread line\n")
        memory.sync()
        write(tmp_path, "MEMORY.md", "- shown line\n- unread line\n- unsynced line\n")
        assert [line.text for line in memory.agent("main").blame("MEMORY.md")] == [
            "- shown line", "[withheld]", "[withheld]",
        ]  # fmt: skip
        assert [line.text for line in memory.person("main").blame("MEMORY.md")] == [
            "- shown line", "- unread line", "- unsynced line",
        ]  # fmt: skip
