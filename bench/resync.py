"""Measures sync of many files: the first, an unchanged one, one with a changed file, beside a bare walk by `stat`.

python bench/resync.py [--files 10000] [--small]
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import memoranda
from measuring import Samples, ratio, table
from synthetic import Corpus, MadeUpEmbedder

FOLDER_FILES = 500
RECORDS = 3
SETTLED_SECONDS = 0.06
"""A file that was changed more recently is looked at again by the next sync."""


class OpenedNotes:
    """Counts the notes that the process opens while it is `on`."""

    def __init__(self, home: Path) -> None:
        self.home, self.on, self.count = str(home), False, 0
        sys.addaudithook(self._audit)

    def _audit(self, event: str, arguments: tuple[object, ...]) -> None:
        if self.on and event == "open" and isinstance(arguments[0], str | os.PathLike):
            name = os.fspath(arguments[0])
            self.count += isinstance(name, str) and name.startswith(self.home) and name.endswith(".md")


def main() -> None:
    """Print one table, and what the unchanged sync read and embedded."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--small", action="store_true", help="a few files: a smoke test")
    arguments = parser.parse_args()
    files, rounds = (50, 2) if arguments.small else (arguments.files, 15)
    with tempfile.TemporaryDirectory() as folder:
        measure(Path(folder), files, rounds)


def measure(home: Path, files: int, rounds: int) -> None:
    """Make the files, sync them once, then sync and walk by turns."""
    corpus = Corpus(files * RECORDS)
    write(home, corpus, files)
    embedder, opened = MadeUpEmbedder(corpus), OpenedNotes(home)
    names = ("bare walk by stat", "first sync, without vectors", "unchanged sync", "sync after one edit")
    rows = {name: Samples(name) for name in names}
    with memoranda.open(home, embedder=embedder) as memory:
        rows["first sync, without vectors"].time(memory.sync)
        memory.embed()
        embedded = embedder.texts
        for number in range(rounds):
            rows["bare walk by stat"].time(partial(walk, home / "memory"))
            opened.on = True
            rows["unchanged sync"].time(memory.sync)
            memory.embed()
            opened.on = False
            note = home / "memory" / "part0" / f"note{number}.md"
            note.write_text(note.read_text(encoding="utf-8") + f"\nAdded n{number}.\n", encoding="utf-8")
            rows["sync after one edit"].time(memory.sync)
            memory.embed()
            time.sleep(SETTLED_SECONDS)
            memory.sync()
        print(f"{files:,} files of {RECORDS} records each")
        print(f"unchanged syncs opened {opened.count} notes; texts embedded: {embedded:,} at first, "
              f"{embedder.texts - embedded} after {rounds} edits")  # fmt: skip
    table(f"Sync of {files:,} files", list(rows.values()))
    print()
    print(ratio(rows["unchanged sync"], rows["bare walk by stat"]))


def write(home: Path, corpus: Corpus, files: int) -> None:
    """Write notes of a few paragraphs, five hundred to a folder."""
    for number in range(files):
        folder = home / "memory" / f"part{number // FOLDER_FILES}"
        folder.mkdir(parents=True, exist_ok=True)
        body = "\n\n".join(corpus.texts[number * RECORDS : (number + 1) * RECORDS])
        note = folder / f"note{number}.md"
        note.write_text(f"# Note {number}\n\n{body}\n", encoding="utf-8")
    time.sleep(SETTLED_SECONDS)


def walk(folder: Path) -> int:
    """Stat every file below a folder, and do nothing else."""
    count = 0
    for entry in os.scandir(folder):
        if entry.is_dir(follow_symlinks=False):
            count += walk(Path(entry.path))
        else:
            entry.stat(follow_symlinks=False)
            count += 1
    return count


if __name__ == "__main__":
    main()
