"""Proposals and rulings as JSON. Only a reviewer is shown what a proposal offers."""

from __future__ import annotations

from memoranda.domain.outcome import BatchOutcome, Saved
from memoranda.domain.proposal import Proposal
from memoranda.domain.report import Waiting
from memoranda.interfaces.wire import Json, record


def proposal(one: Proposal) -> Json:
    """Return what is known of a proposal, without its content."""
    return {
        "id": one.id,
        "state": one.state,
        "kind": one.kind,
        "reason": one.reason,
        "scope": str(one.scope),
        "author": str(one.author),
        "session_id": one.session_id,
        "tainted": one.tainted,
        "at": one.at,
        "expires_at": one.expires_at,
        "record_ids": list(one.record_ids),
        "decided_at": one.decided_at,
        "decided_by": one.decided_by,
        "successors": list(one.successors),
    }


def waiting(one: Waiting) -> Json:
    """Return a proposal as a reviewer reads it, with the content hash that a ruling names."""
    return {
        **proposal(one.proposal),
        "content_hash": one.proposal.content_hash,
        "rationale": one.proposal.rationale,
        "records": [{**record(known), "text": text} for known, text in zip(one.records, one.texts, strict=True)],
        "effects": list(one.effects),
    }


def ruled(ident: str, verdict: str, outcome: BatchOutcome) -> Json:
    """Return the answer to a ruling."""
    made = [new for item in outcome.items if isinstance(item, Saved) for new in item.record_ids]
    return {
        "id": ident,
        "state": verdict,
        "record_ids": made,
        "paths": [change.path for change in outcome.files],
        "checkpointId": outcome.checkpoint_id,
    }
