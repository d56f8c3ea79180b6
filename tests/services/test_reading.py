"""Single records and files: get, citations, blame, history and log."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import memoranda
from memoranda.memory import Memory
from tests.homes import home, write


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    """A home with one file in which texts are parts of each other."""
    with home(tmp_path) as opened:
        write(
            tmp_path,
            "memory/a.md",
            "# Title\n\n- port 80\n- port 8080\n- port 80\n\n"
            "Long port 80 story\nover two lines.\n\n```\nport 80\n```\n",
        )
        opened.sync()
        yield opened


def test_citations_name_the_lines_of_the_block_itself(memory: Memory) -> None:
    """A text that is part of another, or stands there twice, is cited where it really is."""
    hits = memory.agent("main").search("port 80 8080 story", limit=10, min_score=0).hits
    assert {(hit.text, hit.citation) for hit in hits} == {
        ("- port 80", "memory/a.md#L3"),
        ("- port 8080", "memory/a.md#L4"),
        ("- port 80", "memory/a.md#L5"),
        ("Long port 80 story\nover two lines.", "memory/a.md#L7-L8"),
        ("```\nport 80\n```", "memory/a.md#L10-L12"),
    }


def test_citations_follow_edits_above(memory: Memory) -> None:
    """Lines are those of the file as it is now; the id stays."""
    before = memory.agent("main").search("8080").hits[0]
    write(memory.home, "memory/a.md", "new first line\n\n" + (memory.home / "memory/a.md").read_text())
    memory.sync()
    now = memory.agent("main").get(before.record_id)
    assert (before.line_start, now.line_start) == (4, 6)


def test_a_place_in_a_file_is_an_address_too(memory: Memory) -> None:
    """`path:line` and `path#Lstart-Lend` give the record there; a heading's line or a foreign file does not."""
    agent = memory.agent("main")
    for place in ("memory/a.md:8", "memory/a.md#L7-L8", "memory/a.md#L7"):
        assert agent.get(place).text.startswith("Long port")
    for place in (
        "memory/a.md:1",
        "memory/a.md:99",
        "memory/none.md:1",
        "nonsense",
        "",
        "rec_short",
        "rec_" + "0" * 22,
    ):
        with pytest.raises(memoranda.NotFound, match=r"chunk not found|no memory file"):
            agent.get(place)
    with pytest.raises(memoranda.InvalidInput):
        agent.get("../outside.md:1")


def test_parts_of_a_long_record_are_addressed_and_cited(memory: Memory) -> None:
    """A long record has parts `#1`, `#2`, …; each is found, read and cited by itself."""
    text = "\n".join(f"Sentence number {n} speaks of subject{n} and nothing else at all." for n in range(80))
    write(memory.home, "memory/long.md", f"# Long\n\n{text}\n")
    memory.sync()
    agent = memory.agent("main")
    hit = agent.search("subject77").hits[0]
    assert hit.chunk_id != hit.record_id
    part = agent.get(hit.chunk_id)
    assert "subject77" in part.text
    assert part.text != agent.get(hit.record_id).text
    assert part.line_start <= 3 + 77 <= part.line_end
    with pytest.raises(memoranda.NotFound):
        agent.get(f"{hit.record_id}#99")


def test_log_is_filtered_and_bounded(memory: Memory) -> None:
    """Kind (whole or before its dot), subject, time and number narrow the log; odd values are errors."""
    agent, person = memory.agent("main"), memory.person("main")
    agent.save("a new fact")
    assert {event.kind for event in person.log(kind="record")} == {"record.created"}
    assert [event.principal for event in person.log(limit=1, kind="record.created")] == ["agent:main"]
    assert person.log(kind="rec") == ()
    assert person.log(since="2999-01-01") == ()
    subject = person.log(limit=1, kind="record")[0].subject
    assert {event.subject for event in person.log(subject=subject)} == {subject}
    for wrong in ({"limit": 0}, {"limit": 5_000}, {"since": "yesterday-ish"}):
        with pytest.raises(memoranda.InvalidInput):
            person.log(**wrong)


def test_checkpoints_are_listed_by_path_and_bounded(memory: Memory) -> None:
    """`path_contains` ignores case; the limit is 1 to 100."""
    agent = memory.agent("main")
    agent.save("x one", file="memory/Alpha.md")
    agent.save("y two", file="memory/beta.md")
    assert [item.paths for item in agent.checkpoints(path_contains="ALPHA")] == [("memory/Alpha.md",)]
    assert len(agent.checkpoints()) == 2
    with pytest.raises(memoranda.InvalidInput):
        agent.checkpoints(limit=101)
