"""The lines that a person pastes into a coding agent's MCP configuration."""

from __future__ import annotations

from pathlib import Path


def stdio_configuration(home: Path, agent_id: str) -> dict[str, object]:
    """Return the lines for a coding agent that starts `memoranda mcp` itself."""
    arguments = ["mcp", "--home", str(home), "--agent", agent_id]
    return {"mcpServers": {"memoranda": {"command": "memoranda", "args": arguments}}}


def http_configuration(url: str, token: str) -> dict[str, object]:
    """Return the lines for a coding agent that connects to a running server."""
    headers = {"Authorization": f"Bearer {token}"}
    return {"mcpServers": {"memoranda": {"type": "http", "url": url, "headers": headers}}}
