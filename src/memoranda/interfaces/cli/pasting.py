"""The lines that a person pastes into a coding agent's MCP configuration."""

from __future__ import annotations

import sys
from pathlib import Path


def stdio_configuration(home: Path, agent_id: str) -> dict[str, object]:
    """Return the lines for a coding agent that starts `memoranda mcp` itself, wherever it runs."""
    # -P: an agent starts it in a folder that may be anybody's; no module of it may be imported.
    arguments = ["-P", "-m", "memoranda", "mcp", "--home", str(home), "--agent", agent_id]
    return {"mcpServers": {"memoranda": {"command": sys.executable, "args": arguments}}}


def http_configuration(url: str, token: str) -> dict[str, object]:
    """Return the lines for a coding agent that connects to a running server."""
    headers = {"Authorization": f"Bearer {token}"}
    return {"mcpServers": {"memoranda": {"type": "http", "url": url, "headers": headers}}}
