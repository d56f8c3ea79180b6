"""The gate's whole table: every level, with and without a contradiction, a name, and a look-up that works."""

from __future__ import annotations

from itertools import product

import pytest

from memoranda.domain.gating import (
    CONFLICT,
    CONTEXT_MISSING,
    LEVELS,
    LOOKUP_FAILED,
    Gate,
    Judged,
    Level,
    Lookup,
    gate,
    level_of,
    may_approve,
)
from memoranda.domain.scope import APPLICATION, Principal, agent_scope
from memoranda.errors import InvalidInput

NONE, ELSEWHERE, HERE = Lookup(any_open=False), Lookup(any_open=True), Lookup(any_open=True, matching=("ast_1",))
LOOKUPS = {"none": NONE, "elsewhere": ELSEWHERE, "here": HERE, "failed": None}
NAMES = (("ann", "diet"), ("", "diet"), ("ann", ""), ("", ""))


def expected(level: Level, entity: str, topic: str, found: str) -> Judged:
    """What the specification says, row by row."""
    if level in ("R0", "R1"):
        return Judged("passed")
    if found == "failed":
        return Judged("blocked", LOOKUP_FAILED, audited=True)
    if found != "none" and "" in (entity, topic):
        return Judged("blocked", CONTEXT_MISSING, audited=True)
    if found == "here":
        return Judged("blocked", CONFLICT, audited=True)
    return Judged({"R2": "passed", "R3": "pending"}[level], audited=True)  # type: ignore[arg-type]  # states all


@pytest.mark.parametrize(("level", "names", "found"), list(product(LEVELS, NAMES, LOOKUPS)))
def test_the_whole_table(level: Level, names: tuple[str, str], found: str) -> None:
    """R0 and R1 always pass; R2 and R3 are blocked by each reason, and only by it."""
    assert gate(level, *names, LOOKUPS[found]) == expected(level, *names, found)


def test_the_stable_reasons() -> None:
    """The reasons are the words that callers match on."""
    assert (CONFLICT, CONTEXT_MISSING, LOOKUP_FAILED) == (
        "memory_conflict", "memory_conflict_context_missing", "memory_conflict_lookup_failed",
    )  # fmt: skip


def test_levels_are_four() -> None:
    """A level is known in any case; anything else is refused."""
    assert [level_of(f" {level.lower()} ") for level in LEVELS] == list(LEVELS)
    for wrong in ("R4", "", "3"):
        with pytest.raises(InvalidInput, match="R0, R1, R2, R3"):
            level_of(wrong)


@pytest.mark.parametrize(
    ("named", "by", "may"),
    [
        ("", APPLICATION, True),
        ("", Principal("operator"), True),
        ("operator", Principal("operator"), True),
        ("operator", APPLICATION, False),
        ("application", Principal("operator"), False),
        ("", Principal("agent", "main"), False),
        ("agent:main", Principal("agent", "main"), False),
        ("", Principal("steward", "run"), False),
        ("", Principal("external"), False),
    ],
)
def test_who_may_approve(named: str, by: Principal, *, may: bool) -> None:
    """A person may, and where one was named that one alone; no model and no job ever."""
    item = Gate(
        id="gat_1", scope=agent_scope("main"), action="cook", level="R3", entity="", topic="", approver=named,
        author=Principal("agent", "main"), at="x", expires_at="y",
    )  # fmt: skip
    assert may_approve(item, by) is may
