"""A run of a job: what it is, what may be spent on it, and what is noted of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

JobKind = Literal["extract", "forget", "rerank", "dream", "steward", "usage", "hygiene", "contradictions", "eval"]
RunState = Literal["running", "done", "skipped", "failed", "interrupted"]

CHARACTERS_PER_TOKEN = 3
"""For an estimate that is rather too high: a budget is kept before a question, not after it."""


def estimated_tokens(text: str, max_tokens: int) -> int:
    """Return the tokens that a question may use at most, its answer included."""
    return len(text.encode("utf-8", "replace")) // CHARACTERS_PER_TOKEN + max_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One thing that a run did or left: `what` it was, `outcome` of it, the ids it is about, and why."""

    what: str
    outcome: str
    ids: tuple[str, ...] = ()
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReport:
    """What is known of a run. `code` says why it was skipped or failed; costs are US dollars, as far as known."""

    id: str
    kind: str
    scope: str
    state: RunState
    code: str = ""
    message: str = ""
    started_at: str = ""
    ended_at: str = ""
    session: str = ""
    model: str = ""
    questions: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    steps: tuple[Step, ...] = field(default=())

    def count(self, outcome: str) -> int:
        """Return how many steps had an outcome."""
        return sum(step.outcome == outcome for step in self.steps)
