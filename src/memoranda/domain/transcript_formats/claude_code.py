"""Transcripts of Claude Code: JSONL whose lines form a tree. The format is not promised, so it is read leniently."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from memoranda.domain.transcript_formats.event import (
    ImportedEvent,
    Json,
    ParsedTranscript,
    arguments_of,
    lines_of,
    text_of,
    time_of,
    word,
)

_SPEAKERS = ("user", "assistant")
_MARKUP = re.compile(
    r"<(local-command-[a-z]+|command-[a-z]+|system-reminder|ide_[a-z_]+)>.*?</\1>", re.DOTALL | re.IGNORECASE
)
"""What the tool itself wraps into a user's text: nobody has said it."""

_Line = tuple[int, Json]


def fits(data: bytes) -> bool:
    """Whether one of the first lines is one of this form."""
    for number, (_, row) in enumerate(lines_of(data)):
        if row is not None and row.get("type") in _SPEAKERS and isinstance(row.get("message"), dict):
            return "uuid" in row or "sessionId" in row
        if number > 50:  # noqa: PLR2004 - a transcript begins with a few lines of other types at most
            return False
    return False


def read(data: bytes) -> ParsedTranscript:
    """Read a transcript along the branch that ends in its last line.

    A conversation can be edited and tried again; what was left behind then is on another branch. Where a line has no
    parent in the file, the conversation goes on from what stands before it: it was compacted or resumed there.
    """
    skipped: list[tuple[int, str]] = []
    rows: list[_Line] = []
    for number, row in lines_of(data):
        why = _why_not(row)
        if why or row is None:
            skipped.append((number, why))
        else:
            rows.append((number, row))
    kept = _branch(rows)
    skipped += [(number, "another branch of the conversation") for number, _ in rows if number not in kept]
    events: list[ImportedEvent] = []
    tools: dict[str, str] = {}
    for number, row in rows:
        if number in kept:
            found = list(_events(number, row, tools))
            events += found
            if not found:
                skipped.append((number, "it says nothing"))
    return ParsedTranscript(events=tuple(events), skipped=tuple(sorted(skipped)))


def _why_not(row: Json | None) -> str:
    """Why a line is left out, "" where it is read."""
    if row is None:
        return "not JSON, or cut off"
    if row.get("type") not in _SPEAKERS:
        return f"of type {word(row.get('type'))[:40] or 'none'}"
    if row.get("isSidechain"):
        return "of a subagent"
    if row.get("isMeta"):
        return "of the tool itself"
    return "" if isinstance(row.get("message"), dict) else "without a message"


def _branch(rows: Sequence[_Line]) -> frozenset[int]:
    """Return the numbers of the lines on the last line's branch; lines without an id are on every branch."""
    names = [word(row.get("uuid")) for _, row in rows]
    by_id = {name: at for at, name in enumerate(names) if name}
    kept = {number for (number, _), name in zip(rows, names, strict=True) if not name}
    seen: set[str] = set()
    at = len(rows) - 1
    while at >= 0:
        number, row = rows[at]
        kept.add(number)
        seen.add(names[at])
        parent = word(row.get("parentUuid"))
        if parent in by_id and parent not in seen:
            at = by_id[parent]
        else:
            at = next((before for before in range(at - 1, -1, -1) if names[before] not in seen), -1)
    return frozenset(kept)


def _events(number: int, row: Json, tools: dict[str, str]) -> Iterator[ImportedEvent]:
    message: Json = row["message"]
    role = "assistant" if row.get("type") == "assistant" else "user"
    about: dict[str, Any] = {"at": time_of(row.get("timestamp")), "source_id": word(row.get("uuid")), "line": number}
    content = message.get("content")
    said = text_of(content)
    said = _MARKUP.sub("", said).strip() if role == "user" else said.strip()
    if said:
        yield ImportedEvent(kind="turn", role=role, text=said, **about)  # type: ignore[arg-type]  # one of two
    for part in content if isinstance(content, list) else ():
        if not isinstance(part, dict):
            continue
        if part.get("type") == "tool_use":
            call, name = word(part.get("id")), word(part.get("name"))
            tools[call] = name
            text = arguments_of(part.get("input"))
            yield ImportedEvent(kind="tool_call", role="assistant", text=text, tool=name, call_id=call, **about)
        elif part.get("type") == "tool_result":
            call = word(part.get("tool_use_id"))
            text = text_of(part.get("content"))
            yield ImportedEvent(
                kind="tool_result", role="tool", text=text, tool=tools.get(call, ""), call_id=call, **about
            )
