"""What bootstrap puts together and the handles share."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from memoranda.config import Config
from memoranda.ports import Embedder, EmbeddingCache
from memoranda.ports.archive import ArchiveFiles, ForeignKeys
from memoranda.ports.erasure import Sweeper
from memoranda.services.scores import Scores
from memoranda.services.stores import Stores

if TYPE_CHECKING:
    from memoranda.ports.model import LanguageModel


class Embedders(Protocol):
    """The home's embedder, opened at its first use."""

    @property
    def address(self) -> str:
        """Address in use, `none` where there is no embedder."""

    @property
    def reason(self) -> str:
        """Why this one."""

    @property
    def loaded(self) -> bool:
        """Whether it has been opened in this process."""

    def open(self) -> Embedder | None:
        """Return the embedder, or None for keyword search only."""


class Models(Protocol):
    """The home's language model, opened at its first use."""

    @property
    def name(self) -> str:
        """Return its address `provider:name`, "" where none is set."""

    def open(self) -> LanguageModel:
        """Return the model. Raises ConfigurationError where none is set, MissingExtra without the extra `llm`."""


class Watcher(Protocol):
    """Watches a folder for changes."""

    def changes(self, folder: Path, *, stop: threading.Event, debounce: float, timeout: float) -> Iterator[None]:
        """Yield once watching has begun, after every burst of changes, and after `timeout` seconds without one.

        Ends when `stop` is set. What happens while the caller works is not missed.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What bootstrap puts together."""

    stores: Stores
    config: Config
    embedders: Embedders
    cache: EmbeddingCache
    models: Models
    scores: Scores
    watcher: Watcher
    sweeper: Sweeper
    archives: ArchiveFiles
    foreign_keys: ForeignKeys
    index_bytes: Callable[[], int]
    version: str
    close: Callable[[], None]
