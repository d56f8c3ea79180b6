"""Mark `human_review`: a person inspects and rules; nothing that a model can reach does so."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path

import pytest

from memoranda.domain.outcome import Quarantined, Refused, Saved
from memoranda.domain.proposal import Proposal
from memoranda.errors import Denied, InvalidInput, NotFound, Ruled
from memoranda.interfaces import tools
from memoranda.memory import Agent, Memory, Session
from tests.homes import home, read, texts

OFFER = "The deployment key is rotated on Fridays."


def offered(memory: Memory, text: str = OFFER) -> Proposal:
    """Let a tainted session offer a text and return what waits."""
    session = memory.agent("main").session(text)
    session.tool_result("web_fetch", "…")
    assert isinstance(session.save(text).items[0], Quarantined)
    session.close()
    memory.sync()
    return memory.operator(at_terminal=True).waiting(limit=200)[-1]


def test_a_person_reads_rules_and_it_takes_effect(tmp_path: Path) -> None:
    """What waits is shown whole to the operator; approved it is memory at agent_observed, derived from its origin."""
    with home(tmp_path) as memory:
        waiting = offered(memory)
        operator = memory.operator(at_terminal=True)
        shown = operator.show(waiting.id)
        assert shown.texts == (OFFER,)
        assert OFFER in "\n".join(shown.effects)
        assert texts(memory.agent("main"), "deployment") == []
        item = operator.approve(waiting.id, waiting.content_hash, rationale="I know this").items[0]
        assert isinstance(item, Saved)
        record = memory.agent("main").get(item.record_ids[0]).record
        assert (record.trust.label, str(record.author)) == ("agent_observed", "agent:main")
        assert record.derived_from == waiting.record_ids
        assert texts(memory.agent("main"), "deployment") == [OFFER]
        assert operator.waiting() == ()


@pytest.mark.parametrize("verdict", ["approved", "rejected"])
def test_deciding_twice_is_one_decision(tmp_path: Path, verdict: str) -> None:
    """Repeated, also after a restart, a ruling gives the same answer and writes nothing; the opposite is refused."""
    with home(tmp_path) as memory:
        waiting = offered(memory)
        operator = memory.operator(at_terminal=True)
        rule = operator.approve if verdict == "approved" else operator.reject
        first = rule(waiting.id, waiting.content_hash)
        events = memory.status().ledger_events
        again = rule(waiting.id, waiting.content_hash)
        if verdict == "approved":
            assert first.items[0].record_ids == again.items[0].record_ids  # type: ignore[union-attr]
    with home(tmp_path) as memory:
        operator = memory.operator(at_terminal=True)
        rule = operator.approve if verdict == "approved" else operator.reject
        assert rule(waiting.id, waiting.content_hash).done
        assert memory.status().ledger_events == events
        other = operator.reject if verdict == "approved" else operator.approve
        with pytest.raises(Ruled) as caught:
            other(waiting.id, waiting.content_hash)
        assert caught.value.rule == "decided"


def test_a_ruling_names_what_was_read(tmp_path: Path) -> None:
    """Another hash is refused and not told the right one; the right one works."""
    with home(tmp_path) as memory:
        waiting = offered(memory)
        operator = memory.operator(at_terminal=True)
        for wrong in ("", "0" * 32, waiting.content_hash[:-1]):
            with pytest.raises(Ruled) as caught:
                operator.approve(waiting.id, wrong)
            assert caught.value.rule == "content_mismatch"
            assert waiting.content_hash not in str(caught.value)
        assert operator.approve(waiting.id, waiting.content_hash).done


def test_typed_refusals(tmp_path: Path) -> None:
    """Unknown ids, long rationales, updates of what changed meanwhile, each say what is wrong; the rest goes on."""
    with home(tmp_path) as memory:
        operator, agent = memory.operator(at_terminal=True), memory.agent("main")
        with pytest.raises(NotFound):
            operator.approve("prp_00000000000000000000000", "x")
        waiting = offered(memory)
        with pytest.raises(InvalidInput):
            operator.approve(waiting.id, waiting.content_hash, rationale="é" * 201)
        item = agent.save("The old address is Elm Street.", file="memory/a.md").items[0]
        assert isinstance(item, Saved)
        session = agent.session("updating")
        session.tool_result("fetch", "…")
        assert isinstance(session.update(item.record_ids[0], "The new address is Oak Street.").items[0], Quarantined)
        session.close()
        assert texts(agent, "address") == ["The old address is Elm Street."]
        memory.person("main").update(item.record_ids[0], "The address is secret.")
        update = operator.waiting()[-1]
        with pytest.raises(Ruled) as caught:
            operator.approve(update.id, update.content_hash)
        assert caught.value.rule == "stale_update"
        assert texts(agent, "address") == ["The address is secret."]
        assert operator.approve(waiting.id, waiting.content_hash).done


def test_a_released_update_supersedes_its_predecessor(tmp_path: Path) -> None:
    """Approved in time, a quarantined update takes its predecessor's place and chain."""
    with home(tmp_path) as memory:
        agent, operator = memory.agent("main"), memory.operator(at_terminal=True)
        item = agent.save("The fee is 10.").items[0]
        assert isinstance(item, Saved)
        session = agent.session("u")
        session.tool_result("fetch", "…")
        session.update(item.record_ids[0], "The fee is 12.")
        session.close()
        (waiting,) = operator.waiting()
        operator.approve(waiting.id, waiting.content_hash)
        assert texts(agent, "fee") == ["The fee is 12."]
        assert [version.text for version in agent.history(item.record_ids[0]).versions] == [
            "The fee is 10.", "The fee is 12.",
        ]  # fmt: skip


