"""Metrics of rankings, against values reckoned by hand and by the plainest code."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoranda.domain.retrieval_metrics import DEPTH, METRICS, mean, percentile, scores
from memoranda.interfaces.quality import interval


def test_a_ranking_reckoned_by_hand() -> None:
    """Answers at ranks 2, 4 and 12 of four."""
    found = [f"x{number}" for number in range(1, 15)]
    gold = frozenset({"x2", "x4", "x12", "elsewhere"})
    ideal = 1 + 1 / math.log2(3) + 1 / 2 + 1 / math.log2(5)
    expected = {
        "R@5": 0.5, "R@10": 0.5, "Hit@1": 0.0, "Hit@3": 1.0, "MRR": 0.5,
        "nDCG@10": (1 / math.log2(3) + 1 / math.log2(5)) / ideal,
    }  # fmt: skip
    assert scores(found, gold) == pytest.approx(expected)


def test_the_best_and_the_worst() -> None:
    """All answers first are 1 in everything, none found is 0, and what stands too deep is not found."""
    assert set(scores(["a", "b"], frozenset({"a", "b"})).values()) == {1.0}
    assert set(scores(["c"], frozenset({"a"})).values()) == {0.0}
    deep = [f"x{number}" for number in range(DEPTH)]
    assert scores([*deep, "a"], frozenset({"a"}))["MRR"] == 0.0


@given(st.permutations([f"x{number}" for number in range(12)]), st.sets(st.integers(0, 11), min_size=1))
def test_more_is_never_less(order: list[str], answers: set[int]) -> None:
    """Metrics are 0 to 1, recall grows with k, and a ranking with an answer moved to the front is no worse."""
    gold = frozenset(f"x{number}" for number in answers)
    got = scores(order, gold)
    assert tuple(got) == METRICS
    assert all(0.0 <= value <= 1.0 for value in got.values())
    assert got["R@5"] <= got["R@10"]
    first = next(item for item in order if item in gold)
    moved = scores([first, *(item for item in order if item != first)], gold)
    assert all(moved[metric] >= got[metric] - 1e-9 for metric in METRICS)


def test_an_interval_holds_the_mean_and_is_the_same_again() -> None:
    """The bootstrap is drawn from a seed; values that do not differ leave no doubt."""
    values = [0.0, 1.0, 1.0, 0.5] * 20
    low, high = interval(values)
    assert low < sum(values) / len(values) < high
    assert interval(values) == (low, high)
    assert interval([0.5] * 7) == (0.5, 0.5)
    assert interval([]) == (0.0, 0.0)


def test_means_and_percentiles() -> None:
    """Of nothing both are 0."""
    assert mean([{"MRR": 0.5}, {"MRR": 1.0}], "MRR") == 0.75
    assert mean([], "MRR") == 0.0
    assert [percentile([3.0, 1.0, 2.0, 4.0], share) for share in (0.5, 0.95, 0.0)] == [2.0, 4.0, 1.0]
    assert percentile([], 0.5) == 0.0
