"""The poisoning corpus over jobs: what a model extracts from a poisoned session reaches no file and no model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memoranda.memory import Session
from tests.homes import home
from tests.poisoning.surfaces import VICTIM, model_views
from tests.poisoning.test_poisoning import CORPUS, ids, on_disk
from tests.scripted import Scripted, operations, writes


def told(session: Session, text: str) -> Session:
    """Let a page, or in an honest session a user, say this."""
    session.user("What does it say?")
    session.assistant(f"It says: {text}")
    return session


@pytest.mark.slow
@pytest.mark.parametrize("attack", CORPUS, ids=ids)
def test_no_job_carries_an_attack_in(tmp_path: Path, attack: dict[str, Any]) -> None:
    """A model that writes down, dreams of and merges all that it read changes nothing; the honest twin arrives."""
    model = Scripted([writes(attack["payload"])])
    with home(tmp_path, model=model) as memory:
        agent, person = memory.agent("ann"), memory.person("ann")
        victim = agent.save(VICTIM, file="memory/life.md").items[0]
        assert getattr(victim, "record_ids", ())
        bad = agent.session("bad")
        bad.tool_result("web_fetch", attack["payload"])
        report = told(bad, attack["payload"]).extract()
        assert report.count("saved") == 0
        bad.close()
        asked = len(model.asked)
        model.script = lambda _: operations(
            {"op": "note", "text": "Nothing new."},
            *({"op": "retire", "ids": [one["id"]]} for one in model.shown()["records"]),
        )
        dreamt = person.dream()
        model.script = [{"pairs": []}]
        person.contradictions()
        later = model.asked[asked:]
        assert len(later) >= 1
        assert not [one for one in later if attack["marker"] in one.messages[0].text]
        assert [step.outcome for step in dreamt.steps if step.what == "retire"] == ["waits"]
        assert VICTIM in on_disk(tmp_path)
        assert attack["marker"] not in on_disk(tmp_path)
        assert not [view for view in model_views(memory, attack["marker"]) if attack["marker"] in view]
        model.script = [writes(attack["control"])]
        honest = agent.session("good")
        told(honest, attack["control"])
        assert honest.extract().count("saved") >= 1
        assert attack["control"].splitlines()[0] in on_disk(tmp_path)
        assert memory.verify().problems == ()
