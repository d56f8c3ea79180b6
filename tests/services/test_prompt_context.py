"""What a prompt gets from memory: a stable part that changes with memory alone, and what fits the turn."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memoranda.domain.context import MAX_FILE_CHARACTERS, MAX_SESSION_BYTES, MAX_TURN_BYTES
from memoranda.domain.outcome import Saved
from memoranda.domain.prompt import MAX_HIT_BYTES
from memoranda.errors import BackendError, Denied, InvalidInput, TooLate
from memoranda.memory import Memory
from memoranda.memory.session import Session
from tests.homes import home, write

SHARED = '[[memory.core.blocks]]\nlabel = "human"\n[[memory.core.blocks]]\nlabel = "rules"\nshared = true\n'
QUESTION = "What do you know about the lighthouse?"


def stable(session: Session) -> bytes:
    """The part that a provider's prefix cache keeps."""
    return session.context(QUESTION).stable.encode()


@pytest.mark.slow
def test_the_stable_part_is_the_same_over_a_hundred_turns(tmp_path: Path) -> None:
    """Turns, recalled text, tool results and a compaction change no byte of it; what is recalled does change."""
    with home(tmp_path) as memory:
        agent = memory.agent("main")
        agent.save("- The user likes maps.")
        agent.core_append("human", "Works by the sea.")
        for number in range(100):
            agent.save(f"- Lighthouse {number} has {number} steps.", file="memory/lights.md")
        session = agent.session("long")
        first, volatile = stable(session), set()
        for number in range(100):
            session.user(f"Tell me about lighthouse {number}, please.")
            found = session.context(f"Tell me about lighthouse {number}, please.")
            assert found.stable.encode() == first
            volatile.add(found.volatile)
            session.assistant(f"It has {number} steps.")
            session.tool_result("read_file", f"chart {number}")
            if number == 50:
                session.compact("We spoke of lighthouses.")
        assert len(volatile) > 10
        with_restart = memory.agent("main").session("long")
        assert stable(with_restart) == first


def test_it_changes_exactly_when_memory_does(tmp_path: Path) -> None:
    """A save, a removal, an undo, an edit by hand, a block and a shared block of another agent change it, each once."""
    (tmp_path / "memoranda.toml").write_text(SHARED, encoding="utf-8")
    with home(tmp_path) as memory:
        agent, person = memory.agent("main"), memory.person("main")
        agent.save("- The user likes maps.")
        session = agent.session("s")
        seen = [stable(session)]

        def changed() -> bool:
            now = stable(session)
            different = now != seen[-1]
            seen.append(now)
            return different and stable(session) == now

        steps: dict[str, Callable[[], object]] = {
            "save": lambda: agent.save("- The user likes tea."),
            "another file": lambda: agent.save("- Boats are blue.", file="memory/boats.md"),
            "block": lambda: agent.core_append("human", "Is called Ann."),
            "other agent's shared block": lambda: memory.agent("other").core_append("rules", "Be kind."),
            "delete": lambda: person.delete(file="MEMORY.md", text="- The user likes tea."),
            "undo": lambda: person.undo(1),
            "by hand": lambda: write(tmp_path, "MEMORY.md", "- The user likes rain.\n"),
        }
        for name, step in steps.items():
            step()
            assert changed(), name
        nothing: dict[str, Callable[[], object]] = {
            "turn": lambda: session.user("Hello there, how are you?"),
            "other agent": lambda: memory.agent("other").save("- Not yours."),
            "search": lambda: agent.search("maps"),
            "duplicate": lambda: agent.save("- The user likes rain."),
        }
        for name, step in nothing.items():
            step()
            assert not changed(), name


