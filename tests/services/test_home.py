"""What a home is made of, and what is said and done where a part of it is lost, foreign, damaged or a link."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import apsw
import numpy as np
import pytest

import memoranda
from memoranda.adapters.files.documents import FileDocuments
from memoranda.adapters.sqlite.embedding_cache import SqliteEmbeddingCache
from memoranda.domain.outcome import BatchOutcome
from memoranda.domain.scope import OPERATOR, REALM, Scope
from memoranda.errors import BackendError, ConfigurationError, IntegrityError
from memoranda.memory import Memory
from tests.homes import home, read, texts, write

BOB = Scope("agent", "bob")
HASHING = {"memory.provider": "hashing:64"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A home in which main has said two things."""
    folder = tmp_path / "home"
    with home(folder) as memory:
        _save(memory, "The kettle is blue.")
        _save(memory, "The door is green.")
    return folder


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """A folder outside the home that looks like a workspace."""
    folder = tmp_path / "elsewhere"
    write(folder, "MEMORY.md", "- outside zebra\n")
    write(folder, "memory/a.md", "- outside zebra\n")
    return folder


def _save(memory: Memory, text: str) -> BatchOutcome:
    outcome = memory.agent("main").save(text)
    assert outcome.done
    return outcome


def _damage(path: Path) -> None:
    for ending in ("-wal", "-shm"):
        path.with_name(path.name + ending).unlink(missing_ok=True)
    path.write_bytes(b"this is no database " * 400)


def _events(folder: Path) -> int:
    connection = apsw.Connection(str(folder / ".state/ledger.db"))
    count = int(connection.execute("SELECT count(*) FROM events").get)
    connection.close()
    return count


def test_a_key_of_another_home_is_refused_before_anything_is_written(folder: Path) -> None:
    """A key that made none of the events opens nothing; the right one, put back, opens the home as it was."""
    key, before = folder / ".state/key", _events(folder)
    right = key.read_bytes()
    key.write_bytes(bytes(32))
    with pytest.raises(IntegrityError, match=r"the key does not fit this ledger; put the right \.state/key back"):
        memoranda.open(folder)
    assert _events(folder) == before
    key.write_bytes(right)
    with home(folder) as memory:
        assert memory.verify().clean


def test_a_changed_newest_event_is_no_wrong_key(folder: Path) -> None:
    """Where an older event fits, the home opens, so that `verify` can name the event that was changed."""
    connection = apsw.Connection(str(folder / ".state/ledger.db"))
    newest = connection.execute("SELECT max(seq) FROM events").get
    connection.execute("UPDATE events SET subject='other' WHERE seq=?", (newest,))
    connection.close()
    with home(folder) as memory:
        problems = [problem.subject for problem in memory.verify().problems]
    assert f"event {newest}" in problems


@pytest.mark.parametrize("emptied", [False, True])
def test_a_lost_ledger_is_not_begun_anew_in_silence(folder: Path, emptied: bool) -> None:
    """A key without its ledger stops the opening and nothing is made; without both a new home is."""
    ledger = folder / ".state/ledger.db"
    ledger.unlink()
    if emptied:
        ledger.touch()
    with pytest.raises(IntegrityError, match=r"ledger\.db is missing beside its key"):
        memoranda.open(folder)
    assert ledger.exists() is emptied
    shutil.rmtree(folder / ".state")
    with home(folder) as memory:
        memory.sync()
        assert len(texts(memory.agent("main"), "kettle door")) == 2


def test_a_lost_key_is_not_made_anew_beside_events(folder: Path) -> None:
    """A ledger with events needs its own key; one without events, left by an interrupted making, gets one."""
    key = folder / ".state/key"
    key.unlink()
    with pytest.raises(IntegrityError, match="is missing; put it back from a backup"):
        memoranda.open(folder)
    assert not key.exists()
    young = folder.with_name("young")
    with home(young):
        pass
    (young / ".state/key").unlink()
    with home(young) as memory:
        _save(memory, "The roof is red.")
        assert memory.verify().clean
    with home(young) as memory:
        assert texts(memory.agent("main"), "roof") == ["The roof is red."]


