"""`memoranda bench`: how well search finds, on one's own questions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from memoranda.adapters.files.labelled_data import read_labelled
from memoranda.interfaces.cli.options import AsJson, verb
from memoranda.interfaces.cli.output import Output, plain
from memoranda.interfaces.cli.progress import shown
from memoranda.interfaces.quality import Quality, measured


def register(app: typer.Typer) -> None:
    """Add the group to the command line."""
    group = typer.Typer(name="bench", help="Measure search on questions with known answers.", no_args_is_help=True)
    group.command()(quality)
    group.callback()(_bench)
    app.add_typer(group)


def _bench() -> None:
    """Measure search on questions with known answers."""


@verb
def quality(
    data: Annotated[list[Path], typer.Argument(metavar="DATA...", help="Folders or files of labelled questions.")],
    *,
    provider: Annotated[
        list[str] | None,
        typer.Option("--provider", metavar="ADDRESS", help="An embedder, or none; several are measured in turn."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Ask labelled questions of a home made for them, and show how well the answers are found."""
    found: list[Quality] = []
    with shown() as progress:
        for path in data:
            for labelled in read_labelled(path):
                found += [measured(labelled, address, progress) for address in provider or [""]]
    Output(as_json=as_json).result({"results": [asdict(item) for item in found]}, _lines(found))


def _lines(found: Sequence[Quality]) -> Iterator[str]:
    for at, item in enumerate(found):
        if at:
            yield ""
        names = list(item.groups[0].means)
        yield plain(f"{item.name} ({item.form}): {item.texts:,} texts, embedder {item.embedder}")
        yield f"{'group':<12}{'n':>6}" + "".join(f"{name:>15}" for name in names)
        for group in item.groups:
            shown_names = "".join(f"{group.means[name]:>15.4f}" for name in names)
            yield plain(f"{group.name:<12.12}{group.questions:>6}{shown_names}")
            spans = {name: f"[{low:.3f} {high:.3f}]" for name, (low, high) in group.intervals.items()}
            yield (f"{'':<12}{'95 %':>6}" + "".join(f"{spans.get(name, ''):>15}" for name in names)).rstrip()
        yield f"a search takes {item.p50:.1f} ms (p50), {item.p95:.1f} ms (p95)"
