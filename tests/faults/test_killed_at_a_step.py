"""A process killed at any step of a write leaves the write done whole or not done at all."""

from __future__ import annotations

import shutil
import signal
import sys
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import pytest

import memoranda
from tests.faults import crash_child
from tests.faults.crash_scenes import SCENES, Standing, prepare, standing, stray_files, synced
from tests.faults.forked import Played, play

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL and fork are not there")


class Scene:
    """One scene, played once to its end to learn its steps and both of its states."""

    def __init__(self, folder: Path, name: str) -> None:
        self.name = name
        self._folder = folder
        self._rounds = 0
        self._template = folder / "template"
        prepare(self._template, name)
        with memoranda.open(self._copy(), settings=crash_child.SETTINGS) as memory:
            self.before = standing(memory, memory.home)
        home = self._copy()
        played = self.play(home, 0)
        assert (played.code, played.acknowledged) == (0, True)
        self.steps = played.steps
        with memoranda.open(home, settings=crash_child.SETTINGS) as memory:
            self.after = standing(memory, home)
            assert memory.verify().clean
        if SCENES[name] is synced:
            self.before = self.after  # the words are on disk already: only their authors are to be noted

    def _copy(self) -> Path:
        self._rounds += 1
        home = self._folder / f"round-{self._rounds}"
        shutil.copytree(self._template, home)
        return home

    def play(self, home: Path, kill_at: int) -> Played:
        """Run the scene in a child, killed at a step (0: to its end)."""
        return play(home, SCENES[self.name], kill_at)

    def kill(self, kill_at: int) -> Path:
        """Play the scene in a home of its own, killed at a step; return the home."""
        home = self._copy()
        played = self.play(home, kill_at)
        assert played.code == -signal.SIGKILL
        assert not played.acknowledged
        return home

    def check(self, home: Path, step: str) -> Standing:
        """Reopen a home, sync, and find it whole: one of the two states, proven, searchable, writable."""
        with memoranda.open(home, settings=crash_child.SETTINGS) as memory:
            memory.sync()
            report = memory.verify()
            assert report.clean, (step, report.problems)
            found = standing(memory, home)
            assert found in (self.before, self.after), (step, found)
            assert stray_files(home) == [], step
            self._check_search(memory, found, step)
            assert memory.agent("main").save("Written after the crash.", file="memory/later.md").done
            assert memory.verify().clean
        return found

    def _check_search(self, memory: memoranda.Memory, found: Standing, step: str) -> None:
        """What stands in the files is found, what does not is not."""
        texts = {
            text
            for name, blocks in found.authors.items()
            for (text, _), trust in zip(blocks, found.trust[name], strict=True)
            if not trust.startswith("withheld")
        }
        either = {
            text for state in (self.before, self.after) for blocks in state.authors.values() for text, _ in blocks
        }
        for text in either:
            hits = {hit.text for hit in memory.agent("main").search(text, limit=20).hits}
            assert (text in hits) == (text in texts), (step, text)


@pytest.fixture
def scene(tmp_path: Path) -> Callable[[str], Scene]:
    """Return a scene by name, made once."""
    return lru_cache(lambda name: Scene(tmp_path / name.replace(" ", "-"), name))


def _must_be_done(steps: list[str], kill_at: int) -> bool:
    return "after ledger.commit" in steps[:kill_at]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["append", "undo of three files", "remove and reject", "approval"])
@pytest.mark.parametrize("share", [0.3, 0.55, 0.8])
def test_killed_in_the_middle(scene: Callable[[str], Scene], name: str, share: float) -> None:
    """A kill in the middle leaves both paragraphs (all three files) or none, and the committed one stays."""
    played = scene(name)
    kill_at = round(len(played.steps) * share)
    found = played.check(played.kill(kill_at), played.steps[kill_at - 1])
    if _must_be_done(played.steps, kill_at):
        assert found == played.after


@pytest.mark.slow
@pytest.mark.parametrize("name", SCENES)
def test_killed_at_every_step(scene: Callable[[str], Scene], name: str) -> None:
    """At whatever step a process is killed, the write is whole or absent, and whole once the ledger has it."""
    played = scene(name)
    outcomes = []
    for number, step in enumerate(played.steps, 1):
        found = played.check(played.kill(number), f"{number} {step}")
        if _must_be_done(played.steps, number):
            assert found == played.after, step
        outcomes.append(found == played.after)
    assert outcomes[-1]
    assert not outcomes[0] or played.before == played.after


def test_every_kind_of_step_is_killed_at(scene: Callable[[str], Scene]) -> None:
    """The steps of a write hold the intent, the synced copy, the exchange, its removal, the commit and the index."""
    steps = scene("append").steps
    wanted = [
        "before ledger.prepare", "after ledger.prepare", "before documents.replace", "open temporary",
        "before fsync", "after fsync", "before renameat2", "after renameat2", "os.remove temporary",
        "after documents.replace", "before ledger.commit", "after ledger.commit", "before index.put",
        "after index.put",
    ]  # fmt: skip
    places = [steps.index(name) for name in wanted]
    assert places == sorted(places)


@pytest.mark.slow
def test_killed_again_while_recovering(scene: Callable[[str], Scene]) -> None:
    """A second kill, at any step of the recovery from the first, leaves the batch whole or absent as well."""
    played = scene("undo of three files")
    swapped = [number for number, step in enumerate(played.steps, 1) if step == "after documents.replace"]
    for kill_at in (swapped[0], swapped[-1]):
        half = played.kill(kill_at)
        whole = half.with_name(f"{half.name}-whole")
        shutil.copytree(half, whole)
        recovery = play(whole, synced, 0)
        assert recovery.acknowledged
        assert {"after ledger.discard", "after ledger.commit"} & set(recovery.steps)
        for number, step in enumerate(recovery.steps, 1):
            again = half.with_name(f"{half.name}-again-{number}")
            shutil.copytree(half, again)
            assert play(again, synced, number).code == -signal.SIGKILL
            played.check(again, f"{number} {step}")
