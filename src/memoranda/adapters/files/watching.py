"""Watches folders through `watchfiles`."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from memoranda.adapters.files.documents import ENDINGS
from memoranda.adapters.files.home import STATE
from memoranda.errors import BackendError


class FileWatcher:
    """Yields when Markdown files below some folders change."""

    def changes(
        self, folders: Sequence[Path], *, stop: threading.Event, debounce: float, timeout: float
    ) -> Iterator[None]:
        """Yield after every burst of changes and after `timeout` seconds without one, until `stop` is set."""
        import watchfiles  # noqa: PLC0415 - a tenth of a second that only a watcher should pay

        def wanted(change: object, path: str) -> bool:
            del change
            return path.lower().endswith(ENDINGS) and STATE not in Path(path).parts

        began = time.monotonic()
        try:
            for found in watchfiles.watch(
                *folders,
                watch_filter=wanted,
                debounce=int(debounce * 1000),
                step=100,
                stop_event=stop,
                rust_timeout=1_000,
                yield_on_timeout=True,
                raise_interrupt=False,
            ):
                if found or time.monotonic() - began >= timeout:
                    began = time.monotonic()
                    yield
        except (OSError, RuntimeError) as error:
            raise BackendError(f"the folders cannot be watched: {type(error).__name__}") from error
