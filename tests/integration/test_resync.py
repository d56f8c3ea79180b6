"""A resync of what nobody changed reads no content, embeds nothing and writes no event."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import memoranda
from memoranda.memory import Memory
from memoranda.ports import Vector

WIDTH = 8


class CountingEmbedder:
    """An embedder that counts the texts it is given."""

    identity, dimensions, weight = "counting", WIDTH, 0.3

    def __init__(self) -> None:
        self.texts = 0

    def embed_documents(self, texts: Sequence[str]) -> Vector:
        """Return unit vectors that depend on the length of each text."""
        self.texts += len(texts)
        rows = np.array([[len(text), *range(1, WIDTH)] for text in texts], np.float32)
        unit: Vector = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return unit

    def embed_query(self, text: str) -> Vector:
        """Embed one text."""
        vector: Vector = self.embed_documents([text])[0]
        return vector


class Opened:
    """Which note files the process opens, seen below everything that could hide it."""

    def __init__(self) -> None:
        self.folder = ""
        self.notes: list[str] = []
        sys.addaudithook(self._audit)

    def _audit(self, event: str, arguments: tuple[object, ...]) -> None:
        if event != "open" or not self.folder:
            return
        path = arguments[0]
        if isinstance(path, str | os.PathLike):
            name = os.fspath(path)
            if isinstance(name, str) and name.startswith(self.folder) and name.endswith(".md"):
                self.notes.append(name)

    @contextmanager
    def below(self, home: Path) -> Iterator[list[str]]:
        """Record while the block runs."""
        self.folder, self.notes = str(home), []
        try:
            yield self.notes
        finally:
            self.folder = ""


@pytest.fixture(scope="module")
def opened() -> Opened:
    """One audit hook for all tests here: such a hook cannot be taken away again."""
    return Opened()


def _notes(home: Path, files: int) -> None:
    for number in range(files):
        folder = home / "memory" / f"part{number // 500}"
        folder.mkdir(parents=True, exist_ok=True)
        note = folder / f"note{number}.md"
        note.write_text(f"# Note {number}\n\nFact {number} of many.\n", encoding="utf-8")
        os.utime(note, ns=(1_700_000_000_000_000_000, 1_700_000_000_000_000_000 + number))
    time.sleep(0.06)  # until the clock of the file system has surely moved on


@pytest.mark.parametrize(
    "files", [60, pytest.param(10_000, marks=[pytest.mark.slow, pytest.mark.timeout(900)], id="10000")]
)
def test_unchanged_resync(tmp_path: Path, opened: Opened, files: int) -> None:
    """The first sync reads every file; the second opens none of them, embeds nothing and notes nothing."""
    embedder = CountingEmbedder()
    _notes(tmp_path, files)
    with memoranda.open(tmp_path, embedder=embedder) as memory:
        with opened.below(tmp_path) as read:
            first = memory.sync()
            assert memory.embed() == files
        assert first.files_changed == first.added == files
        assert len(set(read)) == embedder.texts == files
        events = memory.status().ledger_events
        with opened.below(tmp_path) as read:
            second = memory.sync()
            assert memory.embed() == 0
        assert read == []
        assert (second.files_seen, second.files_read, second.files_changed) == (files, 0, 0)
        assert embedder.texts == files
        assert memory.status().ledger_events == events
        _one_change(memory, opened, embedder, files)


def _one_change(memory: Memory, opened: Opened, embedder: CountingEmbedder, files: int) -> None:
    """One changed file is the one that is read and embedded."""
    note = memory.home / "memory" / "part0" / "note7.md"
    note.write_text("# Note 7\n\nFact 7 of many more.\n", encoding="utf-8")
    with opened.below(memory.home) as read:
        report = memory.sync()
        assert memory.embed() == 1
    assert set(read) == {str(note)}
    assert (report.files_changed, report.edited) == (1, 1)
    assert embedder.texts == files + 1


def test_touched_file_is_read_once(tmp_path: Path, opened: Opened) -> None:
    """A file whose time changed and whose content did not is read once, embedded never, and then not read again."""
    embedder = CountingEmbedder()
    _notes(tmp_path, 5)
    note = tmp_path / "memory" / "part0" / "note3.md"
    with memoranda.open(tmp_path, embedder=embedder) as memory:
        memory.sync()
        memory.embed()
        os.utime(note, ns=(1_700_000_001_000_000_000, 1_700_000_001_000_000_000))
        time.sleep(0.06)
        with opened.below(tmp_path) as read:
            report = memory.sync()
        assert read == [str(note)]
        assert (report.files_read, report.files_changed, memory.embed()) == (1, 0, 0)
        with opened.below(tmp_path) as read:
            memory.sync()
        assert read == []
        assert embedder.texts == 5
