"""Single records: readable in their file, described in the ledger, replaced in place, forgotten with their value."""

from __future__ import annotations

from pathlib import Path

import pytest

from memoranda.domain.outcome import Duplicate, Quarantined, Refused, Saved
from memoranda.domain.record import Details, Kind, Record
from memoranda.errors import Denied, InvalidInput, NotFound, Ruled
from memoranda.memory import Agent, Memory
from tests.homes import home, read, texts, write


def remembered(agent: Agent, body: str, **said: object) -> str:
    """Remember a body and return its first record's id."""
    item = agent.remember(body, details=Details(**said)).items[0]  # type: ignore[arg-type]
    assert isinstance(item, Saved)
    return item.record_ids[0]


def record(agent: Agent, ident: str) -> Record:
    """Return an active record."""
    return agent.get(ident).record


def test_a_titled_record_is_a_heading_and_its_body(tmp_path: Path) -> None:
    """In the file stands plain Markdown; kind, tags, description and validity are in the ledger."""
    with home(tmp_path) as memory:
        agent = memory.agent("main")
        ident = remembered(
            agent, "Deploys run on Friday.", title="Deploys", description="when planning a release",
            tags=("Ops", "ops"), kind=Kind.PROCEDURE, valid_from="2026-01-01",
        )  # fmt: skip
        assert read(tmp_path, "memory/notes.md") == "## Deploys\n\nDeploys run on Friday.\n"
        known = record(agent, ident)
        assert (known.title, known.kind, known.tags, known.heading) == (
            "Deploys", Kind.PROCEDURE, ("ops",), ("Deploys",),
        )  # fmt: skip
        assert known.valid_from == "2026-01-01T00:00:00.000000+00:00"
        assert texts(agent, "planning a release") == ["Deploys run on Friday."]


def test_a_rich_body_is_one_group(tmp_path: Path) -> None:
    """Several blocks become several records that share a group; a single one has none."""
    with home(tmp_path) as memory:
        agent = memory.agent("main")
        item = agent.remember("First.\n\n- second\n- third\n\n```\nfourth\n```", details=Details(title="Many")).items[0]
        assert isinstance(item, Saved)
        groups = {record(agent, ident).group for ident in item.record_ids}
        assert len(item.record_ids) == 4
        assert len(groups) == 1
        assert groups != {""}
        assert record(agent, remembered(agent, "Single.")).group == ""


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("- one", "two", "- two"),
        ("* one", "- two", "- two"),
        ("1. one", "two\nlines", "1. two\n   lines"),
        ("- [ ] one", "two", "- [ ] two"),
        ("plain one", "plain two", "plain two"),
        ("> one", "> two", "> two"),
    ],
)
def test_an_update_stands_in_the_same_place(tmp_path: Path, newline: str, old: str, new: str, expected: str) -> None:
    """The new text takes the old one's place, marker and line endings; every other byte stays."""
    before = f"# Head\n\nfirst\n\n{old}\n\nlast\n".replace("\n", newline)
    write(tmp_path, "MEMORY.md", before)
    with home(tmp_path) as memory:
        memory.sync()
        person = memory.person("main")
        ident = next(line.record.id for line in person.blame("MEMORY.md") if line.record and "one" in line.text)
        assert isinstance(person.update(ident, new).items[0], Saved)
        assert read(tmp_path, "MEMORY.md") == before.replace(old, expected.replace("\n", newline))
        chain = person.history(ident).versions
        assert [version.record.status.value for version in chain] == ["superseded", "active"]
        assert memory.verify().problems == ()


def test_an_update_keeps_what_is_not_said_anew(tmp_path: Path) -> None:
    """Title, kind and tags stay unless the update names others; a new title renames the heading."""
    with home(tmp_path) as memory:
        agent = memory.agent("main")
        ident = remembered(agent, "Port 8080.", title="Port", tags=("net",), kind=Kind.GOTCHA)
        item = agent.update(ident, "Port 9090.").items[0]
        assert isinstance(item, Saved)
        known = record(agent, item.record_ids[0])
        assert (known.title, known.tags, known.kind) == ("Port", ("net",), Kind.GOTCHA)
        item = agent.update(known.id, "Port 9090.", details=Details(title="API port", kind=Kind.FACT)).items[0]
        assert isinstance(item, Saved)
        known = record(agent, item.record_ids[0])
        assert (known.title, known.kind) == ("API port", Kind.FACT)
        assert read(tmp_path, "memory/notes.md") == "## API port\n\nPort 9090.\n"


