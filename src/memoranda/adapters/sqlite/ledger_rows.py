"""Turns records and intents into rows and JSON, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, get_args

from memoranda.adapters.sqlite.intent_rows import trust_in, trust_out
from memoranda.adapters.sqlite.json_form import canonical
from memoranda.domain.checkpoint import CheckpointReason
from memoranda.domain.entry import Change, Entry, FileEdit, FileState
from memoranda.domain.record import Epistemic, Kind, Provenance, Record, Status, Trust
from memoranda.domain.scope import Principal, PrincipalKind, Scope
from memoranda.errors import IntegrityError, InvalidInput

COLUMNS = (
    "id", "scope", "path", "block_hash", "occurrence", "value_key", "near_key", "heading", "grp", "kind", "title",
    "description", "tags", "trust", "status", "reason", "author", "provenance", "valid_from", "valid_to",
    "recorded_at", "retired_at", "supersedes", "superseded_by", "derived_from", "ever_quarantined", "pinned",
    "capped", "retired_by",
)  # fmt: skip


_DEFAULTS: dict[str, object] = {
    "occurrence": 1, "heading": "[]", "tags": "[]", "derived_from": "[]", "provenance": "{}", "kind": "fact",
    "ever_quarantined": 0, "pinned": 0, "capped": 0,
}  # fmt: skip


def to_row(record: Record) -> tuple[str | int, ...]:
    """Return the record's row in the order of COLUMNS."""
    return (
        record.id, str(record.scope), record.path, record.block_hash, record.occurrence, record.value_key,
        record.near_key, canonical(list(record.heading)), record.group, record.kind.value, record.title,
        record.description, canonical(list(record.tags)), int(record.trust), record.status.value, record.reason,
        str(record.author), _provenance_out(record.provenance), record.valid_from, record.valid_to,
        record.recorded_at, record.retired_at, record.supersedes, record.superseded_by,
        canonical(list(record.derived_from)), int(record.ever_quarantined), int(record.pinned),
        int(record.capped), record.retired_by,
    )  # fmt: skip


def to_payload(record: Record) -> dict[str, object]:
    """Return what an event says of a record: its columns, those left out that have their default."""
    row = dict(zip(COLUMNS, to_row(record), strict=True))
    return {key: value for key, value in row.items() if value != _DEFAULTS.get(key, "")}


def row_of_payload(payload: Mapping[str, object]) -> tuple[str | int, ...]:
    """Return the row that an event's payload stands for."""
    return tuple(payload.get(key, _DEFAULTS.get(key, "")) for key in COLUMNS)  # type: ignore[misc]


def of_row(row: tuple[Any, ...]) -> Record:
    """Return the record of a row.

    Raises:
        IntegrityError: a column holds what no writer of this program puts there.
    """
    try:
        return _of_row(row)
    except (KeyError, ValueError, TypeError, InvalidInput) as error:
        raise IntegrityError(f"the ledger's row of {row[0]} is damaged; run `memoranda verify`") from error


def _of_row(row: tuple[Any, ...]) -> Record:
    return Record(
        id=row[0], scope=_scope(row[1]), path=row[2], block_hash=row[3], occurrence=row[4], value_key=row[5],
        near_key=row[6], heading=_list(row[7]), group=row[8], kind=_KINDS[row[9]], title=row[10],
        description=row[11], tags=_list(row[12]), trust=_TRUSTS[row[13]], status=_STATUSES[row[14]],
        reason=row[15], author=_principal(row[16]), provenance=_provenance_in(row[17]), valid_from=row[18],
        valid_to=row[19], recorded_at=row[20], retired_at=row[21], supersedes=row[22], superseded_by=row[23],
        derived_from=_list(row[24]), ever_quarantined=bool(row[25]), pinned=bool(row[26]),
        capped=bool(row[27]), retired_by=row[28],
    )  # fmt: skip


_KINDS = {kind.value: kind for kind in Kind}
_TRUSTS = {int(trust): trust for trust in Trust}
_STATUSES = {status.value: status for status in Status}
_scope = lru_cache(maxsize=256)(Scope.parse)
_principal = lru_cache(maxsize=256)(Principal.parse)
"""A file has thousands of rows and a handful of these; values are frozen and may be shared."""


