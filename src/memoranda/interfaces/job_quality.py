"""Lets a model do the jobs on labelled cases, in a home made for them, and scores what came of it."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources

import memoranda
from memoranda.domain.job import RunReport
from memoranda.domain.job_cases import ContradictionCase, ExtractCase, ForgetCase, JobCase, read_cases
from memoranda.domain.job_metrics import JobResult, JobScore, scored
from memoranda.domain.outcome import Saved
from memoranda.domain.report import Progress
from memoranda.memory import Agent, Memory
from memoranda.ports.model import LanguageModel


@dataclass(frozen=True, slots=True)
class JobQuality:
    """What came of the cases with one model: a score of each kind and of all, and the result of each case."""

    model: str
    scores: tuple[JobScore, ...]
    results: tuple[JobResult, ...]


def cases_shipped() -> tuple[JobCase, ...]:
    """Return the labelled cases that come with the program."""
    return read_cases(resources.files("memoranda.testing").joinpath("job_cases.json").read_bytes())


def measured(
    cases: Sequence[JobCase], progress: Progress, *, model: str = "", given: LanguageModel | None = None
) -> JobQuality:
    """Let a model do every case as its user's memory would, each for an agent of its own, and return the scores.

    The home is a temporary folder; nobody's memory is touched. `model` is an address; "" takes the one of the
    environment. What is written and what waits for a person both count as notes.

    Raises:
        ConfigurationError, MissingExtra: no model is set, or it cannot be used.
    """
    settings: dict[str, object] = {"llm.daily_budget": 0, **({"llm.model": model} if model else {})}
    results: list[JobResult] = []
    with (
        tempfile.TemporaryDirectory() as folder,
        memoranda.open(folder, settings=settings, model=given) as memory,
    ):
        for number, case in enumerate(cases, 1):
            results.append(_result(memory, case, f"case{number}"))
            progress("cases", number, len(cases))
        name = memory.model_name
    return JobQuality(name, scored(cases, results), tuple(results))


def _result(memory: Memory, case: JobCase, agent_id: str) -> JobResult:
    agent = memory.agent(agent_id)
    match case:
        case ExtractCase():
            return _extracted(memory, agent, case)
        case ContradictionCase():
            return _compared(agent, case)
        case ForgetCase():
            return _forgotten(agent, case)


def _extracted(memory: Memory, agent: Agent, case: ExtractCase) -> JobResult:
    person, session = memory.person(agent.scope.id), agent.session("case")
    for text in case.known:
        person.save(f"- {text}")
    for turn in case.turns:
        session.say(turn.role, turn.text)
    report = session.extract()
    operator = memory.operator(at_terminal=True)
    notes: list[str] = []
    for step in report.steps:
        if step.outcome == "saved":
            notes += [person.history(ident).versions[-1].text or "" for ident in step.ids if ident.startswith("rec_")]
        elif step.outcome == "waits" and step.ids:
            notes += operator.show(step.ids[0]).texts
    return _taking(report, JobResult(case=case.id, notes=tuple(notes)))


def _compared(agent: Agent, case: ContradictionCase) -> JobResult:
    for text in (case.one, case.other):
        agent.remember(text)
    report = agent.contradictions()
    labels = {"signalled": "contradiction", "same": "same", "compatible": "compatible"}
    label = "compatible"
    for step in report.steps:
        label = "update" if step.what == "update" else labels.get(step.outcome, label)
    return _taking(report, JobResult(case=case.id, label=label))


def _forgotten(agent: Agent, case: ForgetCase) -> JobResult:
    names: dict[str, str] = {}
    for candidate in case.candidates:
        item = agent.remember(candidate.text).items[0]
        names |= dict.fromkeys(item.record_ids, candidate.id) if isinstance(item, Saved) else {}
    found = agent.forget(case.request, dry_run=True)
    chosen = () if found.needs_confirmation else tuple(names[one.record_id] for one in found.planned)
    made = JobResult(case=case.id, chosen=tuple(dict.fromkeys(chosen)))
    runs = agent.runs(kind="forget", limit=1)
    return _taking(runs[0], made) if runs else made


def _taking(report: RunReport, result: JobResult) -> JobResult:
    return JobResult(
        case=result.case, notes=result.notes, label=result.label, chosen=result.chosen,
        failed=report.state == "failed", tokens=report.input_tokens + report.output_tokens, cost=report.cost,
    )  # fmt: skip
