"""Jobs that tidy memory up: they compare, check and count, change no record, and show nothing withheld."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memoranda.domain.outcome import Saved
from memoranda.domain.record import Details, Epistemic, Trust
from memoranda.errors import Denied, NotFound
from memoranda.memory import Agent, Memory
from tests.homes import holding, home, read
from tests.jobs.test_dream import approve_all, boss, remember
from tests.scripted import Scripted

HALF = {"memory__consolidation__max_change": 0.5, "memory__consolidation__idle_seconds": 3600}


def labels(model: Scripted, label: str, *words: str) -> Any:
    """Return a reply that gives the pair whose texts hold these words a label, and every other one `compatible`."""

    def answer(_: object) -> dict[str, Any]:
        shown = model.shown()
        found = []
        for ids in shown["pairs"]:
            both = " ".join(shown["records"][ident]["text"] for ident in ids)
            is_meant = all(word in both for word in words)
            found.append({"ids": ids, "label": label if is_meant else "compatible", "why": "as it seems"})
        return {"pairs": found}

    return answer


def claim(agent: Agent, body: str, *evidence: str) -> str:
    """Save a record that claims to be verified."""
    details = Details(epistemic=Epistemic.VERIFIED_CLAIM, evidence=evidence)
    item = agent.remember(body, details=details).items[0]
    assert isinstance(item, Saved)
    return item.record_ids[0]


def judged(model: Scripted, verdict: str) -> Any:
    """Return a reply that gives every claim the same verdict."""
    return lambda _: {"verdicts": [{"id": one["id"], "verdict": verdict} for one in model.shown()["claims"]]}


def trust(agent: Agent, ident: str) -> Trust:
    """Return how far a record is believed."""
    return agent.history(ident).versions[-1].record.trust


def payloads(agent: Agent, kind: str) -> list[dict[str, Any]]:
    """Return what events of a kind say, newest first."""
    return [json.loads(event.payload) for event in agent.log(kind=kind, limit=100)]


def test_a_contradiction_is_signalled_once_with_both_sources(tmp_path: Path) -> None:
    """The event names both records, where they stand and who wrote them; a second run and a dream add none."""
    model = Scripted([{}])
    with home(tmp_path, model=model, **HALF) as memory:
        agent, person = memory.agent("main"), memory.person("main")
        (mine,) = remember(person, "The heron sleeps in the barn.")
        (its,) = remember(agent, "The heron never sleeps in the barn.")
        before = read(tmp_path, "memory/notes.md")
        model.script = labels(model, "contradiction", "never", "barn")
        report = person.contradictions()
        assert [(step.what, step.outcome) for step in report.steps] == [
            ("contradiction", "signalled"), ("read", "compared"),
        ]  # fmt: skip
        (conflict,) = person.conflicts_query().conflicts
        assert conflict.author.id == report.id
        assert [(side.record_id, side.source) for side in conflict.sides] == [
            (mine, "application"),
            (its, "agent:main"),
        ]
        assert all(side.at for side in conflict.sides)
        assert (read(tmp_path, "memory/notes.md"), person.proposals()) == (before, ())
        assert person.contradictions().code == "nothing_new"
        model.script = [{"operations": [{"op": "contradiction", "ids": [its, mine]}]}]
        assert [step.outcome for step in person.dream().steps] == ["known"]
        assert len(payloads(person, "memory.conflict.signal")) == 1


def test_only_what_is_new_is_compared(tmp_path: Path) -> None:
    """A later run compares what came since; a failed one leaves it for the next."""
    model = Scripted([{}])
    with home(tmp_path, model=model, **HALF) as memory:
        agent = memory.agent("main")
        remember(agent, "The heron sleeps in the barn.", "The heron eats in the barn.")
        model.script = labels(model, "same", "no such word")
        assert agent.contradictions().count("compatible") == 1
        (late,) = remember(agent, "The heron sings in the barn.")
        model.script = ["I am sorry, Dave."]
        assert agent.contradictions().state == "failed"
        model.script = labels(model, "same", "no such word")
        assert agent.contradictions().count("compatible") == 2
        assert all(late in ids for ids in model.shown()["pairs"])


def test_many_new_records_are_compared_in_turn(tmp_path: Path) -> None:
    """One question has at most 40 pairs; run after run every record is compared with something, none is left out."""
    model = Scripted([{"pairs": []}])
    with home(tmp_path, model=model, **HALF) as memory:
        person = memory.person("main")
        person.save("\n".join(f"- Heron number {number} sleeps in the barn." for number in range(50)))
        while person.contradictions().state == "done":
            assert len(model.asked) < 20
        sizes = [len(model.shown(number)["pairs"]) for number in range(len(model.asked))]
        assert max(sizes) <= 40
        assert len(sizes) > 1
        shown = {ident for number in range(len(sizes)) for ident in model.shown(number)["records"]}
        assert len(shown) == 50
        assert person.contradictions().code == "nothing_new"


def test_an_update_waits_for_a_person(tmp_path: Path) -> None:
    """The older record is proposed for retirement and stays until a person approves; its value may come again."""
    model = Scripted([{}])
    with home(tmp_path, model=model, memory__consolidation__apply="auto", **HALF) as memory:
        agent, person = memory.agent("main"), memory.person("main")
        (old,) = remember(agent, "Ana lives in Lisbon now.")
        remember(agent, "Ana lives in Porto now.")
        model.script = labels(model, "update", "Lisbon", "Porto")
        report = person.contradictions()
        assert next((step.what, step.outcome, old in step.ids) for step in report.steps) == ("update", "waits", True)
        assert holding(person, "Lisbon")
        assert approve_all(memory) == 1
        assert not holding(person, "Lisbon")
        assert holding(person, "Porto")
        assert person.undo_run(report.id).conflicts == ()
        assert holding(person, "Lisbon")


def test_pinned_records_and_untrusted_news_retire_nothing(tmp_path: Path) -> None:
    """An update of a pinned record, or by what was imported, is dropped; the same of another record waits."""
    model = Scripted([{}])
    with home(tmp_path, model=model, **HALF) as memory:
        agent, person = memory.agent("main"), memory.person("main")
        (pinned,) = remember(agent, "Ana lives in Lisbon now.")
        person.pin(pinned)
        remember(agent, "Ana lives in Porto now.")
        model.script = labels(model, "update", "Lisbon", "Porto")
        assert [step.outcome for step in person.contradictions().steps] == ["dropped", "compared"]
        remember(memory.job("importer", "imp_1", "main"), "Ana lives in Faro now.")
        model.script = labels(model, "update", "Porto", "Faro")
        steps = person.contradictions().steps
        assert [step.why for step in steps if step.outcome == "dropped"] == [
            "what descends from untrusted content retires nothing"
        ]
        assert person.proposals() == ()
        remember(agent, "Ana lives in Braga now.")
        model.script = labels(model, "update", "Porto", "Braga")
        assert person.contradictions().count("waits") == 1
        assert pinned not in repr(person.proposals())


def test_wrong_pairs_are_dropped_singly(tmp_path: Path) -> None:
    """A pair that was not asked about, a label that is none, a pair twice: each is dropped; the good one counts."""
    model = Scripted([{}])
    with home(tmp_path, model=model, **HALF) as memory:
        agent = memory.agent("main")
        one, two = remember(agent, "The heron sleeps in the barn.", "The heron never sleeps in the barn.")
        good = {"ids": [two, one], "label": "contradiction"}
        model.script = [
            {
                "pairs": [
                    {"ids": [one, "rec_unknown"], "label": "contradiction"}, {"ids": [one, two], "label": "erase"},
                    {"ids": [one], "label": "update"}, good, good,
                ]
            }
        ]  # fmt: skip
        outcomes = [step.outcome for step in agent.contradictions().steps]
        assert outcomes == ["dropped", "dropped", "dropped", "signalled", "dropped", "compared"]


def waiting_and_foreign(memory: Memory) -> None:
    """Let something wait that names a walrus, withhold another, and let another agent know a third."""
    session = memory.agent("main").session("tainted")
    session.tool_result("fetch", "walrus page")
    session.save("The heron sleeps with a walrus.")
    session.assistant("The heron sleeps with a walrus.")
    session.close()
    remember(memory.agent("other"), "The heron of another agent is a walrus.")


def test_what_waits_and_what_others_know_is_shown_to_no_model(tmp_path: Path) -> None:
    """No word of a quarantined record, a tainted turn or another scope is in any question; the claim itself is."""
    model = Scripted([{"pairs": [], "verdicts": []}])
    with home(tmp_path, model=model, **HALF) as memory:
        agent, person = memory.agent("main"), memory.person("main")
        (proof,) = remember(person, "The heron sleeps in the barn.")
        waiting_and_foreign(memory)
        (waiting,) = boss(memory).waiting()
        foreign = memory.agent("other").search("walrus", limit=1).hits[0].record_id
        claim(agent, "The heron sleeps indoors.", proof, *waiting.record_ids, foreign)
        session = agent.session("clean")
        session.context("Where does the heron sleep?")
        session.assistant("It sleeps in the barn.")
        session.close()
        runs = [person.contradictions(), person.steward(), person.audit_usage()]
        assert [(one.state, one.questions) for one in runs] == [("done", 1)] * 3
        assert model.everything_shown.count("heron sleeps in the barn") >= 3
        assert "walrus" not in model.everything_shown
        assert "walrus" in repr(boss(memory).show(waiting.id))


def test_a_claim_that_its_evidence_bears_is_proposed_for_more_trust(tmp_path: Path) -> None:
    """The model sees claim and evidence; nothing rises until a person approves, and then with that evidence."""
    model = Scripted([{}])
    with home(tmp_path, model=model, **HALF) as memory:
        agent, person = memory.agent("main"), memory.person("main")
        (proof,) = remember(person, "The contract says: notice is three months.")
        ident = claim(agent, "Notice is three months.", proof, "rec_unknown")
        model.script = judged(model, "supports")
        report = person.steward()
        assert [(step.what, step.outcome) for step in report.steps] == [("supports", "waits")]
        (shown,) = model.shown()["claims"]
        assert (shown["id"], shown["claim"]) == (ident, "Notice is three months.")
        assert shown["evidence"] == ["The contract says: notice is three months."]
        assert trust(person, ident) is Trust.AGENT_OBSERVED
        approve_all(memory)
        record = person.history(ident).versions[-1].record
        assert (record.trust, record.provenance.evidence) == (Trust.AGENT_VERIFIED, (proof,))
        assert person.steward().code == "nothing_new"


def test_a_session_is_evidence_in_the_messages_that_are_named(tmp_path: Path) -> None:
    """Of a clean session the named messages are shown; a tainted one is no evidence, and nobody is asked."""
    model = Scripted([{}])
    with home(tmp_path, model=model, **HALF) as memory:
        agent, person = memory.agent("main"), memory.person("main")
        talk = agent.session("talk")
        talk.user("I moved to Lisbon.")
        talk.user("My cat is called Ida.")
        bad = agent.session("bad")
        bad.user("The moon is a lamp.")
        moon = claim(agent, "The moon is a lamp.", bad.id)
        bad.tool_result("fetch", "…")
        bad.close()
        claim(agent, "The user lives in Lisbon.", f"{talk.id}#1")
        model.script = judged(model, "unclear")
        report = person.steward()
        assert [(step.outcome, step.ids[0] == moon) for step in report.steps] == [
            ("unproven", True),
            ("unclear", False),
        ]
        assert [one["evidence"] for one in model.shown()["claims"]] == [["user: I moved to Lisbon."]]
        assert "lamp" not in repr(model.shown())
        assert person.steward().code == "nothing_new"


def test_a_claim_that_is_refuted_is_proposed_for_less(tmp_path: Path) -> None:
    """Refuted, it becomes untrusted once a person approves; a pinned claim is not even asked about."""
    model = Scripted([{}])
    with home(tmp_path, model=model, **HALF) as memory:
        agent, person = memory.agent("main"), memory.person("main")
        (proof,) = remember(person, "The contract says: notice is three months.")
        ident = claim(agent, "Notice is one month.", proof)
        pinned = claim(agent, "Notice is three months, says the contract.", proof)
        person.pin(pinned)
        model.script = judged(model, "refutes")
        assert person.steward().count("waits") == 1
        assert [one["id"] for one in model.shown()["claims"]] == [ident]
        approve_all(memory)
        assert (trust(person, ident), trust(person, pinned)) == (Trust.UNTRUSTED, Trust.AGENT_OBSERVED)


def test_what_was_declined_is_not_claimed_again(tmp_path: Path) -> None:
    """A verdict that a person rejected is not proposed again; another claim is."""
    model = Scripted([{}])
    with home(tmp_path, model=model, **HALF) as memory:
        agent, person = memory.agent("main"), memory.person("main")
        (proof,) = remember(person, "The contract says: notice is three months.")
        claim(agent, "Notice is three months.", proof)
        model.script = judged(model, "supports")
        person.steward()
        (waiting,) = boss(memory).waiting()
        boss(memory).reject(waiting.id, waiting.content_hash)
        assert person.steward().code == "nothing_new"
        second = claim(agent, "There is a contract about notice.", proof)
        assert person.steward().count("waits") == 1
        assert [one["id"] for one in model.shown()["claims"]] == [second]


def test_what_waits_gets_one_verdict_without_a_model(tmp_path: Path) -> None:
    """Of every proposal an event says once that it needs a person and why; no model is asked, nothing is quoted."""
    model = Scripted([{}])
    with home(tmp_path, model=model, **HALF) as memory:
        person = memory.person("main")
        waiting_and_foreign(memory)
        report = person.steward()
        assert (report.state, report.count("needs_person"), len(model.asked)) == ("done", 1, 0)
        (said,) = payloads(person, "memory.quarantine.verdict")
        (waiting,) = boss(memory).waiting()
        assert (said["proposal"], said["verdict"]) == (waiting.id, "needs_person")
        assert "agent:main" in said["why"]
        assert "untrusted" in said["why"]
        assert "walrus" not in json.dumps(said)
        assert person.steward().code == "nothing_new"
        assert len(payloads(person, "memory.quarantine.verdict")) == 1


def recalled(memory: Memory, *, answer: str = "It sleeps in the barn.") -> tuple[str, Any]:
    """Let a record be recalled in a session and answered on; return its id and the session."""
    (ident,) = remember(memory.agent("main"), "The heron sleeps in the barn.")
    session = memory.agent("main").session("talk")
    session.user("Where does the heron sleep?")
    assert session.context("Where does the heron sleep?").recalled
    session.assistant(answer)
    return ident, session


def test_recall_is_audited_once_the_session_is_over(tmp_path: Path) -> None:
    """While it goes on nobody is asked; then a verdict is an event, counted for the record, which stays as it was."""
    model = Scripted([{"writes": [], "verdicts": [{"n": "1", "verdict": "load_bearing"}]}])
    with home(tmp_path, model=model, **HALF) as memory:
        agent, person = memory.agent("main"), memory.person("main")
        ident, session = recalled(memory)
        before = person.history(ident).versions[-1]
        assert agent.audit_usage().code == "nothing_new"
        session.close()
        report = agent.audit_usage()
        assert [(step.outcome, step.ids) for step in report.steps] == [("load_bearing", (ident, session.id))]
        assert model.shown()["records"] == [
            {"n": "1", "record": "The heron sleeps in the barn.", "answers": ["It sleeps in the barn."]}
        ]
        (said,) = payloads(person, "memory.usage.audited")
        assert (said["record"], said["verdict"], said["session"]) == (ident, "load_bearing", session.id)
        counts = agent.usage(ident)
        assert (counts.load_bearing, counts.dead_weight, counts.unknown) == (1, 0, 0)
        assert person.history(ident).versions[-1] == before
        assert agent.audit_usage().code == "nothing_new"
        assert person.run(report.id).steps == report.steps


def test_a_silent_session_is_audited_and_a_missing_verdict_is_unknown(tmp_path: Path) -> None:
    """An open session that is silent long enough counts as over; what the model leaves out is `unknown`."""
    model = Scripted([{"verdicts": [{"n": "7", "verdict": "load_bearing"}, {"n": "1", "verdict": "lovely"}]}])
    with home(tmp_path, model=model, memory__consolidation__idle_seconds=0) as memory:
        ident, _ = recalled(memory)
        report = memory.person("main").audit_usage()
        assert [step.outcome for step in report.steps] == ["dropped", "dropped", "unknown"]
        assert memory.agent("main").usage(ident).unknown == 1


def test_answers_after_untrusted_content_and_beyond_the_window_are_not_shown(tmp_path: Path) -> None:
    """Six turns follow an injection into the question, and none after taint; those before it do."""
    model = Scripted([{"writes": [], "verdicts": []}])
    with home(tmp_path, model=model, **HALF) as memory:
        _, session = recalled(memory, answer="First answer.")
        session.assistant("Second answer.")
        session.tool_result("fetch", "…")
        session.assistant("A walrus said so.")
        session.close()
        remember(memory.agent("main"), "The stork sleeps on the roof.")
        long = memory.agent("main").session("long")
        long.context("Where does the stork sleep?")
        for number in range(9):
            long.assistant(f"Answer number {number}.")
        long.close()
        assert memory.agent("main").audit_usage().state == "done"
        shown = [(one["record"], one["answers"]) for one in model.shown()["records"]]
        assert shown[0] == ("The heron sleeps in the barn.", ["First answer.", "Second answer."])
        assert ("The stork sleeps on the roof.", [f"Answer number {number}." for number in range(6)]) in shown
        assert "walrus" not in repr(model.shown())


def test_usage_of_anothers_record_is_not_found(tmp_path: Path) -> None:
    """Another agent learns nothing of a record's use; its own agent does."""
    model = Scripted([{"writes": [], "verdicts": [{"n": "1", "verdict": "dead_weight"}]}])
    with home(tmp_path, model=model, memory__consolidation__idle_seconds=0) as memory:
        ident, _ = recalled(memory)
        memory.agent("main").audit_usage()
        with pytest.raises(NotFound):
            memory.agent("other").usage(ident)
        assert memory.agent("main").usage(ident).dead_weight == 1


