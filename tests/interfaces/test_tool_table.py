"""The tool table, run against a real memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memoranda.errors import InvalidInput, NotFound
from memoranda.interfaces import tools
from memoranda.interfaces.errors import RefusedWrite
from memoranda.interfaces.reference import tools_page
from memoranda.interfaces.tools import TOOLS, Caller, offered
from memoranda.memory import Memory
from tests.interfaces.command_line import TEA

DOCS = Path(__file__).parents[2] / "docs" / "reference"


def call(memory: Memory, agent: str, name: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool as an agent."""
    return tools.call(TOOLS, name, Caller(memory.agent(agent)), arguments)


def test_a_saved_text_is_found_read_deleted_and_restored(memory: Memory) -> None:
    """Save, search, get, delete and restore work one after the other, with the documented keys."""
    saved = call(memory, "ada", "memory_save", content=TEA)
    assert set(saved) == {
        "saved",
        "path",
        "bytes_written",
        "checkpointId",
        "record_ids",
        "duplicate",
        "duplicate_ids",
        "indexed",
    }
    assert saved["saved"] is True
    assert saved["path"] == "MEMORY.md"
    assert saved["bytes_written"] >= len(TEA)

    found = call(memory, "ada", "memory_search", query="green tea")
    assert found["relevant"] is True
    first = found["results"][0]
    assert first["text"].strip() == TEA
    assert first["record_id"] == saved["record_ids"][0]
    assert {"chunk_id", "path", "source", "start_line", "end_line", "score", "citation", "trust"} <= set(first)

    read = call(memory, "ada", "memory_get", chunk_id=first["chunk_id"])
    assert read["text"].strip() == TEA
    assert read["author"] == "agent:ada"

    deleted = call(memory, "ada", "memory_delete", file="MEMORY.md", text=TEA)
    assert deleted["deleted"] is True
    assert deleted["matches_removed"] == 1
    assert call(memory, "ada", "memory_search", query="green tea")["results"] == []

    listed = call(memory, "ada", "checkpoints_list")
    assert listed["count"] == len(listed["checkpoints"]) >= 2
    assert {"id", "createdAt", "reason", "sourcePath", "sourceKind", "existed", "paths", "author"} == set(
        listed["checkpoints"][0]
    )
    restored = call(memory, "ada", "checkpoint_restore", id=deleted["checkpointId"])
    assert restored["restored"] is True
    assert restored["checkpointId"]
    assert call(memory, "ada", "memory_search", query="green tea")["results"][0]["text"].strip() == TEA


def test_a_duplicate_is_a_success_that_names_what_exists(memory: Memory) -> None:
    """Saving the same fact twice writes once and names the first record."""
    first = call(memory, "ada", "memory_save", content=TEA)
    second = call(memory, "ada", "memory_save", content=TEA)
    assert first["saved"] is True
    assert second["saved"] is False
    assert second["duplicate"] is True
    assert second["duplicate_ids"] == first["record_ids"]


def test_what_the_gateway_refuses_is_an_error(memory: Memory) -> None:
    """A path outside the notes is refused with its rule, a legal one is not."""
    assert call(memory, "ada", "memory_save", content="One.", file="memory/a.md")["saved"] is True
    with pytest.raises(RefusedWrite) as refused:
        call(memory, "ada", "memory_save", content="Two.", file="../a.md")
    assert refused.value.rule == "path"


