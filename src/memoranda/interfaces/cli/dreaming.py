"""Verbs for background work: dream run, list, show, undo; pin and unpin."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Annotated

import typer

from memoranda.domain.job import RunReport
from memoranda.errors import Conflict
from memoranda.interfaces import wire_jobs
from memoranda.interfaces.cli.options import AgentId, AsJson, Home, Since, verb
from memoranda.interfaces.cli.output import plain, strong
from memoranda.interfaces.cli.progress import busy
from memoranda.interfaces.cli.session import forbid_agents, opened
from memoranda.interfaces.errors import ensure_done
from memoranda.memory import Agent

RunId = Annotated[str, typer.Argument(metavar="RUN", help="A run's id, from `dream list`.")]
Ident = Annotated[str, typer.Argument(metavar="RECORD", help="A record's id.")]


def register(app: typer.Typer) -> None:
    """Add the verbs to the command line."""
    group = typer.Typer(
        name="dream", help="Consolidate memory with a model, and read or undo what jobs did.", no_args_is_help=True
    )
    group.command("run")(dream_run)
    group.command("contradictions")(dream_contradictions)
    group.command("steward")(dream_steward)
    group.command("usage")(dream_usage)
    group.command("list")(dream_list)
    group.command("show")(dream_show)
    group.command("undo")(dream_undo)
    app.add_typer(group)
    app.command()(pin)
    app.command()(unpin)
    app.command()(timeline)


@verb
def dream_run(
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Ask the model, and change nothing.")] = False,
    if_due: Annotated[
        bool, typer.Option("--if-due", help="Only where nobody talks and the last dream was long enough ago.")
    ] = False,
    agent: AgentId = None,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Let the model promote what matters and propose merges, rewrites and retirements; they wait for `review`."""
    job = partial(Agent.dream, asked=not if_due, dry_run=dry_run)
    _run("dreaming", job, agent, home, as_json=as_json)


@verb
def dream_contradictions(*, agent: AgentId = None, home: Home = None, as_json: AsJson = False) -> None:
    """Let the model compare what is new with what is known: signal what contradicts, propose what was updated."""
    _run("comparing", Agent.contradictions, agent, home, as_json=as_json)


@verb
def dream_steward(*, agent: AgentId = None, home: Home = None, as_json: AsJson = False) -> None:
    """Let the model check claims against their evidence, and note what is known of what waits for a person."""
    _run("checking claims", Agent.steward, agent, home, as_json=as_json)


@verb
def dream_usage(*, agent: AgentId = None, home: Home = None, as_json: AsJson = False) -> None:
    """Let the model say which recalled records answers rested on; no record changes."""
    _run("auditing recall", Agent.audit_usage, agent, home, as_json=as_json)


