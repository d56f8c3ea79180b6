"""What an agent cannot do to a person's words, and nobody to a withheld one."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

import memoranda
from memoranda.domain.outcome import BatchOutcome, Refused
from memoranda.memory import Memory
from memoranda.services import moves, sync
from memoranda.testing.made_up_secrets import FORMATS, made_up
from tests.homes import home, read, texts, write

SECRET = made_up(next(entry for entry in FORMATS if "github" in entry.name.lower()), random.Random(3))
MIXED = "---\ntitle: mine\n---\n# Never\n\n- by a person\n\n# Always\n\n- also by a person\n"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    """An empty home."""
    with home(tmp_path) as opened:
        yield opened


def rules(outcome: BatchOutcome) -> list[tuple[str, str]]:
    """Return rule and message of every refusal."""
    return [(item.rule, item.message) for item in outcome.items if isinstance(item, Refused)]


def test_a_delete_tells_an_agent_nothing_of_a_withheld_text(memory: Memory) -> None:
    """A guess that is right gets the answer of one that is wrong; an ordinary text gets its own."""
    write(memory.home, "memory/list.md", f"# Top {SECRET}\n\n- the key {SECRET} is ours\n- an open line\n")
    memory.sync()
    agent = memory.agent("main")
    right, wrong = (agent.delete(file="memory/list.md", text=guess) for guess in (SECRET[:8], "ghq_zzzz"))
    assert rules(right) == rules(wrong)
    assert rules(right)[0][0] == "not_found"
    assert rules(agent.delete(file="memory/list.md", text="an open"))[0][0] == "trust"
    assert SECRET in read(memory.home, "memory/list.md")


@pytest.mark.parametrize("text", ["# Always", "title: mine", "Never\n\n- by", "---"])
def test_an_agent_cannot_cut_a_persons_headings(memory: Memory, text: str) -> None:
    """Headings and front matter of a person's file stay; the agent's own lines in it may go."""
    write(memory.home, "memory/h.md", MIXED)
    memory.sync()
    agent = memory.agent("main")
    assert agent.save("- by the agent", file="memory/h.md").done
    assert rules(agent.delete(file="memory/h.md", text=text))
    assert read(memory.home, "memory/h.md") == f"{MIXED}- by the agent\n"
    assert agent.delete(file="memory/h.md", text="- by the agent").done
    assert read(memory.home, "memory/h.md") == MIXED


@pytest.mark.parametrize(
    "content",
    [
        "# Never\n\n- by a person\n- also by a person",
        "---\ntitle: mine\n---\n# Always\n\n- by a person\n\n# Never\n\n- also by a person",
        "---\ntitle: mine\n---\n# Never\n\n- also by a person\n\n# Always\n\n- by a person",
    ],
)
def test_an_agent_cannot_move_a_persons_line_under_another_heading(memory: Memory, content: str) -> None:
    """Replacing a file may add to it; a person's blocks keep their headings and order."""
    write(memory.home, "memory/h.md", MIXED)
    memory.sync()
    agent = memory.agent("main")
    assert [rule for rule, _ in rules(agent.save(content, file="memory/h.md", append=False))] == ["trust"]
    assert read(memory.home, "memory/h.md") == MIXED
    assert agent.save(f"{MIXED}\n# More\n\n- by the agent", file="memory/h.md", append=False).done


def test_a_file_of_headings_alone_is_the_persons_too(memory: Memory) -> None:
    """No record stands in it, and still an agent cannot delete or replace it; its own file of headings it can."""
    write(memory.home, "memory/plan.md", "# Plan\n\n## Later\n")
    memory.sync()
    agent = memory.agent("main")
    assert rules(agent.delete(file="memory/plan.md", delete_file=True))[0][0] == "trust"
    assert rules(agent.save("# Other\n\nplan", file="memory/plan.md", append=False))[0][0] == "trust"
    agent.save("# Mine\n\n- one", file="memory/mine.md")
    assert agent.save("# Renamed\n\n- one", file="memory/mine.md", append=False).done


def test_nobody_but_an_editor_removes_a_withheld_text(memory: Memory) -> None:
    """It is kept nowhere else, so delete, replace and undo are refused and say so; with an editor it goes."""
    write(memory.home, "memory/s.md", "- plain\n")
    memory.sync()
    write(memory.home, "memory/s.md", f"- plain\n- token {SECRET}\n")
    memory.sync()
    person = memory.person("main")
    for outcome in (
        person.delete(file="memory/s.md", delete_file=True),
        person.save("new", file="memory/s.md", append=False),
        person.undo(),
    ):
        assert [rule for rule, _ in rules(outcome)] == ["withheld"]
        assert SECRET not in str(outcome)
    assert read(memory.home, "memory/s.md") == f"- plain\n- token {SECRET}\n"
    write(memory.home, "memory/s.md", "- plain\n")
    assert memory.sync().removed == 1


def test_a_secret_cannot_be_put_together_by_a_cut(memory: Memory) -> None:
    """What a cut leaves is scanned like what is saved."""
    agent = memory.agent("main")
    assert agent.save(f"- k {SECRET[:9]} zz {SECRET[9:]} zz plain").done
    outcome = agent.delete(file="MEMORY.md", text=" zz ")
    assert [rule for rule, _ in rules(outcome)] == ["secret"]
    assert SECRET not in read(memory.home, "MEMORY.md")
    assert agent.delete(file="MEMORY.md", text=" zz plain").done


