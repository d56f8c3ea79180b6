"""Verbs that look at changes and take them back: history, blame, log, diff, checkpoints, undo."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Annotated

import typer

from memoranda.domain.outcome import BatchOutcome
from memoranda.domain.report import BlameLine, Event, FileDiff, History
from memoranda.errors import InvalidInput
from memoranda.interfaces import wire, wire_reports
from memoranda.interfaces.cli.options import AgentId, AsJson, Home, NoSync, Since, verb
from memoranda.interfaces.cli.output import plain, strong
from memoranda.interfaces.cli.session import Session, opened
from memoranda.interfaces.errors import ensure_done


def register(app: typer.Typer) -> None:
    """Add the verbs to the command line."""
    for function in (history, blame, log, undo, diff, checkpoints):
        app.command()(function)


@verb
def history(
    ident: Annotated[str, typer.Argument(metavar="ID", help="A record id.")],
    *,
    no_sync: NoSync = False,
    agent: AgentId = None,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Show every version of a record and who made it."""
    with opened(home, agent, as_json=as_json) as session:
        session.refresh(skip=no_sync)
        chain = session.agent.history(ident)
    session.out.result(wire_reports.history(chain), _history_lines(chain))


def _history_lines(chain: History) -> Iterator[str]:
    for version in chain.versions:
        known = version.record
        yield f"{strong(known.id)}  {known.status}  {known.trust.label}  {known.author}  {known.recorded_at}"
        text = "(erased)" if version.text is None else plain(version.text).rstrip("\n")
        yield from (f"   {line}" for line in text.splitlines())
    yield from _event_lines(chain.events)


def _event_lines(events: Sequence[Event]) -> Iterator[str]:
    for seen in events:
        yield plain(f"{seen.seq:>6}  {seen.at}  {seen.principal}  {seen.kind}  {seen.scope}  {seen.subject}")


@verb
def blame(
    file: Annotated[str, typer.Argument(metavar="FILE", help="MEMORY.md or a file under memory/.")],
    *,
    no_sync: NoSync = False,
    agent: AgentId = None,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Show who wrote each block of a file, when, and how far to believe it."""
    with opened(home, agent, as_json=as_json) as session:
        session.refresh(skip=no_sync)
        blocks = session.agent.blame(file)
    session.out.result(wire_reports.blame(file, blocks), _blame_lines(blocks))


def _blame_lines(blocks: Sequence[BlameLine]) -> Iterator[str]:
    for block in blocks:
        known = block.record
        about = "(not seen yet)"
        if known is not None:
            about = f"{known.id}  {known.author}  {known.trust.label}  {known.recorded_at[:10]}"
            if known.provenance.session_id:
                about += f"  session {plain(known.provenance.session_id)}"
        yield strong(f"L{block.line_start}-L{block.line_end}  {about}")
        yield from (f"   {line}" for line in plain(block.text).rstrip("\n").splitlines())


@verb
def log(
    *,
    limit: Annotated[int, typer.Option("-n", "--limit", min=1, max=1_000, help="Events at most.")] = 50,
    kind: Annotated[str, typer.Option("--kind", help="Only events of this kind.")] = "",
    subject: Annotated[str, typer.Option("--subject", help="Only events about this record or file.")] = "",
    since: Since = "",
    agent: AgentId = None,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Print the ledger's events, newest first."""
    with opened(home, agent, as_json=as_json) as session:
        events = session.agent.log(limit=limit, kind=kind, subject=subject, since=since)
    session.out.result({"events": [wire_reports.event(seen) for seen in events]}, _event_lines(events))


@verb
def checkpoints(
    *,
    limit: Annotated[int, typer.Option("-n", "--limit", min=1, max=100, help="Checkpoints at most.")] = 20,
    path: Annotated[str, typer.Option("--path", metavar="TEXT", help="Only files whose path contains it.")] = "",
    agent: AgentId = None,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """List what was kept before each change, newest first."""
    with opened(home, agent, as_json=as_json) as session:
        kept = session.agent.checkpoints(limit=limit, path_contains=path)
    lines = (plain(f"{one.id}  {one.at}  {one.reason}  {one.author}  {', '.join(one.paths)}") for one in kept)
    session.out.result(wire.checkpoints(kept), lines)


@verb
def diff(
    checkpoint: Annotated[str, typer.Argument(metavar="CHECKPOINT", help="A checkpoint id.")],
    *,
    no_sync: NoSync = False,
    agent: AgentId = None,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Show what restoring a checkpoint would do: + comes back, - goes."""
    with opened(home, agent, as_json=as_json) as session:
        session.refresh(skip=no_sync)
        changes = session.agent.diff(checkpoint)
    session.out.result(wire_reports.diffs(checkpoint, changes), _diff_lines(changes))


def _diff_lines(changes: Sequence[FileDiff]) -> Iterator[str]:
    for change in changes:
        yield from plain(change.diff).splitlines()


@verb
def undo(
    count: Annotated[int, typer.Argument(metavar="[N]", min=1, max=100, help="How many changes.")] = 1,
    *,
    checkpoint: Annotated[
        str | None, typer.Option("--checkpoint", metavar="ID", help="Go back to this checkpoint instead.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    agent: AgentId = None,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Take back the last changes, after showing them; the undo can be undone."""
    if checkpoint is not None and count != 1:
        raise InvalidInput("give either a number of changes or --checkpoint, not both")
    with opened(home, agent, as_json=as_json) as session:
        session.refresh()
        handle = session.agent
        seen = "" if yes else _ask(session, count, checkpoint)
        outcome = ensure_done(handle.undo(count, expected=seen) if checkpoint is None else handle.restore(checkpoint))
    answer = wire.restored(outcome, checkpoint_id=checkpoint or "")
    session.out.result(answer, restored_lines(outcome))


def restored_lines(outcome: BatchOutcome) -> Iterator[str]:
    """Show which files an undo brought back or removed."""
    for word, deleted in (("restored", False), ("removed", True)):
        paths = [change.path for change in outcome.files if change.deleted is deleted]
        if paths:
            yield f"{word}: {plain(', '.join(paths))}"
    if not outcome.files:
        yield "nothing had changed"
    if outcome.checkpoint_id:
        yield f"checkpoint {outcome.checkpoint_id}"


def _ask(session: Session, count: int, checkpoint: str | None) -> str:
    """Show what would be taken back and ask; a pipe cannot answer and needs `--yes`.

    Returns the newest checkpoint that was there, so that no later change is taken back in its place.
    """
    if session.out.as_json or not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise InvalidInput("undo asks before it changes anything; without a terminal, add --yes")
    seen = session.agent.newest_checkpoint()
    changes = session.agent.undo_preview(count) if checkpoint is None else session.agent.diff(checkpoint)
    for line in _diff_lines(changes):
        session.out.note(line)
    if not typer.confirm("Take this back (+ comes back, - goes)?", err=True):
        raise typer.Abort
    return seen
