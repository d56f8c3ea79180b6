"""The one door: what is saved, refused, cut and deleted, and what every other byte does meanwhile (nothing)."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from memoranda.domain.outcome import Duplicate, Refused, Saved
from memoranda.domain.policy import MAX_WRITE_BYTES
from memoranda.domain.record import Trust
from memoranda.errors import InvalidInput, MissingIdentity
from memoranda.memory import Agent, Memory
from tests.homes import home, read, texts, write


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    """An empty home."""
    with home(tmp_path) as opened:
        yield opened


def only(agent: Agent, content: str, file: str | None = None) -> object:
    """Save and return the one outcome."""
    return agent.save(content, file=file).items[0]


def test_saved_text_is_found_read_and_attributed(memory: Memory) -> None:
    """A save is found at once, can be read by id, and has author, trust and time by its door."""
    outcome = memory.agent("main").save("The deploy happens on Fridays.")
    saved = outcome.items[0]
    assert isinstance(saved, Saved)
    assert outcome.indexed
    assert read(memory.home, "MEMORY.md") == "The deploy happens on Fridays.\n"
    hit = memory.agent("main").search("deploy fridays").hits[0]
    chunk = memory.agent("main").get(hit.chunk_id)
    assert (chunk.text, chunk.line_start, chunk.record.id) == (
        "The deploy happens on Fridays.",
        1,
        saved.record_ids[0],
    )
    assert (str(chunk.record.author), chunk.record.trust) == ("agent:main", Trust.AGENT_OBSERVED)
    assert chunk.record.provenance.tool == "memory_save"
    assert memory.person("main").get(hit.record_id).record.recorded_at == chunk.record.recorded_at


def test_a_save_of_several_blocks_is_several_records(memory: Memory) -> None:
    """Each paragraph and list item is a record of its own, under its heading."""
    saved = only(memory.agent("main"), "# Team\n\n- Anna leads\n- Bob ships\n\nWe meet on Mondays.")
    assert isinstance(saved, Saved)
    headings = [memory.agent("main").get(record_id).record.heading for record_id in saved.record_ids]
    assert headings == [("Team",)] * 3


def test_what_is_there_already_is_not_written_again(memory: Memory) -> None:
    """The same value in another dress is a duplicate; of a mixed save only the new part is written."""
    agent = memory.agent("main")
    first = only(agent, "The user prefers **dark** mode.")
    assert isinstance(first, Saved)
    again = agent.save("- the user  prefers dark mode.", file="memory/other.md")
    assert again.items == (Duplicate(first.record_ids),)
    assert not (memory.home / "memory" / "other.md").exists()
    mixed = only(agent, "- The user prefers dark mode.\n- The user lives in Lisbon.")
    assert isinstance(mixed, Saved)
    assert mixed.duplicate_ids == first.record_ids
    assert read(memory.home, "MEMORY.md").count("dark") == 1
    assert "Lisbon" in read(memory.home, "MEMORY.md")


def test_corroboration_is_counted(memory: Memory) -> None:
    """A duplicate save leaves a mark at the record that said it first, and no event of a change."""
    agent = memory.agent("main")
    agent.save("Water boils at 100 degrees.")
    before = len(agent.log(kind="record"))
    agent.save("water boils at 100 degrees.")
    assert len(agent.log(kind="record")) == before
    ledger = memory._parts.stores.ledger
    count = ledger._db.execute("SELECT corroborated FROM usage").get  # type: ignore[attr-defined]
    assert count == 1


@pytest.mark.parametrize(
    ("content", "rule"),
    [
        ("", "empty"),
        (" \n\t ", "empty"),
        ("# Only a heading", "empty"),
        ("```\nnever closed", "open_block"),
        ("<!-- never closed", "open_block"),
        ("x" * (MAX_WRITE_BYTES + 1), "size"),
        ("nul \0 inside", "encoding"),
        ("half \ud800 pair", "encoding"),
    ],
)
@pytest.mark.parametrize("append", [True, False])
def test_a_text_that_breaks_a_rule_is_refused_by_name(memory: Memory, content: str, rule: str, append: bool) -> None:
    """A refusal names its rule, writes nothing, leaves no checkpoint, and is an event without the text."""
    agent = memory.agent("main")
    agent.save("Positive control.", file="memory/a.md")
    before = read(memory.home, "memory/a.md")
    outcome = agent.save(content, file="memory/a.md", append=append)
    assert [item.rule for item in outcome.items if isinstance(item, Refused)] == [rule]
    assert not outcome.done
    assert outcome.checkpoint_id == ""
    assert read(memory.home, "memory/a.md") == before
    assert len(agent.checkpoints()) == 1
    event = agent.log(limit=1)[0]
    assert (event.kind, json.loads(event.payload)["rules"]) == ("batch.refused", [rule])


def test_a_text_of_exactly_the_limit_is_saved(memory: Memory) -> None:
    """50 KiB go in; one byte more does not."""
    text = "y" * MAX_WRITE_BYTES
    assert isinstance(only(memory.agent("main"), text), Saved)
    assert isinstance(only(memory.agent("main"), f"{text}y"), Refused)


def test_a_secret_is_refused_by_class_and_never_kept(memory: Memory) -> None:
    """Neither file, ledger nor index holds the secret's text afterwards; an ordinary save beside it is kept."""
    token = "ghp_" + "".join(
        random.Random(5).choices("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", k=36)
    )
    outcome = memory.agent("main").save(f"The token is {token}")
    refused = outcome.items[0]
    assert isinstance(refused, Refused)
    assert refused.rule == "secret"
    assert token not in refused.message
    memory.agent("main").save("An ordinary fact.")
    stored = b"".join(path.read_bytes() for path in memory.home.rglob("*") if path.is_file())
    assert token.encode() not in stored
    assert b"An ordinary fact." in stored


