"""Conversations: what a model sees of them, what is kept of them, and how they go on and end."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from memoranda.errors import InvalidInput
from memoranda.memory.session import Session
from tests.homes import home, texts


def said(session: Session) -> list[str]:
    """The texts that a model sees."""
    return [message.text for message in session.messages]


def logged(folder: Path) -> list[str]:
    """The texts of all lines of the log, in order."""
    paths = sorted((folder / "log").glob("*.jsonl"))
    return [json.loads(line)["text"] for path in paths for line in path.read_bytes().splitlines()]


def checkpoints(folder: Path, session: Session) -> list[Path]:
    """The checkpoints of a session, oldest first."""
    found = (folder / ".state" / "sessions").rglob(f"{session.id}.*.json")
    return sorted(found, key=lambda path: int(path.name.split(".")[1]))


def lose_log(folder: Path) -> None:
    """Remove every log, so that only a checkpoint can tell what was said."""
    for path in (folder / "log").glob("*.jsonl"):
        path.unlink()


def test_messages_are_what_was_said_in_order(tmp_path: Path) -> None:
    """Turns, calls and results have their roles; notes are none; what is returned is what was handed over."""
    with home(tmp_path) as memory:
        session = memory.agent("main").session("k")
        assert session.say("system", "Be kind.") == "Be kind."
        assert session.user("List it.", speaker="Ann") == "List it."
        session.tool_call("ls", {"path": "/"}, call_id="c1")
        assert session.tool_result("ls", "a b", call_id="c1") == "a b"
        session.note("decision", "Listed.")
        assert session.assistant("There are two.") == "There are two."
        assert [(item.role, item.kind, item.text) for item in session.messages] == [
            ("system", "system", "Be kind."),
            ("user", "turn", "List it."),
            ("assistant", "tool_call", '{"path": "/"}'),
            ("tool", "tool_result", "a b"),
            ("assistant", "turn", "There are two."),
        ]
        assert [(item.tool, item.call) for item in session.messages[2:4]] == [("ls", "c1"), ("ls", "c1")]
        assert session.messages[1].speaker == "Ann"


def test_what_cannot_be_said_is_refused(tmp_path: Path) -> None:
    """A tool's turn, a made-up role, kind or time leave no line; an ended session takes nothing."""
    with home(tmp_path) as memory:
        session = memory.agent("main").session("k")
        for act in (
            lambda: session.say("tool", "x"),
            lambda: session.say("robot", "x"),  # type: ignore[arg-type]  # it is to be refused
            lambda: session.note("turn", "x"),
            lambda: session.note("gossip", "x"),
            lambda: session.user("x", at="soon"),
        ):
            with pytest.raises(InvalidInput):
                act()
        session.user("Heard.")
        session.close()
        for act in (
            lambda: session.user("x"),
            lambda: session.tool_result("ls", "x"),
            lambda: session.note("note", "x"),
        ):
            with pytest.raises(InvalidInput, match="has ended"):
                act()
        assert logged(tmp_path) == ["Heard."]


def test_sessions_do_not_hear_each_other(tmp_path: Path) -> None:
    """Two sessions and two agents who speak in turn have their own messages, positions and values."""
    with home(tmp_path) as memory:
        sessions = {
            (agent, key): memory.agent(agent).session(key) for agent in ("main", "other") for key in ("one", "two")
        }
        for number in range(3):
            for (agent, key), session in sessions.items():
                session.user(f"{agent} {key} {number}")
        for (agent, key), session in sessions.items():
            assert said(session) == [f"{agent} {key} {number}" for number in range(3)]
            assert [item.position for item in session.messages] == [1, 2, 3]
        assert len({session.id for session in sessions.values()}) == 4
        sessions["main", "one"].compact("short", keep=0)
        sessions["main", "one"].close()
        assert said(sessions["main", "two"]) == [f"main two {number}" for number in range(3)]


def test_two_handles_of_one_session_hear_each_other(tmp_path: Path) -> None:
    """What another process said is taken in with the next word, and positions go on."""
    with home(tmp_path) as memory, home(tmp_path) as other:
        mine, theirs = memory.agent("main").session("k"), other.agent("main").session("k")
        for number in range(3):
            mine.user(f"mine {number}")
            theirs.assistant(f"theirs {number}")
        assert said(theirs) == [f"{who} {number}" for number in range(3) for who in ("mine", "theirs")]
        assert [item.position for item in theirs.messages] == [1, 2, 3, 4, 5, 6]
        mine.user("last")
        assert said(mine) == [*said(theirs), "last"]


