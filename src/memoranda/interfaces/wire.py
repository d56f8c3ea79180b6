"""The JSON shapes that agents and scripts see, shared by tools, MCP, HTTP and `--json`.

Result keys of the tools are those that agents of this kind of memory know: `checkpointId` beside `chunk_id` is
meant.
"""

from __future__ import annotations

from collections.abc import Sequence

from memoranda.domain.block import CoreBlock
from memoranda.domain.checkpoint import Checkpoint
from memoranda.domain.episode import Episode
from memoranda.domain.outcome import BatchOutcome, Duplicate, Quarantined, Saved
from memoranda.domain.passage import Turn
from memoranda.domain.query import Hit, RecallResult
from memoranda.domain.record import Record, Status
from memoranda.domain.report import Chunk
from memoranda.services.timeframe import MAX_CHARACTERS, TimeFrameResult

Json = dict[str, object]

HIT_CHARS = 4_000
"""Longest text of one hit: 64 ordinary hits stay below what clients cut off (about 25,000 tokens)."""

CHUNK_CHARS = 100_000
"""Longest text of one `memory_get`; only a block in a person's own file can be longer."""


def _cut(text: str, most: int) -> Json:
    """Return the text, marked where it had to be cut."""
    if len(text) <= most:
        return {"text": text}
    return {"text": text[:most], "truncated": True, "total_chars": len(text)}


def source_of(path: str) -> str:
    """Return the source label of a file: `longterm` for MEMORY.md, `episode` for the log, else `daily`."""
    if path.startswith("log/"):
        return "episode"
    return "longterm" if path in ("MEMORY.md", "memory.md") else "daily"


def hit(found: Hit) -> Json:
    """Return one search result."""
    return {
        "chunk_id": found.chunk_id,
        "path": found.path,
        "source": source_of(found.path),
        "start_line": found.line_start,
        "end_line": found.line_end,
        "score": round(found.score, 6),
        **_cut(found.text, HIT_CHARS),
        "citation": found.citation,
        "record_id": found.record_id,
        "kind": str(found.kind),
        "title": found.title,
        "heading": list(found.heading),
        "tags": list(found.tags),
        "trust": found.trust.label,
        "author": found.author,
        "scope": str(found.scope),
        "recorded_at": found.recorded_at,
        **turn(found.turn),
        **{name: value for name in ("valid_from", "valid_to", "retired_at") if (value := getattr(found, name))},
        **({} if found.status is Status.ACTIVE else {"status": str(found.status)}),
    }


def turn(known: Turn | None) -> Json:
    """Return where a turn stands, and who spoke; nothing for a note."""
    if known is None:
        return {}
    return {
        "session_id": known.session,
        "session": known.key,
        "position": known.position,
        "speaker": known.speaker or known.role,
        "role": known.role,
    }


def episode(found: Episode, most: int) -> Json:
    """Return an entry of the log, its text cut at `most` characters."""
    return {
        "id": found.id,
        "timestamp": found.at,
        "type": str(found.kind),
        "role": found.role,
        "speaker": found.speaker or found.role,
        "session": found.key,
        "position": found.position,
        "content": found.text[:most],
        **({"total_chars": len(found.text)} if len(found.text) > most else {}),
        **({"tool": found.tool} if found.tool else {}),
        **({"tainted": True} if found.tainted else {}),
        **({"source": found.source} if found.source else {}),
        **({"whole_bytes": found.size} if found.size else {}),
    }


def timeframe(found: TimeFrameResult) -> Json:
    """Return some days of the log."""
    return {
        "date_range": str(found.frame),
        "time_zone": found.zone,
        "count": found.total,
        "truncated": found.truncated,
        "left_out": found.left_out,
        "entries": [episode(item, MAX_CHARACTERS) for item in found.entries],
    }


def block(found: CoreBlock) -> Json:
    """Return a core block."""
    spec = found.spec
    return {
        "block": spec.label,
        "description": spec.description,
        "value": found.value,
        "chars": found.characters,
        "limit": spec.limit,
        "over": found.over,
        "shared": spec.shared,
        "read_only": spec.read_only,
        "edited": found.is_edited,
        "readable": found.is_readable,
    }


def block_changed(label: str, found: CoreBlock | None, outcome: BatchOutcome) -> Json:
    """Return what became of a change to a core block."""
    waiting = _waiting(outcome)
    return {
        "ok": not waiting,
        "block": label,
        "chars": found.characters if found else 0,
        "checkpointId": outcome.checkpoint_id,
        **waiting,
    }


def search(result: RecallResult, *, citations: str = "auto") -> Json:
    """Return a search answer; `citations` is the setting `auto`, `on` or `off`."""
    return {
        "results": [hit(found) for found in result.hits],
        "citations_enabled": citations == "on" or (citations == "auto" and result.citations_shown),
        "mode": result.mode,
        "relevant": result.relevant,
        "withheld": result.withheld,
    }


