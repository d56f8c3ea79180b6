"""Signs of life during long work."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

from memoranda.interfaces.cli.progress import EVERY, FIRST_AFTER, Lines
from tests.interfaces.command_line import CommandLine


def test_plain_lines_start_late_and_come_seldom() -> None:
    """Nothing in the first second, then one line, then silence until the interval has passed."""
    now = [100.0]
    written: list[str] = []
    progress = Lines(written.append, clock=lambda: now[0])
    progress("reading", 1, 10)
    now[0] += FIRST_AFTER
    progress("reading", 2, 10)
    progress("reading", 3, 10)
    now[0] += EVERY / 2
    progress("reading", 4, 10)
    assert written == ["reading: 2 of 10, about 8 s left"]
    now[0] += EVERY / 2
    progress("reading", 5, 0)
    assert written == ["reading: 2 of 10, about 8 s left", "reading: 5"]


BAR = """
from memoranda.interfaces.cli.progress import shown
with shown() as progress:
    progress("reading files", 3, 10)
    progress("embedding", 1, 0)
"""


def on_terminal(cli: CommandLine, **environment: str) -> str:
    """Run the bar with standard error on a terminal and return what was drawn."""
    ours, theirs = pty.openpty()
    try:
        subprocess.run(
            [sys.executable, "-c", BAR], env=cli.clean() | environment, stderr=theirs, check=True, timeout=60
        )
        os.set_blocking(ours, False)
        try:
            return os.read(ours, 65_536).decode()
        except BlockingIOError:
            return ""
    finally:
        os.close(ours)
        os.close(theirs)


def test_a_terminal_gets_bars_and_a_dumb_one_does_not(cli: CommandLine) -> None:
    """Standard error that is a terminal shows a bar for each kind of work."""
    drawn = on_terminal(cli, TERM="xterm")
    assert "reading files" in drawn
    assert "embedding" in drawn
    assert on_terminal(cli, TERM="dumb") == ""
