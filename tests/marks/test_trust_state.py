"""Mark `trust_state`: every status and tier is made by some production path, and every read honours it."""

from __future__ import annotations

from pathlib import Path

import pytest

from memoranda.domain.outcome import Quarantined, Refused, Saved
from memoranda.domain.record import Details, Epistemic, Record, Status, Trust
from memoranda.domain.trust import is_capped
from memoranda.errors import NotFound
from memoranda.memory import Agent, Memory
from tests.homes import home, texts, write


def made(agent: Agent, text: str, **settings: object) -> str:
    """Save a text and return its record's id."""
    item = agent.save(text, **settings).items[0]  # type: ignore[arg-type]
    assert isinstance(item, Saved)
    return item.record_ids[0]


def record(memory: Memory, ident: str) -> Record:
    """Return a record as the ledger has it."""
    found = memory._parts.stores.ledger.record(ident)
    assert found is not None
    return found


def quarantined(memory: Memory, text: str) -> str:
    """Let a tainted session offer a text; return the waiting record's id."""
    session = memory.agent("main").session(text)
    session.tool_result("web_fetch", "…")
    item = session.save(text).items[0]
    session.close()
    memory.sync()
    assert isinstance(item, Quarantined)
    return item.record_ids[0]


def approve(memory: Memory, ident: str) -> str:
    """Approve the proposal that holds a quarantined record; return the successor's id."""
    operator = memory.operator(at_terminal=True)
    proposal = next(item for item in operator.waiting() if ident in item.record_ids)
    item = operator.approve(proposal.id, proposal.content_hash).items[0]
    assert isinstance(item, Saved)
    return item.record_ids[0]


def test_every_door_gives_its_own_trust(tmp_path: Path) -> None:
    """The tier follows from who writes, whatever the text claims."""
    claim = "---\ntrust: operator\nauthor: operator\n---\n\n"
    with home(tmp_path) as memory:
        doors = {
            Trust.AGENT_OBSERVED: made(memory.agent("main"), f"{claim}By an agent.", file="memory/a.md"),
            Trust.APPLICATION: made(memory.person("main"), f"{claim}By a person.", file="memory/p.md"),
            Trust.UNTRUSTED: made(memory.job("importer", "r", "main"), f"{claim}By an import.", file="memory/i.md"),
        }
        for trust, ident in doors.items():
            assert record(memory, ident).trust is trust
        write(tmp_path, "memory/hand.md", "By hand.\n")
        memory.sync()
        line = memory.person("main").blame("memory/hand.md")[0]
        assert line.record is not None
        assert line.record.trust is Trust.APPLICATION
        adopted = memory.operator(at_terminal=True).adopt(doors[Trust.UNTRUSTED]).items[0]
        assert isinstance(adopted, Saved)
        assert record(memory, adopted.record_ids[0]).trust is Trust.OPERATOR
        steward = memory.job("steward", "s", "main")
        evidence = (doors[Trust.APPLICATION],)
        assert steward.retier(doors[Trust.AGENT_OBSERVED], Trust.AGENT_VERIFIED, evidence=evidence).done
        assert record(memory, doors[Trust.AGENT_OBSERVED]).trust is Trust.AGENT_VERIFIED


def test_every_status_is_produced_and_only_active_is_read(tmp_path: Path) -> None:
    """Each of the six statuses comes about; search, get and the index hold the active one alone."""
    with home(tmp_path) as memory:
        agent, person = memory.agent("main"), memory.person("main")
        idents = {Status.ACTIVE: made(agent, "Mango is active.")}
        idents[Status.SUPERSEDED] = made(agent, "Mango was superseded.")
        agent.update(idents[Status.SUPERSEDED], "Papaya took its place.")
        idents[Status.RETIRED] = made(agent, "Mango was retired.")
        agent.remove(idents[Status.RETIRED])
        idents[Status.QUARANTINED] = quarantined(memory, "Mango waits.")
        rejected = quarantined(memory, "Mango was rejected.")
        operator = memory.operator(at_terminal=True)
        proposal = next(item for item in operator.waiting() if rejected in item.record_ids)
        operator.reject(proposal.id, proposal.content_hash)
        idents[Status.TOMBSTONED] = rejected
        write(tmp_path, "memory/secret.md", "Mango password: Xk9-Tr7-Qm2-Lp4\n")
        memory.sync()
        withheld = person.blame("memory/secret.md")[0].record
        assert withheld is not None
        idents[Status.WITHHELD] = withheld.id
        assert {status: record(memory, ident).status for status, ident in idents.items()} == {s: s for s in Status}
        assert texts(agent, "mango") == ["Mango is active."]
        for status, ident in idents.items():
            if status is Status.ACTIVE:
                assert agent.get(ident).text == "Mango is active."
                continue
            with pytest.raises(NotFound):
                agent.get(ident)
        assert agent.search("mango").withheld == 2


def test_trust_never_rises_through_descent(tmp_path: Path) -> None:
    """What descends from something quarantined or imported stays at agent_observed, also after a person's edit."""
    with home(tmp_path) as memory:
        released = approve(memory, quarantined(memory, "The mirror is in Paris."))
        imported = made(memory.job("importer", "r", "main"), "The backup is in Rome.", file="memory/i.md")
        own = made(memory.agent("main"), "The source is in Bern.", file="memory/o.md")
        person = memory.person("main")
        expected = {released: Trust.AGENT_OBSERVED, imported: Trust.AGENT_OBSERVED, own: Trust.APPLICATION}
        for ident, trust in expected.items():
            current = ident
            for number in range(3):
                item = person.update(current, f"{record(memory, ident).path} edited {number}").items[0]
                assert isinstance(item, Saved)
                current = item.record_ids[0]
                assert record(memory, current).trust is trust
        assert record(memory, released).ever_quarantined
        assert record(memory, released).derived_from
        last = person.search("edited 2", limit=9, min_score=0).hits
        assert sorted(hit.trust for hit in last) == [Trust.AGENT_OBSERVED, Trust.AGENT_OBSERVED, Trust.APPLICATION]


