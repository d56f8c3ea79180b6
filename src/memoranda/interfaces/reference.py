"""Writes the reference pages from what they describe: tools, errors and the command line's own help.

`python -m memoranda.interfaces.reference docs/reference` writes them; a test compares them.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from typer.main import get_command

from memoranda.interfaces.cli.app import build, verbs
from memoranda.interfaces.errors import BROKEN_PIPE, INTERRUPTED, TABLE
from memoranda.interfaces.tools import TOOLS, Tool

COLUMNS = 100
"""Width of help texts in the reference."""

_WRITTEN = "<!-- Written by `python -m memoranda.interfaces.reference docs/reference`; do not edit. -->\n\n"


def errors_page() -> str:
    """Return the page of all errors with their exit codes, HTTP statuses and RPC codes."""
    rows = [
        f"| `{cls.code}` | {cls.__name__} | {_first_line(cls)} | {answer.exit_code} | {answer.http} | {answer.rpc} |"
        for cls, answer in TABLE.items()
    ]
    return (
        "# Errors\n\n" + _WRITTEN + "Every error has a stable `code`. With `--json` and over HTTP it is printed as\n"
        '`{"error": {"code": …, "message": …}}`; an MCP tool returns the same with `isError`, only\n'
        '`memory_get` of an unknown id answers `{"error": "chunk not found", "chunk_id": …}` with `isError`.\n'
        "The HTTP server answers `not_found` (404), `method_not_allowed` (405) and `too_large` (413) for a path,\n"
        "method or size that it does not take.\n\n"
        "| code | class | when | exit code | HTTP | RPC |\n|---|---|---|---|---|---|\n" + "\n".join(rows) + "\n\n"
        "Exit code 0 is success, a duplicate or an empty search included. A wrong option or argument of the "
        "command\n"
        f"line is 2 (`usage`), Ctrl-C is {INTERRUPTED}, a reader that went away is {BROKEN_PIPE}.\n"
    )


def _first_line(cls: type) -> str:
    return (inspect.getdoc(cls) or "").splitlines()[0]


def tools_page() -> str:
    """Return the page of all tools with their arguments."""
    return (
        "# Tools\n\n" + _WRITTEN + "What an agent is offered. Whose memory it is comes from the server, never from an "
        "argument.\nWith `style` `off` or `prompt-only` no tool is offered, with `agent_write_mode = off` "
        "none that writes.\n"
        "Unknown arguments are refused.\n" + "".join(_tool_section(tool) for tool in TOOLS)
    )


def _tool_section(tool: Tool) -> str:
    hints = [
        "reads only" if tool.does == "read" else "writes",
        *(["destructive"] if tool.destructive else []),
        *(["idempotent"] if tool.idempotent else []),
    ]
    rows = "".join(
        f"| `{name}` | {rule['type']} | {_bounds(rule)} | {_default(tool, name, rule)} | {rule['description']} |\n"
        for name, rule in tool.properties.items()
    )
    head = "| argument | type | range | default | meaning |\n|---|---|---|---|---|\n"
    return f"\n## {tool.name}\n\n{tool.title} ({', '.join(hints)}).\n\n{tool.description}\n\n{head}{rows}"


def _bounds(rule: Mapping[str, object]) -> str:
    if "minimum" in rule:
        return f"{rule['minimum']} to {rule['maximum']}"
    if "maxLength" in rule:
        return f"{rule.get('minLength', 0)} to {rule['maxLength']} characters"
    return ""


def _default(tool: Tool, name: str, rule: Mapping[str, object]) -> str:
    if name in tool.required:
        return "required"
    return f"`{str(rule['default']).lower()}`" if rule.get("default", "") != "" else ""


def cli_page() -> str:
    """Return the page of the command line: the help of every verb as it is printed."""
    parts = [f"## memoranda {name}\n\n```text\n{help_of(name)}\n```\n" for name in verbs()]
    return "# Command line\n\n" + _WRITTEN + f"```text\n{help_of('')}\n```\n\n" + "\n".join(parts)


def help_of(name: str) -> str:
    """Return what `memoranda NAME --help` prints at a fixed width."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        get_command(build()).main(
            [*name.split(), "--help"], prog_name="memoranda", standalone_mode=False, terminal_width=COLUMNS
        )
    return "\n".join(line.rstrip() for line in printed.getvalue().strip().splitlines())


PAGES: Mapping[str, Callable[[], str]] = {
    "errors.md": errors_page,
    "tools.md": tools_page,
    "cli.md": cli_page,
}


def write(folder: Path) -> None:
    """Write every page into the folder."""
    for name, page in PAGES.items():
        (folder / name).write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
