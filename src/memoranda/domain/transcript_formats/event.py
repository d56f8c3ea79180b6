"""The one form of a transcript's events, and what the readers share."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

EventKind = Literal["turn", "tool_call", "tool_result", "note", "system"]
EventRole = Literal["user", "assistant", "system", "tool"]
Json = Mapping[str, Any]

_MAX_SECONDS = 253_402_300_799
"""The last second of the year 9999."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedEvent:
    """One event of a transcript. `text` of a tool's call are its arguments as JSON; `at` is as it was found.

    `reads` tells of a note that results of its tool were read where this transcript does not show them.
    """

    kind: EventKind
    role: EventRole
    text: str
    speaker: str = ""
    at: str = ""
    tool: str = ""
    call_id: str = ""
    source_id: str = ""
    line: int = 0
    reads: bool = False

    @property
    def brings_in(self) -> bool:
        """Whether a tool's result was read here."""
        return self.kind == "tool_result" or self.reads


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedTranscript:
    """What a transcript holds: events in order, and (line, why) of what was left out, never its text."""

    events: tuple[ImportedEvent, ...]
    skipped: tuple[tuple[int, str], ...]


def lines_of(data: bytes) -> Iterator[tuple[int, Json | None]]:
    """Yield every line that is not blank with its number, from 1, as a JSON object, or None where it is none."""
    for number, line in enumerate(data.splitlines(), 1):
        if line.strip():
            yield number, object_of(line)


def object_of(data: bytes | str) -> Json | None:
    """Read a JSON object; None where it is none."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def text_of(content: object) -> str:
    """Return the text of a message: a string, or the text parts of a list."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = (part if isinstance(part, str) else _part(part) for part in content)
    return "\n\n".join(part for part in parts if part)


def _part(part: object) -> str:
    if not isinstance(part, dict) or part.get("type") not in ("text", "input_text", "output_text"):
        return ""
    return word(part.get("text"))


def word(value: object) -> str:
    """Return a value that should be a text; anything else is none."""
    return value if isinstance(value, str) else ""


def time_of(value: object) -> str:
    """Return a time as ISO 8601: a text as it is, a number as seconds (or milliseconds) since 1970."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        return ""
    seconds = value / 1000 if abs(value) > _MAX_SECONDS else value
    try:
        return datetime.fromtimestamp(seconds, tz=UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        return ""


def arguments_of(value: object) -> str:
    """Return a tool's arguments as JSON text."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
