"""Measures recall of what was said: conversations as sessions, questions asked as an agent would.

    python bench/dialogue.py LOCOMO.json --harness retrieval_eval.py [--provider none minilm] [--limit N]

Every turn goes through the public session API, with its speaker and its date; every question through `agent.search`.
The floor is the harness's own FTS5 index (porter stems, stop words dropped) over the same turns. Each embedder is
compared with the floor, and with the one named before it. Differences come with a paired bootstrap over questions.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import random
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import ModuleType
from typing import Any

import memoranda
from memoranda.memory import Memory

SAMPLES = 10_000
METRICS = ("R@10", "MRR", "session hit@5")
_TURN = re.compile(r"D:?(\d+):(\d+)")

Scores = dict[str, float]


@dataclass(frozen=True)
class Question:
    """A question of one conversation, its category, and the turns that answer it."""

    agent: str
    text: str
    category: int
    gold: frozenset[str]


def agent_of(sample: str) -> str:
    """Return a conversation's id as that of an agent."""
    return re.sub(r"[^a-z0-9_-]", "-", sample.lower())


def said(turn: Mapping[str, Any]) -> str:
    """Return what a turn says: its text and what its picture shows."""
    caption = turn.get("blip_caption")
    return f"{turn['text']} [shared image: {caption}]" if caption else str(turn["text"])


def sessions_of(conversation: Mapping[str, Any]) -> Iterator[tuple[int, datetime, Sequence[Mapping[str, Any]]]]:
    """Yield the sessions of a conversation in order, each with when it began."""
    numbers = sorted(int(name.removeprefix("session_")) for name in conversation if re.fullmatch(r"session_\d+", name))
    for number in numbers:
        if conversation[f"session_{number}"]:
            text = str(conversation.get(f"session_{number}_date_time", ""))
            yield number, _time(text), conversation[f"session_{number}"]


def _time(text: str) -> datetime:
    """Read `1:56 pm on 8 May, 2023`."""
    return datetime.strptime(text, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)