def test_the_last_record_takes_its_heading_along(tmp_path: Path) -> None:
    """A heading that was written for a record goes with it; a person's heading, and one with other records, stays."""
    write(tmp_path, "memory/notes.md", "# Mine\n\n- hand written\n")
    with home(tmp_path) as memory:
        memory.sync()
        agent = memory.agent("main")
        first = remembered(agent, "Alone.", title="Lone")
        second = remembered(agent, "Shared one.", title="Pair")
        agent.save("Shared two.", file="memory/notes.md")
        agent.remove(first)
        agent.remove(second)
        assert read(tmp_path, "memory/notes.md") == "# Mine\n\n- hand written\n\n## Pair\n\nShared two.\n"


def test_unknown_foreign_and_gone_ids_are_alike(tmp_path: Path) -> None:
    """Updating or removing what is not there for this agent is one and the same error; its own record works."""
    with home(tmp_path) as memory:
        own = remembered(memory.agent("main"), "Mine.")
        foreign = remembered(memory.agent("other"), "Theirs.")
        gone = remembered(memory.agent("main"), "Gone.")
        memory.agent("main").remove(gone)
        agent = memory.agent("main")
        for ident in (foreign, gone, "rec_0000000000000000000000", "nonsense"):
            with pytest.raises(NotFound, match=r"^record not found$"):
                agent.update(ident, "x y z")
            with pytest.raises(NotFound, match=r"^record not found$"):
                agent.remove(ident)
        assert memory.agent("main").update(own, "Mine still.").done
        assert texts(memory.agent("other"), "theirs") == ["Theirs."]


@pytest.mark.parametrize(
    ("said", "rule"),
    [
        ({"title": "x" * 201}, "title"),
        ({"title": "two\nlines"}, "title"),
        ({"title": " padded "}, "title"),
        ({"title": "closed #"}, "title"),
        ({"description": "x" * 401}, "description"),
        ({"tags": tuple(f"t{n}" for n in range(33))}, "tags"),
        ({"tags": ("x" * 65,)}, "tags"),
        ({"valid_from": "soon"}, "time"),
        ({"valid_from": "2026-02-01", "valid_to": "2026-01-01"}, "time"),
        ({"title": "password: Xk9-Tr7-Qm2-Lp4"}, "secret"),
        ({"tags": ("ghp_" + "a1B2" * 9,)}, "secret"),
    ],
)
def test_what_may_be_said_has_bounds(tmp_path: Path, said: dict[str, object], rule: str) -> None:
    """Details that are too long, odd, contradictory or hold a secret are refused by name; nothing is written."""
    with home(tmp_path) as memory:
        item = memory.agent("main").remember("A body.", details=Details(**said)).items[0]  # type: ignore[arg-type]
        assert isinstance(item, Refused)
        assert item.rule == rule
        assert not (tmp_path / "memory").exists()
        assert isinstance(memory.agent("main").remember("A body.", details=Details(title="Fine C#")).items[0], Saved)


def test_what_is_known_is_not_written_twice(tmp_path: Path) -> None:
    """The same value again, by remember or by update, is a duplicate of the record that has it."""
    with home(tmp_path) as memory:
        agent = memory.agent("main")
        first, other = remembered(agent, "Known value."), remembered(agent, "Other value.")
        assert agent.remember("known **value**.").items[0] == Duplicate((first,))
        assert agent.update(other, "Known value.").items[0] == Duplicate((first,))
        assert sorted(texts(agent, "value")) == ["Known value.", "Other value."]


