"""Operations that rule on records: retier, adopt, admit, reject; and tombstones that come from elsewhere."""

from __future__ import annotations

from dataclasses import replace

from memoranda.domain.editing import remove
from memoranda.domain.entry import Change
from memoranda.domain.markdown import Document
from memoranda.domain.operation import Admit, Adopt, Carry, Pin, Reject, Retier
from memoranda.domain.outcome import Outcome, Refused, Saved
from memoranda.domain.policy import trust_of
from memoranda.domain.record import Provenance, Record, Status, Trust
from memoranda.domain.scope import Principal
from memoranda.domain.tombstone import Tombstone
from memoranda.domain.trust import CEILING, RETIER_TO
from memoranda.domain.withheld import HELD_HEADING, REVIEW, hidden_headings, without_headings
from memoranda.services.evidence import resolves
from memoranda.services.judging import Waits, bury, bury_dropped
from memoranda.services.plan import Plan
from memoranda.services.planning import (
    Intent,
    delete_file,
    index_of,
    replaced,
    saved,
    settle,
    still_withheld,
    without_withheld,
)
from memoranda.services.recording import NOT_FOUND
from memoranda.services.stores import Stores

STALE = Refused("stale", "this text no longer waits in its file; it was changed or removed since")
OPERATOR_ONLY = Refused("operator", "only the operator may do this; see `memoranda operator`")


def retier(stores: Stores, plan: Plan, operation: Retier) -> Outcome:
    """Change how far a record is believed: a steward with evidence that resolves, or the operator."""
    author = plan.actor
    record = stores.ledger.record(operation.record_id)
    if record is None or record.scope != plan.batch.scope or record.status is not Status.ACTIVE:
        return NOT_FOUND
    refused = _refused_tier(author, record, operation.trust)
    if refused:
        return refused
    if operation.trust > record.trust and not resolves(stores, record, operation.evidence):
        return Refused("evidence", "raising trust needs evidence that resolves: ids of records or clean sessions")
    raised = replace(
        record, trust=operation.trust,
        provenance=replace(
            record.provenance, evidence=operation.evidence or record.provenance.evidence, verification=str(author)
        ),
    )  # fmt: skip
    return _changed(plan, "record.retiered", record, raised)


def _refused_tier(author: Principal, record: Record, trust: Trust) -> Refused | None:
    if author.kind not in ("steward", "operator"):
        return Refused("trust", "only a steward or the operator may change how far a record is believed")
    if trust not in RETIER_TO:
        return Refused("trust", "this tier is given by a person's own hand alone; the operator may adopt the record")
    if author.kind == "steward" and record.trust > Trust.AGENT_VERIFIED:
        return Refused("trust", "a steward may not change what a person wrote; propose it")
    if record.capped and trust > max(CEILING, record.trust):
        return Refused("ceiling", "this record descends from something untrusted or quarantined; it cannot rise")
    return None


def pin(stores: Stores, plan: Plan, operation: Pin) -> Outcome:
    """Keep a record from background work, or let it go again: a person decides that."""
    if not plan.actor.is_person:
        return Refused("trust", "only a person pins a record")
    record = stores.ledger.record(operation.record_id)
    if record is None or record.scope != plan.batch.scope or record.status is not Status.ACTIVE:
        return NOT_FOUND
    if record.pinned == operation.pinned:
        return Saved((record.id,))
    return _changed(
        plan,
        "record.pinned" if operation.pinned else "record.unpinned",
        record,
        replace(record, pinned=operation.pinned),
    )


def _changed(plan: Plan, kind: str, record: Record, new: Record) -> Outcome:
    plan.changes.append(Change(kind, new, record.status.value))
    working = plan.files.get(record.path)
    index = index_of(working, record.id) if working else None
    if working is not None and index is not None:
        replaced(working, index, new)
    return Saved((new.id,))


def adopt(stores: Stores, plan: Plan, operation: Adopt) -> Outcome:
    """Make a text the operator's own: a new record in the same place, without lineage."""
    if plan.actor.kind != "operator":
        return OPERATOR_ONLY
    record = stores.ledger.record(operation.record_id)
    working = plan.files.get(record.path) if record else None
    index = index_of(working, record.id) if record and working else None
    if record is None or working is None or index is None or record.status is not Status.ACTIVE:
        return NOT_FOUND
    new = replace(
        record, id=stores.ids.new("rec"), trust=trust_of(plan.actor), author=plan.actor,
        provenance=Provenance(tool="adopt"), recorded_at=plan.at, supersedes="", superseded_by="", derived_from=(),
        ever_quarantined=False, capped=False,
    )  # fmt: skip
    gone = replace(record, status=Status.RETIRED, retired_at=plan.at, retired_by=str(plan.actor))
    plan.changes.append(Change("record.retired", gone, record.status.value))
    plan.changes.append(Change("record.adopted", new))
    plan.gone.add(record.id)
    plan.values.setdefault(new.value_key, new.id)
    replaced(working, index, new)
    return Saved((new.id,), (record.id,))


