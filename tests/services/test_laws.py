"""Whatever order of writes, edits, rulings, erasures, archives and crashes: the laws of the product hold.

The model beside the home is small: which texts should be memory, which wait, which a person has ruled out, which are
erased, which were said in a session that had read nothing untrusted, and which after it had. Every text is unique.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import memoranda
from memoranda.domain.episode import EpisodeKind
from memoranda.domain.erasure import PLACEHOLDER
from memoranda.domain.markdown import parse
from memoranda.domain.outcome import Quarantined, Refused, Saved
from memoranda.domain.query import Filters
from memoranda.errors import MemorandaError, Ruled
from memoranda.memory import Memory
from tests.homes import KEYWORDS_ONLY

PATHS = ("MEMORY.md", "memory/a.md")
FILES = (*PATHS, "core.md")
EXAMPLES = int(os.environ.get("ANY_ORDER_EXAMPLES", "12"))


class StoppedError(RuntimeError):
    """Stands for a process that dies."""


class Laws(RuleBasedStateMachine):
    """A home and what should be true of it."""

    @initialize()
    def begin(self) -> None:
        """Make an empty home beside a folder for archives."""
        self.root = Path(tempfile.mkdtemp())
        self.folder = self.root / "home"
        self.memory: Memory = memoranda.open(self.folder, settings=KEYWORDS_ONLY)
        self.number = 0
        self.alive: set[str] = set()
        self.waiting: dict[str, str] = {}
        self.ruled_out: set[str] = set()
        self.erased: set[str] = set()
        self.said: set[str] = set()
        self.unheard: set[str] = set()
        self.tainted_open = False

    def teardown(self) -> None:
        """Remove everything."""
        if hasattr(self, "memory"):
            self.memory.close()
            shutil.rmtree(self.root)

    def unique(self) -> str:
        """Make a text that has never been there."""
        self.number += 1
        return f"subject{self.number} was seen in place{self.number} at dawn"

    def files(self) -> set[str]:
        """The blocks that stand in the files now."""
        found: set[str] = set()
        for path in FILES:
            with contextlib.suppress(FileNotFoundError):
                text = (self.folder / path).read_text(encoding="utf-8")
                found.update(block.text for block in parse(text).blocks)
        return found

    def settle(self) -> None:
        """After something that brings texts back or takes them away: memory is what stands in the files."""
        self.alive = self.files()
        self.ruled_out -= self.alive
        self.waiting = {text: proposal for text, proposal in self.waiting.items() if text not in self.alive}

    def reopen(self) -> None:
        """Another process opens the home."""
        self.memory.close()
        self.memory = memoranda.open(self.folder, settings=KEYWORDS_ONLY)

    @rule(path=st.sampled_from(PATHS), person=st.booleans())
    def save(self, path: str, *, person: bool) -> None:
        """An agent or a person saves; while a session of the agent is tainted, the agent's nameless write waits."""
        text = self.unique()
        handle = self.memory.person("main") if person else self.memory.agent("main")
        item = handle.save(text, file=path).items[0]
        if not person and self.tainted_open:
            assert isinstance(item, Quarantined)
            self.waiting[text] = item.proposal_id
        else:
            assert isinstance(item, Saved)
            self.alive.add(text)

    @rule(role=st.sampled_from(["user", "assistant"]), kept=st.booleans())
    def talk(self, role: str, *, kept: bool) -> None:
        """Something is said, in the session that has read a page where there is one; a transcript may be kept."""
        session = self.memory.agent("main").session("reading" if self.tainted_open else "talk")
        text = self.unique()
        session.say(role, text)  # type: ignore[arg-type]  # one of the two
        assert session.messages[-1].text == text
        (self.unheard if session.tainted else self.said).add(text)
        if kept:
            session.checkpoint()

    @rule(how=st.sampled_from(["compact", "reset"]))
    def end_the_talk(self, how: str) -> None:
        """The conversation is cut, or ends and leaves a copy: the log has it all."""
        session = self.memory.agent("main").session("talk")
        if how == "compact":
            session.compact(keep=1)
        else:
            session.reset()

    @rule()
    def write_a_block(self) -> None:
        """An agent adds to a core block; it waits where a session of its own is tainted."""
        text = self.unique()
        item = self.memory.agent("main").core_append("human", text).items[0]
        if self.tainted_open:
            assert isinstance(item, Quarantined)
            self.waiting[text] = item.proposal_id
        elif isinstance(item, Refused):
            assert item.rule == "limit"
        else:
            assert isinstance(item, Saved)
            self.alive.add(text)

    @rule()
    def read_a_page(self) -> None:
        """A session reads something untrusted and offers what it learnt."""
        session = self.memory.agent("main").session("reading")
        session.tool_result("web_fetch", "a page")
        self.tainted_open = True
        text = self.unique()
        item = session.save(text).items[0]
        assert isinstance(item, Quarantined)
        self.waiting[text] = item.proposal_id

    @rule()
    def end_the_session(self) -> None:
        """The session ends and a sync looks at the files."""
        self.memory.agent("main").session("reading").close()
        self.memory.sync(accept_removals=True)
        self.tainted_open = False

    @precondition(lambda self: not self.tainted_open)
    @rule(path=st.sampled_from(PATHS))
    def type_by_hand(self, path: str) -> None:
        """A person writes into a file."""
        text = self.unique()
        target = self.folder / path
        target.parent.mkdir(exist_ok=True)
        before = target.read_text(encoding="utf-8") if target.exists() else ""
        target.write_text(f"{before}\n{text}\n", encoding="utf-8")
        self.memory.sync(accept_removals=True)
        self.alive.add(text)

    @precondition(lambda self: self.alive and not self.tainted_open)
    @rule(data=st.data(), how=st.sampled_from(["delete", "forget", "hand"]))
    def take_out(self, data: st.DataObject, how: str) -> None:
        """A person takes a text out: by delete or forget its value is ruled out, by hand it may only be offered."""
        text = data.draw(st.sampled_from(sorted(self.alive)))
        path = next(path for path in FILES if (self.folder / path).exists() and text in self.text_of(path))
        person = self.memory.person("main")
        if how == "delete":
            assert person.delete(file=path, text=text).done
        elif how == "forget":
            assert person.forget(text).deleted
        else:
            (self.folder / path).write_text(self.text_of(path).replace(text, ""), encoding="utf-8")
            self.memory.sync(accept_removals=True)
            assert not isinstance(self.memory.agent("main").save(text).items[0], Saved)
            self.waiting[text] = ""
        if how != "hand":
            self.ruled_out.add(text)
        self.alive.discard(text)

    def text_of(self, path: str) -> str:
        """A file's text."""
        return (self.folder / path).read_text(encoding="utf-8")

    @precondition(lambda self: self.waiting)
    @rule(approve=st.booleans())
    def rule_on_what_waits(self, *, approve: bool) -> None:
        """The operator rules on the oldest proposal; ruling the same again, also after a restart, changes nothing."""
        operator = self.memory.operator(at_terminal=True)
        found = operator.waiting()
        if not found:
            return
        first = found[0]
        decide = operator.approve if approve else operator.reject
        texts = set(operator.show(first.id).texts)
        try:
            decide(first.id, first.content_hash)
        except Ruled:
            return
        events = self.memory.status().ledger_events
        self.reopen()
        again = self.memory.operator(at_terminal=True)
        (again.approve if approve else again.reject)(first.id, first.content_hash)
        assert self.memory.status().ledger_events == events
        for text in texts:
            self.waiting.pop(text, None)
            if approve:
                self.alive.add(text)
                self.ruled_out.discard(text)
            elif text not in self.alive:  # where it stands again meanwhile, there is nothing to rule out
                self.ruled_out.add(text)

    @rule(count=st.integers(1, 2))
    def undo(self, count: int) -> None:
        """A person takes back the last changes."""
        with contextlib.suppress(MemorandaError):
            self.memory.person("main").undo(count)
        self.settle()

    @rule(data=st.data())
    def restore_as_agent(self, data: st.DataObject) -> None:
        """An agent restores some checkpoint: refused, waiting or done, but never with what is ruled out."""
        agent = self.memory.agent("main")
        kept = [item.id for item in agent.checkpoints(limit=20)]
        if kept:
            before = set(self.ruled_out)
            with contextlib.suppress(MemorandaError):
                agent.restore(data.draw(st.sampled_from(kept)))
            self.alive = self.files()
            assert not self.alive & before

    @precondition(lambda self: self.alive or self.waiting or self.ruled_out or self.said or self.unheard)
    @rule(data=st.data())
    def erase(self, data: st.DataObject) -> None:
        """The operator erases a text, wherever it stands, waits or was said."""
        known = sorted({*self.alive, *self.waiting, *self.ruled_out, *self.said, *self.unheard})
        text = data.draw(st.sampled_from(known))
        self.memory.operator(at_terminal=True).erase(text=text)
        for where in (self.alive, self.ruled_out, self.said, self.unheard):
            where.discard(text)
        self.waiting.pop(text, None)
        self.erased.add(text)
        assert not [path for path in self.root.rglob("*") if path.is_file() and text.encode() in path.read_bytes()]

    @rule()
    def export_and_import(self) -> None:
        """An archive of the home, taken in by a fresh one: what is memory arrives, nothing else does."""
        path = self.root / f"archive-{self.number}-{len(list(self.root.iterdir()))}.zip"
        self.memory.export_archive(path)
        with memoranda.open(self.root / f"{path.stem}-home", settings=KEYWORDS_ONLY) as other:
            other.import_archive(path, run="moved")
            found = {hit.text for hit in other.agent("main").search("", limit=64).hits}
            assert found <= self.alive  # archives carry no logs
            assert len(self.alive) > 60 or found == self.alive
            for text in sorted(self.ruled_out)[:3]:
                assert isinstance(other.job("distiller", "d", "main").save(text).items[0], Refused)
            assert other.verify().problems == ()
        shutil.rmtree(self.root / f"{path.stem}-home")
        path.unlink()

    @rule(port=st.sampled_from(["ledger.commit", "documents.replace", "ledger.prepare"]), path=st.sampled_from(PATHS))
    def die_while_saving(self, port: str, path: str) -> None:
        """A process dies in the middle of a person's save: the text is there whole or not at all."""
        text, (name, method) = self.unique(), port.split(".")
        target = getattr(self.memory._parts.stores, name)
        with self.stopping(target, method), contextlib.suppress(StoppedError):
            self.memory.person("main").save(text, file=path)
        self.reopen()
        self.memory.sync(accept_removals=True)
        self.alive.update({text} & self.files())

    @staticmethod
    @contextlib.contextmanager
    def stopping(target: object, method: str) -> Iterator[None]:
        """Let a port's method stop the process."""

        def stop(*_: object, **__: object) -> None:
            raise StoppedError

        setattr(target, method, stop)
        try:
            yield
        finally:
            delattr(target, method)

    @rule()
    def restart(self) -> None:
        """Another process opens the home."""
        self.reopen()

    @rule()
    def lose_the_index(self) -> None:
        """The index is deleted and built again."""
        self.memory.close()
        shutil.rmtree(self.folder / ".state/index")
        self.memory = memoranda.open(self.folder, settings=KEYWORDS_ONLY)
        self.memory.sync(accept_removals=True)

    @invariant()
    def memory_is_what_it_should_be(self) -> None:
        """What was acknowledged is in file and search; what waits, was ruled out or erased is in neither."""
        if not hasattr(self, "memory"):
            return
        agent = self.memory.agent("main")
        assert self.files() == self.alive
        found = {hit.text for hit in agent.search("", limit=64, filters=_NOTES).hits}
        assert found <= self.alive
        assert len(self.alive) > 60 or found == self.alive
        assert not self.memory.agent("mai").search("seen at dawn", min_score=0).hits
        gone = (*list(self.waiting)[-3:], *sorted(self.ruled_out)[-3:], *sorted(self.erased)[-3:])
        for text in (*gone, *sorted(self.unheard)[-3:]):
            word = text.split()[0]
            assert not [hit for hit in agent.search(f'"{word}"', min_score=0).hits if hit.text == text]
            past = agent.search(f'"{word}"', min_score=0, as_of="2999-01-01").hits
            assert not [hit for hit in past if hit.text == text]

    @invariant()
    def what_was_said_is_found_and_no_more(self) -> None:
        """Honest turns are in search, in the day's log and in the prompt; what waits or is gone is in none of them."""
        if not hasattr(self, "memory"):
            return
        agent = self.memory.agent("main")
        for text in sorted(self.said)[-3:]:
            assert [hit for hit in agent.search(f'"{text.split()[0]}"', min_score=0).hits if hit.text == text]
        day = agent.timeframe(first="yesterday", last="today")
        told = {item.text for item in day.entries if item.kind is EpisodeKind.TURN}
        told.discard(PLACEHOLDER)
        assert told <= self.said
        assert len(day.entries) > 35 or told == self.said
        gone = {*self.waiting, *self.ruled_out, *self.erased, *self.unheard} - self.said
        prompt = repr(agent.context(" ".join(text.split()[0] for text in sorted(gone)[-5:])))
        assert not [text for text in gone if text in prompt]
        blocks = (self.folder / "core.md").read_text(encoding="utf-8") if (self.folder / "core.md").exists() else ""
        assert [text for text in self.alive if text in blocks] == [
            text for text in self.alive if text in prompt and text in blocks
        ]

    @invariant()
    def no_model_brings_back_what_is_ruled_out(self) -> None:
        """A background job is refused each ruled-out value in another dress."""
        if hasattr(self, "memory"):
            job = self.memory.job("distiller", "night", "main")
            for text in sorted(self.ruled_out)[-2:]:
                assert isinstance(job.save(text.upper()).items[0], Refused), text

    @invariant()
    def everything_proves(self) -> None:
        """Chain, records, objects, files and index fit together."""
        if hasattr(self, "memory"):
            assert self.memory.verify().problems == ()


_NOTES = Filters(sources=frozenset({"note"}))
_CHECKS = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
Laws.TestCase.settings = settings(
    max_examples=EXAMPLES, stateful_step_count=20, deadline=None, suppress_health_check=_CHECKS
)
TestLaws = pytest.mark.slow(Laws.TestCase)