def test_a_record_is_shown_once_until_compaction(tmp_path: Path) -> None:
    """The second time the same question recalls what was not shown; after a compaction it may come again."""
    with home(tmp_path) as memory:
        agent = memory.agent("main")
        for number in range(3):
            agent.save(f"- The lighthouse keeper number {number} is kind.", file=f"memory/{number}.md")
        session = agent.session("s")
        session.user(QUESTION)
        first = session.context(QUESTION)
        assert len(first.hits) == 3
        again = session.context(QUESTION)
        assert again.hits == ()
        assert "shown before" in again.skipped
        assert len(agent.session("another").context(QUESTION).hits) >= 3
        restarted = memory.agent("main").session("s")
        assert restarted.context(QUESTION).hits == ()
        assert session.compact("Keepers.", keep=0)
        assert {hit.record_id for hit in first.hits} <= {hit.record_id for hit in session.context(QUESTION).hits}
        noted = agent.injections(record=first.hits[0].record_id)
        assert [item.epoch for item in noted] == [1, 0, 0]
        assert {item.session for item in noted} == {session.id, agent.session("another").id}


@pytest.mark.slow
def test_budgets_of_a_turn_and_a_session_hold(tmp_path: Path) -> None:
    """However much fits, a turn recalls 20 KiB at most and a session 60 KiB; a long text is cut with a mark."""
    with home(tmp_path, memory__recall__top_k=64) as memory:
        agent = memory.agent("main")
        for number in range(60):
            filler = " ".join(f"волна{number}ж{word}" for word in range(400))
            agent.save(f"The lighthouse log {number}: {filler}", file=f"memory/{number}.md")
        session = agent.session("s")
        sizes, cut = [], False
        for _ in range(8):
            hits = session.context(QUESTION).hits
            sizes.append(sum(len(hit.text.encode()) for hit in hits))
            assert all(len(hit.text.encode()) <= MAX_HIT_BYTES for hit in hits)
            cut = cut or any(hit.text.endswith("…") for hit in hits)
        assert cut
        assert 0 < max(sizes) <= MAX_TURN_BYTES
        assert sizes[1] > 0
        assert MAX_SESSION_BYTES - MAX_TURN_BYTES < sum(sizes) <= MAX_SESSION_BYTES
        assert "budget" in session.context(QUESTION).skipped
        assert session.context(QUESTION).stable


class Slow:
    """An index that answers late, or not at all."""

    def __init__(self, index: Any, seconds: float, error: Exception | None = None) -> None:
        self.index, self.seconds, self.error = index, seconds, error

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.index, name)
        if name != "search_text":
            return found

        def late(*arguments: object, **named: object) -> object:
            time.sleep(self.seconds)
            if self.error:
                raise self.error
            return found(*arguments, **named)

        return late


def slowed(memory: Memory, seconds: float, error: Exception | None = None) -> None:
    """Put a slow index in the place of the sound one."""
    stores = memory._parts.stores
    object.__setattr__(stores, "index", Slow(stores.index, seconds, error))


@pytest.mark.parametrize("kind", ["late", "broken"])
def test_a_recall_that_fails_is_skipped_and_the_turn_goes_on(tmp_path: Path, kind: str) -> None:
    """A recall of 2 s is given up after half a second and said to be left out; a sound one is there."""
    with home(tmp_path) as memory:
        agent = memory.agent("main")
        agent.save("- The lighthouse is white.", file="memory/a.md")
        assert agent.session("before").context(QUESTION).hits
        slowed(memory, *((2.0,) if kind == "late" else (0.0, BackendError("the disk is gone"))))
        start = time.monotonic()
        found = agent.session("s").context(QUESTION)
        assert time.monotonic() - start < 1.9
        assert found.hits == ()
        assert "failed" in found.skipped
        assert ("too_late" in found.skipped) is (kind == "late")
        assert "memory/a.md" in found.stable


@pytest.mark.parametrize("kind", ["late", "broken"])
def test_a_recall_that_fails_is_an_error_where_the_settings_say_so(tmp_path: Path, kind: str) -> None:
    """With `fail` it is TooLate, or the error itself; a sound recall raises nothing."""
    with home(tmp_path, memory__recall__recall_failure_policy="fail") as memory:
        agent = memory.agent("main")
        agent.save("- The lighthouse is white.", file="memory/a.md")
        assert agent.session("before").context(QUESTION).hits
        slowed(memory, *((2.0,) if kind == "late" else (0.0, BackendError("the disk is gone"))))
        with pytest.raises(TooLate if kind == "late" else BackendError):
            agent.session("s").context(QUESTION)


