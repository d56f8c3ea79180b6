# ruff: noqa: S608 - column names come from this test
"""Runs the conformance suite over the built-in index and the one in memory, and tests what files can do."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import apsw
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memoranda.adapters.sqlite import index_schema
from memoranda.adapters.sqlite.index import SqliteIndex
from memoranda.adapters.zvec.arm import open_arm
from memoranda.domain.query import Filters
from memoranda.domain.scope import Scope
from memoranda.errors import IntegrityError
from memoranda.ports import SearchIndex
from memoranda.ports.arm import Arms
from memoranda.testing.index_suite import SCOPE, SearchIndexSuite, embed, found, made, nearest, time_at, unit
from memoranda.testing.memory_index import MemoryIndex
from memoranda.testing.turn_suite import TurnIndexSuite


class TestSqliteIndex(SearchIndexSuite, TurnIndexSuite):
    """The built-in index keeps the contract."""

    @pytest.fixture
    def index(self, tmp_path: Path) -> Iterator[SearchIndex]:
        """Return an empty index in a folder that does not exist yet."""
        index = SqliteIndex(tmp_path / "index")
        yield index
        index.close()


class TestLargeSqliteIndex(SearchIndexSuite, TurnIndexSuite):
    """So does an index that takes any two vectors for a large scope, and keeps them in a file."""

    @pytest.fixture
    def index(self, tmp_path: Path) -> Iterator[SearchIndex]:
        """Return an empty index that scans files."""
        index = SqliteIndex(tmp_path / "index", large=1)
        yield index
        index.close()


class TestZvecIndex(SearchIndexSuite, TurnIndexSuite):
    """So does an index whose vectors are found by zvec."""

    @pytest.fixture
    def index(self, tmp_path: Path) -> Iterator[SearchIndex]:
        """Return an empty index that asks zvec."""
        index = SqliteIndex(tmp_path / "index", arms=Arms(open_arm))
        yield index
        index.close()


class TestMemoryIndex(SearchIndexSuite, TurnIndexSuite):
    """The fake keeps the same contract."""

    @pytest.fixture
    def index(self) -> SearchIndex:
        """Return an empty index."""
        return MemoryIndex()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return the root of an index."""
    return tmp_path / "index"


@pytest.fixture
def index(root: Path) -> Iterator[SqliteIndex]:
    """Return an empty built-in index."""
    index = SqliteIndex(root)
    yield index
    index.close()


def database(root: Path, scope: Scope = SCOPE) -> Path:
    """Return the database of a scope."""
    return root / scope.folder / "index.db"


def test_folders_and_files_are_private(index: SqliteIndex, root: Path) -> None:
    """The folder of a scope is 0700 and its database 0600."""
    index.put(SCOPE, made("1", "apricot"))
    assert database(root).parent.stat().st_mode & 0o777 == 0o700
    assert database(root).stat().st_mode & 0o777 == 0o600


def test_reading_creates_no_folder(index: SqliteIndex, root: Path) -> None:
    """A search in an absent scope leaves no trace on disk; a write makes its folder."""
    found(index, "apricot")
    assert not root.exists()
    index.put(SCOPE, made("1", "apricot"))
    assert database(root).exists()


def test_an_index_survives_the_process(index: SqliteIndex, root: Path) -> None:
    """Another object over the same folder finds words and vectors."""
    index.put(SCOPE, made("1", "apricot"))
    embed(index, "m", {"rec_1": unit(1, 0)})
    index.close()
    other = SqliteIndex(root)
    assert found(other, "apricot") == ["rec_1"]
    assert nearest(other, "m", unit(1, 0)) == ["rec_1"]
    other.close()


def test_a_folder_of_another_scope_is_refused(index: SqliteIndex, root: Path) -> None:
    """An index copied under another scope's name raises IntegrityError; under its own name it answers."""
    index.put(SCOPE, made("1", "apricot"))
    index.close()
    stolen = Scope("agent", "thief")
    shutil.copytree(root / SCOPE.folder, root / stolen.folder)
    with pytest.raises(IntegrityError):
        found(index, "apricot", scope=stolen)
    assert "does not hold" in index.check(stolen)[0]
    assert found(index, "apricot") == ["rec_1"]


