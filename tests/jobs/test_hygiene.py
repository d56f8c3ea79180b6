"""Hygiene of transcripts: what is long past is one line each, the log keeps everything, and it comes back whole."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memoranda.errors import InvalidInput
from memoranda.memory import Session
from tests.homes import home

PAGE = "A long result. " * 40


def talked(session: Session) -> None:
    """Let a session call a tool, hear heartbeats, and go on for three turns of the user."""
    session.user("What does the page say?")
    session.tool_call("calculator", {"of": 1}, call_id="c1")
    session.tool_result("calculator", PAGE, call_id="c1")
    session.assistant("It is long.")
    for _ in range(3):
        session.user("HEARTBEAT")
        session.assistant("HEARTBEAT_OK")
    session.user("And now?")
    session.tool_result("calculator", "Short.")
    session.assistant("Now it is short.")
    session.user("Once more.")
    session.tool_call("calculator", {"of": 2}, call_id="c2")
    session.tool_result("calculator", PAGE, call_id="c2")


def test_old_results_and_heartbeats_become_lines_and_come_back(tmp_path: Path) -> None:
    """The placeholder names tool, size and place; what is recent or short stays; restoring gives what was there."""
    with home(tmp_path) as memory:
        session = memory.agent("main").session("s")
        talked(session)
        before = session.messages
        logs = {path: path.read_bytes() for path in tmp_path.rglob("*.jsonl")}
        report = session.tidy(keep_turns=1)
        assert (report.kind, report.state, report.questions, report.session) == ("hygiene", "done", 0, session.id)
        texts = [message.text for message in session.messages]
        assert f"[a result of calculator is left out here: {len(PAGE):,} bytes, entry 3]" in texts
        assert texts.count(PAGE) == 1
        assert "Short." in texts
        assert sum("6 heartbeats from" in text for text in texts) == 1
        assert not any("HEARTBEAT" in text for text in texts)
        assert len(texts) == len(before) - 5
        assert {path: path.read_bytes() for path in tmp_path.rglob("*.jsonl")} == logs
        assert session.tidy(keep_turns=1).state == "skipped"
        assert session.restore_hygiene() == 7
        assert session.messages == before
        assert session.restore_hygiene() == 0
        kinds = [event.kind for event in memory.person("main").log(kind="memory.hygiene")]
        assert kinds == ["memory.hygiene.restored", "memory.hygiene.pruned"]
        said = json.loads(memory.person("main").log(kind="memory.hygiene.pruned")[0].payload)
        assert (said["results"], said["bytes"], said["heartbeats"]) == (1, len(PAGE), 6)
        assert memory.person("main").run(report.id).steps == report.steps


def test_it_holds_after_a_restart_and_in_another_process(tmp_path: Path) -> None:
    """A session that is taken up again is as tidy as it was, and can be restored there; so it is after more turns."""
    with home(tmp_path) as memory, home(tmp_path) as other:
        session = memory.agent("main").session("s")
        talked(session)
        before = session.messages
        beside = other.agent("main").session("s")
        session.tidy(keep_turns=1)
        tidy = session.messages
        assert tidy != before
        assert beside.messages == tidy
    with home(tmp_path) as memory:
        session = memory.agent("main").session("s")
        assert session.messages == tidy
        session.user("Later.")
        assert session.messages[:-1] == tidy
        assert session.tidy(keep_turns=1).state == "done"
        assert PAGE not in [message.text for message in session.messages]
        assert session.restore_hygiene() == 8
        assert session.messages[:-1] == before


def test_compaction_and_hygiene_go_together(tmp_path: Path) -> None:
    """Compacted after it was tidied, a call and its result stay together, and what stays is still tidy."""
    with home(tmp_path) as memory:
        session = memory.agent("main").session("s")
        talked(session)
        session.tidy(keep_turns=0)
        assert session.compact("A summary.", keep=2)
        kinds = [message.kind for message in session.messages]
        assert kinds == ["summary", "tool_call", "tool_result"]
        assert "left out here" in session.messages[-1].text
        session.restore_hygiene()
        assert session.messages[-1].text == PAGE


def test_a_reset_begins_whole(tmp_path: Path) -> None:
    """A session that begins anew has nothing pruned; its own results are there until it is tidied."""
    with home(tmp_path) as memory:
        session = memory.agent("main").session("s")
        talked(session)
        session.tidy(keep_turns=0)
        session.reset()
        session.tool_result("calculator", PAGE)
        assert [message.text for message in session.messages] == [PAGE]
        session.tidy(keep_turns=0)
        assert PAGE not in [message.text for message in session.messages]


def test_what_cannot_be_kept_is_refused(tmp_path: Path) -> None:
    """Fewer than no turns, or a session that has ended, is an error; more turns than there are prune nothing."""
    with home(tmp_path) as memory:
        session = memory.agent("main").session("s")
        talked(session)
        with pytest.raises(InvalidInput):
            session.tidy(keep_turns=-1)
        assert session.tidy().code == "nothing"
        assert session.tidy(keep_turns=2).state == "done"
        session.close()
        with pytest.raises(InvalidInput):
            session.tidy()
        with pytest.raises(InvalidInput):
            session.restore_hygiene()
