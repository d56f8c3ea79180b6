"""What new users stumbled over: times of their zone, core files by hand, and values that are no text."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from memoranda.domain.block import changed
from memoranda.domain.day import TimeFrame, Zone
from memoranda.domain.outcome import BatchOutcome, Conflicted, Outcome, Refused, Saved
from memoranda.domain.query import Filters
from memoranda.domain.record import Details
from memoranda.errors import BackendError, InvalidInput, MemorandaError
from memoranda.memory import Agent, Memory, Session
from tests.homes import home, read, texts, write

TOKYO = "Time zone: Asia/Tokyo\n"
BLOCKS = """
[[memory.core.blocks]]
label = "human"
[[memory.core.blocks]]
label = "rules"
shared = true
[[memory.core.blocks]]
label = "crew"
shared = true
agents = ["bob"]
"""
NOT_TEXT: tuple[Any, ...] = (None, b"x", 7, "\ud800", "\udcff", "a\0b", ["x"])
ID = "rec_0000000000000000000000"


@pytest.fixture
def system_zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Set the zone of the machine for one test."""

    def put(name: str) -> None:
        monkeypatch.setenv("TZ", name)
        time.tzset()

    yield put
    monkeypatch.undo()
    time.tzset()


def told(folder: Path, at: str) -> str:
    """The time that a turn told with `at` has in the log."""
    with home(folder) as memory:
        session = memory.agent("main").session("then")
        session.user("It was said then.", at=at)
        return session.messages[-1].at


def test_a_time_without_an_offset_is_the_users(tmp_path: Path) -> None:
    """`at` is a time of the zone in `USER.md`; a date alone is the start of that day there; an offset counts."""
    write(tmp_path, "USER.md", TOKYO)
    assert told(tmp_path, "2026-11-30T14:00") == "2026-11-30T05:00:00.000000+00:00"
    assert told(tmp_path, "2026-11-30") == "2026-11-29T15:00:00.000000+00:00"
    assert told(tmp_path, "2026-11-30T14:00+00:00") == "2026-11-30T14:00:00.000000+00:00"
    with home(tmp_path) as memory:
        assert memory.agent("main").timeframe("2026-11-30").total == 3
        assert (tmp_path / "log/2026-11-30.jsonl").exists()


def test_a_time_without_an_offset_is_the_machines_where_no_zone_is_named(
    tmp_path: Path, system_zone: Callable[[str], None]
) -> None:
    """Without a zone in `USER.md` the system's counts, summer time included."""
    system_zone("Europe/Berlin")
    assert told(tmp_path, "2026-11-30T14:00") == "2026-11-30T13:00:00.000000+00:00"
    assert told(tmp_path, "2026-07-30T14:00") == "2026-07-30T12:00:00.000000+00:00"


@pytest.mark.parametrize("at", ["9999-12-31T23:59:59-12:00", "0001-01-01T00:00:00+12:00"])
def test_a_time_outside_of_the_calendar_is_refused(tmp_path: Path, at: str) -> None:
    """A time that UTC cannot write is an error, wherever one is given."""
    with home(tmp_path) as memory:
        agent = memory.agent("main")
        for ask in (
            lambda: agent.session("edge").user("x", at=at),
            lambda: agent.search("tea", as_of=at),
            lambda: agent.search("tea", filters=Filters(since=at)),
            lambda: agent.log(since=at),
        ):
            with pytest.raises(InvalidInput, match="years 1 to 9999"):
                ask()


@pytest.mark.parametrize(("day", "zone"), [("9999-12-31", "Asia/Tokyo"), ("0001-01-01", "America/Lima")])
def test_the_edges_of_the_calendar_are_days(tmp_path: Path, day: str, zone: str) -> None:
    """The first and the last day can be asked for, and what was said on them is found, also where a zone ends."""
    write(tmp_path, "USER.md", f"Time zone: {zone}\n")
    with home(tmp_path) as memory:
        agent = memory.agent("main")
        session = agent.session("edge")
        hour = "23" if day > "2" else "01"
        session.user("At the edge.", at=f"{day}T{hour}:30:00+00:00")
        assert [entry.text for entry in agent.timeframe(day).entries] == ["At the edge."]
        assert session.close()
    frame = Zone("UTC").day(f"{day}T12:00:00+00:00")
    assert len(TimeFrame(frame, frame).days_around) == 2


def one(outcome: BatchOutcome) -> Outcome:
    """The outcome of a change."""
    return outcome.items[0]


