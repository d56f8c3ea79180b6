"""Measures sessions: the prompt's context, search, a day and an append beside a long log; how fast a log is built.

    python bench/sessions.py [--sizes 1000,10000,100000] [--quick]

Logs are built through sessions of 25 turns, ten sessions a day, each turn durable before the next, with checkpoints
and exports off; what is measured afterwards has every setting but the provider (none) at its default.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import memoranda
from measuring import Samples, ratio, table
from memoranda.domain.context import Context
from memoranda.memory import Memory, Session
from synthetic import Corpus, Question

SETTINGS = {"memory.provider": "none"}
BUILDING = SETTINGS | {"memory.session_export": "off", "memory.transcript_checkpoints": "none"}
SIZES, QUICK_SIZES = (1_000, 10_000, 100_000), (200, 1_000)
TRANSCRIPT, QUICK_TRANSCRIPT = 10_000, 500
CALLS = 40
TURNS, SESSIONS_A_DAY = 25, 10
CALLS_A_SESSION = 10
"""More would use up what a session may recall, and the calls after that would have nothing to note."""

IMPORTS = 5
MOST_SECONDS = 600
APPEND, PLAIN = "append (session.user)", "open, write, fsync, close of that line"
FRESH, AGAIN = "context after a turn", "context again"
SEARCH, DAY, OPEN, IMPORT = "search", "timeframe of one day", "open a session", f"import {TURNS} turns as a session"
ROWS = (FRESH, AGAIN, SEARCH, DAY, APPEND, PLAIN, OPEN, IMPORT)


@dataclass
class Log:
    """A home whose agent `main` has so many turns in its log, and what was measured in it."""

    home: Path
    size: int
    first: datetime
    memory: Memory
    questions: list[Question]
    rows: dict[str, Samples] = field(default_factory=dict)
    contexts: list[Context] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Begin a row for everything that is measured."""
        self.rows = {name: Samples(f"{name}, {self.size:,}") for name in ROWS}


