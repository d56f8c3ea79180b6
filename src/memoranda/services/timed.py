"""Waits for work only so long: a turn does not hang on a slow disk or model."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import TypeVar

from memoranda.errors import TooLate

T = TypeVar("T")


def within(milliseconds: int, work: Callable[[], T]) -> T:
    """Return what `work` returns, or raise what it raises.

    It runs in a thread of its own, which ends by itself when it is late; its answer is then dropped.

    Raises:
        TooLate: there was no answer in time.
    """
    answers: queue.SimpleQueue[tuple[T | None, BaseException | None]] = queue.SimpleQueue()

    def run() -> None:
        try:
            answers.put((work(), None))
        except BaseException as error:  # noqa: BLE001 - handed to the caller, whatever it is
            answers.put((None, error))

    threading.Thread(target=run, name="memoranda-recall", daemon=True).start()
    try:
        answer, error = answers.get(timeout=milliseconds / 1000)
    except queue.Empty:
        raise TooLate(f"no answer within {milliseconds} ms") from None
    if error is not None:
        raise error
    return answer  # type: ignore[return-value]  # what the work returned
