"""Proposes changes of records that are there: few in a pass, never a pinned one, none that waits or was declined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from memoranda.domain.dreaming import cap
from memoranda.domain.operation import Batch, Operation, Remove, Retier, Supersede
from memoranda.domain.proposal import Proposal
from memoranda.domain.record import Provenance, Record
from memoranda.services import gateway
from memoranda.services.jobs.noting import has_effect, settled
from memoranda.services.jobs.run import Run

MAX_WAITING = 64
"""Proposals of jobs that wait for a person at most; no job adds any beyond them."""
_ALL = 100_000


@dataclass(slots=True, kw_only=True)
class Changes:
    """What one run changes or proposes.

    `left` counts the records that it may still touch, `waiting` the proposals of jobs that wait, `taken` the records
    whose change waits or was declined. Where it `applies`, changes take effect without a person.
    """

    run: Run
    left: int
    waiting: int
    taken: set[str]
    applies: bool = False
    dry_run: bool = False

    @classmethod
    def of(cls, run: Run, active: int, share: float, *, applies: bool = False, dry_run: bool = False) -> Self:
        """Begin with what waits now, and the share of so many active records that one pass may touch."""
        made = run.desk.stores.ledger.proposals([run.scope], pending=False, limit=_ALL)
        mine = [one for one in made if one.reason == "dream"]
        return cls(
            run=run, left=cap(active, share, applies=applies), applies=applies, dry_run=dry_run,
            waiting=sum(one.state == "pending" for one in mine),
            taken={ident for one in mine if one.state in ("pending", "rejected") for ident in _named(one)},
        )  # fmt: skip

    @property
    def room(self) -> int:
        """How many records may still be touched, one change each."""
        return self.left if self.applies else min(self.left, max(MAX_WAITING - self.waiting, 0))

    def change(self, what: str, records: Sequence[Record], operations: tuple[Operation, ...], *, why: str) -> None:
        """Change these records, or propose it; what stands against it is noted instead."""
        ids = [record.id for record in records]
        against = self._objection(records)
        if against:
            self.run.step(what, "dropped", *ids, why=against)
            return
        if self.dry_run:
            self._count(ids)
            self.run.step(what, "would", *ids, why=why)
            return
        batch = Batch(
            self.run.principal, self.run.scope, operations, "dream", Provenance(tool=self.run.kind), proposes=True,
            asks="" if self.applies else "dream",
        )  # fmt: skip
        items = gateway.commit(self.run.desk.stores, batch).items
        if any(has_effect(item) for item in items):
            self._count(ids)
        for item in items:
            self.run.step(what, *settled(item), *ids, why=why)

    def _count(self, ids: Sequence[str]) -> None:
        """Take a change into account that took effect or waits; one that was refused uses nothing up."""
        self.left -= len(ids)
        self.taken.update(ids)
        self.waiting += 1

    def _objection(self, records: Sequence[Record]) -> str:
        if any(record.pinned for record in records):
            return "a pinned record stays as it is"
        if not self.taken.isdisjoint(record.id for record in records):
            return "a change to one of these waits already, or a person has declined one"
        if len(records) > self.left:
            return "the pass may touch no more records (memory.consolidation.max_change)"
        if self.waiting >= MAX_WAITING and not self.applies:
            return f"{MAX_WAITING} proposals of dreams wait for a person already"
        return ""


def _named(proposal: Proposal) -> list[str]:
    return [
        operation.record_id for operation in proposal.operations if isinstance(operation, Supersede | Remove | Retier)
    ]
