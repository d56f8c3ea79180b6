"""A proposal that has lapsed harms nothing: it is in nobody's way, hides nothing and is not counted."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from memoranda.domain.outcome import Quarantined, Saved
from memoranda.domain.times import stamp
from memoranda.memory import Memory
from tests.homes import home, texts, write

DAYS = 91
"""A day more than a change waits."""


def _in(memory: Memory, days: int) -> None:
    """Let the home's clock show a later day."""
    shown = stamp(datetime.now(UTC) + timedelta(days=days))

    class Clock:
        def now(self) -> str:
            return shown

    object.__setattr__(memory._parts.stores, "clock", Clock())


def _saved(memory: Memory, text: str) -> tuple[str, ...]:
    """Let a person save a text; return the ids of its records."""
    (done,) = memory.person("main").save(text).items
    assert isinstance(done, Saved)
    return done.record_ids


def _waiting(memory: Memory) -> int:
    """How many proposals the home says are waiting; the list and the count must agree."""
    listed = len(memory.operator(at_terminal=True).waiting(limit=200))
    assert sum(scope.waiting for scope in memory.status().scopes) == listed
    return listed


def test_a_lapsed_change_can_be_offered_again(tmp_path: Path) -> None:
    """After its time the same change becomes a new proposal, which can be approved; before, it is the same one."""
    with home(tmp_path) as memory:
        agent, operator = memory.agent("main"), memory.operator(at_terminal=True)
        (made,) = _saved(memory, "The kettle is blue.")
        first, same = (agent.update(made, "The kettle is red.").items[0] for _ in range(2))
        assert isinstance(first, Quarantined)
        assert first == same
        assert _waiting(memory) == 1
        _in(memory, DAYS)
        assert _waiting(memory) == 0
        again = agent.update(made, "The kettle is red.").items[0]
        assert isinstance(again, Quarantined)
        assert again.proposal_id != first.proposal_id
        (waits,) = operator.waiting()
        assert waits.id == again.proposal_id
        assert operator.approve(waits.id, waits.content_hash).done
        assert texts(agent, "kettle") == ["The kettle is red."]
        assert memory.verify().problems == ()


def test_lapsed_ones_do_not_hide_what_waits(tmp_path: Path) -> None:
    """Behind more lapsed proposals than a list is long, a new one is listed."""
    with home(tmp_path) as memory:
        agent, operator = memory.agent("main"), memory.operator(at_terminal=True)
        made = _saved(memory, "\n\n".join(f"Shelf {number} holds {number} cups." for number in range(9)))
        for number, ident in enumerate(made[:8]):
            assert isinstance(agent.update(ident, f"Shelf {number} is empty.").items[0], Quarantined)
        assert len(operator.waiting(limit=2)) == 2
        _in(memory, DAYS)
        assert operator.waiting(limit=2) == ()
        newest = agent.update(made[8], "Shelf 8 is empty.").items[0]
        assert isinstance(newest, Quarantined)
        assert [item.id for item in operator.waiting(limit=2)] == [newest.proposal_id]
        assert {item.state for item in operator.waiting(pending=False, limit=8)} == {"expired"}


def test_what_has_left_its_file_is_not_counted(tmp_path: Path) -> None:
    """A text that waits in a file counts until a person has taken it out; its neighbour goes on waiting."""
    with home(tmp_path, memory__external_edits="review") as memory:
        write(tmp_path, "memory/a.md", "One waits.\n")
        write(tmp_path, "memory/b.md", "Another waits.\n")
        memory.sync()
        assert _waiting(memory) == 2
        (tmp_path / "memory/a.md").unlink()
        memory.sync()
        assert _waiting(memory) == 1
