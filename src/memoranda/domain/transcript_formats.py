"""Transcripts of other tools, read leniently (stand-in until the parsers land on this branch)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal

from memoranda.errors import InvalidInput


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedEvent:
    """One event of a transcript."""

    kind: Literal["turn", "tool_call", "tool_result", "note", "system"]
    role: Literal["user", "assistant", "system", "tool"]
    text: str
    speaker: str = ""
    at: str = ""
    tool: str = ""
    call_id: str = ""
    source_id: str = ""
    session: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedTranscript:
    """What a transcript holds."""

    events: tuple[ImportedEvent, ...]
    skipped: tuple[tuple[int, str], ...]
    consumed: int
    last_id: str = ""


def parse(data: bytes, form: str = "", *, offset: int = 0) -> ParsedTranscript:
    """Read plain JSONL."""
    try:
        rows = [json.loads(line) for line in data[offset:].splitlines()]
    except ValueError as error:
        raise InvalidInput("no transcript") from error
    events = tuple(ImportedEvent(kind="turn", role=row["role"], text=row["text"]) for row in rows)
    return ParsedTranscript(events=events, skipped=(), consumed=len(data))
