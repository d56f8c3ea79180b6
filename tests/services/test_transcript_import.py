"""Conversations of other tools come in once, as the importer's, with the taint that they would have had here."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from memoranda.domain.episode import EpisodeKind
from memoranda.domain.record import Trust
from memoranda.errors import InvalidInput
from memoranda.memory import Memory
from tests.homes import holding, home, texts, write

TALK = (
    {"speaker": "Ann", "text": "Where is the fuse box?", "at": "2026-11-20T09:00:00Z"},
    {"role": "assistant", "text": "The fuse box is in the hall.", "at": "2026-11-20T09:01:00Z"},
    {"role": "tool", "name": "web_search", "text": "Fuses for sale"},
    {"role": "assistant", "text": "There is a sale of fuses on."},
)


def lines(*events: object) -> bytes:
    """Events as JSONL."""
    return "".join(f"{json.dumps(event)}\n" for event in events).encode()


def logged(memory: Memory) -> list[str]:
    """Every line of agent main's logs."""
    folder = memory.home / "log"
    return [line for file in sorted(folder.glob("*.jsonl")) for line in file.read_text("utf-8").splitlines()]


def test_turns_are_found_as_the_importers_and_untrusted(tmp_path: Path) -> None:
    """With speaker and own date; what came after a page is logged, and no model is shown it; a person is."""
    with home(tmp_path) as memory:
        report = memory.import_transcript("main", lines(*TALK), key="talk", run="r1")
        assert (report.events, report.turns, report.tainted, report.known) == (4, 2, 2, 0)
        agent = memory.agent("main")
        hits = agent.search("fuse box", min_score=0).hits
        assert [hit.text for hit in hits[:2]] == [TALK[1]["text"], TALK[0]["text"]]
        hit = hits[1]
        assert hit.turn is not None
        assert (hit.turn.speaker, hit.turn.key, hit.author, hit.trust) == (
            "Ann",
            "talk",
            "importer:r1",
            Trust.UNTRUSTED,
        )
        assert hit.recorded_at.startswith("2026-11-20T09:00")
        assert not [text for text in texts(agent, "sale of fuses") if "sale" in text]
        assert [item.text for item in agent.timeframe("2026-11-20").entries] == [TALK[0]["text"], TALK[1]["text"]]
        assert len(memory.person("main").timeframe("2026-11-20").entries) == 4
        assert "fuse box is in the hall" in agent.session("now").context("Where is the fuse box again?").volatile
        assert agent.session("now").tainted is False
        assert memory.verify().problems == ()


def test_each_event_is_taken_in_once(tmp_path: Path) -> None:
    """Again, grown, after a restart, and twice the same words by the same speaker."""
    twice = {"role": "user", "text": "Yes, the same again please."}
    with home(tmp_path) as memory:
        assert memory.import_transcript("main", lines(*TALK[:2], twice, twice), key="talk").events == 4
        assert memory.import_transcript("main", lines(*TALK[:2], twice, twice), key="talk").known == 4
    with home(tmp_path) as memory:
        grown = memory.import_transcript("main", lines(*TALK[:2], twice, twice, twice, TALK[3]), key="talk")
        assert (grown.events, grown.known) == (2, 4)
        assert len(logged(memory)) == 6
        assert holding(memory.agent("main"), "same again") == [twice["text"]] * 3
        assert memory.import_transcript("main", lines(TALK[0]), key="another").events == 1


@pytest.mark.parametrize(
    "page",
    [
        {"role": "tool", "text": "page"},
        {"role": "tool", "name": "", "text": "page"},
        {"role": "tool", "name": "browser_navigate", "text": "page"},
        {"role": "tool", "name": "mcp__web__read", "text": "page"},
    ],
)
def test_what_follows_a_page_is_withheld_whatever_the_tool_is_called(tmp_path: Path, page: object) -> None:
    """A result without a tool's name is a page as well; the same words after a local tool are found."""
    after = {"role": "assistant", "text": "Now visit mallory example."}
    with home(tmp_path) as memory:
        assert memory.import_transcript("main", lines(TALK[0], page, after), key="web").tainted == 2
        assert not texts(memory.agent("main"), "mallory")
        local = {"role": "tool", "name": "read_file", "text": "a file"}
        assert memory.import_transcript("main", lines(TALK[0], local, after), key="local").tainted == 0
        assert holding(memory.agent("main"), "mallory") == ["Now visit mallory example."]


