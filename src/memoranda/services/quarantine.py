"""Step 6 of the gateway: turns an operation that may not take effect yet into a proposal that waits for a person."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from memoranda.domain.entry import Change
from memoranda.domain.operation import ABSENT, Admit, Bound, EditBlock, Operation
from memoranda.domain.outcome import Outcome, Quarantined, Refused, Saved
from memoranda.domain.policy import trust_of
from memoranda.domain.proposal import EXPIRES_AFTER_DAYS, Proposal, ProposalKind
from memoranda.domain.record import Record, Status
from memoranda.domain.scope import Principal
from memoranda.domain.times import days_after
from memoranda.domain.withheld import MASK
from memoranda.services.judging import Waits, judged
from memoranda.services.plan import Plan
from memoranda.services.stores import Stores


@dataclass(frozen=True, slots=True)
class Held:
    """Why an operation waits: `reason` for people, `kind` of proposal, and whether the author's session is tainted."""

    reason: str
    kind: ProposalKind = "quarantine"
    tainted: bool = False


def set_aside(
    stores: Stores, plan: Plan, operations: Sequence[Operation], created: Sequence[Record], held: Held
) -> Outcome:
    """Note in the plan that operations wait, with the records that hold what it offers; return its outcome.

    `created` are the records that they would have made, their texts in `plan.texts` already. What waits with the same
    content already is not noted twice.
    """
    batch = plan.batch
    operations = [_bound(plan, operation) for operation in operations]
    content = _content_hash(stores, plan, operations, held.kind)
    standing = stores.ledger.proposal_with(batch.scope, content, at=plan.at)
    standing = standing or next((item for item in plan.proposals if item.content_hash == content), None)
    if standing is not None:
        return Quarantined(standing.record_ids, standing.reason, standing.id)
    records = [_quarantined(record, plan, held) for record in created]
    plan.changes.extend(Change("record.quarantined", record) for record in records)
    proposal = Proposal(
        id=stores.ids.new("prp"),
        scope=batch.scope,
        kind=held.kind,
        reason=held.reason,
        author=batch.author,
        session_id=batch.provenance.session_id,
        tainted=held.tainted,
        at=plan.at,
        expires_at=days_after(plan.at, EXPIRES_AFTER_DAYS[held.kind]) if held.kind in EXPIRES_AFTER_DAYS else "",
        operations=tuple(operations),
        record_ids=tuple(record.id for record in records),
        content_hash=content,
    )
    plan.proposals.append(proposal)
    return Quarantined(proposal.record_ids, held.reason, proposal.id)


def _bound(plan: Plan, operation: Operation) -> Operation:
    """Bind what takes something away to the file as it is now: what comes into it later was not up for decision."""
    if not isinstance(operation, Bound) or operation.expected:
        return operation
    if isinstance(operation, EditBlock) and operation.action == "append":
        return operation
    state = plan.files[operation.path].state
    return replace(operation, expected=state.content_hash if state else ABSENT)


def trial_of(
    stores: Stores,
    plan: Plan,
    operation: Operation,
    apply: Callable[[Stores, Plan, Operation], Outcome | Waits],
    held: Held,
    *,
    author: Principal | None = None,
) -> Outcome:
    """Find out what an operation would do and let it wait; a refusal is returned as it is.

    `author` tries it as somebody who may do it, where only the batch's author may not; what the batch's author may not
    say is refused all the same.
    """
    trial = plan.copy_for(replace(plan.batch, author=author or plan.batch.author))
    outcome = apply(stores, trial, operation)
    if not isinstance(outcome, Saved):
        return outcome if not isinstance(outcome, Waits) else Quarantined((), outcome.reason)
    created = created_by(trial.changes)
    texts = {record.block_hash: trial.texts[record.block_hash] for record in created}
    verdict = judged(stores, plan.copy_for(plan.batch), list(texts.values())) if author else None
    if isinstance(verdict, Refused):
        return verdict
    plan.texts.update(texts)
    return set_aside(stores, plan, (operation,), created, held)


def _content_hash(stores: Stores, plan: Plan, operations: Sequence[Operation], kind: str) -> str:
    """Name what a reviewer reads: whose it is, where it would go, what it would do."""
    batch = plan.batch
    return stores.prints.content("\x1f".join((str(batch.scope), str(batch.author), kind, repr(tuple(operations)))))


def _quarantined(record: Record, plan: Plan, held: Held) -> Record:
    """What was withheld for where it came from never rises again; a mere change or an offer to a team may."""
    suspect = held.tainted or held.kind == "quarantine"
    return replace(
        record, status=Status.QUARANTINED, reason=held.reason, author=plan.batch.author,
        trust=trust_of(plan.batch.author), ever_quarantined=record.ever_quarantined or suspect,
        capped=record.capped or suspect, superseded_by="",
    )  # fmt: skip


def created_by(changes: Sequence[Change]) -> list[Record]:
    """Return the new records among changes."""
    return [change.record for change in changes if change.kind == "record.created"]


def waiting_in_file(stores: Stores, plan: Plan, outcome: Outcome | Waits) -> None:
    """Note what sync found in a file and no person has read: one proposal for lines, one for headings."""
    if not isinstance(outcome, Saved):
        return
    made = {change.record.id: change.record for change in plan.changes if change.kind == "record.withheld"}
    records = [made[ident] for ident in outcome.withheld_ids if made[ident].reason.startswith("review:")]
    if records:
        _external(stores, plan, records, records[0].reason.removeprefix("review:"))
    under = [change.record for change in plan.changes if _is_newly_masked(stores, change)]
    if under:
        _external(stores, plan, under, "heading")


def _is_newly_masked(stores: Stores, change: Change) -> bool:
    """Whether a record that counts has lost a heading from its trail that nobody has read."""
    record = change.record
    if record.status is not Status.ACTIVE or MASK not in record.heading:
        return False
    old = stores.ledger.record(record.id)
    return old is None or MASK not in old.heading


def _external(stores: Stores, plan: Plan, records: Sequence[Record], reason: str) -> None:
    batch = plan.batch
    plan.proposals.append(
        Proposal(
            id=stores.ids.new("prp"),
            scope=batch.scope,
            kind="external",
            reason=reason,
            author=batch.author,
            session_id="",
            tainted=batch.door == "tainted",
            at=plan.at,
            operations=tuple(Admit(record.id) for record in records),
            record_ids=tuple(record.id for record in records),
            content_hash=stores.prints.content(
                "\x1f".join((str(batch.scope), reason, *(f"{record.id} {record.block_hash}" for record in records)))
            ),
        )
    )


def released(plan: Plan, stores: Stores) -> None:
    """Close the quarantined records of a proposal that this batch carries out, each with its successor."""
    origin = plan.batch.origin
    for record_id in origin.by_value.values() if origin else ():
        record = stores.ledger.record(record_id)
        if record is None or record.status is not Status.QUARANTINED:
            continue
        successor = next((item.id for item in created_by(plan.changes) if record_id in item.derived_from), "")
        closed = replace(
            record, status=Status.SUPERSEDED, superseded_by=successor, retired_at=plan.at, retired_by=str(plan.actor)
        )  # fmt: skip
        plan.changes.append(Change("record.released", closed, record.status.value))
