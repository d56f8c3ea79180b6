"""Runs one memory operation in a process that kills itself at a chosen step of it.

A step is a call to a port (before and after it) or what the operating system is asked for below it: opening, making,
renaming, exchanging, removing and syncing files. Product code knows nothing of this: ports are wrapped where they
were put together, the rest is seen by an audit hook.
"""

from __future__ import annotations

import functools
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import memoranda
from memoranda.adapters.files import atomic
from memoranda.memory import Memory

SETTINGS = {"memory.provider": "none"}

WATCHED: dict[str, tuple[str, ...]] = {
    "ledger": ("prepare", "commit", "discard"),
    "documents": ("replace", "recover", "discard"),
    "index": ("put",),
}
"""Port methods of a write, in the names the services call them by."""

Step = Callable[[str], None]


class StepCounter:
    """Counts the steps of what runs while it is armed; kills the process at step `kill_at` (from 1; 0: never)."""

    def __init__(self, home: Path, kill_at: int) -> None:
        self._home = f"{home}{os.sep}"
        self._kill_at = kill_at
        self.armed = False
        self.names: list[str] = []

    def step(self, name: str) -> None:
        """Count one step, and be killed there if it is the one."""
        if not self.armed:
            return
        self.names.append(name)
        if len(self.names) == self._kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    def audit(self, event: str, arguments: tuple[object, ...]) -> None:
        """Take note of what Python asks the operating system for, where it concerns the home."""
        if not self.armed:
            return
        if event in ("open", "os.rename", "os.remove", "os.mkdir") and self._ours(arguments[0]):
            self.step(f"{event} {self._short(arguments[0])}")
        elif event == "ctypes.dlsym" and arguments[1] == "renameat2":
            self.step("before renameat2")

    def _ours(self, path: object) -> bool:
        return isinstance(path, str | os.PathLike) and os.fspath(path).startswith(self._home)

    def _short(self, path: object) -> str:
        """Return a path's name without what is different every time."""
        name = Path(str(path)).name
        return "temporary" if name.startswith(".memoranda-") else name


class _Watched:
    """A port whose watched methods count as steps."""

    def __init__(self, inner: object, port: str, step: Step) -> None:
        self._inner, self._port, self._step = inner, port, step

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if name not in WATCHED[self._port]:
            return found

        @functools.wraps(found)
        def call(*arguments: object, **named: object) -> object:
            self._step(f"before {self._port}.{name}")
            result = found(*arguments, **named)
            self._step(f"after {self._port}.{name}")
            return result

        return call


def watch(memory: Memory, counter: StepCounter) -> None:
    """Wrap the ports of an open memory and everything below them."""
    stores = memory._parts.stores
    watched: dict[str, Any] = {port: _Watched(getattr(stores, port), port, counter.step) for port in WATCHED}
    memory._parts = replace(memory._parts, stores=replace(stores, **watched))
    sys.addaudithook(counter.audit)
    sync, rename = os.fsync, atomic._rename

    def fsync(fd: Any) -> None:
        counter.step("before fsync")
        sync(fd)
        counter.step("after fsync")

    def swapped(source: Path, target: Path, flags: int) -> bool:
        done = rename(source, target, flags)
        counter.step("after renameat2")
        return done

    os.fsync = fsync
    atomic._rename = swapped


def run(home: str, action: Callable[[Memory], object], acknowledged: str, kill_at: int, trace: str) -> None:
    """Open the home, carry out the action under the counter, say that it was acknowledged, write down the steps."""
    memory = memoranda.open(home, settings=SETTINGS)
    counter = StepCounter(Path(home), kill_at)
    watch(memory, counter)
    counter.armed = True
    action(memory)
    acknowledge(acknowledged, "done")
    counter.armed = False
    Path(trace).write_text("\n".join(counter.names), encoding="utf-8")
    memory.close()


def acknowledge(path: str, line: str) -> None:
    """Say that something was acknowledged, so that a kill right after it cannot take the word back."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(descriptor, line.encode() + b"\n")
    os.close(descriptor)


def write_on(home: str, writer: str, saves: int, acknowledged: str, kill_at: int) -> None:
    """Save texts of two paragraphs one after the other, and acknowledge each; be killed at a step of them."""
    memory = memoranda.open(home, settings=SETTINGS)
    counter = StepCounter(Path(home), kill_at)
    watch(memory, counter)
    agent = memory.agent("main")
    counter.armed = True
    for number in range(saves):
        outcome = agent.save(pair(writer, number), file="memory/shared.md" if number % 2 else f"memory/{writer}.md")
        if outcome.done:
            acknowledge(acknowledged, f"{writer} {number}")
    counter.armed = False
    memory.close()


def pair(writer: str, number: int) -> str:
    """Return a text of two records that belong together."""
    return f"Writer {writer} has saved fact {number} once.\n\nIts companion of writer {writer} is {number} too."
