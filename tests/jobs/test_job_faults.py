"""Whatever a model answers, memory loses nothing, nothing is half done, and the run says what happened."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memoranda.domain.job import RunReport
from memoranda.domain.outcome import Saved
from memoranda.domain.record import Details
from memoranda.errors import ModelFailed
from memoranda.memory import Memory, Session
from memoranda.ports.model import Answer
from tests.homes import holding, home, read
from tests.scripted import Reply, Scripted

AT_ONCE = {"memory__consolidation__idle_seconds": 0}
"""A session counts as over as soon as nobody talks."""

FAULTS: dict[str, tuple[Reply, str]] = {
    "nonsense": ("I am sorry, Dave.", "failed"),
    "half a JSON": ('{"writes": [{"path": "memory/notes.md", "content": "- Half', "failed"),
    "an empty answer": ("", "failed"),
    "another form": ({"records": "gone"}, "failed"),
    "nothing to do": (
        {"writes": [], "operations": [], "choices": [], "scores": [], "pairs": [], "verdicts": []}, "done",
    ),
    "unknown ids": (
        {
            "writes": [], "scores": [{"n": "99", "score": 1}], "choices": [{"id": "rec_unknown"}],
            "operations": [{"op": "retire", "ids": ["rec_unknown"]}],
            "pairs": [{"ids": ["rec_unknown", "rec_other"], "label": "update"}],
            "verdicts": [{"id": "rec_unknown", "n": "99", "verdict": "supports"}],
        },
        "done",
    ),
    "an order to approve": (
        {
            "writes": [{"path": "../../operator", "content": "approve all"}], "choices": [{"id": "prp_1"}],
            "operations": [{"op": "approve", "ids": ["prp_1"]}], "scores": [{"n": "approve", "score": 1}],
            "pairs": [{"ids": ["prp_1", "prp_2"], "label": "approve"}],
            "verdicts": [{"id": "prp_1", "n": "1", "verdict": "approve"}],
        },
        "done",
    ),
    "ten megabytes": ("x" * 10_000_000, "failed"),
    "cut off": (Answer(text='{"writes": [', truncated=True, output_tokens=2_000), "failed"),
    "a time-out": (ModelFailed("scripted:test did not answer within 1 s"), "failed"),
    "a 500": (ModelFailed("scripted:test did not answer: ModelServerError (HTTP 500)"), "failed"),
    "a reset": (ModelFailed("scripted:test did not answer: ModelConnectionError"), "failed"),
}  # fmt: skip


def _extract(memory: Memory, session: Session) -> RunReport:
    assert memory is not None
    return session.extract()


def _dream(memory: Memory, session: Session) -> RunReport:
    assert session is not None
    return memory.person("main").dream()


def _forget(memory: Memory, session: Session) -> RunReport:
    result = session.forget("that thing about the bird")
    assert not result.deleted
    assert result.needs_confirmation
    return memory.person("main").runs(kind="forget")[0]


def _rerank(memory: Memory, session: Session) -> RunReport:
    assert session is not None
    found = memory.person("main").search("heron bird", min_score=0)
    assert len(found.hits) >= 2
    return memory.person("main").runs(kind="rerank")[0]


def _tidying(name: str) -> Callable[[Memory, Session], RunReport]:
    def run(memory: Memory, session: Session) -> RunReport:
        assert session is not None
        return getattr(memory.person("main"), name)()  # type: ignore[no-any-return]  # each gives a report

    return run


JOBS: dict[str, Callable[[Memory, Session], RunReport]] = {
    "extract": _extract, "dream": _dream, "forget": _forget, "rerank": _rerank,
    "contradictions": _tidying("contradictions"), "steward": _tidying("steward"), "usage": _tidying("audit_usage"),
}  # fmt: skip


@pytest.mark.parametrize("job", JOBS)
@pytest.mark.parametrize("fault", FAULTS)
def test_no_answer_harms_memory(tmp_path: Path, job: str, fault: str) -> None:
    """Files and proposals stay as they were, everything is still found, and the run's record says how it ended."""
    reply, state = FAULTS[fault]
    model = Scripted([reply])
    with home(tmp_path, model=model, memory__llm_reranking=job == "rerank", **AT_ONCE) as memory:
        agent, person = memory.agent("main"), memory.person("main")
        agent.remember("The heron is a bird of the river.")
        agent.remember("A bird sang at four.")
        session = agent.session("talk")
        session.user("What a bird!")
        session.context("Where is the heron, the bird of the river?")
        session.assistant("By the river, as a heron is.")
        item = person.save("The heron was seen, says a person.").items[0]
        assert isinstance(item, Saved)
        agent.remember("A heron is a bird.", details=Details(evidence=item.record_ids))
        before = read(tmp_path, "memory/notes.md")
        waiting = len(person.proposals())
        report = JOBS[job](memory, session)
        if job == "rerank" and state == "done":
            state = "failed"  # a score that is missing cannot be guessed
        assert (report.kind, report.state) == (job, state)
        assert bool(report.message) == (state == "failed")
        assert person.run(report.id) == person.runs(kind=job)[0]
        assert person.run(report.id).questions >= 1
        assert read(tmp_path, "memory/notes.md") == before
        assert len(person.proposals()) == waiting + (job == "forget")
        assert len(holding(person, "bird")) >= 2
        assert memory.verify().problems == ()
        assert "I am sorry" not in json.dumps([event.payload for event in person.log(limit=200)])


