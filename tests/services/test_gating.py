"""The gate in a real home: what passes, what is blocked, who approves, and what time makes of the rest."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memoranda.domain.scope import APPLICATION, Scope
from memoranda.domain.times import stamp
from memoranda.errors import BackendError, Denied, InvalidInput, NotFound, Ruled
from memoranda.memory import Memory
from memoranda.services import gating
from tests.homes import home


def events(memory: Memory) -> list[str]:
    """The kinds of the gate's events, oldest first."""
    return [event.kind for event in reversed(memory.person("main").log(limit=500, kind="gate"))]


def later(memory: Memory, seconds: float) -> None:
    """Let the home's clock show a later time."""
    shown = stamp(datetime.now(UTC) + timedelta(seconds=seconds))

    class Clock:
        def now(self) -> str:
            return shown

    object.__setattr__(memory._parts.stores, "clock", Clock())


@pytest.mark.parametrize(
    ("level", "state", "outcome", "noted"),
    [
        ("R0", "passed", "act", []),
        ("R1", "passed", "act", []),
        ("R2", "passed", "act", ["gate.passed"]),
        ("R3", "pending", "wait", ["gate.requested"]),
    ],
)
def test_each_level_without_a_contradiction(
    tmp_path: Path, level: str, state: str, outcome: str, noted: list[str]
) -> None:
    """R0 and R1 pass and leave no trace, R2 passes with an event, R3 waits; no names are needed then."""
    with home(tmp_path) as memory:
        found = memory.agent("main").gate("Cook dinner.", level)
        assert (found.state, found.outcome, found.reason) == (state, outcome, "")
        assert found.audited is bool(noted)
        assert events(memory) == noted
        assert len(memory.agent("main").gate_list()) == (1 if level == "R3" else 0)
        assert memory.verify().problems == ()


@pytest.mark.parametrize("level", ["R2", "R3"])
def test_a_contradiction_blocks_what_it_is_about(tmp_path: Path, level: str) -> None:
    """A match is blocked in any case and store, a missing name too, another topic is not; each is an event."""
    with home(tmp_path) as memory:
        agent = memory.agent("main")
        signal = agent.conflicts_index("ann", "diet", store="todo", conflict=True)
        found = agent.gate("Cook dinner.", level, entity=" ANN", topic="Diet")
        assert (found.state, found.reason, found.outcome) == ("blocked", "memory_conflict", "safe_draft")
        assert found.conflicts == (signal.conflict_id,)
        for entity, topic in (("ann", ""), ("", "diet"), ("", "")):
            blocked = agent.gate("Cook dinner.", level, entity=entity, topic=topic)
            assert (blocked.state, blocked.reason) == ("blocked", "memory_conflict_context_missing")
        assert agent.gate_list() == ()
        assert events(memory) == ["gate.blocked"] * 4
        assert json.loads(memory.person("main").log(kind="gate")[0].payload)["why"] == blocked.reason
        assert agent.gate("Walk.", level, entity="ann", topic="walk").state in ("passed", "pending")
        assert agent.gate("Look.", "R1", entity="ann", topic="diet").state == "passed"
        memory.person("main").conflicts_resolve("ann", "diet", store="todo", decision="x", rationale="y")
        assert agent.gate("Cook dinner.", level, entity="ann", topic="diet").state in ("passed", "pending")


def test_a_look_up_that_fails_blocks(tmp_path: Path) -> None:
    """An endpoint that is not well blocks R2 and R3 with an event, and lets R0 and R1 pass."""
    with home(tmp_path, memory__ledger__endpoint="http://127.0.0.1:9") as memory:
        agent = memory.agent("main")
        for level in ("R2", "R3"):
            found = agent.gate("Cook.", level, entity="ann", topic="diet")
            assert (found.state, found.reason, found.audited) == ("blocked", "memory_conflict_lookup_failed", True)
        assert events(memory) == ["gate.blocked"] * 2
        assert [agent.gate("Cook.", level).state for level in ("R0", "R1")] == ["passed", "passed"]


