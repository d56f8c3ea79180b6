"""The gate before an action: what may pass at once, what waits for a person, and what a contradiction holds back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from memoranda.domain.given import check_str
from memoranda.domain.scope import Principal, Scope
from memoranda.errors import InvalidInput

Level = Literal["R0", "R1", "R2", "R3"]
LEVELS: tuple[Level, ...] = ("R0", "R1", "R2", "R3")
"""R0 and R1 pass; R2 passes and is noted; R3 waits for a person."""

VerdictState = Literal["passed", "blocked", "pending"]
GateState = Literal["pending", "approved", "denied", "safe_draft"]

CONFLICT = "memory_conflict"
CONTEXT_MISSING = "memory_conflict_context_missing"
LOOKUP_FAILED = "memory_conflict_lookup_failed"

MAX_PENDING = 512
"""Actions of a scope that wait at a time; the next one is blocked."""

TOO_MANY = "too_many_pending"

TIMEOUT_SECONDS = 3_600.0
"""How long an action waits for a person unless something else is asked."""


@dataclass(frozen=True, slots=True)
class Lookup:
    """What the ledger says of an action: whether any contradiction is open, and the ids of those that it is about."""

    any_open: bool
    matching: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Judged:
    """What the gate's rule says: the state, why it is blocked ("" where it is not), and whether it is noted."""

    state: VerdictState
    reason: str = ""
    audited: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The answer to a request.

    `outcome` is what the caller does now: `act`, `wait` for the entry `id`, or keep a `safe_draft` and not act.
    `conflicts` are the contradictions that block it. `audited` says whether an event has noted it.
    """

    id: str
    state: VerdictState
    reason: str = ""
    outcome: Literal["act", "wait", "safe_draft"]
    conflicts: tuple[str, ...] = ()
    expires_at: str = ""
    audited: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """An action of level R3 that waits, or what became of it.

    `approver` is the person who has to approve it, "" for any. One that nobody rules on by `expires_at` is a
    `safe_draft`: it was not done, and what it would have been is kept here.
    """

    id: str
    scope: Scope
    action: str
    level: str
    entity: str
    topic: str
    approver: str
    author: Principal
    at: str
    expires_at: str
    state: GateState = "pending"
    decided_at: str = ""
    decided_by: str = ""
    rationale: str = ""


def level_of(value: str) -> Level:
    """Return a level in its own spelling. Raises InvalidInput where there is none of this name."""
    check_str(level=value)
    for level in LEVELS:
        if value.strip().upper() == level:
            return level
    raise InvalidInput(f"there is no such level: use one of {', '.join(LEVELS)}")


def gate(level: Level, entity: str, topic: str, lookup: Lookup | None) -> Judged:
    """Judge an action; a `lookup` of None is one that failed."""
    if level in ("R0", "R1"):
        return Judged("passed")
    if lookup is None:
        return Judged("blocked", LOOKUP_FAILED, audited=True)
    if lookup.any_open and not (entity and topic):
        return Judged("blocked", CONTEXT_MISSING, audited=True)
    if lookup.matching:
        return Judged("blocked", CONFLICT, audited=True)
    return Judged("passed" if level == "R2" else "pending", audited=True)


def may_approve(gated: Gate, approver: Principal) -> bool:
    """Whether someone may rule on an action: a person, and where one was named that one."""
    return approver.is_person and gated.approver in ("", str(approver))
