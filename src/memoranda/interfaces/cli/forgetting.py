"""Verbs on single records: update one, forget one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from memoranda.domain.outcome import Saved
from memoranda.domain.report import ForgetResult
from memoranda.errors import InvalidInput
from memoranda.interfaces import recorder_tool
from memoranda.interfaces.cli import describing
from memoranda.interfaces.cli.notes import text_argument
from memoranda.interfaces.cli.options import AgentId, AsJson, Home, verb
from memoranda.interfaces.cli.output import plain
from memoranda.interfaces.cli.session import forbid_agents, opened
from memoranda.interfaces.errors import ensure_done


def register(app: typer.Typer) -> None:
    """Add the verbs to the command line."""
    for function in (update, forget):
        app.command()(function)


@verb
def update(
    ident: Annotated[str, typer.Argument(metavar="ID", help="A record's id.")],
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What takes its place; - reads standard input.")],
    *,
    title: describing.Title = "",
    description: describing.Description = "",
    kind: describing.Kinds = None,
    tag: describing.Tags = None,
    epistemic: describing.Known = None,
    evidence: describing.Evidence = None,
    valid_from: describing.ValidFrom = "",
    valid_to: describing.ValidTo = "",
    agent: AgentId = None,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Put a new text in a record's place; the old one stays in its history."""
    details = describing.described(title, description, kind, tag, epistemic, evidence, valid_from, valid_to)
    body = text_argument(text)
    with opened(home, agent, as_json=as_json) as session:
        session.refresh()
        outcome = ensure_done(session.agent.update(ident, body, details=details))
    answer: dict[str, Any] = recorder_tool.written("update", outcome)
    session.out.result(answer, _updated_lines(answer))


def _updated_lines(answer: dict[str, Any]) -> Iterator[str]:
    if answer["saved"]:
        yield f"updated in {plain(answer['path'])}: {', '.join(answer['record_ids'])}"
    elif answer["duplicate"]:
        yield f"already known: {', '.join(answer['duplicate_ids'])}"
    if "proposal_id" in answer:
        yield f"waits for review ({answer['reason']}): {answer['proposal_id']}"


@verb
def forget(
    request: Annotated[
        str, typer.Argument(metavar="[REQUEST]", help="What to forget: its exact text, or the record's id.")
    ] = "",
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be removed.")] = False,
    limit: Annotated[int, typer.Option("-n", "--limit", min=1, max=12, help="Candidates to show.")] = 6,
    confirm: Annotated[
        str, typer.Option("--confirm", metavar="TOKEN", help="Carry out what an earlier request showed.")
    ] = "",
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="ID", help="With --confirm: only this record; repeatable.")
    ] = None,
    agent: AgentId = None,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Forget one record and reject its value; where it is not sure which, show candidates and a token."""
    if bool(request) == bool(confirm):
        raise InvalidInput("say what to forget, or --confirm with the token of an earlier request")
    if confirm:
        forbid_agents("confirming what is to be forgotten")
    with opened(home, agent, as_json=as_json) as session:
        session.refresh()
        if confirm:
            outcome = ensure_done(session.agent.confirm_forget(confirm, only=only or ()))
            gone = [old for item in outcome.items if isinstance(item, Saved) for old in item.removed_ids]
            answer: dict[str, object] = {"deleted": True, "results": gone, "checkpointIds": [outcome.checkpoint_id]}
            lines: Iterator[str] = iter([f"forgotten: {', '.join(gone)}"])
        else:
            result = session.agent.forget(request, dry_run=dry_run, limit=limit)
            answer = recorder_tool.forgotten(result) | {"token": result.token}
            lines = _lines(result)
    session.out.result(answer, lines)


def _lines(result: ForgetResult) -> Iterator[str]:
    if result.deleted:
        yield f"forgotten: {', '.join(result.results)}"
        return
    yield plain(result.rationale)
    for item in result.planned:
        where = f"{item.path}#L{item.line_start}" if item.line_start else item.path
        yield plain(f"  {item.record_id}  {where}  {item.preview}")
    if result.token:
        yield f"to remove them: memoranda forget --confirm {result.token} [--only ID]"
