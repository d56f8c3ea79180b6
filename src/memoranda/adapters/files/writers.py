"""Tells whether somebody has a file open for writing, where the system can tell.

An editor that opened a file before it was exchanged and writes afterwards would write into what is about to be
removed. Linux grants a read lease only on a file that nobody has open for writing (fcntl(2), "Leases"), which
answers the question without waiting for anybody.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

PATIENCE_SECONDS = 0.2
"""How long a writer is waited for: editors write and close within milliseconds."""

_POLL_SECONDS = 0.002


def closed_by_all(path: Path) -> bool:
    """Wait until nobody has the file open for writing; return whether that came true in time.

    True where the system or the file system cannot tell.
    """
    limit = time.monotonic() + PATIENCE_SECONDS
    while _is_open_for_writing(path):
        if time.monotonic() >= limit:
            return False
        time.sleep(_POLL_SECONDS)
    return True


def _is_open_for_writing(path: Path) -> bool:
    if not sys.platform.startswith("linux"):
        return False
    import fcntl  # noqa: PLC0415 - Windows has no such module

    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        # Whoever opens the file while the lease is held sends a signal; the usual one would end this process.
        fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    except BlockingIOError:
        return True
    except OSError:  # not the owner's file, or a file system without leases
        return False
    finally:
        os.close(descriptor)  # gives the lease back
    return False
