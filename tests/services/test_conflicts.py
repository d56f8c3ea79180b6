"""The operational ledger in a real home: facts, contradictions with both sides, who may do what, and what it proves."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from memoranda.domain import assertion
from memoranda.domain.assertion import Found
from memoranda.domain.outcome import Quarantined, Saved
from memoranda.errors import Denied, InvalidInput, LedgerUnavailable, NotFound
from memoranda.memory import Memory
from memoranda.services import conflicts
from tests.homes import home

SECRET = "ghp_" + "a1B2c3D4e5" + "F6g7H8i9J0k1L2m3N4o5P6q7R8"


def facts(found: Found) -> list[str]:
    """The facts that were found."""
    return [item.fact for item in found.assertions]


def reasons(found: Found) -> list[str]:
    """The reasons of the contradictions that were found."""
    return [item.conflict_reason for item in found.conflicts]


def kinds(memory: Memory) -> list[str]:
    """The kinds of the ledger's events about assertions and contradictions, oldest first."""
    found = [event.kind for event in memory.person("main").log(limit=500)]
    return [kind for kind in reversed(found) if kind.startswith(("memory.", "gate."))]


def test_names_are_kept_in_lower_case_and_stores_are_counted(tmp_path: Path) -> None:
    """A name of any case is one name; each store counts its own; a query keeps to a store."""
    with home(tmp_path) as memory:
        agent = memory.agent("main")
        done = agent.conflicts_index(" ANN ", "Diet", fact="Eats meat.", metadata={"day": 3})
        assert (done.entity, done.topic, done.store, done.conflict_active) == ("ann", "diet", "knowledge_graph", False)
        assert done.assertion_id.startswith("ast_")
        agent.conflicts_index("ann", "walk", store="TODO", fact="Walks at noon.")
        assert facts(agent.conflicts_query()) == ["Walks at noon.", "Eats meat."]
        assert facts(agent.conflicts_query(entity="Ann", topic="DIET")) == ["Eats meat."]
        assert facts(agent.conflicts_query(entity="an")) == []
        assert facts(agent.conflicts_query(store="todo")) == ["Walks at noon."]
        assert facts(agent.conflicts_query(query="MEAT")) == ["Eats meat."]
        assert dict(agent.conflicts_stores()) == {
            "knowledge_graph": 1, "vector": 0, "timeline": 0, "todo": 1, "top_of_mind": 0,
        }  # fmt: skip
        assert agent.conflicts_query(topic="diet").assertions[0].metadata_values == {"day": 3}
        assert memory.verify().problems == ()


def test_a_contradiction_holds_both_sides_with_their_sources(tmp_path: Path) -> None:
    """What was known, a named record and the new fact are its sides, each with who said it; a restart keeps them."""
    with home(tmp_path) as memory:
        agent, person = memory.agent("main"), memory.person("main")
        saved = person.save("Ann eats only fish.").items[0]
        assert isinstance(saved, Saved)
        agent.conflicts_index("ann", "diet", store="vector", fact="Eats meat.")
        person.conflicts_index("ann", "diet", fact="Eats no meat.", conflict=True, records=saved.record_ids)
    with home(tmp_path) as memory:
        (found,) = memory.agent("main").conflicts_query(entity="ann").conflicts
        assert [(side.fact, side.source) for side in found.sides] == [
            ("Eats meat.", "agent:main"), ("Ann eats only fish.", "application"), ("Eats no meat.", "application"),
        ]  # fmt: skip
        assert all(side.record_id and side.at for side in found.sides)
        kept = memory._parts.stores.ledger.assertions(found.scope, conflicts=True)[0]
        assert [side.fact for side in kept.sides] == ["Eats meat.", "", "Eats no meat."]
        assert memory.verify().problems == ()


def test_a_contradiction_alone_is_no_assertion_and_the_last_reason_counts(tmp_path: Path) -> None:
    """A signal without a fact makes no assertion; a second one joins the first."""
    with home(tmp_path) as memory:
        agent = memory.agent("main")
        first = agent.conflicts_index("ann", "diet", conflict=True, conflict_reason="one")
        again = agent.conflicts_index("ann", "diet", conflict=True, conflict_reason="two")
        assert (first.assertion_id, first.conflict_active) == ("", True)
        assert again.conflict_id == first.conflict_id
        found = agent.conflicts_query()
        assert (facts(found), reasons(found)) == ([], ["two"])
        assert agent.conflicts_index("ann", "diet", fact="Eats.").conflict_active
        assert not agent.conflicts_index("ann", "diet", store="todo", fact="Eats.").conflict_active
        assert kinds(memory) == ["memory.conflict.signal"] * 2 + ["memory.assertion.indexed"] * 2


