"""`memoranda watch` as a process."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.interfaces.command_line import TEA, CommandLine


@pytest.mark.slow
def test_watch_reports_edits_until_interrupted(cli: CommandLine, home: Path) -> None:
    """Each sync is one JSON line; an edit is seen, found by a search, and Ctrl-C ends with 0."""
    process = subprocess.Popen(
        [sys.executable, "-m", "memoranda", "watch", "--debounce", "0.1", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=cli.clean(),
        encoding="utf-8",
    )
    try:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["added"] == 0
        (home / "MEMORY.md").write_text(f"- {TEA}\n", encoding="utf-8")
        found: list[dict[str, str]] = []
        for _ in range(100):
            found = cli("search", "green tea", "--no-sync", "--json").json["results"]
            if found:
                break
            time.sleep(0.2)
        assert TEA in found[0]["text"]
        assert json.loads(process.stdout.readline())["added"] == 1
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        assert process.returncode == 0
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=60)
