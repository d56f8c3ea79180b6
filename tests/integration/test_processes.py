"""Many processes write one file, sync it and are edited by a person at once: each line is there once, by its author."""

from __future__ import annotations

import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import memoranda
from memoranda.memory import Memory
from tests.integration.writer_process import NEW_HOMES

SETTINGS = {"memory.provider": "none"}
SCRIPT = Path(__file__).with_name("writer_process.py")
SHARED = "memory/shared.md"


def _start(*arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(SCRIPT), *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _finish(*processes: subprocess.Popen[str]) -> list[str]:
    """Wait for all, then fail where one has failed; return what they printed."""
    ends = [process.communicate(timeout=240) for process in processes]
    failed = [err for process, (_, err) in zip(processes, ends, strict=True) if process.returncode]
    assert failed == []
    return [out for out, _ in ends]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with a shared file of one line."""
    folder = tmp_path / "home"
    with memoranda.open(folder, settings=SETTINGS) as memory:
        memory.agent("main").save("The line to be edited.", file=SHARED)
    return folder


class _Person:
    """Edits the shared file as editors do: reads it, changes it, and writes it back in one of two ways."""

    def __init__(self, home: Path) -> None:
        self._file = home / SHARED
        self.lines: list[str] = []

    def append_in_place(self) -> None:
        """Add a line at the end, in the file as it is."""
        self.lines.append(f"A person's line {len(self.lines)}.")
        with self._file.open("a", encoding="utf-8") as stream:
            stream.write(f"\n{self.lines[-1]}\n")

    def edit_by_rename(self) -> None:
        """Edit the first line and save as careful editors do; look again where the file changed meanwhile."""
        while True:
            seen = self._file.stat()
            text = self._file.read_text(encoding="utf-8")
            beside = self._file.with_name("shared.swp")
            beside.write_text(text.replace("The line to be edited.", "The line as edited."), encoding="utf-8")
            now = self._file.stat()
            if (seen.st_ino, seen.st_mtime_ns, seen.st_size) == (now.st_ino, now.st_mtime_ns, now.st_size):
                beside.replace(self._file)
                return


def _lines(memory: Memory) -> Iterator[tuple[str, str]]:
    for line in memory.agent("main").blame(SHARED):
        assert line.record is not None, line.text
        yield line.text, str(line.record.author)


def _check(home: Path, expected: dict[str, str]) -> None:
    """Every expected line is there once, by its author, in file, ledger and index, and nothing else is."""
    with memoranda.open(home, settings=SETTINGS) as memory:
        memory.sync()
        lines = list(_lines(memory))
        doubled = [text for text, count in Counter(text for text, _ in lines).items() if count > 1]
        assert doubled == []
        assert dict(lines) == expected
        assert memory.verify().clean
        assert memory.sync().files_changed == 0
        for text in list(expected)[:: max(1, len(expected) // 10)]:
            assert text in {hit.text for hit in memory.agent("main").search(f'"{text}"').hits}


def _written(names: list[str], saves: int) -> dict[str, str]:
    return {
        f"Line {number} of writer {name}.": "application" if name.startswith("person") else "agent:main"
        for name in names
        for number in range(saves)
    }


@pytest.mark.parametrize(
    ("writers", "saves"),
    [pytest.param(3, 8, id="3x8"), pytest.param(12, 50, id="12x50", marks=pytest.mark.slow)],
)
def test_writers_of_one_file(home: Path, tmp_path: Path, writers: int, saves: int) -> None:
    """N processes x M saves while one syncs and a person edits: N x M records, none lost or doubled, all authored."""
    stop = tmp_path / "stop"
    names = [f"person{number}" if number % 4 == 3 else f"agent{number}" for number in range(writers)]
    syncing = _start("sync", home, stop)
    processes = [_start("write", home, name, saves) for name in names]
    person = _Person(home)
    edits = 0
    while any(process.poll() is None for process in processes):
        time.sleep(0.25)
        if edits == 1:
            person.edit_by_rename()
        else:
            person.append_in_place()
        edits += 1
        if edits == 4:
            break
    try:
        _finish(*processes)
    finally:
        stop.touch()
    assert int(_finish(syncing)[0]) > 0
    first = "The line as edited." if edits >= 2 else "The line to be edited."
    expected = _written(names, saves) | dict.fromkeys(person.lines, "external")
    expected[first] = "external" if edits >= 2 else "agent:main"
    assert len(_written(names, saves)) == writers * saves
    _check(home, expected)


def test_many_threads_of_one_process(home: Path) -> None:
    """Threads that share one memory write as processes do."""
    import threading

    with memoranda.open(home, settings=SETTINGS) as memory:

        def write(name: str) -> None:
            for number in range(10):
                assert memory.agent("main").save(f"Line {number} of writer {name}.", file=SHARED).done

        threads = [threading.Thread(target=write, args=(f"thread{number}",)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    names = [f"thread{number}" for number in range(6)]
    _check(home, _written(names, 10) | {"The line to be edited.": "agent:main"})


def test_writers_of_different_agents(home: Path) -> None:
    """Two agents' threads write at once without waiting for each other's lock, and neither sees the other's lines."""
    with (
        memoranda.open(home, settings=SETTINGS) as memory,
        memory._parts.stores.locks.hold(memory.agent("main").scope),
    ):
        other = memoranda.open(home, settings=SETTINGS | {"memory.provider": "none"})
        assert other.agent("second").save("A line of the second agent.").done
        assert [hit.text for hit in other.agent("second").search("line").hits] == ["A line of the second agent."]
        assert [hit.text for hit in other.agent("main").search("line").hits] == ["The line to be edited."]
        other.close()


@pytest.mark.slow
def test_processes_that_open_a_new_home_at_once(tmp_path: Path) -> None:
    """Processes that make a home in the same instant all get it, and all their lines are there."""
    go = tmp_path / "go"
    processes = [_start("open", tmp_path, f"process{number}", go) for number in range(4)]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    go.touch()
    _finish(*processes)
    for number in range(NEW_HOMES):
        _check(tmp_path / str(number), {f"Line of process{number}.": "agent:main" for number in range(4)})
