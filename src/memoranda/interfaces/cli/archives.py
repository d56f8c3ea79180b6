"""Verbs that carry memory between homes and tools: export, import, import-transcript."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from memoranda.domain.archive import ExportReport, ImportReport
from memoranda.errors import InvalidInput
from memoranda.interfaces.cli.options import AgentId, AsJson, Home, verb
from memoranda.interfaces.cli.output import plain
from memoranda.interfaces.cli.progress import shown
from memoranda.interfaces.cli.session import forbid_agents, opened

File = Annotated[Path, typer.Argument(metavar="FILE", help="The archive.")]


def register(app: typer.Typer) -> None:
    """Add the verbs to the command line."""
    app.command(name="export")(export_archive)
    app.command(name="import")(import_archive)
    app.command(name="import-transcript")(import_transcript)


@verb
def export_archive(
    file: File,
    *,
    agent: Annotated[
        list[str] | None, typer.Option("--agent", metavar="ID", help="Only this agent's memory; may be repeated.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that exists.")] = False,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Write memory into one archive: files, what is known of them, the ledger's events, every rejection."""
    forbid_agents("export")
    with opened(home, None, as_json=as_json) as session, shown() as progress:
        session.memory.sync(progress=progress)
        report = session.memory.export_archive(file, agents=agent, replace=force, progress=progress)
    session.out.result(asdict(report), _exported(report))


def _exported(report: ExportReport) -> Iterator[str]:
    yield plain(f"{report.path}: {report.files} files, {report.records} records, {report.tombstones} rejections")
    if report.withheld or report.waiting:
        yield f"left out: {report.withheld} withheld, {report.waiting} waiting for review"


@verb
def import_archive(
    file: File,
    *,
    run: Annotated[
        str, typer.Option("--run", metavar="ID", help="A name for this import, kept as the author.")
    ] = "archive",
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Take in an archive: all of it untrusted, nothing that was rejected here or there."""
    forbid_agents("import")
    with opened(home, None, as_json=as_json, make=True) as session, shown() as progress:
        if not yes:
            _ask(file, session.memory.archive_size(file), as_json=as_json)
        session.memory.sync(progress=progress)
        report = session.memory.import_archive(file, run=run, progress=progress)
    session.out.result(asdict(report), _imported(report))


@verb
def import_transcript(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The transcript.")],
    *,
    form: Annotated[
        str, typer.Option("--form", metavar="FORM", help="claude-code, messages or jsonl; without it, found out.")
    ] = "",
    key: Annotated[
        str, typer.Option("--key", metavar="KEY", help="The session's key; without it the file's name.")
    ] = "",
    run: Annotated[str, typer.Option("--run", metavar="ID", help="A name for this import.")] = "transcript",
    agent: AgentId = None,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Take a conversation of another tool into an agent's log; again later, only what is new."""
    forbid_agents("import-transcript")
    try:
        data = file.read_bytes()
    except OSError as error:
        raise InvalidInput(f"{file} cannot be read: {error.strerror}") from error
    with opened(home, agent, as_json=as_json, make=True) as session, shown() as progress:
        report = session.memory.import_transcript(
            session.agent_id, data, key=key or file.stem, run=run, form=form, progress=progress
        )
        session.memory.embed(progress=progress)
    lines = [
        f"{report.events} events taken in, {report.turns} of them are found by search; {report.known} known already"
    ]
    if report.tainted:
        lines.append(f"{report.tainted} came after untrusted content: logged, and not found by search")
    if report.skipped:
        lines.append(
            f"{len(report.skipped)} lines left out, such as line {report.skipped[0][0]}: {report.skipped[0][1]}"
        )
    session.out.result(asdict(report), [plain(line) for line in lines])


def _ask(file: Path, files: int, *, as_json: bool) -> None:
    if as_json or not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise InvalidInput("import asks before it writes; without a terminal, add --yes")
    if not typer.confirm(f"{plain(str(file))} holds {files} files. Take them in as untrusted memory?", err=True):
        raise typer.Abort


def _imported(report: ImportReport) -> Iterator[str]:
    yield f"{report.written} records in {report.files} files; {report.tombstones} rejections carried"
    for count, what in (
        (report.duplicates, "known already"),
        (report.rejected, "rejected, left out"),
        (report.waiting, "waiting for review already, left out"),
        (report.secrets, "hold a secret, left out"),
    ):
        if count:
            yield f"{count} {what}"
    yield from (plain(f"refused: {line}") for line in report.refused)