def test_only_a_person_settles(tmp_path: Path) -> None:
    """An agent and a job cannot settle; a person can, once; who, what and why is an event for good."""
    with home(tmp_path) as memory:
        agent, person = memory.agent("main"), memory.person("main")
        agent.conflicts_index("ann", "diet", conflict=True, conflict_reason="both")
        with pytest.raises(Denied, match="only a person"):
            agent.conflicts_resolve("ann", "diet", decision="x", rationale="y")
        assert reasons(agent.conflicts_query()) == ["both"]
        with pytest.raises(NotFound):
            person.conflicts_resolve("ann", "diet", store="todo", decision="x", rationale="y")
        done = person.conflicts_resolve(" ANN", "Diet", decision="no meat", rationale="She said so.")
        assert (done.resolved_by, done.decision, done.rationale) == ("application", "no meat", "She said so.")
        assert agent.conflicts_query().conflicts == ()
        assert agent.conflicts_stores()["knowledge_graph"] == 0
        with pytest.raises(NotFound):
            person.conflicts_resolve("ann", "diet", decision="again", rationale="y")
        (event,) = person.log(kind="memory.conflict.resolved")
        assert json.loads(event.payload)["rationale"] == "She said so."
        assert not agent.conflicts_index("ann", "diet", fact="Eats no meat.").conflict_active
        assert agent.conflicts_index("ann", "diet", conflict=True).conflict_id != done.id
        assert memory.verify().problems == ()


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"fact": "x", "conflict_reason": "why"},
        {"fact": "x", "store": "graph"},
        {"fact": "x" * 4_001},
        {"fact": 5},
        {"fact": "x", "metadata": ["a"]},
        {"fact": f"token {SECRET}"},
        {"fact": "x", "metadata": {"token": SECRET}},
        {"conflict": True, "conflict_reason": SECRET},
        {"conflict": True, "records": "rec_1"},
        {"conflict": True, "records": [7]},
    ],
)
def test_what_is_wrong_is_refused_and_nothing_is_written(tmp_path: Path, wrong: dict[str, object]) -> None:
    """Wrong types, lengths, stores and secrets are typed errors, nothing is kept of them; a right one is kept."""
    with home(tmp_path) as memory:
        agent = memory.agent("main")
        agent.conflicts_index("ann", "diet", fact="Eats meat.")
        with pytest.raises(InvalidInput) as caught:
            agent.conflicts_index("ann", "diet", **wrong)  # type: ignore[arg-type]  # on purpose
        assert SECRET not in str(caught.value)
        assert kinds(memory) == ["memory.assertion.indexed"]
        assert facts(agent.conflicts_query()) == ["Eats meat."]


def test_what_waits_or_was_rejected_does_not_get_in(tmp_path: Path) -> None:
    """Quarantined and rejected values, tainted sessions and withheld writes are refused; a clean fact is not."""
    with home(tmp_path) as memory:
        agent, person = memory.agent("main"), memory.person("main")
        person.save("The kettle is blue.")
        person.delete(file="MEMORY.md", text="The kettle is blue.")
        with pytest.raises(Denied, match="rejected"):
            agent.conflicts_index("kettle", "colour", fact="The kettle is blue.")
        reading = agent.session("reading")
        reading.tool_result("web_fetch", "a page")
        waits = reading.save("The oven is red.").items[0]
        assert isinstance(waits, Quarantined)
        with pytest.raises(Denied, match="untrusted content"):
            reading.conflicts_index("oven", "colour", fact="The oven is old.")
        reading.close()
        with pytest.raises(Denied, match="waits"):
            agent.conflicts_index("oven", "colour", fact="The oven is red.")
        with pytest.raises(NotFound):
            agent.conflicts_index("oven", "colour", conflict=True, records=waits.record_ids)
        agent.conflicts_index("oven", "colour", fact="The oven is white.")
        assert facts(agent.conflicts_query()) == ["The oven is white."]
    with home(tmp_path, memory__llm_writes="quarantined") as memory:
        with pytest.raises(Denied, match="llm_writes"):
            memory.agent("main").conflicts_index("oven", "age", fact="The oven is new.")
        memory.person("main").conflicts_index("oven", "age", fact="The oven is old.")
        assert facts(memory.agent("main").conflicts_query()) == ["The oven is old.", "The oven is white."]


def test_what_is_rejected_later_is_shown_to_no_model(tmp_path: Path) -> None:
    """A fact whose value a person rejects afterwards leaves what an agent sees; the person sees it, others stay."""
    with home(tmp_path) as memory:
        agent, person = memory.agent("main"), memory.person("main")
        agent.conflicts_index("kettle", "colour", fact="The kettle is blue.")
        agent.conflicts_index("kettle", "colour", fact="It is green at night.", conflict=True)
        person.save("The kettle is blue.")
        assert facts(agent.conflicts_query()) == ["It is green at night.", "The kettle is blue."]
        person.delete(file="MEMORY.md", text="The kettle is blue.")
        found = agent.conflicts_query()
        assert facts(found) == ["It is green at night."]
        assert [side.fact for side in found.conflicts[0].sides] == ["", "It is green at night."]
        assert facts(person.conflicts_query()) == ["It is green at night.", "The kettle is blue."]


