"""Waits for work only so long: a turn does not hang on a slow disk or model."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from memoranda.errors import TooLate

T = TypeVar("T")


def within(milliseconds: int, work: Callable[[], T]) -> T:
    """Return what `work` returns, or raise what it raises.

    It runs in a thread of its own, which ends by itself when it is late; its answer is then dropped.

    Raises:
        TooLate: there was no answer in time.
    """
    pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="memoranda-recall")
    try:
        return pool.submit(work).result(timeout=milliseconds / 1000)
    except TimeoutError:
        raise TooLate(f"no answer within {milliseconds} ms") from None
    finally:
        pool.shutdown(wait=False)
