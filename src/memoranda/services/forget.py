"""Forgets on request: one confident match is removed, anything else becomes a preview that waits for a person.

A match is confident where the words are the same, or where a model chose one of the candidates.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from memoranda.domain.operation import Batch, Remove
from memoranda.domain.outcome import Conflicted, Quarantined, Refused, Saved
from memoranda.domain.query import Hit
from memoranda.domain.record import Provenance, Record, Status
from memoranda.domain.report import ForgetResult, PlannedForget
from memoranda.domain.scope import Principal, Scope
from memoranda.errors import InvalidInput
from memoranda.services import gateway
from memoranda.services.stores import Stores

MAX_CANDIDATES = 12
PREVIEW_CHARS = 180
_ASKING = re.compile(r"^\s*(?:please\s+)?(?:forget|delete|remove)(?:\s+that|\s+about)?\s*[:,]?\s+", re.IGNORECASE)

Choose = Callable[[str, Sequence[Record]], str]
"""Names the candidate that a request means, "" where that is not sure."""

Search = Callable[[str, int], Sequence[Hit]]
"""Finds candidates in the caller's own scope; recall is the only search there is."""


def forget(
    stores: Stores,
    search: Search,
    author: Principal,
    scope: Scope,
    request: str,
    *,
    provenance: Provenance,
    dry_run: bool = False,
    limit: int = 6,
    choose: Choose | None = None,
) -> ForgetResult:
    """Remove the one record that the request names exactly; where that is not sure, change nothing and ask.

    A record is named by its id, by its text, or by the same statement up to inflection and word order. Where none is,
    `choose` may say which candidate is meant.

    Raises:
        InvalidInput: the request is blank, or `limit` is not 1 to 12.
    """
    if not request.strip():
        raise InvalidInput("say what to forget: the text, or a record's id")
    if not 1 <= limit <= MAX_CANDIDATES:
        raise InvalidInput(f"limit {limit} is out of range: use 1 to {MAX_CANDIDATES}")
    exact = _named(stores, scope, request)
    hits = list(search(_wording(request), limit))
    near = _near(stores, request, hits) if not exact else []
    chosen = exact or near
    if len(chosen) == 1:
        reason = "it says exactly this" if exact else "it says this in other words"
        return _certain(stores, author, scope, chosen[0], reason, provenance, dry_run=dry_run)
    found = chosen[:limit] or [record for hit in hits if (record := stores.ledger.record(hit.record_id))]
    if not found:
        return ForgetResult(dry_run=dry_run, rationale="nothing in this memory is like it; nothing was removed")
    meant = _meant(stores, scope, found, choose, request) if choose and not chosen else None
    if meant is not None:
        reason = "the model chose it among the nearest"
        return _certain(stores, author, scope, meant, reason, provenance, dry_run=dry_run)
    why = "several records say exactly this" if chosen else "no record says exactly this; these are the nearest"
    planned = tuple(_planned(stores, record, "exact" if chosen else "similar") for record in found)
    token = ""
    if not dry_run:
        token = _preview(stores, author, scope, found, provenance)
    return ForgetResult(
        dry_run=dry_run, needs_confirmation=True, rationale=why, planned=planned, issues=(why,), token=token
    )


def _wording(request: str) -> str:
    return _ASKING.sub("", request).strip().strip("\"'“”") or request


def _named(stores: Stores, scope: Scope, request: str) -> list[Record]:
    """Active records whose id or value the request is."""
    ids = [request.strip()] if request.strip().startswith("rec_") else []
    for text in dict.fromkeys((request, _wording(request))):
        ids.extend(stores.ledger.active_with_value(scope, stores.prints.value_key(text)))
    records = [stores.ledger.record(ident) for ident in dict.fromkeys(ids)]
    return [record for record in records if record and record.scope == scope and record.status is Status.ACTIVE]


def _near(stores: Stores, request: str, hits: Sequence[Hit]) -> list[Record]:
    keys = {stores.prints.near_key(text) for text in (request, _wording(request))} - {""}
    records = [stores.ledger.record(hit.record_id) for hit in hits]
    return [record for record in records if record is not None and record.near_key in keys]


def _meant(stores: Stores, scope: Scope, candidates: Sequence[Record], choose: Choose, request: str) -> Record | None:
    """Return the candidate that is meant, where it is still what was shown and the only one that says it."""
    shown = {record.id: record for record in candidates}
    ident = choose(request, candidates)
    now = stores.ledger.record(ident) if ident in shown else None
    if now is None or now.scope != scope or now.status is not Status.ACTIVE:
        return None
    if now.block_hash != shown[ident].block_hash or len(stores.ledger.active_with_value(scope, now.value_key)) != 1:
        return None
    return now


def _planned(stores: Stores, record: Record, reason: str) -> PlannedForget:
    text = " ".join((stores.ledger.text(record.block_hash) or "").split())
    return PlannedForget(record.id, record.path, 0, 0, reason, text[:PREVIEW_CHARS])


def _certain(
    stores: Stores,
    author: Principal,
    scope: Scope,
    record: Record,
    reason: str,
    provenance: Provenance,
    *,
    dry_run: bool,
) -> ForgetResult:
    planned = (_planned(stores, record, reason),)
    if dry_run:
        return ForgetResult(dry_run=True, rationale=reason, planned=planned)
    operation = Remove(record.id, expected=record.block_hash)
    outcome = gateway.commit(stores, Batch(author, scope, (operation,), "forget", provenance, proposes=True))
    item = outcome.items[0]
    if isinstance(item, Saved):
        return ForgetResult(
            deleted=True, rationale=reason, planned=planned, results=item.removed_ids,
            checkpoint_ids=(outcome.checkpoint_id,),
        )  # fmt: skip
    if isinstance(item, Quarantined):
        why = "it waits for a person, who alone may remove it" if item.reason == "trust" else "it waits for a person"
        return ForgetResult(
            needs_confirmation=True, rationale=why, planned=planned, issues=(why,), token=item.proposal_id
        )
    message = item.message if isinstance(item, Refused | Conflicted) else ""
    return ForgetResult(rationale=message, planned=planned, issues=(message,))


def _preview(stores: Stores, author: Principal, scope: Scope, records: Sequence[Record], provenance: Provenance) -> str:
    """Let the removal of these records wait for a person as one proposal; return its id."""
    operations = tuple(Remove(record.id, expected=record.block_hash) for record in records)
    batch = Batch(author, scope, operations, "forget", provenance, asks="unsure")
    item = gateway.commit(stores, batch).items[0]
    return item.proposal_id if isinstance(item, Quarantined) else ""
