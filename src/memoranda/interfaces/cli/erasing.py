"""The verb that erases for good."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from memoranda.domain.erasure import Certificate
from memoranda.errors import InvalidInput
from memoranda.interfaces.cli.credential import as_operator
from memoranda.interfaces.cli.options import AsJson, Home, verb
from memoranda.interfaces.cli.progress import shown
from memoranda.interfaces.cli.session import opened
from memoranda.services.erase import ensure_clean


def register(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    app.command()(erase)


@verb
def erase(
    ident: Annotated[str, typer.Argument(metavar="[RECORD]", help="The record whose text is erased.")] = "",
    *,
    text: Annotated[str, typer.Option("--text", metavar="T", help="Erase this text wherever it stands.")] = "",
    only: Annotated[bool, typer.Option("--only", help="Leave what descends from the record.")] = False,
    no_tombstone: Annotated[
        bool, typer.Option("--no-tombstone", help="Do not even remember that it was rejected.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Write the certificate there, too.")] = None,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Erase a text everywhere in the home, for good, and print a certificate; it cannot be undone."""
    with opened(home, None, as_json=as_json) as session:
        operator = as_operator(session)
        if not yes:
            _ask(as_json=as_json)
        with shown() as progress:
            certificate = operator.erase(
                record_id=ident, text=text, only=only, keep_tombstone=not no_tombstone, progress=progress
            )
    document = _document(certificate)
    if out is not None:
        out.write_text(json.dumps(document, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    session.out.result(document, _lines(certificate))
    ensure_clean(certificate)


def _ask(*, as_json: bool) -> None:
    if as_json or not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise InvalidInput("erase asks before it begins; without a terminal, add --yes")
    if not typer.confirm("Erase this for good, in every kept version too? It cannot be undone", err=True):
        raise typer.Abort


def _document(certificate: Certificate) -> dict[str, object]:
    return {
        "what": list(certificate.what),
        "when": certificate.when,
        "who": certificate.who,
        "objects": certificate.objects,
        "events": certificate.events,
        "swept": {"files": certificate.swept.files, "bytes": certificate.swept.bytes},
        "residue": len(certificate.swept.residue),
        "residue_in": list(certificate.swept.residue),
        "tombstone_kept": certificate.tombstones_kept,
        "nothing_to_do": certificate.nothing_to_do,
        "not_covered": list(certificate.not_covered),
    }


def _lines(certificate: Certificate) -> Iterator[str]:
    if certificate.nothing_to_do:
        yield "nothing to do: it is erased already"
        return
    yield f"erased: {', '.join(certificate.what) or 'the text'}"
    yield f"kept texts rewritten or dropped: {certificate.objects}; events emptied: {certificate.events}"
    swept = certificate.swept
    yield f"swept {swept.files} files, {swept.bytes} bytes; residue: {len(swept.residue)}"
    yield from (f"not covered: {line}" for line in certificate.not_covered)