def test_a_folder_deleted_meanwhile_is_noticed(index: SqliteIndex, root: Path) -> None:
    """After its folder is deleted a scope is empty, and what is put then is in the new file."""
    index.put(SCOPE, made("1", "apricot"))
    embed(index, "m", {"rec_1": unit(1, 0)})
    assert nearest(index, "m", unit(1, 0)) == ["rec_1"]
    shutil.rmtree(root / SCOPE.folder)
    assert found(index, "apricot") == []
    index.put(SCOPE, made("2", "banana"))
    assert nearest(index, "m", unit(1, 0)) == []
    other = SqliteIndex(root)
    assert found(other, "apricot banana") == ["rec_2"]
    other.close()


def test_another_version_is_rebuilt_empty(index: SqliteIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    """An index of another schema version is emptied and usable; of the same version it keeps what it has."""
    index.put(SCOPE, made("1", "apricot"))
    index.close()
    assert found(index, "apricot") == ["rec_1"]
    index.close()
    monkeypatch.setattr(index_schema, "SCHEMA", "0.0")
    assert found(index, "apricot") == []
    index.put(SCOPE, made("2", "apricot"))
    assert found(index, "apricot") == ["rec_2"]
    assert list(index.check(SCOPE)) == []


def test_few_databases_stay_open(root: Path) -> None:
    """With room for two open indexes six scopes still answer."""
    index = SqliteIndex(root, open_limit=2)
    scopes = [Scope("agent", f"a{i}") for i in range(6)]
    for scope in scopes:
        index.put(scope, made("1", f"apricot {scope.id}", scope=scope))
    assert [found(index, scope.id, scope=scope) for scope in scopes] == [["rec_1"]] * 6
    assert len(index._pool._open) == 2
    index.close()


def test_threads_share_an_index(root: Path) -> None:
    """Four threads that write and search six scopes with two open databases lose and raise nothing."""
    index = SqliteIndex(root, open_limit=2)
    scopes = [Scope("agent", f"a{i}") for i in range(6)]
    errors: list[BaseException] = []

    def work(name: int) -> None:
        try:
            for turn in range(5):
                for scope in scopes:
                    index.put(scope, made(f"{name}-{turn}", f"apricot {name} {turn}", scope=scope))
                    found(index, "apricot", scope=scope)
        except BaseException as error:  # noqa: BLE001 - handed to the test
            errors.append(error)

    threads = [threading.Thread(target=work, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert [index.state(scope).passages for scope in scopes] == [20] * 6
    index.close()


def test_two_objects_see_each_other(index: SqliteIndex, root: Path) -> None:
    """Changes made through another object are seen: new vectors, replaced ones, removed ones."""
    other = SqliteIndex(root)
    index.put(SCOPE, (*made("1", "apricot"), *made("2", "banana")))
    embed(index, "m", {"rec_1": unit(1, 0), "rec_2": unit(0, 1)})
    assert nearest(other, "m", unit(1, 0)) == ["rec_1", "rec_2"]
    index.put(SCOPE, made("3", "cherry"), remove=["rec_1"])
    embed(index, "m", {"rec_3": unit(2, 1)})
    assert nearest(other, "m", unit(1, 0)) == ["rec_3", "rec_2"]
    index.clear(SCOPE)
    assert nearest(other, "m", unit(1, 0)) == []
    other.close()


def test_deleted_text_leaves_the_files(index: SqliteIndex, root: Path) -> None:
    """The bytes of a removed record are gone once the log is folded in; those of others are there."""
    index.put(SCOPE, (*made("1", "xylophonequartz apricot"), *made("2", "zirconiumfjord banana")))
    index.put(SCOPE, (), remove=["rec_1"])
    index.close()
    data = b"".join(path.read_bytes() for path in database(root).parent.iterdir())
    assert b"zirconiumfjord" in data
    assert b"xylophonequartz" not in data


@pytest.mark.parametrize("column", ["terms", "exact", "heading", "passage", "tags", "path", "record", "valid_to"])
def test_a_changed_row_is_named(index: SqliteIndex, root: Path, column: str) -> None:
    """Altering one value of a row is reported with its record; before that nothing is."""
    index.put(SCOPE, (*made("1", "apricot", tags=("t",), valid_to=time_at(9)), *made("2", "banana")))
    assert list(index.check(SCOPE)) == []
    index.close()
    connection = apsw.Connection(str(database(root)))
    value = connection.execute(f"SELECT CAST({column} AS BLOB) FROM current WHERE record = 'rec_1'").get
    flipped = bytes([value[0] ^ 1]) + value[1:]
    cast = "?" if column == "passage" else "CAST(? AS TEXT)"
    connection.execute("DROP TRIGGER current_changed")
    connection.execute(f"UPDATE current SET {column} = {cast} WHERE record = 'rec_1'", (flipped,))
    connection.close()
    problems = index.check(SCOPE)
    name = flipped.decode() if column == "record" else "rec_1"
    assert any(f"record {name} " in problem for problem in problems)
    assert not any("rec_2 " in problem for problem in problems)
    assert not any("apricot" in problem for problem in problems)


def test_a_flipped_byte_on_disk_is_found(index: SqliteIndex, root: Path) -> None:
    """Flipping any one byte of a passage, its words or its vector in the file is reported."""
    index.put(SCOPE, made("1", "apricotisms everywhere"))
    vector = unit(0.123, 0.456)
    embed(index, "m", {"rec_1": vector})
    index.close()
    pristine = database(root).read_bytes()
    marks = (b'"text":"apricotisms', b"apricot everywher", b"apricotisms everywhere", vector.tobytes())
    assert list(index.check(SCOPE)) == []
    for mark in marks:
        at = pristine.find(mark)
        assert at > 0
        for offset in (0, len(mark) // 2, len(mark) - 1):
            data = bytearray(pristine)
            data[at + offset] ^= 0x04
            index.close()
            database(root).write_bytes(bytes(data))
            assert any("rec_1" in problem for problem in index.check(SCOPE)), (mark, offset)
    index.close()
    database(root).write_bytes(pristine)
    assert list(index.check(SCOPE)) == []


def test_keyword_tables_that_lost_a_row_are_reported(index: SqliteIndex, root: Path) -> None:
    """A keyword table that does not match its rows is a problem; a matching one is none."""
    index.put(SCOPE, (*made("1", "apricot"), *made("2", "banana")))
    assert list(index.check(SCOPE)) == []
    index.close()
    connection = apsw.Connection(str(database(root)))
    connection.execute("INSERT INTO current_words(current_words) VALUES ('delete-all')")
    connection.close()
    assert any("keyword table of current" in problem for problem in index.check(SCOPE))


def test_a_file_that_is_no_database_is_an_error_and_can_be_cleared(index: SqliteIndex, root: Path) -> None:
    """Garbage raises IntegrityError and is no empty answer; after `clear` the scope works again."""
    index.put(SCOPE, made("1", "apricot"))
    index.close()
    database(root).write_bytes(b"garbage " * 1000)
    with pytest.raises(IntegrityError):
        found(index, "apricot")
    assert index.check(SCOPE)
    index.clear(SCOPE)
    index.put(SCOPE, made("1", "apricot"))
    assert found(index, "apricot") == ["rec_1"]


@given(data=st.data(), count=st.integers(1, 120), seed=st.integers(0, 2**31))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_vector_arm_equals_brute_force(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, count: int, seed: int
) -> None:
    """The nearest keys and their cosines are exactly those of sorting every product, whatever was removed."""
    generator = np.random.default_rng(seed)
    index = SqliteIndex(tmp_path_factory.mktemp("index"))
    index.put(
        SCOPE,
        [p for i in range(count) for p in made(f"{i:03d}", f"word {i}", recorded_at=time_at(1 + i % 28))],
    )
    matrix = generator.normal(size=(count, 16)).astype(np.float32)
    matrix[:: max(count // 7, 1)] = matrix[0]
    query = generator.normal(size=16).astype(np.float32)
    keys = sorted(key for key, _ in index.pending(SCOPE, "m", 1000))
    index.put_vectors(SCOPE, "m", keys, matrix)
    index.search_vector(SCOPE, "m", query, 3, Filters())
    gone = data.draw(st.sets(st.integers(0, count - 1)))
    index.put(SCOPE, (), remove=[f"rec_{i:03d}" for i in gone])
    since = time_at(data.draw(st.integers(1, 28)))
    limit = data.draw(st.integers(1, count))
    kept = [i for i in range(count) if i not in gone and time_at(1 + i % 28) >= since]
    near = index.search_vector(SCOPE, "m", query, limit, Filters(since=since))
    assert near is not None
    exact = {keys[i]: float(np.dot(matrix[i].astype(np.float64), query.astype(np.float64))) for i in kept}
    assert len(near) == min(limit, len(kept))
    assert all(abs(score - exact[key]) < 1e-5 for key, score in near)
    assert [score for _, score in near] == sorted((score for _, score in near), reverse=True)
    worst = min((score for _, score in near), default=0.0)
    assert all(exact[key] <= worst + 1e-5 for key in exact.keys() - {key for key, _ in near})
    index.close()
