"""Permissions, checkpoints and their pruning, verify and repair, re-embedding: what keeps a home well."""

from __future__ import annotations

import shutil
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import apsw
import numpy as np
import pytest

import memoranda
from memoranda.adapters.sqlite.ledger_schema import MIGRATIONS
from memoranda.domain.outcome import Refused
from memoranda.memory import Memory
from memoranda.ports import Vector
from memoranda.services import writing
from tests.homes import home, read, texts, write


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    """An empty home."""
    with home(tmp_path / "home") as opened:
        yield opened


def test_folders_and_files_are_the_owners_alone(memory: Memory) -> None:
    """What the product makes has mode 0700 or 0600; a person's file keeps the mode it has."""
    theirs = write(memory.home, "memory/theirs.md", "- by a person\n")
    theirs.chmod(0o644)
    memory.sync()
    memory.agent("main").save("- by an agent", file="memory/theirs.md")
    memory.agent("bob").save("fact of bob")
    for path in [memory.home, *memory.home.rglob("*")]:
        if path in (theirs, theirs.parent):
            continue
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o600), path
    assert stat.S_IMODE(theirs.stat().st_mode) == 0o644


def test_restore_brings_back_what_was_there_and_is_undoable(memory: Memory) -> None:
    """A restore is a change like any other: checkpointed, indexed, audited; restoring a new file removes it."""
    agent, person = memory.agent("main"), memory.person("main")
    agent.save("- first", file="memory/a.md")
    made = agent.checkpoints()[0]
    agent.save("- second", file="memory/a.md")
    assert agent.restore(made.id).done
    assert not (memory.home / "memory/a.md").exists()
    assert texts(agent, "first second") == []
    assert person.undo().done
    assert read(memory.home, "memory/a.md") == "- first\n- second\n"
    assert set(texts(agent, "first second")) == {"- first", "- second"}
    kinds = [event.kind for event in person.log(kind="record")]
    assert kinds.count("record.revived") == 2
    assert memory.verify().clean


def test_undo_of_several_changes_over_several_files(memory: Memory) -> None:
    """`undo(3)` brings every file back to where it was three changes ago; more than there are is an error."""
    person = memory.person("main")
    person.save("base", file="memory/a.md")
    for number in range(3):
        person.save(f"change {number}", file=f"memory/{'ab'[number % 2]}.md")
    assert person.undo(3).done
    assert read(memory.home, "memory/a.md") == "base\n"
    assert not (memory.home / "memory/b.md").exists()
    with pytest.raises(memoranda.NotFound, match="only 5"):
        person.undo(6)
    with pytest.raises(memoranda.InvalidInput):
        person.undo(0)


def test_an_agent_cannot_restore_over_a_persons_words(memory: Memory) -> None:
    """A restore that would take a person's record away is refused for an agent and done for the person."""
    agent = memory.agent("main")
    agent.save("- by the agent")
    write(memory.home, "MEMORY.md", "- by the agent\n- by a person\n")
    memory.sync()
    first = agent.checkpoints()[-1]
    refused = agent.restore(first.id).items[0]
    assert isinstance(refused, Refused)
    assert refused.rule == "trust"
    assert read(memory.home, "MEMORY.md") == "- by the agent\n- by a person\n"
    assert memory.person("main").restore(first.id).done
    assert not (memory.home / "MEMORY.md").exists()


