"""Measures what one agent's recall costs among many agents, against the same agent alone.

    python bench/many_agents.py [--agents 10000] [--small]

Every agent has a hundred records in a workspace of its own; one ledger serves all. Warm: the agent's index is open.
Cold: it was closed before (the operating system may still have its pages). The aim is a ratio of at most 1.3.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from functools import partial
from pathlib import Path

import memoranda
from measuring import Run, Samples, interleave, ratio, table
from memoranda.domain.scope import Scope
from memoranda.memory import Memory
from synthetic import Corpus, MadeUpEmbedder, Question, agent_names, embed, write_notes

RECORDS = 100
ASKED = 40
"""Agents that are asked; all are the same at both sizes."""

DISTINCT = 2_000
"""Made-up records there are; agents share them, so that ten thousand agents need no million vectors in memory."""


def main() -> None:
    """Make both homes, ask the same agents in each, print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--agents", type=int, default=10_000)
    parser.add_argument("--small", action="store_true", help="a few agents: a smoke test")
    arguments = parser.parse_args()
    agents, rounds = (6, 10) if arguments.small else (arguments.agents, 400)
    corpus = Corpus(DISTINCT)
    embedder = MadeUpEmbedder(corpus)
    with tempfile.TemporaryDirectory() as folder:
        alone = make_home(Path(folder) / "alone", 1, corpus, embedder)
        many = make_home(Path(folder) / "many", agents, corpus, embedder)
        compare(alone, many, corpus, embedder, agents=agents, rounds=rounds)
        alone.close()
        many.close()


def make_home(home: Path, agents: int, corpus: Corpus, embedder: MadeUpEmbedder) -> Memory:
    """Make a home of so many agents; agent `a0` holds the same in every home."""
    began = time.perf_counter()
    for number, name in enumerate(agent_names(agents)):
        write_notes(home / "agents" / name, _texts(corpus, number))
    memory = memoranda.open(home, embedder=embedder)
    for start in range(0, agents, 500):
        names = [f"a{number}" for number in range(start, min(start + 500, agents))]
        memory.sync(agents=names)
        for name in names:
            embed(memory, Scope("agent", name), embedder)
    size = sum(path.stat().st_size for path in (home / ".state").rglob("*") if path.is_file())
    seconds = time.perf_counter() - began
    print(f"{agents:,} agents of {RECORDS} records: made in {seconds:.0f} s, {size / 1e6:,.0f} MB of state")
    return memory


def _texts(corpus: Corpus, number: int) -> list[str]:
    """Return an agent's records: a window of the corpus that moves on from agent to agent."""
    start = (number * RECORDS) % DISTINCT
    return (corpus.texts * 2)[start : start + RECORDS]


def compare(alone: Memory, many: Memory, corpus: Corpus, embedder: MadeUpEmbedder, *, agents: int, rounds: int) -> None:
    """Ask agent `a0` in both homes and others in the large one, warm and cold."""
    questions = corpus.questions(rounds, among=RECORDS)
    embedder.learn(questions)
    names = ["alone, warm", f"among {agents:,}, warm", "alone, cold", f"among {agents:,}, cold"]
    others = f"any of {agents:,}, as they come"
    rows = {name: Samples(name) for name in [*names, others]}
    drawn = random.Random(1)
    for memory in (alone, many):
        _ask(memory, "a0", questions[0])
    warm: list[list[tuple[Samples, Run]]] = [
        [
            (rows[names[0]], partial(_ask, alone, "a0", question)),
            (rows[names[1]], partial(_ask, many, "a0", question)),
        ]
        for question in questions
    ]
    interleave(warm)
    for question in questions:
        pair = [(alone, names[2]), (many, names[3])]
        drawn.shuffle(pair)
        for memory, name in pair:
            memory._parts.stores.index.close()  # type: ignore[attr-defined]  # noqa: SLF001 - what cold means here
            rows[name].time(partial(_ask, memory, "a0", question))
    for question in questions:
        name = f"a{drawn.randrange(agents)}"
        rows[others].time(partial(_ask, many, name, question))
    table("Hybrid recall of one agent of a hundred records", list(rows.values()))
    print()
    print(ratio(rows[names[1]], rows[names[0]]))
    print(ratio(rows[names[3]], rows[names[2]]))


def _ask(memory: Memory, agent: str, question: Question) -> object:
    result = memory.agent(agent).search(question.text, min_score=0.0)
    if result.mode != "hybrid":
        raise RuntimeError("the vectors are missing")
    return result


if __name__ == "__main__":
    main()