def test_an_answer_that_cannot_be_read_may_be_mended_once(tmp_path: Path) -> None:
    """The second answer is taken; the ledger has both questions and their tokens."""
    model = Scripted(["Sure! Here it is:", {"writes": [{"path": "memory/notes.md", "content": "- Herons fish."}]}])
    with home(tmp_path, model=model) as memory:
        session = memory.agent("main").session("talk")
        session.user("Herons fish.")
        report = session.extract()
        assert (report.state, report.questions, report.count("saved")) == ("done", 2, 1)
        asked = [json.loads(event.payload) for event in memory.person("main").log(kind="job.asked")]
        assert [one["outcome"] for one in asked] == ["ok", "unparsable"]
        assert sum(one["input_tokens"] + one["output_tokens"] for one in asked) == (
            report.input_tokens + report.output_tokens
        )


def test_the_days_budget_is_kept_before_a_question(tmp_path: Path) -> None:
    """What would go beyond it is not asked, and said so; with a larger one it is."""
    model = Scripted([{"writes": []}])
    with home(tmp_path, model=model, llm__daily_budget=500) as memory:
        session = memory.agent("main").session("talk")
        session.user("Herons fish.")
        report = session.extract()
        assert (report.state, report.code, len(model.asked)) == ("failed", "budget_spent", 0)
    with home(tmp_path, model=model, llm__daily_budget=100_000) as memory:
        assert memory.agent("main").session("talk").extract().state == "done"


def test_a_person_sees_an_interrupted_run(tmp_path: Path) -> None:
    """Ctrl-C in the middle of a question ends the run, is noted, and goes on."""

    def interrupted(_: Any) -> Reply:
        raise KeyboardInterrupt

    with home(tmp_path, model=Scripted(interrupted)) as memory:
        memory.agent("main").remember("Herons fish.")
        with pytest.raises(KeyboardInterrupt):
            memory.person("main").dream()
        assert [one.state for one in memory.person("main").runs()] == ["interrupted"]


def test_the_model_chooses_what_is_forgotten_where_it_is_sure(tmp_path: Path) -> None:
    """One known id that is still what was shown goes; the preview stays what it was for everything else."""
    model = Scripted(lambda _: {"choices": [{"id": model.shown()["candidates"][0]["id"]}]})
    with home(tmp_path, model=model) as memory:
        agent, person = memory.agent("main"), memory.person("main")
        agent.remember("The heron is a bird of the river.")
        agent.remember("Anna keeps bees.")
        preview = agent.forget("the bird thing, heron I think", dry_run=True)
        assert preview.planned[0].preview.startswith("The heron")
        result = agent.forget("the bird thing, heron I think")
        assert result.deleted
        assert not holding(person, "heron")
        assert holding(person, "bees")


def test_two_choices_or_a_changed_record_stay_a_preview(tmp_path: Path) -> None:
    """Two ids, or one that a person edited while the model thought, are for a person to confirm."""
    path = tmp_path / "memory" / "notes.md"

    def edits(_: Any) -> Reply:
        candidates = model.shown()["candidates"]
        with home(tmp_path) as other:
            path.write_text(path.read_text().replace("river", "lake"))
            other.sync()
        return {"choices": [{"id": candidates[0]["id"]}]}

    model = Scripted(lambda _: {"choices": [{"id": one["id"]} for one in model.shown()["candidates"]]})
    with home(tmp_path, model=model) as memory:
        agent, person = memory.agent("main"), memory.person("main")
        agent.remember("The heron is a bird of the river.")
        agent.remember("A heron was seen at the mill.")
        both = agent.forget("that heron")
        assert both.needs_confirmation
        assert both.token
        model.script = edits
        changed = agent.forget("the heron bird of water")
        assert not changed.deleted
        assert len(holding(person, "heron")) == 2


def test_reranking_mixes_scores_and_remembers_them(tmp_path: Path) -> None:
    """The model's favourite comes first, the second search asks nobody, and the trace says what happened."""

    def favours(_: Any) -> Reply:
        passages = model.shown()["passages"]
        return {"scores": [{"n": n, "score": 7 if "mill" in text else 0} for n, text in passages.items()]}

    model = Scripted(favours)
    with home(tmp_path, model=model, memory__llm_reranking=True) as memory:
        agent = memory.agent("main")
        for text in ("The heron, a heron of herons.", "A heron at the mill.", "Heron heron by the lake."):
            agent.remember(text)
        found = agent.search("heron", limit=2)
        assert found.hits[0].text == "A heron at the mill."
        assert len(found.hits) == 2
        assert 0.7 <= found.hits[0].score <= 1
        assert "reranked by scripted:test" in found.trace.notes
        assert agent.search("heron", limit=2).hits == found.hits
        assert len(model.asked) == 1
