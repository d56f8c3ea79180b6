"""An embedder behind HTTP: batches, checks and one vector space, whatever the server speaks."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np

from memoranda.adapters.embedders.http_client import Patience
from memoranda.adapters.embedders.recipes import DEFAULT_WEIGHT, Recipe
from memoranda.adapters.embedders.units import unit_rows
from memoranda.domain.settings import EmbedderSettings
from memoranda.errors import BackendError
from memoranda.ports import Vector

MAX_TEXT_BYTES = 8_000
"""A text is cut here. No tokenizer makes more tokens than bytes, and OpenAI's models take 8,191 tokens."""
MAX_REQUEST_BYTES = 128 * 1024
_PROBE = "memory"
_DOCUMENT_ATTEMPTS, _QUERY_ATTEMPTS = 4, 2
_FEW = 4
"""So many documents at most are those of a save, for which somebody waits too."""


class Dialect(Protocol):
    """What one kind of server speaks."""

    source: str
    """What errors call it."""
    most: int
    """Texts in one request."""

    def embed(self, texts: Sequence[str], patience: Patience) -> Sequence[object]:
        """Return a row for each text, in the order of the texts; rows are not checked."""

    def space(self, patience: Patience) -> str:
        """Name provider, model and weights, for the identity."""


class RemoteEmbedder:
    """Embeds by a server. Cheap to construct; length and identity are learnt from it at the first use.

    Many documents have the time and the attempts of a background job; questions, and a few documents, those of somebody
    who waits.
    """

    weight = DEFAULT_WEIGHT

    def __init__(self, dialect: Dialect, recipe: Recipe, settings: EmbedderSettings) -> None:
        self._dialect, self._recipe = dialect, recipe
        limit, short = settings.timeout_seconds, settings.query_timeout_seconds
        self.for_documents = Patience(limit, _DOCUMENT_ATTEMPTS, 2 * limit)
        self._for_questions = Patience(short, _QUERY_ATTEMPTS, short)
        self._for_few = Patience(min(limit, 2 * short), _QUERY_ATTEMPTS, 2 * short)
        self._learning = threading.Lock()
        self._dimensions: int | None = None
        self._space: str | None = None

    @property
    def identity(self) -> str:
        """Name provider, model, length and prompts; asks the server at the first use.

        Raises:
            BackendError: the server does not answer.
        """
        dimensions = self.dimensions
        with self._learning:
            if self._space is None:
                self._space = self._dialect.space(self._for_questions)
            return f"{self._space}:{dimensions}:{self._recipe.name}:v1"

    @property
    def dimensions(self) -> int:
        """Length of every vector; asks the server at the first use, and raises as `identity` does."""
        if self._dimensions is None:
            self._ask([_PROBE], self._for_questions)
        if self._dimensions is None:
            raise BackendError(f"{self._dialect.source} returned no vector")
        return self._dimensions

    @property
    def multilingual(self) -> bool:
        """Whether the model's card says that it knows more than English."""
        return self._recipe.multilingual

    def embed_documents(self, texts: Sequence[str]) -> Vector:
        """Return one unit row per text, shape (n, dimensions), float32; a text is seen as far as 8,000 bytes.

        Raises:
            BackendError: the server failed, or returned what is no vector of the right length.
        """
        prepared = [self.prepared(text) for text in texts]
        patience = self._for_few if len(prepared) <= _FEW else self.for_documents
        found = [self._ask(group, patience) for group in _groups(prepared, self._dialect.most)]
        return np.concatenate(found) if found else np.empty((0, self.dimensions), np.float32)

    def embed_query(self, text: str) -> Vector:
        """Return the unit vector of a question, shape (dimensions,), float32; raises as `embed_documents`."""
        row: Vector = self._ask([_cut(self._recipe.query + text)], self._for_questions)[0]
        return row

    def prepared(self, text: str) -> str:
        """Return a document as it is sent: with the model's prompt, cut, never empty."""
        return _cut(self._recipe.document + text)

    def accept(self, rows: Sequence[object], count: int) -> Vector:
        """Return rows that came from the server as unit vectors; the first ones say how long all have to be."""
        with self._learning:
            found = unit_rows(rows, count=count, dimensions=self._dimensions, source=self._dialect.source)
            self._dimensions = int(found.shape[1])
            return found

    def _ask(self, texts: Sequence[str], patience: Patience) -> Vector:
        return self.accept(self._dialect.embed(texts, patience), len(texts))


def _cut(text: str) -> str:
    """Return what is sent of a text; a lone surrogate becomes a question mark, nothing becomes a space."""
    return text.encode("utf-8", "replace")[:MAX_TEXT_BYTES].decode("utf-8", "ignore") or " "


def _groups(texts: Sequence[str], most: int) -> Iterator[list[str]]:
    """Yield texts in groups that one request may hold, by number and by size."""
    group: list[str] = []
    size = 0
    for text in texts:
        length = len(text.encode())
        if group and (len(group) == most or size + length > MAX_REQUEST_BYTES):
            yield group
            group, size = [], 0
        group.append(text)
        size += length
    if group:
        yield group
