"""Tests of search quality on public question sets, where their folder is at hand.

Set MEMORANDA_EVAL_DATA to a folder that holds `xquad-en`, `xquad-zh`, `jsquad-ja` and `qmd-eval`.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType

import pytest

from memoranda.adapters.registry import open_embedder

ROOT = Path(__file__).resolve().parents[2]


def data(name: str) -> Path:
    """Return the folder of a set, or skip the test with the reason."""
    for folder in (os.environ.get("MEMORANDA_EVAL_DATA"), ROOT.parent / "shared" / "data"):
        if folder and (Path(folder) / name).is_dir():
            return Path(folder) / name
    pytest.skip(f"no {name}: set MEMORANDA_EVAL_DATA to the folder that holds it")


@pytest.fixture(scope="module")
def quality() -> ModuleType:
    """Return the benchmark as a module."""
    spec = importlib.util.spec_from_file_location("quality", ROOT / "bench" / "quality.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["quality"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "recall", "held_back"), [("xquad-en", 0.99, 12), ("xquad-zh", 0.97, 20), ("jsquad-ja", 0.97, 10)]
)
def test_words_alone_find_paragraphs(
    quality: ModuleType, tmp_path: Path, name: str, recall: float, held_back: int
) -> None:
    """Keyword search finds the paragraph among ten, and the relevance bar holds hardly any answer back."""
    (collection,) = quality.load(data(name))
    index = quality.build(collection, tmp_path, None, None)
    rows = quality.measure(collection, index, None, "keyword")
    assert len(rows) > 1_000
    assert quality.mean(rows, "R@10") >= recall
    assert quality.held_back(collection, index, None, "keyword", without_bar=rows) <= held_back
    index.close()


@pytest.mark.long
def test_the_default_is_not_below_its_keyword_arm(quality: ModuleType, tmp_path: Path) -> None:
    """On English paragraphs the default is, with 97.5 % confidence, not below keyword search alone."""
    (collection,) = quality.load(data("xquad-en"))
    embedder = open_embedder("minilm")
    index = quality.build(collection, tmp_path, embedder, None)
    words = quality.measure(collection, index, embedder, "keyword")
    both = quality.measure(collection, index, embedder, "hybrid")
    for metric in quality.METRICS:
        gain, low, _ = quality.bootstrap(words, both, metric)
        assert gain > 0, metric
        assert low >= 0, metric
    index.close()


@pytest.mark.slow
def test_vague_questions_find_their_file(quality: ModuleType, tmp_path: Path) -> None:
    """On questions with few words of their file the default beats keyword search alone, bar included."""
    hard, example = quality.load(data("qmd-eval"))
    embedder = open_embedder("minilm")
    index = quality.build(hard, tmp_path, embedder, None)
    words = quality.measure(hard, index, embedder, "keyword", min_score=0.15)
    both = quality.measure(hard, index, embedder, "hybrid", min_score=0.15)
    for metric, least in (("Hit@1", 0.88), ("Hit@3", 0.96)):
        assert quality.mean(both, metric) > quality.mean(words, metric), metric
        assert quality.mean(both, metric) >= least, metric
    rows = quality.measure(example, index, embedder, "hybrid", min_score=0.15)
    assert quality.mean(rows, "Hit@1") == 1.0
    index.close()
