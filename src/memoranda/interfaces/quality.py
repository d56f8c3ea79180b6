"""Asks labelled questions of a home made for them, as an agent would, and scores the answers."""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import memoranda
from memoranda.domain.labelled import Asked, Labelled
from memoranda.domain.query import RecallResult
from memoranda.domain.report import Progress
from memoranda.domain.retrieval_metrics import DEPTH, METRICS, SESSIONS, mean, percentile, scores
from memoranda.memory import Memory
from memoranda.memory.agent import Agent

SESSION_HITS = 5
SAMPLES = 2_000
"""Resamplings of a bootstrap."""


@dataclass(frozen=True, slots=True)
class Group:
    """The questions of one category, or all: means of the metrics, and 95 % intervals of R@10 and MRR."""

    name: str
    questions: int
    means: Mapping[str, float]
    intervals: Mapping[str, tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Quality:
    """What came of one set with one embedder; times of a search in milliseconds."""

    name: str
    form: str
    embedder: str
    texts: int
    groups: tuple[Group, ...]
    p50: float
    p95: float


def measured(data: Labelled, provider: str, progress: Progress) -> Quality:
    """Put everything into a fresh home, ask, and return the scores; `provider` "" takes the one that is detected.

    The home is a temporary folder; nobody's memory is touched. Every text goes in by the ways that users have: files
    and a sync, or sessions; every question through `search`, with the relevance bar off.

    Raises:
        ConfigurationError, MissingExtra: there is no such embedder.
        BackendError: it failed.
    """
    settings = {"memory.provider": provider} if provider else {}
    with tempfile.TemporaryDirectory() as folder, memoranda.open(folder, settings=settings) as memory:
        agents = {scope: f"s{number}" for number, scope in enumerate(_scopes(data))}
        ids = _told(memory, data, agents, progress) if data.turns else _written(memory, data, agents, progress)
        memory.embed(progress=progress)
        rows: list[dict[str, float]] = []
        times: list[float] = []
        for number, question in enumerate(data.questions):
            began = time.perf_counter()
            agent = memory.agent(agents[question.scope])
            result = agent.search(question.text, limit=DEPTH, min_score=0, grain="file" if data.by_file else "passage")
            times.append((time.perf_counter() - began) * 1_000)
            row = scores(_found(result, ids), question.gold)
            if data.turns:
                row[SESSIONS] = _session_found(agent, question, ids)
            rows.append(row)
            progress("asking questions", number + 1, len(data.questions))
        embedder = memory.status().embedder or "none"
    return Quality(
        data.name, data.form, embedder, len(data.documents) + len(data.turns), tuple(_groups(data.questions, rows)),
        percentile(times, 0.5), percentile(times, 0.95),
    )  # fmt: skip


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Return the 95 % interval of a mean by resampling, the same for the same values; (0, 0) of none.

    The percentile bootstrap (Efron 1979): questions are taken as independent of each other.
    """
    if not values:
        return 0.0, 0.0
    drawn, count = random.Random(1), len(values)  # noqa: S311 - a sample, not a secret
    means = sorted(sum(drawn.choices(values, k=count)) / count for _ in range(SAMPLES))
    return means[int(SAMPLES * 0.025)], means[int(SAMPLES * 0.975) - 1]


def _scopes(data: Labelled) -> Sequence[str]:
    texts = [document.scope for document in data.documents] + [turn.scope for turn in data.turns]
    return list(dict.fromkeys([*texts, *(question.scope for question in data.questions)]))


def _written(memory: Memory, data: Labelled, agents: Mapping[str, str], progress: Progress) -> dict[str, str]:
    """Write each document into a file of its own and sync; return path -> id, each with its agent."""
    ids: dict[str, str] = {}
    for number, document in enumerate(data.documents):
        name = document.id if data.by_file else f"text-{number:07}.md"
        agent = memory.agent(agents[document.scope])
        path = Path(memory.home) / "agents" / agents[document.scope] / "memory" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(document.text + "\n", encoding="utf-8")
        ids[f"{agent.scope} memory/{name}"] = document.id
    memory.sync(progress=progress)
    return ids


def _told(memory: Memory, data: Labelled, agents: Mapping[str, str], progress: Progress) -> dict[str, str]:
    """Say every turn in a session of its conversation's agent; return session and position -> id."""
    ids: dict[str, str] = {}
    done = 0
    for (scope, name), turns in groupby(data.turns, key=lambda turn: (turn.scope, turn.session)):
        session = memory.agent(agents[scope]).session(name)
        for position, turn in enumerate(turns, 1):
            session.say(turn.role, turn.text, speaker=turn.speaker, at=turn.at)
            ids[f"{session.id} {position}"] = turn.id
            done += 1
            progress("telling turns", done, len(data.turns))
        session.close()
    return ids


def _found(result: RecallResult, ids: Mapping[str, str]) -> list[str]:
    """Return the ids of what was found, each once."""
    names = (
        f"{hit.turn.session} {hit.turn.position}" if hit.turn else f"{hit.scope} {hit.path}" for hit in result.hits
    )
    return list(dict.fromkeys(ids[name] for name in names if name in ids))


def _session_found(agent: Agent, question: Asked, ids: Mapping[str, str]) -> float:
    """Tell, as 1 or 0, whether one of the best five sessions holds an answer."""
    sessions = agent.search(question.text, limit=SESSION_HITS, min_score=0, grain="session").hits
    held = {hit.turn.session for hit in sessions if hit.turn}
    return float(any(name.partition(" ")[0] in held for name, ident in ids.items() if ident in question.gold))


def _groups(questions: Sequence[Asked], rows: Sequence[Mapping[str, float]]) -> Iterator[Group]:
    """Yield all questions together, and each category where there are several."""
    yield _group("all", rows)
    names = sorted({question.category for question in questions})
    for name in names if len(names) > 1 else ():
        yield _group(
            name or "(none)", [row for item, row in zip(questions, rows, strict=True) if item.category == name]
        )


def _group(name: str, rows: Sequence[Mapping[str, float]]) -> Group:
    metrics = [metric for metric in (*METRICS, SESSIONS) if metric in rows[0]]
    return Group(
        name, len(rows), {metric: mean(rows, metric) for metric in metrics},
        {metric: interval([row[metric] for row in rows]) for metric in ("R@10", "MRR")},
    )  # fmt: skip
