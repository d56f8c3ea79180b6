"""The lines that a person pastes into a coding agent's MCP configuration."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path


def stdio_configuration(home: Path, agent_id: str) -> dict[str, object]:
    """Return the lines for a coding agent that starts `memoranda mcp` itself, wherever it runs."""
    command, *before = _own_command()
    arguments = [*before, "mcp", "--home", str(home), "--agent", agent_id]
    return {"mcpServers": {"memoranda": {"command": command, "args": arguments}}}


def _own_command() -> list[str]:
    """Return `memoranda` if that is this installation's on the search path, else this interpreter's own."""
    found = shutil.which("memoranda")
    if found is not None and Path(found).parent == Path(sys.executable).parent:
        return ["memoranda"]
    return [sys.executable, "-m", "memoranda"]


def http_configuration(url: str, token: str) -> dict[str, object]:
    """Return the lines for a coding agent that connects to a running server."""
    headers = {"Authorization": f"Bearer {token}"}
    return {"mcpServers": {"memoranda": {"type": "http", "url": url, "headers": headers}}}
