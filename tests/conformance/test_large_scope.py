"""A scope with more vectors than are compared one by one: the file that holds them, and what may happen to it."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memoranda.adapters.sqlite import index_search, vector_cache, vector_sidecar
from memoranda.adapters.sqlite.index import SqliteIndex
from memoranda.domain.passage import Passage
from memoranda.domain.query import Filters
from memoranda.domain.record import Kind
from memoranda.ports import Vector
from memoranda.testing.index_suite import SCOPE, made

LARGE, DIMENSIONS, COUNT = 50, 96, 400


def vector(number: int) -> Vector:
    """Return a made-up unit vector; those of one hundred are near each other."""
    middle = np.random.default_rng(number // 100).standard_normal(DIMENSIONS)
    own = np.random.default_rng(10_000 + number).standard_normal(DIMENSIONS)
    found = (middle + 0.5 * own).astype(np.float32)
    return np.asarray(found / np.linalg.norm(found), np.float32)


def fill(index: SqliteIndex, first: int, last: int, identity: str = "m") -> None:
    """Put numbered records with their vectors."""
    kinds = (Kind.PREFERENCE, Kind.FACT)
    passages = [made(str(number), f"record number {number}", kind=kinds[number % 2]) for number in range(first, last)]
    index.put(SCOPE, [part for parts in passages for part in parts])
    embed_all(index, identity)


def embed_all(index: SqliteIndex, identity: str) -> None:
    """Give every record that waits its vector."""
    waiting = index.pending(SCOPE, identity, 10_000)
    numbers = [int(text.split()[-1]) for _, text in waiting]
    if waiting:
        index.put_vectors(SCOPE, identity, [key for key, _ in waiting], np.stack([vector(item) for item in numbers]))


def nearest(index: SqliteIndex, identity: str, query: Vector, limit: int = 5) -> list[str]:
    """Return the ids of the records nearest to a vector."""
    near = index.search_vector(SCOPE, identity, query, limit, Filters()) or ()
    return [hit.passage.record.id for hit in index.fetch(SCOPE, [key for key, _ in near])]


def exact(query: Vector, numbers: list[int], limit: int = 5) -> list[str]:
    """Return the nearest of these records by comparing all."""
    return [f"rec_{number}" for number in sorted(numbers, key=lambda item: -float(vector(item) @ query))[:limit]]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return the root of an index."""
    return tmp_path / "index"


@pytest.fixture
def index(root: Path) -> Iterator[SqliteIndex]:
    """Return an index of 400 vectors, of which 50 are few."""
    index = SqliteIndex(root, large=LARGE)
    fill(index, 0, COUNT)
    yield index
    index.close()


def the_file(root: Path) -> Path:
    """Return the one file of vectors."""
    (path,) = (root / SCOPE.folder).glob("*.vectors")
    return path


def test_a_small_scope_has_no_file(root: Path) -> None:
    """Up to the bound nothing lies beside the database; above it one file does, private like the database."""
    index = SqliteIndex(root, large=LARGE)
    fill(index, 0, LARGE)
    assert nearest(index, "m", vector(3), limit=1) == ["rec_3"]
    assert not list((root / SCOPE.folder).glob("*.vectors*"))
    fill(index, LARGE, LARGE + 1)
    assert nearest(index, "m", vector(3), limit=1) == ["rec_3"]
    assert the_file(root).stat().st_mode & 0o777 == 0o600
    index.close()


