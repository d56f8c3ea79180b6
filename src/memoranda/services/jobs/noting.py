"""Writes down what a job learnt, one statement at a time: what is known is reported, what resembles it waits."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date

from memoranda.domain.likeness import Likeness, likeness
from memoranda.domain.markdown import parse
from memoranda.domain.operation import Append, Asks, Batch, ReplaceFile
from memoranda.domain.outcome import BatchOutcome, Conflicted, Duplicate, Quarantined, Refused, Saved
from memoranda.domain.policy import NOTES
from memoranda.domain.record import Provenance
from memoranda.services import gateway
from memoranda.services.jobs.material import MAX_KNOWN, Sight, waiting_texts
from memoranda.services.jobs.run import Run

WAITING_COSINE = 0.90
"""From where a statement says what waits already: a bound that a new fact of the same kind does not reach."""

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


def dated(path: str, today: date) -> str:
    """Return a note's name with any date in it made today's; a name that says nothing becomes the notes'."""
    return _DAY.sub(today.isoformat(), path.strip()) or NOTES


@dataclass(slots=True)
class Notes:
    """What one run writes down. `session` is the session that it learns from, "" for several."""

    run: Run
    sight: Sight
    session: str = ""
    tool: str = "write_file"
    _said: list[str] = field(default_factory=list)
    _waiting: list[str] | None = None

    def replace(self, path: str, text: str) -> None:
        """Propose a new content for a file: a person decides, whatever the model is sure of."""
        self._settle("replace", (), self._commit(ReplaceFile(path, text), "replace"))

    def append(self, path: str, text: str, *, most: int | None = None) -> int:
        """Add what is new in a text, statement by statement; return how many took effect or wait, at most `most`."""
        done = 0
        for statement in _statements(text):
            if done == most:
                self.run.step("write", "dropped", why="one pass adds no more")
                break
            done += self._append(path, statement)
        return done

    def _append(self, path: str, text: str) -> bool:
        like, ids = self.compared(text)
        if like == "same":
            self.run.step("write", "duplicate", *ids)
            return False
        if self._waits(text):
            self.run.step("write", "waits_already")
            return False
        asks: Asks = "similar" if like == "similar" else ""
        return self._settle("write", ids, self._commit(Append(path, text), asks))

    def compared(self, text: str) -> tuple[Likeness, tuple[str, ...]]:
        """Tell how far memory holds a statement already, with the ids of the records that are nearest to it."""
        hits = self.sight.search(text, MAX_KNOWN)
        lines = [line for block in self.sight.blocks() for line in block.value.splitlines() if line.strip()]
        found = self._likes(text, [hit.text for hit in hits])
        same = tuple(hit.record_id for hit, like in zip(hits, found, strict=True) if like == "same")
        if same or "same" in self._likes(text, [*lines, *self._said]):
            return "same", same
        similar = tuple(hit.record_id for hit, like in zip(hits, found, strict=True) if like == "similar")
        return ("similar", similar) if similar else ("other", ())

    def _likes(self, text: str, known: Sequence[str]) -> list[Likeness]:
        cosines = self.sight.cosines(text, known) if known else ()
        return [
            likeness(text, other, None if cosines is None else cosines[number]) for number, other in enumerate(known)
        ]

    def _waits(self, text: str) -> bool:
        """Whether this waits for a person already, in these or nearly these words."""
        if self._waiting is None:
            self._waiting = waiting_texts(self.run.desk.stores, self.run.scope)
        known = self._waiting
        cosines = (self.sight.cosines(text, known) if known else None) or [0.0] * len(known)
        return any(
            likeness(text, other) == "same" or cosine >= WAITING_COSINE
            for other, cosine in zip(known, cosines, strict=True)
        )

    def _commit(self, operation: Append | ReplaceFile, asks: Asks) -> BatchOutcome:
        run = self.run
        if isinstance(operation, Append):
            self._said.append(operation.text)
        reason = "save" if isinstance(operation, Append) else "replace"
        provenance = Provenance(session_id=self.session, tool=self.tool)
        batch = Batch(run.principal, run.scope, (operation,), reason, provenance, proposes=True, asks=asks)  # type: ignore[arg-type]  # both are reasons
        outcome = gateway.commit(run.desk.stores, batch)
        if self._waiting is not None and any(isinstance(item, Quarantined) for item in outcome.items):
            self._waiting.extend(_statements(operation.text))
        return outcome

    def _settle(self, what: str, like: tuple[str, ...], outcome: BatchOutcome) -> bool:
        for item in outcome.items:
            self.run.step(what, *settled(item), *like)
        return any(has_effect(item) for item in outcome.items)


def has_effect(item: object) -> bool:
    """Whether an operation changed something, or waits for a person to let it."""
    return isinstance(item, Saved | Quarantined)


def settled(item: object) -> tuple[str, ...]:
    """Return what became of an operation in one word, and the ids that it is about."""
    match item:
        case Saved():
            return ("saved", *item.record_ids, *item.quarantined_ids)
        case Duplicate():
            return ("duplicate", *item.existing)
        case Quarantined():
            return ("waits", *filter(None, (item.proposal_id,)))
        case Refused():
            return (f"refused_{item.rule}",)
        case Conflicted():
            return ("conflict",)
        case _:
            raise TypeError(type(item).__name__)


def _statements(text: str) -> Iterator[str]:
    """Yield the blocks of a text, each a statement of its own."""
    for block in parse(text).blocks:
        yield text[block.start : block.end]
