"""The gate: whether an action may be done now, waits for a person, or becomes a safe draft. Every step is an event."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from memoranda.domain.access import require
from memoranda.domain.assertion import MAX_FACT_CHARS, name_of, words_of
from memoranda.domain.gating import (
    CONFLICT,
    LEVELS,
    LOOKUP_FAILED,
    MAX_PENDING,
    TIMEOUT_SECONDS,
    TOO_MANY,
    Gate,
    GateState,
    Judged,
    Level,
    Lookup,
    Verdict,
    gate,
    level_of,
    may_approve,
)
from memoranda.domain.proposal import MAX_RATIONALE_BYTES
from memoranda.domain.scope import Principal, Scope, Viewer
from memoranda.domain.times import seconds_after
from memoranda.errors import BackendError, Denied, IntegrityError, InvalidInput, NotFound, Ruled
from memoranda.services.conflicts import check_health
from memoranda.services.secret_text import secret_refused
from memoranda.services.stores import Stores

MAX_TIMEOUT_SECONDS = 7 * 86_400.0
MAX_LISTED = 512
_UNCHECKED: tuple[Level, ...] = LEVELS[:2]
_PERSONS = ("operator", "application")


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """An action that is to be judged, as the caller gave it.

    `approver` is the person who alone may approve it (`operator` or `application`), "" for any person. `timeout` is
    how many seconds it waits, up to a week.
    """

    action: str
    level: str
    entity: str = ""
    topic: str = ""
    approver: str = ""
    timeout: float = TIMEOUT_SECONDS


def request(stores: Stores, viewer: Viewer, asked: Request) -> Verdict:
    """Judge an action by its level and by the contradictions that are open in the caller's scope.

    A blocked action and one that nobody approves in time are safe drafts: the caller keeps what it would have done and
    does not do it. A look-up that fails blocks; the verdict says whether even that could be noted.

    Raises:
        InvalidInput: a value is missing, too long, of another type or holds a secret.
        Denied: the caller may not write here.
    """
    require(viewer, "agent.memory.write", viewer.own)
    level, entry = _checked(stores, viewer, asked)
    lookup = None if level in _UNCHECKED else _look_up(stores, entry)
    judged = gate(level, entry.entity, entry.topic, lookup)
    if judged.state == "pending":
        judged = _waiting(stores, entry, judged)
    elif judged.audited:
        judged = replace(judged, audited=_noted(stores, entry, judged))
    return Verdict(
        id=entry.id, state=judged.state, reason=judged.reason,
        outcome={"passed": "act", "pending": "wait", "blocked": "safe_draft"}[judged.state],  # type: ignore[arg-type]  # outcomes all
        conflicts=lookup.matching if lookup and judged.reason == CONFLICT else (),
        expires_at=entry.expires_at if judged.state == "pending" else "", audited=judged.audited,
    )  # fmt: skip


def _checked(stores: Stores, viewer: Viewer, asked: Request) -> tuple[Level, Gate]:
    level = level_of(asked.level)
    action = words_of("action", asked.action, MAX_FACT_CHARS)
    if not action:
        raise InvalidInput("action is empty: say what is to be done")
    approver = words_of("approver", asked.approver, MAX_FACT_CHARS)
    if approver and Principal.parse(approver).kind not in _PERSONS:
        raise InvalidInput(f"an approver is a person: {' or '.join(_PERSONS)}")
    if isinstance(asked.timeout, bool) or not isinstance(asked.timeout, int | float):
        raise InvalidInput("timeout is a number of seconds")
    if not 0 < asked.timeout <= MAX_TIMEOUT_SECONDS:
        raise InvalidInput(f"timeout is out of range: over 0 and up to {MAX_TIMEOUT_SECONDS:.0f} seconds")
    now = stores.clock.now()
    entry = Gate(
        id=stores.ids.new("gat"), scope=viewer.own, action=action, level=level,
        entity=name_of("entity", asked.entity, needed=False), topic=name_of("topic", asked.topic, needed=False),
        approver=approver, author=viewer.principal, at=now, expires_at=seconds_after(now, asked.timeout),
    )  # fmt: skip
    refused = secret_refused(stores, f"{entry.action}\n{entry.entity}\n{entry.topic}\n{entry.approver}")
    if refused is not None:
        raise InvalidInput(refused.message)
    return level, entry


def _look_up(stores: Stores, entry: Gate) -> Lookup | None:
    """Return what is open about an action, None where that cannot be found out."""
    try:
        check_health(stores)
        return stores.ledger.open_conflicts(entry.scope, entry.entity, entry.topic)
    except (BackendError, IntegrityError):
        return None


def _waiting(stores: Stores, entry: Gate, judged: Judged) -> Judged:
    expire(stores, entry.scope)
    if stores.ledger.put_gate(entry, limit=MAX_PENDING):
        return judged
    blocked = Judged("blocked", TOO_MANY, audited=True)
    return replace(blocked, audited=_noted(stores, entry, blocked))


def _noted(stores: Stores, entry: Gate, judged: Judged) -> bool:
    """Write the event of an action that does not wait; return whether it was written.

    An action that passes is never let through without its event; one that is blocked stays blocked without one.
    """
    kind = "gate.passed" if judged.state == "passed" else "gate.blocked"
    payload: dict[str, object] = {
        "action": entry.action, "level": entry.level, "entity": entry.entity, "topic": entry.topic,
        "state": judged.state, "why": judged.reason,
    }  # fmt: skip
    if judged.reason == LOOKUP_FAILED:
        with suppress(BackendError, IntegrityError):
            _note(stores, entry, kind, entry.author, payload)
            return True
        return False
    _note(stores, entry, kind, entry.author, payload)
    return True


def _note(stores: Stores, entry: Gate, kind: str, author: Principal, payload: dict[str, object]) -> None:
    stores.ledger.note(
        at=stores.clock.now(), author=author, kind=kind, scope=entry.scope, subject=entry.id, payload=payload
    )


def listed(stores: Stores, viewer: Viewer, *, pending: bool = True, limit: int = 50) -> tuple[Gate, ...]:
    """Return the actions of the viewer's scope that wait, oldest first; without `pending` all, newest first.

    Raises:
        InvalidInput: `limit` is not 1 to 512.
    """
    require(viewer, "agent.memory.read", viewer.own)
    return _listed(stores, viewer.own, pending=pending, limit=limit)


def get(stores: Stores, viewer: Viewer, gate_id: str) -> Gate:
    """Return one action of the viewer's scope as it is now. Raises NotFound, alike for another scope's and no id."""
    require(viewer, "agent.memory.read", viewer.own)
    expire(stores, viewer.own)
    return _known(stores, [viewer.own], gate_id)


def _known(stores: Stores, scopes: Sequence[Scope] | None, gate_id: str) -> Gate:
    item = stores.ledger.gate_entry(gate_id)
    if item is None or (scopes is not None and item.scope not in scopes):
        raise NotFound("nothing with this id waits; `memoranda conflicts gates` shows what does")
    return item


def listed_everywhere(stores: Stores, *, pending: bool = True, limit: int = 50) -> tuple[Gate, ...]:
    """Return the actions that wait in any scope, for the operator. Raises as `listed`."""
    return _listed(stores, None, pending=pending, limit=limit)


def _listed(stores: Stores, scope: Scope | None, *, pending: bool, limit: int) -> tuple[Gate, ...]:
    if not 1 <= limit <= MAX_LISTED:
        raise InvalidInput(f"limit {limit} is out of range: use 1 to {MAX_LISTED}")
    expire(stores, scope)
    return tuple(stores.ledger.gates(scope, pending=pending, limit=limit))


def expire(stores: Stores, scope: Scope | None) -> int:
    """Make a safe draft of every action whose time is over; return how many."""
    now = stores.clock.now()
    over = [item for item in stores.ledger.gates(scope, pending=True, limit=-1) if item.expires_at <= now]
    return sum(_expired(stores, item, now) for item in over)


def _expired(stores: Stores, item: Gate, now: str) -> bool:
    draft = replace(item, state="safe_draft", decided_at=now)
    return stores.ledger.rule_gate(draft, at=now, by=item.author)


def approve(
    stores: Stores, by: Principal, scopes: Sequence[Scope] | None, gate_id: str, *, rationale: str = ""
) -> Gate:
    """Let an action be done.

    Raises:
        NotFound: nothing with this id is known in these scopes (None: in any).
        Denied: `by` is no person, or another than the one that was named; it is an event too.
        Ruled: it waits no more (`decided`, `safe_draft`), or a contradiction stands against it by now
            (`memory_conflict`, `memory_conflict_context_missing`, `memory_conflict_lookup_failed`); then it waits on.
    """
    item = _found(stores, by, scopes, gate_id)
    judged = gate(level_of(item.level), item.entity, item.topic, _look_up(stores, item))
    if judged.reason:
        raise Ruled(judged.reason, f"it waits on ({judged.reason}): settle the contradiction first")
    return _ruled(stores, item, "approved", by, rationale)


def deny(stores: Stores, by: Principal, scopes: Sequence[Scope] | None, gate_id: str, *, rationale: str = "") -> Gate:
    """Rule that an action is not done. Raises as `approve`, but for contradictions."""
    return _ruled(stores, _found(stores, by, scopes, gate_id), "denied", by, rationale)


def _found(stores: Stores, by: Principal, scopes: Sequence[Scope] | None, gate_id: str) -> Gate:
    """Return an action that waits and that this person may rule on."""
    item = _known(stores, scopes, gate_id)
    if not may_approve(item, by):
        _note(stores, item, "gate.refused", by, {"state": item.state})
        raise Denied("another person was named to rule on this" if by.is_person else "only a person rules on this")
    now = stores.clock.now()
    if item.state == "pending" and item.expires_at <= now:
        _expired(stores, item, now)
        raise Ruled("safe_draft", "its time is over: it is a safe draft now; ask again")
    return item


def _ruled(stores: Stores, item: Gate, state: GateState, by: Principal, rationale: str) -> Gate:
    """Store a ruling; the same one again changes nothing."""
    rationale = words_of("rationale", rationale, MAX_RATIONALE_BYTES)
    refused = secret_refused(stores, rationale)
    if refused is not None:
        raise InvalidInput(refused.message)
    now = stores.clock.now()
    done = replace(item, state=state, decided_at=now, decided_by=str(by), rationale=rationale)
    if item.state == "pending" and stores.ledger.rule_gate(done, at=now, by=by):
        return done
    current = stores.ledger.gate_entry(item.id)
    if current is not None and current.state == state:
        return current
    rule = "safe_draft" if current is not None and current.state == "safe_draft" else "decided"
    raise Ruled(rule, "it waits no more")