def main() -> None:
    """Print the rates, a table for each size, and the append beside a plain one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="", help="turns in the log, separated by commas")
    parser.add_argument("--quick", "--small", action="store_true", help="200 and 1,000 turns: a smoke test")
    arguments = parser.parse_args()
    sizes: tuple[int, ...] = QUICK_SIZES if arguments.quick else SIZES
    if arguments.sizes:
        sizes = tuple(int(size) for size in arguments.sizes.split(","))
    transcript = QUICK_TRANSCRIPT if arguments.quick else TRANSCRIPT
    corpus = Corpus(max(*sizes, transcript))
    with tempfile.TemporaryDirectory() as folder:
        import_rate(Path(folder) / "transcript", corpus.texts[:transcript])
        logs = [built(Path(folder) / f"home-{size}", corpus, size) for size in sizes]
        measure(logs, corpus)
        report(logs)
        for log in logs:
            log.memory.close()


def import_rate(home: Path, texts: Sequence[str]) -> None:
    """Print how fast a plain JSONL file is taken in as one session, and again when all of it is known."""
    data = _transcript(texts)
    with memoranda.open(home, settings=SETTINGS) as memory:
        for what in ("", " again"):
            began = time.perf_counter()
            report = memory.import_transcript("main", data, key="other")
            seconds = time.perf_counter() - began
            print(
                f"import of a JSONL file of {len(texts):,} turns{what}: {seconds:.1f} s, "
                f"{len(texts) / seconds:,.0f} turns/s, {report.events:,} written"
            )


def _transcript(texts: Sequence[str]) -> bytes:
    rows = ({"role": _role(number), "content": text} for number, text in enumerate(texts))
    return "\n".join(map(json.dumps, rows)).encode()


def _role(number: int) -> str:
    return "assistant" if number % 2 else "user"


def built(home: Path, corpus: Corpus, size: int) -> Log:
    """Build a log of past days through sessions; open the home anew with its defaults."""
    days = -(-size // (TURNS * SESSIONS_A_DAY))
    first = datetime.now(UTC).replace(hour=8, minute=0, second=0, microsecond=0) - timedelta(days=days + 1)
    began = time.perf_counter()
    said = 0
    with memoranda.open(home, settings=BUILDING) as memory:
        while said < size and time.perf_counter() - began < MOST_SECONDS:
            texts = corpus.texts[said : min(said + TURNS, size)]
            day, hour = divmod(said // TURNS, SESSIONS_A_DAY)
            session = memory.agent("main").session(f"talk {said // TURNS}")
            for number, text in enumerate(texts):
                at = (first + timedelta(days=day, hours=hour, minutes=number)).isoformat()
                if number % 2:
                    session.assistant(text, at=at)
                else:
                    session.user(text, at=at)
            session.close()
            said += len(texts)
    seconds = time.perf_counter() - began
    print(f"log of {said:,} turns (of {size:,}) built in {seconds:.1f} s, {said / seconds:,.0f} turns/s")
    opened = memoranda.open(home, settings=SETTINGS)
    return Log(home, said, first, opened, corpus.questions(CALLS, among=said))


def measure(logs: Sequence[Log], corpus: Corpus) -> None:
    """Call everything by turns in logs of every size, in an order drawn for each round."""
    order = random.Random(1)
    sessions: dict[Path, Session] = {}
    for call in range(CALLS):
        drawn = list(logs)
        order.shuffle(drawn)
        for log in drawn:
            if call % CALLS_A_SESSION == 0:
                sessions[log.home] = log.memory.agent("main").session(f"measured {call}")
                sessions[log.home].user("A first turn, after which the day's file is there.")
            _one_round(log, sessions[log.home], corpus.texts[call], call, order)
    for number in range(IMPORTS):
        for log in logs:
            data = _transcript(corpus.texts[number * TURNS : (number + 1) * TURNS])
            log.rows[IMPORT].time(partial(log.memory.import_transcript, "main", data, key=f"imported {number}"))


def _one_round(log: Log, session: Session, text: str, call: int, order: random.Random) -> None:
    """Say a turn, write its line plainly, ask for the context twice, search, look at a day, open a session."""
    rows, agent, question = log.rows, log.memory.agent("main"), log.questions[call].text
    rows[APPEND].time(lambda: session.user(f"{text} Said in call {call}."))
    line = max((log.home / "log").glob("*.jsonl")).read_bytes().splitlines(keepends=True)[-1]
    rows[PLAIN].time(lambda: append_plainly(log.home.parent / f"plain-{log.size}.jsonl", line))
    for name in (FRESH, AGAIN):
        rows[name].time(lambda: log.contexts.append(session.context(question)))
    rows[SEARCH].time(lambda: agent.search(question))
    day = (log.first + timedelta(days=order.randrange(-(-log.size // (TURNS * SESSIONS_A_DAY))))).date().isoformat()
    found = rows[DAY].time(lambda: agent.timeframe(day))
    if not getattr(found, "total", 0):
        raise SystemExit(f"nothing was said on {day}")
    rows[OPEN].time(lambda: agent.session(f"opened {call}"))


def append_plainly(path: Path, line: bytes) -> None:
    """Write a line durably with nothing around it."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(descriptor, line)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def report(logs: Sequence[Log]) -> None:
    """Print what was measured, size by size."""
    for log in logs:
        table(f"One agent with {log.size:,} turns in its log", list(log.rows.values()))
    print()
    for log in logs:
        hits = sum(len(context.hits) for context in log.contexts) / len(log.contexts)
        late = sum("failed" in context.skipped for context in log.contexts)
        used_up = sum("used up" in context.skipped for context in log.contexts)
        print(f"{log.size:,}: {hits:.1f} hits a context; {late} came too late, {used_up} had no budget left")
    for log in logs:
        print(ratio(log.rows[APPEND], log.rows[PLAIN]))


if __name__ == "__main__":
    main()