@pytest.mark.parametrize("allowed", [False, True])
def test_where_a_group_listens_memory_is_not_used_unless_allowed(tmp_path: Path, *, allowed: bool) -> None:
    """A shared session gets no prompt, search, timeframe or blocks, and writes nothing; with `on` it gets them all."""
    with home(tmp_path, memory__content_trust__shared_audience="on" if allowed else "off") as memory:
        agent = memory.agent("main")
        agent.save("- The lighthouse is white.")
        agent.core_append("human", "Lives by the lighthouse.")
        group = agent.session("group", audience="shared")
        group.user(QUESTION)
        found = group.context(QUESTION)
        assert ("lighthouse" in found.stable) is allowed
        reads = (
            lambda: group.search("lighthouse"), lambda: group.timeframe("today"), group.blocks, group.injections,
            lambda: group.save("- New."), lambda: group.core_append("human", "New."),
        )  # fmt: skip
        for read in reads:
            if allowed:
                read()
            else:
                with pytest.raises(Denied, match="group"):
                    read()
        assert "lighthouse" in agent.session("alone").context(QUESTION).stable


def test_a_frozen_prompt_follows_only_when_it_is_refreshed(tmp_path: Path) -> None:
    """Saves after the start do not show until a refresh or a new session; what is taken out never stays."""
    with home(tmp_path, memory__prompt_memory_mode="frozen-at-session-start") as memory:
        agent, person = memory.agent("main"), memory.person("main")
        agent.save("- The lighthouse is white.")
        session = agent.session("s")
        first = stable(session)
        agent.save("- The pier is long.")
        assert stable(session) == first
        assert stable(memory.agent("main").session("s")) == first
        assert b"pier" in stable(agent.session("another"))
        assert session.refresh()
        assert b"pier" in stable(session)
        person.delete(file="MEMORY.md", text="- The lighthouse is white.")
        assert b"lighthouse is white" not in stable(session)
        assert b"pier" in stable(session)


def test_a_long_memory_file_is_cut_with_a_visible_note(tmp_path: Path) -> None:
    """The first 20,000 characters are shown up to a whole block; a note counts the rest, which search finds."""
    with home(tmp_path) as memory:
        agent = memory.agent("main")
        lines = [f"- Line {number} about the harbour and its many boats." for number in range(900)]
        memory.person("main").save("\n".join(lines))
        session = agent.session("s")
        part = next(part for part in session.context(QUESTION).stable_parts if part.name == "MEMORY.md")
        shown = [line for line in lines if f"{line}\n" in part.text]
        assert MAX_FILE_CHARACTERS - 200 < sum(len(line) + 1 for line in shown) <= MAX_FILE_CHARACTERS
        assert shown == lines[: len(shown)]
        assert f"{900 - len(shown)} more entries of MEMORY.md are left out" in part.text
        assert lines[-1] in [hit.text for hit in agent.search("line 899 harbour").hits]


@pytest.mark.parametrize(
    ("style", "parts", "recalls"),
    [
        ("hybrid", {"core memory", "MEMORY.md", "index"}, True),
        ("prompt-only", {"core memory", "MEMORY.md", "index"}, True),
        ("search-only", {"core memory", "index"}, False),
        ("off", set(), False),
    ],
)
def test_styles(tmp_path: Path, style: str, parts: set[str], *, recalls: bool) -> None:
    """Each style has its parts of the prompt, and recalls into it or not."""
    with home(tmp_path, memory__style=style) as memory:
        person = memory.person("main")
        person.save("- The user likes maps.")
        person.save("- The lighthouse is white.", file="memory/a.md")
        found = memory.agent("main").session("s").context(QUESTION)
        assert {part.name for part in found.stable_parts} == parts
        assert bool(found.hits) is recalls
        assert bool(found.skipped) is not recalls