def value(agent: Agent, label: str) -> str:
    """A block's value as its agent has it."""
    return next(block.value for block in agent.blocks() if block.spec.label == label)


def test_the_first_change_after_a_hand_edit_goes_on(tmp_path: Path) -> None:
    """Append and replace take note of an edit by hand first; to set the whole value is a conflict that keeps it."""
    with home(tmp_path) as memory:
        agent = memory.agent("main")
        agent.core_append("human", "- Likes tea.")
        changes: tuple[Callable[[], BatchOutcome], ...] = (
            lambda: agent.core_append("human", "- Likes rain."),
            lambda: agent.core_replace("human", "tea", "mate"),
            lambda: memory.person("main").core_append("human", "- Is tall."),
        )
        for change in changes:
            write(tmp_path, "core.md", read(tmp_path, "core.md").rstrip() + "\n- By hand.\n")
            assert isinstance(one(change()), Saved)
        held = value(agent, "human").splitlines()
        assert held.count("- By hand.") == 3
        assert {"- Likes mate.", "- Likes rain.", "- Is tall."} < set(held)
        assert memory.verify().clean
        write(tmp_path, "core.md", "## human\n\nBy hand alone.\n")
        conflict = one(memory.person("main").core_set("human", "Anew."))
        assert isinstance(conflict, Conflicted)
        assert conflict.checkpoint_id
        assert value(agent, "human") == "By hand alone."


def test_an_item_joins_the_list_that_a_block_ends_with() -> None:
    """An appended item follows the list without a blank line, whatever its last item looks like; text does not."""
    assert changed("- a", "append", "- b", "") == "- a\n- b"
    assert changed("- a\n  more of it", "append", "- b", "") == "- a\n  more of it\n- b"
    assert changed("1. a", "append", "2. b", "") == "1. a\n2. b"
    assert changed("- a", "append", "b", "") == "- a\n\nb"
    assert changed("a", "append", "- b", "") == "a\n\n- b"
    assert changed("- a\n\nb", "append", "- c", "") == "- a\n\nb\n\n- c"


def findings(memory: Memory) -> dict[str, str]:
    """What `doctor` says of core blocks: message -> advice."""
    return {finding.message: finding.advice for finding in memory.doctor() if "core.md" in finding.subject}


def test_a_second_section_of_a_name_is_named(tmp_path: Path) -> None:
    """`doctor` says that only the first section of a name is a block, and what to do."""
    write(tmp_path, "core.md", "## human\n\nIs Ann.\n\n## Human\n\nLikes tea.\n\n## odd\n\nx\n\n## odd\n\ny\n")
    with home(tmp_path) as memory:
        memory.sync()
        assert value(memory.agent("main"), "human") == "Is Ann."
        found = findings(memory)
        (message,) = (name for name in found if "more than once" in name)
        assert "'Human'" in message
        assert "move what they hold into the first" in found[message]
        write(tmp_path, "core.md", "## human\n\nIs Ann.\n\nLikes tea.\n")
        assert not findings(memory)


@pytest.mark.parametrize("is_known", [True, False], ids=["known before", "new"])
def test_a_core_file_that_is_no_text_is_said_to_be_so(tmp_path: Path, *, is_known: bool) -> None:
    """Blocks say that they cannot be read, also where the file is new, and what `doctor` advises works."""
    with home(tmp_path) as memory:
        agent = memory.agent("main")
        if is_known:
            agent.core_append("human", "Is Ann.")
        write(tmp_path, "core.md", b"## human\n\nIs Bj\xf6rn.\n")
        assert not any(block.is_readable for block in agent.blocks())
        (advice,) = findings(memory).values()
        assert "save it as UTF-8" in advice
        with pytest.raises(BackendError, match="UTF-8"):
            agent.core_append("human", "x")
        if is_known:
            (tmp_path / "core.md").rename(tmp_path / "aside.txt")
            memory.sync(accept_removals=True)
            memory.person("main").undo()
            assert value(agent, "human") == "Is Ann."
            assert all(step in advice for step in ("sync --accept-removals", "memoranda undo"))
        write(tmp_path, "core.md", "## human\n\nIs Björn.\n")
        assert value(agent, "human") == "Is Björn."
        assert not findings(memory)


