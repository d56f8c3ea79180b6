"""basic-memory over MCP: a project and a note a turn, `search_notes` with `search_type="text"` for each question."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from protocol import Asked, Turn, content, serve

COMMAND = str(Path(sys.executable).parent / "basic-memory")


class BasicMemory:
    """Its own server on standard input and output; notes are written before as files and indexed by `project add`."""

    name = "basic-memory"

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._environment = os.environ | {
            "HOME": str(folder),
            "BASIC_MEMORY_CONFIG_DIR": str(folder / "config"),
            "BASIC_MEMORY_HOME": str(folder / "main"),
            "BASIC_MEMORY_SEMANTIC_SEARCH_ENABLED": "false",
            "BASIC_MEMORY_AUTO_UPDATE": "false",
        }
        self._ids: dict[tuple[str, str], str] = {}
        self._projects: dict[str, str] = {}
        self._runner = asyncio.Runner()
        self._client: Client | None = None

    def version(self) -> str:
        """Return the package's."""
        return version("basic-memory")

    def add(self, scope: str, turns: Sequence[Turn]) -> None:
        """Write a note for each."""
        project = self._projects.setdefault(scope, f"c{len(self._projects)}")
        notes = self._folder / "notes" / project
        notes.mkdir(parents=True, exist_ok=True)
        for turn in turns:
            file = f"t{len(self._ids)}.md"
            self._ids[project, file] = turn["id"]
            (notes / file).write_text(f"{content(turn)}\n", encoding="utf-8")

    def finish(self) -> None:
        """Index every project, and start the server."""
        self._runner.run(self._index())
        self._client = Client(StdioTransport(COMMAND, ["mcp"], env=dict(self._environment), keep_alive=True))
        self._runner.run(self._client.__aenter__())

    async def _index(self) -> None:
        for project in self._projects.values():
            words = ("project", "add", project, str(self._folder / "notes" / project))
            process = await asyncio.create_subprocess_exec(
                COMMAND, *words, env=self._environment, stdin=asyncio.subprocess.DEVNULL, stdout=2
            )
            if await asyncio.wait_for(process.wait(), 1_800):
                raise RuntimeError(f"project add ended with {process.returncode}")

    def search(self, asked: Asked) -> list[str]:
        """Call the tool."""
        project = self._projects[asked.scope]
        arguments = {
            "query": asked.text,
            "project": project,
            "search_type": "text",
            "page_size": asked.limit,
            "output_format": "json",
        }
        if self._client is None:
            raise RuntimeError("nothing was indexed")
        told = self._runner.run(self._client.call_tool("search_notes", arguments))
        found = told.structured_content or {}
        found = found.get("result", found)
        if "results" not in found:
            raise RuntimeError(str(found)[:200])
        return [self._ids[project, hit["file_path"]] for hit in found["results"]]

    def close(self) -> None:
        """End the server."""
        if self._client is not None:
            self._runner.run(self._client.__aexit__(None, None, None))
        self._runner.close()


if __name__ == "__main__":
    serve(BasicMemory(Path(sys.argv[1])), Path(sys.argv[1]))
