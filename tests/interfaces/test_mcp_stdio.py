"""MCP over standard input and output, with the real process."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters

from tests.interfaces.command_line import TEA, CommandLine

ERAS = ("legacy", "auto")

NOISY = """
import os, subprocess, sys
from memoranda.interfaces import tools
from memoranda.interfaces.mcp.stdio import serve_stdio

def noisy(caller, arguments):
    print("printed by a handler")
    os.write(1, b"written to descriptor 1\\n")
    subprocess.run([sys.executable, "-c", "print('printed by a child')"], check=True)
    return {"done": True}

tool = tools.Tool(name="noisy", title="Noisy", description="", properties={}, does="read", handler=noisy)
serve_stdio((tool,), lambda _: None, version="1")
print("printed after the end", file=sys.stderr)
"""


def lines_of(arguments: Sequence[str], requests: Sequence[dict[str, Any]], environment: dict[str, str]) -> list[str]:
    """Send requests, read their answers, close standard input, and return standard output to its end."""
    process = subprocess.Popen(
        [sys.executable, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        encoding="utf-8",
    )
    assert process.stdin is not None
    assert process.stdout is not None
    lines = []
    for request in requests:
        process.stdin.write(json.dumps(request) + "\n")
        process.stdin.flush()
        if "id" in request:
            lines.append(process.stdout.readline())
    rest, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    return [*lines, *rest.splitlines()]


def handshake(tool: str) -> list[dict[str, Any]]:
    """Return the requests of a handshake and one call."""
    hello = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }
    return [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": tool, "arguments": {}}},
    ]


@pytest.mark.slow
def test_a_noisy_handler_leaves_only_json_on_stdout(cli: CommandLine, tmp_path: Path) -> None:
    """Prints, raw writes and children of a handler stay off the protocol to the end of the stream."""
    script = tmp_path / "noisy.py"
    script.write_text(NOISY, encoding="utf-8")
    lines = lines_of([str(script)], handshake("noisy"), cli.clean())
    messages = [json.loads(line) for line in lines]
    assert [message["id"] for message in messages] == [1, 2]
    assert messages[1]["result"]["structuredContent"] == {"done": True}


@pytest.mark.slow
def test_a_request_that_is_no_unicode_is_answered(cli: CommandLine) -> None:
    """Half of a surrogate pair in a request is an error with its id, and the requests after it are answered."""
    first, noted, call = handshake("checkpoints_list")
    params = {"name": "memory_save", "arguments": {"content": "half of a pair: \ud800"}}
    half = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}
    lines = lines_of(["-m", "memoranda", "mcp"], [first, noted, half, call], cli.clean())
    answers = [json.loads(line) for line in lines]
    assert [answer["id"] for answer in answers] == [1, 7, 2]
    assert "surrogate" in answers[1]["error"]["message"]
    assert answers[2]["result"]["structuredContent"]["count"] == 0


@pytest.mark.slow
def test_the_process_ends_when_stdin_closes(cli: CommandLine) -> None:
    """Closing the input ends the server with code 0, the watcher included."""
    lines = lines_of(["-m", "memoranda", "mcp"], handshake("checkpoints_list"), cli.clean())
    assert json.loads(lines[-1])["result"]["structuredContent"]["count"] == 0


@pytest.mark.slow
@pytest.mark.parametrize("era", ERAS)
def test_save_here_is_found_by_the_command_line_and_the_other_way_round(cli: CommandLine, era: str) -> None:
    """MCP finds what the command line saved, and the command line what MCP saved."""
    assert cli("save", TEA, "--agent", "ada").code == 0

    async def run() -> tuple[Any, Any]:
        parameters = StdioServerParameters(
            command=sys.executable, args=["-m", "memoranda", "mcp", "--agent", "ada"], env=cli.clean()
        )
        async with Client(parameters, mode=era) as client:
            found = await client.call_tool("memory_search", {"query": "green tea"})
            saved = await client.call_tool("memory_save", {"content": "The cat is called Miso."})
            return found.structured_content, saved.structured_content

    found, saved = anyio.run(run)
    assert found["results"][0]["text"].strip() == TEA
    assert found["results"][0]["author"] == "application"
    seen = cli("search", "cat Miso", "--agent", "ada", "--json").json
    assert seen["results"][0]["record_id"] == saved["record_ids"][0]
    assert seen["results"][0]["author"] == "agent:ada"
    assert cli("search", "cat Miso", "--agent", "main", "--json").json["results"] == []


@pytest.mark.slow
def test_a_file_edited_before_the_start_is_found(cli: CommandLine, home: Path) -> None:
    """The first tool call sees what a person wrote into a file, without any command in between."""
    folder = home / "agents" / "ada"
    folder.mkdir(parents=True)
    (folder / "MEMORY.md").write_text(f"# Notes\n\n- {TEA}\n", encoding="utf-8")
    call = handshake("memory_search")
    call[2]["params"]["arguments"] = {"query": "green tea"}
    lines = lines_of(["-m", "memoranda", "mcp", "--agent", "ada"], call, cli.clean())
    assert TEA in json.loads(lines[-1])["result"]["structuredContent"]["results"][0]["text"]


@pytest.mark.slow
def test_an_agent_that_is_named_by_nobody_is_an_error(cli: CommandLine) -> None:
    """An empty id never falls back to a default, on the command line or in the environment."""
    assert cli("mcp", "--json").code == 0
    for failed in (cli("mcp", "--agent", "", "--json"), cli("mcp", "--json", MEMORANDA_AGENT="")):
        assert failed.code == 3
        assert failed.json["error"]["code"] == "missing_identity"


@pytest.mark.slow
def test_the_configuration_to_paste_starts_this_server(cli: CommandLine, home: Path, tmp_path: Path) -> None:
    """`mcp --json` prints a command that works from any folder and names home and agent."""
    server = cli("mcp", "--agent", "ada", "--json").json["mcpServers"]["memoranda"]
    assert server["args"][-5:] == ["mcp", "--home", str(home), "--agent", "ada"]
    environment = {name: value for name, value in cli.clean().items() if name != "MEMORANDA_HOME"}

    async def run() -> Any:
        parameters = StdioServerParameters(
            command=server["command"], args=server["args"], env=environment, cwd=tmp_path
        )
        async with Client(parameters, mode="legacy") as client:
            return (await client.call_tool("memory_save", {"content": TEA})).structured_content

    assert anyio.run(run)["saved"] is True
    assert cli("search", "green tea", "--agent", "ada", "--json").json["results"][0]["author"] == "agent:ada"
