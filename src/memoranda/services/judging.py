"""Steps 4 and 5 of the gateway: what is already known of a text, and whether this author may write it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from memoranda.domain.markdown import Document
from memoranda.domain.outcome import Refused
from memoranda.domain.record import Record
from memoranda.domain.scope import Principal, Scope
from memoranda.domain.tombstone import Standing, Tombstone, binds_for, is_bound, lifts
from memoranda.services.plan import Plan
from memoranda.services.stores import Stores

REJECTED = Refused(
    "tombstone",
    "a person has rejected this before, so it is not saved again; if it is true after all, a person can write it",
)


@dataclass(frozen=True, slots=True)
class Waits:
    """The operation has to wait for a person; `reason` says why."""

    reason: str


def standings(stores: Stores, plan: Plan, texts: Sequence[str]) -> Sequence[Standing]:
    """Return what the ledger says of each text in the batch's scope."""
    if not texts:
        return ()
    scope = plan.batch.scope
    if plan.tombstones_bind is None:
        plan.tombstones_bind = stores.ledger.has_tombstones(scope)
    bind, keys = plan.tombstones_bind, [stores.prints.value_key(text) for text in texts]
    marks = [stores.prints.marks(text) if bind else () for text in texts]
    is_model = not plan.actor.is_person
    statements = [stores.prints.statement_marks(text) if bind and is_model else () for text in texts]
    found = stores.ledger.standing(scope, keys, marks, statements, at=plan.at)
    own = Scope("agent", plan.actor.id) if plan.actor.kind == "agent" else scope
    if own == scope or not stores.ledger.has_tombstones(own):
        return found
    return [_both(one, other) for one, other in zip(found, _elsewhere(stores, own, texts, plan.at), strict=True)]


def _elsewhere(stores: Stores, own: Scope, texts: Sequence[str], at: str) -> Sequence[Standing]:
    """What a person rejected in an agent's own memory binds it in a shared one, too."""
    prints = stores.prints
    marks = [prints.marks(text) for text in texts]
    return stores.ledger.standing(own, [""] * len(texts), marks, list(map(prints.statement_marks, texts)), at=at)


def _both(here: Standing, own: Standing) -> Standing:
    return replace(here, exact=(*here.exact, *own.exact), near=(*here.near, *own.near))


def judged(stores: Stores, plan: Plan, texts: Sequence[str]) -> Refused | Waits | None:
    """Decide whether the author may write these texts; what a person's hand lifts is noted in the plan.

    A value that a person rejected is refused; one that says the same in other words waits for a person, and so does
    one that a person took out of a file, or that waits already.
    """
    author = plan.actor
    if author.kind == "external" and plan.batch.door in ("session", "tainted"):
        return None
    waits: Waits | None = None
    if (author.is_person or author.kind == "external") and not _may_lift(stores, plan):
        return None
    for standing in standings(stores, plan, texts):
        found = (*standing.exact, *standing.near)
        plan.lifted.extend(stone.id for stone in found if lifts(author, stone))
        if author.is_person or author.kind == "external":
            continue
        verdict = _verdict(author, standing)
        if isinstance(verdict, Refused):
            return verdict
        waits = waits or verdict or (Waits("waiting") if standing.quarantined else None)
    return None if plan.unjudged else waits


def _verdict(author: Principal, standing: Standing) -> Refused | Waits | None:
    """Whether a model or an importer may write a text of which this is known."""
    if any(_binds(author, stone) for stone in standing.exact):
        return REJECTED
    if any(_binds(author, stone) for stone in standing.near):
        return Waits("near")
    if standing.removed_by is not None and _is_persons(standing.removed_by):
        return Waits("removed")
    return None


def _may_lift(stores: Stores, plan: Plan) -> bool:
    """Whether there is anything to lift: the first sync of a large folder asks once and not for every block."""
    if plan.tombstones_bind is None:
        plan.tombstones_bind = stores.ledger.has_tombstones(plan.batch.scope)
    return plan.tombstones_bind


def _binds(author: Principal, stone: Tombstone) -> bool:
    return is_bound(author, stone) and not lifts(author, stone)


def _is_persons(principal: Principal) -> bool:
    return principal.is_person or principal.kind == "external"


def rejected_since(stores: Stores, plan: Plan, text: str) -> bool:
    """Whether a text that turned up in a file while a session was open is one that no model may bring back.

    It was rejected, taken out by a person, or waits for one.
    """
    (standing,) = standings(stores, plan, [text])
    if standing.quarantined:
        return True
    if any(stone.binds == "models" for stone in (*standing.exact, *standing.near)):
        return True
    return standing.removed_by is not None and _is_persons(standing.removed_by)


@dataclass(frozen=True, slots=True)
class Sifted:
    """What of an offered text is known.

    Ids of active records that say it and of records that wait with it; indexes of the blocks that are left out, and of
    those the ones that a person has to look at.
    """

    existing: tuple[str, ...]
    waiting: tuple[str, ...]
    left_out: tuple[int, ...]
    asking: tuple[int, ...]
    reason: str


def sift(stores: Stores, plan: Plan, content: Document) -> Sifted | Refused:
    """Step 5: find the blocks whose value is there already, waits already, or may not be written without asking."""
    existing: list[str] = []
    waiting: list[str] = []
    left_out: list[int] = []
    asking: list[int] = []
    seen: set[str] = set()
    author, reason = plan.actor, ""
    texts = [block.text for block in content.blocks]
    for index, (text, standing) in enumerate(zip(texts, standings(stores, plan, texts), strict=True)):
        key = stores.prints.value_key(text)
        active = plan.values.get(key) or (standing.active if standing.active not in plan.gone else "")
        if active:
            existing.append(active)
            left_out.append(index)
        elif key in seen:
            left_out.append(index)
        elif not author.is_person:
            verdict = _verdict(author, standing)
            if isinstance(verdict, Refused):
                return verdict
            if standing.quarantined:
                waiting.append(standing.quarantined)
                left_out.append(index)
            elif verdict and not plan.unjudged:
                asking.append(index)
                left_out.append(index)
                reason = reason or verdict.reason
        seen.add(key)
    unique = tuple(dict.fromkeys(existing)), tuple(dict.fromkeys(waiting))
    return Sifted(*unique, tuple(left_out), tuple(asking), reason)


def bury_dropped(stores: Stores, plan: Plan, ids: Iterable[str]) -> None:
    """Reject the values of records that an operation removed, each unless it stands elsewhere."""
    for record_id in sorted(ids):
        bury(stores, plan, *plan.dropped[record_id])


def bury(stores: Stores, plan: Plan, record: Record, text: str) -> None:
    """Make a tombstone for a record's value, unless it stands elsewhere in the scope or is written by this batch."""
    binds = binds_for(plan.actor)
    if binds is None or not record.value_key or record.value_key in plan.values:
        return
    active = set(stores.ledger.active_with_value(plan.batch.scope, record.value_key)) - plan.gone
    if active:
        return
    mark = stores.prints.marks(text)[0]
    if any(stone.value == mark.value and stone.binds == binds for stone in plan.tombstones):
        return
    plan.tombstones.append(
        Tombstone(
            id=stores.ids.new("tmb"), scope=plan.batch.scope, value=mark.value, near=mark.near, binds=binds,
            author=plan.actor, at=plan.at, record_id=record.id,
        )
    )  # fmt: skip
