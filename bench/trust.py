"""Measures what trust costs: a save beside many tombstones and records, and a long review queue.

python bench/trust.py [--small]
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import apsw

import memoranda
from measuring import Run, Samples, interleave, table
from memoranda.memory import Memory

SETTINGS = {"memory.provider": "none"}
SCOPE = "agent:main"


def main() -> None:
    """Print a table for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="a few of each: a smoke test")
    arguments = parser.parse_args()
    sizes, saves, queue = ((0, 50), 3, 20) if arguments.small else ((0, 10_000, 100_000), 150, 10_000)
    with tempfile.TemporaryDirectory() as folder:
        saves_beside(Path(folder), sizes, saves)
        review_queue(Path(folder) / "queue", queue)


def fill(home: Path, count: int) -> None:
    """Put so many tombstones and active records of other files into a ledger: rows only, what a save looks up."""
    database = apsw.Connection(str(home / ".state/ledger.db"))
    with database:
        for number in range(count):
            key, at = os.urandom(16).hex(), f"2026-01-01T00:00:{number % 60:02d}.{number % 1_000_000:06d}+00:00"
            database.execute(
                "INSERT INTO tombstones VALUES(?,?,?,?,'models','application',?,?,'','','')",
                (f"tmb_{number:022d}", SCOPE, key, os.urandom(16).hex(), at, f"rec_{number:022d}"),
            )
            values = (
                f"rec_{number:022d}", SCOPE, f"memory/f{number // 50}.md", key, 1, os.urandom(16).hex(),
                os.urandom(16).hex(), "[]", "", "fact", "", "", "[]", 1, "active", "", SCOPE, "{}", "", "", at, "", "",
                "", "[]", 0, 0, 0, "",
            )  # fmt: skip
            database.execute(f"INSERT INTO records VALUES({','.join('?' * len(values))})", values)
    database.close()


def saves_beside(folder: Path, sizes: tuple[int, ...], saves: int) -> None:
    """Save one record by turns into homes that differ in how much is there."""
    homes: list[Memory] = []
    for size in sizes:
        home = folder / f"home-{size}"
        with memoranda.open(home, settings=SETTINGS) as memory:
            memory.agent("main").save("The first line of the file.")
        fill(home, size)
        homes.append(memoranda.open(home, settings=SETTINGS))
    samples = [Samples(f"save beside {size:,} tombstones and records") for size in sizes]
    rounds: list[list[tuple[Samples, Run]]] = []
    for number in range(saves):
        text, file = f"Observation {number} of the series.", f"memory/out{number // 20}.md"
        rounds.append(
            [
                (sample, partial(_save, memory, text, file))
                for sample, memory in zip(samples, homes, strict=True)
            ]
        )  # fmt: skip
    interleave(rounds)
    table("Saves by an agent", samples)
    base = samples[0].median
    ratios = (f"{size:,}: {sample.median / base:.2f}" for size, sample in zip(sizes, samples, strict=True))
    print(f"\nratio to none: {', '.join(ratios)}")
    for memory in homes:
        memory.close()


def _save(memory: Memory, text: str, file: str) -> None:
    if not memory.agent("main").save(text, file=file).done:
        raise SystemExit("a save was refused")


def review_queue(home: Path, count: int) -> None:
    """Let so many writes of a tainted session wait; time what a reviewer and an agent do beside them."""
    with memoranda.open(home, settings=SETTINGS) as memory:
        session = memory.agent("main").session("reading")
        session.tool_result("web_fetch", "a page")
        began = time.perf_counter()
        for number in range(count):
            session.save(f"Claim {number} of the page.", file="memory/page.md")
        each = (time.perf_counter() - began) * 1_000 / count
        session.close()
        operator = memory.operator(at_terminal=True)
        first = operator.waiting(limit=1)[0]
        runs: list[tuple[str, Callable[[], object]]] = [
            (f"list the first 50 of {count:,}", lambda: operator.waiting(limit=50)),
            ("show one", lambda: operator.show(first.id)),
            ("an agent's search, with what waits counted", lambda: memory.agent("main").search("claim")),
        ]
        samples = [Samples(name) for name, _ in runs]
        for _ in range(20):
            for sample, (_, run) in zip(samples, runs, strict=True):
                sample.time(run)
        approve, reject, save = Samples("approve one"), Samples("reject one"), Samples("an agent's save")
        for number in range(min(20, count // 3)):
            for sample, rule in ((approve, operator.approve), (reject, operator.reject)):
                waiting = operator.waiting(limit=1)[0]
                sample.time(partial(rule, waiting.id, waiting.content_hash))
            save.time(partial(_save, memory, f"Own note {number}.", "memory/own.md"))
        table(f"A review queue of {count:,} (each took {each:.1f} ms to set aside)", [*samples, approve, reject, save])


if __name__ == "__main__":
    main()