@pytest.mark.parametrize("policy", ["every-call", "3", "manual", "none"])
def test_a_restart_goes_on_where_it_was(tmp_path: Path, policy: str) -> None:
    """Whatever the policy, messages, pairs and a summary are there again, and positions go on."""
    with home(tmp_path, memory__transcript_checkpoints=policy) as memory:
        session = memory.agent("main").session("k")
        for number in range(5):
            session.user(f"ask {number}")
            session.assistant(f"answer {number}")
        session.compact("So far.", keep=4)
        session.tool_call("ls", "{}", call_id="c1")
        session.tool_result("ls", "files", call_id="c1")
        before = session.messages
        assert [item.text for item in before[:2]] == ["So far.", "ask 3"]
    with home(tmp_path, memory__transcript_checkpoints=policy) as memory:
        session = memory.agent("main").session("k")
        assert session.messages == before
        assert session.warnings == ()
        session.user("on")
        assert session.messages[-1].position == before[-1].position + 1


def test_only_the_newest_messages_stay_in_the_process(tmp_path: Path) -> None:
    """A pair is kept or goes whole, with ids and without, the same after a restart; the log has everything."""
    with home(tmp_path, memory__max_session_messages=4) as memory:
        for key, mark in (("with", "c"), ("without", "")):
            session = memory.agent("main").session(key)
            for number in range(4):
                session.user(f"ask {number}")
                call = f"{mark}{number}" if mark else ""
                session.tool_call("ls", f"call {number}", call_id=call)
                session.tool_result("ls", f"result {number}", call_id=call)
                kinds = [item.kind for item in session.messages]
                assert len(kinds) <= 4
                assert kinds.count("tool_call") == kinds.count("tool_result")
            assert said(session) == ["ask 3", "call 3", "result 3"]
            session.user("more")
            assert said(session) == ["ask 3", "call 3", "result 3", "more"]
            session.user("and more")
            assert said(session) == ["more", "and more"]
    with home(tmp_path, memory__max_session_messages=4) as memory:
        assert said(memory.agent("main").session("with")) == ["more", "and more"]
        assert len(logged(tmp_path)) == 28


def test_a_call_that_waits_is_not_parted_from_its_result(tmp_path: Path) -> None:
    """A compaction between the two leaves the call; once it is answered, the next one takes both."""
    with home(tmp_path) as memory:
        session = memory.agent("main").session("k")
        session.user("What is there?")
        session.tool_call("ls", "call", call_id="c")
        assert session.compact("short", keep=0)
        session.tool_result("ls", "result", call_id="c")
        assert said(session) == ["short", "call", "result"]
        session.assistant("Files.")
        assert session.compact("shorter", keep=0)
        assert said(session) == ["shorter"]


def test_a_compaction_loses_nothing_of_the_log(tmp_path: Path) -> None:
    """The messages are the summary and the newest; every turn is still in the log and found by search."""
    with home(tmp_path) as memory:
        session = memory.agent("main").session("k")
        for number in range(6):
            session.user(f"heron number{number}")
        before = logged(tmp_path)
        assert session.compact("Herons were counted.", keep=2)
        assert said(session) == ["Herons were counted.", "heron number4", "heron number5"]
        assert (session.messages[0].role, session.messages[0].kind) == ("system", "summary")
        assert logged(tmp_path)[:6] == before
        assert len(texts(memory.agent("main"), "heron")) == 6
        assert session.compact("Anew.", keep=0)
        assert said(session) == ["Anew."]


def test_a_compaction_without_a_summary_says_what_went(tmp_path: Path) -> None:
    """A sentence counts the messages and names where they are, and the next one keeps the first summary's words."""
    with home(tmp_path) as memory:
        session = memory.agent("main").session("k")
        assert not session.compact()
        for number in range(6):
            session.user(f"turn {number}")
        assert not session.compact(keep=6)
        assert session.compact(keep=2)
        assert "4 earlier messages" in said(session)[0]
        assert "recall_timeframe" in said(session)[0]
        assert not session.compact(keep=2)
        session.user("turn 6")
        assert session.compact(keep=1)
        assert "4 earlier messages" in said(session)[0]
        assert "2 earlier messages" in said(session)[0]
        assert said(session)[1:] == ["turn 6"]
        with pytest.raises(InvalidInput):
            session.compact(keep=-1)


