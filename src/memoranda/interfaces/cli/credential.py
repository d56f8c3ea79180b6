"""The operator at the command line: by passphrase, or at a terminal where none is set. Agents are kept out."""

from __future__ import annotations

import os
import sys

import typer

from memoranda.errors import Denied, InvalidInput
from memoranda.interfaces.cli.options import AsJson, Home, verb
from memoranda.interfaces.cli.session import Session, forbid_agents, opened
from memoranda.memory import Operator

PASSPHRASE = "MEMORANDA_OPERATOR_PASSPHRASE"  # noqa: S105 - a variable's name
"""Where a script of a person's own hands the passphrase over; it has no place in an agent's environment."""


def register(app: typer.Typer) -> None:
    """Add the verbs to the command line."""
    group = typer.Typer(name="operator", help="Who may review, adopt, retier and erase.", no_args_is_help=True)
    group.command("set")(operator_set)
    group.command("status")(operator_status)
    app.add_typer(group)


def as_operator(session: Session) -> Operator:
    """Return the operator's handle.

    With a passphrase set: from `$MEMORANDA_OPERATOR_PASSPHRASE`, or asked at the terminal. Without one: only at a
    terminal, and the person confirms.

    Raises:
        Denied: an agent's environment, a wrong passphrase, or a pipe where none is set.
    """
    forbid_agents("this")
    if session.memory.operator_is_set:
        return session.memory.operator(os.environ.get(PASSPHRASE) or _asked("Operator's passphrase"))
    if not _at_terminal():
        raise Denied("this needs the operator: run it at a terminal, or set a passphrase with `memoranda operator set`")
    answer = typer.prompt("No operator passphrase is set. Type yes to act as the operator", default="", err=True)
    if answer.strip().lower() != "yes":
        raise typer.Abort
    return session.memory.operator(at_terminal=True)


def _at_terminal() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def _asked(what: str) -> str:
    if not _at_terminal():
        raise Denied(f"this needs the operator's passphrase: at a terminal, or in ${PASSPHRASE}")
    return str(typer.prompt(what, hide_input=True, err=True))


@verb
def operator_set(*, home: Home = None, as_json: AsJson = False) -> None:
    """Set or change the operator's passphrase; from then on review, adopt, retier and erase ask for it."""
    forbid_agents("operator set")
    with opened(home, None, as_json=as_json) as session:
        old = ""
        if session.memory.operator_is_set:
            old = os.environ.get(PASSPHRASE) or _asked("Present passphrase")
        new = _asked("New passphrase (at least 8 characters)")
        if _asked("Again") != new:
            raise InvalidInput("the two are not the same; nothing was changed")
        session.memory.set_operator(new, old=old, at_terminal=_at_terminal())
    session.out.result({"set": True}, ["the operator's passphrase is set"])


@verb
def operator_status(*, home: Home = None, as_json: AsJson = False) -> None:
    """Say whether a passphrase is set."""
    with opened(home, None, as_json=as_json) as session:
        is_set = session.memory.operator_is_set
    line = "a passphrase is set" if is_set else "no passphrase is set: the operator is whoever sits at a terminal"
    session.out.result({"set": is_set}, [line])
