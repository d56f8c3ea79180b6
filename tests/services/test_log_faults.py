"""What went wrong with logs and transcripts once: handles at midnight, edits in place, odd lines, killed writers."""

from __future__ import annotations

import json
import os
import random
import time
from pathlib import Path

import pytest

from memoranda.domain.conversation import checkpoint_of, read_checkpoint
from memoranda.errors import InvalidInput
from memoranda.testing.made_up_secrets import FORMATS, made_up
from tests.homes import home, read, texts, write

NOON = "2026-11-30T12:00:00+00:00"
NEXT = "2026-12-01T12:00:00+00:00"
DAY = "log/2026-11-30.jsonl"


def test_two_handles_of_a_session_agree_across_midnight(tmp_path: Path) -> None:
    """What one says on one day the other has before it speaks on the next; positions follow one another."""
    with home(tmp_path) as memory:
        one, two = memory.agent("main").session("k"), memory.agent("main").session("k")
        one.user("late", at=NOON)
        two.user("early", at=NEXT)
        one.user("again", at=NOON)
        two.user("last", at=NEXT)
        lines = [json.loads(line) for day in ("11-30", "12-01") for line in read(
            tmp_path, f"log/2026-{day}.jsonl").splitlines()]  # fmt: skip
        assert sorted(line["position"] for line in lines) == [1, 2, 3, 4]
        assert sorted(item.text for item in two.messages) == ["again", "early", "last", "late"]


def test_what_is_told_of_earlier_days_is_there_after_a_restart(tmp_path: Path) -> None:
    """Though no checkpoint has it; what another session said on that day is not."""
    with home(tmp_path, memory__transcript_checkpoints="none") as memory:
        memory.agent("main").session("other").user("not mine", at="2020-01-01T10:00:00+00:00")
        session = memory.agent("main").session("k")
        session.user("first", at="2020-01-01T10:00:00+00:00")
        session.user("second")
    with home(tmp_path, memory__transcript_checkpoints="none") as memory:
        assert [item.text for item in memory.agent("main").session("k").messages] == ["first", "second"]


@pytest.mark.parametrize("meanwhile", ["nothing", "a turn", "a turn of another process"])
def test_an_edit_in_place_is_followed(tmp_path: Path, meanwhile: str) -> None:
    """A line of the same length, in the same file, before the last: search has the new word and not the old one."""
    with home(tmp_path) as memory:
        session = memory.agent("main").session("k")
        for word in ("apricot", "blueberry"):
            session.user(f"Today I ate a {word}.", at=NOON)
        path = tmp_path / DAY
        data = path.read_bytes().replace(b"apricot", b"avocado")
        time.sleep(0.01)
        with path.open("r+b") as stream:
            stream.write(data)
        if meanwhile == "a turn":
            session.user("Today I ate a cranberry.", at=NOON)
        elif meanwhile == "a turn of another process":
            with home(tmp_path) as other:
                other.agent("main").session("k").user("Today I ate a cranberry.", at=NOON)
        memory.sync()
        assert texts(memory.agent("main"), "avocado") == ["Today I ate a avocado."]
        assert not texts(memory.agent("main"), "apricot")
        assert memory.verify().problems == ()


@pytest.mark.parametrize(
    "change",
    [
        {"at": "nonsense"}, {"at": "2026-11-30T12:00:00"}, {"at": 5}, {"session": "\ud800"},
        {"text": "odd \ud800 word"},
        {"speaker": "\udfff"}, {"kind": "turnip"}, {"position": "1"}, {"text": None}, {"more": 1},
    ],
    ids=repr,
)  # fmt: skip
def test_an_odd_line_stops_nothing(tmp_path: Path, change: dict[str, object]) -> None:
    """Sync, search, timeframe, a turn, a reset and verify go on; the lines beside it are found."""
    with home(tmp_path) as memory:
        session = memory.agent("main").session("k")
        session.user("Today I ate an apricot.", at=NOON)
        line = {**json.loads(read(tmp_path, DAY)), "id": "epi_0000000000000000000000", "position": 7, **change}
        write(tmp_path, DAY, read(tmp_path, DAY) + json.dumps(line) + "\n")
        memory.sync()
        assert "Today I ate an apricot." in texts(memory.agent("main"), "apricot")
        assert memory.person("main").timeframe("2026-11-30").total in (1, 2)
        session.user("Today I ate a cranberry.", at=NOON)
        session.reset()
        assert texts(memory.agent("main"), "cranberry")
        assert memory.verify().problems == ()
        named = [finding.subject for finding in memory.doctor() if DAY in finding.subject]
        assert len(named) in (0, 1)
        assert bool(named) is (
            set(change) not in ({"session"}, {"speaker"}) and change.get("text") != "odd \ud800 word"
        )


