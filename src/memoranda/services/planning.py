"""Works out what a batch does: new texts, changed records, one outcome an operation. Writes nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from memoranda.domain.entry import Change
from memoranda.domain.fingerprint import normalise
from memoranda.domain.markdown import Block, Document
from memoranda.domain.operation import Batch
from memoranda.domain.outcome import Refused
from memoranda.domain.policy import trust_of
from memoranda.domain.reconcile import align
from memoranda.domain.record import Record, Status
from memoranda.domain.scope import EXTERNAL, Principal
from memoranda.domain.withheld import NOTHING, Withheld
from memoranda.services.guarding import refused_change
from memoranda.services.secret_text import secret_refused
from memoranda.services.stores import Stores
from memoranda.services.working_file import WorkingFile, block_hashes

Revival = Literal["typed", "restored"]
_PAST: dict[Revival, tuple[Status, ...]] = {
    "typed": (Status.RETIRED,),
    "restored": (Status.RETIRED, Status.SUPERSEDED),
}


@dataclass(slots=True)
class Plan:
    """What a batch is about to do; operations add to it in order and see what is there already.

    `files` are the files it works on, `changes` and `texts` go to the ledger, `values` are the value keys of records
    that this batch makes, `gone` and `revived` the ids of
    records that it takes away or brings back.
    """

    batch: Batch
    at: str
    files: dict[str, WorkingFile] = field(default_factory=dict)
    changes: list[Change] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)
    values: dict[str, str] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    revived: set[str] = field(default_factory=set)
    corroborated: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Settled:
    """What became of a file's records: ids made or brought back, taken away, withheld."""

    made: tuple[str, ...]
    removed: tuple[str, ...]
    withheld: tuple[str, ...]


def settle(
    stores: Stores,
    plan: Plan,
    working: WorkingFile,
    document: Document,
    *,
    withheld: Withheld = NOTHING,
    revive: Revival | None = None,
    moved: Mapping[int, str] | None = None,
) -> Settled | Refused:
    """Take a file from its present document to a new one and note what that does to its records.

    `revive` says which blocks are a past record again: "typed" ones that equal a retired record (a person put the
    text back), "restored" ones that equal a retired or superseded one (what was there is there again). `moved` maps a
    new block's index to the record that moved here from another file.
    """
    hashes = block_hashes(stores, document)
    old = [*working.hashes, *(record.block_hash for record in working.orphans)]
    known = [*working.known, *working.orphans]
    step = _Step(stores, plan, working.path, document, hashes, withheld, revive, dict(moved or {}))
    found = align(
        old,
        hashes,
        lambda index: normalise(_old_text(stores, working, index)),
        lambda index: normalise(document.blocks[index].text),
        step.is_known_elsewhere,
    )
    refused = refused_change(
        plan.batch.author, working, document, known, found.kept, (*found.removed, *found.edited.values())
    )
    refused = refused or _secret_in_new(stores, plan, document, (*found.added, *found.edited), revive)
    refused = refused or step.refused_revival(found.added)
    if refused:
        return refused
    result: list[Record | None] = []
    for index in range(len(hashes)):
        if index in found.kept:
            result.append(step.keep(index, known[found.kept[index]]))
        elif index in found.edited:
            result.append(step.edit(index, known[found.edited[index]]))
        else:
            result.append(step.add(index))
    for index in found.removed:
        step.remove(known[index])
    working.document, working.hashes, working.known = document, hashes, result
    working.withheld, working.orphans, working.exists = withheld, [], True
    return Settled(tuple(step.made), tuple(step.removed), tuple(step.withheld_ids))


def _secret_in_new(
    stores: Stores, plan: Plan, document: Document, indexes: Sequence[int], revive: Revival | None
) -> Refused | None:
    """Step 3 for what comes about in a file: a cut can put a secret together that no offered text held."""
    if revive is not None or plan.batch.author == EXTERNAL:
        return None
    for index in indexes:
        refused = secret_refused(stores, document.blocks[index].text)
        if refused:
            return refused
    return None


def _old_text(stores: Stores, working: WorkingFile, index: int) -> str:
    if index < len(working.document.blocks):
        return working.document.blocks[index].text
    return stores.ledger.text(working.orphans[index - len(working.document.blocks)].block_hash) or ""


