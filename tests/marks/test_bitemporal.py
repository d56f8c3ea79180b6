"""Mark `bitemporal`: when something was true, apart from when it was recorded and given up."""

from __future__ import annotations

from pathlib import Path

import pytest

from memoranda.domain.outcome import Saved
from memoranda.domain.query import Filters
from memoranda.domain.record import Details, Kind
from memoranda.errors import InvalidInput
from memoranda.memory import Agent, Memory
from tests.homes import home, read, write


def now(memory: Memory) -> str:
    """The time between what was done and what comes next."""
    return memory._parts.stores.clock.now()


def found(agent: Agent, question: str, **when: str) -> list[str]:
    """Texts that a search finds at a time, in order of text."""
    return sorted(hit.text for hit in agent.search(question, limit=64, min_score=0, **when).hits)  # type: ignore[arg-type]


def test_as_of_gives_what_was_believed_then(tmp_path: Path) -> None:
    """After edits and deletes by hand and by tool, each moment still answers with its own words."""
    with home(tmp_path) as memory:
        person = memory.person("main")
        times = [now(memory)]
        person.save("The tower has nine floors.")
        times.append(now(memory))
        write(tmp_path, "MEMORY.md", read(tmp_path, "MEMORY.md").replace("nine", "ten"))
        memory.sync()
        times.append(now(memory))
        person.save("The tower has a roof.")
        person.delete(file="MEMORY.md", text="The tower has ten floors.")
        expected = [[], ["The tower has nine floors."], ["The tower has ten floors."]]
        for repeat in range(2):
            assert [found(person, "tower", as_of=moment) for moment in times] == expected, repeat
            assert found(person, "tower") == ["The tower has a roof."]
            assert found(person, "tower", as_of="2999-01-01") == ["The tower has a roof."]
            memory.reindex()


def test_a_gap_is_a_gap(tmp_path: Path) -> None:
    """A record that was taken out and brought back was not believed in between."""
    with home(tmp_path) as memory:
        person = memory.person("main")
        person.save("The lift is out of order.")
        first = now(memory)
        person.delete(file="MEMORY.md", text="The lift is out of order.")
        gap = now(memory)
        assert person.undo(1).done
        person.save("The lift has a mirror.")
        last = now(memory)
        person.delete(file="MEMORY.md", text="The lift is out of order.")
        both = ["The lift has a mirror.", "The lift is out of order."]
        assert found(person, "lift", as_of=first) == both[1:]
        assert found(person, "lift", as_of=gap) == []
        assert found(person, "lift", as_of=last) == both
        assert found(person, "lift") == both[:1]


def test_valid_at_gives_what_was_true_then(tmp_path: Path) -> None:
    """A value with an interval is found inside it alone, the end not included; one without is always found."""
    with home(tmp_path) as memory:
        agent = memory.agent("main")
        for body, details in (
            ("Rent is 900.", Details(valid_to="2025-01-01")),
            ("Rent is 950.", Details(valid_from="2025-01-01", valid_to="2026-01-01")),
            ("Rent is 990.", Details(valid_from="2026-01-01")),
            ("Rent is due monthly.", Details()),
        ):
            assert isinstance(agent.remember(body, details=details).items[0], Saved)
        always = "Rent is due monthly."
        assert found(agent, "rent", valid_at="2024-06-01") == ["Rent is 900.", always]
        assert found(agent, "rent", valid_at="2025-01-01") == ["Rent is 950.", always]
        assert found(agent, "rent", valid_at="2025-12-31T23:59:59") == ["Rent is 950.", always]
        assert found(agent, "rent") == ["Rent is 990.", always]


def test_both_together(tmp_path: Path) -> None:
    """What was believed at one time about what was true at another."""
    with home(tmp_path) as memory:
        agent = memory.agent("main")
        item = agent.remember("Ann leads the team.", details=Details(valid_from="2025-01-01")).items[0]
        assert isinstance(item, Saved)
        early = now(memory)
        agent.update(item.record_ids[0], "Ann led the team.", details=Details(valid_to="2025-07-01"))
        agent.remember("Bo leads the team.", details=Details(valid_from="2025-07-01"))
        agent.save("The team has a cat.")
        late = now(memory)
        assert found(agent, "leads team", as_of=early, valid_at="2025-09-01") == ["Ann leads the team."]
        assert found(agent, "leads team", as_of=late, valid_at="2025-09-01") == [
            "Bo leads the team.", "The team has a cat.",
        ]  # fmt: skip
        assert found(agent, "leads team", as_of=late, valid_at="2025-03-01") == [
            "Ann led the team.", "The team has a cat.",
        ]  # fmt: skip
        assert found(agent, "leads team", as_of=early) == ["Ann leads the team."]


def test_a_model_does_not_see_rejected_values_in_the_past(tmp_path: Path) -> None:
    """A person sees what was believed before it was rejected; a model sees the neighbour and not the rejected value."""
    with home(tmp_path) as memory:
        person = memory.person("main")
        person.save("The door code is mango.\n\nThe door is green.")
        before = now(memory)
        person.delete(file="MEMORY.md", text="The door code is mango.")
        assert found(person, "door", as_of=before) == ["The door code is mango.", "The door is green."]
        assert found(memory.agent("main"), "door", as_of=before) == ["The door is green."]
        assert found(memory.job("distiller", "d", "main"), "door", as_of=before) == ["The door is green."]


def test_the_past_obeys_limit_and_filters(tmp_path: Path) -> None:
    """With many records that were not believed at the time, a full page still comes; filters hold as in the present."""
    with home(tmp_path) as memory:
        person = memory.person("main")
        person.save("\n\n".join(f"Heron {number} was seen." for number in range(150)))
        person.delete(file="MEMORY.md", delete_file=True)
        gap = now(memory)
        person.save("\n\n".join(f"Heron watcher {number} arrived." for number in range(12)), file="memory/w.md")
        person.remember("Heron rules apply.", details=Details(kind=Kind.PROCEDURE, tags=("law",)))
        last = now(memory)
        person.undo(3)
        assert found(person, "heron", as_of=gap) == []
        page = person.search("heron", limit=13, min_score=0, as_of=last)
        assert len(page.hits) == 13
        assert not any("was seen" in hit.text for hit in page.hits)
        only = Filters(kinds=frozenset({Kind.PROCEDURE}), tags=frozenset({"law"}))
        rules = person.search("heron", limit=9, min_score=0, as_of=last, filters=only).hits
        assert [hit.text for hit in rules] == ["Heron rules apply."]
        assert person.search("", limit=2, as_of=last).hits[0].text == "Heron rules apply."
        with pytest.raises(InvalidInput):
            person.search("heron", as_of="yesterday-ish")