def test_many_signals_at_once_are_one_contradiction(tmp_path: Path) -> None:
    """Threads that signal the same contradiction at the same time leave one, with what each of them said."""
    with home(tmp_path) as memory:
        agent, start = memory.agent("main"), threading.Barrier(4)

        def signal(number: int) -> None:
            start.wait()
            agent.conflicts_index("ann", "diet", fact=f"Eats number {number}.", conflict=True)

        threads = [threading.Thread(target=signal, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        (found,) = agent.conflicts_query().conflicts
        assert {side.fact for side in found.sides} == {f"Eats number {number}." for number in range(4)}
        assert memory.verify().problems == ()


def test_agents_do_not_see_each_other(tmp_path: Path) -> None:
    """Facts and contradictions are of one agent's scope; another's are neither seen, counted nor settled."""
    with home(tmp_path) as memory:
        memory.agent("first").conflicts_index("ann", "diet", fact="Eats meat.", conflict=True)
        assert memory.agent("second").conflicts_query() == Found(assertions=(), conflicts=())
        assert sum(memory.agent("second").conflicts_stores().values()) == 0
        with pytest.raises(NotFound):
            memory.person("second").conflicts_resolve("ann", "diet", decision="x", rationale="y")
        assert len(memory.agent("first").conflicts_query().conflicts) == 1
        assert sum(memory.agent("first").conflicts_stores().values()) == 2


def test_the_oldest_go_and_open_contradictions_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the cap the oldest facts and settled contradictions are dropped, as an event; an open one never is."""
    assert assertion.MAX_ASSERTIONS == 4_096
    monkeypatch.setattr(conflicts, "MAX_ASSERTIONS", 3)
    with home(tmp_path) as memory:
        agent, person = memory.agent("main"), memory.person("main")
        agent.conflicts_index("a", "open", conflict=True, conflict_reason="stays")
        agent.conflicts_index("a", "settled", conflict=True)
        person.conflicts_resolve("a", "settled", decision="x", rationale="y")
        for number in range(5):
            agent.conflicts_index("a", "fact", fact=f"Number {number}.")
        found = agent.conflicts_query()
        assert facts(found) == ["Number 4.", "Number 3.", "Number 2."]
        assert reasons(found) == ["stays"]
        assert kinds(memory).count("memory.assertion.dropped") == 3
        assert memory.verify().problems == ()


def test_an_endpoint_that_is_not_well_stops_reads_and_writes(tmp_path: Path) -> None:
    """With a failing endpoint every call is a typed error and nothing is written; without one all goes on."""
    with home(tmp_path) as memory:
        memory.agent("main").conflicts_index("ann", "diet", fact="Eats meat.", conflict=True)
        events = memory.status().ledger_events
    with home(tmp_path, memory__ledger__endpoint="http://127.0.0.1:9") as memory:
        agent, person = memory.agent("main"), memory.person("main")
        with pytest.raises(LedgerUnavailable):
            agent.conflicts_index("ann", "diet", fact="Eats fish.")
        with pytest.raises(LedgerUnavailable):
            agent.conflicts_query()
        with pytest.raises(LedgerUnavailable):
            agent.conflicts_stores()
        with pytest.raises(LedgerUnavailable):
            person.conflicts_resolve("ann", "diet", decision="x", rationale="y")
        assert memory.status().ledger_events == events
    with home(tmp_path) as memory:
        assert facts(memory.agent("main").conflicts_query()) == ["Eats meat."]
        memory.person("main").conflicts_resolve("ann", "diet", decision="x", rationale="y")


def test_erasing_reaches_every_field(tmp_path: Path) -> None:
    """A text leaves names, facts, metadata, reasons, sides, actions and every event; a control stays, all holds."""
    gone, stays = 'Quentin "Q" Featherstone', "zebra control sentence"
    with home(tmp_path) as memory:
        agent, person = memory.agent("main"), memory.person("main")
        agent.conflicts_index(gone, "age", fact="He is old.", conflict=True)
        agent.conflicts_index("man", gone, store="todo", fact=f"It is {gone}.", metadata={gone: {"text": f"a {gone}"}})
        agent.conflicts_index("man", "name", fact=f"Not {gone}.", conflict=True, conflict_reason=f"{gone}? {stays}")
        person.conflicts_index("man", "job", conflict=True)
        person.conflicts_resolve("man", "job", decision="settled", rationale=f"{gone} said so.")
        agent.gate(f"Write to {gone}", "R2", entity="other", topic="mail")
        agent.gate(f"Call {gone}", "R3", entity="man", topic="call")
        agent.gate("Call again", "R3", entity=gone, topic="age")
        ledger = tmp_path / ".state" / "ledger.db"
        certificate = memory.operator(at_terminal=True).erase(text=gone)
        assert certificate.swept.residue == ()
        raw = b"".join(path.read_bytes() for path in ledger.parent.glob("ledger.db*"))
        assert b"eatherstone" not in raw
        assert stays.encode() in raw
        assert memory.verify().problems == ()
        assert len(agent.conflicts_query().conflicts) == 2
        assert "He is old." in facts(agent.conflicts_query())
        assert memory.operator(at_terminal=True).erase(text=gone).nothing_to_do
