"""Transcripts of other tools are read leniently, along the branch that went on; what is left out is named."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoranda.domain.transcript_formats import FORMS, ImportedEvent, detect, parse
from memoranda.errors import InvalidInput


def lines(*rows: object) -> bytes:
    """Write rows as JSON lines."""
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def said(name: str, parent: str | None, text: object, role: str = "user", **more: object) -> dict[str, object]:
    """One line of a coding agent's transcript."""
    message = {"role": role, "content": text}
    return {"type": role, "uuid": name, "parentUuid": parent, "sessionId": "s", "timestamp": "2026-11-30T10:00:00Z",
            "message": message, **more}  # fmt: skip


def brief(events: tuple[ImportedEvent, ...]) -> list[tuple[str, str, str]]:
    """Kind, who and what of each event."""
    return [(event.kind, event.tool or event.role, event.text) for event in events]


CODING = lines(
    {"type": "summary", "summary": "earlier", "leafUuid": "x"},
    said("a", None, "Fix the build <system-reminder>be brief</system-reminder>"),
    said("b", "a", [
        {"type": "thinking", "thinking": "secret thoughts"},
        {"type": "text", "text": "I will look."},
        {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "make"}},
    ], "assistant"),
    said("c", "b", [{"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "error 1"}]}]),
    said("d", "c", "A wrong turn that was edited away"),
    said("e", "c", "Use ninja instead"),
    said("f", "e", [{"type": "text", "text": "Done."}], "assistant"),
    said("g", "f", "side work", isSidechain=True),
)  # fmt: skip


def test_a_coding_transcript_is_read_along_its_last_branch() -> None:
    """Turns, calls and results of it in order; edited turns, thoughts, reminders and side work are left out."""
    found = parse(CODING)
    assert detect(CODING) == "claude-code"
    assert brief(found.events) == [
        ("turn", "user", "Fix the build"),
        ("turn", "assistant", "I will look."),
        ("tool_call", "Bash", '{"command": "make"}'),
        ("tool_result", "Bash", "error 1"),
        ("turn", "user", "Use ninja instead"),
        ("turn", "assistant", "Done."),
    ]
    assert [event.source_id for event in found.events] == ["a", "b", "b", "c", "e", "f"]
    assert dict(found.skipped) == {
        1: "of type summary", 5: "another branch of the conversation", 8: "of a subagent",
    }  # fmt: skip


def test_a_conversation_goes_on_over_a_parent_that_is_not_there() -> None:
    """After a compaction the first line names a parent of another type, or none; what stood before stays."""
    for parent in ("gone", None):
        data = lines(said("a", None, "one"), said("b", "a", "two", "assistant"), said("c", parent, "three"))
        assert [event.text for event in parse(data).events] == ["one", "two", "three"]


def test_a_torn_last_line_and_a_circle_are_no_trouble() -> None:
    """The line is named and left out; lines that are each other's parents are read once."""
    data = lines(said("a", "b", "one"), said("b", "a", "two", "assistant")) + b'{"type":"user","uu'
    found = parse(data, "claude-code")
    assert sorted(event.text for event in found.events) == ["one", "two"]
    assert found.skipped == ((3, "not JSON, or cut off"),)


def test_a_list_of_messages_is_read() -> None:
    """System text, turns, calls and their results by name; parts of a content are joined."""
    document = {"messages": [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "name": "Ann", "created_at": 1764500000,
         "content": [{"type": "text", "text": "What time"}, {"type": "text", "text": "is it?"}]},
        {"role": "assistant", "content": None,
         "tool_calls": [{"id": "c1", "function": {"name": "clock", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "c1", "content": "noon"},
        {"role": "assistant", "content": ""},
        7,
    ]}  # fmt: skip
    data = json.dumps(document).encode()
    found = parse(data)
    assert detect(data) == "messages"
    assert brief(found.events) == [
        ("system", "system", "Be kind."),
        ("turn", "user", "What time\n\nis it?"),
        ("tool_call", "clock", "{}"),
        ("tool_result", "clock", "noon"),
    ]
    assert found.events[1].speaker == "Ann"
    assert found.events[1].at == "2025-11-30T10:53:20+00:00"
    assert dict(found.skipped) == {5: "it says nothing", 6: "not a message"}


def test_plain_lines_are_read_under_the_names_that_people_use() -> None:
    """Who, what and when go by several names; an unknown role is a user of that name."""
    data = lines(
        {"role": "human", "text": "Hello", "at": "2026-01-02T03:04:05Z"},
        {"author": "Caroline", "message": "Hi there", "date": "2026-01-03"},
        {"from": "bot", "content": "Good day"},
        {"role": "tool", "name": "web_fetch", "content": "a page"},
        {"role": "user"},
    ) + b"not json\n"  # fmt: skip
    found = parse(data)
    assert detect(data) == "jsonl"
    assert brief(found.events) == [
        ("turn", "user", "Hello"),
        ("turn", "user", "Hi there"),
        ("turn", "assistant", "Good day"),
        ("tool_result", "web_fetch", "a page"),
    ]
    assert [event.speaker for event in found.events] == ["", "Caroline", "", ""]
    assert found.events[0].at == "2026-01-02T03:04:05Z"
    assert [line for line, _ in found.skipped] == [5, 6]


def test_what_is_no_transcript_is_refused() -> None:
    """With the forms that are known; so is a form that nobody knows."""
    with pytest.raises(InvalidInput, match="claude-code, messages, jsonl"):
        detect(b"# Notes\n\nnothing of the sort")
    with pytest.raises(InvalidInput, match="unknown form"):
        parse(CODING, "chat")
    assert parse(CODING, "claude-code").events


@given(st.binary(max_size=400))
def test_no_bytes_break_a_reader(data: bytes) -> None:
    """Whatever is in a file, a reader answers; there is nothing but InvalidInput where the form is looked for."""
    for form in FORMS:
        parse(data, form)
    try:
        assert detect(data) in FORMS
    except InvalidInput:
        assert True


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "role",
                    "type",
                    "message",
                    "content",
                    "uuid",
                    "parentUuid",
                    "text",
                    "at",
                    "timestamp",
                    "tool_calls",
                    "function",
                ]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)


@given(st.lists(_JSON, max_size=6))
def test_no_json_breaks_a_reader(rows: list[object]) -> None:
    """Nor does any JSON under the names that readers look for; nothing is read twice."""
    data = lines(*rows)
    for form in FORMS:
        found = parse(data, form)
        assert len({(event.line, event.kind, event.call_id, event.text) for event in found.events}) <= len(found.events)
    assert parse(json.dumps(rows).encode(), "messages") is not None


def test_deep_nesting_is_left_out() -> None:
    """A line that nests deeper than a parser goes is named, and the others are read."""
    data = b"[" * 100_000 + b"]" * 100_000 + b"\n" + lines({"role": "user", "text": "Hello"})
    found = parse(data, "jsonl")
    assert [event.text for event in found.events] == ["Hello"]
    assert found.skipped[0][0] == 1
