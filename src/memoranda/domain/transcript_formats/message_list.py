"""Lists of messages as chat completion interfaces have them: one JSON document."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from memoranda.domain.transcript_formats.event import (
    EventRole,
    ImportedEvent,
    Json,
    ParsedTranscript,
    arguments_of,
    text_of,
    time_of,
    word,
)
from memoranda.domain.transcript_formats.tools import Tools, item_of, parts_of

_TIMES = ("timestamp", "created_at", "date", "time")


def fits(data: bytes) -> bool:
    """Whether it is a list of messages, or an object with one."""
    return _messages(data) is not None


def _messages(data: bytes) -> Sequence[object] | None:
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return None
    found = document.get("messages") if isinstance(document, dict) else document
    if not isinstance(found, list) or not any(isinstance(item, dict) and "role" in item for item in found):
        return None
    return found


def read(data: bytes) -> ParsedTranscript:
    """Read the messages in order; a line number is the message's own, from 1."""
    events: list[ImportedEvent] = []
    skipped: list[tuple[int, str]] = []
    tools: Tools = {}
    for number, message in enumerate(_messages(data) or (), 1):
        found = list(events_of(number, message, tools)) if isinstance(message, dict) else []
        events += found
        if not found:
            skipped.append((number, "it says nothing" if isinstance(message, dict) else "not a message"))
    return ParsedTranscript(events=tuple(events), skipped=tuple(skipped))


def events_of(number: int, message: Json, tools: Tools) -> Iterator[ImportedEvent]:
    """Yield what a message holds, in order; `number` is its own, `tools` the calls before it."""
    role = word(message.get("role"))
    about: dict[str, Any] = {
        "at": next((found for name in _TIMES if (found := time_of(message.get(name)))), ""),
        "source_id": word(message.get("id")),
        "line": number,
    }
    if not role:
        yield from item_of(message, tools, about)
    elif role in ("tool", "function"):
        call = word(message.get("tool_call_id"))
        tool = tools.get(call) or word(message.get("name"))
        text = text_of(message.get("content"))
        yield ImportedEvent(kind="tool_result", role="tool", text=text, tool=tool, call_id=call, **about)
    else:
        for part in parts_of(message.get("content"), tools, about):
            if isinstance(part, ImportedEvent):
                yield part
            elif part.strip():
                yield _said(role, part, word(message.get("name")), about)
        yield from _calls(message.get("tool_calls"), tools, about)


def _said(role: str, text: str, speaker: str, about: dict[str, Any]) -> ImportedEvent:
    if role in ("system", "developer"):
        return ImportedEvent(kind="system", role="system", text=text, speaker=speaker, **about)
    who: EventRole = "assistant" if role == "assistant" else "user"
    return ImportedEvent(kind="turn", role=who, text=text, speaker=speaker, **about)


def _calls(calls: object, tools: Tools, about: dict[str, Any]) -> Iterator[ImportedEvent]:
    for call in calls if isinstance(calls, list) else ():
        named = call.get("function") if isinstance(call, dict) else None
        if isinstance(named, dict):
            ident, name = word(call.get("id")), word(named.get("name"))
            tools[ident] = name
            said = arguments_of(named.get("arguments"))
            yield ImportedEvent(kind="tool_call", role="assistant", text=said, tool=name, call_id=ident, **about)
