"""Verbs that look after a home: init, status, doctor, sync, reindex, watch, verify."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

import memoranda
from memoranda.domain.report import Finding, Progress, StatusReport, SyncReport, VerifyReport
from memoranda.domain.scope import agent_scope
from memoranda.errors import BackendError, IntegrityError, MemorandaError
from memoranda.interfaces import wire_reports
from memoranda.interfaces.cli.background import stopped_by_signals
from memoranda.interfaces.cli.options import AsJson, Home, verb
from memoranda.interfaces.cli.output import Output, plain, strong
from memoranda.interfaces.cli.progress import shown
from memoranda.interfaces.cli.session import existing_home, forbid_agents, pinned_agent
from memoranda.interfaces.errors import TABLE
from memoranda.memory import Memory

NoEmbed = Annotated[bool, typer.Option("--no-embed", help="Leave vectors to a later sync.")]


def register(app: typer.Typer) -> None:
    """Add the verbs to the command line."""
    for function in (init, status, doctor, sync, reindex, watch, verify):
        app.command()(function)


@verb
def init(
    folder: Annotated[
        Path | None,
        typer.Argument(metavar="[FOLDER]", show_default="$MEMORANDA_HOME, else ~/.memoranda", help="The home to make."),
    ] = None,
    *,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Make a home, or take over a folder of Markdown notes as one."""
    out = Output(as_json=as_json)
    with memoranda.open(folder if folder is not None else home) as memory:
        with shown() as progress:
            report = memory.sync(progress=progress)
        where = memory.home
    document = {"home": str(where), "sync": wire_reports.sync(report)}
    lines = [
        f"{where} is ready: {report.files_seen} memory files, {report.added} new records",
        "next: memoranda save 'The user prefers dark mode.'",
        "      memoranda mcp --json   (the lines to paste into a coding agent)",
    ]
    out.result(document, lines)


@verb
def status(*, home: Home = None, as_json: AsJson = False) -> None:
    """Show what the home holds, which embedder serves it, and what is ignored."""
    with memoranda.open(existing_home(home)) as memory:
        report = _visible(memory.status())
    Output(as_json=as_json).result(wire_reports.status(report), _status_lines(report))


def _visible(report: StatusReport) -> StatusReport:
    """Leave a pinned agent its own scope of the report; a person sees everything."""
    own = _own_scope()
    return replace(
        report,
        scopes=tuple(scope for scope in report.scopes if own in ("", scope.scope)),
        skipped=tuple(file for file in report.skipped if own in ("", file.scope)),
        withheld=tuple(secret for secret in report.withheld if own in ("", secret.scope)),
    )


def _visible_sync(report: SyncReport) -> SyncReport:
    own = _own_scope()
    return replace(
        report,
        skipped=tuple(file for file in report.skipped if own in ("", file.scope)),
        withheld=tuple(secret for secret in report.withheld if own in ("", secret.scope)),
    )


def _own_scope() -> str:
    """Return the scope of the pinned agent, "" for a person, who sees everything."""
    pinned = pinned_agent()
    return "" if pinned is None else str(agent_scope(pinned))


def _is_visible(subject: str, common: Sequence[str] = ()) -> bool:
    """Whether a subject concerns a pinned agent: its own scope, or what every scope has in common."""
    own = _own_scope()
    return not own or subject in common or subject.partition(" ")[0] == own


def _status_lines(report: StatusReport) -> Iterator[str]:
    yield f"home      {report.home}"
    yield f"embedder  {report.embedder or 'none'} ({report.embedder_reason})"
    yield f"backend   {report.backend}"
    yield f"ledger    {report.ledger_events} events, {report.ledger_bytes:,} bytes"
    yield f"kept      {report.checkpoints} checkpoints"
    yield f"index     {report.index_bytes:,} bytes"
    for scope in report.scopes:
        yield (
            f"{strong(scope.scope)}  {scope.files} files, {scope.active} records, {scope.withheld} withheld, "
            f"{scope.retired} retired; {scope.vectors} of {scope.indexed_passages} passages have vectors"
        )
        yield f"   {plain(scope.workspace)}"
        if scope.waiting:
            yield f"   {scope.waiting} waiting for a ruling; see `memoranda review list`"
    yield from _ignored_lines(report)


def _ignored_lines(report: StatusReport | SyncReport) -> Iterator[str]:
    for file in report.skipped:
        yield plain(f"not read: {file.scope} {file.path} ({file.reason})")
    for secret in report.withheld:
        yield plain(f"withheld: {secret.scope} {secret.path} line {secret.line}: a secret ({secret.secret_class})")