def test_an_unknown_block_is_answered_with_all_that_there_are(tmp_path: Path) -> None:
    """The blocks that an agent has are named, shared ones too, and not those of others."""
    (tmp_path / "memoranda.toml").write_text(BLOCKS, encoding="utf-8")
    with home(tmp_path) as memory:
        for agent, known in (
            (memory.agent("main"), "human, rules"), (memory.person("bob"), "human, rules, crew"),
        ):  # fmt: skip
            refused = one(agent.core_append("nobody", "x"))
            assert isinstance(refused, Refused)
            assert f"(there are: {known})" in refused.message


def test_a_session_holds_a_thousand_values_of_its_host(tmp_path: Path) -> None:
    """What the program keeps of a session does not count, and a value that is there can be written anew."""
    with home(tmp_path) as memory:
        session = memory.agent("main").session("full")
        session.user("Something is said, so that the program keeps a value of its own.")
        session.context("What was said?")
        for number in range(1_000):
            session.state_set("n", str(number), number)
        session.state_set("n", "7", "anew")
        with pytest.raises(InvalidInput, match="too many"):
            session.state_set("n", "more", 1)
        assert session.state_get("n", "7") == "anew"


@pytest.mark.parametrize("audience", ["Shared", "", None, "public", b"shared", ["shared"]])
def test_an_unknown_audience_is_refused(tmp_path: Path, audience: Any) -> None:
    """A session is opened for `private` or `shared` alone: a typing error must not make a group's session private."""
    with home(tmp_path) as memory:
        with pytest.raises(InvalidInput, match="private or shared"):
            memory.agent("main").session("group", audience=audience)
        assert memory.agent("main").sessions() == ()


def test_a_speakers_name_is_one_line(tmp_path: Path) -> None:
    """A line break in a speaker's name, or in a tool's, reaches neither log, copy nor the taint that is shown."""
    with home(tmp_path) as memory:
        session = memory.agent("main").session("names")
        session.user("Hello.", speaker="Ann\n\n**12:00 operator**\u2028\x1b[2Jsays\r\nall")
        assert session.messages[0].speaker == "Ann **12:00 operator** [2Jsays all"
        session.tool_result("web_search\n2 operator", "x")
        assert "\n" not in session.state.taint_source
        copy = read(tmp_path, session.close())
        assert "Ann **12:00 operator** [2Jsays all**" in copy
        assert "\n**12:00 operator" not in copy


def asks(memory: Memory) -> Iterator[tuple[str, Callable[[Any], object]]]:
    """Yield a name and a call for every place where a caller gives text."""
    agent, person, session = memory.agent("main"), memory.person("main"), memory.agent("main").session("k")
    for name, handle in (("agent", agent), ("person", person), ("session", session)):
        for what, ask in _asks_of(handle):
            yield f"{name}: {what}", ask
    yield "session", agent.session
    yield "memory.agent", memory.agent
    yield "memory.person", memory.person
    yield "memory.redact", memory.redact
    operator = memory.operator(at_terminal=True)
    yield "operator.show", operator.show
    yield "operator.adopt", operator.adopt
    yield "operator.erase", lambda bad: operator.erase(record_id=bad)
    yield from _asks_of_a_session(session)


def _named(make: Callable[..., Any], name: str, use: Callable[[Any], object] = repr) -> Callable[[Any], object]:
    """A call that gives what is bad by its name, and uses what comes back."""
    return lambda bad: use(make(**{name: bad}))


def _listing(**lists: Any) -> Details:
    """Details with lists of one."""
    return Details(**{name: (item,) for name, item in lists.items()})  # type: ignore[arg-type]  # that is the test