def test_old_checkpoints_are_pruned_and_their_texts_with_them(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither among the newest nor young: gone, with an event; what is kept can be restored."""
    monkeypatch.setattr(writing, "KEEP_CHECKPOINTS", 3)
    agent = memory.agent("main")
    for number in range(8):
        agent.save(f"- fact number{number}")
    assert len(agent.checkpoints()) == 8
    memory.sync()
    assert len(agent.checkpoints()) == 8, "young ones stay, however many"

    class Later:
        def now(self) -> str:
            return "2999-01-01T00:00:00.000000+00:00"

    stores = replace(memory._parts.stores, clock=Later())
    with stores.locks.hold(agent.scope):
        assert writing.prune(stores, agent.scope) == 5
    assert len(agent.checkpoints()) == 3
    assert agent.log(kind="checkpoints")[0].kind == "checkpoints.pruned"
    assert memory.verify().clean
    assert agent.restore(agent.checkpoints()[-1].id).done
    assert read(memory.home, "MEMORY.md").count("fact") == 5


@pytest.mark.slow
def test_many_versions_of_a_file_take_little_room(memory: Memory) -> None:
    """Old contents are kept as differences: a hundred saves to one file do not keep it a hundred times."""
    agent = memory.agent("main")
    agent.save("\n\n".join(f"Paragraph {n} about subject {n * n} in other words {n * 31}." for n in range(300)))
    for number in range(100):
        agent.save(f"Small fact {number}.")
    db = memory._parts.stores.ledger._db  # type: ignore[attr-defined]
    whole = db.execute("SELECT sum(length(data)) FROM objects WHERE codec=1").get
    differences = db.execute("SELECT count(*), sum(length(data)) FROM objects WHERE codec=2").get
    assert differences[0] >= 95
    assert differences[1] < 100 * 120
    assert whole < 5 * len(read(memory.home, "MEMORY.md"))
    oldest = agent.checkpoints(limit=100)[-1]
    assert memory.person("main").restore(oldest.id).done
    assert "Small fact" not in read(memory.home, "MEMORY.md")
    assert memory.verify().clean


def test_verify_names_what_changed_outside_and_sync_takes_note(memory: Memory) -> None:
    """A file edited since the last sync is named, not repaired; after a sync all is well."""
    memory.agent("main").save("- fact")
    assert memory.verify().clean
    write(memory.home, "MEMORY.md", "- fact\n- more\n")
    problems = memory.verify(repair=True).problems
    assert [(problem.area, problem.subject) for problem in problems] == [("files", "agent:main MEMORY.md")]
    memory.sync()
    assert memory.verify().clean


def test_repair_rebuilds_the_index_and_nothing_else(memory: Memory) -> None:
    """A damaged index is named, `repair` builds it again, and search answers as before."""
    agent = memory.agent("main")
    agent.save("- the quick brown fox\n- the lazy dog")
    before = texts(agent, "fox dog")
    path = memory.home / ".state/index/agent+main/index.db"
    db = apsw.Connection(str(path))
    db.execute("DELETE FROM current WHERE key=1")
    db.close()
    report = memory.verify()
    assert {problem.area for problem in report.problems} == {"index"}
    assert all(problem.derived for problem in report.problems)
    repaired = memory.verify(repair=True)
    assert repaired.clean
    assert repaired.repaired == ("index of agent:main",)
    assert texts(agent, "fox dog") == before


def test_a_lost_index_comes_back_with_the_next_sync(memory: Memory) -> None:
    """Deleting .state/index loses nothing: the next sync builds it, and search gives the same."""
    agent = memory.agent("main")
    agent.save("- the quick brown fox\n- the lazy dog\n- a third animal")
    before = [(hit.chunk_id, hit.score) for hit in agent.search("quick dog animal").hits]
    shutil.rmtree(memory.home / ".state/index")
    assert memory.sync().reindexed == 3
    assert [(hit.chunk_id, hit.score) for hit in agent.search("quick dog animal").hits] == before
    assert len(before) == 3


def test_a_failing_index_never_fails_a_write(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """The save is acknowledged with `indexed` false, and the next sync makes it found."""
    agent = memory.agent("main")
    agent.save("- first fact")
    index = memory._parts.stores.index

    def broken(*_: object, **__: object) -> bool:
        raise memoranda.BackendError("disk full")

    with monkeypatch.context() as patched:
        patched.setattr(index, "put", broken)
        outcome = agent.save("- second fact")
    assert outcome.done
    assert not outcome.indexed
    assert texts(agent, "fact") == ["- first fact"]
    assert agent.save("- third fact").indexed, "the next save brings in what was missed"
    assert set(texts(agent, "fact")) == {"- first fact", "- second fact", "- third fact"}
    assert memory.verify().clean


def test_a_newer_ledger_is_refused_untouched(tmp_path: Path) -> None:
    """A ledger of a later version is opened by no older program; this version's own opens."""
    with home(tmp_path) as memory:
        memory.agent("main").save("fact")
    db = apsw.Connection(str(tmp_path / ".state/ledger.db"))
    db.execute(f"PRAGMA user_version={len(MIGRATIONS) + 1}")
    db.close()
    with pytest.raises(memoranda.IntegrityError, match="update the program"), home(tmp_path):
        pass
    db = apsw.Connection(str(tmp_path / ".state/ledger.db"))
    db.execute(f"PRAGMA user_version={len(MIGRATIONS)}")
    db.close()
    with home(tmp_path) as memory:
        assert memory.verify().clean


def test_a_lost_key_is_never_replaced(tmp_path: Path) -> None:
    """Without its key a ledger cannot be proven: opening says so and makes no new one."""
    with home(tmp_path) as memory:
        memory.agent("main").save("fact")
    key = (tmp_path / ".state/key").read_bytes()
    (tmp_path / ".state/key").unlink()
    with pytest.raises(memoranda.IntegrityError, match="backup"), home(tmp_path):
        pass
    assert not (tmp_path / ".state/key").exists()
    (tmp_path / ".state/key").write_bytes(key)
    with home(tmp_path) as memory:
        assert memory.verify().clean


@dataclass
class Counting:
    """A small embedder that counts what it embeds."""

    identity: str = "counting:1"
    dimensions: int = 8
    weight: float = 0.5
    embedded: int = 0

    def embed_documents(self, texts: Sequence[str]) -> Vector:
        """Return a unit vector made of the text's letters."""
        self.embedded += len(texts)
        return np.stack([self.embed_query(text) for text in texts])

    def embed_query(self, text: str) -> Vector:
        """Return a unit vector made of the text's letters."""
        vector = np.ones(8, dtype=np.float32)
        for place, letter in enumerate(text.encode()):
            vector[place % 8] += letter
        return (vector / np.linalg.norm(vector)).astype(np.float32)


def test_only_what_changed_is_embedded_again(tmp_path: Path) -> None:
    """Embedding follows the text: an unchanged block, a moved one and one that comes back cost nothing."""
    embedder = Counting()
    write(tmp_path, "memory/a.md", "- one fact\n- two facts\n- three facts\n")
    with memoranda.open(tmp_path, embedder=embedder) as memory:
        memory.sync()
        assert texts(memory.agent("main"), "facts"), "keyword search finds a file at once"
        assert memory.embed() == 3
        assert embedder.embedded == 3
        write(tmp_path, "memory/a.md", "- one fact\n- two facts, edited\n- three facts\n")
        memory.sync()
        assert memory.embed() == 1
        assert embedder.embedded == 4
        write(tmp_path, "memory/a.md", "- one fact\n- two facts\n- three facts\n")
        memory.sync()
        memory.embed()
        assert embedder.embedded == 4, "the cache knows the text"
        assert memory.embed() == 0
        assert memory.agent("main").search("two facts").mode == "hybrid"


def test_a_save_is_found_by_meaning_at_once_where_the_model_is_loaded(tmp_path: Path) -> None:
    """Before its first use nothing is embedded by a save; afterwards each save has its vector when it returns."""
    embedder = Counting()
    with memoranda.open(tmp_path, embedder=embedder) as memory:
        agent = memory.agent("main")
        agent.save("- saved before")
        assert embedder.embedded == 0
        agent.search("saved")
        agent.save("- saved after")
        assert embedder.embedded == 1
        assert memory.status().scopes[0].pending_vectors == 1
        assert memory.agent("main").search("saved after", mode="vector").hits[0].text == "- saved after"
        assert memory.embed() == 1


def test_a_new_embedder_never_mixes_spaces(tmp_path: Path) -> None:
    """After a change of embedder keyword search answers until the new vectors are complete."""
    write(tmp_path, "MEMORY.md", "".join(f"- fact number{n} here\n" for n in range(40)))
    with memoranda.open(tmp_path, embedder=Counting()) as memory:
        memory.sync()
        memory.embed()
        assert memory.agent("main").search("number7 here").mode == "hybrid"
    other = Counting(identity="counting:2")
    with memoranda.open(tmp_path, embedder=other) as memory:
        assert memory.agent("main").search("number7 here").mode == "keyword"
        assert memory.embed(limit=10) == 10
        between = memory.agent("main").search("number7 here")
        assert (between.mode, between.hits[0].text) == ("keyword", "- fact number7 here")
        assert memory.embed() == 30
        assert memory.agent("main").search("number7 here").mode == "hybrid"
        assert other.embedded == 40


def test_one_damaged_text_stops_nothing_else(memory: Memory) -> None:
    """With the kept copy of a file damaged, saving, syncing and searching go on; verify names it, nothing hides it."""
    agent = memory.agent("main")
    agent.save("- alpha fact\n- beta fact")
    db = memory._parts.stores.ledger._db  # type: ignore[attr-defined]
    db.execute("UPDATE objects SET data=CAST(x'00' || substr(data, 2) AS BLOB)")
    assert {problem.area for problem in memory.verify().problems} == {"objects"}
    assert agent.save("- gamma fact").done
    write(memory.home, "MEMORY.md", read(memory.home, "MEMORY.md") + "- delta fact\n")
    report = memory.sync()
    assert (report.added, report.removed, report.edited) == (1, 0, 0)
    shutil.rmtree(memory.home / ".state/index")
    memory.sync()
    assert len(texts(agent, "fact")) == 4
    assert {problem.area for problem in memory.verify(repair=True).problems} == {"objects"}
    assert memory.person("main").undo().done
    with pytest.raises(memoranda.IntegrityError):
        memory.person("main").restore(agent.checkpoints(limit=100)[-2].id)
