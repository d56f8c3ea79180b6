"""The wire between the runner and a driver: a JSON object per line each way; standard library alone.

A driver is started in its peer's own environment with a folder to work in. It answers `hello`, `add`, `finish`,
`search` and `usage` until its input ends. Whatever else is printed goes to standard error.

    {"do": "add", "scope": S, "turns": [{"id", "session", "at", "speaker", "role", "text", "vector"}]}
    {"do": "search", "scope": S, "text": Q, "vector": V, "limit": N}  ->  {"ids": [...], "ms": 1.2}

`sessions` asks for a turn of each session found; a driver whose peer has no such search answers with none, and the
sessions of a longer answer are taken.

Times are wall milliseconds around the peer's own call, measured inside the driver.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

Turn = dict[str, Any]


@dataclass(frozen=True)
class Asked:
    """A question of one conversation, with its vector (cosine, unit length) for peers that take one."""

    scope: str
    text: str
    vector: Sequence[float]
    limit: int


class Driver(Protocol):
    """What a peer has to be able to do."""

    name: str

    def version(self) -> str:
        """Return the peer's version as it names itself."""

    def add(self, scope: str, turns: Sequence[Turn]) -> None:
        """Keep these turns of one conversation, in order."""

    def finish(self) -> None:
        """Do what is left before the first search: indexes, embeddings."""

    def search(self, asked: Asked) -> list[str]:
        """Return the ids of the turns found in one conversation, best first."""

    def close(self) -> None:
        """End what was started."""


def content(turn: Turn) -> str:
    """Return what a peer without a field for the speaker keeps."""
    return f"{turn['speaker']}: {turn['text']}"


def serve(driver: Driver, folder: Path) -> None:
    """Answer the lines of standard input until it ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    try:
        for line in sys.stdin:
            asked = json.loads(line)
            try:
                answer = _answer(driver, folder, asked)
            except Exception as error:  # noqa: BLE001 - whatever a peer raises is its result, not the end of the run
                answer = {"error": f"{type(error).__name__}: {str(error)[:300]}"}
            answers.write(json.dumps(answer) + "\n")
            answers.flush()
    finally:
        driver.close()


def _answer(driver: Driver, folder: Path, asked: dict[str, Any]) -> dict[str, Any]:
    match asked["do"]:
        case "hello":
            return {"name": driver.name, "version": driver.version()}
        case "add":
            return _timed(lambda: driver.add(asked["scope"], asked["turns"]))
        case "finish":
            return _timed(driver.finish)
        case "usage":
            return {"disk": disk_bytes(folder), "memory": sum(map(peak_bytes, (os.getpid(), *children(os.getpid()))))}
        case "search":
            start = time.perf_counter()
            ids = driver.search(_question(asked))
            return {"ids": ids, "ms": (time.perf_counter() - start) * 1_000}
        case "sessions":
            sessions = getattr(driver, "sessions", None)
            return {"ids": sessions(_question(asked)) if sessions else []}
        case other:
            raise ValueError(f"unknown request {other!r}")


def _question(asked: dict[str, Any]) -> Asked:
    return Asked(asked["scope"], asked["text"], asked["vector"], asked["limit"])


def _timed(run: Any) -> dict[str, Any]:
    start = time.perf_counter()
    run()
    return {"ms": (time.perf_counter() - start) * 1_000}


def disk_bytes(folder: Path) -> int:
    """Return the bytes of all files under a folder."""
    return sum(item.stat().st_size for item in folder.rglob("*") if item.is_file() and not item.is_symlink())


def peak_bytes(pid: int) -> int:
    """Return the most memory that a process has held so far, in bytes; 0 where the system does not tell."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))


def children(pid: int) -> Iterable[int]:
    """Yield the processes that a process started and that still run, with theirs."""
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found = [int(child) for child in task.read_text(encoding="ascii").split()]
        except OSError:
            continue
        for child in found:
            yield child
            yield from children(child)
