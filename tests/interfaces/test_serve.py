"""`memoranda serve`: MCP over streamable HTTP with tokens, as real processes on a real socket."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult

from tests.interfaces.command_line import TEA, CommandLine

ERAS = ("legacy", "2026-07-28")
TWO_AGENTS = """
[memory]
provider = "none"

[server]
tokens = { token-of-the-first = "a-b", token-of-the-other = "a_b" }
"""


@dataclass
class Served:
    """A running server and what it announced."""

    process: subprocess.Popen[str]
    announced: dict[str, Any]

    @property
    def url(self) -> str:
        """The MCP endpoint."""
        return str(self.announced["url"])

    def stop(self, how: signal.Signals = signal.SIGINT) -> int:
        """Stop it and return its exit code."""
        self.process.send_signal(how)
        self.process.communicate(timeout=60)
        return self.process.returncode


@contextmanager
def serving(cli: CommandLine) -> Iterator[Served]:
    """Run `memoranda serve` on a free port."""
    process = subprocess.Popen(
        [sys.executable, "-m", "memoranda", "serve", "--port", "0", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=cli.clean(),
        encoding="utf-8",
    )
    try:
        assert process.stdout is not None
        yield Served(process, json.loads(process.stdout.readline()))
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=60)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One server with two agents whose ids differ in one character."""
    home = tmp_path_factory.mktemp("home")
    (home / "memoranda.toml").write_text(TWO_AGENTS, encoding="utf-8")
    with serving(CommandLine(home)) as running:
        yield running


def ask(url: str, token: str, era: str, tool: str, arguments: dict[str, object]) -> CallToolResult:
    """Call one tool with the official client and a token."""

    async def run() -> CallToolResult:
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}) as http,
            Client(streamable_http_client(url, http_client=http), mode=era) as client,
        ):
            return await client.call_tool(tool, arguments)

    return anyio.run(run)


def post(url: str, **headers: str) -> int:
    """Post a `tools/list` with these headers and return the status."""
    accepted = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    return httpx2.post(url, json=body, headers=accepted | headers).status_code


@pytest.mark.slow
@pytest.mark.parametrize("era", ERAS)
def test_each_token_sees_its_own_agent_and_no_other(served: Served, era: str) -> None:
    """What one token saves it finds again; the other token can neither find, get, delete nor restore it."""
    fact = f"{TEA} Said in era {era}."
    saved = ask(served.url, "token-of-the-first", era, "memory_save", {"content": fact}).structured_content
    found = ask(served.url, "token-of-the-first", era, "memory_search", {"query": f'"era {era}"'}).structured_content
    assert fact in found["results"][0]["text"]
    chunk = found["results"][0]["chunk_id"]

    foreign = ask(served.url, "token-of-the-other", era, "memory_search", {"query": f'"era {era}"'}).structured_content
    assert foreign["results"] == []
    read = ask(served.url, "token-of-the-other", era, "memory_get", {"chunk_id": chunk}).structured_content
    assert read == {"error": "chunk not found", "chunk_id": chunk}
    deleted = ask(served.url, "token-of-the-other", era, "memory_delete", {"file": "MEMORY.md", "text": fact})
    assert deleted.is_error
    restored = ask(served.url, "token-of-the-other", era, "checkpoint_restore", {"id": saved["checkpointId"]})
    assert restored.is_error
    again = ask(served.url, "token-of-the-first", era, "memory_get", {"chunk_id": chunk}).structured_content
    assert fact in again["text"]


@pytest.mark.slow
def test_who_may_not_come_in_is_kept_out(served: Served) -> None:
    """No token, a wrong one, a foreign Host and a foreign Origin are refused where the right ones are not."""
    right = {"authorization": "Bearer token-of-the-first"}
    assert post(served.url, **right) == 200
    assert post(served.url, **right, origin="http://localhost:5173") == 200
    assert post(served.url) == 401
    assert post(served.url, authorization="Bearer token-of-nobody-1") == 401
    assert post(served.url, **right, host="evil.example") == 403
    assert post(served.url, **right, origin="http://evil.example") == 403


