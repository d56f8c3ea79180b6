"""Verbs that show what a model sees: context, blocks, timeframe, injections."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer

from memoranda.domain.block import CORE, CoreBlock
from memoranda.domain.context import Context
from memoranda.domain.episode import one_line
from memoranda.domain.outcome import BatchOutcome, Quarantined, Saved
from memoranda.errors import BackendError, NotFound
from memoranda.interfaces import wire
from memoranda.interfaces.cli.notes import text_argument
from memoranda.interfaces.cli.options import AgentId, AsJson, Home, NoSync, verb
from memoranda.interfaces.cli.output import indented, plain, strong
from memoranda.interfaces.cli.session import Session, opened
from memoranda.interfaces.errors import ensure_done
from memoranda.services.timeframe import MAX_CHARACTERS, TimeFrameResult

Label = Annotated[str, typer.Argument(metavar="BLOCK", help="The block's name.")]


def register(app: typer.Typer) -> None:
    """Add the verbs to the command line."""
    for function in (context, timeframe, injections):
        app.command()(function)
    group = typer.Typer(name="blocks", help="Core blocks: small texts that are in every prompt.", no_args_is_help=True)
    group.command("list")(blocks_list)
    group.command("show")(blocks_show)
    group.command("set")(blocks_set)
    group.command("append")(blocks_append)
    group.command("replace")(blocks_replace)
    app.add_typer(group)


@verb
def context(
    query: Annotated[str, typer.Argument(metavar="[QUERY]", help="What the user would say.")] = "",
    *,
    no_sync: NoSync = False,
    agent: AgentId = None,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Show what a model would see of this agent's memory, with about how many tokens each part costs."""
    with opened(home, agent, as_json=as_json) as session:
        session.refresh(skip=no_sync)
        found = session.memory.agent(session.agent_id).context(query)
    answer: dict[str, object] = {
        "stable": found.stable,
        "volatile": found.volatile,
        "skipped": found.skipped,
        "parts": [{"name": part.name, "characters": len(part.text), "tokens": part.tokens} for part in found.parts],
        "results": [wire.hit(hit) for hit in found.hits],
    }
    session.out.result(answer, context_lines(found))


def context_lines(found: Context) -> Iterator[str]:
    """Show the parts of a prompt, with about how many tokens each costs."""
    for part in found.parts:
        yield strong(f"--- {part.name}: about {part.tokens} tokens ---")
        yield plain(part.text)
    if found.skipped:
        yield f"nothing was recalled: {found.skipped}"
    yield strong(f"--- about {sum(part.tokens for part in found.parts)} tokens in all ---")


