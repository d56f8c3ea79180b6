"""The background work of a server: a thread that takes in edited files, started and stopped by its owner."""

from __future__ import annotations

import logging
import signal
import threading
from typing import Self

from memoranda.domain.report import SyncReport
from memoranda.errors import MemorandaError
from memoranda.memory import Memory

STOP_SECONDS = 10.0
"""How long a server waits at its end for the watcher to finish what it is writing."""


TEND_SECONDS = 5.0
"""How often a server looks whether background work is due."""


def stopped_by_signals() -> threading.Event:
    """Return an event that Ctrl-C and SIGTERM set, for work in the main thread that ends by itself.

    An exception would tear a write in the middle, and the file watcher underneath swallows KeyboardInterrupt.
    """
    stop = threading.Event()
    for signum in (signal.SIGINT, signal.SIGTERM):
        signal.signal(signum, lambda *_: stop.set())
    return stop


class _Beside:
    """A thread of a server, started and stopped with the block it guards; at its end it is waited for, a while."""

    def __init__(self, memory: Memory, name: str) -> None:
        self._memory = memory
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(STOP_SECONDS)

    def _run(self) -> None:
        raise NotImplementedError


class Watcher(_Beside):
    """A thread that syncs once and then follows the files, for as long as the block it guards.

    `first_sync_done` is set after the first sync, whether or not it succeeded. `agents` limits the first sync
    to what these agents read; `keep` False ends after it.
    """

    def __init__(self, memory: Memory, *, agents: tuple[str, ...] | None = None, keep: bool = True) -> None:
        super().__init__(memory, "memoranda-watch")
        self.first_sync_done = threading.Event()
        self._agents, self._keep = agents, keep

    def _run(self) -> None:
        try:
            self._memory.sync(agents=self._agents)
        except MemorandaError as error:
            _warn(error)
        finally:
            self.first_sync_done.set()
        if self._keep and not self._stop.is_set():
            self._follow()

    def _follow(self) -> None:
        try:
            self._memory.watch(stop=self._stop, on_sync=_quiet, on_error=_warn)
        except MemorandaError as error:
            _warn(error)


class Tender(_Beside):
    """A thread that does the background work with a model when it is due.

    What it has begun at the end is finished, or ends with the process.
    """

    def __init__(self, memory: Memory, *, every: float = TEND_SECONDS) -> None:
        super().__init__(memory, "memoranda-tend")
        self._every = every

    def _run(self) -> None:
        while not self._stop.wait(self._every):
            try:
                for report in self._memory.tend():
                    if report.state == "failed":
                        logging.getLogger(__name__).warning("%s %s: %s", report.kind, report.id, report.message)
            except MemorandaError as error:
                _warn(error)


def _quiet(_: SyncReport) -> None:
    """Say nothing: a server's standard error is for warnings."""


def _warn(error: MemorandaError) -> None:
    logging.getLogger(__name__).warning("%s", error)
