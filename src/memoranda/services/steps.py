"""The changes of one file, block by block: kept, edited, added, removed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from memoranda.domain.entry import Change
from memoranda.domain.markdown import Block, Document
from memoranda.domain.outcome import Refused
from memoranda.domain.policy import trust_of
from memoranda.domain.record import Details, Kind, Provenance, Record, Status, Trust
from memoranda.domain.scope import EXTERNAL, Principal
from memoranda.domain.trust import is_capped, within
from memoranda.domain.withheld import Withheld, hidden_headings, masked_trail
from memoranda.services.plan import Plan
from memoranda.services.stores import Stores

Revival = Literal["typed", "restored"]
_PAST: dict[Revival, tuple[Status, ...]] = {
    "typed": (Status.RETIRED,),
    "restored": (Status.RETIRED, Status.SUPERSEDED),
}


class Step:
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
        self.details: Details | None = None
        self.described: dict[int, Details] = {}
        self.group = ""
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
        return masked_trail(block.heading, hidden_headings(self.document, self.withheld))

    def is_known_elsewhere(self, index: int) -> bool:
        """Whether a block came from another file, is a past record's exact text, or one that stands elsewhere."""
        return index in self.moved or self._past(index) is not None or self._elsewhere(index) is not None

    def refused_revival(self, added: Sequence[int]) -> Refused | None:
        """Step 1 for what comes back: a model brings back nothing that a person took out, for there was a reason."""
        if not self.plan.batch.author.is_bound:
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
            held = index in self.withheld.blocks
            placed = replace(
                moved, path=self.path, heading=() if held else self._heading(block), occurrence=occurrence,
                status=Status.WITHHELD if held else Status.ACTIVE, retired_at="", retired_by="",
                reason=self.withheld.blocks.get(index, ""),
            )  # fmt: skip
            if held and moved.status is not Status.WITHHELD:
                self.withheld_ids.append(moved.id)
                return self._change("record.withheld", placed, moved.status.value)
            kind = "record.moved" if moved.status in (Status.ACTIVE, Status.WITHHELD) else "record.revived"
            return self._change(kind, placed, moved.status.value)
        old = self._past(index)
        if old is not None:
            self.plan.revived.add(old.id)
            revived = replace(
                old, path=self.path, heading=self._heading(block), occurrence=occurrence, status=Status.ACTIVE,
                reason="", retired_at="", retired_by="", superseded_by="",
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
        closed = replace(
            record, status=Status.SUPERSEDED, superseded_by=new.id, retired_at=self.plan.at,
            retired_by=str(self.plan.actor),
        )  # fmt: skip
        self._change("record.superseded", closed, record.status.value)
        self._gone(record)
        return new

    def remove(self, record: Record | None, text: str) -> None:
        """A block that is gone."""
        if record is None:
            return
        if record.status is Status.ACTIVE or record.reason.startswith("review:"):
            self.plan.dropped[record.id] = (record, text)
        retired = replace(record, status=Status.RETIRED, retired_at=self.plan.at, retired_by=str(self.plan.actor))
        self._change("record.retired", retired, record.status.value)
        self._gone(record)

    def _gone(self, record: Record) -> None:
        self.removed.append(record.id)
        self.plan.gone.add(record.id)

    def _new(self, index: int, old: Record | None) -> Record:
        block, name, occurrence = self._place(index)
        held = self.withheld.blocks.get(index, "")
        is_secret = bool(held) and not held.startswith("review:")
        prints, origin = self.stores.prints, self.plan.batch.origin
        value_key = "" if is_secret else prints.value_key(block.text)
        offered = self._offered(value_key)
        ancestors = [record for record in (old, offered) if record is not None]
        author = origin.author if origin else self.plan.batch.author
        suspect = (origin is not None and origin.quarantined) or held == "review:tainted"
        capped = suspect or is_capped(ancestors) or self._trust(author) is Trust.UNTRUSTED
        record = Record(
            id=self.stores.ids.new("rec"),
            scope=self.plan.batch.scope,
            path=self.path,
            block_hash=name,
            occurrence=occurrence,
            value_key=value_key,
            near_key="" if is_secret else prints.near_key(block.text),
            heading=() if held else self._heading(block),
            group=self.group,
            trust=within(self._trust(author), capped=capped),
            status=Status.WITHHELD if held else Status.ACTIVE,
            reason=(f"secret:{held}" if is_secret else held) if held else "",
            author=author,
            provenance=self._provenance(index),
            recorded_at=self.plan.at,
            supersedes=old.id if old else "",
            derived_from=self._ancestry(old, offered),
            ever_quarantined=any(ancestor.ever_quarantined for ancestor in ancestors)
            or (origin is not None and origin.quarantined),
            capped=capped,
        )
        record = self._described(index, record, old)
        if held:
            self.withheld_ids.append(record.id)
        else:
            self.made.append(record.id)
            self.plan.texts[name] = block.text
            self.plan.values.setdefault(record.value_key, record.id)
        self._change("record.withheld" if held else "record.created", record, "")
        return record

    def _offered(self, value_key: str) -> Record | None:
        """The quarantined record whose text an approved proposal writes here."""
        origin = self.plan.batch.origin
        return self.stores.ledger.record(origin.by_value.get(value_key, "")) if origin and value_key else None

    def _ancestry(self, old: Record | None, offered: Record | None) -> tuple[str, ...]:
        inherited = old.derived_from if old else ()
        return (*inherited, offered.id) if offered else inherited

    def _trust(self, author: Principal) -> Trust:
        if author == EXTERNAL and self.plan.batch.door in ("session", "tainted"):
            return Trust.AGENT_OBSERVED
        return trust_of(author)

    def _provenance(self, index: int) -> Provenance:
        batch, details = self.plan.batch, self.described.get(index, self.details)
        provenance = batch.origin.provenance if batch.origin else batch.provenance
        if details is None:
            return provenance
        return replace(provenance, evidence=details.evidence, epistemic=details.epistemic)

    def _described(self, index: int, record: Record, old: Record | None) -> Record:
        """What describes a record: what the author says of it, else what was said of the one before it."""
        if old:
            record = replace(
                record, kind=old.kind, title=old.title, description=old.description, tags=old.tags,
                group=record.group or old.group, pinned=old.pinned, valid_from=old.valid_from, valid_to=old.valid_to,
            )  # fmt: skip
        said = self.described.get(index, self.details)
        if said is None:
            return record
        return replace(
            record,
            kind=said.kind or record.kind or Kind.FACT,
            title=said.title or record.title,
            description=said.description or record.description,
            tags=said.tags or record.tags,
            valid_from=said.valid_from or record.valid_from,
            valid_to=said.valid_to or record.valid_to,
        )
