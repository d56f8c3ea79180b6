"""The command line as a whole: its verbs, and what surrounds every one of them."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated

import typer
from typer.main import get_command

import memoranda
from memoranda.errors import InvalidInput
from memoranda.interfaces.cli.options import json_wanted
from memoranda.interfaces.cli.output import drop_output
from memoranda.interfaces.errors import BROKEN_PIPE, INTERRUPTED, TABLE

_UsageError: type[Exception] = next(cls for cls in typer.BadParameter.__mro__ if cls.__name__ == "ClickException")
"""What typer raises for a wrong command line; newer releases carry a click of their own."""


def _print_version(wanted: bool) -> None:  # noqa: FBT001 - typer's callback
    if wanted:
        typer.echo(memoranda.__version__)
        raise typer.Exit


def _root(
    *,
    _: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """The memory of an AI agent: Markdown people can open and edit, with a known author, date and trust."""


_GROUPS: dict[str, tuple[str, ...]] = {
    "notes": ("save", "search", "get", "delete"),
    "forgetting": ("update", "forget"),
    "changes": ("history", "blame", "log", "undo", "diff", "checkpoints"),
    "reviewing": ("review", "proposals", "adopt", "retier"),
    "dreaming": ("dream", "pin", "unpin", "timeline"),
    "conflicts": ("conflicts",),
    "credential": ("operator",),
    "erasing": ("erase",),
    "archives": ("export", "import", "import-transcript"),
    "prompting": ("context", "blocks", "timeframe", "injections"),
    "talks": ("session",),
    "chatting": ("chat",),
    "upkeep": ("init", "status", "doctor", "sync", "reindex", "watch", "verify"),
    "benching": ("bench",),
    "evaluating": ("eval",),
    "settings": ("config",),
    "servers": ("mcp", "serve"),
}
"""Module of this folder -> its verbs: one command line loads the module of its own verb, which saves a third of it."""


def build(verb: str = "") -> typer.Typer:
    """Return the command line, with all its verbs or with those of the module that has this one."""
    app = typer.Typer(
        name="memoranda",
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_root)
    wanted = [module for module, has in _GROUPS.items() if verb in has] or list(_GROUPS)
    for module in wanted:
        import_module(f"memoranda.interfaces.cli.{module}").register(app)
    return app


def verbs() -> tuple[str, ...]:
    """Return the names of all verbs, those of groups as `group verb`."""
    names: list[str] = []
    for name, command in get_command(build()).commands.items():  # type: ignore[attr-defined]  # it is a group
        inner = getattr(command, "commands", None)
        names += [f"{name} {verb}" for verb in inner] if inner else [name]
    return tuple(names)


def behind_dashes(arguments: Sequence[str]) -> list[str]:
    """Move Markdown list items (`- like this`) behind `--`, so that they are texts and not options.

    The value of `--text` stays where it is: an option takes what follows it.
    """
    if "--" in arguments:
        return list(arguments)
    items = [
        at
        for at, argument in enumerate(arguments)
        if argument.startswith(("- ", "-\t", "-\n")) and arguments[at - 1] != "--text"
    ]
    rest = [argument for at, argument in enumerate(arguments) if at not in items]
    return [*rest, "--", *(arguments[at] for at in items)] if items else rest


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return the exit code of the table in `interfaces.errors`."""
    _force_utf8()
    try:
        code = _run([_as_utf8(argument) for argument in arguments])
        sys.stdout.flush()
    except BrokenPipeError:
        drop_output()
        return BROKEN_PIPE
    except KeyboardInterrupt:
        return INTERRUPTED
    return code


def _run(arguments: Sequence[str]) -> int:
    command = get_command(build(next((item for item in arguments if not item.startswith("-")), "")))
    try:
        result = command.main(behind_dashes(arguments), prog_name="memoranda", standalone_mode=False)
    except _UsageError as error:
        if json_wanted(arguments):
            message = error.format_message()  # type: ignore[attr-defined]  # a ClickException
            typer.echo(json.dumps({"error": {"code": "usage", "message": message}}, ensure_ascii=False))
        else:
            error.show()  # type: ignore[attr-defined]  # the same
        return TABLE[InvalidInput].exit_code
    except typer.Abort:
        typer.echo("nothing was changed", err=True)
        return 1
    return result if isinstance(result, int) else 0


def _as_utf8(argument: str) -> str:
    """Read an argument as UTF-8 whatever the locale; bytes that are not stay marked and are refused later."""
    return os.fsencode(argument).decode("utf-8", "surrogateescape")


def _force_utf8() -> None:
    """Speak UTF-8 whatever the locale; what cannot be encoded becomes an escape that JSON reads back."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