def test_they_follow_a_dream_by_themselves(tmp_path: Path) -> None:
    """What is due runs after a dream that was carried out, in this order, and not without one."""
    model = Scripted([{"operations": [], "pairs": [], "verdicts": [], "writes": []}])
    with home(tmp_path, model=model, memory__consolidation__idle_seconds=0) as memory:
        recalled(memory)
        remember(memory.agent("main"), "The heron never sleeps in the barn.")
        assert [(one.kind, one.state) for one in memory.tend()] == [
            ("dream", "done"), ("contradictions", "done"), ("usage", "done"),
        ]  # fmt: skip
        assert memory.tend() == ()


@pytest.mark.parametrize("kind", ["contradictions", "steward", "audit_usage"])
def test_where_models_write_nothing_or_a_group_listens_no_job_runs(tmp_path: Path, kind: str) -> None:
    """With the write mode off they are skipped, in a shared session denied; nobody is asked. Else somebody is."""
    model = Scripted([{"pairs": [], "verdicts": [], "writes": []}])
    settings = {"model": model, "memory__consolidation__idle_seconds": 0}
    with home(tmp_path, **settings) as memory:
        (proof,) = remember(memory.person("main"), "The heron sleeps in the barn, a person says.")
        recalled(memory)
        claim(memory.agent("main"), "The heron sleeps indoors.", proof)
        with pytest.raises(Denied):
            getattr(memory.agent("main").session("group", audience="shared"), kind)()
    with home(tmp_path, memory__agent_write_mode="off", **settings) as memory:
        assert getattr(memory.person("main"), kind)().code == "write_mode"
        assert model.asked == []
    with home(tmp_path, **settings) as memory:
        assert getattr(memory.person("main"), kind)().questions == 1


def test_what_a_run_said_of_an_erased_record_is_gone(tmp_path: Path) -> None:
    """After an erasure runs are still listed and nothing is compared in vain; what was erased is in none of them."""
    model = Scripted([{}])
    with home(tmp_path, model=model, **HALF) as memory:
        agent, person = memory.agent("main"), memory.person("main")
        remember(agent, "The heron sleeps in the barn.", "The heron never sleeps in the barn.")
        one = "The heron never sleeps in the barn."

        def answer(_: object) -> dict[str, Any]:
            return {"pairs": [{"ids": ids, "label": "contradiction", "why": one} for ids in model.shown()["pairs"]]}

        model.script = answer
        report = person.contradictions()
        assert one in repr(person.run(report.id))
        boss(memory).erase(text=one)
        (left,) = person.runs(kind="contradictions")
        assert (left.id, left.model) == (report.id, "scripted:test")
        assert one not in repr(left)
        assert person.run(report.id) == left
        remember(agent, "The heron sings in the barn.")
        model.script = labels(model, "same", "no such word")
        assert person.contradictions().count("compatible") == 1
        assert memory.verify().problems == ()
