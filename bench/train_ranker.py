"""Learns what a turn's words, meaning and nearest words should count for, from conversations with known answers.

    python bench/train_ranker.py LOCOMO.json --harness retrieval_eval.py [--depth 60]

A listwise linear model (softmax over the turns that a search returns, the answers sharing the mass) over what
`search --explain` shows of each turn: words, meaning, nearest words, what comes after a question, and the other addends
as they are. Each conversation is ranked by weights learned on the others; the weights of all, scaled so that the three
arms sum to one, are what `domain/ranking.py` and `domain/spoken.py` were rounded from.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import memoranda
from dialogue import harness_of, mean, questions_of, score, tell
from memoranda.domain.query import Hit
from memoranda.domain.ranking import CLOSEST_SHARE
from memoranda.domain.spoken import ANSWER_WEIGHT

FEATURES = ("words", "meaning", "nearest words", "comes after a question", "the rest")
STEPS, RATE, SHRINKAGE = 400, 0.05, 1.0
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Asked:
    """A question's turns as rows of features, with their ids, and the ids that answer it."""

    agent: str
    rows: Floats
    turns: tuple[str, ...]
    gold: frozenset[str]

    @property
    def target(self) -> Floats:
        """The share of each turn among the answers."""
        found = np.array([turn in self.gold for turn in self.turns], float)
        return found / max(found.sum(), 1.0)


def features(hits: Sequence[Hit], weight: float) -> Floats:
    """Return what each hit's addends were before they were weighted."""
    arms = ((1 - CLOSEST_SHARE) * (1 - weight), (1 - CLOSEST_SHARE) * weight, CLOSEST_SHARE, ANSWER_WEIGHT)
    rows = []
    for hit in hits:
        named = dict(hit.addends)
        known = [named.get(name, 0.0) / share for name, share in zip(FEATURES, arms, strict=False)]
        rows.append([*known, sum(value for name, value in hit.addends if name not in FEATURES)])
    return np.array(rows, float).reshape(-1, len(FEATURES))


def learned(asked: Sequence[Asked]) -> Floats:
    """Return the weights by gradient descent with Adam's steps."""
    useful = [item for item in asked if item.target.any()]
    spread = np.concatenate([item.rows for item in useful]).std(axis=0) + 1e-9
    weights = first = second = np.zeros(len(FEATURES))
    for step in range(1, STEPS + 1):
        slope = SHRINKAGE * weights / len(useful)
        for item in useful:
            scores = item.rows / spread @ weights
            mass = np.exp(scores - scores.max())
            slope = slope + (item.rows / spread).T @ (mass / mass.sum() - item.target) / len(useful)
        first, second = 0.9 * first + 0.1 * slope, 0.999 * second + 0.001 * slope**2
        pace = np.sqrt(second / (1 - 0.999**step)) + 1e-8
        weights = weights - RATE * first / (1 - 0.9**step) / pace
    return weights / spread


def ranked(item: Asked, weights: Floats) -> dict[str, float]:
    """Return the scores of a question whose turns are ordered by these weights."""
    order = np.argsort(-(item.rows @ weights), kind="stable")
    return score([item.turns[at] for at in order], [], item.gold)


def shown(name: str, rows: Sequence[dict[str, float]]) -> None:
    """Print a line of the table."""
    print(f"| {name} | {mean(rows, 'R@10'):.4f} | {mean(rows, 'MRR'):.4f} |")


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--harness", type=Path, required=True)
    parser.add_argument("--depth", type=int, default=60, help="turns of each question")
    options = parser.parse_args()
    data = json.loads(options.data.read_text(encoding="utf-8"))
    asked: list[Asked] = []
    with tempfile.TemporaryDirectory() as folder, memoranda.open(folder) as memory:
        names = tell(memory, data)
        memory.embed()
        for question in questions_of(data, harness_of(options.harness)):
            result = memory.agent(question.agent).search(question.text, limit=options.depth, min_score=0)
            turns = tuple(names[f"{hit.turn.session}/{hit.turn.position}"] for hit in result.hits if hit.turn)
            asked.append(Asked(question.agent, features(result.hits, 0.4), turns, question.gold))
    print("| weights | R@10 | MRR |\n|---|---|---|")
    shipped = np.array([(1 - CLOSEST_SHARE) * 0.6, (1 - CLOSEST_SHARE) * 0.4, CLOSEST_SHARE, ANSWER_WEIGHT, 1.0])
    shown("as shipped", [ranked(item, shipped) for item in asked])
    agents = sorted({item.agent for item in asked})
    apart = {agent: learned([item for item in asked if item.agent != agent]) for agent in agents}
    shown("learned on the other conversations", [ranked(item, apart[item.agent]) for item in asked])
    weights = learned(asked)
    shown("learned on all", [ranked(item, weights) for item in asked])
    print(", ".join(f"{name} {value:.2f}" for name, value in zip(FEATURES, weights / weights[:3].sum(), strict=True)))


if __name__ == "__main__":
    main()