def test_a_ledger_that_fails_blocks_even_where_that_cannot_be_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the ledger cannot be read nor written the action stays blocked and the verdict says it is not noted."""

    def fail(*_: object, **__: object) -> None:
        raise BackendError("the disk is gone")

    with home(tmp_path) as memory:
        agent, ledger = memory.agent("main"), memory._parts.stores.ledger
        assert agent.gate("Cook.", "R2").state == "passed"
        monkeypatch.setattr(ledger, "open_conflicts", fail)
        assert agent.gate("Cook.", "R2").audited
        monkeypatch.setattr(ledger, "note", fail)
        found = agent.gate("Cook.", "R2")
        assert (found.state, found.reason, found.audited) == ("blocked", "memory_conflict_lookup_failed", False)


def test_an_action_that_passes_is_not_let_through_unnoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the event of an R2 action cannot be written the request fails; a moment before it passed."""

    def fail(*_: object, **__: object) -> None:
        raise BackendError("the disk is full")

    with home(tmp_path) as memory:
        agent = memory.agent("main")
        assert agent.gate("Cook.", "R2").state == "passed"
        monkeypatch.setattr(memory._parts.stores.ledger, "note", fail)
        with pytest.raises(BackendError, match="full"):
            agent.gate("Cook.", "R2")


def test_a_person_approves_and_denies_and_no_model_does(tmp_path: Path) -> None:
    """An agent is refused, as an event; a person rules once, also after a restart; the same ruling again is one."""
    with home(tmp_path) as memory:
        agent = memory.agent("main")
        first, second = (agent.gate(f"Cook {dish}.", "R3").id for dish in ("soup", "stew"))
        with pytest.raises(Denied, match="only a person"):
            agent.gate_approve(first)
        assert [item.state for item in agent.gate_list()] == ["pending", "pending"]
    with home(tmp_path) as memory:
        person = memory.person("main")
        done = person.gate_approve(first, rationale="It is cold.")
        assert (done.state, done.decided_by, done.rationale) == ("approved", "application", "It is cold.")
        assert person.gate_approve(first) == done
        with pytest.raises(Ruled) as caught:
            person.gate_deny(first)
        assert caught.value.rule == "decided"
        assert person.gate_deny(second).state == "denied"
        assert person.gate_list() == ()
        assert [item.state for item in person.gate_list(pending=False)] == ["denied", "approved"]
        assert events(memory) == ["gate.requested"] * 2 + ["gate.refused", "gate.approved", "gate.denied"]
        assert memory.verify().problems == ()


def test_the_wrong_approver_is_refused(tmp_path: Path) -> None:
    """Where the operator was named an application is refused, as an event, and the operator is not."""
    with home(tmp_path) as memory:
        agent, person = memory.agent("main"), memory.person("main")
        operator = memory.operator(at_terminal=True)
        named = agent.gate("Sell the house.", "R3", approver="operator").id
        with pytest.raises(Denied, match="another person"):
            person.gate_approve(named)
        assert [item.id for item in operator.gate_list()] == [named]
        assert operator.gate_approve(named).decided_by == "operator"
        other = agent.gate("Sell the car.", "R3", approver="application").id
        with pytest.raises(Denied, match="another person"):
            operator.gate_deny(other)
        assert person.gate_deny(other).state == "denied"
        assert events(memory).count("gate.refused") == 2


