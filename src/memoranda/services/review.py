"""Where a person rules on what waits: list, show, approve, reject. A decision names what was read."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import fields, replace
from functools import partial

from memoranda.domain import editing
from memoranda.domain.markdown import Block, parse
from memoranda.domain.operation import (
    Admit,
    Append,
    Batch,
    Bound,
    Create,
    Cut,
    DeleteFile,
    EditBlock,
    Operation,
    Origin,
    RecordOperation,
    Reject,
    Remove,
    ReplaceFile,
    Restore,
    Supersede,
)
from memoranda.domain.outcome import BatchOutcome, Conflicted, Refused, Saved
from memoranda.domain.proposal import MAX_RATIONALE_BYTES, Decision, Proposal, Verdict
from memoranda.domain.record import Details, Provenance, Record, Status
from memoranda.domain.report import Waiting
from memoranda.domain.scope import Principal, Scope
from memoranda.domain.withheld import MASK
from memoranda.errors import InvalidInput, NotFound, Ruled
from memoranda.services import gateway
from memoranda.services.secret_text import redacted
from memoranda.services.stores import Stores
from memoranda.services.working_file import decode

MAX_LISTED = 200


def listed(
    stores: Stores, scopes: Sequence[Scope] | None, *, pending: bool = True, limit: int = 50
) -> tuple[Proposal, ...]:
    """Return what waits in these scopes (None: in all), oldest first; without `pending` what was decided too.

    Raises:
        InvalidInput: `limit` is not 1 to 200.
    """
    if not 1 <= limit <= MAX_LISTED:
        raise InvalidInput(f"limit {limit} is out of range: use 1 to {MAX_LISTED}")
    asked = limit
    while True:  # those that have lapsed must not hide the ones behind them
        found = stores.ledger.proposals(scopes, pending=pending, limit=asked)
        now = [item for item in map(partial(_as_of_now, stores), found) if not pending or item.state == "pending"]
        if len(now) >= limit or len(found) < asked:
            return tuple(now[:limit])
        asked *= 4


def find(stores: Stores, scopes: Sequence[Scope] | None, proposal_id: str) -> Proposal:
    """Return one proposal; raises NotFound, alike for an unknown id and one of a scope that may not be read."""
    found = stores.ledger.proposal(proposal_id)
    if found is None or (scopes is not None and found.scope not in scopes):
        raise NotFound("nothing with this id waits; `memoranda review list` shows what does")
    return _as_of_now(stores, found)


def _as_of_now(stores: Stores, proposal: Proposal) -> Proposal:
    """Return a proposal in its present state: one has lapsed when its time is over, or its text has left the file."""
    state = proposal.state_at(stores.clock.now())
    if state == "pending" and proposal.kind == "external" and not _still(stores, proposal.record_ids):
        state = "expired"
    return replace(proposal, state=state)


def shown(stores: Stores, scopes: Sequence[Scope] | None, proposal_id: str) -> Waiting:
    """Return a proposal with what it offers and what it would do, for a person's eyes."""
    proposal = find(stores, scopes, proposal_id)
    records = [record for record in map(stores.ledger.record, proposal.record_ids) if record is not None]
    texts = tuple(_text(stores, record) for record in records)
    lines = tuple(_line(stores, proposal.scope, item) for item in proposal.operations)
    return Waiting(proposal, tuple(records), texts, lines)


def _text(stores: Stores, record: Record) -> str:
    if record.status is not Status.WITHHELD:
        return stores.ledger.text(record.block_hash) or ""
    block = _block(stores, record)
    return block.text if block else ""


def _block(stores: Stores, record: Record) -> Block | None:
    """Return a record's block as it stands in its file."""
    found = stores.documents.read(record.scope, record.path)
    text = decode(found[0], record.path) if found else ""
    for block in stores.parsed.parse(record.scope, record.path, text).blocks:
        if stores.prints.content(block.text) == record.block_hash:
            return block
    return None


def _line(stores: Stores, scope: Scope, operation: Operation) -> str:
    """Say in one line, and as a diff where there is one, what an operation would do."""
    match operation:
        case ReplaceFile() | DeleteFile() | Restore() | Cut():
            return _about_file(stores, scope, operation)
        case Append() | Create():
            return _about_text(operation)
        case EditBlock():
            return _about_block(operation)
        case Supersede() | Remove():
            return _about_record(stores, operation)
        case Admit():
            return _about_place(stores, operation)
        case _:
            about = getattr(operation, "record_id", "") or getattr(operation, "path", "")
            return f"{_VERBS.get(type(operation).__name__, 'change')} {about}".rstrip()


