"""Operations on single records: create one with its details, put another in its place, remove it."""

from __future__ import annotations

from memoranda.domain import editing, rewriting
from memoranda.domain.markdown import Document, parse
from memoranda.domain.operation import Create, Remove, Supersede
from memoranda.domain.outcome import Duplicate, Outcome, Quarantined, Refused, Saved
from memoranda.domain.record import Record, Status
from memoranda.domain.recording import body_allowed, cleaned, details_allowed, rendered
from memoranda.services.judging import Waits, bury_dropped, sift, standings
from memoranda.services.plan import Plan
from memoranda.services.planning import (
    Intent,
    delete_file,
    index_of,
    saved,
    self_contained,
    settle,
    still_withheld,
)
from memoranda.services.stores import Stores
from memoranda.services.working_file import WorkingFile

NOT_FOUND = Refused("not_found", "record not found; search again for its id")
STALE = Refused("stale", "the record was changed since it was read; read it again")


def create(stores: Stores, plan: Plan, operation: Create) -> Outcome | Waits:
    """Write a record with its details at the end of a file."""
    content = parse(operation.body.strip("\r\n"))
    refused = details_allowed(operation.details) or body_allowed(operation.body) or self_contained(content)
    if refused:
        return refused
    known = sift(stores, plan, content)
    if isinstance(known, Refused):
        return known
    if len(known.left_out) == len(content.blocks) and not known.asking:
        plan.corroborated.extend(known.existing if not plan.unjudged else ())
        return Quarantined(known.waiting, "waiting") if known.waiting else Duplicate(known.existing)
    if known.asking:
        return Waits(known.reason)
    text = rendered(content.text, operation.details.title)
    working = plan.files[operation.path]
    extended = editing.append(working.document, text)
    if extended is None:
        return Refused("open_block", f"{operation.path} ends inside an open block; close it, or save to another file")
    group = stores.ids.new("grp") if len(content.blocks) > 1 else ""
    intent = Intent(withheld=working.withheld, details=cleaned(operation.details), group=group)
    return saved(settle(stores, plan, working, extended, intent), quarantined=known.waiting)


def _stands(stores: Stores, plan: Plan, record_id: str, expected: str) -> tuple[Record, WorkingFile, int] | Refused:
    """Find an active record in its file; unknown, foreign and inactive ids look alike."""
    record = stores.ledger.record(record_id)
    if record is None or record.scope != plan.batch.scope or record.path not in plan.files:
        return NOT_FOUND
    working = plan.files[record.path]
    index = index_of(working, record_id)
    if index is None:
        return NOT_FOUND
    known = working.known[index]
    if known is None or (known.status is not Status.ACTIVE and plan.batch.reason not in ("erase", "review")):
        return NOT_FOUND
    if expected and known.block_hash != expected:
        return STALE
    return known, working, index


def supersede(stores: Stores, plan: Plan, operation: Supersede) -> Outcome | Waits:
    """Put a new text in a record's place."""
    found = _stands(stores, plan, operation.record_id, operation.expected)
    body = operation.body.strip("\r\n")
    refused = details_allowed(operation.details) or body_allowed(body) or self_contained(parse(body))
    if isinstance(found, Refused) or refused:
        return found if isinstance(found, Refused) else refused or NOT_FOUND
    record, working, index = found
    details = cleaned(operation.details)
    (standing,) = standings(stores, plan, [body])
    if standing.active and standing.active != record.id and standing.active not in plan.gone:
        return Duplicate((standing.active,))
    document = rewriting.substitute(working.document, index, body)
    if document is None:
        return Refused("open_block", "this text cannot stand in the record's place: it would take in what is around it")
    added = len(document.blocks) - len(working.document.blocks)
    title = details.title
    if title and title != record.title and record.title:
        document = rewriting.retitle(document, index, record.title, title) or document
    intent = Intent(
        withheld=still_withheld(stores, working, document), successors={index: index}, details=details,
        group=record.group or (stores.ids.new("grp") if added else ""), own_headings=_headings_of(record),
    )  # fmt: skip
    return saved(settle(stores, plan, working, document, intent))


def remove(stores: Stores, plan: Plan, operation: Remove) -> Outcome | Waits:
    """Remove one record and reject its value; the heading that was written for it goes too."""
    found = _stands(stores, plan, operation.record_id, operation.expected)
    if isinstance(found, Refused):
        return found
    record, working, index = found
    document = rewriting.drop(working.document, [index], _headings_of(record))
    intent = Intent(
        withheld=still_withheld(stores, working, document), own_headings=_headings_of(record),
        drops_withheld=plan.batch.reason == "erase",
    )  # fmt: skip
    before = set(plan.dropped)
    outcome = _without_block(stores, plan, working, document, intent)
    if isinstance(outcome, Saved) and not operation.keep_value:
        bury_dropped(stores, plan, set(plan.dropped) - before)
    return outcome


def _without_block(
    stores: Stores, plan: Plan, working: WorkingFile, document: Document, intent: Intent
) -> Outcome | Waits:
    if not document.text.strip("\ufeff \t\r\n"):
        return delete_file(stores, plan, working.path, intent)
    return saved(settle(stores, plan, working, document, intent))


def _headings_of(record: Record) -> frozenset[str]:
    """The heading that the product wrote for a record: its title, where it stands right above it."""
    return frozenset({record.title}) if record.title and record.heading[-1:] == (record.title,) else frozenset()