def test_time_makes_a_safe_draft(tmp_path: Path) -> None:
    """What nobody rules on in time becomes a safe draft, as an event, and cannot be approved; a younger one can."""
    with home(tmp_path) as memory:
        agent, person = memory.agent("main"), memory.person("main")
        short, unseen, long = (agent.gate("Cook.", "R3", timeout=wait).id for wait in (10, 20, 7_000))
        later(memory, 15)
        with pytest.raises(Ruled) as caught:
            person.gate_approve(short)
        assert caught.value.rule == "safe_draft"
        later(memory, 25)
        assert agent.gate_get(unseen).state == "safe_draft"
        assert [item.id for item in agent.gate_list()] == [long]
        states = {item.id: item.state for item in person.gate_list(pending=False)}
        assert states == {short: "safe_draft", unseen: "safe_draft", long: "pending"}
        with pytest.raises(Ruled, match="no more"):
            person.gate_deny(unseen)
        assert person.gate_approve(long).state == "approved"
        assert events(memory).count("gate.expired") == 2
        assert memory.verify().problems == ()


def test_a_contradiction_that_came_later_holds_an_approval_back(tmp_path: Path) -> None:
    """An action waits on while a contradiction is open about it; settled, the same approval takes effect."""
    with home(tmp_path) as memory:
        agent, person = memory.agent("main"), memory.person("main")
        waits = agent.gate("Cook.", "R3", entity="ann", topic="diet").id
        agent.conflicts_index("ann", "diet", conflict=True)
        with pytest.raises(Ruled) as caught:
            person.gate_approve(waits)
        assert caught.value.rule == "memory_conflict"
        assert [item.state for item in person.gate_list()] == ["pending"]
        person.conflicts_resolve("ann", "diet", decision="x", rationale="y")
        assert person.gate_approve(waits).state == "approved"


def test_too_many_do_not_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the limit an action is blocked as an event; one that ran out of time makes room."""
    monkeypatch.setattr(gating, "MAX_PENDING", 2)
    with home(tmp_path) as memory:
        agent = memory.agent("main")
        assert [agent.gate("Cook.", "R3", timeout=10).state for _ in range(2)] == ["pending", "pending"]
        full = agent.gate("Cook.", "R3")
        assert (full.state, full.reason, full.outcome) == ("blocked", "too_many_pending", "safe_draft")
        assert memory.agent("other").gate("Cook.", "R3").state == "pending"
        later(memory, 11)
        assert agent.gate("Cook.", "R3").state == "pending"
        assert events(memory)[2] == "gate.blocked"


def test_another_scope_s_action_is_not_found(tmp_path: Path) -> None:
    """An id of another agent's scope and one that nobody has get the same answer; the right scope finds it."""
    with home(tmp_path) as memory:
        waits = memory.agent("first").gate("Cook.", "R3").id
        for wrong in (waits, "gat_nothing"):
            with pytest.raises(NotFound, match="nothing with this id waits"):
                memory.person("second").gate_approve(wrong)
            with pytest.raises(NotFound, match="nothing with this id waits"):
                memory.agent("second").gate_get(wrong)
        ledger = memory._parts.stores.ledger
        assert [item.scope for item in ledger.gates(None, pending=True, limit=5)] == [Scope("agent", "first")]
        assert memory.person("first").gate_approve(waits).decided_by == str(APPLICATION)


@pytest.mark.parametrize(
    "wrong",
    [
        {"level": "R4"},
        {"action": " "},
        {"action": "x" * 4_001},
        {"action": "ghp_" + "a1B2c3D4e5" + "F6g7H8i9J0k1L2m3N4o5P6q7R8"},
        {"approver": "agent:main"},
        {"timeout": 0},
        {"timeout": 10**7},
        {"timeout": True},
        {"entity": "a\nb"},
    ],
)
def test_a_wrong_request_is_refused(tmp_path: Path, wrong: dict[str, object]) -> None:
    """A wrong level, action, approver, time or name is a typed error, and nothing is noted; a right one is."""
    with home(tmp_path) as memory:
        agent = memory.agent("main")
        right: dict[str, object] = {"action": "Cook.", "level": "R2"}
        with pytest.raises(InvalidInput):
            agent.gate(**(right | wrong))  # type: ignore[arg-type]  # on purpose
        assert events(memory) == []
        assert agent.gate(**right).audited  # type: ignore[arg-type]  # the same
        assert events(memory) == ["gate.passed"]
