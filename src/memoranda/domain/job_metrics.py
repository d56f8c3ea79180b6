"""How well a language model does the jobs, against cases of which the right answers are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from memoranda.domain.job_cases import KINDS, ContradictionCase, ExtractCase, ForgetCase, JobCase, Kind, holds
from memoranda.errors import InvalidInput

TOTAL: Literal["total"] = "total"

_COLUMNS = (
    "kind", "cases", "right", "precision", "recall", "F1", "false memories", "failures", "tokens", "cost (USD)",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class JobResult:
    """What a model made of one case: `notes` of a conversation, a `label` of two statements, or ids `chosen`.

    `failed` tells that there is no answer that can be used; what else it says is not read then, save what it took:
    `tokens` of question and answer, `cost` in US dollars, 0 where it is not known.
    """

    case: str
    notes: tuple[str, ...] = ()
    label: str = ""
    chosen: tuple[str, ...] = ()
    failed: bool = False
    tokens: int = 0
    cost: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class JobScore:
    """The score of all cases of a kind, or of all.

    Counts are summed over the cases before anything is divided (micro-average). `given` is what the model answered
    and `good` what is right of it; `wanted` is what was to be answered and `found` what is answered of it:

    - a conversation: notes written; notes that hold all words of a group and none of `never`; groups; groups of which
      a good note holds all words;
    - two statements: 1 where a label was answered; 1 where it is the right one; 1; the same as good;
    - a request to forget: ids chosen; those that are meant; ids that are meant; the same as good.

    `right` are cases without any fault: not failed, all that was wanted is found, and all that is given is good.
    `false_memories` are the notes that are not good. A case that failed gives nothing, and misses all it wanted.
    """

    kind: Kind | Literal["total"]
    cases: int = 0
    right: int = 0
    given: int = 0
    good: int = 0
    wanted: int = 0
    found: int = 0
    false_memories: int = 0
    failures: int = 0
    tokens: int = 0
    cost: float = 0.0

    @property
    def precision(self) -> float:
        """Return good / given, 0 to 1; 1 where nothing was given, for nothing of it is wrong."""
        return self.good / self.given if self.given else 1.0

    @property
    def recall(self) -> float:
        """Return found / wanted, 0 to 1; 1 where nothing was wanted, for nothing is missed."""
        return self.found / self.wanted if self.wanted else 1.0

    @property
    def f1(self) -> float:
        """Return 2 · precision · recall / (precision + recall), the harmonic mean, 0 to 1; 0 where both are 0."""
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0


def scored(cases: Sequence[JobCase], results: Sequence[JobResult]) -> tuple[JobScore, ...]:
    """Return a score of each kind that there are cases of, in the order of `KINDS`, and of all, `TOTAL`, last.

    Raises:
        InvalidInput: a case has no result or several, or a result is of no case.
    """
    by_case = {result.case: result for result in results}
    if len(by_case) < len(results) or by_case.keys() != {case.id for case in cases}:
        raise InvalidInput("give one result for each case, and no other")
    rows = [_score(case, by_case[case.id]) for case in cases]
    kinds = [kind for kind in KINDS if any(row.kind == kind for row in rows)]
    return (*(_sum(kind, [row for row in rows if row.kind == kind]) for kind in kinds), _sum(TOTAL, rows))


def is_good(case: ExtractCase, note: str) -> bool:
    """Tell whether a note holds a fact that is to be kept, and nothing that no note may hold."""
    return any(_has(note, group) for group in case.keep) and not any(holds(note, word) for word in case.never)


def table(scores: Sequence[JobScore]) -> list[str]:
    """Return the lines of a Markdown table, a row for each score; shares with three places, costs with four."""
    lines = [f"| {' | '.join(_COLUMNS)} |", f"|---|{'---:|' * (len(_COLUMNS) - 1)}"]
    for score in scores:
        cells = (
            score.kind, f"{score.cases:,}", f"{score.right:,}", f"{score.precision:.3f}", f"{score.recall:.3f}",
            f"{score.f1:.3f}", f"{score.false_memories:,}", f"{score.failures:,}", f"{score.tokens:,}",
            f"{score.cost:.4f}",
        )  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _score(case: JobCase, result: JobResult) -> JobScore:
    """Return the score of one case."""
    counts = _counts(case, JobResult(case=case.id) if result.failed else result)
    is_right = not result.failed and counts["found"] == counts["wanted"] and counts["good"] == counts["given"]
    return JobScore(
        kind=case.kind, cases=1, right=int(is_right), failures=int(result.failed), tokens=result.tokens,
        cost=result.cost, false_memories=counts["given"] - counts["good"] if isinstance(case, ExtractCase) else 0,
        **counts,
    )  # fmt: skip


def _counts(case: JobCase, result: JobResult) -> Mapping[str, int]:
    if isinstance(case, ExtractCase):
        good = [note for note in result.notes if is_good(case, note)]
        found = sum(any(_has(note, group) for note in good) for group in case.keep)
        return {"given": len(result.notes), "good": len(good), "wanted": len(case.keep), "found": found}
    if isinstance(case, ContradictionCase):
        hit = int(result.label == case.label)
        return {"given": int(bool(result.label)), "good": hit, "wanted": 1, "found": hit}
    return _ids_counted(case, result)


def _ids_counted(case: ForgetCase, result: JobResult) -> Mapping[str, int]:
    chosen, meant = set(result.chosen), set(case.chosen)
    hits = len(chosen & meant)
    return {"given": len(chosen), "good": hits, "wanted": len(meant), "found": hits}


def _has(note: str, group: Sequence[str]) -> bool:
    return all(holds(note, word) for word in group)


def _sum(kind: Kind | Literal["total"], rows: Sequence[JobScore]) -> JobScore:
    return JobScore(
        kind=kind,
        cases=sum(row.cases for row in rows),
        right=sum(row.right for row in rows),
        given=sum(row.given for row in rows),
        good=sum(row.good for row in rows),
        wanted=sum(row.wanted for row in rows),
        found=sum(row.found for row in rows),
        false_memories=sum(row.false_memories for row in rows),
        failures=sum(row.failures for row in rows),
        tokens=sum(row.tokens for row in rows),
        cost=sum(row.cost for row in rows),
    )