class _Step:
    """The changes of one file, block by block."""

    def __init__(
        self,
        stores: Stores,
        plan: Plan,
        path: str,
        document: Document,
        hashes: list[str],
        withheld: Withheld,
        revive: Revival | None,
        moved: dict[int, str],
    ) -> None:
        self.stores, self.plan, self.path, self.document = stores, plan, path, document
        self.hashes, self.withheld, self.revive, self.moved = hashes, withheld, revive, moved
        self.made: list[str] = []
        self.removed: list[str] = []
        self.withheld_ids: list[str] = []
        self._seen: dict[str, int] = {}
        self._occurrences = [self._next(name) for name in hashes]

    def _next(self, name: str) -> int:
        self._seen[name] = self._seen.get(name, 0) + 1
        return self._seen[name]

    def _change(self, kind: str, record: Record, before: str) -> Record:
        self.plan.changes.append(Change(kind, record, before))
        return record

    def _place(self, index: int) -> tuple[Block, str, int]:
        return self.document.blocks[index], self.hashes[index], self._occurrences[index]

    def keep(self, index: int, record: Record | None) -> Record | None:
        """The same bytes: only the place may differ."""
        if record is None:
            return self.add(index)
        block, _, occurrence = self._place(index)
        heading = () if index in self.withheld.blocks else self._heading(block)
        if (record.path, record.heading, record.occurrence) == (self.path, heading, occurrence):
            return record
        placed = replace(record, path=self.path, heading=heading, occurrence=occurrence)
        return self._change("record.moved", placed, record.status.value)

    def _heading(self, block: Block) -> tuple[str, ...]:
        """The heading trail, without headings that are withheld."""
        lines = {finding.line for finding in self.withheld.context}
        if not lines:
            return block.heading
        hidden = {
            heading.text
            for heading in self.document.headings
            if any(heading.start <= start < heading.extent for start, _ in self.withheld.spans)
        }
        return tuple("withheld" if part in hidden else part for part in block.heading)

    def is_known_elsewhere(self, index: int) -> bool:
        """Whether a block came from another file, is a past record's exact text, or one that stands elsewhere."""
        return index in self.moved or self._past(index) is not None or self._elsewhere(index) is not None

    def refused_revival(self, added: Sequence[int]) -> Refused | None:
        """Step 1 for what comes back: a model brings back nothing that a person took out, for there was a reason."""
        if not self.plan.batch.author.is_model:
            return None
        for index in added:
            old = self._past(index)
            last = self.stores.ledger.events(scope=self.plan.batch.scope, limit=1, subject=old.id) if old else ()
            if last and not Principal.parse(last[0].principal).is_model:
                return Refused("trust", "this would bring back a text that a person took out; only a person may")
        return None

    def _past(self, index: int) -> Record | None:
        """The past record that a block brings back, if it may."""
        if not self.revive or index in self.withheld.blocks:
            return None
        old = self.stores.ledger.with_text(self.plan.batch.scope, self.hashes[index], _PAST[self.revive])
        return None if old is None or old.id in self.plan.revived else old

    def _elsewhere(self, index: int) -> Record | None:
        """The present record whose text a restore writes once more."""
        if self.revive != "restored" or index in self.withheld.blocks:
            return None
        return self.stores.ledger.with_text(self.plan.batch.scope, self.hashes[index], (Status.ACTIVE,))

    def add(self, index: int) -> Record:
        """A block that was not there before: moved here, brought back, or new."""
        block, name, occurrence = self._place(index)
        moved = self.stores.ledger.record(self.moved[index]) if index in self.moved else None
        if moved is not None and moved.scope == self.plan.batch.scope and moved.block_hash == name:
            placed = replace(
                moved, path=self.path, heading=self._heading(block), occurrence=occurrence, status=Status.ACTIVE,
                retired_at="",
            )  # fmt: skip
            kind = "record.moved" if moved.status is Status.ACTIVE else "record.revived"
            return self._change(kind, placed, moved.status.value)
        old = self._past(index)
        if old is not None:
            self.plan.revived.add(old.id)
            revived = replace(
                old, path=self.path, heading=self._heading(block), occurrence=occurrence, status=Status.ACTIVE,
                reason="", retired_at="", superseded_by="",
            )  # fmt: skip
            self.made.append(old.id)
            return self._change("record.revived", revived, old.status.value)
        elsewhere = self._elsewhere(index)
        return self._copy(index, elsewhere) if elsewhere else self._new(index, None)

    def _copy(self, index: int, original: Record) -> Record:
        """A restored block whose record stands elsewhere now: no restore makes another's words the restorer's own."""
        block, _, occurrence = self._place(index)
        record = replace(
            original, id=self.stores.ids.new("rec"), path=self.path, heading=self._heading(block),
            occurrence=occurrence, recorded_at=self.plan.at, supersedes="", superseded_by="",
            derived_from=(original.id,),
        )  # fmt: skip
        self.made.append(record.id)
        return self._change("record.created", record, "")

    def edit(self, index: int, record: Record | None) -> Record:
        """A changed block: its new record supersedes the old one and keeps what describes it."""
        if record is None:
            return self.add(index)
        new = self._new(index, record)
        closed = replace(record, status=Status.SUPERSEDED, superseded_by=new.id, retired_at=self.plan.at)
        self._change("record.superseded", closed, record.status.value)
        self._gone(record)
        return new

    def remove(self, record: Record | None) -> None:
        """A block that is gone."""
        if record is None:
            return
        retired = replace(record, status=Status.RETIRED, retired_at=self.plan.at)
        self._change("record.retired", retired, record.status.value)
        self._gone(record)

    def _gone(self, record: Record) -> None:
        self.removed.append(record.id)
        self.plan.gone.add(record.id)

    def _new(self, index: int, old: Record | None) -> Record:
        block, name, occurrence = self._place(index)
        secret = self.withheld.blocks.get(index, "")
        prints, batch = self.stores.prints, self.plan.batch
        record = Record(
            id=self.stores.ids.new("rec"),
            scope=batch.scope,
            path=self.path,
            block_hash=name,
            occurrence=occurrence,
            value_key="" if secret else prints.value_key(block.text),
            near_key="" if secret else prints.near_key(block.text),
            heading=() if secret else self._heading(block),
            trust=trust_of(batch.author),
            status=Status.WITHHELD if secret else Status.ACTIVE,
            reason=f"secret:{secret}" if secret else "",
            author=batch.author,
            provenance=batch.provenance,
            recorded_at=self.plan.at,
            supersedes=old.id if old else "",
            derived_from=old.derived_from if old else (),
        )
        if old:
            record = replace(
                record, kind=old.kind, title=old.title, description=old.description, tags=old.tags, group=old.group,
                pinned=old.pinned, ever_quarantined=old.ever_quarantined, valid_from=old.valid_from,
                valid_to=old.valid_to,
            )  # fmt: skip
        if secret:
            self.withheld_ids.append(record.id)
        else:
            self.made.append(record.id)
            self.plan.texts[name] = block.text
            self.plan.values.setdefault(record.value_key, record.id)
        self._change("record.withheld" if secret else "record.created", record, "")
        return record