def test_a_provider_that_does_not_exist_is_said_at_once(tmp_path: Path) -> None:
    """A wrong address is a wrong setting, found before the home is made; a right one opens."""
    folder = tmp_path / "home"
    with pytest.raises(ConfigurationError, match=r"unknown embedder 'hashin' \(nearest: 'hashing'\)"):
        memoranda.open(folder, settings={"memory.provider": "hashin:64"})
    assert not folder.exists()
    memoranda.open(folder, settings=HASHING).close()
    assert folder.exists()


def test_a_damaged_cache_of_vectors_is_made_anew(tmp_path: Path) -> None:
    """Damage to what is derived fails no verb: it is deleted, and remembers again from there on."""
    folder = tmp_path / "home"
    with memoranda.open(folder, settings=HASHING) as memory:
        _save(memory, "The kettle is blue.")
        assert memory.embed() == 1
    cache = folder / ".state/index/embeddings.db"
    assert cache.read_bytes().startswith(b"SQLite")
    _damage(cache)
    with memoranda.open(folder, settings=HASHING) as memory:
        _save(memory, "The door is green.")
        assert memory.embed() == 1
        assert "The door is green." in texts(memory.agent("main"), "door")
    assert cache.read_bytes().startswith(b"SQLite")


def test_a_cache_of_vectors_survives_damage_at_any_time(tmp_path: Path) -> None:
    """Damage before, between and after uses gives no answer; what is put afterwards is known again."""
    path = tmp_path / "cache.db"
    vectors = {"a": np.ones(4, np.float32)}
    cache = SqliteEmbeddingCache(path, str.encode)
    for statement in ("DROP TABLE vectors", "ALTER TABLE vectors RENAME COLUMN vector TO other"):
        cache.put("model", vectors)
        assert list(cache.get("model", ["a"])) == ["a"]
        other = apsw.Connection(str(path))
        other.execute(statement)
        other.close()
        assert cache.get("model", ["a"]) == {}
    cache.close()
    _damage(path)
    cache.put("model", vectors)
    assert list(cache.get("model", ["a"])) == ["a"]
    cache.close()


@pytest.mark.parametrize("change", ["zeroblob(16)", "substr(vector, 1, 8)", "substr(vector, 1, 7)"])
def test_a_cached_vector_that_was_changed_is_not_used(tmp_path: Path, change: str) -> None:
    """A vector that is not what was stored is unknown; the one beside it is known."""
    path = tmp_path / "cache.db"
    cache = SqliteEmbeddingCache(path, str.encode)
    cache.put("model", {"a": np.ones(4, np.float32), "b": np.ones(4, np.float32)})
    other = apsw.Connection(str(path))
    other.execute(f"UPDATE vectors SET vector={change} WHERE text_hash=?", (b"a",))  # noqa: S608 - from the table above
    assert other.changes() == 1
    other.close()
    assert list(cache.get("model", ["a", "b"])) == ["b"]
    cache.close()


def test_a_cache_of_vectors_that_cannot_be_made_is_done_without(tmp_path: Path) -> None:
    """Where even a new file fails, nothing is remembered and nothing is raised."""
    path = tmp_path / "cache.db"
    path.mkdir()
    cache = SqliteEmbeddingCache(path, str.encode)
    cache.put("model", {"a": np.ones(4, np.float32)})
    assert cache.get("model", ["a"]) == {}
    path.rmdir()
    fresh = SqliteEmbeddingCache(path, str.encode)
    fresh.put("model", {"a": np.ones(4, np.float32)})
    assert list(fresh.get("model", ["a"])) == ["a"]
    cache.close()
    fresh.close()


