"""Rounds of a process killed while others write: nothing acknowledged is lost, nothing is done by half."""

from __future__ import annotations

import random
import signal
import sys
import time
from pathlib import Path

import pytest

import memoranda
from memoranda.memory import Memory
from tests.faults import crash_child
from tests.faults.crash_scenes import stray_files
from tests.faults.forked import finish, start

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL and fork are not there")

WRITERS = ("a", "b", "c")
SAVES = 4
STEPS = 24 * SAVES
"""About as many steps as a writer takes: round after round another one is killed at, so that each has its turn."""


class Rounds:
    """Rounds in one home: three writers at a time, one of them killed at a step or at some time, checked after each."""

    def __init__(self, home: Path, seed: int) -> None:
        self._home = home
        self._random = random.Random(seed)
        self.killed = self.finished = self.acknowledged = 0
        memoranda.open(home, settings=crash_child.SETTINGS).close()

    def play(self, number: int) -> None:
        """Play one round and check everything that was acknowledged in it."""
        acks = self._home.with_name(f"acks-{number}")
        by_step = number % 2 == 0
        step = 1 + (number * 7) % STEPS if by_step else 0
        writers = {name: f"{name}{number}" for name in WRITERS}
        children = {
            name: start(
                crash_child.write_on,
                str(self._home),
                writer,
                SAVES,
                str(acks),
                step if name == WRITERS[0] else 0,
            )
            for name, writer in writers.items()
        }
        if not by_step:
            time.sleep(self._random.uniform(0.005, 0.25))
            children[WRITERS[0]].kill()
        codes = {name: finish(child) for name, child in children.items()}
        assert all(codes[name] == 0 for name in WRITERS[1:]), codes
        assert codes[WRITERS[0]] in (0, -signal.SIGKILL)
        self.killed += codes[WRITERS[0]] == -signal.SIGKILL
        self.finished += codes[WRITERS[0]] == 0
        self._check(set(acks.read_text(encoding="utf-8").splitlines()) if acks.exists() else set(), writers)

    def _check(self, acknowledged: set[str], writers: dict[str, str]) -> None:
        with memoranda.open(self._home, settings=crash_child.SETTINGS) as memory:
            memory.sync()
            report = memory.verify()
            assert report.clean, report.problems
            assert stray_files(self._home) == []
            counts = _block_counts(memory, self._home)
            for writer in writers.values():
                for number in range(SAVES):
                    first, second = (counts.pop(text, 0) for text in crash_child.pair(writer, number).split("\n\n"))
                    assert first == second, (writer, number, first, second)
                    assert first <= 1, (writer, number)
                    if f"{writer} {number}" in acknowledged:
                        assert first == 1, (writer, number)
                        self.acknowledged += 1
            last = max(acknowledged, default="")
            if last:
                writer, _, saved = last.partition(" ")
                text = crash_child.pair(writer, int(saved)).split("\n\n", maxsplit=1)[0]
                assert text in {hit.text for hit in memory.agent("main").search(text, limit=20).hits}


def _block_counts(memory: Memory, home: Path) -> dict[str, int]:
    """Return how often each block stands in the files; all must be the agent's own."""
    counts: dict[str, int] = {}
    for path in (home / "memory").glob("*.md"):
        for line in memory.agent("main").blame(f"memory/{path.name}"):
            assert line.record is not None, line.text
            assert str(line.record.author) == "agent:main", line.text
            counts[line.text] = counts.get(line.text, 0) + 1
    return counts


def _play(folder: Path, numbers: range) -> Rounds:
    """Play rounds, twenty to a home, and return the sums of all."""
    total = Rounds(folder / "none", 0)
    for first in range(numbers.start, numbers.stop, 20):
        rounds = Rounds(folder / f"home-{first}", first)
        for number in range(first, min(first + 20, numbers.stop)):
            rounds.play(number)
        total.killed += rounds.killed
        total.finished += rounds.finished
        total.acknowledged += rounds.acknowledged
    return total


def test_three_rounds(tmp_path: Path) -> None:
    """Three rounds of kills among writers lose nothing that was acknowledged."""
    rounds = _play(tmp_path, range(3))
    assert rounds.killed
    assert rounds.acknowledged


@pytest.mark.slow
def test_forty_rounds(tmp_path: Path) -> None:
    """Forty rounds of kills among writers lose nothing that was acknowledged and leave nothing by half."""
    rounds = _play(tmp_path, range(100, 140))
    assert rounds.killed >= 20
    assert rounds.acknowledged >= 200


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_two_hundred_rounds(tmp_path: Path) -> None:
    """Two hundred rounds of kills, at every step in turn and at any time, lose nothing and leave nothing by half."""
    rounds = _play(tmp_path, range(200, 400))
    assert rounds.killed >= 100
    assert rounds.acknowledged >= 1_000
