"""The record: the unit of belief, with everything the ledger knows of it but its text."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum, StrEnum

from memoranda.domain.scope import Principal, Scope


class Kind(StrEnum):
    """What sort of knowledge a record is."""

    PREFERENCE = "preference"
    FACT = "fact"
    GOTCHA = "gotcha"
    PROCEDURE = "procedure"
    RELATIONSHIP = "relationship"
    OPEN_LOOP = "open_loop"
    REFERENCE = "reference"


class Trust(IntEnum):
    """How far a record may be believed, in order."""

    UNTRUSTED = 0
    AGENT_OBSERVED = 1
    AGENT_VERIFIED = 2
    APPLICATION = 3
    OPERATOR = 4

    @property
    def label(self) -> str:
        """The word used in files, JSON and on screen."""
        return self.name.lower()


class Status(StrEnum):
    """Where a record stands; only ACTIVE text is indexed, injected or shown to a model."""

    ACTIVE = "active"
    SUPERSEDED = "superseded"
    QUARANTINED = "quarantined"
    TOMBSTONED = "tombstoned"
    RETIRED = "retired"
    WITHHELD = "withheld"


class Epistemic(StrEnum):
    """How the author came to know it, in the author's own words; raises no trust."""

    OBSERVED = "observed"
    OPERATOR_SAID = "operator_said"
    VERIFIED_CLAIM = "verified_claim"


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a record came from."""

    session_id: str = ""
    message_from: int | None = None
    message_to: int | None = None
    tool: str = ""
    evidence: tuple[str, ...] = ()
    epistemic: Epistemic = Epistemic.OBSERVED
    verification: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One block of a curated file with its metadata.

    Times are ISO 8601 in UTC with microseconds, or "" for none. `block_hash` is the keyed hash of the block's
    exact bytes and the name of its text object; identity is (scope, path, block_hash, occurrence).
    `capped` tells that it descends from something untrusted or ever quarantined (see `domain/trust.py`); `retired_by`
    is the principal who took it out, "" while it is present.
    """

    id: str
    scope: Scope
    path: str
    block_hash: str
    occurrence: int = 1
    value_key: str = ""
    near_key: str = ""
    heading: tuple[str, ...] = ()
    group: str = ""
    kind: Kind = Kind.FACT
    title: str = ""
    description: str = ""
    tags: tuple[str, ...] = ()
    trust: Trust = Trust.AGENT_OBSERVED
    status: Status = Status.ACTIVE
    reason: str = ""
    author: Principal
    provenance: Provenance = field(default_factory=Provenance)
    valid_from: str = ""
    valid_to: str = ""
    recorded_at: str
    retired_at: str = ""
    supersedes: str = ""
    superseded_by: str = ""
    derived_from: tuple[str, ...] = ()
    ever_quarantined: bool = False
    pinned: bool = False
    capped: bool = False
    retired_by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Details:
    """What an author says about a record beside its text; all of it is metadata of the ledger.

    What is left out (`kind` None) keeps its value when a record is superseded.
    """

    title: str = ""
    description: str = ""
    tags: tuple[str, ...] = ()
    kind: Kind | None = None
    epistemic: Epistemic = Epistemic.OBSERVED
    evidence: tuple[str, ...] = ()
    valid_from: str = ""
    valid_to: str = ""