@pytest.mark.parametrize("statement", ["", "DROP TABLE meta", "DROP TABLE current"])
def test_a_damaged_index_fails_no_save_and_is_rebuilt_by_a_sync(folder: Path, statement: str) -> None:
    """A save is written and says that the index is behind; a search names the remedy, and the remedy works."""
    index = folder / ".state/index/agent+main/index.db"
    if statement:
        connection = apsw.Connection(str(index))
        connection.execute(statement)
        connection.close()
    else:
        _damage(index)
    with home(folder) as memory:
        if statement != "DROP TABLE meta":  # an index without its table of contents is made anew on opening
            with pytest.raises(IntegrityError, match=r"run `memoranda sync`, it rebuilds the index"):
                texts(memory.agent("main"), "kettle")
            assert not _save(memory, "The roof is red.").indexed
        else:
            _save(memory, "The roof is red.")
        assert "The roof is red." in read(folder, "MEMORY.md")
        memory.sync()
        assert len(texts(memory.agent("main"), "kettle door roof")) == 3
        assert memory.verify().clean


def _links(folder: Path, elsewhere: Path) -> Iterator[tuple[Path, Path, Scope]]:
    yield folder / "agents/bob", folder / "agents/alice", BOB
    yield folder / "agents/bob", elsewhere, BOB
    yield folder / "agents/main", elsewhere, Scope("agent", "main")
    yield folder / "agents/main", elsewhere.parent / "nowhere", Scope("agent", "main")
    yield folder / "agents", elsewhere.parent / "crowd", BOB
    yield folder / "teams/x", elsewhere, Scope("team", "x")
    yield folder / "teams", elsewhere.parent / "crowd", Scope("team", "x")
    yield folder / "shared", elsewhere, REALM
    yield folder / "operator", elsewhere, OPERATOR


def test_a_workspace_that_is_a_link_is_nobodys(tmp_path: Path, elsewhere: Path) -> None:
    """Nothing is listed, read or written through it; the same folder, put there, is a workspace."""
    shutil.copytree(elsewhere, tmp_path / "crowd/bob")
    shutil.copytree(elsewhere, tmp_path / "crowd/x")
    folder = tmp_path / "home"
    for place, target, scope in _links(folder, elsewhere):
        shutil.copytree(elsewhere, folder / "agents/alice")
        place.parent.mkdir(parents=True, exist_ok=True)
        if place.is_dir():
            shutil.rmtree(place)
        place.symlink_to(target)
        documents, path = FileDocuments(folder), "memory/a.md"
        assert scope.id == "main" or scope not in documents.scopes()
        assert {found.skip for found in documents.walk(scope)} == {"link"}
        assert "is a link" in documents.check_path(scope, path)
        for attempt in (
            lambda: documents.read(scope, path),  # noqa: B023 - called within the round
            lambda: documents.replace(scope, path, expected=None, data=b"x", token="t"),  # noqa: B023
            lambda: documents.recover(scope, path, "t"),  # noqa: B023
            lambda: documents.discard(scope, path, "t"),  # noqa: B023
        ):
            with pytest.raises(BackendError, match="is a link"):
                attempt()
        place.unlink()
        shutil.copytree(tmp_path / "crowd" if place.name in ("agents", "teams") else elsewhere, place)
        assert scope in documents.scopes()
        assert path in [found.path for found in documents.walk(scope) if not found.skip]
        assert documents.check_path(scope, path) == ""
        assert documents.read(scope, path) is not None
        shutil.rmtree(folder)


def test_a_workspace_that_became_a_link_keeps_what_was_known(folder: Path, elsewhere: Path) -> None:
    """A sync reports the link, learns nothing through it and retires nothing; a save is refused."""
    with home(folder) as memory:
        bob = memory.agent("bob")
        assert bob.save("The lamp is yellow.").done
        place = folder / "agents/bob"
        place.rename(folder / "agents/kept")
        place.symlink_to(elsewhere)
        report = memory.sync()
        assert {item.reason for item in report.skipped if item.scope == str(BOB)} == {"link"}
        assert texts(bob, "lamp zebra") == ["The lamp is yellow."]
        before = (elsewhere / "MEMORY.md").read_bytes()
        assert not bob.save("The tap is grey.").done
        assert (elsewhere / "MEMORY.md").read_bytes() == before
        place.unlink()
        (folder / "agents/kept").rename(place)
        assert bob.save("The tap is grey.").done