def test_another_agents_memory_is_nowhere(memory: Memory) -> None:
    """What ada keeps, others with look-alike ids cannot find, read, delete, list or restore."""
    mine = call(memory, "a-b", "memory_save", content=TEA)
    chunk = call(memory, "a-b", "memory_search", query="tea")["results"][0]["chunk_id"]
    checkpoint = mine["checkpointId"]
    for other in ("a_b", "ab", "a", "a-b-c", "main"):
        assert call(memory, other, "memory_search", query="green tea")["results"] == []
        known = call(memory, other, "memory_get", chunk_id=chunk)
        unknown = call(memory, other, "memory_get", chunk_id="rec_nothing")
        assert known == {"error": "chunk not found", "chunk_id": chunk}
        assert unknown == {"error": "chunk not found", "chunk_id": "rec_nothing"}
        assert call(memory, other, "checkpoints_list")["count"] == 0
        with pytest.raises(NotFound) as foreign:
            call(memory, other, "checkpoint_restore", id=checkpoint)
        with pytest.raises(NotFound) as absent:
            call(memory, other, "checkpoint_restore", id="nothing")
        assert str(foreign.value).replace(checkpoint, "X") == str(absent.value).replace("nothing", "X")
        with pytest.raises(RefusedWrite):
            call(memory, other, "memory_delete", file="MEMORY.md", text=TEA)
    assert call(memory, "a-b", "memory_search", query="green tea")["results"][0]["text"].strip() == TEA


def test_policy_decides_what_is_offered(memory: Memory) -> None:
    """Writing tools go with agent_write_mode off, all tools with a style that has none, or where a group listens."""
    session = memory.agent("ada").session("s")
    shared = memory.agent("ada").session("group", audience="shared")
    assert offered(style="hybrid", agent_write_mode="hybrid", session=shared) == ()
    every = {tool.name for tool in offered(style="hybrid", agent_write_mode="hybrid", session=session)}
    reading = {tool.name for tool in offered(style="search-only", agent_write_mode="off", session=session)}
    assert every == {tool.name for tool in TOOLS}
    assert every - reading == {
        "memory_save", "memory_delete", "checkpoint_restore", "memory", "memory_forget", "core_memory_append",
        "core_memory_replace", "core_memory_set",
    }  # fmt: skip
    sessionless = {tool.name for tool in offered(style="hybrid", agent_write_mode="hybrid")}
    assert every - sessionless == {"session_state"}
    without = offered(style="hybrid", agent_write_mode="hybrid", recorder_tool=False, session=session)
    assert every - {tool.name for tool in without} == {"memory"}
    assert offered(style="off", agent_write_mode="hybrid") == ()
    assert offered(style="prompt-only", agent_write_mode="hybrid") == ()


def test_a_tool_that_is_not_offered_cannot_be_called(memory: Memory) -> None:
    """A tool outside the offer is unknown, the same tool inside it works."""
    reading = offered(style="hybrid", agent_write_mode="off")
    caller = Caller(memory.agent("ada"))
    assert tools.call(TOOLS, "memory_save", caller, {"content": TEA})["saved"] is True
    with pytest.raises(InvalidInput, match="no tool 'memory_save'"):
        tools.call(reading, "memory_save", caller, {"content": "Other."})


@pytest.mark.parametrize("name", ["agent", "agent_id", "scope", "author", "trust"])
def test_identity_is_never_an_argument(memory: Memory, name: str) -> None:
    """No tool takes an identity, and one that is passed is refused by name."""
    assert all(name not in tool.properties for tool in TOOLS)
    with pytest.raises(InvalidInput, match=f"unknown argument '{name}'"):
        tools.call(TOOLS, "memory_search", Caller(memory.agent("ada")), {"query": "tea", name: "main"})


def test_annotations_fit_what_tools_do() -> None:
    """Only writing tools are destructive, and every tool has a title and a description of intent."""
    for tool in TOOLS:
        assert tool.title
        assert len(tool.description) > 80
        assert not (tool.does == "read" and tool.destructive)
    assert {tool.name for tool in TOOLS if tool.destructive} == {
        "memory_delete", "checkpoint_restore", "memory", "memory_forget", "core_memory_replace", "core_memory_set",
        "session_state",
    }  # fmt: skip


def test_the_tool_page_is_the_table() -> None:
    """docs/reference/tools.md is what the table says now."""
    assert (DOCS / "tools.md").read_text(encoding="utf-8") == tools_page()