@verb
def doctor(
    *,
    scan_secrets: Annotated[
        bool, typer.Option("--scan-secrets", help="Look for secrets in everything stored, every kept version too.")
    ] = False,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Check the machine and the home, and say what to do."""
    if scan_secrets:
        forbid_agents("--scan-secrets")
    with memoranda.open(existing_home(home)) as memory, shown() as progress:
        found = memory.scan_secrets(progress=progress) if scan_secrets else memory.doctor()
    found = tuple(finding for finding in found if _is_visible(finding.subject, ("home", "embedder")))
    document = wire_reports.findings(found)
    Output(as_json=as_json).result(document, _doctor_lines(found))
    if document["level"] == "error":
        raise typer.Exit(TABLE[MemorandaError].exit_code)


def _doctor_lines(found: Sequence[Finding]) -> Iterator[str]:
    for finding in found:
        yield plain(f"{finding.level:<8} {finding.subject}: {finding.message}")
        if finding.advice:
            yield plain(f"         -> {finding.advice}")


@verb
def sync(
    *,
    accept_removals: Annotated[
        bool, typer.Option("--accept-removals", help="It is meant that most files are gone.")
    ] = False,
    no_embed: NoEmbed = False,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Take in what was edited, and give new passages their vectors."""
    if accept_removals:
        forbid_agents("--accept-removals")
    pinned = pinned_agent()
    with memoranda.open(home) as memory, shown() as progress:
        report = _visible_sync(
            memory.sync(accept_removals=accept_removals, progress=progress, agents=None if pinned is None else [pinned])
        )
        done = _Embedded() if no_embed else _embedded(memory, progress)
    _show_sync(report, done, as_json=as_json)


@dataclass(frozen=True, slots=True)
class _Embedded:
    """How many passages got vectors, and why others wait, "" where nothing failed."""

    passages: int = 0
    failed: str = ""
    waiting: int | None = None


def _embedded(memory: Memory, progress: Progress) -> _Embedded:
    """Embed what waits; an embedder that is away is no failure of what was done before: text is found by words."""
    before = sum(scope.vectors for scope in memory.status().scopes)
    try:
        return _Embedded(memory.embed(progress=progress))
    except BackendError as error:
        scopes = memory.status().scopes
        done = max(0, sum(scope.vectors for scope in scopes) - before)
        return _Embedded(done, str(error), sum(scope.pending_vectors for scope in scopes))


def _show_sync(report: SyncReport, done: _Embedded, *, as_json: bool) -> None:
    if done.waiting is not None:
        report = replace(report, pending_vectors=done.waiting + done.passages)
    out = Output(as_json=as_json)
    out.result(
        wire_reports.sync(report, embedded=done.passages, failed=done.failed), _sync_lines(report, done.passages)
    )
    if done.failed:
        out.note(f"warning: vectors wait for the next sync, search goes by words: {plain(done.failed)}")


def _sync_lines(report: SyncReport, embedded: int = 0) -> Iterator[str]:
    yield (
        f"{report.files_seen} files, {report.files_changed} changed, {report.files_removed} removed: "
        f"{report.added} added, {report.edited} edited, {report.moved} moved, {report.removed} removed, "
        f"{report.revived} revived"
    )
    if report.recovered_batches:
        yield f"{report.recovered_batches} interrupted writes finished or discarded"
    waiting = max(0, report.pending_vectors - embedded)
    if embedded or waiting:
        yield f"{embedded} passages got vectors, {waiting} wait"
    yield from _ignored_lines(report)


@verb
def reindex(
    *,
    backend: Annotated[
        str | None,
        typer.Option("--backend", metavar="NAME", help="What names candidates, this time: builtin, zvec or qmd."),
    ] = None,
    no_embed: NoEmbed = False,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Forget the index and build it anew from files and ledger."""
    settings = {} if backend is None else {"memory.backend": backend}
    with memoranda.open(home, settings=settings) as memory, shown() as progress:
        report = _visible_sync(memory.reindex(progress=progress))
        done = _Embedded() if no_embed else _embedded(memory, progress)
        remarks = () if backend is None or no_embed else memory.prepare_search()
        kept = memory.config.backend
    _show_sync(report, done, as_json=as_json)
    out = Output(as_json=as_json)
    for remark in remarks:
        out.note(f"warning: {plain(remark)}")
    if backend is not None:
        out.note(f'built for {kept}; to search by it, set backend = "{kept}" under [memory] in memoranda.toml')


@verb
def watch(
    *,
    debounce: Annotated[float, typer.Option("--debounce", min=0.05, help="Seconds of quiet before a sync.")] = 1.5,
    resync: Annotated[float, typer.Option("--resync", min=1.0, help="Seconds between full syncs.")] = 900.0,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Sync whenever a file changes, until Ctrl-C; with --json one document a line."""
    out = Output(as_json=as_json)

    def on_sync(every: SyncReport) -> None:
        report = _visible_sync(every)
        if as_json:
            typer.echo(json.dumps(wire_reports.sync(report), ensure_ascii=False))
        elif report.files_changed or report.files_removed or report.recovered_batches:
            out.result({}, _sync_lines(report))

    with memoranda.open(home) as memory:
        out.note(f"watching {memory.home}; Ctrl-C ends it")
        memory.watch(
            stop=stopped_by_signals(),
            on_sync=on_sync,
            on_error=lambda error: out.note(f"warning: {error}"),
            debounce=debounce,
            resync=resync,
        )


@verb
def verify(
    *,
    repair: Annotated[bool, typer.Option("--repair", help="Rebuild what is derived; truth is never touched.")] = False,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Check the ledger's chain, every file, every object and the index."""
    with memoranda.open(existing_home(home)) as memory:
        report = _verified(memory, repair=repair)
    shown_report = replace(report, problems=tuple(item for item in report.problems if _is_visible(item.subject)))
    elsewhere = len(report.problems) - len(shown_report.problems)
    Output(as_json=as_json).result(wire_reports.verify(shown_report), _verify_lines(shown_report, elsewhere))
    if not report.clean:
        raise typer.Exit(TABLE[IntegrityError].exit_code)


def _verified(memory: Memory, *, repair: bool) -> VerifyReport:
    with shown() as progress:
        return memory.verify(repair=repair, progress=progress)


def _verify_lines(report: VerifyReport, elsewhere: int = 0) -> Iterator[str]:
    yield "checked: " + ", ".join(f"{count} {area}" for area, count in report.checked)
    for name in report.repaired:
        yield plain(f"rebuilt: {name}")
    for problem in report.problems:
        yield plain(f"{problem.area}: {problem.subject}: {problem.message}")
    if elsewhere:
        yield f"{elsewhere} problems in what is not this agent's; a person sees them"
    yield "clean" if report.clean and not elsewhere else f"{len(report.problems) + elsewhere} problems"