def test_characters_that_utf8_cannot_hold_are_marked(tmp_path: Path) -> None:
    """A turn with a lone surrogate is found, logged and proved as one text."""
    with home(tmp_path) as memory:
        memory.agent("main").session("k").user("apricot a\ud800b", speaker="Ann\udfff")
        assert texts(memory.agent("main"), "apricot") == ["apricot a?b"]
        assert memory.verify().problems == ()


@pytest.mark.parametrize("value", [None, 5, [1], "abc", {"log/x.jsonl": "1"}, {"log/x.jsonl": None}])
def test_a_checkpoint_of_another_form_is_damaged(tmp_path: Path, value: object) -> None:
    """It is passed over with a warning, and the session goes on from the log."""
    with home(tmp_path) as memory:
        session = memory.agent("main").session("k")
        session.user("hello there")
        session.checkpoint()
        sound = checkpoint_of(session._conversation)
        assert read_checkpoint(sound, session.id) is not None
        broken = json.dumps({**json.loads(sound), "seen": value}).encode()
        assert read_checkpoint(broken, session.id) is None
        odd = json.loads(sound)
        odd["messages"][0]["text"] = 5
        assert read_checkpoint(json.dumps(odd).encode(), session.id) is None
        (kept,) = (tmp_path / ".state/sessions/agent+main").glob("*.json")
        kept.write_bytes(broken)
        again = memory.agent("main").session("k")
        assert [item.text for item in again.messages] == ["hello there"]
        assert len(again.warnings) == 1


def test_no_name_holds_a_secret(tmp_path: Path) -> None:
    """A session's key with one is refused; in a tool's name, a call's id and a speaker it is redacted."""
    secret = made_up(FORMATS[0], random.Random(1))
    with home(tmp_path) as memory:
        agent = memory.agent("main")
        with pytest.raises(InvalidInput, match="key"):
            agent.session(f"key {secret}")
        session = agent.session("k")
        session.user("apricot", speaker=f"Ann {secret}")
        session.tool_call(f"ls {secret}", "call", call_id=f"id {secret}")
        session.tool_result(f"ls {secret}", "result", call_id=f"id {secret}", server="web")
        session.close()
    held = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert secret.encode() not in held
    assert b"apricot" in held


def test_what_a_killed_writer_left_is_cleared_away(tmp_path: Path) -> None:
    """Half-written transcripts of a process that is gone go when a session opens; fresh ones and others stay."""
    with home(tmp_path) as memory:
        memory.agent("main").session("k").checkpoint()
        folder = tmp_path / ".state/sessions/agent+main"
        stale, fresh, other = (folder / name for name in (
            ".memoranda-99999999-0a0b0c0d", ".memoranda-99999999-1a0b0c0d", ".memoranda-notes"))  # fmt: skip
        for path in (stale, fresh, other):
            path.write_bytes(b"half a transcript")
        for path in (stale, other):
            os.utime(path, (time.time() - 600,) * 2)
        memory.agent("main").session("another")
        assert not stale.exists()
        assert fresh.exists()
        assert other.exists()


def test_a_session_that_has_ended_keeps_nothing_more(tmp_path: Path) -> None:
    """Neither a private value nor a checkpoint nor a turn; opened again, it does."""
    with home(tmp_path) as memory:
        session = memory.agent("main").session("k")
        session.state_set("a", "b", 1)
        session.close()
        for act in (lambda: session.state_set("a", "b", 1), session.checkpoint, lambda: session.user("x")):
            with pytest.raises(InvalidInput, match="ended"):
                act()
        folder = tmp_path / ".state/sessions/agent+main"
        assert not folder.exists() or not list(folder.iterdir())
        memory.agent("main").session("k").state_set("a", "b", 1)
