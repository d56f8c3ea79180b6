"""How well a ranking answers questions with known answers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

METRICS = ("R@5", "R@10", "Hit@1", "Hit@3", "MRR", "nDCG@10")
DEPTH = 20
"""Ranks that are looked at; an answer below does not count."""

SESSIONS = "session hit@5"
Scores = Mapping[str, float]


def scores(found: Sequence[str], gold: frozenset[str]) -> dict[str, float]:
    """Return the metrics of one ranking, each 0 to 1; `found` are ids best first, each once, `gold` those that answer.

    Recall is the share of the answers among the first k, MRR one divided by the rank of the first answer, nDCG with
    binary gains (Järvelin and Kekäläinen 2002).
    """
    ranks = [rank for rank, ident in enumerate(found[:DEPTH], 1) if ident in gold]
    ideal = sum(1 / math.log2(rank + 1) for rank in range(1, min(len(gold), 10) + 1))
    gained = sum(1 / math.log2(rank + 1) for rank in ranks if rank <= 10)  # noqa: PLR2004 - the ten of its name
    return {
        "R@5": sum(rank <= 5 for rank in ranks) / len(gold),  # noqa: PLR2004 - the same
        "R@10": sum(rank <= 10 for rank in ranks) / len(gold),  # noqa: PLR2004 - the same
        "Hit@1": float(any(rank == 1 for rank in ranks)),
        "Hit@3": float(any(rank <= 3 for rank in ranks)),  # noqa: PLR2004 - the same
        "MRR": 1 / ranks[0] if ranks else 0.0,
        "nDCG@10": gained / ideal,
    }


def mean(rows: Sequence[Scores], metric: str) -> float:
    """Return the mean of a metric, 0 of no rows."""
    return sum(row[metric] for row in rows) / max(len(rows), 1)


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value that this share of the values stays within, 0 of none."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, math.ceil(share * len(ordered)) - 1))] if ordered else 0.0
