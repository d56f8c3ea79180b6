"""Tests of embedding what waits, and of the cache of vectors."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from memoranda.adapters.sqlite.embedding_cache import SqliteEmbeddingCache
from memoranda.adapters.sqlite.index import SqliteIndex
from memoranda.errors import BackendError
from memoranda.services.embedding import embed_pending
from memoranda.testing.index_suite import SCOPE
from tests.services.recall_setup import TopicEmbedder, fill


@pytest.fixture
def index(tmp_path: Path) -> Iterator[SqliteIndex]:
    """Return an empty index."""
    index = SqliteIndex(tmp_path / "index")
    yield index
    index.close()


def test_embedding_is_cached_batched_and_resumable(index: SqliteIndex, tmp_path: Path) -> None:
    """Embedding reports its progress, goes on where it stopped, and takes what the cache knows."""
    fill(index, **{f"n{i:03d}": f"entry {i}" for i in range(70)})
    cache = SqliteEmbeddingCache(tmp_path / "cache.db", str.encode)
    embedder = TopicEmbedder()
    steps: list[tuple[int, int]] = []
    assert embed_pending(index, embedder, cache, SCOPE, limit=40) == 40
    assert embed_pending(index, embedder, cache, SCOPE, progress=lambda done, total: steps.append((done, total))) == 30
    assert steps == [(30, 30)]
    assert len(embedder.embedded) == 70
    assert index.state(SCOPE).pending == 0
    index.clear(SCOPE)
    fill(index, **{f"m{i:03d}": f"entry {i}" for i in range(70)}, fresh="something else")
    assert embed_pending(index, embedder, cache, SCOPE) == 71
    assert embedder.embedded[70:] == ["Notes\nsomething else"]
    cache.close()


def test_the_cache_forgets_what_was_unused_longest(tmp_path: Path) -> None:
    """A cache of three rows keeps what was asked for last, keeps identities apart, and survives reopening."""
    path = tmp_path / "cache.db"
    cache = SqliteEmbeddingCache(path, str.encode, rows=3)
    vectors = {name: np.array([ord(name), 0.5], np.float32) for name in "abcd"}
    cache.put("m", {"a": vectors["a"]})
    cache.put("m", {"b": vectors["b"]})
    cache.put("other", {"c": vectors["c"]})
    assert set(cache.get("m", ["a", "c"])) == {"a"}
    cache.put("m", {"d": vectors["d"]})
    cache.close()
    cache = SqliteEmbeddingCache(path, str.encode, rows=3)
    found = cache.get("m", ["a", "b", "d"])
    assert {name: vector.tolist() for name, vector in found.items()} == {"a": [97.0, 0.5], "d": [100.0, 0.5]}
    assert cache.get("other", ["c"])["c"].dtype == np.float32
    cache.close()


def test_a_model_that_fails_half_way_loses_nothing(index: SqliteIndex) -> None:
    """A failing model raises, stores nothing in place of a vector, and a later run completes."""
    fill(index, a="peach", b="night")
    with pytest.raises(BackendError):
        embed_pending(index, TopicEmbedder(failing=True), None, SCOPE)
    assert index.state(SCOPE).vectors == 0
    assert embed_pending(index, TopicEmbedder(), None, SCOPE) == 2
