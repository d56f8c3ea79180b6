"""Shows that long work goes on: a bar on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import typer

from memoranda.domain.report import Progress

FIRST_AFTER = 1.0
"""Seconds of silence before the first sign: shorter work needs none."""

EVERY = 3.0
"""Seconds between plain lines."""


@contextlib.contextmanager
def shown() -> Iterator[Progress]:
    """Give a progress callback that draws on standard error."""
    if sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
        with _bars() as progress:
            yield progress
    else:
        yield Lines(write=lambda line: typer.echo(line, err=True))


@dataclass(slots=True)
class Lines:
    """Progress as plain lines: the first after a second, then one every few seconds."""

    write: Callable[[str], None]
    clock: Callable[[], float] = time.monotonic
    started: float = field(init=False)
    last: float = field(init=False, default=0.0)
    _begun: dict[str, tuple[float, int]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.started = self.clock()

    def __call__(self, what: str, done: int, total: int) -> None:
        """Take note of progress and write a line if it is time for one."""
        now = self.clock()
        began, first = self._begun.setdefault(what, (now, done))
        if now - self.started < FIRST_AFTER or (self.last and now - self.last < EVERY):
            return
        self.last = now
        left = (now - began) * (total - done) / (done - first) if done > first and total else 0.0
        about = f", about {left:.0f} s left" if left >= FIRST_AFTER else ""
        self.write(f"{what}: {done} of {total}{about}" if total else f"{what}: {done}")


@contextlib.contextmanager
def _bars() -> Iterator[Progress]:
    """Draw one bar per kind of work; it disappears when the work is done."""
    from rich.console import Console  # noqa: PLC0415 - costs 90 ms, and only a terminal needs it
    from rich.progress import Progress as Bars  # noqa: PLC0415

    tasks: dict[str, int] = {}
    with Bars(console=Console(stderr=True), transient=True) as bars:

        def progress(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(what, total=total or None)
            bars.update(tasks[what], completed=done, total=total or None)  # type: ignore[arg-type]  # ids are ints

        yield progress


@contextlib.contextmanager
def busy(what: str) -> Iterator[None]:
    """Show that work of unknown length goes on: a spinner on a terminal, elsewhere a line every few seconds."""
    if sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
        from rich.console import Console  # noqa: PLC0415 - costs 90 ms, and only a terminal needs it

        with Console(stderr=True).status(what):
            yield
        return
    over, began = threading.Event(), time.monotonic()

    def tell() -> None:
        wait = FIRST_AFTER
        while not over.wait(wait):
            typer.echo(f"{what}: {time.monotonic() - began:.0f} s", err=True)
            wait = EVERY

    teller = threading.Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield
    finally:
        over.set()
        teller.join()
