"""Measures saving: from save to found and its parts, a cold command line, and many processes on one file.

python bench/saving.py [--small]
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import memoranda
from measuring import Samples, table
from memoranda.memory import Memory
from synthetic import Corpus, MadeUpEmbedder, write_notes

SETTINGS = {"memory.provider": "none"}
PARTS = {
    "scanner": ("scan",),
    "ledger": ("prepare", "commit"),
    "documents": ("read", "replace"),
    "index": ("put",),
}
WRITER = """
import sys, memoranda
home, name, saves = sys.argv[1:]
with memoranda.open(home, settings={"memory.provider": "none"}) as memory:
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(int(saves)):
        assert memory.agent("main").save(f"Line {number} of {name}.", file="memory/shared.md").done
"""


class _Timed:
    """A port whose methods add up what they take."""

    def __init__(self, inner: object, names: tuple[str, ...], note: Callable[[str, float], None], port: str) -> None:
        self._inner, self._names, self._note, self._port = inner, names, note, port

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if name not in self._names:
            return found

        def call(*arguments: object, **named: object) -> object:
            began = time.perf_counter()
            try:
                return found(*arguments, **named)
            finally:
                self._note(f"  {self._port}.{name}", (time.perf_counter() - began) * 1_000)

        return call


def main() -> None:
    """Print a table for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="a few saves: a smoke test")
    arguments = parser.parse_args()
    count, records, runs, writers, saves = (3, 20, 1, 2, 3) if arguments.small else (200, 1_000, 15, 12, 50)
    with tempfile.TemporaryDirectory() as folder:
        save_to_found(Path(folder) / "parts", count, records)
        command_line(Path(folder) / "cold", runs, records)
        many_writers(Path(folder) / "many", writers, saves)


def save_to_found(home: Path, count: int, records: int) -> None:
    """Time saves into a memory of some size, each followed by the search that must find it."""
    corpus = Corpus(records + count)
    write_notes(home, corpus.texts[:records])
    embedder = MadeUpEmbedder(corpus)
    rows: dict[str, Samples] = {}

    def note(name: str, milliseconds: float) -> None:
        rows.setdefault(name, Samples(name)).wall.append(milliseconds)

    with memoranda.open(home, embedder=embedder) as memory:
        memory.sync()
        memory.embed()
        timed = _timed(memory, note)
        agent = timed.agent("main")
        whole, save, search, vectors = (
            Samples(name)
            for name in ("save to found by word", " save", " search that finds it (keyword)", "vectors of one save")
        )
        for number in range(records, records + count):
            text = corpus.texts[number]
            began = time.perf_counter()
            save.time(partial(agent.save, text, file="memory/saved.md"))
            found = search.time(partial(agent.search, f"n{number}", mode="keyword"))
            note(whole.name, (time.perf_counter() - began) * 1_000)
            if [hit.text for hit in found.hits][:1] != [text]:  # type: ignore[attr-defined]
                raise RuntimeError("what was saved was not found")
            vectors.time(timed.embed)
        rows["save"], rows["search"] = save, search
    names = [whole.name, "save", *sorted(name for name in rows if name.startswith("  ")), "search"]
    print("parts of a save are timed call by call, by the wall clock")
    table(f"Save to found, in a memory of {records:,} records", [*(rows[name] for name in names), vectors])


def _timed(memory: Memory, note: Callable[[str, float], None]) -> Memory:
    stores = memory._parts.stores  # noqa: SLF001 - the parts of a save are not public
    ports: dict[str, Any] = {port: _Timed(getattr(stores, port), names, note, port) for port, names in PARTS.items()}
    memory._parts = replace(memory._parts, stores=replace(stores, **ports))  # noqa: SLF001 - the same
    return memory


def command_line(home: Path, runs: int, records: int) -> None:
    """Time `memoranda search` and `memoranda save` as processes of their own, beside a bare interpreter."""
    write_notes(home, Corpus(records).texts)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment |= {"MEMORANDA_HOME": str(home), "PYTHONPYCACHEPREFIX": str(home / "compiled")}
    (home / "memoranda.toml").write_text('[memory]\nprovider = "none"\n', encoding="utf-8")
    with memoranda.open(home) as memory:
        memory.sync()
    program = [sys.executable, "-m", "memoranda"]
    commands = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "memoranda search": [*program, "search", "n17", "--json"],
        "memoranda save": [*program, "save", "A line {}.", "--file", "memory/cli.md"],
    }
    rows = {name: Samples(name) for name in commands}
    for number in range(runs + 1):
        for name, command in commands.items():
            filled = [part.format(number) if "{}" in part else part for part in command]
            wall, cpu = time.perf_counter(), _children_cpu()
            subprocess.run(filled, check=True, env=environment, stdout=subprocess.DEVNULL)
            if number:  # the first compiles
                rows[name].wall.append((time.perf_counter() - wall) * 1_000)
                rows[name].cpu.append((_children_cpu() - cpu) * 1_000)
    rows_ = list(rows.values())
    if runs:
        table(f"Cold command line, keyword search, {records:,} records", rows_)


def _children_cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def many_writers(home: Path, writers: int, saves: int) -> None:
    """Let processes save into one file at once; print how many saves a second came through, and one alone."""
    for count in (1, writers):
        place = home / str(count)
        memoranda.open(place, settings=SETTINGS).close()
        processes = [
            subprocess.Popen(
                [sys.executable, "-c", WRITER, str(place), f"w{number}", str(saves)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            )
            for number in range(count)
        ]  # fmt: skip
        for process in processes:
            if process.stdout is None or process.stdout.readline() != "ready\n":
                raise RuntimeError("a writer did not start")
        began = time.perf_counter()
        for process in processes:
            if process.stdin is not None:
                process.stdin.write("go\n")
                process.stdin.flush()
        codes = [process.wait() for process in processes]
        seconds = time.perf_counter() - began
        for process in processes:
            process.communicate()
        if any(codes):
            raise RuntimeError("a writer failed")
        total = count * saves
        print(f"{count} processes x {saves} saves into one file: {seconds:.1f} s, {total / seconds:.0f} saves/s, "
              f"{seconds / total * 1_000:.1f} ms each")  # fmt: skip


if __name__ == "__main__":
    main()