def test_invisible_letters_do_not_hide_a_secret_and_names_are_looked_at(memory: Memory) -> None:
    """A token with zero-width characters inside is refused or withheld, and so is one in a file's name."""
    hidden = "\u200b".join((SECRET[:9], SECRET[9:20], SECRET[20:]))
    agent = memory.agent("main")
    assert rules(agent.save(f"key {hidden}"))[0][0] == "secret"
    refused = rules(agent.save("fine", file=f"memory/{SECRET}.md"))
    assert refused[0][0] == "secret"
    assert SECRET not in refused[0][1]
    write(memory.home, "memory/a.md", f"- key {hidden}\n- plain words\n")
    write(memory.home, f"memory/{SECRET}.md", "- in an odd file\n")
    report = memory.sync()
    assert [item.line for item in report.withheld] == [1]
    assert ("memory/(withheld)", "its name holds a secret") in [(item.path, item.reason) for item in report.skipped]
    assert texts(agent, "plain words odd file") == ["- plain words"]
    state = b"".join(path.read_bytes() for path in (memory.home / ".state").rglob("*") if path.is_file())
    assert SECRET.encode() not in state
    assert b"plain words" in state


def test_a_file_written_again_while_its_moves_are_found(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line that moved while the file it came to was edited once more leaves nothing without a record."""
    write(memory.home, "memory/a.md", "- stays\n- wanders off\n")
    write(memory.home, "memory/b.md", "- old b\n")
    memory.sync()
    write(memory.home, "memory/a.md", "- stays\n")
    write(memory.home, "memory/b.md", "- old b\n- wanders off\n")
    found = moves.find_moves

    def slow(*arguments: object) -> moves.Arrivals:
        arrivals = found(*arguments)  # type: ignore[arg-type]
        write(memory.home, "memory/b.md", "- squeezed in\n- old b\n- wanders off\n")
        return arrivals

    with monkeypatch.context() as patched:
        patched.setattr(sync, "find_moves", slow)
        memory.sync()
    memory.sync()
    assert all(line.record for line in memory.person("main").blame("memory/b.md"))
    assert "- squeezed in" in texts(memory.agent("main"), "squeezed")
    assert memory.verify().clean


def test_one_scopes_missing_files_do_not_stop_the_others(memory: Memory) -> None:
    """The sync stops for the scope whose files are gone, says so, and brings the others up to date."""
    memory.agent("alice").save("- of alice")
    memory.agent("zed").save("- of zed")
    (memory.home / "agents/alice/MEMORY.md").unlink()
    write(memory.home, "agents/zed/MEMORY.md", "- of zed\n- a giraffe\n")
    with pytest.raises(memoranda.RemovalsNotAccepted, match="alice"):
        memory.sync()
    assert texts(memory.agent("zed"), "giraffe") == ["- a giraffe"]


def test_an_edit_with_the_old_size_and_time_is_seen(memory: Memory) -> None:
    """A copy or an editor may set the time of modification back; the time of change tells."""
    path = write(memory.home, "MEMORY.md", "- abc\n")
    os.utime(path, ns=(1_700_000_000_000_000_000,) * 2)
    memory.sync()
    write(memory.home, "MEMORY.md", "- xyz\n")
    os.utime(path, ns=(1_700_000_000_000_000_000,) * 2)
    assert memory.sync().files_changed == 1
    assert texts(memory.agent("main"), "xyz") == ["- xyz"]


def test_deep_lists_can_be_added_to(memory: Memory) -> None:
    """A list of forty levels is one record, and a file with it takes another."""
    deep = "".join(f"{'  ' * level}- level {level}\n" for level in range(40))
    write(memory.home, "memory/deep.md", deep)
    memory.sync()
    assert memory.agent("main").save("- after it", file="memory/deep.md").done
    assert read(memory.home, "memory/deep.md") == f"{deep}- after it\n"
    refused = rules(memory.agent("main").save("".join(f"{'  ' * n}- {n}\n" for n in range(120)), file="memory/x.md"))
    assert refused[0][0] == "open_block"


def test_undo_is_bound_to_what_was_looked_at(memory: Memory) -> None:
    """A change between the look and the undo makes it a conflict, and nothing is taken back."""
    person = memory.person("main")
    person.save("- one")
    seen = person.newest_checkpoint()
    memory.agent("main").save("- two")
    with pytest.raises(memoranda.Conflict, match="Look again"):
        person.undo(expected=seen)
    assert read(memory.home, "MEMORY.md") == "- one\n- two\n"
    assert person.undo(expected=person.newest_checkpoint()).done
    assert read(memory.home, "MEMORY.md") == "- one\n"


def test_an_agent_brings_back_nothing_that_a_person_took_out(memory: Memory) -> None:
    """Restoring a person's removal is refused for an agent and done for the person; its own removal it may undo."""
    agent = memory.agent("main")
    agent.save("- deploys need no review\n- stays")
    write(memory.home, "MEMORY.md", "- stays\n")
    memory.sync()
    assert rules(agent.restore(agent.checkpoints()[0].id))[0][0] == "trust"
    assert texts(agent, "deploys review") == []
    agent.delete(file="MEMORY.md", text="- stays")
    assert agent.undo().done
    assert read(memory.home, "MEMORY.md") == "- stays\n"
    assert memory.person("main").restore(agent.checkpoints(limit=9)[2].id).done
    assert "deploys need no review" in read(memory.home, "MEMORY.md")
