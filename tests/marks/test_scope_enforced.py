"""Mark `scope_enforced`: the stored scope is a condition of every read path; each is listed by reflection."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path

import pytest

from memoranda.domain.outcome import Saved
from memoranda.errors import MemorandaError
from memoranda.interfaces import tools
from memoranda.memory import Agent, Job, Memory, Session
from tests.homes import home
from tests.scripted import Scripted

SECRET = "The aardvark sleeps in locker nine."
TWINS = ("ann", "anna", "an", "ann-1", "ann_", "annb")
"""Look-alikes of one another: prefixes, extensions, neighbours."""

TWO_KEPT = "'knowledge_graph': 2"
"""How many facts and contradictions ann keeps."""

Read = Callable[[Agent, dict[str, str]], object]

READS: dict[str, Read] = {
    "search": lambda agent, _: agent.search("aardvark locker", limit=64, min_score=0).hits,
    "get": lambda agent, known: agent.get(known["record"]),
    "history": lambda agent, known: agent.history(known["record"]),
    "blame": lambda agent, _: agent.blame("memory/notes.md"),
    "log": lambda agent, _: agent.log(limit=1_000),
    "checkpoints": lambda agent, _: agent.checkpoints(limit=100),
    "newest_checkpoint": lambda agent, _: agent.newest_checkpoint(),
    "diff": lambda agent, known: agent.diff(known["checkpoint"]),
    "undo_preview": lambda agent, _: agent.undo_preview(1),
    "proposals": lambda agent, _: agent.proposals(pending=False),
    "sessions": lambda agent, _: agent.sessions(),
    "forget": lambda agent, _: agent.forget(SECRET, dry_run=True),
    "timeframe": lambda agent, _: agent.timeframe("today"),
    "around": lambda agent, known: agent.around(known["turn"]),
    "injections": lambda agent, _: agent.injections(),
    "blocks": lambda agent, _: agent.blocks(),
    "context": lambda agent, _: agent.context("aardvark locker"),
    "runs": lambda agent, _: agent.runs(),
    "timeline": lambda agent, _: agent.timeline(),
    "run": lambda agent, known: agent.run(known["run"]),
    "conflicts_query": lambda agent, _: agent.conflicts_query(query="aardvark"),
    "conflicts_stores": lambda agent, _: agent.conflicts_stores(),
    "gate_list": lambda agent, _: agent.gate_list(),
    "gate_get": lambda agent, known: agent.gate_get(known["gate"]),
    "usage": lambda agent, known: agent.usage(known["record"]),
}
"""Every public method that reads memory, and how it is asked for what belongs to another."""

WRITES = {
    "save", "delete", "remember", "update", "remove", "propose_to_team", "restore", "undo", "confirm_forget",
    "session", "core_append", "core_replace", "core_set", "pin", "dream", "undo_run", "conflicts_index",
    "conflicts_resolve", "gate", "gate_approve", "gate_deny", "contradictions", "steward", "audit_usage",
}  # fmt: skip
OF_A_SESSION = {
    "begin", "tool_result", "receive", "reset", "close", "say", "user", "assistant", "tool_call", "note", "refresh",
    "checkpoint", "compact", "new", "state_get", "state_set", "state_delete", "state_list", "state_clear", "messages",
    "is_open_to_memory", "extract", "tidy", "restore_hygiene",
}  # fmt: skip
FACTS = {"scope", "id", "key", "state", "tainted", "audience", "viewer"}


def public(kind: type) -> set[str]:
    """Names of the public methods and properties of a handle."""
    return {name for name, _ in inspect.getmembers(kind) if not name.startswith("_")}


def test_every_read_path_has_a_case() -> None:
    """A method that is added to a handle must be named here as a read, a write or a fact."""
    assert public(Agent) - FACTS == set(READS) | WRITES
    assert public(Session) - FACTS == set(READS) | WRITES | OF_A_SESSION
    assert public(Job) - FACTS == set(READS) | WRITES | {"retier"}


def prepared(memory: Memory) -> dict[str, str]:
    """Let agent ann remember something, change it and forget it; return what others might ask for."""
    ann = memory.agent("ann")
    item = ann.remember(SECRET).items[0]
    assert isinstance(item, Saved)
    morning = ann.session("morning")
    ann.core_append("human", "Feeds an aardvark.")
    morning.user("Where does the aardvark sleep?")
    morning.assistant("The aardvark sleeps in a locker.")
    morning.state_set("steps", "place", "aardvark")
    morning.context("aardvark locker")
    turn = next(hit for hit in ann.search("aardvark sleep", limit=64, min_score=0).hits if hit.turn)
    ann.save("The aardvark's locker is painted.", file="memory/notes.md")
    mine = memory.person("ann").save("A person's aardvark.", file="memory/person.md").items[0]
    assert isinstance(mine, Saved)
    ann.remove(mine.record_ids[0])
    run = ann.dream(dry_run=True)
    waits = ann.gate("Move the aardvark.", "R3")
    ann.conflicts_index("aardvark", "locker", fact="It sleeps.", conflict=True)
    return {
        "record": item.record_ids[0],
        "checkpoint": ann.checkpoints(limit=9)[-1].id,
        "turn": turn.record_id,
        "run": run.id,
        "gate": waits.id,
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", READS)
def test_no_read_path_crosses_scopes(tmp_path: Path, name: str) -> None:
    """Asked by each look-alike, no read shows a word of ann's memory; asked by ann it does."""
    with home(tmp_path, model=Scripted([{"operations": []}])) as memory:
        known = prepared(memory)
        own = repr(READS[name](memory.agent("ann"), known))
        assert (
            "agent:ann" in own
            or "aardvark" in own
            or "morning" in own
            or TWO_KEPT in own
            or own.startswith(("'cp_", "(Proposal(id='prp_", "[Injection(", "Usage(record='rec_"))
        ), name
        for twin in TWINS[1:]:
            memory.agent(twin).save("Nothing of note.", file="memory/notes.md")
            try:
                answer = repr(READS[name](memory.agent(twin), known))
            except MemorandaError as error:
                answer = str(error)
            assert "aardvark" not in answer, twin
            assert "agent:ann'" not in answer.replace('"', "'"), twin
            assert known["record"] not in answer, twin
            assert TWO_KEPT not in answer, twin


