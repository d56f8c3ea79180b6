"""The zvec arm on real collections: what it names is compared exactly, and where it cannot answer the scan does."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from memoranda.adapters.sqlite.index import SqliteIndex
from memoranda.adapters.zvec.arm import ZvecArm, open_arm
from memoranda.domain.query import Filters
from memoranda.domain.record import Kind
from memoranda.ports import Vector
from memoranda.ports.arm import Arms, Keys, Take
from memoranda.testing.index_suite import SCOPE, made
from tests.services.recall_setup import TopicEmbedder, ask, fill

COUNT, DIMENSIONS = 600, 32


def vectors() -> Vector:
    """Return unit vectors in clusters."""
    drawn = np.random.default_rng(1)
    near_to = drawn.standard_normal((30, DIMENSIONS))[np.arange(COUNT) % 30]
    rows = near_to + 0.4 * drawn.standard_normal((COUNT, DIMENSIONS))
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


ROWS = vectors()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return the root of an index."""
    return tmp_path / "index"


@pytest.fixture
def index(root: Path) -> Iterator[SqliteIndex]:
    """Return an index of 600 vectors that asks zvec."""
    index = SqliteIndex(root, arms=Arms(open_arm))
    kinds = [Kind.FACT if number % 60 else Kind.GOTCHA for number in range(COUNT)]
    passages = [made(str(number), f"record {number}", kind=kind) for number, kind in enumerate(kinds)]
    index.put(SCOPE, [part for parts in passages for part in parts])
    waiting = index.pending(SCOPE, "m", COUNT)
    numbers = [int(text.split()[-1]) for _, text in waiting]
    index.put_vectors(SCOPE, "m", [key for key, _ in waiting], ROWS[numbers])
    yield index
    index.close()


def near(index: SqliteIndex, query: Vector, limit: int = 10, filters: Filters | None = None) -> list[int]:
    """Return the numbers of the nearest records."""
    found = index.search_vector(SCOPE, "m", query, limit, filters or Filters()) or ()
    return [int(hit.passage.record.id.removeprefix("rec_")) for hit in index.fetch(SCOPE, [key for key, _ in found])]


def right(query: Vector, limit: int = 10, without: int = -1) -> list[int]:
    """Return the numbers of the nearest by comparing all."""
    order = [int(number) for number in np.argsort(-(ROWS @ query), kind="stable") if number != without]
    return order[:limit]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return how many each question to zvec was answered with."""
    counts: list[int] = []
    real = ZvecArm.nearest

    def watched(self: ZvecArm, query: Vector, count: int) -> object:
        found = real(self, query, count)
        counts.append(-1 if found is None else len(found))
        return found

    monkeypatch.setattr(ZvecArm, "nearest", watched)
    return counts


def test_zvec_names_and_the_index_compares(index: SqliteIndex, asked: list[int]) -> None:
    """Nine in ten of the ten nearest are found at least, with exact cosines, and zvec was what named them."""
    shares = [len({*near(index, row)} & {*right(row)}) / 10 for row in ROWS[::37]]
    assert np.mean(shares) >= 0.9
    assert asked == [200] * len(shares)
    key, cosine = (index.search_vector(SCOPE, "m", ROWS[5], 1, Filters()) or ())[0]
    assert cosine == pytest.approx(1.0, abs=1e-5)
    assert index.fetch(SCOPE, [key])[0].passage.record.id == "rec_5"
    assert index.remark(SCOPE) == ""


def test_what_is_deleted_is_not_named(index: SqliteIndex, root: Path, asked: list[int]) -> None:
    """A removed record is found no more, by this index and by the next one that opens the collection."""
    assert near(index, ROWS[5], 1) == [5]
    index.put(SCOPE, (), remove=["rec_5"])
    assert near(index, ROWS[5], 3) == right(ROWS[5], 3, without=5)
    index.close()
    fresh = SqliteIndex(root, arms=Arms(open_arm))
    assert near(fresh, ROWS[5], 3) == right(ROWS[5], 3, without=5)
    assert min(asked) > 0
    fresh.close()


def test_a_collection_outlives_its_process(index: SqliteIndex, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Opened again, nothing is given over to zvec a second time."""
    assert near(index, ROWS[5], 1) == [5]
    index.close()
    taken: list[int] = []
    real = ZvecArm.follow

    def watched(self: ZvecArm, space: str, keys: Keys, dimensions: int, take: Take) -> None:
        def counted(some: Keys) -> Vector:
            taken.append(len(some))
            return take(some)

        real(self, space, keys, dimensions, counted)

    monkeypatch.setattr(ZvecArm, "follow", watched)
    fresh = SqliteIndex(root, arms=Arms(open_arm))
    assert near(fresh, ROWS[5], 1) == [5]
    assert taken == []
    fresh.put(SCOPE, made("new", "another"))
    waiting = [key for key, _ in fresh.pending(SCOPE, "m", 5)]
    fresh.put_vectors(SCOPE, "m", waiting, -ROWS[5:6])
    assert near(fresh, ROWS[5], 1) == [5]
    assert taken == [1]
    fresh.close()


