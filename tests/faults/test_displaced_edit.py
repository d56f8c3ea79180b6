"""What a person writes in the very instant of a write survives, wherever the file system and the kill may be."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

import pytest

import memoranda
from memoranda.adapters.files import atomic, writers
from memoranda.adapters.files.writers import PATIENCE_SECONDS
from memoranda.domain.outcome import Conflicted
from memoranda.memory import Memory
from tests.faults import crash_child
from tests.faults.crash_scenes import (
    NOTES,
    OFFERED,
    PERSON,
    save_half_of_a_copy,
    save_over_an_edit,
    stray_files,
    synced,
)
from tests.faults.forked import play

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the exchange is Linux's")


def _in_place(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def _by_rename(path: Path, text: str) -> None:
    beside = path.with_name("editor.tmp")
    beside.write_text(text, encoding="utf-8")
    beside.replace(path)


WAYS = pytest.mark.parametrize("edit", [_in_place, _by_rename], ids=["in place", "by rename"])
PATHS = pytest.mark.parametrize(
    "exchange", [pytest.param(True, marks=linux, id="exchange"), pytest.param(False, id="fallback")]
)


class Instant:
    """Lets a person act once, between the last look at a file and its swap."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, act: Callable[[], None], *, exchange: bool) -> None:
        self.acted = 0
        rename = atomic._rename

        def swap(source: Path, target: Path, flags: int) -> bool:
            if not self.acted:
                self.acted += 1
                act()
            return rename(source, target, flags) if exchange else False

        monkeypatch.setattr(atomic, "_rename", swap)


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    """A memory with one note in it."""
    opened = memoranda.open(tmp_path / "home", settings=crash_child.SETTINGS)
    assert opened.agent("main").save("The first note.", file=NOTES).done
    return opened


def _authors(memory: Memory) -> dict[str, str]:
    return {line.text: str(line.record.author) if line.record else "" for line in memory.agent("main").blame(NOTES)}


def _sound(memory: Memory) -> bool:
    memory.sync()
    report = memory.verify()
    assert stray_files(memory.home) == []
    memory.close()
    return report.clean


@PATHS
@WAYS
def test_append_keeps_the_edit(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, edit: Callable[[Path, str], None], *, exchange: bool
) -> None:
    """An append that meets an edit is tried again: both texts stand in the file, each with its author."""
    notes = memory.home / NOTES
    instant = Instant(monkeypatch, lambda: edit(notes, f"The first note.\n\n{PERSON}\n"), exchange=exchange)
    outcome = memory.agent("main").save(OFFERED, file=NOTES)
    assert instant.acted
    assert outcome.done
    assert _authors(memory) == {"The first note.": "agent:main", PERSON: "external", OFFERED: "agent:main"}
    assert _sound(memory)


@PATHS
@WAYS
def test_replace_yields_to_the_edit(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, edit: Callable[[Path, str], None], *, exchange: bool
) -> None:
    """A replacement that meets an edit is a conflict: the person's text stands, the offered one is kept aside."""
    notes = memory.home / NOTES
    text = f"The first note.\n\n{PERSON}\n"
    Instant(monkeypatch, lambda: edit(notes, text), exchange=exchange)
    outcome = memory.person("main").save(OFFERED, file=NOTES, append=False)
    item = outcome.items[0]
    assert isinstance(item, Conflicted)
    assert notes.read_text(encoding="utf-8") == text
    assert OFFERED in memory.person("main").diff(item.checkpoint_id)[0].diff
    assert _sound(memory)


@PATHS
def test_new_file_yields_to_the_persons_own(memory: Memory, monkeypatch: pytest.MonkeyPatch, *, exchange: bool) -> None:
    """A file that a person makes in the instant an agent does is not overwritten: the agent's text follows it."""
    fresh = memory.home / "memory" / "fresh.md"
    Instant(monkeypatch, lambda: _in_place(fresh, f"{PERSON}\n"), exchange=exchange)
    assert memory.agent("main").save(OFFERED, file="memory/fresh.md").done
    assert fresh.read_text(encoding="utf-8") == f"{PERSON}\n\n{OFFERED}\n"
    assert _sound(memory)


@WAYS
def test_delete_yields_to_the_edit(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, edit: Callable[[Path, str], None]
) -> None:
    """A file that a person edits in the instant of its removal is put back; without the edit it goes."""
    notes = memory.home / NOTES
    text = f"The first note.\n\n{PERSON}\n"
    rename, acted = os.replace, list[Path]()

    def move(source: Path, target: Path) -> None:
        if not acted and Path(source) == notes:
            acted.append(source)
            edit(notes, text)
        rename(source, target)

    monkeypatch.setattr(os, "replace", move)
    outcome = memory.person("main").delete(file=NOTES, delete_file=True)
    assert acted
    assert not outcome.done
    assert notes.read_text(encoding="utf-8") == text
    assert memory.person("main").delete(file=NOTES, delete_file=True).done
    assert not notes.exists()
    assert _sound(memory)


