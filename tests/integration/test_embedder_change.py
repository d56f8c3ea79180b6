"""Another embedder is set for a home that has vectors: search goes on, kills cost nothing, spaces never mix."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

import memoranda
from memoranda.domain.scope import agent_scope
from memoranda.memory import Memory

OLD, NEW = "hashing:64", "minilm"
SCOPE = agent_scope("main")
WORDS = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heron")


def note(number: int) -> str:
    """Return a short note that no other says."""
    return f"The {WORDS[number % 8]} {WORDS[number // 8 % 8]} lies in drawer d{number}."


def home_of(folder: Path, count: int) -> None:
    """Make a home of so many notes with vectors of the old embedder."""
    for start in range(0, count, 200):
        lines = "".join(f"- {note(number)}\n" for number in range(start, min(start + 200, count)))
        path = folder / "memory" / f"notes-{start}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(lines, encoding="utf-8")
    with memoranda.open(folder, settings={"memory.provider": OLD}) as memory:
        memory.sync()
        assert memory.embed() == count


def syncing(folder: Path) -> subprocess.Popen[bytes]:
    """Start a sync with the new embedder."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MEMORANDA_")}
    environment |= {"MEMORANDA_HOME": str(folder), "MEMORANDA_MEMORY_PROVIDER": NEW}
    return subprocess.Popen(
        [sys.executable, "-m", "memoranda", "sync"],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def counts(folder: Path) -> dict[str, int]:
    """Return how many vectors of each embedder the index holds."""
    connection = apsw.Connection(
        str(folder / ".state" / "index" / SCOPE.folder / "index.db"), flags=apsw.SQLITE_OPEN_READONLY
    )
    try:
        rows = connection.execute(
            "SELECT e.identity, count(v.key) FROM embedders e LEFT JOIN vectors v ON v.embedder = e.id GROUP BY e.id"
        )
        return {str(identity).partition(":")[0]: int(number) for identity, number in rows}
    finally:
        connection.close()


@pytest.fixture
def both() -> Iterator[list[Memory]]:
    """Return the home seen by who has only the new embedder set, and by who has the old one after it."""
    opened: list[Memory] = []
    yield opened
    for memory in opened:
        memory.close()


def asked(memory: Memory, number: int) -> str:
    """Ask for a note by a word of it, which must be found; return the provider whose vectors were compared."""
    index = memory._parts.stores.index
    before = index.state(SCOPE).embedder
    result = memory.agent("main").search(f"what lies in drawer d{number}?", limit=3)
    after = index.state(SCOPE).embedder
    assert f"d{number}." in result.hits[0].text
    assert result.trace.embedder in ("", before, after)
    return result.trace.embedder.partition(":")[0]


@pytest.mark.parametrize(
    "count", [pytest.param(240, marks=pytest.mark.slow), pytest.param(20_000, marks=pytest.mark.long)]
)
def test_search_goes_on_while_the_embedder_changes(tmp_path: Path, both: list[Memory], count: int) -> None:
    """Killed twice and resumed, the change ends with the new vectors alone; every search on the way has its answer."""
    home_of(tmp_path, count)
    both += [
        memoranda.open(tmp_path, settings={"memory.provider": NEW}),
        memoranda.open(tmp_path, settings={"memory.provider": [NEW, OLD]}),
    ]
    assert [asked(memory, 7) for memory in both] == ["", "hashing"]
    seen: list[set[str]] = [set(), set()]
    reached = 0
    for part in (1, 2, 3):
        process = syncing(tmp_path)
        limit = time.monotonic() + 1_200
        while process.poll() is None and time.monotonic() < limit:
            for at, memory in enumerate(both):
                seen[at].add(asked(memory, (13 * reached + at) % count))
            done = counts(tmp_path).get("minilm", 0)
            assert done >= reached  # what was embedded stays
            reached = done
            if part < 3 and done >= part * count // 3 - 40:
                process.send_signal(signal.SIGKILL)
        process.wait(60)
        if part < 3:
            assert process.returncode == -signal.SIGKILL
            assert counts(tmp_path)["hashing"] == count
            assert [asked(memory, 11) for memory in both] == ["", "hashing"]
    assert process.returncode == 0
    assert counts(tmp_path) == {"minilm": count}
    assert [asked(memory, 11) for memory in both] == ["minilm", "minilm"]
    assert seen[0] <= {"", "minilm"}
    assert "hashing" in seen[1]
    assert both[0].status().scopes[0].pending_vectors == 0
    assert both[0].verify().clean
