"""A disk that is full, read-only or failing leaves nothing half done, says so, and is written again when it is well."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw
import pytest

import memoranda
from memoranda.adapters.files import atomic
from memoranda.errors import BackendError
from memoranda.memory import Memory
from tests.faults import crash_child
from tests.faults.crash_scenes import NOTES, OFFERED, standing, stray_files

FIRST = "The first note."


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    """A memory with one note in it."""
    with memoranda.open(tmp_path / "home", settings=crash_child.SETTINGS) as opened:
        assert opened.agent("main").save(FIRST, file=NOTES).done
        yield opened


def _failing(number: int, code: int, real: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that fails at its call `number` (from 1) for something beside `.state`, and only there."""
    calls = 0

    def call(*arguments: Any, **named: Any) -> Any:
        nonlocal calls
        calls += ".state" not in str(arguments[0])
        if calls == number and ".state" not in str(arguments[0]):
            raise OSError(code, os.strerror(code))
        return real(*arguments, **named)

    return call


def _unchanged(memory: Memory, before: object) -> None:
    assert standing(memory, memory.home) == before
    assert stray_files(memory.home) == []
    assert memory.verify().clean


def _works_again(memory: Memory) -> None:
    assert memory.agent("main").save("Written when the disk was well.", file=NOTES).done
    assert "Written when the disk was well." in (memory.home / NOTES).read_text(encoding="utf-8")
    assert memory.verify().clean


def _append(memory: Memory) -> None:
    memory.agent("main").save(f"{OFFERED}\n\nAnd this.", file=NOTES)


def _create(memory: Memory) -> None:
    memory.agent("main").save(f"{OFFERED}\n\nAnd this.", file="memory/fresh.md")


def _delete(memory: Memory) -> None:
    memory.person("main").delete(file=NOTES, delete_file=True)


@pytest.mark.slow
@pytest.mark.parametrize("action", [_append, _create, _delete])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EROFS], ids=["full", "failing", "read-only"])
@pytest.mark.parametrize("call", ["open", "fsync"])
def test_file_that_cannot_be_written(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, action: Callable[[Memory], None], code: int, call: str
) -> None:
    """Whatever the file system refuses, and at whichever call, the file is as it was or the write comes to its end."""
    before = standing(memory, memory.home)
    failed = 0
    for number in range(1, 20):
        with monkeypatch.context() as broken:
            broken.setattr(os, call, _failing(number, code, getattr(os, call)))
            try:
                action(memory)
            except BackendError as error:
                failed += 1
                assert OFFERED not in str(error)  # noqa: PT017 - how many fail is not known
            else:
                break
        memory.sync()
        _unchanged(memory, before)
    assert failed
    assert standing(memory, memory.home) != before
    _works_again(memory)


