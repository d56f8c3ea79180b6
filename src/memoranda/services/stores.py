"""The ports that services work with, as one value that bootstrap makes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from memoranda.domain.fingerprint import Fingerprints
from memoranda.domain.policy import WriteMode
from memoranda.ports import Clock, DocumentStore, Ids, Ledger, Locks, SearchIndex, SecretScanner
from memoranda.services.parsed import Parsed


@dataclass(frozen=True, slots=True, kw_only=True)
class Stores:
    """Everything a use case may touch."""

    ledger: Ledger
    documents: DocumentStore
    index: SearchIndex
    scanner: SecretScanner
    locks: Locks
    clock: Clock
    ids: Ids
    prints: Fingerprints
    write_mode: WriteMode = "hybrid"
    llm_writes: str = "observed"
    external_edits: str = "trust"
    teams: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    parsed: Parsed = field(default_factory=Parsed)
