"""The daily log: one durable line an event, in the file of the user's day, and all that search knows of it."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import memoranda
from memoranda.domain.record import Trust
from memoranda.errors import InvalidInput
from memoranda.interfaces import tools
from memoranda.memory import Memory
from memoranda.testing.made_up_secrets import FORMATS, made_up
from tests.homes import KEYWORDS_ONLY, home, read, texts, write

DAY = "log/2026-11-30.jsonl"
NOON = "2026-11-30T12:00:00+00:00"


def logs(folder: Path) -> list[str]:
    """The log files of the agent `main`, oldest first."""
    return sorted(f"log/{path.name}" for path in (folder / "log").glob("*"))


def lines(folder: Path) -> list[dict[str, Any]]:
    """Every line of every log; a line that is no JSON fails."""
    return [json.loads(line) for path in logs(folder) for line in read(folder, path).split("\n") if line]


def berlin(folder: Path) -> None:
    """Let the user live in Berlin."""
    write(folder, "USER.md", "Time zone: Europe/Berlin\n")


def three_turns(folder: Path) -> bytes:
    """Say three turns at noon in Berlin and return the log."""
    berlin(folder)
    with home(folder) as memory:
        session = memory.agent("main").session("k")
        for word in ("apricot", "blueberry", "cranberry"):
            session.user(f"Today I ate a {word}.", at=NOON)
    return (folder / DAY).read_bytes()


def found(memory: Memory) -> list[str]:
    """The fruit that search finds, in order of the alphabet."""
    return sorted(text.split()[-1].rstrip(".") for text in texts(memory.agent("main"), "ate today", limit=64))


def test_every_event_is_a_line_before_its_call_returns(tmp_path: Path) -> None:
    """Each call adds one line, which another open home reads at once; kinds, roles and positions are in it."""
    with home(tmp_path) as memory, memoranda.open(tmp_path, settings=KEYWORDS_ONLY) as other:
        session = memory.agent("main").session("k")
        acts: tuple[tuple[Callable[[], object], str, str], ...] = (
            (lambda: session.user("A question.", speaker="Ann"), "turn", "user"),
            (lambda: session.assistant("An answer."), "turn", "assistant"),
            (lambda: session.say("system", "A rule."), "system", "system"),
            (lambda: session.tool_call("ls", {"path": "/"}, call_id="c1"), "tool_call", "assistant"),
            (lambda: session.tool_result("ls", "files", call_id="c1"), "tool_result", "tool"),
            (lambda: session.note("decision", "We go."), "decision", "system"),
            (lambda: session.note("note", "Noted."), "note", "system"),
            (lambda: session.note("error", "It broke."), "error", "system"),
            (lambda: session.note("heartbeat", "ok"), "heartbeat", "system"),
            (lambda: session.compact("So far.", keep=0), "compaction", "system"),
        )
        for number, (act, kind, role) in enumerate(acts, 1):
            act()
            written = lines(tmp_path)
            assert len(written) == number
            last = written[-1]
            assert (last["kind"], last["role"], last["position"]) == (kind, role, number)
            assert (last["session"], last["key"], last["author"]) == (session.id, "k", "agent:main")
            assert other.person("main").timeframe("today").total == number
        assert lines(tmp_path)[0]["speaker"] == "Ann"
        assert (lines(tmp_path)[3]["tool"], lines(tmp_path)[3]["call"]) == ("ls", "c1")
        assert len({line["id"] for line in lines(tmp_path)}) == len(acts)


def test_another_process_finds_a_turn_at_once(tmp_path: Path) -> None:
    """A second open home, opened before, finds it by search without a sync; another agent does not."""
    with home(tmp_path) as memory, memoranda.open(tmp_path, settings=KEYWORDS_ONLY) as other:
        assert texts(other.agent("main"), "kumquat") == []
        memory.agent("main").session("k").user("I like a kumquat.")
        assert texts(other.agent("main"), "kumquat") == ["I like a kumquat."]
        assert texts(other.agent("else"), "kumquat") == []


def test_what_is_found_by_search_and_what_is_not(tmp_path: Path) -> None:
    """Turns of untainted sessions are; everything else is logged alone."""
    with home(tmp_path) as memory:
        session = memory.agent("main").session("k")
        session.user("zebra of the user")
        session.assistant("zebra of the model")
        session.say("system", "zebra of the system")
        session.tool_call("ls", "zebra of a call")
        session.tool_result("ls", "zebra of a result")
        for kind in ("decision", "note", "error", "heartbeat"):
            session.note(kind, f"zebra of a {kind}")
        session.user("HEARTBEAT_OK")
        session.user("  ")
        session.tool_result("web_fetch", "zebra of the web")
        session.assistant("zebra after taint")
        session.compact("zebra of a summary", keep=0)
        assert sorted(texts(memory.agent("main"), "zebra")) == ["zebra of the model", "zebra of the user"]
        assert sorted(texts(memory.agent("main"), "")) == ["zebra of the model", "zebra of the user"]
        assert sum("zebra" in line["text"] for line in lines(tmp_path)) == 12
        assert memory.verify().problems == ()


def test_the_day_is_that_of_the_users_zone(tmp_path: Path) -> None:
    """Around midnight in Berlin, turns a second apart stand in two files; a range over both has both."""
    berlin(tmp_path)
    with home(tmp_path) as memory:
        session = memory.agent("main").session("k")
        session.user("Late still.", at="2026-11-30T22:59:59+00:00")
        session.user("Early already.", at="2026-11-30T23:00:00+00:00")
        assert [line["position"] for line in lines(tmp_path)] == [1, 2]
        assert "Late still." in read(tmp_path, "log/2026-11-30.jsonl")
        assert "Early already." in read(tmp_path, "log/2026-12-01.jsonl")
        person = memory.person("main")
        assert [item.text for item in person.timeframe("2026-11-30").entries] == ["Late still."]
        assert [item.text for item in person.timeframe("2026-12-01").entries] == ["Early already."]
        assert person.timeframe(first="2026-11-30", last="2026-12-01").total == 2
        assert [item.text for item in session.messages] == ["Late still.", "Early already."]


@pytest.mark.parametrize(
    ("day", "first", "last"),
    [
        ("2026-03-29", "2026-03-28T23:00:00+00:00", "2026-03-29T21:59:59+00:00"),
        ("2026-10-25", "2026-10-24T22:00:00+00:00", "2026-10-25T22:59:59+00:00"),
    ],
)
def test_a_day_on_which_the_clocks_change(tmp_path: Path, day: str, first: str, last: str) -> None:
    """Its first and its last second are in its file, whether it has 23 hours or 25."""
    berlin(tmp_path)
    with home(tmp_path) as memory:
        session = memory.agent("main").session("k")
        session.user("First second.", at=first)
        session.user("Last second.", at=last)
        assert logs(tmp_path) == [f"log/{day}.jsonl"]
        assert memory.person("main").timeframe(day).total == 2


def test_a_user_who_moves_has_another_day(tmp_path: Path) -> None:
    """Now is never the same date in two zones 25 hours apart; what was said before is then told by the new clock."""
    write(tmp_path, "USER.md", "Time zone: Pacific/Pago_Pago\n")
    with home(tmp_path) as memory:
        session = memory.agent("main").session("k")
        session.user("Said in the west.")
        assert memory.person("main").timeframe("today").zone == "Pacific/Pago_Pago"
        write(tmp_path, "USER.md", "Time zone: Pacific/Kiritimati\n")
        session.user("Said in the east.")
        west, east = logs(tmp_path)
        assert "Said in the west." in read(tmp_path, west)
        assert "Said in the east." in read(tmp_path, east)
        today = memory.person("main").timeframe(east[4:14])
        assert (today.zone, today.total) == ("Pacific/Kiritimati", 2)


@pytest.mark.parametrize("cut", [1, 2, 40, 120])
def test_a_torn_last_line_costs_nothing_else(tmp_path: Path, cut: int) -> None:
    """What stood before is found; the next turn begins on a line of its own; a sync says which line is torn."""
    whole = three_turns(tmp_path)
    write(tmp_path, DAY, whole[:-cut])
    shutil.rmtree(tmp_path / ".state" / "index")
    with home(tmp_path) as memory:
        skipped = [item for item in memory.sync().skipped if "log/" in str(item)]
        assert len(skipped) == 1
        assert "torn" in str(skipped[0])
        assert found(memory) == ["apricot", "blueberry"]
        session = memory.agent("main").session("k")
        assert session.user("Today I ate a damson.", at=NOON) == "Today I ate a damson."
        assert {"apricot", "blueberry", "damson"} <= set(found(memory))
    with home(tmp_path) as memory:
        memory.sync()
        assert {"apricot", "blueberry", "damson"} <= set(found(memory))
    data = (tmp_path / DAY).read_bytes()
    assert data.startswith(whole[:-cut] + b"\n")
    assert data.endswith(b"\n")
    assert json.loads(data.splitlines()[-1])["text"] == "Today I ate a damson."


@pytest.mark.parametrize(
    "garbage", [b"garbage", b"{}", b"[1,2]", b'{"id":"x"}', b"\xff\xfe\x00", b"null", b"[" * 9_000]
)
def test_garbage_between_lines_costs_nothing_else(tmp_path: Path, garbage: bytes) -> None:
    """Every turn around it is found and told, and so is the next one."""
    first, second, third = three_turns(tmp_path).splitlines(keepends=True)
    write(tmp_path, DAY, first + garbage + b"\n\n" + second + third)
    with home(tmp_path) as memory:
        memory.sync()
        assert found(memory) == ["apricot", "blueberry", "cranberry"]
        assert memory.person("main").timeframe("2026-11-30").total == 3
        memory.agent("main").session("k").user("Today I ate a damson.", at=NOON)
        assert found(memory) == ["apricot", "blueberry", "cranberry", "damson"]


@pytest.mark.parametrize(
    ("change", "left"),
    [
        ("delete the first", ["blueberry", "cranberry"]),
        ("delete the last", ["apricot", "blueberry"]),
        ("edit the first", ["blueberry", "cranberry", "fig"]),
        ("edit the last", ["apricot", "blueberry", "cashewnut"]),
        ("empty", []),
        ("delete the file", []),
        ("leave it", ["apricot", "blueberry", "cranberry"]),
    ],
)
def test_recall_follows_an_edit_by_hand(tmp_path: Path, change: str, left: list[str]) -> None:
    """What a person takes out of a log is no longer found after a sync, what they write differently is found so."""
    first, second, third = three_turns(tmp_path).splitlines(keepends=True)
    data = {
        "delete the first": second + third,
        "delete the last": first + second,
        "edit the first": first.replace(b"apricot", b"fig") + second + third,
        "edit the last": first + second + third.replace(b"cranberry", b"cashewnut"),
        "empty": b"",
    }
    with home(tmp_path) as memory:
        assert found(memory) == ["apricot", "blueberry", "cranberry"]
        if change == "delete the file":
            (tmp_path / DAY).unlink()
        elif change in data:
            write(tmp_path, DAY, data[change])
        memory.sync()
        assert found(memory) == left
        assert memory.verify().problems == ()
        memory.agent("main").session("k").user("Today I ate a damson.", at=NOON)
        assert found(memory) == sorted([*left, "damson"])


def test_a_lost_index_is_built_again_from_the_log(tmp_path: Path) -> None:
    """The same turns are found with the same ids, speakers, lines and places."""
    three_turns(tmp_path)
    with home(tmp_path) as memory:
        memory.agent("main").session("k").assistant("You ate well today.", speaker="Bot", at=NOON)
        before = memory.agent("main").search("ate today", limit=64, min_score=0).hits
    shutil.rmtree(tmp_path / ".state" / "index")
    with home(tmp_path) as memory:
        memory.sync()
        after = memory.agent("main").search("ate today", limit=64, min_score=0).hits
        assert len(after) == 4
        assert {(hit.chunk_id, hit.text, hit.turn, hit.citation) for hit in after} == {
            (hit.chunk_id, hit.text, hit.turn, hit.citation) for hit in before
        }
        assert memory.verify().problems == ()


def test_each_turn_is_indexed_once(tmp_path: Path) -> None:
    """After syncs, restarts, a rebuilt index and touched files every turn is one hit, with its own line."""
    three_turns(tmp_path)
    for _ in range(3):
        with home(tmp_path) as memory:
            (tmp_path / DAY).touch()
            memory.sync()
            memory.sync()
            memory.agent("main").session("k").messages  # noqa: B018 - it reads the log
            assert found(memory) == ["apricot", "blueberry", "cranberry"]
    with home(tmp_path) as memory:
        memory.reindex()
        assert found(memory) == ["apricot", "blueberry", "cranberry"]
        hits = memory.agent("main").search("ate today", limit=64, min_score=0).hits
        assert sorted(hit.line_start for hit in hits) == [1, 2, 3]
        assert {hit.trust for hit in hits} == {Trust.AGENT_OBSERVED}
        assert memory.verify().problems == ()


def test_a_long_result_is_cut_at_a_character(tmp_path: Path) -> None:
    """The log has at most 10,000 bytes with size and hash of the whole; the model gets it unchanged."""
    with home(tmp_path) as memory:
        session = memory.agent("main").session("k")
        for text in ("x" + "ü" * 9_000, "y" + "ü" * 9_000, "x" + "ü" * 9_000, "z" * 10_000):
            assert session.tool_result("ls", text) == text
        first, second, third, short = lines(tmp_path)
        assert first["text"] == "x" + "ü" * 4_999
        assert (first["size"], len(first["text"].encode())) == (18_001, 9_999)
        assert first["whole"] == third["whole"] != second["whole"]
        assert (short["text"], "size" in short, "whole" in short) == ("z" * 10_000, False, False)


@pytest.mark.slow
def test_a_turn_is_kept_whole_or_refused(tmp_path: Path) -> None:
    """A turn of a million bytes is logged and found by its last word; a longer one is refused and leaves no line."""
    with home(tmp_path) as memory:
        session = memory.agent("main").session("k")
        long = "word " * 199_996 + "the last is quagga"
        assert len(long) < 1_000_000
        assert session.user(long) == long
        assert lines(tmp_path)[0]["text"] == long
        assert memory.agent("main").search("quagga", min_score=0).hits[0].text.endswith("quagga")
        with pytest.raises(InvalidInput, match="1,000,000"):
            session.user("ü" * 500_001)
        assert len(lines(tmp_path)) == 1
        session.user("Short again.")
        assert [line["position"] for line in lines(tmp_path)] == [1, 2]


@pytest.mark.parametrize(
    "text", ["line\nbreak\r\nand\rmore", "sep\u2028arator\x85\x0b", 'quo"tes\\', "\x00nul", "😀 ü 日本"]
)
def test_any_text_is_one_line(tmp_path: Path, text: str) -> None:
    """Breaks of every kind stay inside the line, and the text is read back as it was."""
    with home(tmp_path) as memory:
        session = memory.agent("main").session("k")
        session.user(text)
        session.user("after it")
        (path,) = logs(tmp_path)
        assert (tmp_path / path).read_bytes().count(b"\n") == 2
        assert lines(tmp_path)[0]["text"] == text
    with home(tmp_path) as memory:
        assert [item.text for item in memory.agent("main").session("k").messages] == [text, "after it"]


@pytest.mark.slow
def test_a_secret_is_nowhere(tmp_path: Path) -> None:
    """No file of the home and no answer holds one that came with any event; the words beside it are there."""
    secrets = [made_up(entry, random.Random(entry.name)) for entry in FORMATS if entry.bare]
    returned: list[str] = []
    with home(tmp_path) as memory:
        agent, person = memory.agent("main"), memory.person("main")
        session = agent.session("k")
        for number, secret in enumerate(secrets):
            text = f"beside{number} {secret} walrus"
            session.tool_call("run", {"argument": text}, call_id=str(number))
            session.tool_result("run", f"{'x' * (9_990 if number % 2 else 0)} {text}", call_id=str(number))
            session.user(text)
            session.assistant(text, speaker=secret)
            session.note("note", text)
        session.compact(f"summary {secrets[0]} walrus")
        session.checkpoint()
        returned += [item.text for item in session.messages]
        returned += texts(agent, "walrus", limit=64)
        returned += [str(item) for viewer in (agent, person) for item in viewer.timeframe("today").entries]
        caller = tools.Caller(agent)
        returned.append(str(tools.call(tools.TOOLS, "recall_timeframe", caller, {"date": "today"})))
        returned.append(str(tools.call(tools.TOOLS, "recall_search", caller, {"query": "walrus", "k": 20})))
        shown = agent.session("another").context("what about the walrus beside1")
        returned += [shown.stable, shown.volatile]
        checkpoints = _bytes(tmp_path / ".state" / "sessions")
        exported = session.reset()
        assert all("walrus" in text for text in (returned[-1], read(tmp_path, exported), checkpoints.decode()))
    everything = _bytes(tmp_path) + checkpoints + "\n".join(returned).encode()
    assert [secret for secret in secrets if secret.encode() in everything] == []
    assert len(secrets) > 20
    assert everything.count(b"walrus") > len(secrets)
    assert f"beside{len(secrets) - 1} ".encode() in everything


def _bytes(folder: Path) -> bytes:
    """Every byte of every file below a folder."""
    return b"\n".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def test_a_zone_that_nobody_knows_is_named(tmp_path: Path) -> None:
    """Days are then those of the system, and doctor says so; a known zone is no finding."""
    write(tmp_path, "USER.md", "Time zone: Middle/Earth\n")
    with home(tmp_path) as memory:
        found = [finding.message for finding in memory.doctor() if finding.subject == "time zone"]
        assert len(found) == 1
        assert "Middle/Earth" in found[0]
        berlin(tmp_path)
        assert not [finding for finding in memory.doctor() if finding.subject == "time zone"]
