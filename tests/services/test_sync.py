"""What people do to their files is noticed, attributed, and never changed by the program."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import memoranda
from memoranda.domain.record import Record, Status, Trust
from memoranda.memory import Memory
from memoranda.testing.made_up_secrets import FORMATS, made_up
from tests import vault
from tests.homes import home, read, texts, write


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    """An empty home."""
    with home(tmp_path) as opened:
        yield opened


def records(memory: Memory, path: str) -> dict[str, Record]:
    """Return text -> record of a file's blocks."""
    found = memory.person("main").blame(path)
    assert all(line.record is not None for line in found)
    return {line.text: line.record for line in found if line.record}


def secret(seed: int = 7) -> str:
    """Return one made-up token."""
    return made_up(next(entry for entry in FORMATS if "github" in entry.name.lower()), random.Random(seed))


@pytest.mark.slow
def test_not_one_byte_of_a_persons_folder_changes(memory: Memory) -> None:
    """Everything that Markdown and editors do is read, and left as it is."""
    for path, data in (vault.FILES | vault.ASIDE).items():
        write(memory.home, path, data)
    before = {path: (memory.home / path).stat() for path in vault.FILES | vault.ASIDE}
    report = memory.sync()
    for path, data in (vault.FILES | vault.ASIDE).items():
        now = (memory.home / path).stat()
        assert (memory.home / path).read_bytes() == data
        assert (now.st_mtime_ns, now.st_ino) == (before[path].st_mtime_ns, before[path].st_ino)
    assert report.files_changed == len(vault.FILES)
    assert memory.verify().clean
    main = memory.agent("main")
    for question, found in {
        "lisbon capital": "memory/front.md",
        "four levels down": "memory/a/b/c/deep.markdown",
        "mark content": "memory/bom.md",
        "буду текст русский": "memory/unicode.md",
        "tilde": "memory/code.md",
        "buy-milk": "memory/refs.md",
        "callout": "memory/callout.md",
        "Größe Stern": "memory/Projekte/Größe & Maß.md",
    }.items():
        assert found in [hit.path for hit in main.search(question, limit=5, min_score=0).hits], question


@pytest.mark.slow
def test_only_memory_files_are_memory_and_the_rest_is_named(memory: Memory) -> None:
    """Persona files, transcripts, hidden and foreign files are not indexed; what is ignored is reported by name."""
    for path, data in (vault.FILES | vault.ASIDE).items():
        write(memory.home, path, data)
    skipped = {item.path: item.reason for item in memory.sync().skipped}
    assert skipped == {
        "AGENTS.md": "not a memory path",
        "SOUL.md": "not a memory path",
        "USER.md": "not a memory path",
        "memory/.obsidian": "hidden",
        "memory/latin1.md": "not UTF-8",
        "memory/picture.png": "not Markdown",
        "memory/sessions": "transcripts",
    }
    assert {item.path for item in memory.status().skipped} == set(skipped)
    assert texts(memory.agent("main"), "persona transcript instructions profile") == []
    assert texts(memory.agent("main"), "levels") == ["four levels down"]


def test_two_identical_blocks_are_two_records(memory: Memory) -> None:
    """Deduplication never applies to a person's text."""
    write(memory.home, "MEMORY.md", vault.FILES["MEMORY.md"])
    memory.sync()
    found = memory.person("main").blame("MEMORY.md")
    assert [line.record.occurrence for line in found if line.record] == [1, 2, 1, 2]
    assert len({line.record.id for line in found if line.record}) == 4


def test_an_edit_supersedes_a_removal_retires_an_addition_is_the_persons(memory: Memory) -> None:
    """The four fates of a block, with author, trust and chain."""
    memory.agent("main").save("- the agent said this\n- the port is 8080\n- soon removed")
    before = records(memory, "MEMORY.md")
    write(memory.home, "MEMORY.md", "- the agent said this\n- the port is 8081\n- a person adds this\n")
    report = memory.sync()
    assert (report.edited, report.removed, report.added, report.moved) == (1, 1, 1, 0)
    now = records(memory, "MEMORY.md")
    kept, edited, added = now["- the agent said this"], now["- the port is 8081"], now["- a person adds this"]
    assert kept == before["- the agent said this"]
    assert (str(kept.author), kept.trust) == ("agent:main", Trust.AGENT_OBSERVED)
    assert edited.supersedes == before["- the port is 8080"].id
    assert (str(edited.author), edited.trust) == ("external", Trust.APPLICATION)
    assert (str(added.author), added.trust, added.supersedes) == ("external", Trust.APPLICATION, "")
    chain = memory.person("main").history(before["- the port is 8080"].id)
    assert [version.text for version in chain.versions] == ["- the port is 8080", "- the port is 8081"]
    gone = memory.person("main").history(before["- soon removed"].id).versions[0]
    assert (gone.record.status, gone.text) == (Status.RETIRED, "- soon removed")
    assert texts(memory.agent("main"), "port removed person") == [
        "- a person adds this",
        "- the port is 8081",
    ] or set(texts(memory.agent("main"), "port removed person")) == {
        "- a person adds this",
        "- the port is 8081",
    }


