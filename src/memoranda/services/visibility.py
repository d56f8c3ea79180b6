"""What a viewer is shown of texts and events: nothing that a person rejected, nothing that waits."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any

from memoranda.domain.access import is_bound_by_rejection, may, visible
from memoranda.domain.markdown import front_matter_end, parse
from memoranda.domain.record import Record, Status
from memoranda.domain.report import Event
from memoranda.domain.scope import Scope, Viewer
from memoranda.domain.withheld import MASK, REVIEW
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
    """Return a kept content as a viewer may see it: for a model, rejected blocks and front matter are blanked out.

    Front matter is for programs; it is no record, so that nobody knows who wrote it.
    """
    if not is_bound_by_rejection(viewer.principal):
        return text
    parts: list[str] = []
    position = front_matter_end(text)
    if position:
        parts.append(f"{MASK}\n")
    has_tombstones = stores.ledger.has_tombstones(scope)
    for block in parse(text).blocks:
        if has_tombstones and _is_rejected(stores, scope, block.text):
            parts.extend((text[position : block.start], MASK))
            position = block.end
    return "".join([*parts, text[position:]])


def hides_name(stores: Stores, viewer: Viewer, scope: Scope, path: str) -> bool:
    """Whether a file's name is kept from a model: no person has read it, and nothing in the file counts."""
    if not is_bound_by_rejection(viewer.principal):
        return False
    records = stores.ledger.records_in(scope, path)
    if any(record.status is Status.ACTIVE for record in records):
        return False
    return any(record.status is Status.WITHHELD and record.reason.startswith(REVIEW) for record in records)


def shown_events(stores: Stores, viewer: Viewer, events: Sequence[Event]) -> tuple[Event, ...]:
    """Return events without the payload of what the viewer may not see: titles and headings stand in it."""
    return tuple(event if _is_open(stores, viewer, event) else replace(event, payload="") for event in events)


def _is_open(stores: Stores, viewer: Viewer, event: Event) -> bool:
    if event.kind.startswith("record."):
        record = stores.ledger.record(event.subject)
        return record is not None and may_see(stores, viewer, record)
    if event.kind.startswith("proposal."):  # what is offered has a title and a description
        return may(viewer, "memory.quarantine.review", viewer.own)
    if event.kind.startswith("batch."):  # names of files
        paths = _paths(json.loads(event.payload or "{}"))
        return not any(hides_name(stores, viewer, viewer.own, path) for path in paths)
    return event.kind.startswith("checkpoints.") or viewer.principal.is_person


def _paths(payload: Mapping[str, Any]) -> list[str]:
    files = [str(file[0]) for file in payload.get("files") or ()]
    return [*map(str, payload.get("paths") or ()), *files]
