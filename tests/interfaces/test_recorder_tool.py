"""The recorder tool: every action with its arguments, and answers that say plainly what became of it."""

from __future__ import annotations

from pathlib import Path

import pytest

import memoranda
from memoranda.errors import InvalidInput, NotFound
from memoranda.interfaces.errors import RefusedWrite
from memoranda.interfaces.tools import TOOLS, Caller, call
from memoranda.memory import Memory


def tool(memory: Memory, action: str, **arguments: object) -> dict[str, object]:
    """Call the recorder as agent ada."""
    return call(TOOLS, "memory", Caller(memory.agent("ada")), {"action": action, **arguments})


def test_remember_update_recall_forget(memory: Memory) -> None:
    """One record through its life, by the tool alone."""
    made = tool(memory, "remember", title="Port", body="The API is on 8080.", tags=["Net"], kind="fact")
    assert (made["saved"], made["path"], made["duplicate"]) == (True, "memory/notes.md", False)
    assert tool(memory, "remember", body="the api is on 8080.")["duplicate_ids"] == [made["memory_id"]]
    changed = tool(memory, "update", memory_id=made["memory_id"], body="The API is on 9090.")
    assert changed["saved"] is True
    found = tool(memory, "recall", query_text="API port")
    assert found["count"] == 1
    shown = found["memories"][0]  # type: ignore[index]
    assert (shown["body"], shown["title"], shown["tags"], shown["trust"]) == (
        "The API is on 9090.", "Port", ["net"], "agent_observed",
    )  # fmt: skip
    gone = tool(memory, "forget", memory_id=changed["memory_id"])
    assert (gone["deleted"], gone["memory_id"]) == (True, changed["memory_id"])
    assert tool(memory, "recall")["count"] == 0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"action": "remember"}, "needs the argument 'body'"),
        ({"action": "update", "body": "x"}, "needs the argument 'memory_id'"),
        ({"action": "forget"}, "needs the argument 'memory_id'"),
        ({"action": "guess"}, "must be one of"),
        ({"action": "remember", "body": "x", "kind": "opinion"}, "must be one of"),
        ({"action": "remember", "body": "x", "tags": "one"}, "must be of type array"),
        ({"action": "remember", "body": "x", "tags": [1]}, "list of texts"),
        ({"action": "remember", "body": "x", "tags": ["t"] * 33}, "too many items"),
        ({"action": "recall", "max_entries": 65}, "out of range"),
        ({"action": "remember", "body": "x", "agent": "eve"}, "unknown argument"),
    ],
)
def test_wrong_arguments_are_named(memory: Memory, arguments: dict[str, object], says: str) -> None:
    """Each mistake is told by the argument's name and without its value; a right call works."""
    with pytest.raises(InvalidInput, match=says):
        call(TOOLS, "memory", Caller(memory.agent("ada")), arguments)
    assert tool(memory, "remember", body="Right.")["saved"] is True


def test_what_waits_is_said_to_wait(memory: Memory, home: Path) -> None:
    """A quarantined write, an update that leaves its predecessor, an offer to a team: none says that it was saved."""
    kept = tool(memory, "remember", body="The key is under the mat.")
    session = memory.agent("ada").session("s")
    session.tool_result("web_fetch", "…")
    caller = Caller(session)
    offered = call(TOOLS, "memory", caller, {"action": "remember", "body": "The key is gone."})
    assert (offered["saved"], offered["waiting"], offered["reason"]) == (False, True, "tainted")
    assert "waits for a person" in str(offered["note"])
    update = {"action": "update", "memory_id": kept["memory_id"], "body": "The key is in the pot."}
    changed = call(TOOLS, "memory", caller, update)
    assert "stays" in str(changed["note"])
    removed = call(TOOLS, "memory", caller, {"action": "forget", "memory_id": kept["memory_id"]})
    assert (removed["deleted"], removed["waiting"]) == (False, True)
    session.close()
    assert tool(memory, "recall", query_text="key")["count"] == 1
    with pytest.raises(InvalidInput, match="teams: none"):
        tool(memory, "propose_to_team", body="For all.")
    memory.close()
    with (home / "memoranda.toml").open("a", encoding="utf-8") as settings:
        settings.write('[teams.web]\nmembers = ["ada"]\n')
    with memoranda.open(home) as again:
        told = call(TOOLS, "memory", Caller(again.agent("ada")), {"action": "propose_to_mob", "body": "For all."})
        assert (told["action"], told["saved"], told["waiting"]) == ("propose_to_team", False, True)


def test_foreign_and_rejected_are_refused(memory: Memory) -> None:
    """Another agent's id is not found, a rejected value is refused by rule; one's own passes."""
    foreign = memory.agent("bob").remember("Bob's.").items[0].record_ids[0]  # type: ignore[union-attr]
    for action in ({"action": "update", "body": "x y"}, {"action": "forget"}):
        with pytest.raises(NotFound):
            tool(memory, **action, memory_id=foreign)
    memory.person("ada").save("No such thing.")
    memory.person("ada").forget("No such thing.")
    with pytest.raises(RefusedWrite) as caught:
        tool(memory, "remember", body="No such thing.")
    assert caught.value.rule == "tombstone"
    assert tool(memory, "remember", body="Some such thing.")["saved"] is True


def test_memory_forget_shows_what_it_would_remove(memory: Memory) -> None:
    """Exact: removed with a checkpoint. Unsure: candidates, and no token for a model. Dry run: nothing."""
    memory.agent("ada").save("- Cats sleep at noon.\n- Cats eat at six.\n- Dogs bark.")
    caller = Caller(memory.agent("ada"))
    dry = call(TOOLS, "memory_forget", caller, {"request": "Dogs bark.", "dry_run": True})
    assert (dry["deleted"], dry["dry_run"], dry["candidate_count"]) == (False, True, 1)
    done = call(TOOLS, "memory_forget", caller, {"request": "Dogs bark."})
    assert done["deleted"] is True
    assert len(done["checkpointIds"]) == 1  # type: ignore[arg-type]
    unsure = call(TOOLS, "memory_forget", caller, {"request": "cats"})
    assert (unsure["deleted"], unsure["needs_confirmation"], unsure["candidate_count"]) == (False, True, 2)
    assert "token" not in unsure
    first = unsure["planned_matches"][0]  # type: ignore[index]
    assert (first["file"], first["start_line"], first["text_preview"]) == ("MEMORY.md", 1, "- Cats sleep at noon.")
