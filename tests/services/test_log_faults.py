"""What went wrong with logs and transcripts once: handles at midnight, edits in place, odd lines, killed writers."""

from __future__ import annotations

import errno
import json
import os
import random
import time
from pathlib import Path

import pytest

from memoranda.adapters.files.log import FileEpisodeLog, FileTranscripts
from memoranda.adapters.sqlite.index import SqliteIndex
from memoranda.domain.conversation import checkpoint_of, read_checkpoint
from memoranda.domain.scope import Scope
from memoranda.errors import BackendError, InvalidInput
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


def test_a_line_that_is_there_twice_stops_nobody(tmp_path: Path) -> None:
    """In its own file or copied into another day's: it counts once, is named by the doctor, and the talk goes on."""
    with home(tmp_path) as memory:
        session = memory.agent("main").session("k")
        session.user("Today I ate an apricot.", at=NOON)
        line = (tmp_path / DAY).read_bytes()
        with (tmp_path / DAY).open("ab") as stream:
            stream.write(line)
        write(tmp_path, "log/2026-11-29.jsonl", line)
        memory.sync()
        session.user("Today I ate a blueberry.", at=NOON)
        memory.sync()
        assert texts(memory.agent("main"), "apricot") == ["Today I ate an apricot."]
        assert texts(memory.agent("main"), "blueberry") == ["Today I ate a blueberry."]
        assert [item.text for item in session.messages] == ["Today I ate an apricot.", "Today I ate a blueberry."]
        named = [item.subject for item in memory.doctor() if "has the id of the line" in item.message]
        assert named == ["agent:main log/2026-11-30.jsonl:1", "agent:main log/2026-11-30.jsonl:2"]
        assert memory.verify().problems == ()
        memory.reindex()
        assert texts(memory.agent("main"), "apricot") == ["Today I ate an apricot."]
        assert memory.verify().problems == ()


@pytest.mark.parametrize("policy", ["none", "every-call"])
def test_a_line_that_cannot_be_read_keeps_its_place(tmp_path: Path, policy: str) -> None:
    """What is said after a restart has a position of its own; once the line is mended all of it is there, in order."""
    with home(tmp_path, memory__transcript_checkpoints=policy) as memory:
        session = memory.agent("main").session("k")
        session.user("one", at=NOON)
        session.assistant("two", at=NOON)
    whole = (tmp_path / DAY).read_bytes()
    (tmp_path / DAY).write_bytes(whole.replace(b'"two"', b'"two'))
    with home(tmp_path, memory__transcript_checkpoints=policy) as memory:
        memory.agent("main").session("k").user("three", at=NOON)
    written = (tmp_path / DAY).read_bytes()
    (tmp_path / DAY).write_bytes(written.replace(b'"two', b'"two"'))
    for kept in (tmp_path / ".state/sessions").rglob("*.json"):
        kept.unlink()
    with home(tmp_path, memory__transcript_checkpoints=policy) as memory:
        found = memory.agent("main").session("k").messages
        assert [(item.position, item.text) for item in found] == [(1, "one"), (2, "two"), (3, "three")]
        memory.sync()
        assert memory.verify().problems == ()


def test_what_is_durable_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An index or a checkpoint that cannot be written is no reason to say it again; the next sync finds it."""

    def full(*_arguments: object, **_named: object) -> None:
        raise BackendError("no space left on device")

    with home(tmp_path) as memory:
        session = memory.agent("main").session("k")
        with monkeypatch.context() as broken:
            broken.setattr(SqliteIndex, "put_turns", full)
            broken.setattr(FileTranscripts, "keep", full)
            session.user("Today I ate an apricot.", at=NOON)
            session.assistant("Good.", at=NOON)
            session.compact(keep=0)
        assert len((tmp_path / DAY).read_bytes().splitlines()) == 2
        assert "no space left" in " ".join(session.warnings)
        memory.sync()
        assert texts(memory.agent("main"), "apricot") == ["Today I ate an apricot."]
        session.checkpoint()
        assert memory.verify().problems == ()


@pytest.mark.parametrize("call", ["write", "fsync"])
def test_a_line_that_was_not_written_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    """A disk that fills up half way through a line: an error, nothing of it, and the next line is whole."""
    with home(tmp_path) as memory:
        session = memory.agent("main").session("k")
        session.user("one", at=NOON)
        before = (tmp_path / DAY).read_bytes()
        real_write = os.write

        def full(descriptor: int, data: bytes = b"") -> int:
            real_write(descriptor, data[: len(data) // 2])
            raise OSError(errno.ENOSPC, "No space left on device")

        with monkeypatch.context() as broken:
            broken.setattr(f"memoranda.adapters.files.log.os.{call}", full)
            with pytest.raises(BackendError, match="No space left"):
                session.user("two", at=NOON)
        assert (tmp_path / DAY).read_bytes() == before
        session.user("three", at=NOON)
        assert [item.text for item in session.messages] == ["one", "three"]
        assert memory.verify().problems == ()


def test_a_new_conversation_is_new_though_its_key_is_in_use(tmp_path: Path) -> None:
    """`new` ends what went on under that key; `reset` of what has ended is refused, and leaves no second copy."""
    with home(tmp_path) as memory:
        agent = memory.agent("main")
        agent.session("b").user("An old talk.")
        made = agent.session("a")
        made.user("Something.")
        with pytest.raises(InvalidInput):
            made.new("")
        made.user("Something more.")
        begun = made.new("b")
        assert not [item.text for item in begun.messages]
        begun.user("A new talk.")
        assert [item.text for item in begun.messages] == ["A new talk."]
        assert begun.close()
        with pytest.raises(InvalidInput, match="ended"):
            begun.reset()
        assert len(list((tmp_path / "memory/sessions").iterdir())) == 3
        assert not agent.sessions()


def test_a_talk_of_many_days_reads_what_grew_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A turn opens no file of another day, unless somebody has written in it."""
    with home(tmp_path) as memory:
        session = memory.agent("main").session("k")
        for day in range(1, 9):
            session.user(f"day {day}", at=f"2026-11-0{day}T12:00:00+00:00")
        read_files: list[str] = []
        real = FileEpisodeLog.read

        def counted(self: FileEpisodeLog, scope: Scope, path: str, *rest: int) -> bytes | None:
            read_files.append(path)
            return real(self, scope, path, *rest)

        monkeypatch.setattr(FileEpisodeLog, "read", counted)
        session.user("again", at="2026-11-08T13:00:00+00:00")
        assert read_files == []
        memory.agent("main").session("k").user("by another", at="2026-11-03T12:00:00+00:00")
        read_files.clear()
        session.user("once more", at="2026-11-08T14:00:00+00:00")
        assert read_files == ["log/2026-11-03.jsonl"]
        assert [item.text for item in session.messages][-2:] == ["by another", "once more"]
