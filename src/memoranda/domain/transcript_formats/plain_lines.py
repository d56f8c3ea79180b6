"""Plain JSONL: one object a line, with who spoke and what was said under the names that people use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from memoranda.domain.transcript_formats import message_list
from memoranda.domain.transcript_formats.event import (
    EventRole,
    ImportedEvent,
    Json,
    ParsedTranscript,
    arguments_of,
    lines_of,
    text_of,
    time_of,
    word,
)
from memoranda.domain.transcript_formats.tools import Tools

_WHO = ("role", "speaker", "author", "from")
_WHAT = ("text", "content", "message")
_WHEN = ("at", "timestamp", "time", "date", "created_at")
_ROLES: dict[str, EventRole] = {
    "user": "user", "human": "user", "assistant": "assistant", "ai": "assistant", "model": "assistant",
    "bot": "assistant", "system": "system", "developer": "system", "tool": "tool", "function": "tool",
}  # fmt: skip


_MESSAGE = frozenset({"tool_calls", "tool_call_id"})


def fits(data: bytes) -> bool:
    """Whether the first line that is an object says something."""
    return any(row is not None and _first(row, _WHO) and text_of(_raw(row)) for _, row in lines_of(data))


def read(data: bytes) -> ParsedTranscript:
    """Read the lines in order; a role that is none of the known ones is the name of a user."""
    events: list[ImportedEvent] = []
    skipped: list[tuple[int, str]] = []
    tools: Tools = {}
    for number, row in lines_of(data):
        found = list(_events(number, row, tools)) if row is not None else []
        events += found
        if not found:
            skipped.append((number, "it says nothing" if row is not None else "not a JSON object, or cut off"))
    return ParsedTranscript(events=tuple(events), skipped=tuple(skipped))


def _events(number: int, row: Json, tools: Tools) -> Iterator[ImportedEvent]:
    """Yield what a line holds: that of a message where it has a message's form, else one event."""
    is_item = "role" not in row and word(row.get("type")).endswith(("_call", "_output"))
    if is_item or isinstance(row.get("content"), list) or _MESSAGE.intersection(row):
        yield from message_list.events_of(number, row, tools)
    elif text_of(_raw(row)).strip() or _role(row) == "tool":
        yield _event(number, row)


def _event(number: int, row: Json) -> ImportedEvent:
    text = text_of(_raw(row))
    who = _first(row, _WHO)
    role = _role(row)
    named = word(row.get("speaker")) or word(row.get("name"))
    speaker = named if named.lower() not in _ROLES else ""
    speaker = speaker or ("" if who.lower() in _ROLES else who)
    at = next((found for name in _WHEN if (found := time_of(row.get(name)))), "")
    if role == "tool":
        tool = word(row.get("tool")) or word(row.get("name"))
        said = text or (arguments_of(_raw(row)) if _raw(row) else "")
        return ImportedEvent(kind="tool_result", role=role, text=said, tool=tool, at=at, line=number)
    return ImportedEvent(
        kind="system" if role == "system" else "turn", role=role, text=text, speaker=speaker, at=at,
        source_id=word(row.get("id")), line=number,
    )  # fmt: skip


def _role(row: Json) -> EventRole:
    return _ROLES.get(_first(row, _WHO).lower(), "user")


def _raw(row: Json) -> object:
    return next((row[name] for name in _WHAT if row.get(name)), "")


def _first(row: Json, names: Sequence[str]) -> str:
    return next((found for name in names if (found := word(row.get(name)))), "")