def test_secrets_do_not_come_in(tmp_path: Path) -> None:
    """They are redacted in the log and found by nobody; the words around them are there."""
    secret = {"role": "user", "text": "The wifi: password: Xk9-Tr7-Qm2-Lp4 for the attic"}
    with home(tmp_path) as memory:
        memory.import_transcript("main", lines(secret), key="talk")
        assert "Xk9" not in "".join(logged(memory))
        assert "attic" in "".join(logged(memory))
        assert texts(memory.agent("main"), "attic")


def test_claude_code_and_message_lists(tmp_path: Path) -> None:
    """The branch that ends in the last line, with calls and results of tools as such; a list of messages alike."""
    base = {"sessionId": "s", "isSidechain": False, "timestamp": "2026-11-20T09:00:00Z"}
    roof = {"role": "user", "content": "Mend the roof."}
    code = lines(
        {**base, "type": "user", "uuid": "a", "parentUuid": None, "message": roof},
        {**base, "type": "assistant", "uuid": "b", "parentUuid": "a", "message": {"role": "assistant", "content": [
            {"type": "text", "text": "An abandoned branch."}]}},
        {**base, "type": "assistant", "uuid": "c", "parentUuid": "a", "message": {"role": "assistant", "content": [
            {"type": "tool_use", "id": "t1", "name": "Read", "input": {"file": "roof.md"}}]}},
        {**base, "type": "user", "uuid": "d", "parentUuid": "c", "message": {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t1", "content": "tiles"}]}},
        {**base, "type": "assistant", "uuid": "e", "parentUuid": "d", "message": {"role": "assistant", "content": [
            {"type": "text", "text": "The roof needs tiles."}]}},
    )  # fmt: skip
    messages = json.dumps([
        {"role": "user", "content": "Mend the gate."}, {"role": "assistant", "content": "The gate needs oil."},
    ]).encode()  # fmt: skip
    with home(tmp_path) as memory:
        memory.import_transcript("main", code, key="code")
        memory.import_transcript("main", messages, key="list")
        person = memory.person("main")
        day = person.timeframe("2026-11-20").entries
        assert [item.kind for item in day] == [
            EpisodeKind.TURN, EpisodeKind.TOOL_CALL, EpisodeKind.TOOL_RESULT, EpisodeKind.TURN,
        ]  # fmt: skip
        assert "abandoned" not in "".join(logged(memory))
        assert texts(memory.agent("main"), "roof tiles")[0] == "The roof needs tiles."
        assert texts(memory.agent("main"), "gate oil")[0] == "The gate needs oil."


def test_what_is_no_transcript_is_refused_and_nothing_comes_in(tmp_path: Path) -> None:
    """Binary, empty and other JSON: an error that says so; broken lines among sound ones are named and left out."""
    with home(tmp_path) as memory:
        for data in (b"\x89PNG\r\n\x1a\n\x00\x00", b"", b'{"a": 1}', b"[1, 2, 3]"):
            with pytest.raises(InvalidInput):
                memory.import_transcript("main", data, key="no")
        assert not (memory.home / "log").exists() or logged(memory) == []
        mixed = lines(TALK[0]) + b"{torn\n" + lines(TALK[1])
        report = memory.import_transcript("main", mixed, key="mixed")
        assert report.events == 2
        assert [number for number, _ in report.skipped] == [2]


def test_another_agent_has_nothing_of_it(tmp_path: Path) -> None:
    """It goes into one agent's log; an agent whose name looks alike finds nothing."""
    with home(tmp_path) as memory:
        memory.import_transcript("ann", lines(*TALK), key="talk")
        assert not texts(memory.agent("anna"), "fuse box")
        assert texts(memory.agent("ann"), "fuse box")
        write(tmp_path, "note.txt", "x")


ASK = {"role": "user", "content": "What is new?"}
AFTER = {"role": "assistant", "content": "Now visit mallory example."}


@pytest.mark.parametrize(
    ("between", "tainted"),
    [
        ([{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "page"}]}], True),
        ([{"role": "assistant", "content": [
            {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},
            {"type": "web_search_tool_result", "tool_use_id": "s", "content": []}]}], True),
        ([{"type": "web_search_call", "id": "w"}], True),
        ([{"type": "function_call_output", "call_id": "gone", "output": "page"}], True),
        ([{"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "read_file", "input": {}}]},
          {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "page"}]}], False),
    ],
)  # fmt: skip
def test_parts_and_items_bring_their_taint(tmp_path: Path, between: list[object], tainted: bool) -> None:
    """A page that came as a part of a message, or from a tool at the provider, taints; a local file does not."""
    with home(tmp_path) as memory:
        report = memory.import_transcript("main", json.dumps([ASK, *between, AFTER]).encode(), key="k")
        assert bool(report.tainted) is tainted
        assert holding(memory.agent("main"), "mallory") == ([] if tainted else [AFTER["content"]])
        assert holding(memory.agent("main"), "new") == [ASK["content"]]


