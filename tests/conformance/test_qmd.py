"""The QMD arm on the real command line: it names notes beside the index's own, and whatever fails costs no answer."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from memoranda.adapters.qmd.arm import QmdArm
from memoranda.adapters.sqlite.index import SqliteIndex
from memoranda.domain.query import Filters
from memoranda.domain.words import parse_query
from memoranda.ports.arm import Arms
from memoranda.testing.index_suite import SCOPE, SearchIndexSuite, found, made

COMMAND = os.environ.get("MEMORANDA_TEST_QMD", "")
"""Path of the command; `.ci/run` installs it and sets this, and then a missing one fails."""

needs_qmd = pytest.mark.skipif(not COMMAND, reason="MEMORANDA_TEST_QMD names no qmd; .ci/run installs one")


def index_at(root: Path, command: str = COMMAND, timeout: float = 60.0) -> SqliteIndex:
    """Return an index that asks QMD."""
    return SqliteIndex(root, arms=Arms(text=lambda folder: QmdArm(folder, command=command, timeout=timeout)))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return the root of an index."""
    return tmp_path / "index"


@pytest.fixture
def index(root: Path) -> Iterator[SqliteIndex]:
    """Return an index of three notes that asks QMD."""
    index = index_at(root)
    index.put(
        SCOPE, (*made("1", "The apricot tree in the garden."), *made("2", "Deploys on Fridays."), *made("3", "-x"))
    )
    yield index
    index.close()


def folder(root: Path) -> Path:
    """Return what QMD has of the scope."""
    return root / SCOPE.folder / "qmd"


@needs_qmd
def test_what_qmd_names_comes_first(index: SqliteIndex, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the index's own words cut off, what is found is what QMD found; it asked its own collection."""
    assert found(index, "apricot garden") == ["rec_1"]
    assert index.remark(SCOPE) == ""
    monkeypatch.setattr("memoranda.adapters.sqlite.index_search.search_text", lambda *_, **__: [])
    assert found(index, "apricot garden") == ["rec_1"]
    assert found(index, "apricot deploys") == []
    assert found(index, "apricot", filters=Filters(tags=frozenset({"none"}))) == []
    assert not list(Path(root).parent.glob("**/.config/qmd"))


@needs_qmd
@pytest.mark.parametrize("question", ["-x --help", "apricot -garden", '"', "$(touch x) ; ls", "--", "* OR NEAR("])
def test_no_question_is_an_option_or_a_command(index: SqliteIndex, root: Path, question: str) -> None:
    """Odd questions are searched for as words, and a plain one after them is answered by the command."""
    index.search_text(SCOPE, parse_query(question).terms, (), 10, Filters())
    assert index.remark(SCOPE) == ""
    assert not (folder(root) / "x").exists()
    assert found(index, "apricot") == ["rec_1"]
    assert index.remark(SCOPE) == ""


@needs_qmd
def test_what_is_gone_is_in_no_file_of_qmd(index: SqliteIndex, root: Path) -> None:
    """After a removal no byte of the text is left where QMD keeps things; what stays is found again."""
    assert found(index, "apricot") == ["rec_1"]
    held = b"".join(path.read_bytes() for path in folder(root).rglob("*") if path.is_file())
    assert b"apricot" in held
    assert b"Deploys" in held
    index.put(SCOPE, (), remove=["rec_1"])
    assert not folder(root).exists()
    assert found(index, "deploys") == ["rec_2"]
    held = b"".join(path.read_bytes() for path in folder(root).rglob("*") if path.is_file())
    assert b"Deploys" in held
    assert b"apricot" not in held


@needs_qmd
def test_new_notes_are_given_over(index: SqliteIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    """A note that came later is named too, and so is one whose text was changed."""
    assert found(index, "apricot") == ["rec_1"]
    index.put(SCOPE, made("4", "The zebra is striped."))
    index.put(SCOPE, made("2", "Deploys on Mondays."))
    monkeypatch.setattr("memoranda.adapters.sqlite.index_search.search_text", lambda *_, **__: [])
    assert found(index, "zebra") == ["rec_4"]
    assert found(index, "mondays") == ["rec_2"]
    assert found(index, "fridays") == []


@needs_qmd
def test_damaged_files_are_made_again(index: SqliteIndex, root: Path) -> None:
    """With its state gone everything is given over again."""
    assert found(index, "apricot") == ["rec_1"]
    (folder(root) / "state.json").write_text("nothing", encoding="utf-8")
    assert found(index, "apricot") == ["rec_1"]
    assert index.remark(SCOPE) == ""


@needs_qmd
class TestQmdIndex(SearchIndexSuite):
    """An index with QMD beside it keeps the contract of the built-in one."""

    @pytest.fixture
    def index(self, root: Path) -> Iterator[SqliteIndex]:
        """Return an empty index."""
        index = index_at(root)
        yield index
        index.close()


def script(path: Path, body: str) -> str:
    """Write a command that does something else, and return its path."""
    path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    path.chmod(0o700)
    return str(path)


@pytest.mark.skipif(shutil.which("sh") is None, reason="needs a shell")
@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("exit 3", "qmd collection ended with 3"),
        ("sleep 30", "qmd did not answer within 0.5 s"),
        ('[ "$1" = search ] && echo nonsense; exit 0', "qmd printed no JSON that is known"),
        ('[ "$1" = search ] && echo "[{}]"; exit 0', "qmd printed no JSON that is known"),
        ('[ "$1" = search ] && exit 9; exit 0', "qmd search ended with 9"),
    ],
)
def test_a_failing_command_costs_no_answer(tmp_path: Path, root: Path, body: str, says: str) -> None:
    """Whatever the command does, the index answers, and says what was wrong."""
    index = index_at(root, script(tmp_path / "fake", body), timeout=0.5)
    index.put(SCOPE, made("1", "an apricot"))
    assert found(index, "apricot") == ["rec_1"]
    assert index.remark(SCOPE) == says
    index.close()


def test_a_missing_command_costs_no_answer(root: Path) -> None:
    """Without QMD on the machine the index answers, and says how to get it."""
    index = index_at(root, "no-such-qmd")
    index.put(SCOPE, made("1", "an apricot"))
    assert found(index, "apricot") == ["rec_1"]
    assert "npm install -g @tobilu/qmd" in index.remark(SCOPE)
    index.close()


def test_a_foreign_key_is_no_note(tmp_path: Path, root: Path) -> None:
    """What a command names that is none of the scope's notes is dropped."""
    fake = script(tmp_path / "fake", '[ "$1" = search ] && echo "[{\\"file\\": \\"qmd://memoranda/99.md\\"}]"; exit 0')
    index = index_at(root, fake)
    index.put(SCOPE, made("1", "an apricot"))
    assert found(index, "zebra") == []
    assert found(index, "apricot") == ["rec_1"]
    assert index.remark(SCOPE) == ""
    index.close()