def test_the_prompt_of_one_agent_holds_nothing_of_another(tmp_path: Path) -> None:
    """Neither stable nor recalled, neither notes nor turns; each agent has its own."""
    with home(tmp_path) as memory:
        for name, colour in (("ann", "crimson"), ("anna", "turquoise")):
            agent = memory.agent(name)
            agent.save(f"- The lighthouse of {name} is {colour}.", file="memory/a.md")
            agent.save(f"- Likes {colour}.")
            agent.core_append("human", f"Wears {colour}.")
            agent.session("past").user(f"The lighthouse was painted {colour} today.")
        for name, own, other in (("ann", "crimson", "turquoise"), ("anna", "turquoise", "crimson")):
            session = memory.agent(name).session("now")
            found = session.context(QUESTION)
            assert other not in repr(found) + session.reset()
            assert found.stable.count(own) == 2
            assert found.volatile.count(own) == 2


def test_what_is_in_front_of_the_model_is_not_recalled(tmp_path: Path) -> None:
    """Lines of MEMORY.md and of core blocks and turns of this conversation are not repeated; others are recalled."""
    with home(tmp_path) as memory:
        agent = memory.agent("main")
        agent.save("- The lighthouse is white.")
        agent.core_append("human", "Keeps the lighthouse.")
        agent.save("- The lighthouse has a lamp.", file="memory/a.md")
        session = agent.session("s")
        session.user("I saw the lighthouse today.")
        texts = [hit.text for hit in session.context(QUESTION).hits]
        assert texts == ["- The lighthouse has a lamp."]
        assert "I saw the lighthouse today." in [hit.text for hit in agent.session("t").context(QUESTION).hits]


def test_front_matter_and_withheld_lines_are_in_no_prompt(tmp_path: Path) -> None:
    """A secret that stands in a person's file, and what a program wrote above it, stay there; other lines are shown."""
    text = "---\ntitle: frontmatterword\n---\n- password: Xk9-Tr7-Qm2-Lp4\n- The lighthouse is white.\n"
    write(tmp_path, "MEMORY.md", text)
    with home(tmp_path) as memory:
        memory.sync()
        found = memory.agent("main").session("s").context(QUESTION)
        assert "Xk9" not in repr(found)
        assert "frontmatterword" not in repr(found)
        assert "The lighthouse is white." in found.stable


def test_injections_are_counted_on_the_record(tmp_path: Path) -> None:
    """Each recall into a prompt is noted with session, record and size; a preview notes nothing."""
    with home(tmp_path) as memory:
        agent = memory.agent("main")
        item = agent.save("- The lighthouse is white.", file="memory/a.md").items[0]
        assert isinstance(item, Saved)
        assert agent.context(QUESTION).hits
        assert agent.injections() == []
        session = agent.session("s")
        session.context(QUESTION)
        (noted,) = agent.injections()
        assert (noted.record, noted.session, noted.surface) == (item.record_ids[0], session.id, "turn")
        assert noted.size == len("- The lighthouse is white.")


def test_the_mark_of_a_sessions_envelopes_is_in_its_prompts_alone(tmp_path: Path) -> None:
    """Said, summed up, named as speaker or tool, or saved: it is in no file; the words beside it are."""
    with home(tmp_path) as memory:
        agent = memory.agent("main")
        agent.save("- The lighthouse is white.", file="memory/a.md")
        session = agent.session("s")
        nonce = session._nonce
        assert nonce in session.context(QUESTION).volatile
        session.user(f"heron {nonce}", speaker=f"egret {nonce}")
        session.tool_call(f"stork {nonce}", {"ibis": nonce}, call_id=nonce)
        session.tool_result(f"stork {nonce}", f"crane {nonce}", call_id=nonce)
        session.compact(f"curlew {nonce}", keep=0)
        for write_it in (session.save, session.remember, lambda text: session.core_append("human", text)):
            with pytest.raises(InvalidInput, match="mark of recalled memory"):
                write_it(f"- plover {nonce}")
        assert session.save("- plover").done
        session.close()
        held = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
        assert nonce.encode() not in held
        for word in (b"heron", b"egret", b"stork", b"ibis", b"crane", b"curlew", b"plover"):
            assert word in held, word