def _about_place(stores: Stores, operation: Admit) -> str:
    """Say what a reader would see beside a withheld text, or over a text that counts."""
    record = stores.ledger.record(operation.record_id)
    found = _block(stores, record) if record else None
    if record is None or found is None:
        return f"let {operation.record_id} count; it is no longer in its file"
    trail = " \u203a ".join(found.heading)
    over = f", under the headings: {trail}" if trail else ""
    if record.status is Status.WITHHELD:
        return f"let {record.id} count, as it stands in {record.path}{over}"
    return f"let the headings over {record.id} in {record.path} be read{over}"


def _about_block(operation: EditBlock) -> str:
    """Say what a core block would lose and gain."""
    match operation.action:
        case "append":
            return f"add to the core block {operation.label}:\n{_marked(operation.text, '+')}"
        case "replace":
            gone, come = _marked(operation.old, "-"), _marked(operation.text, "+")
            return f"change in the core block {operation.label}:\n{gone}\n{come}"
        case _:
            return f"write the core block {operation.label} anew:\n{_marked(operation.text, '+')}"


def _said(details: Details) -> str:
    """Everything that is said of a text beside it, a line each."""
    plain = Details()
    lines = (
        f"{item.name}: {_words(getattr(details, item.name))}"
        for item in fields(details)
        if getattr(details, item.name) != getattr(plain, item.name)
    )
    return "".join(f"\n  {line}" for line in lines)


