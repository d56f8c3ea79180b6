"""Starts children quickly: a server that has imported everything forks them."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.faults import crash_child

DEADLINE = 120.0
"""Seconds after which a child counts as hung."""

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["memoranda.bootstrap", "memoranda.services.recall", "tests.faults.crash_scenes"])


def start(function: Callable[..., None], *arguments: Any) -> Any:
    """Start a function in a child of its own and return the process."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # threads would make forking unsafe
    process = _context.Process(target=function, args=arguments, daemon=True)
    process.start()
    return process


def finish(process: Any) -> int:
    """Wait for a child and return its exit code, negative for the signal that ended it; a hung one fails."""
    process.join(DEADLINE)
    code = process.exitcode
    if code is None:
        process.kill()
        raise AssertionError(f"a child did not end within {DEADLINE} s")
    process.close()
    return int(code)


@dataclass(frozen=True)
class Played:
    """What a child left: its exit code, whether its caller was told "done", and its steps where it came to its end."""

    code: int
    acknowledged: bool
    steps: list[str]


def play(home: Path, action: Callable[..., None], kill_at: int) -> Played:
    """Run an action on a home in a child, killed at a step (0: to its end)."""
    acknowledged, trace = home.with_suffix(".acks"), home.with_suffix(".steps")
    code = finish(start(crash_child.run, str(home), action, str(acknowledged), kill_at, str(trace)))
    steps = trace.read_text(encoding="utf-8").split("\n") if trace.exists() else []
    return Played(code, acknowledged.exists(), steps)