def test_filters_that_leave_few_go_by_the_scan(index: SqliteIndex) -> None:
    """Ten of six hundred are of one kind: all ten are found, whatever zvec names."""
    found = near(index, ROWS[5], 10, Filters(kinds=frozenset({Kind.GOTCHA})))
    assert sorted(found) == list(range(0, COUNT, 60))


LOCKING = """
import sys, zvec
collection = zvec.open(sys.argv[1])
print("held", flush=True)
sys.stdin.read()
"""


def test_another_process_has_the_collection(index: SqliteIndex, root: Path) -> None:
    """Who comes second searches by the built-in scan, and the trace says so; when it is free zvec answers again."""
    near(index, ROWS[5], 1)
    index.close()
    data = root / SCOPE.folder / "zvec" / "data"
    holder = subprocess.Popen(
        [sys.executable, "-c", LOCKING, str(data)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        other = SqliteIndex(root, arms=Arms(open_arm))
        assert near(other, ROWS[5]) == right(ROWS[5])
        assert other.remark(SCOPE) == "another process uses the zvec collection"
    finally:
        holder.communicate("", timeout=60)
    other.put(SCOPE, made("new", "another"))
    assert near(other, ROWS[5], 1) == [5]
    assert other.remark(SCOPE) == ""
    other.close()


@pytest.mark.parametrize("damage", ["garbled", "half", "keys"])
def test_damaged_files_are_made_again(index: SqliteIndex, root: Path, damage: str) -> None:
    """A collection that cannot be opened, or is not the one that was finished, is filled again from the index."""
    near(index, ROWS[5], 1)
    index.close()
    folder = root / SCOPE.folder / "zvec"
    if damage == "keys":
        (folder / "keys.npy").write_bytes(b"nothing")
    elif damage == "half":
        (folder / "space.json").unlink()
    else:
        for path in (folder / "data").glob("manifest*"):
            path.write_bytes(b"\0" * 40)
    fresh = SqliteIndex(root, arms=Arms(open_arm))
    assert near(fresh, ROWS[5]) == right(ROWS[5])
    assert fresh.remark(SCOPE) == ""
    fresh.close()


def test_a_failure_of_zvec_is_told_and_costs_no_answer(index: SqliteIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever zvec raises, the scan answers, and the trace of a search names it."""

    def broken(*_: object) -> None:
        raise RuntimeError("disk full")

    monkeypatch.setattr(ZvecArm, "_follow", broken)
    assert near(index, ROWS[5]) == right(ROWS[5])
    assert index.remark(SCOPE) == "zvec failed: disk full"


def test_a_search_says_who_answered(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The note of a recall is there while zvec fails, and is not while it answers."""
    index = SqliteIndex(root, arms=Arms(open_arm))
    fill(index, fruit="an apricot")
    embedder = TopicEmbedder()
    waiting = index.pending(SCOPE, embedder.identity, 5)
    index.put_vectors(
        SCOPE, embedder.identity, [key for key, _ in waiting], embedder.embed_documents([text for _, text in waiting])
    )
    assert not [note for note in ask(index, "peach", embedder=embedder).trace.notes if "scan" in note]
    monkeypatch.setattr(ZvecArm, "_follow", lambda *_: (_ for _ in ()).throw(RuntimeError("gone")))
    fill(index, other="a fig")
    notes = ask(index, "peach", embedder=embedder).trace.notes
    assert "zvec failed: gone: the built-in scan was used" in notes
    index.close()


def test_clearing_a_scope_removes_its_collection(index: SqliteIndex, root: Path) -> None:
    """What erasing does to an index takes the collection with it."""
    near(index, ROWS[5], 1)
    assert (root / SCOPE.folder / "zvec").exists()
    index.clear(SCOPE)
    assert not (root / SCOPE.folder).exists()