def tell(memory: Memory, data: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Say every turn in a session of its conversation's agent; return (agent, session, position) -> turn id."""
    names: dict[str, str] = {}
    for sample in data:
        agent = memory.agent(agent_of(sample["sample_id"]))
        first = ""
        for number, began, turns in sessions_of(sample["conversation"]):
            session = agent.session(f"session_{number}")
            for position, turn in enumerate(turns, 1):
                first = first or turn["speaker"]
                role = "user" if turn["speaker"] == first else "assistant"
                at = (began + timedelta(seconds=30 * position)).isoformat()
                session.say(role, said(turn) or "…", speaker=turn["speaker"], at=at)  # type: ignore[arg-type]
                names[f"{session.id}/{position}"] = turn["dia_id"]
            session.close()
    return names


def questions_of(data: Sequence[Mapping[str, Any]], harness: ModuleType) -> list[Question]:
    """Return the questions with evidence, malformed ids repaired as the harness does."""
    found: list[Question] = []
    for sample in data:
        turns = {
            turn["dia_id"]: agent_of(sample["sample_id"])
            for _, _, session in sessions_of(sample["conversation"])
            for turn in session
        }
        for item in sample["qa"]:
            gold, _ = harness.norm_evidence(item.get("evidence"), turns)
            if gold:
                agent = agent_of(sample["sample_id"])
                found.append(Question(agent, item["question"], item["category"], frozenset(gold)))
    return found


def asked(memory: Memory, questions: Sequence[Question], names: Mapping[str, str]) -> tuple[list[Scores], float]:
    """Ask every question; return its scores and the median milliseconds of a search."""
    rows: list[Scores] = []
    times: list[float] = []
    for question in questions:
        agent = memory.agent(question.agent)
        start = time.perf_counter()
        hits = agent.search(question.text, limit=20, min_score=0).hits
        times.append((time.perf_counter() - start) * 1_000)
        turns = [names[f"{hit.turn.session}/{hit.turn.position}"] for hit in hits if hit.turn]
        grain = agent.search(question.text, limit=5, min_score=0, grain="session").hits
        where = [names[f"{hit.turn.session}/{hit.turn.position}"].partition(":")[0] for hit in grain if hit.turn]
        rows.append(score(turns, where, question.gold))
    return rows, sorted(times)[len(times) // 2]


def score(turns: Sequence[str], sessions: Sequence[str], gold: frozenset[str]) -> Scores:
    """Return recall@10 and MRR over turns, and whether one of five sessions holds an answer."""
    return {
        "R@10": len(gold.intersection(turns[:10])) / len(gold),
        "MRR": next((1 / rank for rank, turn in enumerate(turns[:20], 1) if turn in gold), 0.0),
        "session hit@5": float(not {name.partition(":")[0] for name in gold}.isdisjoint(sessions[:5])),
    }


def floor(path: Path, questions: Sequence[Question], harness: ModuleType) -> list[Scores]:
    """Return the scores of the harness's index for the same questions."""
    turns, _, _ = harness.load_locomo(str(path), "turn")
    whole, _, _ = harness.load_locomo(str(path), "session")
    by_turn, by_session = harness.BASE["fts5-porter-stop"](turns), harness.BASE["fts5-porter-stop"](whole)
    scopes = {agent_of(doc.scope): doc.scope for doc in turns}
    rows: list[Scores] = []
    for question in questions:
        scope = scopes[question.agent]
        found = [uid.partition("|")[2] for uid, _ in by_turn(question.text, scope, 20)]
        where = [f"D{uid.partition('|S')[2]}" for uid, _ in by_session(question.text, scope, 5)]
        rows.append(score(found, where, question.gold))
    return rows


def mean(rows: Sequence[Scores], metric: str) -> float:
    """Return the mean of a metric."""
    return sum(row[metric] for row in rows) / max(len(rows), 1)


def bootstrap(base: Sequence[Scores], other: Sequence[Scores], metric: str) -> tuple[float, float, float]:
    """Return the mean difference with its 95 % interval, by resampling questions."""
    differences = [after[metric] - before[metric] for before, after in zip(base, other, strict=True)]
    drawn, count = random.Random(1), len(differences)
    means = sorted(sum(drawn.choices(differences, k=count)) / count for _ in range(SAMPLES))
    return sum(differences) / count, means[int(SAMPLES * 0.025)], means[int(SAMPLES * 0.975)]


def report(
    questions: Sequence[Question], base: Sequence[Scores], other: Sequence[Scores], names: tuple[str, str]
) -> None:
    """Print both, overall and by category."""
    print(f"\n| group | n | metric | {names[0]} | {names[1]} | difference [95 %] |\n|---|---|---|---|---|---|")
    groups = {"all": list(range(len(questions)))}
    for category in sorted({question.category for question in questions}):
        groups[f"category {category}"] = [at for at, item in enumerate(questions) if item.category == category]
    for name, indexes in groups.items():
        before, after = [base[at] for at in indexes], [other[at] for at in indexes]
        for metric in METRICS:
            change, low, high = bootstrap(before, after, metric)
            print(
                f"| {name} | {len(indexes)} | {metric} | {mean(before, metric):.4f} | {mean(after, metric):.4f} "
                f"| {change:+.4f} [{low:+.4f}, {high:+.4f}] |"
            )


def harness_of(path: Path) -> ModuleType:
    """Load the harness from its file."""
    spec = importlib.util.spec_from_file_location("retrieval_harness", path)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules["retrieval_harness"] = module
    spec.loader.exec_module(module)
    return module


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--harness", type=Path, required=True)
    parser.add_argument("--provider", nargs="+", default=["minilm"], help="embedders by address, or none")
    parser.add_argument("--limit", type=int, default=0, help="only the first conversations")
    options = parser.parse_args()
    data = json.loads(options.data.read_text(encoding="utf-8"))[: options.limit or None]
    harness = harness_of(options.harness)
    questions = questions_of(data, harness)
    lowest = floor(options.data, questions, harness)
    before: tuple[str, list[Scores]] | None = None
    for provider in options.provider:
        rows = run(data, questions, provider)
        report(questions, lowest, rows, ("floor", provider))
        if before is not None:
            report(questions, before[1], rows, (before[0], provider))
        before = provider, rows


def run(data: Sequence[Mapping[str, Any]], questions: Sequence[Question], provider: str) -> list[Scores]:
    """Tell everything to a fresh home with this embedder, ask, and return the scores."""
    with (
        tempfile.TemporaryDirectory() as folder,
        memoranda.open(folder, settings={"memory.provider": provider}) as memory,
    ):
        start = time.perf_counter()
        names = tell(memory, data)
        told = time.perf_counter() - start
        memory.embed()
        print(f"{len(names)} turns told in {told:.1f} s, embedded after {time.perf_counter() - start:.1f} s")
        rows, median = asked(memory, questions, names)
        print(f"{len(questions)} questions, {provider}: search p50 {median:.1f} ms")
    return rows


if __name__ == "__main__":
    main()
