"""`bench/peers`: other memories asked the same questions, each behind a driver of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

PEERS = Path(__file__).parents[2] / "bench" / "peers"
HARNESS = '''
def norm_evidence(evidence, valid):
    """Return the evidence that names a turn."""
    return [name for name in evidence or [] if name in valid], 0
'''


@pytest.fixture
def asked(tmp_path: Path) -> list[str]:
    """A made-up conversation in LoCoMo's format with a question that one turn answers, and words of that turn."""
    said = ["The harbour was calm.", "My canary is called Beppo.", "We had soup for lunch.", "It rained all night."]
    turns = [
        {"speaker": "Ada" if at % 2 else "Bob", "dia_id": f"D1:{at}", "text": text} for at, text in enumerate(said)
    ]
    conversation = {"session_1": turns, "session_1_date_time": "1:56 pm on 8 May, 2023"}
    questions = [
        {"question": text, "category": 4, "evidence": ["D1:1"]}
        for text in ("What is the canary called?", "canary Beppo")
    ]
    data = tmp_path / "made.json"
    data.write_text(json.dumps([{"sample_id": "conv-1", "conversation": conversation, "qa": questions}]))
    harness = tmp_path / "harness.py"
    harness.write_text(HARNESS)
    return [str(data), "--harness", str(harness), "--folder", str(tmp_path / "peers")]


def ran(arguments: list[str], seconds: int) -> subprocess.CompletedProcess[str]:
    """Run the benchmark."""
    return subprocess.run(
        [sys.executable, str(PEERS), *arguments], capture_output=True, encoding="utf-8", timeout=seconds, check=False
    )


def rows_of(printed: str) -> dict[str, list[str]]:
    """Return the cells of a printed table by their first."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in printed.splitlines() if line[:2] == "| "]
    return {row[0]: row[1:] for row in rows[1:]}


@pytest.mark.slow
def test_peers_are_asked_the_same(asked: list[str]) -> None:
    """The floor and Memoranda find the turn that answers; sizes and times are those of something that ran."""
    done = ran([*asked, "--peers", "fts5", "memoranda-words"], 120)
    assert done.returncode == 0, done.stderr
    rows = rows_of(done.stdout)
    assert set(rows) == {"FTS5, any word", "Memoranda, words alone"}
    for row in rows.values():
        assert row[1:4] == ["1.0000", "1.0000", "1.0000"]
        assert all(float(cell) > 0 for cell in (*row[5:7], row[9]))


@pytest.mark.slow
def test_peer_that_fails_is_listed(asked: list[str], tmp_path: Path) -> None:
    """A command that is not what it says is named with its reason, its neighbour is measured, and the run fails."""
    home = tmp_path / "peers" / "environments" / "qmd"
    broken = home / "node_modules" / ".bin" / "qmd"
    broken.parent.mkdir(parents=True)
    broken.write_text("#!/bin/sh\necho no such engine >&2\nexit 7\n")
    broken.chmod(0o755)
    (home / "installed.json").write_text(json.dumps([[], "@tobilu/qmd@2.1.0", [3, 11]]))
    done = ran([*asked, "--peers", "qmd", "fts5"], 120)
    assert done.returncode == 1
    assert "Not measured: QMD `search`: RuntimeError: qmd --version ended with 7: no such engine" in done.stdout
    assert rows_of(done.stdout)["FTS5, any word"][1] == "1.0000"


@pytest.mark.long
def test_every_peer_installs_and_answers(asked: list[str]) -> None:
    """Each peer is installed by its own package manager, keeps the turns and is measured."""
    done = ran(asked, 3_600)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = rows_of(done.stdout)
    assert len(rows) == 8
    found = {name: row[1] for name, row in rows.items()}
    assert found["Chroma"] == found["LangGraph store"] == found["mem0, `infer=False`"] == "1.0000"
    assert found["QMD `search`"] == "0.5000", "every word of the second question stands in one turn, not of the first"
