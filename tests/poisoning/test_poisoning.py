"""The poisoning corpus: untrusted words reach no file and no model without a person, while honest ones do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from memoranda.domain.outcome import Saved
from memoranda.domain.record import Trust
from memoranda.memory import Memory
from tests.homes import home
from tests.poisoning.surfaces import SURFACES, VICTIM, Scene, model_views, run

CORPUS: list[dict[str, Any]] = json.loads(
    Path(__file__).with_name("corpus.json").read_text(encoding="utf-8")
)["attacks"]  # fmt: skip
ON_DISK_BY_DESIGN = {"hand_edit", "late_edit", "rejected_edit", "block_by_hand"}
"""Surfaces where the words stand in the file already, put there by the agent's own shell: they are withheld there."""

IN_LOG_ALONE = {"user_turn", "assistant_turn", "result_turn", "decision", "summary", "imported"}
"""Surfaces whose honest words are memory by being in the log."""

TEAM = '[teams.web]\nmembers = ["ann", "bob"]\n[memory.content_trust]\ntrusted_mcp_servers = ["files"]\n'
TEAM += 'trusted_tools = ["read_file"]\n'
TEAM += '[[memory.core.blocks]]\nlabel = "human"\n[[memory.core.blocks]]\nlabel = "rules"\nshared = true\n'


def ids(attack: dict[str, Any]) -> str:
    """The case's name."""
    return str(attack["id"])


def test_the_corpus_is_whole() -> None:
    """There are at least 60 attacks, each with its own id, marker and honest control, over every surface."""
    assert len(CORPUS) >= 60
    for key in ("id", "marker", "control"):
        assert len({attack[key] for attack in CORPUS}) == len(CORPUS), key
    assert {attack["surface"] for attack in CORPUS} == set(SURFACES)
    assert all(attack["marker"] in attack["payload"] for attack in CORPUS)


@contextmanager
def scene(folder: Path, *, taint: bool, arguments: dict[str, str | None]) -> Iterator[Scene]:
    """A home with an honest note and a team."""
    folder.mkdir()
    (folder / "memoranda.toml").write_text(TEAM, encoding="utf-8")
    with home(folder) as memory:
        memory.agent("ann").save(VICTIM, file="memory/life.md")
        made = Scene(memory, folder, taint, arguments)
        yield made
        if made.other is not None:
            made.other.close()


def on_disk(folder: Path) -> str:
    """Everything in the workspaces, byte for byte, but for the logs: they hold all that was said."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and not {".state", "log"} & set(path.parts))
    return "\n".join(path.read_bytes().decode("utf-8", "replace") for path in files)


def assert_absent(memory: Memory, attack: dict[str, Any]) -> None:
    """No model is shown a word of it, and no workspace holds it unless the agent's shell put it there."""
    marker = attack["marker"]
    assert not [view for view in model_views(memory, marker) if marker in view], attack["story"]
    if attack["surface"] not in ON_DISK_BY_DESIGN:
        assert marker not in on_disk(memory.home)


def one_a_surface() -> list[Any]:
    """All attacks; but for the first of each surface they are left out of a fast run."""
    first = {attack["surface"]: ids(attack) for attack in reversed(CORPUS)}
    return [
        pytest.param(attack, id=ids(attack), marks=() if first[attack["surface"]] == ids(attack) else pytest.mark.slow)
        for attack in CORPUS
    ]


@pytest.mark.slow
@pytest.mark.parametrize("attack", one_a_surface())
def test_an_attack_comes_to_nothing_and_its_control_arrives(tmp_path: Path, attack: dict[str, Any]) -> None:
    """The attack's words are nowhere, also after sync, reindex and restart; the honest twin is in file and search."""
    arguments = attack.get("arguments", {})
    with scene(tmp_path / "attacked", taint=True, arguments=arguments) as attacked:
        run(attack["surface"], attacked, attack["payload"])
        homes = [attacked.memory, *([attacked.other] if attacked.other else [])]
        for memory in homes:
            assert_absent(memory, attack)
            memory.sync()
            memory.reindex()
            assert_absent(memory, attack)
            assert memory.verify().problems == ()
    with home(tmp_path / "attacked") as memory:
        assert_absent(memory, attack)
        assert VICTIM in [hit.text for hit in memory.agent("ann").search("birthday", min_score=0).hits]
    with scene(tmp_path / "honest", taint=False, arguments=arguments) as honest:
        assert run(attack["surface"], honest, attack["control"]) == "done"
        goal = honest.other or honest.memory
        assert attack["control"] in on_disk(goal.home) or attack["surface"] in {"remember_tags", *IN_LOG_ALONE}
        assert any(attack["control"] in view for view in model_views(goal, attack["control"]))


@pytest.mark.parametrize("attack", [item for item in CORPUS if item["surface"] == "save"][:10], ids=ids)
def test_a_person_may_let_it_in(tmp_path: Path, attack: dict[str, Any]) -> None:
    """After approval the words are memory, at agent_observed at most and derived from what waited."""
    with scene(tmp_path / "home", taint=True, arguments={}) as attacked:
        run("save", attacked, attack["payload"])
        operator = attacked.memory.operator(at_terminal=True)
        (waiting,) = operator.waiting()
        item = operator.approve(waiting.id, waiting.content_hash).items[0]
        assert isinstance(item, Saved)
        for ident in item.record_ids:
            record = attacked.memory.agent("ann").get(ident).record
            assert record.trust is Trust.AGENT_OBSERVED
            assert record.capped
            assert set(record.derived_from) <= set(waiting.record_ids)
            assert record.derived_from
        assert attack["marker"] in on_disk(attacked.folder)