def test_an_agent_may_not_take_away_a_persons_text(memory: Memory) -> None:
    """Removing, replacing and restoring over a person's record is refused; adding beside it is not."""
    write(memory.home, "MEMORY.md", "- A person wrote this.\n")
    memory.sync()
    agent = memory.agent("main")
    assert isinstance(only(agent, "- The agent adds this."), Saved)
    for outcome in (
        agent.delete(file="MEMORY.md", text="- A person wrote this."),
        agent.delete(file="MEMORY.md", text="person "),
        agent.delete(file="MEMORY.md", delete_file=True),
        agent.save("Something else.", file="MEMORY.md", append=False),
    ):
        assert [item.rule for item in outcome.items if isinstance(item, Refused)] == ["trust"]
    assert read(memory.home, "MEMORY.md") == "- A person wrote this.\n- The agent adds this.\n"
    kept = agent.save("- A person wrote this.\n- The agent replaces its own line.", file="MEMORY.md", append=False)
    assert kept.done
    assert read(memory.home, "MEMORY.md") == "- A person wrote this.\n- The agent replaces its own line.\n"


def test_replacing_a_file_keeps_the_records_of_unchanged_blocks(memory: Memory) -> None:
    """`append=False` is a diff: the same blocks keep their ids, an edited one supersedes, others are retired."""
    agent = memory.agent("main")
    first = only(agent, "- stays as it is\n- the cache holds 100 entries\n- goes away")
    assert isinstance(first, Saved)
    agent.save("- stays as it is\n- the cache holds 200 entries", file="MEMORY.md", append=False)
    stays, changed, gone = first.record_ids
    assert agent.get(stays).text == "- stays as it is"
    versions = agent.history(changed).versions
    assert [version.text for version in versions] == [
        "- the cache holds 100 entries",
        "- the cache holds 200 entries",
    ]
    assert versions[0].record.superseded_by == versions[1].record.id
    assert agent.history(gone).versions[0].record.status == "retired"
    assert texts(agent, "cache entries") == ["- the cache holds 200 entries"]
    assert texts(agent, "goes away") == []


def test_deleting_a_text_forgets_it_everywhere_at_once(memory: Memory) -> None:
    """A deleted text is in no file, search or get; its neighbour is."""
    agent = memory.agent("main")
    saved = only(agent, "- red apples\n- green apples")
    assert isinstance(saved, Saved)
    outcome = agent.delete(file="MEMORY.md", text="- red apples")
    assert isinstance(outcome.items[0], Saved)
    assert outcome.items[0].matches == 1
    assert texts(agent, "apples") == ["- green apples"]
    with pytest.raises(memoranda_not_found()):
        agent.get(saved.record_ids[0])
    assert agent.get(saved.record_ids[1]).text == "- green apples"


def memoranda_not_found() -> type[Exception]:
    """The public error class, as a user imports it."""
    import memoranda

    return memoranda.NotFound


