"""Mark `negative_eval`: committed cases of what must not be retrieved, each beside something that must."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memoranda.domain.outcome import Saved
from memoranda.domain.record import Details
from memoranda.memory import Memory
from tests.homes import home, texts, write

CASES: list[dict[str, Any]] = json.loads(Path(__file__).with_name("negative.json").read_text(encoding="utf-8"))


def _forgotten(memory: Memory, text: str) -> None:
    memory.agent("main").save(text, file="memory/f.md")
    assert memory.person("main").forget(text).deleted


def _corrected(memory: Memory, text: str) -> None:
    item = memory.agent("main").save(text, file="memory/c.md").items[0]
    assert isinstance(item, Saved)
    memory.person("main").update(item.record_ids[0], "Something quite different stands here now.")


def _waiting(memory: Memory, text: str) -> None:
    session = memory.agent("main").session("s")
    session.tool_result("fetch", "…")
    session.save(text)
    session.close()
    memory.sync()


def _rejected(memory: Memory, text: str) -> None:
    _waiting(memory, text)
    operator = memory.operator(at_terminal=True)
    (proposal,) = operator.waiting()
    operator.reject(proposal.id, proposal.content_hash)


def _foreign(memory: Memory, text: str) -> None:
    memory.agent("main2").save(text)


def _withheld(memory: Memory, text: str) -> None:
    write(memory.home, "memory/w.md", f"{text} password: Xk9-Tr7-Qm2-Lp4\n")
    memory.sync()


def _no_longer_valid(memory: Memory, text: str) -> None:
    memory.agent("main").remember(text, details=Details(valid_to="2020-01-01"))


def _not_yet_valid(memory: Memory, text: str) -> None:
    memory.agent("main").remember(text, details=Details(valid_from="2990-01-01"))


def _erased(memory: Memory, text: str) -> None:
    memory.agent("main").save(text, file="memory/e.md")
    memory.operator(at_terminal=True).erase(text=text)


def _undone(memory: Memory, text: str) -> None:
    memory.agent("main").save(text, file="memory/u.md")
    memory.person("main").undo(1)


def _persona(memory: Memory, text: str) -> None:
    write(memory.home, "SOUL.md", f"{text}\n")
    write(memory.home, "memory/sessions/old.md", f"{text}\n")
    memory.sync()


WAYS: dict[str, Callable[[Memory, str], None]] = {
    name.__name__.removeprefix("_"): name
    for name in (
        _forgotten, _corrected, _waiting, _rejected, _foreign, _withheld, _no_longer_valid, _not_yet_valid, _erased,
        _undone, _persona,
    )
}  # fmt: skip


def test_the_cases_cover_every_way() -> None:
    """Each way in which something is not memory has a case, and every case names something that is."""
    assert {case["way"] for case in CASES} == set(WAYS)
    assert all(case["absent"] != case["present"] and case["question"] for case in CASES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_what_must_not_be_retrieved_is_not(tmp_path: Path, case: dict[str, Any]) -> None:
    """One question: the one text comes back, the other does not, before and after sync, reindex and restart."""
    with home(tmp_path) as memory:
        memory.agent("main").save(case["present"])
        WAYS[case["way"]](memory, case["absent"])
        _check(memory, case)
        memory.sync()
        memory.reindex()
        _check(memory, case)
    with home(tmp_path) as memory:
        _check(memory, case)


def _check(memory: Memory, case: dict[str, Any]) -> None:
    found = texts(memory.agent("main"), case["question"], limit=64)
    assert case["present"] in found
    assert not [text for text in found if case["absent"] in text]
