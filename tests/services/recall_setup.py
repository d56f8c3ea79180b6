"""What tests of recall share: a made-up embedder, a viewer, short ways to fill and to ask."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from memoranda.domain.query import Query, RecallResult
from memoranda.domain.record import Record
from memoranda.domain.scope import APPLICATION, OPERATOR, REALM, Viewer
from memoranda.errors import BackendError
from memoranda.ports import Embedder, SearchIndex, Vector
from memoranda.services.recall import Locate, recall
from memoranda.testing.index_suite import SCOPE, made, time_at

NOW = time_at(30)
VIEWER = Viewer(APPLICATION, SCOPE, frozenset({SCOPE, OPERATOR, REALM}))
TOPICS = (("apricot", "fruit", "peach"), ("deploy", "release", "ship"), ("dark", "night", "theme"))


class TopicEmbedder:
    """Maps words to made-up topics; unknown text points nowhere near them."""

    dimensions = len(TOPICS) + 1
    weight = 0.4
    identity = "topics:1"

    def __init__(self, *, identity: str = "topics:1", failing: bool = False) -> None:
        self.identity, self.failing = identity, failing
        self.embedded: list[str] = []

    def embed_documents(self, texts: Sequence[str]) -> Vector:
        """Return one unit row per text."""
        self.embedded += texts
        return np.stack([self.embed_query(text) for text in texts])

    def embed_query(self, text: str) -> Vector:
        """Return the unit vector of a text."""
        if self.failing:
            raise BackendError("the model is away")
        counts = [float(sum(word in text.lower() for word in topic)) for topic in TOPICS]
        vector = np.array([*counts, 0.0 if any(counts) else 1.0], np.float32)
        return (vector / np.linalg.norm(vector)).astype(np.float32)


class PolyglotEmbedder(TopicEmbedder):
    """One that says it knows every script."""

    multilingual = True


def anywhere(_record: Record, _text: str) -> tuple[int, int]:
    """Find every text on lines 3 to 4."""
    return 3, 4


def ask(
    index: SearchIndex,
    text: str,
    *,
    embedder: Embedder | None = None,
    viewer: Viewer = VIEWER,
    locate: Locate = anywhere,
    **query: object,
) -> RecallResult:
    """Ask a question at a fixed time."""
    asked = Query(text=text, **query)  # type: ignore[arg-type]
    return recall(viewer, asked, index=index, embedder=embedder, clock_now=lambda: NOW, locate=locate)


def ids(result: RecallResult) -> list[str]:
    """Return the record ids of the hits."""
    return [hit.record_id for hit in result.hits]


def fill(index: SearchIndex, **texts: str) -> None:
    """Put one record per keyword argument."""
    index.put(SCOPE, [p for name, text in texts.items() for p in made(name, text)])