def _words(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _about_file(stores: Stores, scope: Scope, operation: ReplaceFile | DeleteFile | Restore | Cut) -> str:
    """Say which lines of a whole file go and come, as a diff with all of them."""
    found = stores.documents.read(scope, operation.path)
    old = redacted(stores, decode(found[0], operation.path)) if found else ""
    match operation:
        case ReplaceFile():
            verb, new = "replace", operation.text
        case Cut():
            cut = editing.cut(parse(old), operation.text, every=operation.all_matches, visible=old)
            verb, new = "remove from", cut.document.text
        case Restore():
            verb, new = "bring back an earlier content of", stores.ledger.text(operation.content) or ""
        case _:
            verb, new = "remove the whole file", ""
    return "\n".join([f"{verb} {operation.path}:", *_changes(old, new)])


def _changes(old: str, new: str) -> list[str]:
    return [line for line in difflib.ndiff(old.splitlines(), new.splitlines()) if not line.startswith("?")]


def _about_text(operation: Append | Create) -> str:
    match operation:
        case Append():
            return f"add to {operation.path}:\n{_marked(operation.text, '+')}"
        case Create():
            title = f" under the heading {operation.details.title!r}" if operation.details.title else ""
            return f"add to {operation.path}{title}:\n{_marked(operation.body, '+')}{_said(operation.details)}"


_VERBS = {"Retier": "change the trust of"}


def _about_record(stores: Stores, operation: Supersede | Remove) -> str:
    record = stores.ledger.record(operation.record_id)
    old = (stores.ledger.text(record.block_hash) or "") if record else ""
    where = f"{operation.record_id} in {record.path}" if record else operation.record_id
    if isinstance(operation, Remove):
        return f"remove {where}:\n{_marked(old, '-')}"
    return "\n".join([f"change {where}:", *_changes(old, operation.body)]) + _said(operation.details)


def _marked(text: str, mark: str) -> str:
    return "\n".join(f"{mark} {line}" for line in text.splitlines())


def decide(
    stores: Stores,
    operator: Principal,
    scopes: Sequence[Scope] | None,
    proposal_id: str,
    verdict: Verdict,
    *,
    content_hash: str,
    rationale: str = "",
    only: Sequence[str] = (),
) -> BatchOutcome:
    """Rule on a proposal. Deciding the same twice is one decision.

    `content_hash` is that of the proposal that was read. `only` approves those of its operations that are about these
    records.

    Raises:
        NotFound: unknown, or of a scope that may not be read.
        InvalidInput: the rationale is longer than 400 bytes.
        Ruled: the ruling cannot be made; `rule` says why (`content_mismatch`, `decided`, `expired`, `stale`,
            `stale_update`, `successor_conflict`, `secret_detected`, …).
    """
    if len(rationale.encode()) > MAX_RATIONALE_BYTES:
        raise InvalidInput(f"the rationale is longer than {MAX_RATIONALE_BYTES} bytes")
    scope = find(stores, scopes, proposal_id).scope
    with stores.locks.hold(scope):
        proposal = find(stores, scopes, proposal_id)
        gateway.observe(stores, scope, _paths(stores, proposal))
        if proposal.state == verdict:
            return BatchOutcome(proposal.id, (Saved(proposal.successors),))
        if proposal.state != "pending":
            after = f"; see {', '.join(proposal.successors)}" if proposal.successors else ""
            raise Ruled(
                "expired" if proposal.state == "expired" else "decided", f"it is {proposal.state} already{after}"
            )
        if content_hash != proposal.content_hash:
            raise Ruled("content_mismatch", "this is not what waits now; show it again and decide on that")
        decision = Decision(
            proposal_id=proposal.id, verdict=verdict, by=operator, content_hash=content_hash, rationale=rationale
        )
        batch = (
            _approval(stores, operator, proposal, only)
            if verdict == "approved"
            else _rejection(stores, operator, proposal)
        )
        return _ruled(gateway.commit(stores, replace(batch, decision=decision)), proposal)


def withdraw(stores: Stores, person: Principal, proposal: Proposal) -> BatchOutcome:
    """Take back a proposal that waits: it lapses unharmed, and nothing that it offers is rejected."""
    decision = Decision(proposal_id=proposal.id, verdict="expired", by=person, content_hash=proposal.content_hash)
    return gateway.commit(
        stores, Batch(person, proposal.scope, (), "review", Provenance(tool="dream undo"), decision=decision)
    )


def _paths(stores: Stores, proposal: Proposal) -> list[str]:
    """The files that the proposal's records stand in: a person may have edited them since."""
    records = [stores.ledger.record(ident) for ident in proposal.record_ids]
    found = {record.path for record in records if record and record.status in (Status.WITHHELD, Status.ACTIVE)}
    return sorted(found | {item.path for item in proposal.operations if isinstance(item, Bound)})


def _still(stores: Stores, record_ids: Sequence[str]) -> list[Record]:
    """Return those records that still wait."""
    records = [stores.ledger.record(ident) for ident in record_ids]
    return [record for record in records if record and _waits(record)]


def _waits(record: Record) -> bool:
    """Whether a record is not to be read yet, or the heading over it."""
    is_held = record.status in (Status.QUARANTINED, Status.WITHHELD)
    return is_held or (record.status is Status.ACTIVE and MASK in record.heading)


def _approval(stores: Stores, operator: Principal, proposal: Proposal, only: Sequence[str]) -> Batch:
    still = _still(stores, proposal.record_ids)
    waiting = [record for record in still if record.status is Status.QUARANTINED]
    provenance = waiting[0].provenance if waiting else Provenance(session_id=proposal.session_id)
    origin = Origin(
        author=proposal.author,
        provenance=provenance,
        by_value={record.value_key: record.id for record in waiting},
        quarantined=proposal.tainted or (proposal.kind == "quarantine" and bool(waiting)),
    )
    here = {record.id for record in still}
    operations = tuple(item for item in proposal.operations if not isinstance(item, Admit) or item.record_id in here)
    if not operations:
        raise Ruled("stale", "what waited is no longer in its file; it was changed or removed since")
    if only:
        operations = tuple(item for item in operations if isinstance(item, RecordOperation) and item.record_id in only)
        if len(operations) != len(set(only)):
            raise InvalidInput("some of these records are not among what the proposal is about")
    return Batch(operator, proposal.scope, operations, "review", Provenance(tool="review"), origin=origin)


def _rejection(stores: Stores, operator: Principal, proposal: Proposal) -> Batch:
    operations = tuple(Reject(record.id) for record in _still(stores, proposal.record_ids))
    return Batch(operator, proposal.scope, operations, "review", Provenance(tool="review"))


_RULES = {"secret": "secret_detected", "not_found": "stale", "stale": "stale"}


def _ruled(outcome: BatchOutcome, proposal: Proposal) -> BatchOutcome:
    """Say why a ruling could not be carried out; the proposal waits on then."""
    for item in outcome.items:
        if isinstance(item, Refused):
            is_update = any(isinstance(operation, Supersede) for operation in proposal.operations)
            rule = _RULES.get(item.rule, item.rule)
            raise Ruled("stale_update" if rule == "stale" and is_update else rule, item.message)
        if isinstance(item, Conflicted):
            raise Ruled("successor_conflict", item.message)
    return outcome
