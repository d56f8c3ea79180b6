"""The operational ledger and the gate at the command line, and its calls as RPC clients name them."""

from __future__ import annotations

import pytest

from memoranda.errors import InvalidInput, NotFound
from memoranda.interfaces.wire_ledger import CALLS, answer
from memoranda.memory import Memory
from tests.interfaces.command_line import CommandLine


def test_a_contradiction_from_signal_to_ruling(cli: CommandLine) -> None:
    """Facts are added, a contradiction is listed with both sides and settled, each by a command of its own."""
    cli("init")
    first = cli("conflicts", "add", "Ann", "Diet", "--fact", "Eats meat.", "--metadata", '{"day": 3}', "--json").json
    assert (first["entity"], first["topic"], first["store"], first["conflict_active"]) == (
        "ann", "diet", "knowledge_graph", False,
    )  # fmt: skip
    assert "conflict_id" not in first
    added = cli(
        "conflicts", "add", "ann", "diet", "--fact", "Eats no meat.", "--conflict", "--reason", "Both are said."
    )
    assert "a contradiction is open" in added.out
    found = cli("conflicts", "list", "--query", "MEAT", "--json").json
    assert [item["fact"] for item in found["assertions"]] == ["Eats no meat.", "Eats meat."]
    assert found["assertions"][1]["metadata"] == {"day": 3}
    assert [side["fact"] for side in found["conflicts"][0]["sides"]] == ["Eats meat.", "Eats no meat."]
    shown = cli("conflicts", "list", "--facts").out
    assert "Both are said." in shown
    assert shown.count("Eats no meat.") == 2
    assert cli("conflicts", "stores", "--json").json["stores"][0] == {"store": "knowledge_graph", "record_count": 3}
    settle = ("conflicts", "resolve", "ann", "diet", "--decision", "no meat", "--rationale", "She said so.")
    assert cli(*settle, MEMORANDA_AGENT="main").code == 9
    done = cli(*settle, "--json").json
    assert (done["resolved_by"], done["decision"]) == ("application", "no meat")
    assert cli("conflicts", "list").out == "nothing contradicts itself\n"
    assert cli(*settle).code == 4


def test_an_action_waits_and_is_ruled_on(cli: CommandLine) -> None:
    """R3 waits, an agent cannot approve, a person can; the list empties, and shows all when asked."""
    cli("init")
    asked = cli("conflicts", "gate", "Cook.", "--level", "r3", "--json", MEMORANDA_AGENT="main").json
    assert (asked["state"], asked["outcome"]) == ("pending", "wait")
    assert asked["id"] in cli("conflicts", "gates").out
    assert cli("conflicts", "approve", asked["id"], MEMORANDA_AGENT="main").code == 9
    assert cli("conflicts", "approve", asked["id"], "--rationale", "Hungry.", "--json").json["state"] == "approved"
    assert cli("conflicts", "gates").out == "nothing waits\n"
    assert (
        cli("conflicts", "gates", asked["id"], "--json", MEMORANDA_AGENT="main").json["gates"][0]["state"] == "approved"
    )
    assert cli("conflicts", "gates", "gat_nothing").code == 4
    assert cli("conflicts", "gates", "--all", "--json").json["gates"][0]["decided_by"] == "application"
    assert cli("conflicts", "deny", asked["id"]).code == 16
    assert cli("conflicts", "gate", "Look.", "--level", "R0").out == "passed\n"
    cli("conflicts", "add", "ann", "diet", "--conflict")
    blocked = cli("conflicts", "gate", "Cook.", "--level", "R2", "--entity", "Ann", "--topic", "diet")
    assert (blocked.code, blocked.out) == (0, "blocked (memory_conflict): keep it as a draft\n")


def test_the_operator_rules_where_named(cli: CommandLine, memory: Memory) -> None:
    """Where the operator was named a person at the command line is refused; --operator with the passphrase is not."""
    memory.set_operator("a long passphrase", at_terminal=True)
    waits = memory.agent("main").gate("Sell.", "R3", approver="operator").id
    assert cli("conflicts", "deny", waits).code == 9
    assert cli("conflicts", "deny", waits, "--operator").code == 9
    secret = {"MEMORANDA_OPERATOR_PASSPHRASE": "a long passphrase"}
    assert waits in cli("conflicts", "gates", "--operator", **secret).out
    denied = cli("conflicts", "deny", waits, "--operator", "--json", **secret)
    assert denied.json["decided_by"] == "operator"


def test_an_endpoint_that_is_not_well_has_its_own_exit_code(cli: CommandLine) -> None:
    """The typed error reaches the command line, names the endpoint, and nothing is kept."""
    cli("init")
    down = {"MEMORANDA_MEMORY_LEDGER_ENDPOINT": "http://127.0.0.1:9"}
    failed = cli("conflicts", "add", "ann", "diet", "--fact", "Eats.", "--json", **down)
    assert (failed.code, failed.json["error"]["code"]) == (22, "ledger_unavailable")
    assert "127.0.0.1:9" in failed.json["error"]["message"]
    assert cli("conflicts", "list", "--json").json == {"assertions": [], "conflicts": []}
    assert cli("conflicts", "add", "ann", "diet", "--fact", "Eats.").code == 0
    assert len(cli("conflicts", "list", "--json").json["assertions"]) == 1


def test_metadata_that_is_no_object_is_refused(cli: CommandLine) -> None:
    """What is no JSON, and JSON that is no object, is an input error."""
    cli("init")
    for wrong in ("{", "[1]", "5"):
        assert cli("conflicts", "add", "a", "b", "--fact", "x", "--metadata", wrong).code == 2
    assert cli("conflicts", "add", "a", "b", "--fact", "x", "--metadata", '{"a": 1}').code == 0


def test_the_calls_have_the_names_of_rpc_clients(memory: Memory) -> None:
    """The four calls answer in their documented shape; unknown calls and parameters are typed errors."""
    agent = memory.agent("main")
    assert set(CALLS) == {"memory/index", "memory/query", "memory/stores", "memory/resolve"}
    done = answer(agent, "memory/index", {"entity": "Ann", "topic": "Diet", "conflict": True})
    assert set(done) == {"entity", "topic", "store", "conflict_id", "conflict_active"}
    assert set(answer(agent, "memory/query", {})) == {"assertions", "conflicts"}
    with pytest.raises(NotFound, match="memory/query"):
        answer(agent, "memory/clear", {})
    for wrong in ({"entity": "a"}, {"entity": "a", "topic": "b", "scope": "c"}, {"entity": 5, "topic": "b"}):
        with pytest.raises(InvalidInput, match="argument"):
            answer(agent, "memory/index", wrong)
    with pytest.raises(InvalidInput, match="of type object"):
        answer(agent, "memory/index", {"entity": "a", "topic": "b", "fact": "c", "metadata": "d"})
