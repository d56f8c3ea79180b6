"""What only a terminal shows: the question before an undo."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

import pytest

from tests.interfaces.command_line import TEA, CommandLine


@pytest.mark.slow
@pytest.mark.parametrize(("answer", "code", "left"), [("n", 1, 1), ("y", 0, 0)])
def test_undo_shows_the_difference_and_does_what_is_answered(
    cli: CommandLine, answer: str, code: int, left: int
) -> None:
    """On a terminal the diff is shown first; no leaves everything as it was, yes takes the change back."""
    assert cli("save", TEA).code == 0
    ours, theirs = pty.openpty()
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", "memoranda", "undo"],
            stdin=theirs,
            stdout=subprocess.PIPE,
            stderr=theirs,
            env=cli.clean() | {"TERM": "dumb"},
        )
        shown = b""
        while b"goes)?" not in shown:
            shown += os.read(ours, 4096)
        os.write(ours, f"{answer}\n".encode())
        process.communicate(timeout=60)
    finally:
        os.close(theirs)
        os.close(ours)
    assert f"-{TEA}" in shown.decode()
    assert process.returncode == code
    assert len(cli("search", "green tea", "--json").json["results"]) == left
