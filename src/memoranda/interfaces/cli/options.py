"""Options that many verbs share, and the wrapper that gives every verb the same way to fail."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, ParamSpec

import typer

from memoranda.errors import MemorandaError
from memoranda.interfaces.cli.output import Output, drop_output
from memoranda.interfaces.errors import BROKEN_PIPE, answer_to

Parameters = ParamSpec("Parameters")


def folder_argument(text: str) -> Path:
    """Return the folder; an empty name (an unset variable in a script) must not become the current folder."""
    if not text:
        raise typer.BadParameter("the folder's name is empty")
    return Path(text)


Home = Annotated[
    Path | None,
    typer.Option(
        "--home",
        parser=folder_argument,
        metavar="FOLDER",
        show_default="$MEMORANDA_HOME, else ~/.memoranda",
        help="Where the memory lives.",
    ),
]
AgentId = Annotated[
    str | None,
    typer.Option(
        "--agent",
        metavar="ID",
        show_default="main, or $MEMORANDA_AGENT",
        help="The agent whose memory it is.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Since = Annotated[str, typer.Option("--since", metavar="TIME", help="At or after (ISO 8601; UTC without an offset).")]
NoSync = Annotated[bool, typer.Option("--no-sync", help="Do not look for edited files first.")]


def json_wanted(arguments: Sequence[str]) -> bool:
    """Return whether `--json` was asked for, before the command line could be parsed."""
    before = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return "--json" in before


def verb(function: Callable[Parameters, None]) -> Callable[Parameters, None]:
    """Wrap a verb so that an error is reported in its format and ends with the table's exit code."""

    @functools.wraps(function)
    def run(*args: Parameters.args, **kwargs: Parameters.kwargs) -> None:
        try:
            function(*args, **kwargs)
        except MemorandaError as error:
            Output(as_json=bool(kwargs.get("as_json"))).fail(error)
            raise typer.Exit(answer_to(error).exit_code) from error
        except BrokenPipeError as error:
            drop_output()
            raise typer.Exit(BROKEN_PIPE) from error

    return run
