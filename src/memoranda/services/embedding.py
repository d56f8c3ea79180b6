"""Gives vectors to passages that wait for one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from memoranda.domain.scope import Scope
from memoranda.ports import Embedder, EmbeddingCache, SearchIndex, Vector

_ALL = 1 << 40
BATCH = 32
"""Passages embedded and stored at a time: what is lost at most when the process is stopped."""


def embed_pending(
    index: SearchIndex,
    embedder: Embedder,
    cache: EmbeddingCache | None,
    scope: Scope,
    *,
    limit: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> int:
    """Embed what is pending in a scope and return how many vectors were stored.

    Goes on where it was stopped. `limit` caps the number of passages; `progress` is called with (done, total)
    after each batch.

    Raises:
        BackendError: the model or the index failed; what was stored before stays.
    """
    waiting = index.pending(scope, embedder.identity, _ALL if limit is None else limit)
    stored = 0
    for start in range(0, len(waiting), BATCH):
        batch = waiting[start : start + BATCH]
        vectors = _vectors(embedder, cache, [text for _, text in batch])
        stored += index.put_vectors(scope, embedder.identity, [key for key, _ in batch], vectors)
        if progress is not None:
            progress(start + len(batch), len(waiting))
    return stored


def _vectors(embedder: Embedder, cache: EmbeddingCache | None, texts: Sequence[str]) -> Vector:
    """Return one vector per text, from the cache where it knows it."""
    distinct = list(dict.fromkeys(texts))
    known = dict(cache.get(embedder.identity, distinct)) if cache is not None else {}
    missing = [text for text in distinct if text not in known]
    if missing:
        fresh = dict(zip(missing, embedder.embed_documents(missing), strict=True))
        if cache is not None:
            cache.put(embedder.identity, fresh)
        known |= fresh
    import numpy as np  # noqa: PLC0415 - whoever has an embedder has loaded it; others should not

    return np.stack([known[text] for text in texts])