def test_cut_and_paste_between_files_keeps_the_record(memory: Memory) -> None:
    """A block that leaves one file and turns up in another is the same record: id, author and trust unchanged."""
    memory.agent("main").save("- a fact of the agent\n- it stays here", file="memory/zz.md")
    before = records(memory, "memory/zz.md")["- a fact of the agent"]
    write(memory.home, "memory/zz.md", "- it stays here\n")
    write(memory.home, "memory/aa.md", "# New place\n\n- a fact of the agent\n")
    report = memory.sync()
    now = records(memory, "memory/aa.md")["- a fact of the agent"]
    assert (report.moved, report.added, report.removed) == (1, 0, 0)
    assert (now.id, now.author, now.trust) == (before.id, before.author, before.trust)
    assert (now.path, now.heading) == ("memory/aa.md", ("New place",))
    assert memory.verify().clean


def test_a_renamed_file_keeps_its_records(memory: Memory) -> None:
    """Renaming a file moves its records, alone in the workspace though it is."""
    write(memory.home, "memory/old.md", "- one\n- two\n")
    memory.sync()
    before = {record.id for record in records(memory, "memory/old.md").values()}
    (memory.home / "memory/old.md").rename(memory.home / "memory/new name.md")
    report = memory.sync()
    assert {record.id for record in records(memory, "memory/new name.md").values()} == before
    assert (report.moved, report.added, report.removed) == (2, 0, 0)
    assert memory.verify().clean


def test_text_that_comes_back_is_the_same_record(memory: Memory) -> None:
    """A block that was removed and put back later revives its record."""
    write(memory.home, "MEMORY.md", "- stays\n- comes and goes\n")
    memory.sync()
    before = records(memory, "MEMORY.md")["- comes and goes"]
    write(memory.home, "MEMORY.md", "- stays\n")
    memory.sync()
    assert texts(memory.agent("main"), "comes goes") == []
    write(memory.home, "MEMORY.md", "- stays\n- comes and goes\n")
    report = memory.sync()
    assert report.revived == 1
    assert records(memory, "MEMORY.md")["- comes and goes"] == before
    assert texts(memory.agent("main"), "comes goes") == ["- comes and goes"]


def test_a_renamed_heading_changes_metadata_only(memory: Memory) -> None:
    """Records below it keep their ids; their heading trail is the new one."""
    write(memory.home, "MEMORY.md", "# Old\n\n- fact\n")
    memory.sync()
    before = records(memory, "MEMORY.md")["- fact"]
    write(memory.home, "MEMORY.md", "# New\n\n- fact\n")
    report = memory.sync()
    now = records(memory, "MEMORY.md")["- fact"]
    assert (report.edited, report.added, report.moved) == (0, 0, 1)
    assert (now.id, now.heading) == (before.id, ("New",))


def test_a_secret_in_a_persons_file_is_withheld_and_reported(memory: Memory) -> None:
    """The file stays as it is; the text is in no ledger, index, search, blame or error; its neighbours are."""
    token = secret()
    write(memory.home, "MEMORY.md", f"# Keys\n\n- deploy key {token}\n- the sky is blue\n")
    report = memory.sync()
    assert [(item.path, item.line) for item in report.withheld] == [("MEMORY.md", 3)]
    assert "github" in report.withheld[0].secret_class
    assert token in read(memory.home, "MEMORY.md")
    assert texts(memory.agent("main"), "deploy key sky blue") == ["- the sky is blue"]
    assert memory.agent("main").search("sky").withheld == 1
    blamed = memory.person("main").blame("MEMORY.md")
    assert token not in str(blamed)
    assert [line.record.status for line in blamed if line.record] == [Status.WITHHELD, Status.ACTIVE]
    state = b"".join(path.read_bytes() for path in (memory.home / ".state").rglob("*") if path.is_file())
    assert token.encode() not in state
    assert b"the sky is blue" in state
    assert memory.verify().clean


