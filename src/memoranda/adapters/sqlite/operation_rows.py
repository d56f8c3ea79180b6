"""Turns the operations of a proposal into JSON and back; their texts are objects, named by content hash."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

from memoranda.adapters.sqlite.json_form import canonical
from memoranda.domain import operation as ops
from memoranda.domain.record import Details, Epistemic, Kind, Trust
from memoranda.errors import IntegrityError

_KINDS: dict[str, type[Any]] = {
    "append": ops.Append, "replace_file": ops.ReplaceFile, "cut": ops.Cut, "delete_file": ops.DeleteFile,
    "restore": ops.Restore, "create": ops.Create, "supersede": ops.Supersede, "remove": ops.Remove,
    "retier": ops.Retier, "adopt": ops.Adopt, "admit": ops.Admit, "pin": ops.Pin, "edit_block": ops.EditBlock,
}  # fmt: skip
_NAMES = {kind: name for name, kind in _KINDS.items()}
_TEXTS = ("text", "body", "old")


def texts_of(operation: ops.Operation) -> list[str]:
    """Return the texts that an operation offers or names."""
    return [getattr(operation, field.name) for field in fields(operation) if field.name in _TEXTS]


def operations_out(operations: tuple[ops.Operation, ...], name_of: Callable[[str], str]) -> str:
    """Write operations as JSON; `name_of` gives the object name of a text."""
    return canonical([_out(operation, name_of) for operation in operations])


def _out(operation: ops.Operation, name_of: Callable[[str], str]) -> dict[str, object]:
    row: dict[str, object] = {"op": _NAMES[type(operation)]}
    for field in fields(operation):
        value = getattr(operation, field.name)
        if field.name in _TEXTS:
            value = name_of(value)
        elif isinstance(value, Details):
            value = _details_out(value)
        elif field.name == "described":
            value = [[index, _details_out(details)] for index, details in value]
        row[field.name] = value
    return row


def _details_out(details: Details) -> dict[str, object]:
    return {
        field.name: value
        for field in fields(details)
        if (value := getattr(details, field.name)) not in ("", (), None, Epistemic.OBSERVED)
    }


def operations_in(text: str, text_of: Callable[[str], str | None]) -> tuple[ops.Operation, ...]:
    """Read operations; a text that is gone (erased) is "".

    Raises:
        IntegrityError: the JSON is not what `operations_out` writes.
    """
    try:
        return tuple(_in(row, text_of) for row in json.loads(text))
    except (KeyError, ValueError, TypeError) as error:
        raise IntegrityError("a proposal in the ledger is damaged; run `memoranda verify`") from error


def _in(row: dict[str, Any], text_of: Callable[[str], str | None]) -> ops.Operation:
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in row.items() if name != "op"
    }
    for name in _TEXTS:
        if name in values:
            values[name] = text_of(values[name]) or ""
    if "details" in values:
        values["details"] = _details_in(values["details"])
    if "described" in values:
        values["described"] = tuple((index, _details_in(details)) for index, details in values["described"])
    if "trust" in values:
        values["trust"] = Trust(values["trust"])
    made: ops.Operation = _KINDS[row["op"]](**values)
    return made


def _details_in(row: dict[str, Any]) -> Details:
    said: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in row.items()}
    details = Details(**said)
    kind = Kind(details.kind) if details.kind else None
    return replace(details, kind=kind, epistemic=Epistemic(details.epistemic))