@pytest.mark.parametrize("what", ["delete", "replace", "forget", "restore", "update", "remove"])
def test_every_operation_of_a_tainted_session_waits(tmp_path: Path, what: str) -> None:
    """Deleting, replacing, forgetting and restoring change nothing until they are approved, and then they do."""
    with home(tmp_path) as memory:
        agent, operator = memory.agent("main"), memory.operator(at_terminal=True)
        item = agent.save("- alpha line\n- beta line").items[0]
        assert isinstance(item, Saved)
        agent.save("- gamma line")
        checkpoint = agent.checkpoints(limit=1)[0].id
        session = agent.session("t")
        session.tool_result("fetch", "…")
        before = read(tmp_path, "MEMORY.md")
        acts: dict[str, Callable[[], object]] = {
            "delete": lambda: session.delete(file="MEMORY.md", text="- alpha line\n"),
            "replace": lambda: session.save("- omega line", append=False),
            "forget": lambda: session.forget("alpha line"),
            "restore": lambda: session.restore(checkpoint),
            "update": lambda: session.update(item.record_ids[0], "- altered line"),
            "remove": lambda: session.remove(item.record_ids[0]),
        }
        acts[what]()
        session.close()
        assert read(tmp_path, "MEMORY.md") == before
        (waiting,) = operator.waiting()
        assert waiting.tainted
        operator.approve(waiting.id, waiting.content_hash)
        assert read(tmp_path, "MEMORY.md") != before
        assert memory.verify().problems == ()


def test_a_replacement_over_an_unseen_edit_waits_and_leaves_nothing_else(tmp_path: Path) -> None:
    """A tainted session replaces a file that a person has just edited: it waits, and no checkpoint keeps its words."""
    with home(tmp_path) as memory:
        agent = memory.agent("main")
        agent.save("- first line")
        session = agent.session("t")
        session.tool_result("fetch", "…")
        path = tmp_path / "MEMORY.md"
        path.write_text("- first line\n- typed now\n", encoding="utf-8")
        assert isinstance(session.save("- words of a page", append=False).items[0], Quarantined | Refused)
        assert read(tmp_path, "MEMORY.md") == "- first line\n- typed now\n"
        diffs = [repr(agent.diff(item.id)) for item in agent.checkpoints(limit=100)]
        assert any("first line" in shown for shown in diffs)
        assert not any("words of a page" in shown for shown in diffs)


def test_an_untainted_agent_changes_a_persons_record_by_a_proposal_alone(tmp_path: Path) -> None:
    """An update or removal of a person's record waits; what is an agent's own is changed at once."""
    with home(tmp_path) as memory:
        agent, operator = memory.agent("main"), memory.operator(at_terminal=True)
        mine = memory.person("main").save("The person says tea.").items[0]
        own = agent.save("The agent says milk.").items[0]
        assert isinstance(mine, Saved)
        assert isinstance(own, Saved)
        assert isinstance(agent.update(mine.record_ids[0], "The person says coffee.").items[0], Quarantined)
        assert isinstance(agent.remove(mine.record_ids[0]).items[0], Quarantined)
        assert isinstance(agent.update(own.record_ids[0], "The agent says oat milk.").items[0], Saved)
        assert "tea" in read(tmp_path, "MEMORY.md")
        first, second = operator.waiting()
        assert (first.kind, second.kind) == ("change", "change")
        operator.approve(first.id, first.content_hash)
        assert "coffee" in read(tmp_path, "MEMORY.md")
        with pytest.raises(Ruled):
            operator.approve(second.id, second.content_hash)


def test_a_team_proposal_reaches_the_team_by_a_person_alone(tmp_path: Path) -> None:
    """What a member offers is in nobody's search until it is approved, and then in every member's."""
    (tmp_path / "memoranda.toml").write_text('[teams.web]\nmembers = ["ann", "bob"]\n', encoding="utf-8")
    with home(tmp_path) as memory:
        ann, bob, operator = memory.agent("ann"), memory.agent("bob"), memory.operator(at_terminal=True)
        item = ann.propose_to_team("Releases go out on Tuesdays.").items[0]
        assert isinstance(item, Quarantined)
        assert texts(bob, "releases") == []
        with pytest.raises(InvalidInput):
            memory.agent("eve").propose_to_team("Releases go out on Sundays.")
        (waiting,) = operator.waiting()
        operator.approve(waiting.id, waiting.content_hash)
        assert texts(bob, "releases") == ["Releases go out on Tuesdays."]
        assert bob.search("releases").hits[0].author == "agent:ann"
        assert not isinstance(ann.save("x").items[0], Refused)


def test_no_agent_path_rules(tmp_path: Path) -> None:
    """No tool and no method of an agent or a session approves, rejects, adopts, retiers or erases."""
    ruling = {"approve", "reject", "adopt", "retier", "erase", "show", "waiting", "review"}
    for kind in (Agent, Session):
        assert not {name for name, _ in inspect.getmembers(kind)} & ruling
    assert not any(word in tool.name for tool in tools.TOOLS for word in ("approve", "review", "adopt", "erase"))
    with home(tmp_path) as memory:
        waiting = offered(memory)
        with pytest.raises(Denied):
            memory.agent("main").confirm_forget(waiting.id)
        with pytest.raises(Denied):
            memory.operator()
        with pytest.raises(NotFound):
            memory.person("main").confirm_forget(waiting.id)
        memory.set_operator("correct horse", at_terminal=True)
        for guess in ("", "wrong horse", "correct hors", "correct horse "):
            with pytest.raises(Denied):
                memory.operator(guess, at_terminal=True)
        assert memory.operator("correct horse").waiting() == (waiting,)
