"""Work that nobody asked for: when it is due, and that it rests after a failure."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from memoranda.errors import ModelFailed
from memoranda.services.jobs import due
from tests.homes import home
from tests.scripted import Scripted


def test_a_model_that_is_away_is_not_asked_again_and_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a failure background work rests; what a person asks for does not; after the rest it is tried again."""
    model = Scripted([ModelFailed("nobody is there")])
    with home(tmp_path, model=model, memory__auto_extract_interval=1, memory__consolidation__idle_seconds=0) as memory:
        agent = memory.agent("main")
        agent.remember("Storks come in March.")
        session = agent.session("one")
        session.user("Ana lives in Lisbon.")
        assert [(one.kind, one.state) for one in memory.tend()] == [("extract", "failed"), ("dream", "failed")]
        asked = len(model.asked)
        assert memory.tend() == ()
        assert len(model.asked) == asked
        other = agent.session("two")
        other.user("Boris lives in Bonn.")
        assert [one.session for one in memory.tend()] == [other.id]
        assert memory.person("main").dream().state == "failed"
        assert session.extract().state == "failed"
        monkeypatch.setattr(due, "REST", timedelta(0))
        assert sorted(one.kind for one in memory.tend()) == ["dream", "extract", "extract"]


def test_a_dream_over_nothing_is_tried_once(tmp_path: Path) -> None:
    """Where everything was removed a dream finds nothing, says so once, and rests; one that is asked for is done."""
    model = Scripted([{"operations": []}])
    with home(tmp_path, model=model, memory__consolidation__idle_seconds=0) as memory:
        person = memory.person("main")
        person.save("Storks come in March.")
        person.delete(file="MEMORY.md", text="Storks come in March.")
        assert [(one.kind, one.state) for one in memory.tend()] == [("dream", "skipped")]
        assert memory.tend() == ()
        assert len(person.runs()) == 1
        person.save("Geese come in May.")
        assert person.dream().state == "done"
