"""Times things side by side: interleaved, so that a noisy machine is noisy for all, and reports medians and p95."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

Run = Callable[[], object]


@dataclass
class Samples:
    """Wall and CPU milliseconds of one thing."""

    name: str
    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    def time(self, run: Run) -> object:
        """Run once and note how long it took; returns what it returned."""
        wall, cpu = time.perf_counter(), time.process_time()
        result = run()
        self.cpu.append((time.process_time() - cpu) * 1_000)
        self.wall.append((time.perf_counter() - wall) * 1_000)
        return result

    @property
    def median(self) -> float:
        """Median wall milliseconds."""
        return statistics.median(self.wall)

    @property
    def p95(self) -> float:
        """The wall milliseconds that 95 of 100 stay within."""
        return sorted(self.wall)[min(len(self.wall) - 1, int(len(self.wall) * 0.95))]

    @property
    def cpu_median(self) -> float:
        """Median CPU milliseconds of this process."""
        return statistics.median(self.cpu)


def interleave(rounds: Sequence[Sequence[tuple[Samples, Run]]], *, seed: int = 1) -> None:
    """Run every round's things in an order drawn for each round."""
    order = random.Random(seed)
    for things in rounds:
        drawn = list(things)
        order.shuffle(drawn)
        for samples, run in drawn:
            samples.time(run)


def table(title: str, rows: Sequence[Samples]) -> None:
    """Print medians and p95 as a Markdown table."""
    print(f"\n{title}\n")
    print("| what | p50 ms | p95 ms | CPU p50 ms | n |")
    print("|---|---|---|---|---|")
    for item in rows:
        cpu = f"{item.cpu_median:.2f}" if item.cpu else "-"
        print(f"| {item.name} | {item.median:.2f} | {item.p95:.2f} | {cpu} | {len(item.wall)} |")


def ratio(over: Samples, under: Samples) -> str:
    """Return how many times slower the first is, by medians, in wall and CPU time."""
    cpu = f"{over.cpu_median / under.cpu_median:.2f}" if under.cpu_median else "-"
    return f"{over.name} / {under.name}: {over.median / under.median:.2f} times by wall, {cpu} by CPU"
