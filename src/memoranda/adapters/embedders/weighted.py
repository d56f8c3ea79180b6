"""An embedder whose share of the score a person has set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memoranda.domain.word_vectors import WordsAsked
from memoranda.ports import Bulk, BulkResult, Embedder, Multilingual, Vector
from memoranda.ports.embedding import embed_documents_by_word, embed_query_by_word


@dataclass(frozen=True, slots=True)
class WeightedEmbedder:
    """Another embedder with another weight; what that one can do it can."""

    inner: Embedder
    weight: float

    @property
    def identity(self) -> str:
        """The inner one's: the vectors are the same."""
        return self.inner.identity

    @property
    def dimensions(self) -> int:
        """Length of every vector."""
        return self.inner.dimensions

    @property
    def multilingual(self) -> bool:
        """Whether the inner one says that it knows more than English."""
        return isinstance(self.inner, Multilingual) and self.inner.multilingual

    def embed_documents(self, texts: Sequence[str]) -> Vector:
        """Embed with the inner one."""
        return self.inner.embed_documents(texts)

    def embed_query(self, text: str) -> Vector:
        """Embed with the inner one."""
        return self.inner.embed_query(text)

    def embed_documents_by_word(self, texts: Sequence[str]) -> tuple[Vector, Sequence[bytes]]:
        """Embed with the inner one."""
        return embed_documents_by_word(self.inner, texts)

    def embed_query_by_word(self, text: str) -> tuple[Vector, WordsAsked]:
        """Embed with the inner one."""
        return embed_query_by_word(self.inner, text)

    def embed_bulk(self, texts: Sequence[str]) -> BulkResult:
        """Give over to the inner one, where it takes many at once."""
        return self.inner.embed_bulk(texts) if isinstance(self.inner, Bulk) else BulkResult()
