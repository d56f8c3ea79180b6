"""The verb `config`: which settings hold, and where each value came from."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Annotated

import typer

import memoranda
from memoranda.config import ConfigValue
from memoranda.errors import NotFound
from memoranda.interfaces.cli.options import AsJson, Home, verb
from memoranda.interfaces.cli.output import Output, plain
from memoranda.interfaces.cli.session import existing_home


def register(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    group = typer.Typer(help="Show the settings and where each value came from.", no_args_is_help=True)
    group.command("list")(list_settings)
    group.command("get")(get_setting)
    app.add_typer(group, name="config")


@verb
def list_settings(*, home: Home = None, as_json: AsJson = False) -> None:
    """List every setting with its value and source."""
    values = _values(home)
    document = {"settings": [_document(value) for value in values]}
    lines = (plain(f"{value.key} = {value.value}  ({value.source})") for value in values)
    Output(as_json=as_json).result(document, lines)


@verb
def get_setting(
    key: Annotated[str, typer.Argument(metavar="KEY", help="For example memory.provider.")],
    *,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Print one setting."""
    values = {value.key: value for value in _values(home)}
    if key not in values:
        near = get_close_matches(key, values, n=1)
        raise NotFound(f"there is no setting {key[:80]!r}" + (f"; did you mean {near[0]!r}?" if near else ""))
    Output(as_json=as_json).result(_document(values[key]), [plain(str(values[key].value))])


def _values(home: Home) -> tuple[ConfigValue, ...]:
    with memoranda.open(existing_home(home)) as memory:
        return memory.config.values()


def _document(value: ConfigValue) -> dict[str, object]:
    return {"key": value.key, "value": value.value, "source": value.source, "default": value.default}
