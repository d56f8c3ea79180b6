"""The part of an intent that trust rests on, as JSON and back: tombstones, lifts, proposals, a decision."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from memoranda.adapters.sqlite.operation_rows import operations_in, operations_out
from memoranda.domain.entry import Entry
from memoranda.domain.proposal import Decision, Proposal
from memoranda.domain.scope import Principal, Scope
from memoranda.domain.tombstone import Tombstone


def trust_out(entry: Entry) -> dict[str, object]:
    """Write what a batch will do beside files and records; texts stay whole, an intent is dropped soon."""
    return {
        "tombstones": [_plain(stone) for stone in entry.tombstones],
        "lifted": list(entry.lifted),
        "proposals": [
            {**_plain(item), "operations": operations_out(item.operations, lambda text: text)}
            for item in entry.proposals
        ],
        "decision": _plain(entry.decision) if entry.decision else None,
    }


def _plain(value: Tombstone | Proposal | Decision) -> dict[str, object]:
    found = {field.name: getattr(value, field.name) for field in fields(value) if field.name != "operations"}
    return {name: str(item) if isinstance(item, Scope | Principal) else item for name, item in found.items()}


def trust_in(row: dict[str, Any]) -> dict[str, Any]:
    """Read what `trust_out` wrote, as arguments of an entry; an intent of an earlier version has none of it."""
    decision = row.get("decision")
    return {
        "tombstones": tuple(Tombstone(**_typed(item)) for item in row.get("tombstones", ())),
        "lifted": tuple(row.get("lifted", ())),
        "proposals": tuple(
            Proposal(**{**_typed(item), "operations": operations_in(item["operations"], lambda text: text)})
            for item in row.get("proposals", ())
        ),
        "decision": Decision(**_typed(decision)) if decision else None,
    }


def _typed(row: dict[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in row.items()}
    for name in ("author", "by"):
        if name in made:
            made[name] = Principal.parse(made[name])
    if "scope" in made:
        made["scope"] = Scope.parse(made["scope"])
    return made
