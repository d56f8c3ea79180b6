"""Mark `audit_log`: every change and every refusal is a named event that commits with it, and tampering is located."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from memoranda.domain.outcome import Saved
from memoranda.domain.record import Details, Trust
from memoranda.errors import Denied, MemorandaError
from memoranda.memory import Agent, Memory
from tests.homes import home, write
from tests.scripted import Scripted, operations

TAKEN_BACK = ("batch.discarded",)
"""Kinds that only a crash or a person's edit in the same instant makes; the fault tests hold them."""


def kinds(memory: Memory) -> list[str]:
    """The kinds of all events, oldest first."""
    found = memory._parts.stores.ledger.events(scope=None, limit=100_000)
    return [event.kind for event in reversed(found)]


def operator_made(person: Agent) -> str:
    """Return the id of a new record of a person."""
    item = person.save("A fact that contradicts.", file="memory/c.md").items[0]
    assert isinstance(item, Saved)
    return item.record_ids[0]


def audited(agent: Agent, model: Scripted) -> None:
    """Let something be recalled into a prompt, and an audit say what it was good for."""
    agent.save("The ferry leaves at noon.", file="memory/f.md")
    session = agent.session("audited")
    session.context("When does the ferry leave?")
    session.assistant("The ferry leaves at noon.")
    session.close()
    model.script = [{"writes": [], "verdicts": [{"n": "1", "verdict": "load_bearing"}]}]
    agent.audit_usage()


def everything(memory: Memory, folder: Path, model: Scripted) -> None:
    """Do each thing that changes memory once."""
    agent, person = memory.agent("main"), memory.person("main")
    operator = memory.operator(at_terminal=True)
    saved = agent.remember("One fact.", details=Details(title="Fact")).items[0]
    assert isinstance(saved, Saved)
    agent.update(saved.record_ids[0], "One other fact.")
    person.save("A rejected fact.")
    person.delete(file="MEMORY.md", text="A rejected fact.")
    person.undo(1)
    agent.save("password: Xk9-Tr7-Qm2-Lp4")
    write(folder, "memory/hand.md", "# A\n\nby hand\n\npassword: Xk9-Tr7-Qm2-Lp4\n")
    memory.sync()
    write(folder, "memory/hand.md", "# B\n\nby hand\n\npassword: Xk9-Tr7-Qm2-Lp4\n")
    memory.sync()
    session = agent.session("s")
    session.tool_result("fetch", "…" * 200)
    session.tidy(keep_turns=0)
    session.restore_hygiene()
    for text in ("First from a page.", "Second from a page."):
        session.save(text)
    write(folder, "memory/shell.md", "by the shell\n")
    memory.sync()
    session.close()
    memory.sync()
    person.steward()
    first, second, third = operator.waiting()
    operator.approve(third.id, third.content_hash)
    operator.approve(first.id, first.content_hash, rationale="checked")
    operator.reject(second.id, second.content_hash)
    proof = person.save("Evidence here.", file="memory/e.md").items[0]
    own = agent.save("To be verified.", file="memory/v.md").items[0]
    assert isinstance(proof, Saved)
    assert isinstance(own, Saved)
    operator.retier(own.record_ids[0], Trust.AGENT_VERIFIED, evidence=proof.record_ids)
    operator.adopt(own.record_ids[0])
    a, b = proof.record_ids[0], operator_made(person)
    person.pin(a)
    person.pin(a, pinned=False)
    model.script = [operations({"op": "contradiction", "ids": [a, b]}, {"op": "retire", "ids": [b]})]
    person.undo_run(person.dream().id)
    acted(memory)
    audited(agent, model)
    memory.set_operator("correct horse", at_terminal=True)
    with pytest.raises(Denied):
        memory.operator("wrong horse")


def acted(memory: Memory) -> None:
    """Do each thing once that the operational ledger and the gate note."""
    agent, person = memory.agent("main"), memory.person("main")
    agent.conflicts_index("house", "roof", fact="It is flat.", conflict=True)
    agent.gate("Paint.", "R2", entity="house", topic="roof")
    person.conflicts_resolve("house", "roof", decision="flat", rationale="It was looked at.")
    agent.gate("Paint.", "R2")
    first, second = (agent.gate("Sell.", "R3").id for _ in range(2))
    with pytest.raises(Denied):
        agent.gate_approve(first)
    person.gate_approve(first)
    person.gate_deny(second)
    agent.gate("Build.", "R3", timeout=1e-6)
    assert agent.gate_list() == ()