def test_a_secret_outlives_saves_undo_and_its_own_removal(memory: Memory) -> None:
    """Writes and restores around a withheld block leave it in the file and out of the ledger."""
    token = secret()
    write(memory.home, "MEMORY.md", f"- key {token}\n- one\n")
    memory.sync()
    agent, person = memory.agent("main"), memory.person("main")
    assert agent.save("- two").done
    assert read(memory.home, "MEMORY.md") == f"- key {token}\n- one\n- two\n"
    assert person.undo().done
    assert read(memory.home, "MEMORY.md") == f"- key {token}\n- one\n"
    assert person.delete(file="MEMORY.md", text="- one").done
    assert read(memory.home, "MEMORY.md") == f"- key {token}\n"
    assert person.undo().done
    assert read(memory.home, "MEMORY.md") == f"- key {token}\n- one\n"
    write(memory.home, "MEMORY.md", "- key is elsewhere now\n- one\n")
    assert memory.sync().withheld == ()
    assert "- key is elsewhere now" in texts(agent, "key elsewhere")
    state = b"".join(path.read_bytes() for path in (memory.home / ".state").rglob("*") if path.is_file())
    assert token.encode() not in state
    assert b"elsewhere" in state
    assert memory.verify().clean


def test_a_restore_without_the_secret_says_where_it_was(memory: Memory) -> None:
    """A withheld text that the person has removed cannot come back; a comment stands in its place."""
    write(memory.home, "MEMORY.md", f"- key {secret()}\n- one\n")
    memory.sync()
    write(memory.home, "MEMORY.md", "- one\n")
    memory.sync()
    assert memory.person("main").undo().done
    assert read(memory.home, "MEMORY.md").startswith("<!-- memoranda:withheld ")
    assert read(memory.home, "MEMORY.md").endswith(" -->\n- one\n")
    assert memory.verify().clean
    write(memory.home, "MEMORY.md", read(memory.home, "MEMORY.md") + "- two\n")
    assert (memory.sync().added, memory.sync().files_changed) == (1, 0)
    assert memory.verify().clean


def test_a_secret_in_a_heading_is_withheld_too(memory: Memory) -> None:
    """A heading's text goes into the metadata of what stands below it; one with a secret does not."""
    token = secret()
    write(memory.home, "MEMORY.md", f"# Key {token}\n\n- below the heading\n")
    memory.sync()
    state = b"".join(path.read_bytes() for path in (memory.home / ".state").rglob("*") if path.is_file())
    assert token.encode() not in state
    assert texts(memory.agent("main"), "below heading") == ["- below the heading"]
    assert memory.verify().clean


def test_mass_disappearance_stops_the_sync_and_asks(memory: Memory) -> None:
    """When more than half of the files vanish at once nothing changes until a person accepts it."""
    for number in range(10):
        write(memory.home, f"memory/n{number}.md", f"- note number{number}\n")
    memory.sync()
    for number in range(6):
        (memory.home / f"memory/n{number}.md").unlink()
    with pytest.raises(memoranda.RemovalsNotAccepted, match="6 of 10"):
        memory.sync()
    assert memory.person("main").history(found_id(memory, "number9")).versions[0].record.status == Status.ACTIVE
    ledger = memory._parts.stores.ledger
    assert len(ledger.files(memory.agent("main").scope)) == 10
    report = memory.sync(accept_removals=True)
    assert (report.files_removed, report.removed) == (6, 6)
    assert texts(memory.agent("main"), "number9") == ["- note number9"]


def found_id(memory: Memory, question: str) -> str:
    """Return the id of the best hit."""
    return memory.agent("main").search(question).hits[0].record_id


def test_half_of_the_files_may_vanish_and_renaming_all_is_no_disappearance(memory: Memory) -> None:
    """The guard counts what is gone, not what was moved."""
    for number in range(4):
        write(memory.home, f"memory/n{number}.md", f"- note number{number}\n")
    memory.sync()
    for number in range(2):
        (memory.home / f"memory/n{number}.md").unlink()
    assert memory.sync().files_removed == 2
    (memory.home / "memory").rename(memory.home / "aside")
    (memory.home / "memory").mkdir()
    (memory.home / "aside").rename(memory.home / "memory" / "moved")
    report = memory.sync()
    assert (report.moved, report.removed) == (2, 0)


def test_unreadable_is_not_deleted(memory: Memory) -> None:
    """A file that turns into something unreadable keeps its records, and is reported."""
    write(memory.home, "memory/a.md", "- about apples\n")
    write(memory.home, "memory/b.md", "- about pears\n")
    memory.sync()
    write(memory.home, "memory/a.md", b"\xff\xfe not utf-8")
    report = memory.sync()
    assert [(item.path, item.reason) for item in report.skipped] == [("memory/a.md", "not UTF-8")]
    assert report.removed == 0
    scope = memory.agent("main").scope
    assert len(list(memory._parts.stores.ledger.present(scope))) == 2
    (memory.home / "memory/a.md").unlink()
    os.mkfifo(memory.home / "memory/a.md")
    report = memory.sync()
    assert ("memory/a.md", "not a regular file") in [(item.path, item.reason) for item in report.skipped]
    assert len(list(memory._parts.stores.ledger.present(scope))) == 2


