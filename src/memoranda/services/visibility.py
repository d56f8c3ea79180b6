"""What a viewer is shown of texts and events: nothing that a person rejected, nothing that waits."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

from memoranda.domain.access import is_bound_by_rejection, may, visible
from memoranda.domain.markdown import parse
from memoranda.domain.record import Record
from memoranda.domain.report import Event
from memoranda.domain.scope import Scope, Viewer
from memoranda.domain.withheld import MASK
from memoranda.services.stores import Stores
from memoranda.services.working_file import readable_text


def rejected(stores: Stores, scope: Scope, names: Sequence[str]) -> AbstractSet[str]:
    """Return those of these texts, by content hash, whose value a person has rejected, in any wording."""
    if not names or not stores.ledger.has_tombstones(scope):
        return frozenset()
    return {name for name in dict.fromkeys(names) if _is_rejected(stores, scope, readable_text(stores, name) or "")}


def hides(stores: Stores, scope: Scope, text: str) -> bool:
    """Whether a text, such as a turn of the log, says what a person has rejected: no model sees it again."""
    return stores.ledger.has_tombstones(scope) and _is_rejected(stores, scope, text)


def _is_rejected(stores: Stores, scope: Scope, text: str) -> bool:
    prints = stores.prints
    (standing,) = stores.ledger.standing(scope, [""], [prints.marks(text)], [prints.statement_marks(text)])
    return any(stone.binds == "models" for stone in (*standing.exact, *standing.near))


def may_see(stores: Stores, viewer: Viewer, record: Record) -> bool:
    """Whether a viewer may see a record and its text."""
    if not visible(viewer, record):
        return False
    is_past = bool(record.retired_at)
    return not (
        is_past and is_bound_by_rejection(viewer.principal) and rejected(stores, record.scope, [record.block_hash])
    )


def masked_text(stores: Stores, viewer: Viewer, scope: Scope, text: str) -> str:
    """Return a kept content as a viewer may see it: for a model, rejected blocks are blanked out."""
    if not is_bound_by_rejection(viewer.principal) or not stores.ledger.has_tombstones(scope):
        return text
    parts: list[str] = []
    position = 0
    for block in parse(text).blocks:
        if _is_rejected(stores, scope, block.text):
            parts.extend((text[position : block.start], MASK))
            position = block.end
    return "".join([*parts, text[position:]])


def shown_events(stores: Stores, viewer: Viewer, events: Sequence[Event]) -> tuple[Event, ...]:
    """Return events without the payload of what the viewer may not see: titles and headings stand in it."""
    return tuple(event if _is_open(stores, viewer, event) else replace(event, payload="") for event in events)


def _is_open(stores: Stores, viewer: Viewer, event: Event) -> bool:
    if event.kind.startswith("record."):
        record = stores.ledger.record(event.subject)
        return record is not None and may_see(stores, viewer, record)
    if event.kind.startswith("proposal."):  # what is offered has a title and a description
        return may(viewer, "memory.quarantine.review", viewer.own)
    return event.kind.startswith(("batch.", "checkpoints.")) or viewer.principal.is_person
