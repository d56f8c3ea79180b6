"""The recorder: the tool `memory`, which writes single records with what is known about them, and `memory_forget`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from memoranda.domain.outcome import BatchOutcome, Duplicate, Quarantined, Saved
from memoranda.domain.query import Hit
from memoranda.domain.record import Details, Epistemic, Kind
from memoranda.domain.report import ForgetResult
from memoranda.errors import InvalidInput
from memoranda.interfaces import schema, wire
from memoranda.interfaces.errors import ensure_done

if TYPE_CHECKING:
    from memoranda.interfaces.tools import Caller

Arguments = dict[str, Any]

ACTIONS = ("remember", "update", "forget", "recall", "propose_to_team", "propose_to_mob")
"""`propose_to_mob` is another system's name for `propose_to_team`."""

WAITS = "it waits for a person and is not remembered until one approves it"
_NEEDS = {
    "remember": ("body",), "update": ("memory_id", "body"), "forget": ("memory_id",), "recall": (),
    "propose_to_team": ("body",), "propose_to_mob": ("body",),
}  # fmt: skip

PROPERTIES: dict[str, schema.Schema] = {
    "action": {"type": "string", "enum": ACTIONS, "description": "What to do"},
    "title": {"type": "string", "maxLength": 200, "description": "A short heading; written above the body"},
    "body": {
        "type": "string",
        "maxLength": 51_200,
        "description": "remember, update, propose_to_team: Markdown, one fact in full sentences with absolute dates",
    },
    "description": {"type": "string", "maxLength": 400, "description": "When this matters; found by search, not shown"},
    "tags": {"type": "array", "maxItems": 32, "description": "Up to 32 words to find it by"},
    "kind": {
        "type": "string",
        "enum": tuple(str(kind) for kind in Kind),
        "description": "What sort of knowledge it is",
    },
    "epistemic": {
        "type": "string",
        "enum": tuple(str(how) for how in Epistemic),
        "description": "How you know it, honestly: observed, operator_said, or verified_claim with evidence",
    },
    "verification_evidence": {
        "type": "array",
        "maxItems": 32,
        "description": "verified_claim: ids of records or sessions that show it",
    },
    "memory_id": {"type": "string", "maxLength": 80, "description": "update, forget: the record's id"},
    "query_text": {"type": "string", "description": "recall: what to look for; empty for the newest"},
    "max_entries": {
        "type": "integer",
        "minimum": 1,
        "maximum": 64,
        "default": 8,
        "description": "recall: how many records at most",
    },
    "valid_from": {"type": "string", "maxLength": 40, "description": "Since when it is true (ISO 8601), if it matters"},
    "valid_to": {"type": "string", "maxLength": 40, "description": "Until when it is true (ISO 8601), if it ends"},
}

DESCRIPTION = (
    "Your own notes, one record at a time. remember: knowledge that will matter in later conversations, not the "
    "tasks of this one, and nothing that the repository already says; look first whether it is known, and update "
    "that record rather than writing a second one. One fact a record, in full sentences, with absolute dates. Say "
    "honestly how you know it (epistemic). An open loop says what would close it. update replaces a record's text "
    "and keeps its history; forget removes one. A person's record is changed by a proposal, which waits. "
    "propose_to_team offers a record to the team's memory; a person decides. What has quarantined_ids waits for a "
    "person and is not remembered."
)

FORGET_PROPERTIES: dict[str, schema.Schema] = {
    "request": {
        "type": "string",
        "minLength": 1,
        "maxLength": 4_000,
        "description": "What to forget: its exact text, or the record's id",
    },
    "dry_run": {"type": "boolean", "default": False, "description": "Only say what would be removed"},
    "limit": {
        "type": "integer",
        "minimum": 1,
        "maximum": 12,
        "default": 6,
        "description": "How many candidates to show where it is not sure",
    },
}

FORGET_DESCRIPTION = (
    "Forget one thing that the user wants forgotten. Where the request names exactly one record it is removed and "
    "its value is rejected, so that background work does not learn it again. Where it is not sure, nothing is "
    "removed: the candidates are shown and wait for a person, who confirms."
)


def details_of(arguments: Arguments) -> Details:
    """Return what the arguments say of a record."""
    kind = arguments.get("kind")
    return Details(
        title=arguments.get("title", ""),
        description=arguments.get("description", ""),
        tags=tuple(arguments.get("tags", ())),
        kind=Kind(kind) if kind else None,
        epistemic=Epistemic(arguments.get("epistemic", "observed")),
        evidence=tuple(arguments.get("verification_evidence", ())),
        valid_from=arguments.get("valid_from", ""),
        valid_to=arguments.get("valid_to", ""),
    )