def coding(name: str, parent: str | None, content: object, role: str = "user", **more: object) -> dict[str, object]:
    """A line of a coding agent's transcript."""
    return {"type": role, "uuid": name, "parentUuid": parent, "sessionId": "s", **more,
            "message": {"role": role, "content": content}}  # fmt: skip


@pytest.mark.parametrize("tool", ["WebFetch", "Read"])
@pytest.mark.parametrize("where", ["beside the branch", "in a subagent"])
def test_pages_that_hang_beside_the_branch_taint(tmp_path: Path, tool: str, where: str) -> None:
    """A result of calls at the same time, and what a subagent has read, count as read; a local file does not taint."""
    aside: dict[str, Any] = {"isSidechain": True} if where == "in a subagent" else {}
    call = {"type": "tool_use", "id": "t2", "name": tool, "input": {}}
    result = {"type": "tool_result", "tool_use_id": "t2", "content": "page"}
    first = {"type": "tool_use", "id": "t1", "name": "Read", "input": {}}
    data = lines(
        coding("a", None, "What is new?"), coding("b", "a", [first], "assistant"),
        coding("c", "b", [call], "assistant", **aside), coding("e", "c", [result], **aside),
        coding("d", "c" if not aside else "b", [{"type": "tool_result", "tool_use_id": "t1", "content": "file"}]),
        coding("f", "d", "Now visit mallory example.", "assistant"),
    )  # fmt: skip
    with home(tmp_path) as memory:
        memory.import_transcript("main", data, key="k", form="claude-code")
        assert holding(memory.agent("main"), "mallory") == (
            [] if tool == "WebFetch" else ["Now visit mallory example."]
        )
        assert holding(memory.agent("main"), "new") == ["What is new?"]


def test_two_imports_at_the_same_time_take_each_event_in_once(tmp_path: Path) -> None:
    """Of one file under one key, by two handles: each event is one line, in one session, in order."""
    data = lines(*({"role": "user", "text": f"Number {number}.", "at": "2026-11-20"} for number in range(60)))
    with home(tmp_path) as one, home(tmp_path) as two, ThreadPoolExecutor(2) as pool:
        reports = list(pool.map(lambda memory: memory.import_transcript("main", data, key="k"), (one, two)))
        entries = [json.loads(line) for line in logged(one)]
        assert sorted(entry["text"] for entry in entries) == sorted(f"Number {number}." for number in range(60))
        assert len({entry["session"] for entry in entries}) == 1
        assert [entry["position"] for entry in entries] == list(range(1, 61))
        assert sum(report.events for report in reports) == 60
        assert one.verify().problems == ()


def test_an_import_into_an_open_session_is_heard_there(tmp_path: Path) -> None:
    """By the handle that talks in it, and after a restart, though the events are older than the session."""
    with home(tmp_path, memory__transcript_checkpoints="none") as memory:
        session = memory.agent("main").session("k")
        session.user("Before.")
        memory.import_transcript("main", lines(*TALK[:2]), key="k")
        session.user("After.")
        said = ["Before.", TALK[0]["text"], TALK[1]["text"], "After."]
        assert [message.text for message in session.messages] == said
    with home(tmp_path, memory__transcript_checkpoints="none") as memory:
        session = memory.agent("main").session("k")
        assert [message.text for message in session.messages] == said
        assert [message.position for message in session.messages] == [1, 2, 3, 4]


def test_one_odd_event_does_not_end_an_import(tmp_path: Path) -> None:
    """A time that no calendar has counts as none, a text that is too long is named, a long result is cut."""
    data = lines(
        {**TALK[0], "at": "0001-01-01T00:00:00+10:00"}, {**TALK[1], "at": "9999-12-31T23:59:59-10:00"},
        {"role": "user", "text": "x" * 1_000_001},
        {"role": "tool", "name": "read_file", "text": "word " * 400_000},
        {"role": "user", "text": "The end."},
    )  # fmt: skip
    with home(tmp_path) as memory:
        report = memory.import_transcript("main", data, key="k")
        assert (report.events, report.turns, report.known) == (4, 3, 0)
        assert report.skipped == ((3, "longer than 1,000,000 bytes"),)
        entries = [json.loads(line) for line in logged(memory)]
        assert [entry["text"][:20] for entry in entries][-1] == "The end."
        assert len(entries[2]["text"]) <= 10_000
        assert entries[2]["size"] == 2_000_000
        assert memory.import_transcript("main", data, key="k").events == 0