@lru_cache(maxsize=1_024)
def _list(text: str) -> tuple[str, ...]:
    return tuple(json.loads(text))


def _provenance_out(value: Provenance) -> str:
    fields = {
        "session_id": value.session_id, "message_from": value.message_from, "message_to": value.message_to,
        "tool": value.tool, "evidence": list(value.evidence), "verification": value.verification,
        "epistemic": "" if value.epistemic is Epistemic.OBSERVED else value.epistemic.value,
    }  # fmt: skip
    return canonical({key: item for key, item in fields.items() if item not in ("", None, [])})


@lru_cache(maxsize=1_024)
def _provenance_in(text: str) -> Provenance:
    if text == "{}":
        return Provenance()
    fields = json.loads(text)
    fields["evidence"] = tuple(fields.get("evidence", ()))
    fields["epistemic"] = Epistemic(fields.get("epistemic", "observed"))
    return Provenance(**fields)


def intent_body(entry: Entry) -> str:
    """Write an intent; it is dropped when its batch is committed or discarded."""
    return canonical(
        {
            "at": entry.at,
            "author": str(entry.author),
            "reason": entry.reason,
            "checkpoint": entry.checkpoint_id,
            "edits": [
                [edit.path, edit.before, edit.after, edit.before_hash, edit.after_hash, list(edit.splices), edit.whole]
                for edit in entry.edits
            ],
            "changes": [[change.kind, to_payload(change.record), change.before] for change in entry.changes],
            "texts": dict(entry.texts),
            "states": [
                [state.path, state.content_hash, state.object, state.size, state.stamp, state.by_person]
                for state in entry.states
            ],
            "forgotten": list(entry.forgotten),
            "corroborated": list(entry.corroborated),
            "kept": entry.kept_text,
            **trust_out(entry),
        }
    )


def intent_of(batch_id: str, scope: str, body: str) -> Entry:
    """Read an intent.

    Raises:
        IntegrityError: it is not what `intent_body` writes.
    """
    try:
        entry = _intent_of(batch_id, scope, json.loads(body))
    except (LookupError, ValueError, TypeError, AttributeError, InvalidInput, IntegrityError) as error:
        raise _damaged_intent(batch_id) from error
    words = (entry.at, entry.reason, entry.checkpoint_id, entry.kept_text, *entry.forgotten, *entry.corroborated)
    names = (name for edit in entry.edits for name in (edit.path, edit.before, edit.after))
    strings = all(isinstance(word, str) for word in (*words, *names, *entry.texts, *entry.texts.values()))
    if (
        not strings
        or entry.reason not in get_args(CheckpointReason)
        or entry.author.kind not in get_args(PrincipalKind)
    ):
        raise _damaged_intent(batch_id)
    return entry


def _damaged_intent(batch_id: str) -> IntegrityError:
    return IntegrityError(f"the unfinished batch {batch_id[:40]} in the ledger is damaged; run `memoranda verify`")


def _intent_of(batch_id: str, scope: str, fields: dict[str, Any]) -> Entry:
    return Entry(
        batch_id=batch_id,
        at=fields["at"],
        author=Principal.parse(fields["author"]),
        scope=Scope.parse(scope),
        reason=fields["reason"],
        checkpoint_id=fields["checkpoint"],
        edits=tuple(
            FileEdit(edit[0], edit[1], edit[2], edit[3], edit[4], tuple(tuple(splice) for splice in edit[5]), edit[6])
            for edit in fields["edits"]
        ),
        changes=tuple(
            Change(kind, of_row(row_of_payload(payload)), before) for kind, payload, before in fields["changes"]
        ),
        texts=dict(fields["texts"]),
        states=tuple(FileState(*state) for state in fields["states"]),
        forgotten=tuple(fields["forgotten"]),
        corroborated=tuple(fields["corroborated"]),
        kept_text=fields["kept"],
        **trust_in(fields),
    )
