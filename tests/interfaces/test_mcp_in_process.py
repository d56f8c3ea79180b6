"""The MCP server through the official client in one process, in both protocol eras."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.server import Server
from mcp_types import CallToolResult, TextContent

from memoranda.interfaces import tools
from memoranda.interfaces.mcp.server import build_server
from memoranda.interfaces.tools import TOOLS, Caller
from memoranda.memory import Memory
from tests.interfaces.command_line import TEA

ERAS = ("legacy", "2026-07-28")


def server_of(memory: Memory, agent: str, offered: tuple[tools.Tool, ...] = TOOLS) -> Server[Any]:
    """Return a server pinned to an agent."""
    return build_server(offered, lambda _: Caller(memory.agent(agent)), version="1")


def ask(server: Server[Any], era: str, name: str, arguments: Mapping[str, object]) -> CallToolResult:
    """Call one tool through the official client."""

    async def run() -> CallToolResult:
        async with Client(server, mode=era) as client:
            return await client.call_tool(name, dict(arguments))

    return anyio.run(run)


@pytest.mark.parametrize("era", ERAS)
def test_the_tools_are_listed_as_the_table_says(memory: Memory, era: str) -> None:
    """Names, schemas and hints reach the client unchanged."""

    async def run() -> Any:
        async with Client(server_of(memory, "ada"), mode=era) as client:
            return (await client.list_tools()).tools

    listed = {tool.name: tool for tool in anyio.run(run)}
    assert list(listed) == [tool.name for tool in TOOLS]
    for tool in TOOLS:
        seen = listed[tool.name]
        assert seen.input_schema == tool.input_schema
        assert seen.annotations.read_only_hint is (tool.does == "read")
        assert seen.annotations.destructive_hint is tool.destructive
        assert seen.annotations.open_world_hint is False


@pytest.mark.parametrize("era", ERAS)
def test_save_search_and_get_answer_structured_with_a_text_copy(memory: Memory, era: str) -> None:
    """What one call saves the next finds, and both copies of a result are equal."""
    server = server_of(memory, "ada")
    saved = ask(server, era, "memory_save", {"content": TEA})
    assert not saved.is_error
    found = ask(server, era, "memory_search", {"query": "green tea"})
    assert found.structured_content["results"][0]["text"].strip() == TEA
    (copy,) = found.content
    assert isinstance(copy, TextContent)
    assert json.loads(copy.text) == found.structured_content
    chunk = found.structured_content["results"][0]["chunk_id"]
    read = ask(server, era, "memory_get", {"chunk_id": chunk})
    assert read.structured_content["text"].strip() == TEA


@pytest.mark.parametrize("era", ERAS)
def test_errors_are_results_that_a_model_can_read(memory: Memory, era: str) -> None:
    """A wrong argument and a refusal carry code and message, and never the content."""
    server = server_of(memory, "ada")
    wrong = ask(server, era, "memory_save", {"content": "Hidden words", "flie": "x"})
    assert wrong.is_error
    assert wrong.structured_content["error"]["code"] == "invalid_input"
    assert "'flie'" in wrong.structured_content["error"]["message"]
    assert "did you mean 'file'" in wrong.structured_content["error"]["message"]
    refused = ask(server, era, "memory_save", {"content": "Hidden words", "file": "../x.md"})
    assert refused.is_error
    assert refused.structured_content["error"]["code"] == "refused"
    assert "Hidden" not in str(wrong.content) + str(refused.content)
    assert not ask(server, era, "memory_save", {"content": "Hidden words", "file": "memory/x.md"}).is_error


@pytest.mark.parametrize("era", ERAS)
def test_one_server_sees_one_agent(memory: Memory, era: str) -> None:
    """A server pinned to another agent finds nothing of the first, which finds its own."""
    ask(server_of(memory, "a-b"), era, "memory_save", {"content": TEA})
    theirs = ask(server_of(memory, "a_b"), era, "memory_search", {"query": "green tea"})
    own = ask(server_of(memory, "a-b"), era, "memory_search", {"query": "green tea"})
    assert theirs.structured_content["results"] == []
    assert len(own.structured_content["results"]) == 1


@pytest.mark.parametrize("era", ERAS)
def test_a_defect_shows_its_class_and_nothing_else(memory: Memory, era: str, caplog: pytest.LogCaptureFixture) -> None:
    """An unexpected error reaches client and log without its text, which may hold memory contents."""

    def broken(_: Caller, __: tools.Arguments) -> dict[str, object]:
        raise KeyError("Hidden words")

    table = (tools.Tool(name="broken", title="", description="", properties={}, does="read", handler=broken),)
    with caplog.at_level(logging.ERROR):
        result = ask(server_of(memory, "ada", table), era, "broken", {})
    assert result.is_error
    assert result.structured_content["error"] == {"code": "internal", "message": "internal error (KeyError)"}
    assert "KeyError" in caplog.text
    assert "Hidden" not in caplog.text + str(result)


@pytest.mark.parametrize("era", ERAS)
def test_a_slow_tool_does_not_hold_up_others(memory: Memory, era: str) -> None:
    """Two calls that wait for each other both finish: each runs in a thread of its own."""
    import threading

    meeting = threading.Barrier(2)

    def wait(_: Caller, __: tools.Arguments) -> dict[str, object]:
        meeting.wait(30)
        return {"met": True}

    table = (tools.Tool(name="wait", title="", description="", properties={}, does="read", handler=wait),)
    results: list[CallToolResult] = []

    async def run() -> None:
        async with (
            Client(server_of(memory, "ada", table), mode=era) as client,
            anyio.create_task_group() as group,
        ):

            async def one() -> None:
                results.append(await client.call_tool("wait", {}))

            group.start_soon(one)
            group.start_soon(one)

    anyio.run(run)
    assert [result.structured_content for result in results] == [{"met": True}, {"met": True}]