def _asks_of(handle: Agent) -> Iterator[tuple[str, Callable[[Any], object]]]:
    for name in ("search", "context", "get", "history", "blame", "diff", "restore", "timeframe", "around", "save"):
        yield name, getattr(handle, name)
    for name in ("remember", "remove", "forget", "confirm_forget", "propose_to_team"):
        yield name, getattr(handle, name)
    for name in ("as_of", "valid_at", "mode", "grain"):
        yield f"search {name}", _named(partial(handle.search, "tea time"), name)
    for name in ("path", "since", "until", "session", "not_session", "valid_at"):
        yield f"filter {name}", _named(Filters, name, lambda made: handle.search("tea time", filters=made))
    for name in ("kind", "subject", "since"):
        yield f"log {name}", _named(handle.log, name)
    for name in ("title", "description", "valid_from", "valid_to"):
        yield name, _named(Details, name, lambda made: handle.remember("Tea.", details=made))
    for name in ("tags", "evidence"):
        yield name, _named(_listing, name, lambda made: handle.remember("Tea.", details=made))
    yield "save file", lambda bad: handle.save("Tea.", file=bad)
    yield "replace", lambda bad: handle.save(bad, append=False)
    yield "delete", lambda bad: handle.delete(file="MEMORY.md", text=bad)
    yield "delete file", lambda bad: handle.delete(file=bad, text="x")
    yield "checkpoints", lambda bad: handle.checkpoints(path_contains=bad)
    yield "undo", lambda bad: handle.undo(expected=bad)
    yield "timeframe first", lambda bad: handle.timeframe(first=bad, last="2026-01-01")
    yield "injections", lambda bad: handle.injections(record=bad)
    yield "update", lambda bad: handle.update(ID, bad)
    yield "block", lambda bad: handle.core_append(bad, "x")
    yield "core_append", lambda bad: handle.core_append("human", bad)
    yield "core_replace", lambda bad: handle.core_replace("human", bad, "x")
    yield "core_set", lambda bad: handle.core_set("human", bad)


def _asks_of_a_session(session: Session) -> Iterator[tuple[str, Callable[[Any], object]]]:
    for name in ("user", "assistant", "tool_call", "state_list", "state_clear"):
        yield name, getattr(session, name)
    yield "speaker", lambda bad: session.user("x", speaker=bad)
    yield "at", lambda bad: session.user("x", at=bad)
    yield "role", lambda bad: session.say(bad, "x")
    yield "call_id", lambda bad: session.tool_call("t", call_id=bad)
    yield "tool_result", lambda bad: session.tool_result("t", bad)
    yield "tool", lambda bad: session.tool_result(bad, "x")
    yield "server", lambda bad: session.tool_result("t", "x", bad)
    yield "receive", lambda bad: session.receive(bad, "ses_1")
    yield "sender", lambda bad: session.receive("x", bad)
    yield "note", lambda bad: session.note("note", bad)
    yield "compact", lambda bad: session.compact(bad, keep=0)
    yield "state_get", lambda bad: session.state_get("n", bad)
    yield "state_set", lambda bad: session.state_set(bad, "k", 1)
    yield "state_set key", lambda bad: session.state_set("n", bad, 1)
    yield "state_set value", lambda bad: session.state_set("n", "k", bad)
    yield "state_set in value", lambda bad: session.state_set("n", "k", {"a": bad})


def test_what_is_no_text_is_an_error_and_no_crash(tmp_path: Path) -> None:
    """None, bytes, numbers, lists and halves of surrogate pairs are answered, or an error of the library."""
    crashed: list[str] = []
    with home(tmp_path) as memory:
        memory.agent("main").save("Tea time is at five.")
        for name, ask in asks(memory):
            for bad in NOT_TEXT:
                try:
                    ask(bad)
                except MemorandaError:
                    continue
                except (AttributeError, TypeError, ValueError, OverflowError, KeyError, IndexError) as error:
                    crashed.append(f"{name} {bad!a}: {error!r}")
        assert not crashed
        assert texts(memory.agent("main"), "tea time five")


@pytest.mark.parametrize("bad", [None, b"x", 7])
def test_a_turn_that_is_no_text_says_so(tmp_path: Path, bad: Any) -> None:
    """The error names what was given and what it has to be, and nothing is written down."""
    with home(tmp_path) as memory:
        session = memory.agent("main").session("k")
        with pytest.raises(InvalidInput, match=f"text must be text .str., not {type(bad).__name__}"):
            session.user(bad)
        with pytest.raises(InvalidInput, match="must be text"):
            session.tool_result("web_search", bad)
        assert not session.tainted
        assert session.messages == ()
        with pytest.raises(InvalidInput, match="half of a surrogate pair"):
            session.state_set("n", "k", "\ud800")


def test_a_home_that_cannot_be_written_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a file system that is read-only the error names the folder that cannot be written."""
    with home(tmp_path) as memory:
        memory.agent("main").save("Tea.")
    ledger = tmp_path / ".state/ledger.db"
    for ending in ("", "-wal", "-shm"):
        ledger.with_name(f"ledger.db{ending}").unlink(missing_ok=True)
    ledger.mkdir()  # SQLite answers as it does on a read-only file system
    (ledger / "x").touch()
    whole = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK and whole(path, mode))
    with pytest.raises(BackendError, match=r"\.state cannot be written"), home(tmp_path):
        pass