def test_every_kind_of_event_has_a_producer(tmp_path: Path) -> None:
    """Doing everything once makes every documented kind but those of erasure, pruning and crashes, and no other."""
    model = Scripted([{}])
    with home(tmp_path, model=model) as memory:
        everything(memory, tmp_path, model)
        page = (Path(__file__).parents[2] / "docs/format.md").read_text(encoding="utf-8")
        documented = {
            line.split("`")[1] for line in page.splitlines() if line.startswith("| `") and "." in line.split("`")[1]
        }
        documented = {name for name in documented if name.split(".")[0] in EVENT_FAMILIES}
        made = set(kinds(memory))
        elsewhere = {
            "checkpoints.pruned", "erase.begun", "erase.completed", "memory.erased", "record.erased",
            "proposal.erased", "tombstone.erased", "session.erased", "memory.assertion.dropped",
            "memory.assertion.erased", "gate.erased", *TAKEN_BACK,
        }  # fmt: skip
        assert made <= documented
        assert documented - made == elsewhere
        assert memory.verify().problems == ()


EVENT_FAMILIES = {
    "batch", "checkpoints", "erase", "gate", "job", "memory", "operator", "proposal", "record", "session", "tombstone",
}  # fmt: skip


def test_events_hold_before_and_after(tmp_path: Path) -> None:
    """A batch's event names the content before and after each file; a record's event names its state before."""
    with home(tmp_path) as memory:
        prints = memory._parts.stores.prints
        agent = memory.agent("main")
        agent.save("First.")
        agent.delete(file="MEMORY.md", text="First.")
        batches = [json.loads(event.payload) for event in agent.log(kind="batch.committed", limit=9)]
        path, before, after, content = batches[1]["files"][0]
        assert (path, before, after, content) == (
            "MEMORY.md",
            "",
            prints.content("First.\n"),
            prints.content("First.\n"),
        )
        assert batches[0]["files"][0] == ["MEMORY.md", after, "", ""]
        records = [json.loads(event.payload) for event in agent.log(kind="record", limit=9)]
        assert [record["before"] for record in records] == ["active", ""]


def test_refusals_are_events_without_content(tmp_path: Path) -> None:
    """Each refusal is written down with its rule; no word of the refused text is in it. The control has its record."""
    with home(tmp_path) as memory:
        agent = memory.agent("main")
        memory.person("main").save("Person's walrus line.")
        memory.person("main").save("Rejected walrus value.")
        memory.person("main").delete(file="MEMORY.md", text="Rejected walrus value.")
        agent.save("walrus password: Xk9-Tr7-Qm2-Lp4")
        agent.save("walrus", file="../walrus.md")
        agent.save("Rejected walrus value.")
        agent.delete(file="MEMORY.md", text="Person's walrus line.")
        agent.save("   ")
        refused = agent.log(kind="batch.refused", limit=9)
        assert [json.loads(event.payload)["rules"][0] for event in reversed(refused)] == [
            "secret", "path", "tombstone", "trust", "empty",
        ]  # fmt: skip
        assert not any("walrus" in event.payload for event in refused)
        assert agent.save("An accepted walrus.").done
        assert agent.log(kind="record.created", limit=1)


@pytest.mark.slow
@pytest.mark.parametrize("column", ["at", "principal", "kind", "scope", "subject", "payload", "prev_hash", "hash"])
def test_tampering_is_located(tmp_path: Path, column: str) -> None:
    """One changed value in one event is named by its number; the untouched ledger is clean."""
    model = Scripted([{}])
    with home(tmp_path, model=model) as memory:
        everything(memory, tmp_path, model)
        assert memory.verify().problems == ()
    with closing(apsw.Connection(str(tmp_path / ".state/ledger.db"))) as ledger:
        ledger.execute(f"UPDATE events SET {column}=replace({column}, substr({column}, 1, 1), '~') WHERE seq=5")  # noqa: S608 - a parameter of this test
    try:
        with home(tmp_path) as memory:
            named = {problem.subject for problem in memory.verify().problems}
    except MemorandaError as error:
        named = {str(error)}
    assert any("5" in name for name in named), named