def test_a_compaction_parts_no_pair_and_clears_no_taint(tmp_path: Path) -> None:
    """A result is not kept without its call; a session that read the web stays tainted."""
    with home(tmp_path) as memory:
        session = memory.agent("main").session("k")
        session.user("look")
        session.tool_call("web_fetch", "call", call_id="c")
        session.tool_result("web_fetch", "page", call_id="c")
        session.assistant("seen")
        assert session.compact("short", keep=2)
        assert said(session) == ["short", "seen"]
        assert session.tainted
        session.reset()
        assert not session.tainted


def test_a_session_that_ends_begins_anew(tmp_path: Path) -> None:
    """Reset keeps the key, new takes another, close ends; none carries messages on, and the log has all of them."""
    with home(tmp_path) as memory:
        agent = memory.agent("main")
        session = agent.session("k")
        first = session.id
        session.user("one osprey")
        assert session.reset() == f"memory/sessions/{memory.person('main').timeframe('today').frame}-k.md"
        assert (said(session), session.key, session.id != first) == ([], "k", True)
        session.user("two ospreys")
        assert [item.position for item in session.messages] == [1]
        other = session.new("other")
        assert (said(other), other.key) == ([], "other")
        other.user("three ospreys")
        assert [state.key for state in agent.sessions()] == ["other"]
        assert other.close().endswith("-other.md")
        assert other.close() == ""
        assert agent.sessions() == ()
        assert agent.session("k").messages == ()
        assert sorted(texts(agent, "osprey ospreys")) == ["one osprey", "three ospreys", "two ospreys"]


@pytest.mark.parametrize(
    ("policy", "expected"), [("every-call", [0, 1, 1, 2]), ("2", [0, 1, 1, 2]), ("3", [0, 0, 1, 1]), ("none", [0] * 4)]
)
def test_a_checkpoint_is_kept_when_the_policy_says_so(tmp_path: Path, policy: str, expected: list[int]) -> None:
    """After what the model says, after so many entries, or only when it is asked for."""
    with home(tmp_path, memory__transcript_checkpoints=policy) as memory:
        session = memory.agent("main").session("k")
        counts = []
        for say in (session.user, session.assistant, session.user, session.assistant):
            say("words")
            counts.append(len(checkpoints(tmp_path, session)))
        assert counts == expected
        session.checkpoint()
        assert len(checkpoints(tmp_path, session)) == expected[-1] + 1


def test_a_manual_checkpoint_brings_back_what_it_held(tmp_path: Path) -> None:
    """Without the log a session has what its checkpoint holds, and nothing where there is none."""
    with home(tmp_path, memory__transcript_checkpoints="manual") as memory:
        kept, lost = memory.agent("main").session("kept"), memory.agent("main").session("lost")
        for session in (kept, lost):
            session.user("ask")
            session.assistant("answer")
        assert checkpoints(tmp_path, kept) == []
        kept.checkpoint()
        kept.user("after it")
    lose_log(tmp_path)
    with home(tmp_path) as memory:
        assert said(memory.agent("main").session("kept")) == ["ask", "answer"]
        assert said(memory.agent("main").session("lost")) == []


def test_the_last_three_checkpoints_of_a_session_stay(tmp_path: Path) -> None:
    """They are the newest, only their owner can read them, and they go when the session ends."""
    with home(tmp_path) as memory:
        session, other = memory.agent("main").session("k"), memory.agent("main").session("other")
        other.assistant("stays")
        for number in range(6):
            session.assistant(f"word {number}")
        found = checkpoints(tmp_path, session)
        assert [json.loads(path.read_bytes())["position"] for path in found] == [4, 5, 6]
        if sys.platform != "win32":
            assert {path.stat().st_mode & 0o777 for path in found} == {0o600}
            assert {path.stat().st_mode & 0o077 for path in (tmp_path / "log").iterdir()} == {0}
        session.reset()
        assert [path for path in found if path.exists()] == []
        assert len(checkpoints(tmp_path, other)) == 1


