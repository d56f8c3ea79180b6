"""Text that comes in: marks of ours that it imitates are made harmless; what goes to memory tools is not repeated."""

from __future__ import annotations

from memoranda.domain.prompt import defanged

_MEMORY_TOOLS = frozenset({
    "memory", "memory_save", "memory_delete", "memory_forget", "core_memory_append", "core_memory_replace",
    "core_memory_set", "session_state",
})  # fmt: skip


def is_memory_tool(tool: str) -> bool:
    """Whether a tool is one of ours that takes text to keep, by its own name or as a tool of an MCP server."""
    return tool.rpartition("__")[2] in _MEMORY_TOOLS


def defanged_if(text: str, *, when: bool) -> str:
    """Return a text with imitated marks made harmless, where that is asked for."""
    return defanged(text) if when else text