@linux
@pytest.mark.parametrize("second", ["removed", "edited"])
def test_edit_before_and_after_the_exchange(memory: Memory, monkeypatch: pytest.MonkeyPatch, second: str) -> None:
    """An edit that the exchange displaced survives, whatever a person does to the file before it is put back."""
    notes = memory.home / NOTES
    rename, calls = atomic._rename, []

    def swap(source: Path, target: Path, flags: int) -> bool:
        calls.append(flags)
        if len(calls) == 1:
            _in_place(notes, f"The first note.\n\n{PERSON}\n")
        if len(calls) == 2:
            notes.unlink() if second == "removed" else _by_rename(notes, "A second thought.\n")
        return rename(source, target, flags)

    monkeypatch.setattr(atomic, "_rename", swap)
    memory.agent("main").save(OFFERED, file=NOTES)
    assert len(calls) >= 2
    memory.sync()
    texts = " ".join(path.read_text(encoding="utf-8") for path in (memory.home / "memory").glob("*.md"))
    assert PERSON in texts
    assert ("A second thought." in texts) == (second == "edited")
    assert _sound(memory)


@linux
def test_edit_and_new_file_around_a_removal(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """An edit displaced by a removal survives although the person makes the file anew before it is put back."""
    notes = memory.home / NOTES
    move, rename = os.replace, atomic._rename

    def displace(source: Path, target: Path) -> None:
        if Path(source) == notes:
            _in_place(notes, f"{PERSON}\n")
        move(source, target)

    def put_back(source: Path, target: Path, flags: int) -> bool:
        if not notes.exists():
            _in_place(notes, "A second thought.\n")
        return rename(source, target, flags)

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", displace)
        patched.setattr(atomic, "_rename", put_back)
        assert not memory.person("main").delete(file=NOTES, delete_file=True).done
    texts = " ".join(path.read_text(encoding="utf-8") for path in (memory.home / "memory").glob("*.md"))
    assert "A second thought." in texts
    assert PERSON in texts
    assert _sound(memory)


@linux
@pytest.mark.slow
def test_edit_and_kill_at_every_step(memory: Memory) -> None:
    """A displaced edit survives a kill at any step: between the exchange, the look at it and its way back too."""
    memory.close()
    whole = memory.home.with_name("whole")
    shutil.copytree(memory.home, whole)
    played = play(whole, save_over_an_edit, 0)
    assert played.acknowledged
    edited_at = played.steps.index("before renameat2")  # the edit comes right before it
    for number in range(1, len(played.steps) + 1):
        home = memory.home.with_name(f"round-{number}")
        shutil.copytree(memory.home, home)
        assert play(home, save_over_an_edit, number).code == -signal.SIGKILL
        with memoranda.open(home, settings=crash_child.SETTINGS) as reopened:
            reopened.sync()
            assert reopened.verify().clean
            authors = _authors(reopened)
            assert stray_files(home) == []
        assert authors.pop(OFFERED, "agent:main") == "agent:main"
        expected = {"The first note.": "agent:main"} | ({PERSON: "external"} if number > edited_at else {})
        assert authors == expected, played.steps[number - 1]


@linux
@pytest.mark.slow
def test_edit_and_kill_and_kill_while_recovering(memory: Memory) -> None:
    """An edit that a killed exchange displaced survives a second kill at any step of the recovery."""
    half = _displaced(memory)
    whole = half.with_name("whole")
    shutil.copytree(half, whole)
    steps = play(whole, synced, 0).steps
    assert "after renameat2" in steps
    for number in range(1, len(steps) + 1):
        home = half.with_name(f"round-{number}")
        shutil.copytree(half, home)
        assert play(home, synced, number).code == -signal.SIGKILL
        with memoranda.open(home, settings=crash_child.SETTINGS) as reopened:
            reopened.sync()
            assert reopened.verify().clean
            assert _authors(reopened) == {"The first note.": "agent:main", PERSON: "external"}, steps[number - 1]
            assert stray_files(home) == []


def _displaced(memory: Memory) -> Path:
    """Return a home whose process was killed right after its exchange displaced an edit."""
    memory.close()
    whole = memory.home.with_name("played")
    shutil.copytree(memory.home, whole)
    killed_at = play(whole, save_over_an_edit, 0).steps.index("after renameat2") + 1
    assert play(memory.home, save_over_an_edit, killed_at).code == -signal.SIGKILL
    assert PERSON not in (memory.home / NOTES).read_text(encoding="utf-8")
    return memory.home


@linux
def test_edit_after_the_kill_does_not_hide_the_displaced_one(memory: Memory) -> None:
    """A displaced edit survives although the person edits the file again before anything recovers it."""
    home = _displaced(memory)
    with (home / NOTES).open("a", encoding="utf-8") as stream:
        stream.write("\nWritten after the crash.\n")
    with memoranda.open(home, settings=crash_child.SETTINGS) as reopened:
        reopened.sync()
        texts = {path.name: path.read_text(encoding="utf-8") for path in (home / "memory").glob("*.md")}
        assert "Written after the crash." in texts["notes.md"]
        assert PERSON in " ".join(texts.values())
        assert stray_files(home) == []
        assert reopened.verify().clean


@linux
def test_torn_copy_is_nobodys_edit(memory: Memory) -> None:
    """What a kill left of a copy half written is removed, also where the person edits the file before the recovery."""
    memory.close()
    killed = play(memory.home, save_half_of_a_copy, 0)
    assert killed.code == -signal.SIGKILL
    assert [name for name in stray_files(memory.home) if name.startswith("memory/")]
    with (memory.home / NOTES).open("a", encoding="utf-8") as stream:
        stream.write("\nWritten after the crash.\n")
    with memoranda.open(memory.home, settings=crash_child.SETTINGS) as reopened:
        reopened.sync()
        assert _authors(reopened) == {"The first note.": "agent:main", "Written after the crash.": "external"}
        assert [path.name for path in (memory.home / "memory").iterdir()] == ["notes.md"]
        assert reopened.verify().clean


class _Editor:
    """Has the notes open for appending since before the write, and writes after it."""

    def __init__(self, notes: Path, monkeypatch: pytest.MonkeyPatch, *, patience: float) -> None:
        self.opened = 0
        self._notes, self._patience = notes, patience
        self._rename = atomic._rename
        self._threads: list[threading.Thread] = []
        monkeypatch.setattr(atomic, "_rename", self._swap)

    def _swap(self, source: Path, target: Path, flags: int) -> bool:
        if self.opened:
            return self._rename(source, target, flags)
        self.opened += 1
        stream = self._notes.open("a", encoding="utf-8")
        done = self._rename(source, target, flags)
        self._threads.append(threading.Thread(target=self._write_late, args=(stream,)))
        self._threads[0].start()
        return done

    def _write_late(self, stream: IO[str]) -> None:
        time.sleep(self._patience)
        stream.write(f"\n{PERSON}\n")
        stream.close()

    def done(self) -> None:
        """Wait until the editor has written."""
        self._threads[0].join()


@linux
@pytest.mark.parametrize("patience", [0.03, 2.5 * PATIENCE_SECONDS], ids=["soon", "late"])
def test_editor_that_writes_after_the_exchange(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, patience: float
) -> None:
    """An editor that had the file open before the exchange and writes after it loses nothing, nor does the agent."""
    editor = _Editor(memory.home / NOTES, monkeypatch, patience=patience)
    assert memory.agent("main").save(OFFERED, file=NOTES).done
    editor.done()
    assert editor.opened
    memory.sync()
    assert _authors(memory) == {"The first note.": "agent:main", PERSON: "external", OFFERED: "agent:main"}
    assert _sound(memory)


@linux
def test_file_that_stays_open_for_writing(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that somebody keeps open for writing is left to them: a conflict, and no writer's words are lost."""
    monkeypatch.setattr(writers, "PATIENCE_SECONDS", 0.01)
    with (memory.home / NOTES).open("a", encoding="utf-8") as stream:
        outcome = memory.agent("main").save(OFFERED, file=NOTES)
        assert isinstance(outcome.items[0], Conflicted)
        stream.write(f"\n{PERSON}\n")
    assert (memory.home / NOTES).read_text(encoding="utf-8") == f"The first note.\n\n{PERSON}\n"
    assert memory.agent("main").save(OFFERED, file=NOTES).done
    assert _sound(memory)


def test_file_that_is_read_is_written_all_the_same(memory: Memory) -> None:
    """Somebody who only reads a file keeps nobody from writing it."""
    with (memory.home / NOTES).open(encoding="utf-8") as stream:
        assert memory.agent("main").save(OFFERED, file=NOTES).done
        assert stream.read() == "The first note.\n"
    assert OFFERED in (memory.home / NOTES).read_text(encoding="utf-8")
    assert _sound(memory)
