"""Options that say what is known about a record, shared by `save` and `update`, and the times of `search`."""

from __future__ import annotations

from typing import Annotated

import typer

from memoranda.domain.record import Details, Epistemic, Kind

Title = Annotated[str, typer.Option("--title", metavar="T", help="A heading above it.")]
Description = Annotated[str, typer.Option("--description", metavar="T", help="When this matters; found, not shown.")]
Kinds = Annotated[Kind | None, typer.Option("--kind", help="What sort of knowledge it is.")]
Tags = Annotated[list[str] | None, typer.Option("--tag", metavar="T", help="A word to find it by; may be repeated.")]
Known = Annotated[Epistemic | None, typer.Option("--epistemic", help="How it is known.")]
Evidence = Annotated[
    list[str] | None, typer.Option("--evidence", metavar="REF", help="A record or session that shows it; repeatable.")
]
ValidFrom = Annotated[
    str, typer.Option("--valid-from", metavar="TIME", help="Since when it is true (ISO 8601; UTC without an offset).")
]
ValidTo = Annotated[
    str, typer.Option("--valid-to", metavar="TIME", help="Until when it is true (ISO 8601; UTC without an offset).")
]
Since = Annotated[
    str, typer.Option("--since", metavar="TIME", help="Recorded at or after (ISO 8601; UTC without an offset).")
]
Until = Annotated[
    str, typer.Option("--until", metavar="TIME", help="Recorded at or before (ISO 8601; UTC without an offset).")
]
AsOf = Annotated[
    str, typer.Option("--as-of", metavar="TIME", help="What was believed then (ISO 8601; UTC without an offset).")
]
ValidAt = Annotated[
    str, typer.Option("--valid-at", metavar="TIME", help="What was true then (ISO 8601; UTC without an offset).")
]


def described(
    title: str,
    description: str,
    kind: Kind | None,
    tags: list[str] | None,
    epistemic: Epistemic | None,
    evidence: list[str] | None,
    valid_from: str,
    valid_to: str,
) -> Details:
    """Return what the options say."""
    return Details(
        title=title,
        description=description,
        kind=kind,
        tags=tuple(tags or ()),
        epistemic=epistemic or Epistemic.OBSERVED,
        evidence=tuple(evidence or ()),
        valid_from=valid_from,
        valid_to=valid_to,
    )
