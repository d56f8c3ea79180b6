"""What gives vectors to texts, what such a thing may be able to do beside, and the cache of what it gave."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

from memoranda.domain.settings import EmbedderSettings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from memoranda.domain.word_vectors import WordsAsked

Vector: TypeAlias = "NDArray[np.float32]"


class Embedder(Protocol):
    """Turns text into vectors of unit length."""

    @property
    def identity(self) -> str:
        """Name provider, model, weights and recipe: two embedders with one identity share a vector space."""

    @property
    def dimensions(self) -> int:
        """Length of every vector."""

    @property
    def weight(self) -> float:
        """Measured share of the vector arm in score fusion with this model, 0 to 1."""

    def embed_documents(self, texts: Sequence[str]) -> Vector:
        """Return one unit row per text, shape (n, dimensions), float32.

        Raises:
            BackendError: the model failed; nothing is guessed and no zero vector is returned in its place.
        """

    def embed_query(self, text: str) -> Vector:
        """Return the unit vector of a question, shape (dimensions,), float32."""


@runtime_checkable
class Multilingual(Protocol):
    """Optional capability of an embedder; one without it is taken to know English only."""

    @property
    def multilingual(self) -> bool:
        """Tell whether vectors of scripts other than Latin mean something."""


@runtime_checkable
class ByWord(Protocol):
    """Optional capability of an embedder that gives vectors of a text's words from the same run of the model.

    They are of `word_vectors.WIDTH` dimensions each and go with its identity.
    """

    def embed_documents_by_word(self, texts: Sequence[str]) -> tuple[Vector, Sequence[bytes]]:
        """Return what `embed_documents` does, and each text's words as `word_vectors.packed` has them.

        There are none, an empty sequence, where an embedder that this one stands for knows no words.
        """

    def embed_query_by_word(self, text: str) -> tuple[Vector, WordsAsked]:
        """Return what `embed_query` does, and the question's words."""


@runtime_checkable
class Alternatives(Protocol):
    """Optional capability of an embedder that stands for several: the next one is asked where one fails."""

    @property
    def members(self) -> Sequence[Embedder]:
        """Return them in the order in which they are asked; each has a vector space of its own."""


@dataclass(frozen=True, slots=True)
class BulkResult:
    """What came of many texts: vectors by text, texts that are being worked on elsewhere, and what failed, in words."""

    vectors: Mapping[str, Vector] = field(default_factory=dict)
    under_way: frozenset[str] = frozenset()
    failed: str = ""


@runtime_checkable
class Bulk(Protocol):
    """Optional capability of an embedder that takes many texts and delivers later."""

    def embed_bulk(self, texts: Sequence[str]) -> BulkResult:
        """Take over texts where there are enough of them, and return what is ready, of earlier calls too.

        Texts that the result does not name are the caller's to embed. Raises BackendError as `embed_documents`.
        """


class OpenEmbedder(Protocol):
    """What an entry point of the group `memoranda.embedders` names."""

    def __call__(self, rest: str, settings: EmbedderSettings) -> Embedder:
        """Return the embedder of an address `scheme:rest`; cheap, nothing is loaded and nobody is asked yet.

        Raises:
            ConfigurationError: the address or a setting is wrong.
            MissingExtra: an optional part is not installed.
        """


class EmbeddingCache(Protocol):
    """Remembers vectors by (identity, text hash); least recently used out."""

    def get(self, identity: str, texts: Sequence[str]) -> Mapping[str, Vector]:
        """Return text -> vector for those known."""

    def put(self, identity: str, vectors: Mapping[str, Vector]) -> None:
        """Remember these vectors."""

    def clear(self) -> None:
        """Forget everything; what is in an index keeps its vector there."""


def embed_documents_by_word(embedder: Embedder, texts: Sequence[str]) -> tuple[Vector, Sequence[bytes]]:
    """Return vectors of texts and of their words; no words of an embedder that knows none.

    Raises:
        BackendError: the embedder failed.
    """
    if isinstance(embedder, ByWord):
        return embedder.embed_documents_by_word(texts)
    return embedder.embed_documents(texts), ()


def embed_query_by_word(embedder: Embedder, text: str) -> tuple[Vector, WordsAsked]:
    """Return the vectors of a question and of its words, as `embed_documents_by_word`."""
    if isinstance(embedder, ByWord):
        return embedder.embed_query_by_word(text)
    from memoranda.domain.word_vectors import no_words  # noqa: PLC0415 - whoever embeds has loaded numpy

    return embedder.embed_query(text), no_words()