def test_the_nearest_are_found_by_their_signs(index: SqliteIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a quarter of the vectors compared exactly the first five are nearly those of an exhaustive search."""
    monkeypatch.setattr(vector_cache, "RESCORED", 100)
    looked: list[int] = []
    real = vector_sidecar.Sidecar.nearest

    def watched(self: vector_sidecar.Sidecar, query: Vector, allowed: object, count: int) -> object:
        rows = real(self, query, allowed, count)  # type: ignore[arg-type]
        looked.append(len(rows))
        return rows

    monkeypatch.setattr(vector_sidecar.Sidecar, "nearest", watched)
    for number in range(0, COUNT, 37):
        query = vector(number)
        got, right = nearest(index, "m", query), exact(query, list(range(COUNT)))
        assert got[0] == right[0]
        assert len({*got, *right}) <= len(right) + 1
    assert len(looked) == len(range(0, COUNT, 37))
    assert max(looked) < COUNT // 2


def test_filters_are_conditions_of_the_scan(index: SqliteIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the filters let through is what is scanned, however few of the nearest those are."""
    monkeypatch.setattr(vector_cache, "RESCORED", 60)
    found = index.search_vector(SCOPE, "m", vector(7), 5, Filters(kinds=frozenset({Kind.PREFERENCE})))
    even = [number for number in range(COUNT) if number % 2 == 0]
    names = [item.passage.record.id for item in index.fetch(SCOPE, [key for key, _ in found or ()])]
    assert len(names) == 5
    assert len({*names, *exact(vector(7), even)}) < 2 * len(names)
    assert all(int(name.removeprefix("rec_")) % 2 == 0 for name in names)
    assert nearest(index, "m", vector(7), limit=1) == ["rec_7"]


def test_who_embeds_writes_the_file(index: SqliteIndex, root: Path) -> None:
    """The file is there when the last vector is, before anybody searches; nothing waits for it then."""
    assert index.state(SCOPE).pending == 0
    assert the_file(root).stat().st_size > COUNT * DIMENSIONS * 4


def test_what_is_new_is_found_beside_the_file(index: SqliteIndex, root: Path) -> None:
    """A vector that came after the file was written is found at once, by this process and by another index."""
    nearest(index, "m", vector(0))
    before = the_file(root)
    fill(index, COUNT, COUNT + 3)
    assert nearest(index, "m", vector(COUNT + 1), limit=1) == [f"rec_{COUNT + 1}"]
    other = SqliteIndex(root, large=LARGE)
    assert nearest(other, "m", vector(COUNT + 1), limit=1) == [f"rec_{COUNT + 1}"]
    other.close()
    assert the_file(root) == before


def test_many_new_ones_are_written_into_a_new_file(index: SqliteIndex, root: Path) -> None:
    """When more came than is large the file is written anew, and the old one is gone."""
    nearest(index, "m", vector(0))
    before = the_file(root)
    fill(index, COUNT, COUNT + LARGE + 1)
    nearest(index, "m", vector(0))
    assert the_file(root) != before
    assert not before.exists()


def test_what_is_deleted_is_overwritten(index: SqliteIndex, root: Path) -> None:
    """The bytes of a removed record's vector are in no file after the call; another's still are. Nobody finds it."""
    other = SqliteIndex(root, large=LARGE)
    assert nearest(index, "m", vector(5), limit=1) == nearest(other, "m", vector(5), limit=1) == ["rec_5"]
    assert vector(5).tobytes() in the_file(root).read_bytes()
    index.put(SCOPE, (), remove=["rec_5"])
    content = the_file(root).read_bytes()
    assert vector(5).tobytes() not in content
    assert vector(6).tobytes() in content
    rest = [number for number in range(COUNT) if number != 5]
    assert nearest(index, "m", vector(5)) == nearest(other, "m", vector(5)) == exact(vector(5), rest)
    assert not index.check(SCOPE)
    other.close()
    fresh = SqliteIndex(root, large=LARGE)
    assert nearest(fresh, "m", vector(5)) == exact(vector(5), rest)
    fresh.close()


def test_a_replaced_embedder_leaves_no_file(index: SqliteIndex, root: Path) -> None:
    """When another embedder has taken over, the file holds its vectors alone."""
    nearest(index, "m", vector(0))
    before = the_file(root)
    embed_all(index, "new")
    assert index.state(SCOPE).embedder == "new"
    assert not before.exists()
    assert nearest(index, "new", vector(8), limit=1) == ["rec_8"]
    assert the_file(root) != before


@pytest.mark.parametrize("damage", ["short", "header", "keys", "empty", "missing", "draft"])
def test_a_file_that_is_not_whole_is_written_anew(index: SqliteIndex, root: Path, damage: str) -> None:
    """Cut, garbled, empty or gone: the next search finds what it found, and leaves a sound file."""
    nearest(index, "m", vector(0))
    index.close()
    path = the_file(root)
    content = bytearray(path.read_bytes())
    if damage == "missing":
        path.unlink()
    elif damage == "draft":
        path.rename(path.with_suffix(".vectors-draft"))
    elif damage in ("short", "empty"):
        path.write_bytes(content[:-1] if damage == "short" else b"")
    else:
        content[3 if damage == "header" else 4_096 + 8] ^= 1
        path.write_bytes(content)
    fresh = SqliteIndex(root, large=LARGE)
    assert nearest(fresh, "m", vector(11)) == exact(vector(11), list(range(COUNT)))
    assert not fresh.check(SCOPE)
    assert not list(path.parent.glob("*.vectors-draft"))
    the_file(root)
    fresh.close()


@pytest.mark.parametrize("place", ["vector", "bits"])
def test_damage_inside_a_file_is_named(index: SqliteIndex, root: Path, place: str) -> None:
    """A byte that changed among the vectors or their signs is found by the check; the untouched file is sound."""
    nearest(index, "m", vector(0))
    assert not index.check(SCOPE)
    path = the_file(root)
    content = bytearray(path.read_bytes())
    content[-5 if place == "vector" else 4_096 + 8 * COUNT + 8] ^= 1
    path.write_bytes(content)
    assert any("vectors" in problem for problem in index.check(SCOPE))


def test_a_file_of_another_index_is_not_used(index: SqliteIndex, root: Path) -> None:
    """A file that was left behind when the index was made anew answers nothing, though its name would fit."""
    nearest(index, "m", vector(0))
    kept = the_file(root)
    content = kept.read_bytes()
    index.clear(SCOPE)
    fill(index, 0, COUNT)
    index.put(SCOPE, (), remove=["rec_5"])
    kept.write_bytes(content)
    index.close()
    rest = [number for number in range(COUNT) if number != 5]
    assert nearest(index, "m", vector(5)) == exact(vector(5), rest)
    assert vector(5).tobytes() not in the_file(root).read_bytes()


def test_a_folder_that_cannot_be_written_costs_only_the_file(
    index: SqliteIndex, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a full disk all vectors are compared in memory."""

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(vector_sidecar, "_write", full)
    the_file(root).unlink()
    assert nearest(index, "m", vector(11)) == exact(vector(11), list(range(COUNT)))
    assert not list((root / SCOPE.folder).glob("*.vectors*"))


@given(st.integers(0, 10_000))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_common_words_are_passed_over_without_a_loss(worded: SqliteIndex, seed: int) -> None:
    """In a large scope the best ten are those of a query for all words, whichever words are common."""
    chosen = random.Random(seed)
    terms = chosen.sample(["often", "always", *(f"w{number}" for number in range(30))], k=4)
    ranks = dict(_all_ranks(worded, terms))
    got = worded.search_text(SCOPE, terms, (), 10, Filters())
    assert [ranks[key] for key in got] == pytest.approx(sorted(ranks.values())[:10])


def _all_ranks(index: SqliteIndex, terms: list[str]) -> list[tuple[int, float]]:
    with index._pool.using(SCOPE) as handle:
        assert handle is not None
        expression = index_search.match_expression(terms, ())
        return index_search._matching(handle.connection, SCOPE, expression, limit=10_000, filters=Filters())


def test_common_words_are_passed_over(worded: SqliteIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where rare words fill the list the query for all words is not run; where they do not it is."""
    asked: list[str] = []
    real = index_search._matching

    def watched(connection: object, scope: object, expression: str, **how: object) -> object:
        asked.append(expression)
        return real(connection, scope, expression, **how)  # type: ignore[arg-type]

    monkeypatch.setattr(index_search, "_matching", watched)
    worded.search_text(SCOPE, ["often", "w5", "w9"], (), 5, Filters())
    assert [expression.count("often") for expression in asked] == [0, 1]
    asked.clear()
    worded.search_text(SCOPE, ["often", "w9"], (), 100, Filters())
    assert len(asked) == 3


@pytest.fixture
def worded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SqliteIndex]:
    """Return an index of passages of which most hold one of two words."""
    monkeypatch.setattr(index_search, "_MANY", 100)
    monkeypatch.setattr(index_search, "_COMMON", 4)
    drawn = random.Random(1)
    index = SqliteIndex(tmp_path / "worded")
    passages: list[Passage] = []
    for number in range(300):
        words = [f"w{int(drawn.paretovariate(0.6)) % 30}" for _ in range(drawn.randint(1, 9))]
        words += ["often"] * drawn.choice([0, 1, 1, 2]) + ["always"] * drawn.choice([0, 0, 1])
        drawn.shuffle(words)
        passages += made(str(number), " ".join(words))
    index.put(SCOPE, passages)
    yield index
    index.close()


def _search_again_and_again(root: Path) -> None:
    while True:
        index = SqliteIndex(root, large=LARGE)
        nearest(index, "m", vector(0))
        index.close()
        for path in (root / SCOPE.folder).glob("*.vectors"):
            path.unlink()


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs POSIX signals")
def test_killed_while_a_file_is_written(index: SqliteIndex, root: Path) -> None:
    """A process that is killed at any time while it writes leaves nothing that misleads the next."""
    index.close()
    context = multiprocessing.get_context("spawn")
    for round_number in range(6):
        process = context.Process(target=_search_again_and_again, args=(root,))
        process.start()
        time.sleep(1.0 + 0.013 * round_number)
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        process.join(60)
        fresh = SqliteIndex(root, large=LARGE)
        assert nearest(fresh, "m", vector(11)) == exact(vector(11), list(range(COUNT)))
        assert not fresh.check(SCOPE)
        fresh.close()
