"""What the command line prints: results on standard output, everything else on standard error."""

from __future__ import annotations

import json
import os
import sys
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import typer

from memoranda.errors import IntegrityError, MemorandaError
from memoranda.interfaces.errors import describe


def plain(text: str) -> str:
    """Return text that cannot steer a terminal: control characters other than newline and tab become visible.

    Memory contents may come from anywhere; an escape sequence in them could rewrite what a person sees.
    """
    if text.isprintable():
        return text
    return "".join(
        char if char in "\n\t" or unicodedata.category(char) not in ("Cc", "Cs") else "\N{REPLACEMENT CHARACTER}"
        for char in text.replace("\r\n", "\n")
    )


def indented(text: str) -> str:
    """Return text whose further lines are set in, so that none of them can pass for an entry of its own."""
    return "\n   ".join(text.splitlines())


def coloured() -> bool:
    """Return whether standard output takes colours: a terminal, and NO_COLOR is not set."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def strong(text: str) -> str:
    """Return the text in bold on a terminal, unchanged elsewhere."""
    return typer.style(text, bold=True) if coloured() else text


@dataclass(frozen=True, slots=True)
class Output:
    """Prints either one JSON document or lines for a person, never both."""

    as_json: bool

    def result(self, document: Mapping[str, object], lines: Iterable[str]) -> None:
        """Print the result of a verb: the document with `--json`, else the lines."""
        if self.as_json:
            typer.echo(json.dumps(document, ensure_ascii=False, indent=2 if sys.stdout.isatty() else None))
            return
        for line in lines:
            typer.echo(line)

    def note(self, text: str) -> None:
        """Tell a person something beside the result."""
        typer.echo(plain(text), err=True)

    def fail(self, error: MemorandaError) -> None:
        """Print an error: as the document with `--json`, else as a line on standard error."""
        if self.as_json:
            typer.echo(json.dumps(describe(error), ensure_ascii=False))
        else:
            self.note(f"memoranda: {error}")
            if isinstance(error, IntegrityError) and "backup" not in str(error):
                self.note("`memoranda verify` says what is damaged; bring that back from a backup")


def drop_output() -> None:
    """Point standard output nowhere after its reader has gone, so that the flush at exit does not fail."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