def test_links_are_not_followed(memory: Memory, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Neither a link out of the home nor one into another agent's memory is read or written through."""
    outside = tmp_path_factory.mktemp("outside")
    write(outside, "secret.md", "- outside text\n")
    write(memory.home, "agents/bob/MEMORY.md", "- of bob alone\n")
    write(memory.home, "memory/own.md", "- own text\n")
    (memory.home / "memory" / "out.md").symlink_to(outside / "secret.md")
    (memory.home / "memory" / "dir").symlink_to(outside)
    (memory.home / "memory" / "bob.md").symlink_to(memory.home / "agents/bob/MEMORY.md")
    report = memory.sync()
    assert {(item.path, item.reason) for item in report.skipped} == {
        ("memory/out.md", "link"),
        ("memory/dir", "link"),
        ("memory/bob.md", "link"),
    }
    main = memory.agent("main")
    assert texts(main, "outside bob own text") == ["- own text"]
    assert texts(memory.agent("bob"), "bob alone") == ["- of bob alone"]
    for path in ("memory/out.md", "memory/bob.md"):
        refused = main.save("through the link", file=path)
        assert not refused.done
    assert read(outside, "secret.md") == "- outside text\n"
    assert read(memory.home, "agents/bob/MEMORY.md") == "- of bob alone\n"


def test_a_persons_edit_before_a_save_is_kept_and_attributed(memory: Memory) -> None:
    """An unsynced edit is taken note of first: the append goes after it, each line has its own author."""
    agent = memory.agent("main")
    agent.save("- first by the agent")
    write(memory.home, "MEMORY.md", "- first by the agent\n- typed by a person\n")
    assert agent.save("- second by the agent").done
    assert read(memory.home, "MEMORY.md") == "- first by the agent\n- typed by a person\n- second by the agent\n"
    authors = {text: str(record.author) for text, record in records(memory, "MEMORY.md").items()}
    assert authors == {
        "- first by the agent": "agent:main",
        "- typed by a person": "external",
        "- second by the agent": "agent:main",
    }


def test_replacing_a_file_that_a_person_just_changed_is_a_conflict(memory: Memory) -> None:
    """The edit stays, nothing of the replacement is written, and its text is kept in a checkpoint."""
    agent = memory.agent("main")
    agent.save("- line by the agent")
    write(memory.home, "MEMORY.md", "- line by the agent, edited by a person\n")
    outcome = agent.save("- all new", file="MEMORY.md", append=False)
    assert not outcome.done
    assert read(memory.home, "MEMORY.md") == "- line by the agent, edited by a person\n"
    kept = agent.checkpoints()[0]
    assert kept.reason == "conflict"
    assert memory._parts.stores.ledger.text(kept.files[0].before) == "- all new"
    assert memory.verify().clean


def test_an_unchanged_resync_reads_nothing(memory: Memory) -> None:
    """A second sync counts every file by stat alone; one touched file is read, and found the same."""
    for number in range(50):
        path = write(memory.home, f"memory/n{number}.md", f"- note number{number}\n")
        os.utime(path, ns=(1_700_000_000_000_000_000, 1_700_000_000_000_000_000))
    time.sleep(0.06)  # until the clock of the file system has surely moved on
    assert memory.sync().files_read == 50
    again = memory.sync()
    assert (again.files_seen, again.files_read, again.files_changed) == (50, 0, 0)
    os.utime(memory.home / "memory/n7.md")
    touched = memory.sync()
    assert (touched.files_read, touched.files_changed) == (1, 0)


def test_an_outside_edit_can_be_undone(memory: Memory) -> None:
    """What a person's editor did is a checkpoint too, and undo brings the file back byte for byte."""
    write(memory.home, "MEMORY.md", "one\r\n\r\ntwo\r\n")
    memory.sync()
    write(memory.home, "MEMORY.md", "ruined")
    memory.sync()
    person = memory.person("main")
    assert person.checkpoints()[0].reason == "edit"
    assert "-ruined" in person.undo_preview()[0].diff
    assert person.undo().done
    assert read(memory.home, "MEMORY.md") == "one\r\n\r\ntwo\r\n"


@pytest.mark.slow
def test_a_file_of_fifty_megabytes(memory: Memory) -> None:
    """A very large file is taken in whole, and its last words are found."""
    line = "x" * 4_000
    write(
        memory.home,
        "memory/huge.md",
        "".join(f"{line} {n}\n\n" for n in range(12_500)) + "the very last words\n",
    )
    assert (memory.home / "memory/huge.md").stat().st_size > 50_000_000
    assert memory.sync().added == 12_501
    assert texts(memory.agent("main"), "very last words")[0] == "the very last words"
