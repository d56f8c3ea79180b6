"""Gives vectors to passages that wait for one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from memoranda.domain.scope import Scope
from memoranda.errors import BackendError
from memoranda.ports import Bulk, ByWord, Embedder, EmbeddingCache, SearchIndex, Vector
from memoranda.ports.embedding import embed_documents_by_word
from memoranda.services.meaning import members_of

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
    after each batch. Where the embedder stands for several, the next one works where one fails, in its own vector
    space; with a `limit` none begins a space beside one that answers.

    Raises:
        BackendError: the model or the index failed; what was stored before stays.
    """
    members = members_of(embedder)
    held = index.state(scope).embedder if limit is not None and len(members) > 1 else ""
    failed: list[BackendError] = []
    for member in members:
        try:
            if held and member.identity != held:
                continue
            stored = _embed(_Space(index, member, cache, scope), limit, progress)
        except BackendError as error:
            failed.append(error)
            continue
        if limit is None and member is members[0]:  # what another had begun is not waited for any more
            index.answer_alone(scope, member.identity)
        return stored
    if len(failed) == 1:
        raise failed[0]
    if failed:
        raise BackendError("no embedder answers: " + "; ".join(map(str, failed))) from failed[0]
    return 0


@dataclass(frozen=True, slots=True)
class _Space:
    """The vectors of one embedder in one scope."""

    index: SearchIndex
    embedder: Embedder
    cache: EmbeddingCache | None
    scope: Scope

    def put(self, keys: Sequence[int], vectors: Vector, words: Sequence[bytes] = ()) -> int:
        """Store vectors and return how many were stored."""
        return self.index.put_vectors(self.scope, self.embedder.identity, keys, vectors, words)


def _embed(space: _Space, limit: int | None, progress: Callable[[int, int], None] | None) -> int:
    waiting = space.index.pending(space.scope, space.embedder.identity, _ALL if limit is None else limit)
    total, stored, failed = len(waiting), 0, ""
    if limit is None and isinstance(space.embedder, Bulk):
        stored, waiting, failed = _in_bulk(space, space.embedder, waiting)
    done = total - len(waiting)
    for start in range(0, len(waiting), BATCH):
        batch = waiting[start : start + BATCH]
        try:
            vectors, words = _vectors(space.embedder, space.cache, [text for _, text in batch])
        except BackendError as error:
            if not failed:
                raise
            raise BackendError(f"{failed}; then {error}") from error
        stored += space.put([key for key, _ in batch], vectors, words)
        if progress is not None:
            progress(done + start + len(batch), total)
    return stored


Waiting = Sequence[tuple[int, str]]


def _in_bulk(space: _Space, bulk: Bulk, waiting: Waiting) -> tuple[int, Waiting, str]:
    """Hand over what waits; return how many vectors came back, what is left to embed now, and what failed in words."""
    texts = list(dict.fromkeys(text for _, text in waiting))
    known = space.cache.get(space.embedder.identity, texts) if space.cache is not None else {}
    result = bulk.embed_bulk([text for text in texts if text not in known])
    ready = [(key, text) for key, text in waiting if text in result.vectors]
    stored = 0
    if ready:
        import numpy as np  # noqa: PLC0415 - as below

        if space.cache is not None:
            space.cache.put(space.embedder.identity, result.vectors)
        stored = space.put([key for key, _ in ready], np.stack([result.vectors[text] for _, text in ready]))
    left = [item for item in waiting if item[1] not in result.vectors and item[1] not in result.under_way]
    return stored, left, result.failed


def _vectors(embedder: Embedder, cache: EmbeddingCache | None, texts: Sequence[str]) -> tuple[Vector, Sequence[bytes]]:
    """Return one vector per text, and its words where the embedder knows any; from the cache where it knows it.

    The cache keeps both as one row: the vector, then the bytes of the words.
    """
    distinct = list(dict.fromkeys(texts))
    by_word = isinstance(embedder, ByWord)
    identity = f"{embedder.identity}+words" if by_word else embedder.identity
    known = dict(cache.get(identity, distinct)) if cache is not None else {}
    missing = [text for text in distinct if text not in known]
    import numpy as np  # noqa: PLC0415 - whoever has an embedder has loaded it; others should not

    if missing:
        vectors, words = embed_documents_by_word(embedder, missing)
        rows = [np.frombuffer(said, np.float32) for said in words] or [np.empty(0, np.float32)] * len(missing)
        fresh = {text: np.concatenate([vector, row]) for text, vector, row in zip(missing, vectors, rows, strict=True)}
        if cache is not None:
            cache.put(identity, fresh)
        known |= fresh
    length = embedder.dimensions
    stacked = np.stack([known[text][:length] for text in texts])
    return stacked, [known[text][length:].tobytes() for text in texts] if by_word else ()
