"""Watches a home through `watchfiles`."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

from memoranda.adapters.files.documents import ENDINGS
from memoranda.adapters.files.home import STATE
from memoranda.errors import BackendError

_LOOK_MILLISECONDS = 250
"""How often it looks whether to stop or to sync anyway."""
_QUIET_MILLISECONDS = 100
"""A burst ends after so long without a change, or after `debounce`, whichever comes first."""


class FileWatcher:
    """Yields when Markdown files below a folder change."""

    def changes(self, folder: Path, *, stop: threading.Event, debounce: float, timeout: float) -> Iterator[None]:
        """Yield once watching has begun, after every burst of changes, and after `timeout` seconds without one."""
        import watchfiles  # noqa: PLC0415 - a tenth of a second that only a watcher should pay

        def wanted(_: object, path: str) -> bool:
            place = Path(path)
            return STATE not in place.parts and (place.suffix.lower() in ENDINGS or not place.suffix)

        last = float("-inf")
        try:
            for found in watchfiles.watch(
                folder,
                watch_filter=wanted,
                debounce=max(_QUIET_MILLISECONDS, int(debounce * 1000)),
                step=_QUIET_MILLISECONDS,
                stop_event=stop,
                rust_timeout=_LOOK_MILLISECONDS,
                yield_on_timeout=True,
                raise_interrupt=False,
            ):
                if found or time.monotonic() - last >= timeout:
                    yield
                    last = time.monotonic()
        except (OSError, RuntimeError) as error:
            raise BackendError(f"{folder} cannot be watched: {type(error).__name__}") from error
