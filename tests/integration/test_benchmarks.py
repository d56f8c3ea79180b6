"""The benchmarks run: each one from its beginning to its end with little data."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[2] / "bench"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("recall", "streamed vectors, 400 / vector arm, 400"),
        ("many_agents", "among 6, cold / alone, cold"),
        ("resync", "unchanged syncs opened 0 notes"),
        ("saving", "2 processes x 3 saves into one file"),
        ("trust", "A review queue of 20"),
        ("sessions", "append (session.user), 1,000 / open, write, fsync, close of that line, 1,000"),
        ("prefix", "shares kept, conversation / system prompt"),
        ("large_scope", "every vector streamed / vector arm"),
        ("turns", "storage, words / FTS5, any word"),
        ("embedding", "2 processes: the same to the bit"),
        ("first_sync", "60 vectors after"),
    ],
)
def test_benchmark_runs(name: str, says: str) -> None:
    """A benchmark with `--small` ends well and prints what it is there for."""
    ran = subprocess.run(
        [sys.executable, str(BENCH / f"{name}.py"), "--small"],
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert says in ran.stdout