def test_lock_that_cannot_be_made(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lock file that the disk refuses is an error of the library, and the write can be tried again."""
    before = standing(memory, memory.home)
    opening = os.open

    def refuse(path: object, *arguments: Any, **named: Any) -> int:
        if str(path).endswith(".lock"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return opening(path, *arguments, **named)  # type: ignore[arg-type]

    with monkeypatch.context() as broken:
        broken.setattr(os, "open", refuse)
        with pytest.raises(BackendError):
            _append(memory)
    _unchanged(memory, before)
    _works_again(memory)


@pytest.mark.skipif(sys.platform == "win32", reason="file size limits are Unix'")
def test_copy_torn_by_a_full_disk(memory: Memory) -> None:
    """A copy of which only a part fits is removed; a text that fits is written."""
    import resource

    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    text = "\n\n".join(f"Paragraph {number} of a long text." for number in range(1_400))
    assert len(text) < 50_000
    before = standing(memory, memory.home)
    with pytest.MonkeyPatch.context() as patched:
        real = atomic._write

        def cramped(path: Path, data: bytes, mode: int) -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limit[1]))
            try:
                real(path, data, mode)
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, limit)

        patched.setattr(atomic, "_write", cramped)
        with pytest.raises(BackendError):
            memory.agent("main").save(text, file=NOTES)
        memory.sync()
        _unchanged(memory, before)
        assert memory.agent("main").save(OFFERED, file=NOTES).done
    _works_again(memory)


class _Full:
    """Lets a database grow no further, as a full disk would."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def __enter__(self) -> None:
        self._connection.execute(f"PRAGMA max_page_count={self._connection.execute('PRAGMA page_count').get}")

    def __exit__(self, *_: object) -> None:
        self._connection.execute("PRAGMA max_page_count=1073741823")


@pytest.mark.slow
def test_ledger_that_cannot_grow(memory: Memory) -> None:
    """Where the ledger cannot take the intent, no file is touched; a later write works."""
    before = standing(memory, memory.home)
    long = "\n\n".join(f"Paragraph {number} of a long text." for number in range(1_400))
    with _Full(memory._parts.stores.ledger._db), pytest.raises(BackendError, match=r"ledger\.db"):  # type: ignore[attr-defined]
        memory.agent("main").save(long, file=NOTES)
    _unchanged(memory, before)
    _works_again(memory)


class _Refusing:
    """A port of which one method fails so many times."""

    def __init__(self, inner: object, method: str, times: int) -> None:
        self._inner, self._method, self.left = inner, method, times

    def __getattr__(self, name: str) -> Any:
        if name == self._method and self.left:
            return self._refuse
        return getattr(self._inner, name)

    def _refuse(self, *_: object, **__: object) -> None:
        self.left -= 1
        raise BackendError("the disk is full")


def _refusing(memory: Memory, port: str, method: str, times: int = 1) -> _Refusing:
    stores = memory._parts.stores
    refusing = _Refusing(getattr(stores, port), method, times)
    changed: dict[str, Any] = {port: refusing}
    memory._parts = replace(memory._parts, stores=replace(stores, **changed))
    return refusing


def test_commit_that_fails_after_the_swap(memory: Memory) -> None:
    """Where the ledger fails after the file is written, nothing is acknowledged and the next call finishes it."""
    refusing = _refusing(memory, "ledger", "commit")
    with pytest.raises(BackendError):
        _append(memory)
    assert not refusing.left
    assert OFFERED in (memory.home / NOTES).read_text(encoding="utf-8")
    assert memory.agent("main").save("The next call.", file="memory/other.md").done
    lines = memory.agent("main").blame(NOTES)
    assert [(line.text, str(line.record.author)) for line in lines if line.record] == [
        (FIRST, "agent:main"),
        (OFFERED, "agent:main"),
        ("And this.", "agent:main"),
    ]
    memory.sync()
    assert memory.verify().clean
    assert OFFERED in {hit.text for hit in memory.agent("main").search(OFFERED).hits}


def test_second_file_that_fails(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the second of two files cannot be written, the first is taken back; then both can be."""
    person = memory.person("main")
    person.save("A list.", file="memory/list.md")
    person.save("More notes.", file=NOTES)
    before = standing(memory, memory.home)
    with monkeypatch.context() as broken:
        broken.setattr(atomic, "replace", _failing(2, errno.ENOSPC, atomic.replace))
        with pytest.raises(BackendError):
            person.undo(2)
    _unchanged(memory, before)
    assert person.undo(2).done
    assert standing(memory, memory.home) != before
    assert not (memory.home / "memory" / "list.md").exists()
    _works_again(memory)


def test_index_that_cannot_be_written(memory: Memory) -> None:
    """An index that fails takes nothing from a write: it is acknowledged as not indexed, and sync repairs it."""
    _refusing(memory, "index", "put")
    outcome = memory.agent("main").save(OFFERED, file=NOTES)
    assert outcome.done
    assert not outcome.indexed
    assert memory.agent("main").search(OFFERED).hits == ()
    assert memory.sync().reindexed
    assert [hit.text for hit in memory.agent("main").search(OFFERED).hits] == [OFFERED]
    assert memory.verify().clean