def admit(stores: Stores, plan: Plan, operation: Admit) -> Outcome | Waits:
    """Let a record that is withheld in its file become active, and the headings over it be read."""
    if not plan.actor.is_person:
        return OPERATOR_ONLY
    record = stores.ledger.record(operation.record_id)
    working = plan.files.get(record.path) if record else None
    index = index_of(working, record.id) if record and working else None
    if record is None or working is None or index is None:
        return STALE
    block = working.document.blocks[index]
    headings = _above(working.document, index)
    if record.status is Status.ACTIVE:
        withheld = without_headings(working.withheld, working.document, headings, HELD_HEADING)
        return saved(settle(stores, plan, working, working.document, Intent(withheld=withheld, reads_headings=True)))
    if not record.reason.startswith(REVIEW):
        return STALE
    admitted = replace(record, status=Status.ACTIVE, reason="", heading=block.heading)
    working.withheld = without_withheld(working.withheld, working.document, index)
    working.withheld = without_headings(working.withheld, working.document, headings, HELD_HEADING)
    plan.texts[record.block_hash] = block.text
    plan.values.setdefault(record.value_key, record.id)
    marks = stores.prints.marks(block.text)
    (standing,) = stores.ledger.standing(plan.batch.scope, [record.value_key], [marks])
    plan.lifted.extend(stone.id for stone in (*standing.exact, *standing.near))
    return _changed(plan, "record.admitted", record, admitted)


def _above(document: Document, index: int) -> list[int]:
    """Return the indexes of the headings over a block."""
    trail: list[int] = []
    for number, heading in enumerate(document.headings):
        if heading.start < document.blocks[index].start:
            trail = [at for at in trail if document.headings[at].level < heading.level]
            trail.append(number)
    return trail


def reject(stores: Stores, plan: Plan, operation: Reject) -> Outcome | Waits:
    """Rule against what a quarantined or withheld record offers; its value is rejected for ever."""
    if not plan.actor.is_person:
        return OPERATOR_ONLY
    record = stores.ledger.record(operation.record_id)
    if record is None or record.scope != plan.batch.scope:
        return NOT_FOUND
    if record.status is Status.QUARANTINED:
        closed = replace(
            record, status=Status.TOMBSTONED, retired_at=plan.at, retired_by=str(plan.actor)
        )  # fmt: skip
        plan.changes.append(Change("record.rejected", closed, record.status.value))
        bury(stores, plan, record, stores.ledger.text(record.block_hash) or "")
        return Saved(removed_ids=(record.id,))
    if record.status is Status.WITHHELD and record.reason.startswith(REVIEW):
        return _reject_in_file(stores, plan, record)
    _bury_headings(stores, plan, record)
    return Saved()


def _bury_headings(stores: Stores, plan: Plan, record: Record) -> None:
    """Reject what the withheld headings over a record say; the lines under them stay."""
    working = plan.files.get(record.path)
    index = index_of(working, record.id) if working else None
    if working is None or index is None:
        return
    hidden = hidden_headings(working.document, working.withheld)
    for at in _above(working.document, index):
        text = working.document.headings[at].text
        mark = stores.prints.marks(text)[0]
        if text in hidden and all(stone.value != mark.value for stone in plan.tombstones):
            plan.tombstones.append(
                Tombstone(
                    id=stores.ids.new("tmb"), scope=plan.batch.scope, value=mark.value, near=mark.near, binds="models",
                    author=plan.actor, at=plan.at, record_id=record.id,
                )
            )  # fmt: skip


def _reject_in_file(stores: Stores, plan: Plan, record: Record) -> Outcome | Waits:
    """Take a withheld block out of its file; its text is kept in the ledger alone from now on."""
    working = plan.files[record.path]
    index = index_of(working, record.id)
    if index is None:
        return STALE
    if stores.ledger.text(record.block_hash) is not None:
        return Refused("moved", f"these lines were memory before; give the file {record.path} its old name, or approve")
    document = remove(working.document, [index])
    intent = Intent(withheld=still_withheld(stores, working, document), drops_withheld=True)
    before = set(plan.dropped)
    if document.text.strip("\ufeff \t\r\n"):
        outcome = saved(settle(stores, plan, working, document, intent))
    else:
        outcome = delete_file(stores, plan, record.path, intent)
    if isinstance(outcome, Saved):
        bury_dropped(stores, plan, set(plan.dropped) - before)
        plan.texts[record.block_hash] = plan.dropped[record.id][1]
        plan.changes = [
            Change("record.rejected", replace(change.record, status=Status.TOMBSTONED), change.before)
            if change.record.id == record.id and change.kind == "record.retired"
            else change
            for change in plan.changes
        ]
    return outcome


def carry(stores: Stores, plan: Plan, operation: Carry) -> Outcome:
    """Take in the tombstones of an archive: a "no" holds wherever the memory goes."""
    if not (plan.actor.is_person or plan.actor.kind == "importer"):
        return OPERATOR_ONLY
    standing = {(stone.key_id, stone.value, stone.binds) for stone in stores.ledger.tombstones(plan.batch.scope)}
    for stone in operation.tombstones:
        if (stone.key_id, stone.value, stone.binds) not in standing:
            plan.tombstones.append(
                replace(stone, id=stores.ids.new("tmb"), scope=plan.batch.scope, lifted_at="", lifted_by="")
            )
    return Saved()