def test_forget_removes_the_one_it_names(tmp_path: Path) -> None:
    """By id, by text in any dress, or in other words, one record goes and a job cannot learn it again."""
    with home(tmp_path) as memory:
        agent = memory.agent("main")
        ident = remembered(agent, "Alpha has 3 doors.")
        agent.save("- Beta has **4** doors.\n- Gamma has 5 doors.\n- Delta has 6 doors.", file="memory/doors.md")
        for request in (ident, "forget that beta has 4 doors.", '"The Gamma had 5 doors"'):
            result = agent.forget(request)
            assert result.deleted, request
            assert len(result.results) == 1
            assert result.checkpoint_ids[0].startswith("cp_")
        assert texts(agent, "doors") == ["- Delta has 6 doors."]
        assert not memory.job("distiller", "r", "main").save("Beta has 4 doors.").done


def test_forget_asks_where_it_is_not_sure(tmp_path: Path) -> None:
    """Similar or several matches are shown and wait; a dry run leaves nothing behind; a person confirms a part."""
    with home(tmp_path) as memory:
        agent, person = memory.agent("main"), memory.person("main")
        agent.save("- Office chairs are blue.\n- Office tables are brown.\n- Lunch is at noon.")
        dry = agent.forget("the office", dry_run=True)
        assert (dry.needs_confirmation, dry.token, len(dry.planned)) == (True, "", 2)
        unsure = agent.forget("the office", limit=5)
        assert not unsure.deleted
        assert [item.preview for item in unsure.planned] == ["- Office chairs are blue.", "- Office tables are brown."]
        assert all(item.line_start for item in unsure.planned)
        assert len(texts(agent, "office")) == 2
        with pytest.raises(Denied):
            agent.confirm_forget(unsure.token)
        tables = next(item.record_id for item in unsure.planned if "tables" in item.preview)
        with pytest.raises(InvalidInput):
            person.confirm_forget(unsure.token, only=["rec_0000000000000000000000"])
        assert person.confirm_forget(unsure.token, only=[tables]).done
        assert texts(agent, "office") == ["- Office chairs are blue."]
        with pytest.raises(NotFound):
            person.confirm_forget("prp_0000000000000000000000")
        nothing = agent.forget("spaceships")
        assert (nothing.deleted, nothing.needs_confirmation, nothing.planned) == (False, False, ())


def test_what_changed_since_is_not_forgotten(tmp_path: Path) -> None:
    """A preview whose record was edited meanwhile removes nothing and says so."""
    with home(tmp_path) as memory:
        agent, person = memory.agent("main"), memory.person("main")
        agent.save("- Roses need water.\n- Roses need sun.")
        result = agent.forget("roses")
        person.update(result.planned[0].record_id, "Roses need rain.")
        with pytest.raises(Ruled) as caught:
            person.confirm_forget(result.token)
        assert caught.value.rule == "stale"
        assert len(texts(agent, "roses")) == 2


def test_a_persons_text_is_forgotten_by_a_person_alone(tmp_path: Path) -> None:
    """An agent's request about a person's line waits for a ruling; the person's own removes it."""
    with home(tmp_path) as memory:
        agent, person = memory.agent("main"), memory.person("main")
        person.save("The person's own line.")
        result = agent.forget("The person's own line.")
        assert (result.deleted, result.needs_confirmation) == (False, True)
        assert texts(agent, "own line") == ["The person's own line."]
        assert person.forget("The person's own line.").deleted
        assert texts(agent, "own line") == []


def test_a_proposal_lapses_unharmed(tmp_path: Path) -> None:
    """After its days a preview of a removal can no longer be confirmed, and what it was about is still there."""
    with home(tmp_path) as memory:
        agent = memory.agent("main")
        agent.save("- Tulips are red.\n- Tulips are tall.")
        token = agent.forget("tulips").token
        _later(memory, "2999-01-01T00:00:00.000000+00:00")
        with pytest.raises(Ruled) as caught:
            memory.person("main").confirm_forget(token)
        assert caught.value.rule == "expired"
        assert len(texts(agent, "tulips")) == 2
        assert isinstance(agent.save("Tulips are late.").items[0], Saved | Quarantined)


def _later(memory: Memory, when: str) -> None:
    """Let the home's clock show another time."""

    class Clock:
        def now(self) -> str:
            return when

    object.__setattr__(memory._parts.stores, "clock", Clock())