def test_the_home_itself_may_be_a_link(folder: Path) -> None:
    """A person may put the home elsewhere and link to it."""
    link = folder.with_name("link")
    link.symlink_to(folder)
    with home(link) as memory:
        _save(memory, "The roof is red.")
        assert memory.sync().skipped == ()
        assert len(texts(memory.agent("main"), "kettle door roof")) == 3


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [
        "'{}'",
        "'[]'",
        "'no json'",
        "json_remove(body, '$.at')",
        "json_set(body, '$.at', 5)",
        "json_set(body, '$.author', 5)",
        "json_set(body, '$.author', 'nobody:x')",
        "json_set(body, '$.reason', 'whim')",
        "json_set(body, '$.edits', json('[[1]]'))",
        "json_set(body, '$.changes', json('[[1,2,3]]'))",
        "json_set(body, '$.changes', json('[[\"record.created\",{},\"\"]]'))",
        "json_set(body, '$.texts', 5)",
        "json_set(body, '$.texts', json('{\"a\":5}'))",
        "json_set(body, '$.states', json('[[1,2,3,4,5,6,7,8]]'))",
    ],
)
def test_an_intent_that_cannot_be_read_is_damage(folder: Path, change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is wrong with it, the error says that the ledger is damaged; unchanged it is finished."""
    from memoranda.adapters.sqlite.ledger import SqliteLedger

    with home(folder) as memory:
        monkeypatch.setattr(SqliteLedger, "commit", _stop)
        with pytest.raises(BackendError, match="stopped"):
            memory.agent("main").save("The roof is red.")
        monkeypatch.undo()
    copy = shutil.copytree(folder, folder.with_name("copy"))
    connection = apsw.Connection(str(folder / ".state/ledger.db"))
    connection.execute(f"UPDATE intents SET body={change}")  # noqa: S608 - from the table above
    assert connection.changes() == 1
    connection.close()
    with home(folder) as memory, pytest.raises(IntegrityError, match="unfinished batch"):
        memory.sync()
    with home(copy) as memory:
        assert memory.sync().recovered_batches == 1


def _stop(*_: object) -> None:
    raise BackendError("stopped")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away")
def test_a_written_file_keeps_its_owner_and_group(folder: Path) -> None:
    """A person's file stays theirs when the product, run by root, writes into it."""
    path = folder / "MEMORY.md"
    os.chown(path, 12_345, 23_456)
    with home(folder) as memory:
        _save(memory, "The roof is red.")
    status = path.stat()
    assert (status.st_uid, status.st_gid) == (12_345, 23_456)
    assert "The roof is red." in path.read_text()


def test_a_file_that_cannot_be_given_away_is_written_all_the_same(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the owner cannot be kept, the content is what counts."""
    asked: list[int] = []

    def refuse(path: Path, owner: int, group: int, *, follow_symlinks: bool) -> None:
        assert (group, follow_symlinks) == (path.stat().st_gid, False)
        asked.append(owner)
        raise PermissionError(1, "Operation not permitted")

    real = Path.stat

    def foreign(path: Path, *, follow_symlinks: bool = True) -> os.stat_result:
        status = real(path, follow_symlinks=follow_symlinks)
        times = {name: getattr(status, name) for name in ("st_atime_ns", "st_mtime_ns", "st_ctime_ns")}
        theirs = [*status[:4], status[4] + 1, *status[5:]]
        return os.stat_result(theirs, times) if path.name == "MEMORY.md" else status

    with home(folder) as memory:
        monkeypatch.setattr(os, "chown", refuse)
        monkeypatch.setattr(Path, "stat", foreign)
        _save(memory, "The roof is red.")
        monkeypatch.undo()
    assert asked[-1] == -1
    assert "The roof is red." in read(folder, "MEMORY.md")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="extended attributes as Linux has them")
def test_a_written_file_keeps_its_extended_attributes(folder: Path) -> None:
    """What a person or desktop noted on a file is there after a write."""
    path = folder / "MEMORY.md"
    try:
        os.setxattr(path, "user.note", b"of the person")
    except OSError:
        pytest.skip("this file system has no extended attributes")
    with home(folder) as memory:
        _save(memory, "The roof is red.")
    assert os.getxattr(path, "user.note") == b"of the person"
    assert "The roof is red." in path.read_text()
