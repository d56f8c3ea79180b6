"""Tests that what was said is found again, on public conversations, where their folder is at hand.

Set MEMORANDA_EVAL_DATA to a folder that holds `locomo-dev.json`, and MEMORANDA_EVAL_HARNESS to the file whose index is
the floor.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from pathlib import Path

import pytest

import memoranda
from tests.homes import KEYWORDS_ONLY

ROOT = Path(__file__).resolve().parents[2]


def place(variable: str, *default: str) -> Path:
    """Return a file of the evaluation, or skip the test with the reason."""
    named = os.environ.get(variable)
    path = Path(named) if named else ROOT.parent.joinpath("shared", *default)
    path = path / default[-1] if path.is_dir() else path
    if not path.is_file():
        pytest.skip(f"no {default[-1]}: set {variable}")
    return path


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # the harness leaves its file open
def test_turns_and_sessions_are_found_as_well_as_by_the_floor(tmp_path: Path) -> None:
    """Said through sessions and asked by words alone: not below the floor by the bootstrap, nor below what it was."""
    data_path = place("MEMORANDA_EVAL_DATA", "data", "locomo-dev.json")
    harness_path = place("MEMORANDA_EVAL_HARNESS", "eval", "retrieval_eval.py")
    spec = importlib.util.spec_from_file_location("dialogue", ROOT / "bench" / "dialogue.py")
    assert spec is not None
    assert spec.loader is not None
    dialogue = importlib.util.module_from_spec(spec)
    sys.modules["dialogue"] = dialogue
    spec.loader.exec_module(dialogue)
    data = json.loads(data_path.read_text(encoding="utf-8"))
    harness = dialogue.harness_of(harness_path)
    questions = dialogue.questions_of(data, harness)
    assert len(questions) > 900
    with memoranda.open(tmp_path, settings=KEYWORDS_ONLY) as memory:
        names = dialogue.tell(memory, data)
        rows, _ = dialogue.asked(memory, questions, names)
    base = dialogue.floor(data_path, questions, harness)
    for metric, least in (("R@10", 0.83), ("MRR", 0.648), ("session hit@5", 0.953)):
        _, _, high = dialogue.bootstrap(base, rows, metric)
        assert high > 0, metric
        assert dialogue.mean(rows, metric) >= least, metric
