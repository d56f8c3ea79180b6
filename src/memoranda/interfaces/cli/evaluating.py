"""`memoranda eval`: how well a language model does the jobs, on labelled cases."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from memoranda.domain.job_cases import KINDS
from memoranda.domain.job_metrics import table
from memoranda.errors import InvalidInput
from memoranda.interfaces.cli.options import AsJson, verb
from memoranda.interfaces.cli.output import Output, plain
from memoranda.interfaces.cli.progress import shown
from memoranda.interfaces.job_quality import cases_shipped, measured


def register(app: typer.Typer) -> None:
    """Add the group to the command line."""
    group = typer.Typer(name="eval", help="Measure a language model on labelled cases.", no_args_is_help=True)
    group.command()(jobs)
    group.callback()(_eval)
    app.add_typer(group)


def _eval() -> None:
    """Measure a language model on labelled cases."""


@verb
def jobs(
    *,
    model: Annotated[
        str, typer.Option("--model", metavar="MODEL", help="provider:name; without it the one of the environment.")
    ] = "",
    kind: Annotated[
        list[str] | None, typer.Option("--kind", metavar="KIND", help=f"Only these cases: {', '.join(KINDS)}.")
    ] = None,
    limit: Annotated[int, typer.Option("-n", "--limit", min=0, help="So many cases of each kind; 0: all.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Let a model do the jobs on the cases that come with the program, and show how well it did.

    It asks the model about 200 times; a home is made for it and thrown away.
    """
    unknown = sorted(set(kind or ()) - set(KINDS))
    if unknown:
        raise InvalidInput(f"there are no cases of the kind {unknown[0][:40]!r}: use {', '.join(KINDS)}")
    cases = [case for case in cases_shipped() if not kind or case.kind in kind]
    if limit:
        cases = [case for wanted in KINDS for case in [one for one in cases if one.kind == wanted][:limit]]
    with shown() as progress:
        found = measured(cases, progress, model=model)
    answer = {
        "model": found.model, "cases": len(cases),
        "scores": [
            {**asdict(one), "precision": one.precision, "recall": one.recall, "f1": one.f1} for one in found.scores
        ],
    }  # fmt: skip
    Output(as_json=as_json).result(answer, [plain(found.model), *table(found.scores)])
