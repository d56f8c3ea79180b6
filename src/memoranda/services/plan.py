"""What a batch is about to do, as a value that its operations add to."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from memoranda.domain.entry import Change
from memoranda.domain.operation import Batch
from memoranda.domain.proposal import Proposal
from memoranda.domain.record import Record
from memoranda.domain.scope import Principal
from memoranda.domain.tombstone import Tombstone
from memoranda.services.working_file import WorkingFile


@dataclass(slots=True)
class Plan:
    """What a batch is about to do; operations add to it in order and see what is there already.

    `files` are the files it works on, `changes` and `texts` go to the ledger, `values` are the value keys of records
    that this batch makes, `gone` and `revived` the ids of records that it takes away or brings back, `dropped` the
    removed records with their texts. `unjudged` plans only find out what a quarantined operation would do.
    """

    batch: Batch
    at: str
    files: dict[str, WorkingFile] = field(default_factory=dict)
    changes: list[Change] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)
    values: dict[str, str] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    revived: set[str] = field(default_factory=set)
    dropped: dict[str, tuple[Record, str]] = field(default_factory=dict)
    corroborated: list[str] = field(default_factory=list)
    tombstones: list[Tombstone] = field(default_factory=list)
    lifted: list[str] = field(default_factory=list)
    proposals: list[Proposal] = field(default_factory=list)
    released: dict[str, str] = field(default_factory=dict)
    tombstones_bind: bool | None = None
    held_names: frozenset[str] = frozenset()
    unjudged: bool = False

    @property
    def actor(self) -> Principal:
        """Who decides: the batch's author, also where it carries out another's proposal."""
        return self.batch.author

    def copy_for(self, batch: Batch) -> Plan:
        """Return a plan for a trial of one operation: it sees what this one has done and leaves it alone."""
        return Plan(
            batch, self.at, {path: replace(file) for path, file in self.files.items()}, values=dict(self.values),
            gone=set(self.gone), revived=set(self.revived), tombstones_bind=self.tombstones_bind, unjudged=True,
        )  # fmt: skip