@verb
def dream_list(
    *,
    kind: Annotated[
        str, typer.Option("--kind", metavar="KIND", help="Only runs of this job, such as dream, extract, forget.")
    ] = "",
    limit: Annotated[int, typer.Option("-n", "--limit", min=1, max=200, help="Runs at most.")] = 20,
    agent: AgentId = None,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """List the newest runs of jobs, newest first."""
    with opened(home, agent, as_json=as_json) as session:
        found = session.agent.runs(kind=kind, limit=limit)
    answer = {"count": len(found), "runs": [wire_jobs.run(one, steps=False) for one in found]}
    lines = [_line(one) for one in found] or ["no job has run yet"]
    session.out.result(answer, lines)


@verb
def dream_show(run_id: RunId, *, agent: AgentId = None, home: Home = None, as_json: AsJson = False) -> None:
    """Show one run step by step: what it did, what it left and why, what it used."""
    with opened(home, agent, as_json=as_json) as session:
        report = session.agent.run(run_id)
    session.out.result(wire_jobs.run(report), _shown(report))


@verb
def dream_undo(run_id: RunId, *, agent: AgentId = None, home: Home = None, as_json: AsJson = False) -> None:
    """Take a whole run back: its changes, what was approved for it, and what still waits."""
    forbid_agents("taking back what a job did")
    with opened(home, agent, as_json=as_json) as session:
        session.refresh()
        done = session.agent.undo_run(run_id)
    lines = [f"restored {plain(path)}" for path in done.restored]
    lines += [f"withdrawn {ident}" for ident in done.withdrawn]
    lines += [f"settled as withdrawn {ident}" for ident in done.settled]
    lines += [f"left as it is, changed since: {plain(path)}" for path in done.conflicts]
    session.out.result(wire_jobs.undone(run_id, done), lines or ["there was nothing to take back"])
    if done.conflicts:
        raise Conflict("some files were changed since and were left as they are; the rest was taken back")


@verb
def pin(ident: Ident, *, agent: AgentId = None, home: Home = None, as_json: AsJson = False) -> None:
    """Keep a record from every change by background work."""
    _pinned(ident, agent, home, pinned=True, as_json=as_json)


@verb
def unpin(ident: Ident, *, agent: AgentId = None, home: Home = None, as_json: AsJson = False) -> None:
    """Let background work propose changes to a record again."""
    _pinned(ident, agent, home, pinned=False, as_json=as_json)


@verb
def timeline(
    *,
    limit: Annotated[int, typer.Option("-n", "--limit", min=1, max=1_000, help="Events at most.")] = 50,
    name: Annotated[
        str, typer.Option("--name", metavar="NAME", help="Only events of this name, or of names that begin so.")
    ] = "",
    since: Since = "",
    agent: AgentId = None,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Print what happened to one agent's memory under stable names, newest first."""
    with opened(home, agent, as_json=as_json) as session:
        found = session.agent.timeline(limit=limit, name=name, since=since)
    lines = [plain(f"{one.at[:19]}  {one.name}  {json.dumps(dict(one.payload), ensure_ascii=False)}") for one in found]
    session.out.result({"events": [wire_jobs.timeline_event(one) for one in found]}, lines or ["nothing happened yet"])


def _pinned(ident: str, agent: AgentId, home: Home, *, pinned: bool, as_json: bool) -> None:
    with opened(home, agent, as_json=as_json) as session:
        session.refresh()
        ensure_done(session.agent.pin(ident, pinned=pinned))
    session.out.result(
        {"record_id": ident, "pinned": pinned}, [f"{plain(ident)} is {'pinned' if pinned else 'not pinned'} now"]
    )


def _run(what: str, job: Callable[[Agent], RunReport], agent: AgentId, home: Home, *, as_json: bool) -> None:
    """Run a job and print what it did; leave with 1 where it failed."""
    with opened(home, agent, as_json=as_json) as session:
        session.refresh()
        with busy(what):
            report = job(session.agent)
    session.out.result(wire_jobs.run(report), _shown(report))
    if report.state == "failed":
        raise typer.Exit(1)


def _line(one: RunReport) -> str:
    counts: dict[str, int] = {}
    for step in one.steps:
        counts[step.outcome] = counts.get(step.outcome, 0) + 1
    did = ", ".join(f"{count} {outcome}" for outcome, count in counts.items()) or one.message or one.code
    return plain(f"{one.id}  {one.kind}  {one.state}  {one.started_at[:16]}  {did}")


def _shown(one: RunReport) -> Iterator[str]:
    yield strong(plain(f"{one.id}  {one.kind}  {one.state}"))
    if one.message:
        yield plain(f"{one.code}: {one.message}")
    for step in one.steps:
        yield plain("  ".join(filter(None, (step.what, step.outcome, " ".join(step.ids), step.why))))
    cost = f", ${one.cost:.4f}" if one.cost else ""
    used = f"{one.questions} questions, {one.input_tokens:,} tokens in, {one.output_tokens:,} out{cost}"
    yield plain(f"{one.model or 'no model'}: {used}")
