"""The error table and what is made of it."""

from __future__ import annotations

from pathlib import Path

import pytest

import memoranda.interfaces.errors as table
from memoranda.domain.outcome import BatchOutcome, Conflicted, Refused, Saved
from memoranda.errors import Conflict, InvalidInput, MemorandaError, MissingExtra, RemovalsNotAccepted
from memoranda.interfaces.errors import TABLE, ConflictedWrite, RefusedWrite, answer_to, describe, ensure_done
from memoranda.interfaces.reference import errors_page

DOCS = Path(__file__).parents[2] / "docs" / "reference"


def subclasses(cls: type[MemorandaError]) -> set[type[MemorandaError]]:
    """Return the class and everything below it that the product defines."""
    found = {cls}
    for below in cls.__subclasses__():
        if below.__module__.startswith("memoranda."):
            found |= subclasses(below)
    return found


def test_every_error_class_is_in_the_table() -> None:
    """Each error of the library and of the interfaces has a row, and the table holds nothing else."""
    assert subclasses(MemorandaError) == set(TABLE)
    assert RefusedWrite in TABLE


def test_exit_codes_and_codes_tell_classes_apart() -> None:
    """No two classes share an exit code or a stable code, and none is 0 or reserved by shells."""
    exits = [answer.exit_code for answer in TABLE.values()]
    assert len(set(exits)) == len(exits)
    assert len({cls.code for cls in TABLE}) == len(TABLE)
    assert all(0 < code < 64 for code in exits)
    assert table.INTERRUPTED not in exits
    assert table.BROKEN_PIPE not in exits


def test_statuses_and_rpc_codes_are_legal() -> None:
    """HTTP statuses are errors, RPC codes lie in the ranges that JSON-RPC leaves to servers or defines."""
    for answer in TABLE.values():
        assert 400 <= answer.http < 600
        assert -32099 <= answer.rpc <= -32000 or answer.rpc in (-32601, -32602)


def test_a_class_of_a_plugin_gets_the_row_of_its_ancestor() -> None:
    """An unknown subclass is answered like the nearest class that is known."""

    class Odd(InvalidInput):
        """A plug-in's own error."""

    assert answer_to(Odd("x")) == TABLE[InvalidInput]
    assert answer_to(InvalidInput("x")) != answer_to(Conflict("x"))


def test_refused_and_conflicted_outcomes_become_errors() -> None:
    """A batch that did not take effect raises, one that did is handed through."""
    done = BatchOutcome("b", (Saved(("rec_1",)),))
    assert ensure_done(done) is done
    with pytest.raises(RefusedWrite, match="no secrets") as refused:
        ensure_done(BatchOutcome("b", (Saved(), Refused("secret", "no secrets"))))
    assert describe(refused.value) == {"error": {"code": "refused", "message": "no secrets", "rule": "secret"}}
    with pytest.raises(ConflictedWrite) as conflicted:
        ensure_done(BatchOutcome("b", (Conflicted("MEMORY.md", "cp_1", "edited meanwhile"),)))
    assert describe(conflicted.value) == {
        "error": {
            "code": "write_conflict",
            "message": "edited meanwhile",
            "path": "MEMORY.md",
            "checkpointId": "cp_1",
        }
    }


@pytest.mark.parametrize(
    ("error", "data"),
    [
        (RemovalsNotAccepted("agent:a", 3, 4), {"scope": "agent:a", "missing": 3, "known": 4}),
        (MissingExtra("mcp", "MCP"), {"extra": "mcp"}),
        (InvalidInput("bad"), {}),
    ],
)
def test_an_error_carries_its_data(error: MemorandaError, data: dict[str, object]) -> None:
    """The one JSON shape holds code, message and the error's own attributes."""
    assert describe(error) == {"error": {"code": error.code, "message": str(error), **data}}


def test_the_error_page_is_the_table() -> None:
    """docs/reference/errors.md is what the table says now."""
    assert (DOCS / "errors.md").read_text(encoding="utf-8") == errors_page()
