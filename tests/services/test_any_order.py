"""Whatever order of saves, hand edits, deletes, moves, undos, crashes and lost indexes: the same few facts hold."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import memoranda
from memoranda.domain.markdown import parse
from memoranda.domain.outcome import Saved
from memoranda.memory import Memory
from memoranda.ports.model import Question
from tests.homes import KEYWORDS_ONLY
from tests.scripted import Scripted, operations

PATHS = ("MEMORY.md", "memory/a.md", "memory/b.md")
EXAMPLES = int(os.environ.get("ANY_ORDER_EXAMPLES", "25"))
"""More of them, for an hour or a night, is how this test finds something new."""
SHAPES = ("- {}", "{}", "> {}", "```\n{}\n```", "1. {}", "| {} |\n|---|\n| x |")


class AnyOrder(RuleBasedStateMachine):
    """A home, and beside it what should be true of it.

    Every text is unique, so its author is known for ever: whoever wrote it first. `kept` are the checkpoints that the
    home should have, newest last, each as path -> bytes before that change.
    """

    @initialize()
    def begin(self) -> None:
        """Make an empty home."""
        self.folder = Path(tempfile.mkdtemp())
        self.model = Scripted([operations()])
        self.memory: Memory = self.opened()
        self.number = 0
        self.synced = False
        self.authors: dict[str, str] = {}
        self.known: dict[str, bytes | None] = {}
        self.kept: list[dict[str, bytes | None]] = []

    def opened(self) -> Memory:
        """Open the home, with a model that says what a rule lets it say."""
        return memoranda.open(self.folder, settings=KEYWORDS_ONLY, model=self.model)

    def teardown(self) -> None:
        """Remove the home."""
        if hasattr(self, "folder"):
            self.memory.close()
            shutil.rmtree(self.folder)

    def bytes_of(self, path: str) -> bytes | None:
        """Return a file's bytes now."""
        with contextlib.suppress(FileNotFoundError):
            return (self.folder / path).read_bytes()
        return None

    def unique(self, shape: str, author: str) -> str:
        """Make a text that has never been there, by this author."""
        self.number += 1
        text = shape.format(f"subject{self.number} of things")
        self.authors[text] = author
        return text

    def blocks(self, path: str) -> list[str]:
        """Return the texts of a file's blocks now."""
        return [block.text for block in parse((self.bytes_of(path) or b"").decode()).blocks]

    def changed(self, *paths: str) -> None:
        """Note that a change of these files was committed, with its checkpoint."""
        before = {path: self.known.get(path) for path in paths if self.bytes_of(path) != self.known.get(path)}
        if before:
            self.kept.append(before)
        self.synced = True
        self.known.update({path: self.bytes_of(path) for path in paths})

    def write(self, path: str, data: bytes | None) -> None:
        """Write or remove a file as a person does, and let sync see it."""
        target = self.folder / path
        if data is None:
            target.unlink()
        else:
            target.parent.mkdir(exist_ok=True)
            target.write_bytes(data)
        self.memory.sync(accept_removals=True)
        if self.synced:
            self.changed(path)
        self.known[path] = data
        self.synced = True

    @rule(path=st.sampled_from(PATHS), shape=st.sampled_from(SHAPES), person=st.booleans(), count=st.integers(1, 3))
    def save(self, path: str, shape: str, person: bool, count: int) -> None:
        """An agent or a person saves one to three blocks at once."""
        author = "application" if person else "agent:main"
        offered = [self.unique(shape, author) for _ in range(count)]
        handle = self.memory.person("main") if person else self.memory.agent("main")
        outcome = handle.save("\n\n".join(offered), file=path)
        assert isinstance(outcome.items[0], Saved)
        assert outcome.indexed
        assert [text.replace("\r\n", "\n") for text in self.blocks(path)[-count:]] == offered
        self.changed(path)

    @rule(path=st.sampled_from(PATHS), shape=st.sampled_from(SHAPES), newline=st.sampled_from(["\n", "\r\n"]))
    def type_at_the_end(self, path: str, shape: str, newline: str) -> None:
        """A person adds a block in an editor; a file that nobody has seen before gets these line endings."""
        before = self.bytes_of(path) or b""
        text = self.unique(shape, "external")
        separator = b"" if not before else b"\n\n" if b"\r\n" not in before else b"\r\n\r\n"
        ending = newline if not before else "\r\n" if b"\r\n" in before else "\n"
        if ending == "\r\n" and "\n" in text:
            self.authors[text.replace("\n", "\r\n")] = "external"
        self.write(path, before + separator + text.replace("\n", ending).encode() + ending.encode())

    @rule(path=st.sampled_from(PATHS), data=st.data())
    def type_over(self, path: str, data: st.DataObject) -> None:
        """A person changes one block in an editor: the new text is the person's."""
        blocks = [text for text in self.blocks(path) if "subject" in text]
        if blocks:
            old = data.draw(st.sampled_from(blocks))
            self.number += 1
            new = old.replace("of things", f"of edited{self.number} things", 1)
            self.authors[new] = "external"
            self.write(path, (self.bytes_of(path) or b"").replace(old.encode(), new.encode(), 1))

    @rule(source=st.sampled_from(PATHS), goal=st.sampled_from(PATHS), data=st.data())
    def cut_and_paste(self, source: str, goal: str, data: st.DataObject) -> None:
        """A person moves a block to another file: it is the same record there."""
        blocks = self.blocks(source)
        if source == goal or len(blocks) < 2 or self.bytes_of(goal) is None or set(blocks) & set(self.blocks(goal)):
            return
        text = data.draw(st.sampled_from(blocks))
        before = {source: self.bytes_of(source), goal: self.bytes_of(goal)}
        ids = {line.text: line.record.id for line in self.memory.person("main").blame(source) if line.record}
        left = (before[source] or b"").replace(text.encode(), b"", 1)
        if text in [block.text for block in parse(left.decode()).blocks]:
            return
        (self.folder / source).write_bytes(left)
        (self.folder / goal).write_bytes((before[goal] or b"") + b"\n\n" + text.encode() + b"\n")
        self.memory.sync(accept_removals=True)
        if text in self.blocks(goal):
            now = {line.text: line.record.id for line in self.memory.person("main").blame(goal) if line.record}
            assert now[text] == ids[text]
        for path in sorted((source, goal), key=lambda item: (item != goal, item)):
            self.changed(path)

    @rule(path=st.sampled_from(PATHS), data=st.data())
    def delete(self, path: str, data: st.DataObject) -> None:
        """An agent deletes a block: its own goes, another's stays and the agent is told."""
        blocks = self.blocks(path)
        if not blocks:
            return
        text = data.draw(st.sampled_from(blocks))
        before = self.bytes_of(path)
        outcome = self.memory.agent("main").delete(file=path, text=text)
        author = self.authors.get(text) or self.authors[text.replace("\r\n", "\n")]
        assert outcome.done is (author == "agent:main")
        if not outcome.done:
            assert self.bytes_of(path) == before
        self.changed(path)

    @precondition(lambda self: self.kept)
    @rule(data=st.data())
    def undo(self, data: st.DataObject) -> None:
        """A person takes back the last changes: every file is what it was, byte for byte."""
        count = data.draw(st.integers(1, min(3, len(self.kept))))
        expected: dict[str, bytes | None] = {}
        for before in reversed(self.kept[-count:]):
            expected.update(before)
        assert self.memory.person("main").undo(count).done
        assert {path: self.bytes_of(path) for path in expected} == expected
        self.changed(*expected)

    @rule(deed=st.sampled_from(["retire", "rewrite", "merge"]), applies=st.booleans())
    def dream(self, deed: str, applies: bool) -> None:
        """A model would change whatever it is shown: no byte changes, and taking the dream back leaves nothing waiting.

        Where a person approves first, taking it back brings every byte back.
        """

        def wanted(_: Question) -> dict[str, Any]:
            ids = [one["id"] for one in self.model.shown()["records"]][:2]
            return operations({"op": deed, "ids": ids[: 1 if deed == "rewrite" else 2], "text": "All as one dreamt."})

        self.model.script = wanted
        before = {path: self.bytes_of(path) for path in PATHS}
        person = self.memory.person("main")
        report = person.dream()
        assert report.state in ("done", "skipped")
        assert {path: self.bytes_of(path) for path in PATHS} == before
        waits = report.count("waits")
        if waits and applies:
            operator = self.memory.operator(at_terminal=True)
            (waiting,) = operator.waiting()
            operator.approve(waiting.id, waiting.content_hash)
            self.changed(*[path for path in PATHS if self.bytes_of(path) != before[path]])
        undone = person.undo_run(report.id)
        assert undone.conflicts == ()
        assert len(undone.withdrawn) == (0 if applies else waits)
        assert {path: self.bytes_of(path) for path in PATHS} == before
        if undone.restored:
            self.changed(*undone.restored)
        assert person.proposals() == ()

    @rule()
    def lose_the_index(self) -> None:
        """The index is deleted; the next sync builds it."""
        self.memory.close()
        shutil.rmtree(self.folder / ".state/index")
        self.memory = self.opened()
        self.memory.sync()

    @rule()
    def restart(self) -> None:
        """Another process opens the home."""
        self.memory.close()
        self.memory = self.opened()

    @rule()
    def sync_again(self) -> None:
        """A sync without a change finds nothing."""
        report = self.memory.sync()
        assert (report.files_changed, report.added, report.removed, report.reindexed) == (0, 0, 0, 0)

    @invariant()
    def every_line_has_its_author_and_is_found(self) -> None:
        """Each block has one record, by whoever wrote it first, and search finds it; what is gone is not found."""
        if not hasattr(self, "memory"):
            return
        person = self.memory.person("main")
        present: set[str] = set()
        for path in PATHS:
            if self.bytes_of(path) is None:
                continue
            for line in person.blame(path):
                assert line.record is not None, line.text
                author = self.authors.get(line.text) or self.authors.get(line.text.replace("\r\n", "\n"))
                if author:
                    assert str(line.record.author) == author, line.text
                present.add(line.text)
        assert len(person.checkpoints(limit=100)) == min(100, len(self.kept))
        for text in self.authors:
            word = next(word.strip("|") for word in text.split() if word.startswith("subject"))
            hits = {hit.text for hit in person.search(f'"{word}"', limit=9, min_score=0).hits}
            assert hits <= {item.strip() for item in present}

    @invariant()
    def everything_proves(self) -> None:
        """Chain, records, objects, files and index fit together."""
        if hasattr(self, "memory"):
            assert self.memory.verify().problems == ()


_CHECKS = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
AnyOrder.TestCase.settings = settings(
    max_examples=EXAMPLES, stateful_step_count=25, deadline=None, suppress_health_check=_CHECKS
)
TestAnyOrder = AnyOrder.TestCase
TestAnyOrder = pytest.mark.slow(TestAnyOrder)