@pytest.mark.slow
@pytest.mark.parametrize("tool", [tool.name for tool in tools.TOOLS])
def test_no_tool_crosses_scopes(tmp_path: Path, tool: str) -> None:
    """Through the tool table, with ids of another's records, nothing of it comes back and nothing of it changes."""
    with home(tmp_path, model=Scripted([{"operations": []}])) as memory:
        known = prepared(memory)
        before = (tmp_path / "agents/ann/memory/notes.md").read_bytes()
        arguments: dict[str, dict[str, object]] = {
            "memory_search": {"query": "aardvark locker"},
            "memory_get": {"chunk_id": known["record"]},
            "memory_save": {"content": "Mine."},
            "memory_delete": {"file": "memory/notes.md", "text": SECRET},
            "checkpoints_list": {},
            "checkpoint_restore": {"id": known["checkpoint"]},
            "memory_forget": {"request": known["record"]},
            "memory": {"action": "update", "memory_id": known["record"], "body": "Taken over."},
            "recall_search": {"query": "aardvark locker"},
            "recall_timeframe": {"date": "today"},
            "core_memory_append": {"block": "human", "text": "Taken over."},
            "core_memory_replace": {"block": "human", "old": "Feeds an aardvark.", "new": "Taken over."},
            "core_memory_set": {"block": "human", "value": "Taken over."},
            "session_state": {"operation": "get", "namespace": "steps", "key": "place"},
        }
        for twin in TWINS[1:]:
            caller = tools.Caller(memory.agent(twin).session("morning"))
            try:
                answer = repr(tools.call(tools.TOOLS, tool, caller, arguments[tool]))
            except MemorandaError as error:
                answer = str(error)
            assert "aardvark" not in answer
            assert "agent:ann" not in answer
        assert (tmp_path / "agents/ann/memory/notes.md").read_bytes() == before
        assert "Feeds an aardvark." in (tmp_path / "agents/ann/core.md").read_text(encoding="utf-8")
        mine = tools.Caller(memory.agent("ann").session("morning"))
        for name in ("memory_search", "recall_search", "recall_timeframe", "session_state"):
            assert "aardvark" in repr(tools.call(tools.TOOLS, name, mine, arguments[name])), name


def test_unknown_and_foreign_ids_look_alike(tmp_path: Path) -> None:
    """An id that nobody has and one that belongs to another give the same error, word for word; one's own works."""
    with home(tmp_path, model=Scripted([{"operations": []}])) as memory:
        known = prepared(memory)
        other = memory.agent("bob")
        for name, ident, unknown in (
            ("get", known["record"], "rec_00000000000000000000000"[:26]),
            ("history", known["record"], "rec_00000000000000000000000"[:26]),
            ("diff", known["checkpoint"], "cp_00000000000000000000000"),
            ("restore", known["checkpoint"], "cp_00000000000000000000000"),
            ("remove", known["record"], "rec_00000000000000000000000"[:26]),
            ("gate_get", known["gate"], "gat_00000000000000000000000"[:26]),
        ):
            answers = []
            for asked in (ident, unknown):
                with pytest.raises(MemorandaError) as caught:
                    getattr(other, name)(asked)
                answers.append((type(caught.value), str(caught.value)))
            assert answers[0] == answers[1], name
        assert memory.agent("ann").get(known["record"]).text == SECRET


def test_a_team_is_read_by_its_members_alone(tmp_path: Path) -> None:
    """A member finds the team's note, an agent with a look-alike name and a member of a decoy team do not."""
    (tmp_path / "memoranda.toml").write_text(
        '[teams.web]\nmembers = ["ann"]\n[teams.web2]\nmembers = ["anna"]\n', encoding="utf-8"
    )
    note = tmp_path / "teams/web/memory/plan.md"
    note.parent.mkdir(parents=True)
    note.write_text("The team's aardvark is called Ada.\n", encoding="utf-8")
    with home(tmp_path) as memory:
        memory.sync()
        assert [hit.text for hit in memory.agent("ann").search("aardvark").hits] == [
            "The team's aardvark is called Ada."
        ]
        for twin in TWINS[1:]:
            assert memory.agent(twin).search("aardvark", min_score=0).hits == ()
