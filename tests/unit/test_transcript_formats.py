"""Transcripts of other tools are read leniently, along the branch that went on; what is left out is named."""

from __future__ import annotations

import json
from collections.abc import Callable

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


def used(name: str, ident: str = "t1", kind: str = "tool_use", **more: object) -> dict[str, object]:
    """A part that calls a tool."""
    return {"type": kind, "id": ident, "name": name, "input": {}, **more}


def answered(text: object, ident: str = "t1", kind: str = "tool_result") -> dict[str, object]:
    """A part with a tool's result."""
    return {"type": kind, "tool_use_id": ident, "content": text}


def test_results_of_calls_at_the_same_time_are_read() -> None:
    """Each hangs at its own call; only one of them is on the branch, and so is the other part of the answer."""
    data = lines(
        said("a", None, "Compare the two."),
        said("b", "a", [used("Read", "t1")], "assistant") | {"message": {
            "id": "m1", "role": "assistant", "content": [used("Read", "t1")]}},
        said("c", "b", "x", "assistant") | {"message": {
            "id": "m1", "role": "assistant", "content": [used("WebFetch", "t2")]}},
        said("d", "b", [answered("one", "t1")]),
        said("e", "c", [answered("two", "t2")]),
        said("f", "d", [{"type": "text", "text": "Alike."}], "assistant"),
        said("w", "a", [answered("of a call that went", "t9")]),
        said("g", "f", "Good."),
    )  # fmt: skip
    assert brief(parse(data).events) == [
        ("turn", "user", "Compare the two."), ("tool_call", "Read", "{}"), ("tool_call", "WebFetch", "{}"),
        ("tool_result", "Read", "one"), ("tool_result", "WebFetch", "two"), ("turn", "assistant", "Alike."),
        ("turn", "user", "Good."),
    ]  # fmt: skip


def test_a_branch_goes_through_lines_of_other_types() -> None:
    """What stands between two speakers has ids too; a retry before it stays left out."""
    data = lines(
        said("a", None, "one"), said("x", "a", "retried", "assistant"), said("b", "a", "two", "assistant"),
        {"type": "system", "uuid": "s", "parentUuid": "b", "subtype": "compact_boundary"},
        said("c", "s", "three"), {"type": "progress", "uuid": "p", "parentUuid": "x"},
    )  # fmt: skip
    assert [event.text for event in parse(data).events] == ["one", "two", "three"]


def test_what_a_subagent_read_is_noted_once_for_each_tool() -> None:
    """By the tool's name alone, at its place; what it said is not taken in."""
    data = lines(
        said("a", None, "Look it up."),
        said("s1", None, [used("WebSearch", "t5")], "assistant", isSidechain=True),
        said("s2", "s1", [answered("mallory", "t5")], isSidechain=True),
        said("s3", "s2", [answered("mallory", "t5")], isSidechain=True),
        said("s4", "s3", [answered("no call", "t6")], isSidechain=True),
        said("b", "a", "Found.", "assistant"),
    )  # fmt: skip
    found = parse(data)
    assert brief(found.events) == [
        ("turn", "user", "Look it up."), ("note", "WebSearch", "a subagent has read a result of WebSearch"),
        ("note", "system", "a subagent has read a result of a tool"), ("turn", "assistant", "Found."),
    ]  # fmt: skip
    assert [event.brings_in for event in found.events] == [False, True, True, False]


@pytest.mark.parametrize("mark", ["isMeta", "isCompactSummary", "isApiErrorMessage"])
def test_what_the_tool_itself_adds_is_no_turn(mark: str) -> None:
    """Summaries, errors and interruptions were said by nobody; the turns around them stay."""
    data = lines(
        said("a", None, "one"), {**said("b", "a", "added"), mark: True},
        said("c", "b", [{"type": "text", "text": "[Request interrupted by user for tool use]"}]), said("d", "c", "two"),
    )  # fmt: skip
    assert [event.text for event in parse(data).events] == ["one", "two"]


PARTS = [
    {"role": "user", "content": "What is new?"},
    {"role": "assistant", "content": [
        {"type": "text", "text": "I look."}, used("web_search", "s1", "server_tool_use"),
        answered([{"type": "web_search_result", "url": "u", "title": "News"}], "s1", "web_search_tool_result"),
        {"type": "text", "text": "There is news."}, used("read", "m1", "mcp_tool_use", server_name="files"),
    ]},
    {"role": "user", "content": [answered("a file", "m1", "mcp_tool_result"), {"type": "text", "text": "And?"}]},
    {"role": "user", "content": [answered("whose?", "t9"), answered([{"type": "image", "source": {}}], "t9")]},
]  # fmt: skip


@pytest.mark.parametrize("write", [lambda rows: json.dumps(rows).encode(), lambda rows: lines(*rows)])
def test_calls_and_results_among_the_parts_of_a_message(write: Callable[[list[object]], bytes]) -> None:
    """In order, so that what is said after a result comes after it; in a list and as lines alike."""
    assert brief(parse(write([*PARTS])).events) == [
        ("turn", "user", "What is new?"), ("turn", "assistant", "I look."), ("tool_call", "web_search", "{}"),
        ("tool_result", "web_search", '[{"type": "web_search_result", "url": "u", "title": "News"}]'),
        ("turn", "assistant", "There is news."), ("tool_call", "mcp__files__read", "{}"),
        ("tool_result", "mcp__files__read", "a file"), ("turn", "user", "And?"), ("tool_result", "tool", "whose?"),
        ("tool_result", "tool", ""),
    ]  # fmt: skip


def test_items_without_a_role() -> None:
    """Calls and results as items of their own; a tool that runs at the provider has brought something in."""
    items = [
        {"role": "user", "content": [{"type": "input_text", "text": "Weather?"}]},
        {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": '{"at": "Oslo"}'},
        {"type": "function_call_output", "call_id": "c1", "output": "rain"},
        {"type": "web_search_call", "id": "w1", "action": {"query": "Oslo"}},
        {"type": "mcp_call", "id": "w2", "server_label": "maps", "name": "find", "arguments": "{}", "output": "here"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Rain."}]},
        {"type": "reasoning", "summary": []},
    ]  # fmt: skip
    for data in (json.dumps(items).encode(), lines(*items)):
        assert brief(parse(data).events) == [
            ("turn", "user", "Weather?"), ("tool_call", "weather", '{"at": "Oslo"}'),
            ("tool_result", "weather", "rain"), ("tool_call", "web_search", '{"query": "Oslo"}'),
            ("tool_result", "web_search", ""), ("tool_call", "mcp__maps__find", "{}"),
            ("tool_result", "mcp__maps__find", "here"), ("turn", "assistant", "Rain."),
        ]  # fmt: skip


def test_a_result_that_is_no_text_is_still_one() -> None:
    """What a tool brought in counts, whatever its form."""
    data = lines({"role": "user", "text": "Go."}, {"role": "tool", "name": "web", "content": {"a": 1}})
    assert brief(parse(data).events) == [("turn", "user", "Go."), ("tool_result", "web", '{"a": 1}')]