@pytest.mark.slow
def test_only_posts_are_answered_and_health_is_open(served: Served) -> None:
    """GET and DELETE on the endpoint are 405, an unknown path is 404, /health answers without a token."""
    headers = {"authorization": "Bearer token-of-the-first"}
    assert httpx2.get(served.url, headers=headers).status_code == 405
    assert httpx2.delete(served.url, headers=headers).status_code == 405
    base = served.url.removesuffix("/mcp")
    assert httpx2.get(f"{base}/nothing", headers=headers).status_code == 404
    assert httpx2.get(f"{base}/nothing").status_code == 401
    assert httpx2.get(f"{base}/health").json() == {"status": "ok"}


@pytest.mark.slow
def test_a_body_that_is_too_large_is_refused(served: Served) -> None:
    """More than a mebibyte is answered 413, so that nobody fills the memory of the machine."""
    headers = {"authorization": "Bearer token-of-the-first", "content-type": "application/json"}
    assert httpx2.post(served.url, content=b" " * 1_048_577, headers=headers).status_code == 413


@pytest.mark.slow
def test_a_first_start_makes_a_token_and_prints_what_to_paste(cli: CommandLine, home: Path) -> None:
    """Without configured tokens the server makes one for agent main; what it announces works as it is."""
    with serving(cli) as running:
        pasted = running.announced["configuration"]["mcpServers"]["memoranda"]
        token = pasted["headers"]["Authorization"].removeprefix("Bearer ")
        assert (home / ".state" / "token").read_text(encoding="utf-8").strip() == token
        assert running.announced["agent"] == "main"
        result = ask(pasted["url"], token, "legacy", "memory_save", {"content": TEA})
        assert result.structured_content["saved"] is True
        assert running.stop() == 0
    assert cli("search", "green tea", "--json").json["results"][0]["author"] == "agent:main"


@pytest.mark.slow
def test_a_file_edited_while_serving_is_found(cli: CommandLine, home: Path) -> None:
    """The server's own watcher takes in what a person saves in an editor."""
    with serving(cli) as running:
        token = (home / ".state" / "token").read_text(encoding="utf-8").strip()
        (home / "MEMORY.md").write_text(f"# Notes\n\n- {TEA}\n", encoding="utf-8")
        results: list[Any] = []
        for _ in range(100):
            answer = ask(running.url, token, "legacy", "memory_search", {"query": "green tea"})
            results = answer.structured_content["results"]
            if results:
                break
            anyio.run(anyio.sleep, 0.2)
        assert TEA in results[0]["text"]
        assert running.stop(signal.SIGTERM) == 0


@pytest.mark.slow
def test_other_machines_need_an_explicit_host_and_a_configured_token(cli: CommandLine, home: Path) -> None:
    """Listening beyond loopback is refused without tokens and without --host, and says what is missing."""
    unsafe = cli("serve", "--host", "0.0.0.0", "--port", "0", "--json")  # noqa: S104 - it is refused
    assert unsafe.code == 15
    assert "[server] tokens" in unsafe.json["error"]["message"]
    (home / "memoranda.toml").write_text(TWO_AGENTS + 'host = "0.0.0.0"\n', encoding="utf-8")
    silent = cli("serve", "--port", "0", "--json")
    assert silent.code == 15
    assert "--host 0.0.0.0" in silent.json["error"]["message"]


@pytest.mark.slow
def test_an_address_in_use_is_a_clear_error(cli: CommandLine, served: Served) -> None:
    """A second server on the same port says so and ends with the code of a backend failure."""
    port = served.url.split(":")[2].split("/")[0]
    failed = cli("serve", "--port", port, "--json")
    assert failed.code == 12
    assert f"port {port}" in failed.json["error"]["message"]


@pytest.mark.slow
def test_an_agent_may_not_open_a_server(cli: CommandLine) -> None:
    """Where the environment pins an agent, serve is denied: its tokens would be the agent's way to others."""
    denied = cli("serve", "--port", "0", "--json", MEMORANDA_AGENT="ada")
    assert denied.code == 9
    assert denied.json["error"]["code"] == "denied"