def memory(caller: Caller, arguments: Arguments) -> wire.Json:
    """Carry out one action of the recorder."""
    action = arguments["action"]
    for name in _NEEDS[action]:
        if not arguments.get(name):
            raise InvalidInput(f"action '{action}' needs the argument '{name}'")
    agent = caller.agent
    match action:
        case "remember":
            return written(action, ensure_done(agent.remember(arguments["body"], details=details_of(arguments))))
        case "update":
            details = details_of(arguments)
            return written(
                action, ensure_done(agent.update(arguments["memory_id"], arguments["body"], details=details))
            )
        case "forget":
            return removed(arguments["memory_id"], ensure_done(agent.remove(arguments["memory_id"])))
        case "recall":
            found = agent.search(arguments.get("query_text", ""), limit=arguments["max_entries"])
            return {"action": action, "count": len(found.hits), "memories": [_memory(hit) for hit in found.hits]}
        case _:
            outcome = ensure_done(agent.propose_to_team(arguments["body"], details=details_of(arguments)))
            return {"action": "propose_to_team", "saved": False, **waiting(outcome)}


def waiting(outcome: BatchOutcome) -> wire.Json:
    """Return what of an outcome waits for a person."""
    item = next((item for item in outcome.items if isinstance(item, Quarantined)), None)
    if item is None:
        return {}
    return {
        "waiting": True,
        "proposal_id": item.proposal_id,
        "quarantined_ids": list(item.record_ids),
        "reason": item.reason,
        "note": WAITS,
    }


def written(action: str, outcome: BatchOutcome) -> wire.Json:
    """Return the answer to a remember or an update."""
    made = [new for item in outcome.items if isinstance(item, Saved) for new in item.record_ids]
    duplicates = [old for item in outcome.items if isinstance(item, Duplicate) for old in item.existing]
    answer: wire.Json = {
        "action": action,
        "saved": bool(made),
        "memory_id": (made or duplicates or [""])[0],
        "record_ids": made,
        "path": outcome.files[0].path if outcome.files else "",
        "duplicate": bool(duplicates),
        "duplicate_ids": duplicates,
        "checkpointId": outcome.checkpoint_id,
        "indexed": outcome.indexed,
    }
    held = waiting(outcome)
    if held and action == "update":
        held["note"] = f"{WAITS}; the record as it was stays"
    return answer | held


def removed(record_id: str, outcome: BatchOutcome) -> wire.Json:
    """Return the answer to the removal of one record."""
    done = any(isinstance(item, Saved) and item.removed_ids for item in outcome.items)
    answer: wire.Json = {
        "action": "forget", "deleted": done, "memory_id": record_id, "checkpointId": outcome.checkpoint_id,
    }  # fmt: skip
    return answer | waiting(outcome)


def _memory(hit: Hit) -> wire.Json:
    shown = wire.hit(hit)
    return {
        "memory_id": hit.record_id,
        "title": hit.title,
        "body": shown["text"],
        "tags": list(hit.tags),
        "kind": str(hit.kind),
        "trust": hit.trust.label,
        "author": hit.author,
        "scope": str(hit.scope),
        "citation": hit.citation,
        "updated_at": hit.recorded_at,
    }


def memory_forget(caller: Caller, arguments: Arguments) -> wire.Json:
    """Forget on request; the token that confirms is for a person and not in the answer."""
    result = caller.agent.forget(arguments["request"], dry_run=arguments["dry_run"], limit=arguments["limit"])
    return forgotten(result)


def forgotten(result: ForgetResult) -> wire.Json:
    """Return what a request to forget did or would do."""
    return {
        "deleted": result.deleted,
        "dry_run": result.dry_run,
        "needs_confirmation": result.needs_confirmation,
        "rationale": result.rationale,
        "candidate_count": len(result.planned),
        "planned_matches": [
            {
                "chunk_id": item.record_id,
                "file": item.path,
                "start_line": item.line_start,
                "end_line": item.line_end,
                "reason": item.reason,
                "text_preview": item.preview,
            }
            for item in result.planned
        ],
        "issues": list(result.issues),
        "results": list(result.results),
        "checkpointIds": _known(result.checkpoint_ids),
    }


def _known(ids: Sequence[str]) -> list[str]:
    return [ident for ident in ids if ident]