def test_deleting_the_last_text_deletes_the_file_unless_told_not_to(memory: Memory) -> None:
    """An emptied file goes, or stays empty where `delete_if_empty` is false."""
    agent = memory.agent("main")
    agent.save("only line", file="memory/a.md")
    agent.save("another only line", file="memory/b.md")
    assert agent.delete(file="memory/a.md", text="only line").files[0].deleted
    assert not agent.delete(file="memory/b.md", text="another only line", delete_if_empty=False).files[0].deleted
    assert not (memory.home / "memory/a.md").exists()
    assert read(memory.home, "memory/b.md") == ""


def test_deleting_a_missing_file_succeeds_and_says_so(memory: Memory) -> None:
    """A file that is not there is deleted already; a text that is not there is an error."""
    outcome = memory.agent("main").delete(file="memory/none.md", delete_file=True)
    assert outcome.done
    assert not outcome.files[0].existed
    missing = memory.agent("main").delete(file="memory/none.md", text="x")
    assert [item.rule for item in missing.items if isinstance(item, Refused)] == ["not_found"]


def test_delete_takes_exactly_one_of_text_and_file(memory: Memory) -> None:
    """Both or neither is an error; a blank text is refused."""
    agent = memory.agent("main")
    with pytest.raises(InvalidInput, match="not both"):
        agent.delete(file="MEMORY.md")
    with pytest.raises(InvalidInput, match="not both"):
        agent.delete(file="MEMORY.md", text="x", delete_file=True)
    blank = agent.delete(file="MEMORY.md", text=" \n")
    assert [item.rule for item in blank.items if isinstance(item, Refused)] == ["empty"]


@pytest.mark.parametrize(
    ("mode", "file", "allowed"),
    [
        ("hybrid", "MEMORY.md", True),
        ("hybrid", "memory/a.md", True),
        ("prompt-only", "MEMORY.md", True),
        ("prompt-only", "memory/a.md", False),
        ("search-only", "MEMORY.md", False),
        ("search-only", "memory/a.md", True),
        ("off", "MEMORY.md", False),
        ("off", "memory/a.md", False),
    ],
)
def test_the_write_mode_binds_agents_and_not_people(tmp_path: Path, mode: str, file: str, allowed: bool) -> None:
    """`agent_write_mode` says where an agent may write; a person may always."""
    with home(tmp_path, memory__agent_write_mode=mode) as memory:
        assert memory.agent("main").save("agent text", file=file).done is allowed
        assert memory.person("main").save("person text", file=file).done


def test_a_save_without_a_file_goes_where_the_mode_says(tmp_path: Path) -> None:
    """MEMORY.md, or memory/notes.md where the mode is search-only."""
    with home(tmp_path / "a") as memory:
        assert memory.agent("main").save("x y").files[0].path == "MEMORY.md"
    with home(tmp_path / "b", memory__agent_write_mode="search-only") as memory:
        assert memory.agent("main").save("x y").files[0].path == "memory/notes.md"


def test_a_missing_agent_id_is_an_error(memory: Memory) -> None:
    """There is no default agent inside the library, and ids of another form are refused."""
    for absent in ("", None):
        with pytest.raises(MissingIdentity):
            memory.agent(absent)  # type: ignore[arg-type]
    for odd in ("A", "a b", "../b", "-a", "a" * 65, "ä", "a/b", "a%b"):
        with pytest.raises(InvalidInput):
            memory.agent(odd)
    assert memory.agent("a" * 64).scope.id == "a" * 64


@pytest.mark.slow
def test_only_touched_blocks_change_in_a_thousand_random_writes(memory: Memory) -> None:
    """After 1,000 random saves and deletes every line that was not touched is byte for byte what it was."""
    rng = random.Random(11)
    person = "\ufeff---\r\ntags: [a]\r\n---\r\n# Notes\r\n\r\n" + "".join(
        f"- person item {number}\r\n  - child of {number}\r\n\r\nA paragraph {number} with\ttabs.  \r\n\r\n"
        for number in range(30)
    )
    write(memory.home, "memory/vault.md", person)
    memory.sync()
    agent = memory.agent("main")
    mine: list[str] = []
    for number in range(1_000):
        if mine and rng.random() < 0.45:
            text = mine.pop(rng.randrange(len(mine)))
            assert agent.delete(file="memory/vault.md", text=text).done
        else:
            text = rng.choice(["- agent item {}", "Agent paragraph {} speaks."]).format(number)
            assert agent.save(text, file="memory/vault.md").done
            mine.append(text)
    now = read(memory.home, "memory/vault.md")
    assert now.startswith(person)
    assert [line for line in now[len(person) :].split("\r\n") if line] == mine
    assert "\r\n\r\n\r\n" not in now[len(person) :]
    assert memory.verify().clean