def trace(result: RecallResult) -> Json:
    """Return how an answer came about: the trace, and each hit's score as named addends."""
    how = result.trace
    return {
        "terms": list(how.terms),
        "phrases": list(how.phrases),
        "scopes": list(how.scopes),
        "embedder": how.embedder,
        "strategy": how.strategy,
        "weights": {"keyword": how.weights[0], "vector": how.weights[1]},
        "candidates": how.candidates,
        "best_cosine": how.best_cosine,
        "best_coverage": how.best_coverage,
        "notes": list(how.notes),
        "milliseconds": dict(how.milliseconds),
        "scores": [{"chunk_id": found.chunk_id, "addends": dict(found.addends)} for found in result.hits],
    }


def record(known: Record) -> Json:
    """Return what the ledger knows of a record, without hashes and keys."""
    return {
        "record_id": known.id,
        "scope": str(known.scope),
        "path": known.path,
        "heading": list(known.heading),
        "kind": str(known.kind),
        "title": known.title,
        "description": known.description,
        "tags": list(known.tags),
        "trust": known.trust.label,
        "status": str(known.status),
        "reason": known.reason,
        "author": str(known.author),
        "session_id": known.provenance.session_id,
        "recorded_at": known.recorded_at,
        "retired_at": known.retired_at,
        "valid_from": known.valid_from,
        "valid_to": known.valid_to,
        "supersedes": known.supersedes,
        "superseded_by": known.superseded_by,
    }


def chunk(found: Chunk) -> Json:
    """Return a record or a part of it with its text."""
    return {
        "chunk_id": found.chunk_id,
        "source": source_of(found.record.path),
        "start_line": found.line_start,
        "end_line": found.line_end,
        **_cut(found.text, CHUNK_CHARS),
        **record(found.record),
        **turn(found.turn),
    }


def _waiting(outcome: BatchOutcome) -> Json:
    """Return what was put into quarantine, or nothing."""
    waiting = [item for item in outcome.items if isinstance(item, Quarantined)]
    parts = [ident for item in outcome.items if isinstance(item, Saved) for ident in item.quarantined_ids]
    if not waiting and not parts:
        return {}
    return {
        "quarantined_ids": [*(ident for item in waiting for ident in item.record_ids), *parts],
        "reason": waiting[0].reason if waiting else "a part of it",
        "proposal_ids": [item.proposal_id for item in waiting if item.proposal_id],
    }


def saved(outcome: BatchOutcome, *, file: str | None) -> Json:
    """Return the answer to a save that was not refused.

    `saved` is True only when something was written; `bytes_written` is then the size of the file.
    """
    made = [item for item in outcome.items if isinstance(item, Saved)]
    duplicates = [ident for item in outcome.items if isinstance(item, Duplicate) for ident in item.existing]
    answer: Json = {
        "saved": bool(made),
        "path": outcome.files[0].path if outcome.files else (file or ""),
        "bytes_written": sum(change.size for change in outcome.files) if made else 0,
        "checkpointId": outcome.checkpoint_id,
        "record_ids": [ident for item in made for ident in item.record_ids],
        "duplicate": any(isinstance(item, Duplicate) for item in outcome.items),
        "duplicate_ids": duplicates + [ident for item in made for ident in item.duplicate_ids],
        "indexed": outcome.indexed,
    }
    return answer | _waiting(outcome)


def deleted(outcome: BatchOutcome, *, file: str) -> Json:
    """Return the answer to a delete that was not refused.

    `matches_removed` counts what was cut; `bytes_written` is the size of what is left of the file.
    """
    made = [item for item in outcome.items if isinstance(item, Saved)]
    answer: Json = {
        "deleted": any(item.removed_ids or item.matches for item in made) or not _waiting(outcome),
        "path": file,
        "file_deleted": any(change.deleted for change in outcome.files),
        "file_existed": any(change.existed for change in outcome.files),
        "matches_removed": sum(item.matches for item in made),
        "removed_ids": [ident for item in made for ident in item.removed_ids],
        "bytes_written": sum(0 if change.deleted else change.size for change in outcome.files),
        "index_removed": outcome.indexed and any(item.removed_ids for item in made),
        "checkpointId": outcome.checkpoint_id,
    }
    return answer | _waiting(outcome)


def checkpoint(kept: Checkpoint) -> Json:
    """Return one checkpoint without its contents."""
    return {
        "id": kept.id,
        "createdAt": kept.at,
        "reason": kept.reason,
        "sourcePath": kept.paths[0] if kept.paths else "",
        "sourceKind": "file" if len(kept.files) == 1 else "files",
        "existed": any(file.existed for file in kept.files),
        "paths": list(kept.paths),
        "author": kept.author,
    }


def checkpoints(kept: Sequence[Checkpoint]) -> Json:
    """Return a list of checkpoints, newest first."""
    return {"count": len(kept), "checkpoints": [checkpoint(one) for one in kept]}


def restored(outcome: BatchOutcome, *, checkpoint_id: str) -> Json:
    """Return the answer to a restore that was not refused; `checkpointId` undoes the restore."""
    answer: Json = {
        "restored": not _waiting(outcome),
        "checkpoint": checkpoint_id,
        "paths": [change.path for change in outcome.files],
        "checkpointId": outcome.checkpoint_id,
    }
    return answer | _waiting(outcome)
