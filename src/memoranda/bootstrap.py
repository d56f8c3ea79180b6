"""The one place that builds adapters and puts them together: `open_home`."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import memoranda
from memoranda.adapters import registry
from memoranda.adapters.files.archive_file import ZipArchives
from memoranda.adapters.files.documents import FileDocuments
from memoranda.adapters.files.home import LEDGER, StoredKeys, foreign_keys, making, open_state, read_key, store_key
from memoranda.adapters.files.locks import FileLocks
from memoranda.adapters.files.log import FileEpisodeLog, FileTranscripts
from memoranda.adapters.files.raw_sweep import RawSweep
from memoranda.adapters.files.watching import FileWatcher
from memoranda.adapters.secrets.scanner import DetectSecretsScanner
from memoranda.adapters.sqlite.embedding_cache import SqliteEmbeddingCache
from memoranda.adapters.sqlite.index import SqliteIndex
from memoranda.adapters.sqlite.ledger import SqliteLedger
from memoranda.adapters.system import SystemClock, TimeOrderedIds
from memoranda.adapters.system.health import EndpointHealth
from memoranda.adapters.system.zone import UserZone
from memoranda.config import Config, load
from memoranda.domain.fingerprint import KEY_BYTES, Fingerprints
from memoranda.domain.settings import EmbedderSettings, ModelSettings
from memoranda.errors import ConfigurationError, IntegrityError
from memoranda.memory import Memory, Parts
from memoranda.ports import Embedder
from memoranda.services.scores import Scores
from memoranda.services.stores import Stores

if TYPE_CHECKING:
    from memoranda.ports.model import LanguageModel

DEFAULT_HOME = "~/.memoranda"


def home_folder(home: str | Path | None = None) -> Path:
    """Return the home: the argument, else `$MEMORANDA_HOME`, else `~/.memoranda`."""
    return Path(home or os.environ.get("MEMORANDA_HOME") or DEFAULT_HOME).expanduser().absolute()


def open_home(
    home: str | Path | None = None,
    *,
    settings: Mapping[str, object] | None = None,
    embedder: Embedder | None = None,
    model: LanguageModel | None = None,
) -> Memory:
    """Open a home, made where absent; nothing is read or synced yet.

    `settings` override file and environment, for example `{"memory.provider": "none"}`. An `embedder` instance takes
    the place of the configured address, and so does a `model` for jobs and chat.

    Raises:
        ConfigurationError: a setting is wrong.
        IntegrityError: the ledger or key is damaged, missing, not the other's, or newer than this program.
        BackendError: the folder cannot be used.
    """
    folder = home_folder(home)
    config = load(folder, settings=settings)
    if embedder is None:
        registry.check_addresses(_addresses(config))
    state = open_state(folder)
    embedders = ConfiguredEmbedder(config, state, embedder)
    if embedder is None and not config.provider:
        config = config.shown("memory.provider", embedders.address, embedders.reason)
    ledger, prints = _open_ledger(state)
    cache = SqliteEmbeddingCache(state / "index" / "embeddings.db", lambda text: bytes.fromhex(prints.content(text)))
    index = SqliteIndex(state / "index", arms=registry.arms(config.backend, config.qmd))
    stores = _stores(folder, state, config, ledger, prints, index)

    def close() -> None:
        index.close()
        cache.close()
        ledger.close()

    parts = Parts(
        stores=stores,
        config=config,
        embedders=embedders,
        cache=cache,
        models=ConfiguredModel(config.llm, model),
        scores=Scores(),
        watcher=FileWatcher(),
        sweeper=RawSweep(folder),
        archives=ZipArchives(),
        foreign_keys=StoredKeys(state),
        index_bytes=lambda: sum(path.stat().st_size for path in (state / "index").rglob("*") if path.is_file()),
        version=memoranda.__version__,
        close=close,
    )
    return Memory(folder, parts)


def _stores(
    folder: Path, state: Path, config: Config, ledger: SqliteLedger, prints: Fingerprints, index: SqliteIndex
) -> Stores:
    """Build every adapter that use cases may touch."""
    documents = FileDocuments(folder)
    return Stores(
        ledger=ledger,
        documents=documents,
        log=FileEpisodeLog(documents.workspace, state / "locks"),
        transcripts=FileTranscripts(documents.workspace, state),
        zone=UserZone(folder),
        index=index,
        scanner=DetectSecretsScanner(),
        locks=FileLocks(state / "locks"),
        clock=SystemClock(),
        ids=TimeOrderedIds(),
        prints=prints,
        health=EndpointHealth(config.ledger_endpoint) if config.ledger_endpoint else None,
        write_mode=config.agent_write_mode,
        llm_writes=config.llm_writes,
        external_edits=config.external_edits,
        blocks=config.blocks,
        teams=config.teams,
    )


def _open_ledger(state: Path) -> tuple[SqliteLedger, Fingerprints]:
    """Return the ledger and the hashes of its key, both made where the home is new."""
    key = read_key(state)
    if key is None:
        with making(state):
            key = read_key(state)
            if key is None:
                return _make_ledger(state)
    prints = Fingerprints(key, foreign_keys(state))
    return SqliteLedger(state / LEDGER, prints), prints


def _make_ledger(state: Path) -> tuple[SqliteLedger, Fingerprints]:
    """Make the ledger and then its key; a ledger without events, left by an interrupted making, gets a key too."""
    key = os.urandom(KEY_BYTES)
    prints = Fingerprints(key, foreign_keys(state))
    try:
        ledger = SqliteLedger(state / LEDGER, prints)
    except IntegrityError as error:
        raise IntegrityError(
            f"{state / 'key'} is missing; put it back from a backup: the ledger cannot be proven without it"
        ) from error
    try:
        store_key(state, key)
    except BaseException:
        ledger.close()
        raise
    return ledger, prints


@dataclass(slots=True)
class ConfiguredEmbedder:
    """The embedder that the settings name, or the one that was detected; opened at its first use."""

    config: Config
    state: Path
    given: Embedder | None = None
    _opened: Embedder | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def _choice(self) -> tuple[tuple[str, ...], str]:
        if self.config.disable_rag:
            return ("none",), "memory.disable_rag is true: keyword search only"
        if self.given is not None:
            return (self.given.identity,), "given by the caller"
        named = _addresses(self.config)
        if len(named) > 1:
            return named, "memory.provider names them; where one fails the next is asked"
        if named:
            return named, "memory.provider names it"
        address, reason = registry.detect_embedder()
        return (address,), f"detected: {reason}"

    @property
    def address(self) -> str:
        """Address in use, several with commas, `none` where there is no embedder."""
        return ",".join(self._choice()[0])

    @property
    def reason(self) -> str:
        """Why this one."""
        return self._choice()[1]

    @property
    def loaded(self) -> bool:
        """Whether it has been opened in this process."""
        return self._opened is not None

    def open(self) -> Embedder | None:
        """Return the embedder with the configured weight, or None for keyword search only."""
        with self._lock:
            if self._opened is None:
                addresses = self._choice()[0]
                if addresses == ("none",):
                    return None
                if self.given is not None:
                    self._opened = _weighted(self.given, self.config)
                else:
                    settings = replace(self.config.embedding, state=str(self.state))
                    self._opened = registry.open_chain(addresses, self._open_one, settings)
            return self._opened

    def _open_one(self, address: str, settings: EmbedderSettings) -> Embedder | None:
        opened = registry.open_embedder(address, settings)
        return _weighted(opened, self.config) if opened else None


@dataclass(slots=True)
class ConfiguredModel:
    """The language model that the settings name; opened at its first use."""

    settings: ModelSettings
    given: LanguageModel | None = None
    _opened: LanguageModel | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def name(self) -> str:
        """Address in use, "" where there is none."""
        return self.given.name if self.given is not None else self.settings.model

    def open(self) -> LanguageModel:
        """Return the model. Raises ConfigurationError where none is set, MissingExtra without the extra `llm`."""
        with self._lock:
            if self.given is not None:
                return self.given
            if not self.settings.model:
                raise ConfigurationError("no language model is set: set llm.model, such as ollama:llama3.2")
            if self._opened is None:
                from memoranda.adapters.models.providers import open_model  # noqa: PLC0415 - few verbs need it

                self._opened = open_model(self.settings)
            return self._opened


def _addresses(config: Config) -> tuple[str, ...]:
    return tuple(filter(None, config.provider.split(",")))


def _weighted(embedder: Embedder, config: Config) -> Embedder:
    vector, keyword = config.vector_weight, config.keyword_weight
    if vector is None and keyword is None:
        return embedder
    vector = 1 - (keyword or 0) if vector is None else vector
    keyword = 1 - vector if keyword is None else keyword
    total = vector + keyword
    from memoranda.adapters.embedders.weighted import WeightedEmbedder  # noqa: PLC0415 - few set a weight

    return WeightedEmbedder(embedder, vector / total if total else 0.0)
