"""Transcripts of Claude Code: JSONL whose lines form a tree. The format is not promised, so it is read leniently."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from memoranda.domain.transcript_formats.event import (
    ImportedEvent,
    Json,
    ParsedTranscript,
    lines_of,
    time_of,
    word,
)
from memoranda.domain.transcript_formats.tools import Tools, parts_of

_SPEAKERS = ("user", "assistant")
_MARKUP = re.compile(
    r"<(local-command-[a-z]+|command-[a-z]+|system-reminder|ide_[a-z_]+)>.*?</\1>", re.DOTALL | re.IGNORECASE
)
"""What the tool itself wraps into a user's text: nobody has said it."""

_OF_THE_TOOL = ("isMeta", "isCompactSummary", "isApiErrorMessage", "isVisibleInTranscriptOnly")
_INTERRUPTED = re.compile(r"\[Request interrupted by user[^\]]*\]")

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
    """Read a transcript along the branch that ends in the last thing that was said.

    A conversation can be edited and tried again; what was left behind then is on another branch. The parts of one
    answer, and the results of its calls, belong to it wherever they are attached. Where a line has no parent in the
    file, the conversation goes on from what stands before it: it was compacted or resumed there. What a subagent has
    read is noted where it was, by the names of its tools.
    """
    skipped: list[tuple[int, str]] = []
    rows: list[_Line] = []
    for number, row in lines_of(data):
        if row is None:
            skipped.append((number, "not JSON, or cut off"))
        else:
            rows.append((number, row))
    kept = _with_parts(rows, _branch(rows))
    events: list[ImportedEvent] = []
    tools: Tools = {}
    aside: Tools = {}
    noted: set[str] = set()
    for number, row in rows:
        why = _why_not(row) or ("" if number in kept else "another branch of the conversation")
        if row.get("isSidechain"):
            events += _read_aside(number, row, aside, noted)
        found = [] if why else list(_events(number, row, tools))
        events += found
        if not found:
            skipped.append((number, why or "it says nothing"))
    return ParsedTranscript(events=tuple(events), skipped=tuple(sorted(skipped)))


def _why_not(row: Json) -> str:
    """Why a line is left out, "" where it is read."""
    if row.get("type") not in _SPEAKERS:
        return f"of type {word(row.get('type'))[:40] or 'none'}"
    if row.get("isSidechain"):
        return "of a subagent"
    if any(row.get(name) for name in _OF_THE_TOOL):
        return "of the tool itself"
    return "" if isinstance(row.get("message"), dict) else "without a message"


def _branch(rows: Sequence[_Line]) -> frozenset[int]:
    """Return the numbers of the lines on the last speaker's branch; lines without an id are on every branch.

    Lines of other types stand between those of speakers, so the tree is of all lines.
    """
    names = [word(row.get("uuid")) for _, row in rows]
    by_id = {name: at for at, name in enumerate(names) if name}
    kept = {number for (number, _), name in zip(rows, names, strict=True) if not name}
    seen: set[str] = set()
    at = next((at for at in range(len(rows) - 1, -1, -1) if not _why_not(rows[at][1])), -1)
    while at >= 0:
        number, row = rows[at]
        kept.add(number)
        seen.add(names[at])
        parents = (word(row.get(name)) for name in ("parentUuid", "logicalParentUuid"))
        parent = next((name for name in parents if name in by_id and name not in seen), "")
        if parent:
            at = by_id[parent]
        else:
            before = range(at - 1, -1, -1)
            at = next((one for one in before if names[one] not in seen and not rows[one][1].get("isSidechain")), -1)
    return frozenset(kept)


def _with_parts(rows: Sequence[_Line], branch: frozenset[int]) -> frozenset[int]:
    """Add to a branch what hangs beside it: other parts of the same answers, and results of their calls."""
    read = [(number, row, _message_id(row), _ids(row)) for number, row in rows if not _why_not(row)]
    answers = {name for number, _, name, _ in read if number in branch and name}
    kept = branch | {number for number, _, name, _ in read if name in answers}
    calls: set[str] = set().union(*(made for number, _, _, (made, _) in read if number in kept))
    return kept | {number for number, _, _, (_, answered) in read if calls & answered}


def _message_id(row: Json) -> str:
    return word(row["message"].get("id")) if row.get("type") == "assistant" else ""


def _ids(row: Json) -> tuple[frozenset[str], frozenset[str]]:
    """Return the ids of the calls that a line makes, and of those that it answers."""
    parts = [part for part in parts_of(row["message"].get("content"), {}, {}) if isinstance(part, ImportedEvent)]
    calls = frozenset(part.call_id for part in parts if part.kind == "tool_call" and part.call_id)
    return calls, frozenset(part.call_id for part in parts if part.kind == "tool_result" and part.call_id)


def _read_aside(number: int, row: Json, tools: Tools, noted: set[str]) -> Iterator[ImportedEvent]:
    """Yield a note for each tool whose results a subagent reads for the first time; what it says comes from them."""
    message = row.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    for part in parts_of(content, tools, {}):
        if isinstance(part, ImportedEvent) and part.kind == "tool_result" and part.tool not in noted:
            noted.add(part.tool)
            yield ImportedEvent(
                kind="note", role="system", text=f"a subagent has read a result of {part.tool or 'a tool'}",
                tool=part.tool, at=time_of(row.get("timestamp")), source_id=word(row.get("uuid")), line=number,
                reads=True,
            )  # fmt: skip


def _events(number: int, row: Json, tools: Tools) -> Iterator[ImportedEvent]:
    role = "assistant" if row.get("type") == "assistant" else "user"
    about: dict[str, Any] = {"at": time_of(row.get("timestamp")), "source_id": word(row.get("uuid")), "line": number}
    for part in parts_of(row["message"].get("content"), tools, about):
        if isinstance(part, ImportedEvent):
            yield part
            continue
        said = part.strip() if role == "assistant" else _MARKUP.sub("", part).strip()
        if said and not _INTERRUPTED.fullmatch(said):
            yield ImportedEvent(kind="turn", role=role, text=said, **about)  # type: ignore[arg-type]  # one of two