@pytest.mark.parametrize("damage", [b"", b"{", b"null", b"\xff" * 50, b'{"format":99}', None])
@pytest.mark.parametrize("with_log", [True, False])
def test_a_damaged_checkpoint_falls_back(tmp_path: Path, damage: bytes | None, *, with_log: bool) -> None:
    """The one before it is used, with a warning; the log brings the rest; a half file counts as damaged."""
    with home(tmp_path) as memory:
        session = memory.agent("main").session("k")
        for number in range(3):
            session.assistant(f"word {number}")
        newest = checkpoints(tmp_path, session)[-1]
    newest.write_bytes(newest.read_bytes()[:-20] if damage is None else damage)
    if not with_log:
        lose_log(tmp_path)
    with home(tmp_path) as memory:
        session = memory.agent("main").session("k")
        assert said(session) == [f"word {number}" for number in range(3 if with_log else 2)]
        assert len(session.warnings) == 1
        assert "damaged" in session.warnings[0]
        session.assistant("and on")
        assert said(session)[-1] == "and on"
    with home(tmp_path) as memory:
        assert memory.agent("main").session("k").warnings == ()


def test_without_a_whole_checkpoint_the_log_tells(tmp_path: Path) -> None:
    """Three damaged ones give three warnings, and nothing is missing."""
    with home(tmp_path) as memory:
        session = memory.agent("main").session("k")
        for number in range(5):
            session.assistant(f"word {number}")
        for path in checkpoints(tmp_path, session):
            path.write_bytes(b"damaged")
    with home(tmp_path) as memory:
        session = memory.agent("main").session("k")
        assert said(session) == [f"word {number}" for number in range(5)]
        assert len(session.warnings) == 3


def test_private_values_of_a_session(tmp_path: Path) -> None:
    """Each is found under its session, namespace and key alone, over a restart, until the session ends."""
    value = {"list": [1, 2.5, None, True], "text": "ü"}
    with home(tmp_path) as memory:
        one, two = memory.agent("main").session("one"), memory.agent("main").session("two")
        twin = memory.agent("other").session("one")
        one.state_set("a", "key", value)
        one.state_set("b", "key", "of b")
        one.state_set("a", "also", 0)
        two.state_set("a", "key", "of two")
        assert [item.state_get("a", "key") for item in (one, two, twin)] == [value, "of two", None]
        assert (one.state_get("b", "key"), one.state_get("a", "none")) == ("of b", None)
        assert one.state_list("a") == ("also", "key")
        assert twin.state_list("a") == ()
    with home(tmp_path) as memory:
        one, two = memory.agent("main").session("one"), memory.agent("main").session("two")
        assert one.state_get("a", "key") == value
        one.state_set("a", "key", "changed")
        assert one.state_get("a", "key") == "changed"
        assert (one.state_delete("a", "also"), one.state_delete("a", "also")) == (True, False)
        one.state_set("a", "more", 1)
        assert (one.state_clear("a"), one.state_list("a"), one.state_list("b")) == (2, (), ("key",))
        one.reset()
        assert one.state_list("b") == ()
        assert two.state_get("a", "key") == "of two"
        two.close()
        assert (two.state_get("a", "key"), two.state_list("a")) == (None, ())


def test_private_values_have_bounds_and_are_in_no_prompt(tmp_path: Path) -> None:
    """What is no JSON, too long, badly named or the product's own is refused; a value is in no search and no prompt."""
    with home(tmp_path) as memory:
        memory.agent("main").save("A fact about pelicans.")
        session = memory.agent("main").session("k")
        refused: tuple[tuple[str, str, object], ...] = (
            ("a", "k", {1, 2}), ("a", "k", float("nan")), ("a", "k", "x" * 65_535), ("__own", "k", 1), ("", "k", 1),
            ("a", " ", 1), ("a", "x" * 201, 1), ("a\nb", "k", 1),
        )  # fmt: skip
        for namespace, key, value in refused:
            with pytest.raises(InvalidInput):
                session.state_set(namespace, key, value)
        session.state_set("a", "k", "x" * 65_534)
        session.state_set("a", "bird", "pelicans in private")
        assert session.state_list("a") == ("bird", "k")
        shown = session.context("tell me about pelicans")
        assert "A fact about pelicans." in shown.stable + shown.volatile
        assert "private" not in shown.stable + shown.volatile
        assert texts(memory.agent("main"), "pelicans private") == ["A fact about pelicans."]
        assert logged(tmp_path) == []
