"""Several embedders in a row: the next is asked where one fails, and one that keeps failing is left alone for a while.

The circuit breaker is our own: of the libraries that were looked at one holds a lock while it calls and one is untyped
(docs/decisions/0021-embedders-behind-http.md).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from memoranda.domain.word_vectors import WordsAsked
from memoranda.errors import BackendError, ConfigurationError, IntegrityError, MissingExtra
from memoranda.ports import Bulk, BulkResult, Embedder, Multilingual, Vector
from memoranda.ports.embedding import embed_documents_by_word, embed_query_by_word

FAILURES = 3
"""Failures in a row that open a circuit."""
OPEN_SECONDS = 60.0
"""How long an open circuit refuses; then one call is let through, and its outcome decides."""


class Circuit:
    """Counts failures in a row. Safe in threads; calls run beside each other."""

    def __init__(self, name: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.name = name
        self._clock, self._lock = clock, threading.Lock()
        self._failures = 0
        self._closed_at = 0.0

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """Let a call through and note how it ends; BackendError counts as a failure.

        Raises:
            BackendError: the circuit is open, or the call failed.
        """
        self._enter()
        try:
            yield
        except BackendError:
            self._failed()
            raise
        with self._lock:
            self._failures = 0

    def check(self) -> None:
        """Raise BackendError where the circuit is open; what only looks takes no attempt away."""
        with self._lock:
            self._refuse_if_open()

    def _enter(self) -> None:
        with self._lock:
            self._refuse_if_open()
            if self._failures >= FAILURES:
                self._closed_at = self._clock() + OPEN_SECONDS  # of many that come now, one tries

    def _refuse_if_open(self) -> None:
        left = self._closed_at - self._clock()
        if self._failures >= FAILURES and left > 0:
            raise BackendError(f"{self.name} is not asked for {left:.0f} s: it failed {FAILURES} times in a row")

    def _failed(self) -> None:
        with self._lock:
            self._failures = min(self._failures + 1, FAILURES)
            if self._failures == FAILURES:
                self._closed_at = self._clock() + OPEN_SECONDS


class Member:
    """One embedder of a chain: opened at its first use, behind a circuit.

    Inside a chain a missing package or key is a failure like any other, BackendError; `alone` it is what it is.
    """

    def __init__(
        self, address: str, opener: Callable[[], Embedder], circuit: Circuit | None = None, *, alone: bool = False
    ) -> None:
        self.address, self._alone = address, alone
        self._opener = opener
        self._circuit = circuit or Circuit(address)
        self._lock = threading.Lock()
        self._opened: Embedder | None = None
        self._identity = ""

    @property
    def identity(self) -> str:
        """The embedder's own; raises BackendError too while the circuit is open."""
        if not self._identity:
            with self._asking() as embedder:
                self._identity = embedder.identity
        self._circuit.check()
        return self._identity

    @property
    def dimensions(self) -> int:
        """Length of every vector."""
        with self._asking() as embedder:
            return embedder.dimensions

    @property
    def weight(self) -> float:
        """The embedder's own."""
        return self._usable().weight

    @property
    def multilingual(self) -> bool:
        """Whether the embedder says that it knows more than English."""
        embedder = self._usable()
        return isinstance(embedder, Multilingual) and embedder.multilingual

    def embed_documents(self, texts: Sequence[str]) -> Vector:
        """Embed with the one behind the circuit."""
        with self._asking() as embedder:
            return embedder.embed_documents(texts)

    def embed_query(self, text: str) -> Vector:
        """Embed with the one behind the circuit."""
        with self._asking() as embedder:
            return embedder.embed_query(text)

    def embed_documents_by_word(self, texts: Sequence[str]) -> tuple[Vector, Sequence[bytes]]:
        """Embed with the one behind the circuit, words too where it knows any."""
        with self._asking() as embedder:
            return embed_documents_by_word(embedder, texts)

    def embed_query_by_word(self, text: str) -> tuple[Vector, WordsAsked]:
        """Embed with the one behind the circuit, words too where it knows any."""
        with self._asking() as embedder:
            return embed_query_by_word(embedder, text)

    def embed_bulk(self, texts: Sequence[str]) -> BulkResult:
        """Give over to the one behind the circuit, where it takes many at once."""
        with self._asking() as embedder:
            return embedder.embed_bulk(texts) if isinstance(embedder, Bulk) else BulkResult()

    @contextmanager
    def _asking(self) -> Iterator[Embedder]:
        with self._circuit.attempt(), self._told_alike():
            yield self._open()

    def _usable(self) -> Embedder:
        with self._told_alike():
            return self._open()

    def _open(self) -> Embedder:
        with self._lock:
            self._opened = self._opened or self._opener()
            return self._opened

    @contextmanager
    def _told_alike(self) -> Iterator[None]:
        try:
            yield
        except (ConfigurationError, MissingExtra, IntegrityError) as error:
            if self._alone:
                raise
            raise BackendError(f"{self.address} cannot be used: {error}") from error


class ChainEmbedder:
    """Several embedders in the order in which they are asked.

    Each has a vector space of its own, so who keeps vectors works with `members`. Taken as one embedder it is the first
    member that answered, from then on and whatever happens to it: two spaces never meet in one identity.
    """

    def __init__(self, members: Sequence[Embedder]) -> None:
        self.members: tuple[Embedder, ...] = tuple(members)
        self._lock = threading.Lock()
        self._chosen: Embedder | None = None

    @property
    def identity(self) -> str:
        """That of the first member that answered."""
        return self._one().identity

    @property
    def dimensions(self) -> int:
        """Length of every vector of that member."""
        return self._one().dimensions

    @property
    def weight(self) -> float:
        """That member's."""
        return self._one().weight

    @property
    def multilingual(self) -> bool:
        """Whether that member says that it knows more than English."""
        one = self._one()
        return isinstance(one, Multilingual) and one.multilingual

    def embed_documents(self, texts: Sequence[str]) -> Vector:
        """Embed with the first member that answered."""
        return self._one().embed_documents(texts)

    def embed_query(self, text: str) -> Vector:
        """Embed with the first member that answered."""
        return self._one().embed_query(text)

    def _one(self) -> Embedder:
        with self._lock:
            if self._chosen is None:
                self._chosen = self._first()
            return self._chosen

    def _first(self) -> Embedder:
        failed: list[str] = []
        for member in self.members:
            try:
                _ = member.identity
            except BackendError as error:
                failed.append(str(error))
            else:
                return member
        raise BackendError("no embedder of the chain answers: " + "; ".join(failed))