@verb
def timeframe(
    day: Annotated[str, typer.Argument(metavar="[DAY]", help="2026-11-30, today or yesterday.")] = "",
    *,
    first: Annotated[str, typer.Option("--from", metavar="DAY", help="The first day of several.")] = "",
    last: Annotated[str, typer.Option("--to", metavar="DAY", help="The last day of several.")] = "",
    agent: AgentId = None,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Show what happened on a day or some days: the newest 40 entries of the log."""
    with opened(home, agent, as_json=as_json) as session:
        found = session.agent.timeframe(day or ("" if first or last else "today"), first=first, last=last)
    session.out.result(wire.timeframe(found), _day_lines(found))


def _day_lines(found: TimeFrameResult) -> Iterator[str]:
    yield f"{found.frame} ({found.zone}): {found.total} entries" + (", the newest 40" if found.truncated else "")
    for item in found.entries:
        marks = "".join((" [tainted]" if item.tainted else "", f" [{item.source}]" if item.source else ""))
        who = one_line(item.speaker or f"{item.role} {item.tool}")
        text = indented(item.text[:MAX_CHARACTERS]) or "(no text)"
        yield plain(f"{found.place.local(item.at):%Y-%m-%d %H:%M} {item.kind} {who}{marks}: {text}")
    if found.left_out:
        yield f"{found.left_out} entries are not shown here"


@verb
def injections(
    *,
    limit: Annotated[int, typer.Option("-n", "--limit", min=1, max=1_000, help="Entries at most.")] = 50,
    record: Annotated[str, typer.Option("--record", metavar="ID", help="Only of this record or turn.")] = "",
    agent: AgentId = None,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Show what entered which prompt, newest first."""
    with opened(home, agent, as_json=as_json) as session:
        found = session.agent.injections(limit=limit, record=record)
    names = ("at", "record", "session", "surface", "size")
    entries = [{name: getattr(item, name) for name in names} for item in found]
    session.out.result(
        {"count": len(entries), "injections": entries},
        [plain(f"{item.at[:19]} {item.record} into {item.session}") for item in found] or ["nothing was recalled yet"],
    )


@verb
def blocks_list(*, agent: AgentId = None, home: Home = None, as_json: AsJson = False) -> None:
    """List an agent's core blocks."""
    with opened(home, agent, as_json=as_json) as session:
        found = session.agent.blocks()
    session.out.result({"blocks": [wire.block(item) for item in found]}, [_block_line(item) for item in found])


def _block_line(item: CoreBlock) -> str:
    spec = item.spec
    if not item.is_readable:
        return plain(f"{spec.label}  {_unreadable(item)}")
    size = f"{item.characters:,} of {spec.limit:,}" if spec.limit else f"{item.characters:,}"
    known = {"shared": spec.shared, "read-only": spec.read_only, "too long: not in the prompt": item.over}
    marks = [name for name, holds in known.items() if holds]
    return plain(f"{spec.label}  {size} characters" + (f"  ({', '.join(marks)})" if marks else ""))


def _unreadable(item: CoreBlock) -> str:
    file = f"shared/{CORE}" if item.spec.shared else CORE
    return f"{file} cannot be read, and no prompt has the block: save the file as UTF-8 (`memoranda doctor`)"


@verb
def blocks_show(block: Label, *, agent: AgentId = None, home: Home = None, as_json: AsJson = False) -> None:
    """Print a core block's value."""
    with opened(home, agent, as_json=as_json) as session:
        found = next((item for item in session.agent.blocks() if item.spec.label == block), None)
    if found is None:
        raise NotFound("there is no block of this name; `memoranda blocks list` shows them")
    if not found.is_readable:
        raise BackendError(_unreadable(found))
    session.out.result(wire.block(found), [plain(found.value)])


@verb
def blocks_set(
    block: Label,
    value: Annotated[str, typer.Argument(metavar="TEXT", help="The whole new value; - reads standard input.")],
    *,
    agent: AgentId = None,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Write a core block anew."""
    with opened(home, agent, as_json=as_json, make=True) as session:
        _done(session, block, session.agent.core_set(block, text_argument(value)))


@verb
def blocks_append(
    block: Label,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What to add; - reads standard input.")],
    *,
    agent: AgentId = None,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Add to a core block."""
    with opened(home, agent, as_json=as_json, make=True) as session:
        _done(session, block, session.agent.core_append(block, text_argument(text)))


@verb
def blocks_replace(
    block: Label,
    old: Annotated[str, typer.Argument(metavar="OLD", help="The text that is there now.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="What to put in its place; empty to delete.")],
    *,
    agent: AgentId = None,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Change a piece of a core block."""
    with opened(home, agent, as_json=as_json, make=True) as session:
        _done(session, block, session.agent.core_replace(block, old, new))


def _done(session: Session, label: str, outcome: BatchOutcome) -> None:
    ensure_done(outcome)
    found = next((item for item in session.agent.blocks() if item.spec.label == label), None)
    waits = any(isinstance(item, Quarantined) for item in outcome.items)
    saved = any(isinstance(item, Saved) for item in outcome.items)
    line = "it waits for review" if waits else (_block_line(found) if found and saved else "nothing changed")
    session.out.result(wire.block_changed(label, found, outcome), [line])
