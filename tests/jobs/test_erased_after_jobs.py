"""Erasure reaches what jobs left: records, blocks, notes, proposals, the reasons in their runs, and contradictions."""

from __future__ import annotations

from pathlib import Path

from tests.homes import home
from tests.jobs.test_dream import remember
from tests.scripted import Scripted, operations, writes

SENTINEL = "quagga-quintet"


def raw(folder: Path) -> list[str]:
    """Return the files of a home that hold the sentinel, whatever they are."""
    return [
        path.name for path in folder.rglob("*") if path.is_file() and SENTINEL.encode() in path.read_bytes().lower()
    ]


def test_nothing_is_left_of_what_jobs_wrote_down(tmp_path: Path) -> None:
    """Before the erasure several files hold the word, after it none does, and the rest of memory is whole."""
    model = Scripted([writes(f"- Ana rehearses with the {SENTINEL}.")])
    with home(tmp_path, model=model, memory__consolidation__max_change=0.5) as memory:
        agent, person = memory.agent("main"), memory.person("main")
        (kept,) = remember(agent, "The rehearsal room has a piano.")
        session = agent.session("talk")
        session.user(f"My sister Ana rehearses with the {SENTINEL} on Mondays.")
        (made,) = session.extract().steps[0].ids
        model.script = [
            operations(
                {"op": "promote", "ids": [made], "block": "human", "text": f"Ana rehearses with the {SENTINEL}."},
                {"op": "contradiction", "ids": [made, kept], "entity": SENTINEL, "topic": "room", "why": SENTINEL},
                {"op": "rewrite", "ids": [made], "text": f"Ana plays in the {SENTINEL}.", "why": f"The {SENTINEL}."},
            )
        ]
        report = person.dream()
        assert [step.outcome for step in report.steps] == ["saved", "signalled", "waits"]
        session.close()
    assert len(raw(tmp_path)) >= 3
    with home(tmp_path, model=model) as memory:
        memory.set_operator("a long passphrase", at_terminal=True)
        memory.operator("a long passphrase").erase(text=SENTINEL)
        person = memory.person("main")
        assert person.runs()
        assert person.run(report.id).id == report.id
        assert [hit.text for hit in person.search("piano", limit=1).hits] == ["The rehearsal room has a piano."]
        assert memory.verify().problems == ()
    assert raw(tmp_path) == []