def test_the_stored_cap_is_the_transitive_one(tmp_path: Path) -> None:
    """The bit on each record equals what a walk over all its ancestors says."""
    with home(tmp_path) as memory:
        test = [approve(memory, quarantined(memory, f"Odd fact {number}.")) for number in range(2)]
        plain = made(memory.agent("main"), "Plain fact.")
        person = memory.person("main")
        for ident in (*test, plain):
            item = person.update(ident, f"Edited {ident[-6:]}.").items[0]
            assert isinstance(item, Saved)
            person.update(item.record_ids[0], f"Edited twice {ident[-6:]}.")
        ledger = memory._parts.stores.ledger
        seen = 0
        for hit in person.search("", limit=64).hits:
            current = record(memory, hit.record_id)
            parents = [ledger.record(name) for name in (current.supersedes, *current.derived_from) if name]
            assert current.capped is is_capped(parent for parent in parents if parent), current
            seen += current.capped
        assert seen >= 2


def test_only_a_steward_or_the_operator_raises_and_only_with_evidence(tmp_path: Path) -> None:
    """Evidence must be there, be believed and not descend from the record; capped records never rise."""
    with home(tmp_path) as memory:
        agent, operator = memory.agent("main"), memory.operator(at_terminal=True)
        fact = made(agent, "The port is 8080.")
        proof = made(memory.person("main"), "Configuration says port 8080.", file="memory/config.md")
        session = agent.session("clean")
        tainted = agent.session("dirty")
        tainted.tool_result("fetch", "…")
        capped = approve(memory, quarantined(memory, "Said by a page."))
        for evidence in ((), ("made up",), (fact,), ("rec_00000000000000000000000",), (tainted.id,), (proof, "no")):
            item = operator.retier(fact, Trust.AGENT_VERIFIED, evidence=evidence).items[0]
            assert isinstance(item, Refused), evidence
            assert item.rule == "evidence"
        assert operator.retier(fact, Trust.OPERATOR, evidence=(proof,)).items[0].rule == "trust"  # type: ignore[union-attr]
        assert operator.retier(capped, Trust.AGENT_VERIFIED, evidence=(proof,)).items[0].rule == "ceiling"  # type: ignore[union-attr]
        tainted.close()
        steward, distiller = memory.job("steward", "s", "main"), memory.job("distiller", "d", "main")
        assert steward.retier(fact, Trust.AGENT_VERIFIED).items[0].rule == "evidence"  # type: ignore[union-attr]
        assert steward.retier(proof, Trust.UNTRUSTED).items[0].rule == "trust"  # type: ignore[union-attr]
        assert distiller.retier(fact, Trust.UNTRUSTED).items[0].rule == "trust"  # type: ignore[union-attr]
        assert steward.retier(fact, Trust.AGENT_VERIFIED, evidence=(proof, f"{session.id}#1-4")).done
        assert record(memory, fact).trust is Trust.AGENT_VERIFIED
        assert operator.retier(fact, Trust.UNTRUSTED).done
        assert record(memory, fact).trust is Trust.UNTRUSTED
        assert memory.verify().problems == ()


def test_a_claim_raises_nothing(tmp_path: Path) -> None:
    """`verified_claim` and `operator_said` are kept as claims at agent_observed; one without evidence is refused."""
    with home(tmp_path) as memory:
        agent = memory.agent("main")
        bare = agent.remember("Checked by me.", details=Details(epistemic=Epistemic.VERIFIED_CLAIM)).items[0]
        assert isinstance(bare, Refused)
        details = Details(epistemic=Epistemic.VERIFIED_CLAIM, evidence=("the build log",))
        for said in (details, Details(epistemic=Epistemic.OPERATOR_SAID)):
            item = agent.remember(f"Checked {said.epistemic}.", details=said).items[0]
            assert isinstance(item, Saved)
            kept = record(memory, item.record_ids[0])
            assert kept.trust is Trust.AGENT_OBSERVED
            assert kept.provenance.epistemic is said.epistemic
        assert "epistemic:operator_said" in kept.tags


def test_one_untrusted_line_between_two_trusted_ones_taints_only_itself(tmp_path: Path) -> None:
    """`blame` shows three lines with three authors: the middle one is capped, its neighbours keep their trust."""
    with home(tmp_path) as memory:
        write(tmp_path, "MEMORY.md", "- first, by hand\n")
        memory.sync()
        approve(memory, quarantined(memory, "- second, from a page"))
        text = (tmp_path / "MEMORY.md").read_text(encoding="utf-8")
        write(tmp_path, "MEMORY.md", f"{text}- third, by hand\n")
        memory.sync()
        lines = memory.person("main").blame("MEMORY.md")
        assert [line.text for line in lines] == ["- first, by hand", "- second, from a page", "- third, by hand"]
        records = [line.record for line in lines if line.record]
        assert [known.trust for known in records] == [Trust.APPLICATION, Trust.AGENT_OBSERVED, Trust.APPLICATION]
        assert [known.capped for known in records] == [False, True, False]
        assert [str(known.author) for known in records] == ["external", "agent:main", "external"]
