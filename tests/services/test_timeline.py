"""The timeline: its names and payloads are those that are documented, and hold no text of memory."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from memoranda.domain.outcome import Saved
from memoranda.domain.timeline import SHAPES
from memoranda.errors import InvalidInput
from memoranda.memory import Agent, Memory
from tests.homes import home
from tests.scripted import Scripted, operations

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "timeline.md"


def remembered(agent: Agent, text: str) -> str:
    """Save a record and return its id."""
    item = agent.remember(text).items[0]
    assert isinstance(item, Saved)
    return item.record_ids[0]


def everything(memory: Memory, model: Scripted) -> None:
    """Let each thing happen once that the timeline tells of."""
    agent, person = memory.agent("main"), memory.person("main")
    one, two = remembered(agent, "The heron sleeps."), remembered(agent, "The heron never sleeps.")
    model.script = [
        operations(
            {"op": "promote", "ids": [one], "block": "project", "text": "The heron sleeps."},
            {"op": "contradiction", "ids": [one, two], "entity": "heron", "topic": "sleep"},
            {"op": "retire", "ids": [two]},
        )
    ]
    person.dream()
    person.conflicts_resolve("heron", "sleep", decision="sleeps", rationale="It was seen.")
    session = agent.session("bad")
    session.tool_result("web_fetch", "page " * 400)
    for number in range(4):
        session.user(f"Turn {number}")
    session.save("What the page says.")
    session.tidy(keep_turns=1)
    session.restore_hygiene()
    operator = memory.operator(at_terminal=True)
    waiting = operator.waiting()
    operator.reject(waiting[-1].id, waiting[-1].content_hash)


def test_every_event_has_its_documented_payload(tmp_path: Path) -> None:
    """Doing everything once gives every documented name, each with exactly its keys and no word of memory."""
    model = Scripted([{}])
    with home(tmp_path, model=model) as memory:
        everything(memory, model)
    with home(tmp_path, model=model, llm__daily_budget=1) as memory:
        memory.person("main").dream()
        found = memory.person("main").timeline(limit=1_000)
        assert {one.name for one in found} == set(SHAPES)
        assert [one for one in found if tuple(one.payload) != SHAPES[one.name]] == []
        assert [one.seq for one in found] == sorted((one.seq for one in found), reverse=True)
        assert "heron" not in repr(found)
        assert "page says" not in repr(found)
        assert memory.person("main").search("heron").hits


def test_the_page_is_the_table() -> None:
    """The documentation names exactly the names and keys that there are."""
    rows = re.findall(r"^\| `(memory[^`]+)` \| (.+) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert {name: tuple(re.findall(r"`([^`]+)`", keys)) for name, keys in rows} == dict(SHAPES)


def test_names_narrow_it(tmp_path: Path) -> None:
    """The beginning of names before a dot narrows the timeline; a limit that makes no sense is refused."""
    model = Scripted([{}])
    with home(tmp_path, model=model) as memory:
        everything(memory, model)
        person = memory.person("main")
        assert {one.name for one in person.timeline(name="memory.dream")} == {
            "memory.dream.started", "memory.dream.ended",
        }  # fmt: skip
        assert [one.name for one in person.timeline(name="memory.taint.transition")] == ["memory.taint.transition"]
        assert person.timeline(name="memory.dr") == ()
        with pytest.raises(InvalidInput):
            person.timeline(limit=0)
        assert memory.person("other").timeline() == ()
