"""The ports that services work with, as one value that bootstrap makes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from memoranda.domain.block import DEFAULT_BLOCKS, BlockSpec
from memoranda.domain.fingerprint import Fingerprints
from memoranda.domain.policy import WriteMode
from memoranda.domain.scope import Scope
from memoranda.ports import (
    Clock,
    DocumentStore,
    EpisodeLog,
    Ids,
    Ledger,
    Locks,
    SearchIndex,
    SecretScanner,
    TranscriptStore,
    Zones,
)
from memoranda.ports.conflicts import Health
from memoranda.ports.log import LogMark
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
    log: EpisodeLog
    transcripts: TranscriptStore
    zone: Zones
    health: Health | None = None
    write_mode: WriteMode = "hybrid"
    llm_writes: str = "observed"
    external_edits: str = "trust"
    blocks: tuple[BlockSpec, ...] = DEFAULT_BLOCKS
    teams: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    parsed: Parsed = field(default_factory=Parsed)
    listings: dict[Scope, tuple[int, Sequence[tuple[str, int]]]] = field(default_factory=dict)
    log_marks: dict[tuple[Scope, str], LogMark] = field(default_factory=dict)
