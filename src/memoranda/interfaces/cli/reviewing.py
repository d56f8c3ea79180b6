"""Verbs for the operator's rulings: review, proposals, adopt, retier."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated

import typer

from memoranda.domain.proposal import Proposal
from memoranda.domain.record import Trust
from memoranda.domain.report import Waiting
from memoranda.domain.scope import Scope
from memoranda.errors import InvalidInput
from memoranda.interfaces import wire_review
from memoranda.interfaces.cli.credential import as_operator
from memoranda.interfaces.cli.options import AgentId, AsJson, Home, verb
from memoranda.interfaces.cli.output import plain, strong
from memoranda.interfaces.cli.session import opened
from memoranda.interfaces.errors import ensure_done

Ident = Annotated[str, typer.Argument(metavar="ID", help="A proposal's id, from `review list`.")]
Hash = Annotated[
    str, typer.Option("--hash", metavar="HASH", help="The content hash that `review show` printed: what you read.")
]
Rationale = Annotated[str, typer.Option("--rationale", metavar="TEXT", help="Why; at most 400 bytes.")]
ScopeName = Annotated[
    str, typer.Option("--scope", metavar="SCOPE", help="Only this scope, such as agent:main or team:web.")
]


def register(app: typer.Typer) -> None:
    """Add the verbs to the command line."""
    group = typer.Typer(
        name="review", help="Rule on what waits: quarantined writes, proposals, edits.", no_args_is_help=True
    )
    group.command("list")(review_list)
    group.command("show")(review_show)
    group.command("diff")(review_diff)
    group.command("approve")(review_approve)
    group.command("reject")(review_reject)
    app.add_typer(group)
    for function in (proposals, adopt, retier):
        app.command()(function)


@verb
def review_list(
    *,
    scope: ScopeName = "",
    everything: Annotated[bool, typer.Option("--all", help="Also what was decided.")] = False,
    limit: Annotated[int, typer.Option("-n", "--limit", min=1, max=200, help="Proposals at most.")] = 50,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """List what waits for a ruling, oldest first, in all scopes."""
    with opened(home, None, as_json=as_json) as session:
        operator = as_operator(session)
        where = Scope.parse(scope) if scope else None
        found = operator.waiting(scope=where, pending=not everything, limit=limit)
    session.out.result({"count": len(found), "proposals": [wire_review.proposal(one) for one in found]}, _lines(found))


def _lines(found: Sequence[Proposal]) -> Iterator[str]:
    for one in found:
        taint = "  from a tainted session" if one.tainted else ""
        yield plain(
            f"{one.id}  {one.state}  {one.kind} ({one.reason})  {one.scope}  by {one.author}  {one.at[:16]}{taint}"
        )
    if not found:
        yield "nothing waits"


@verb
def review_show(ident: Ident, *, home: Home = None, as_json: AsJson = False) -> None:
    """Show one proposal with everything it offers, and the hash that a ruling has to name."""
    with opened(home, None, as_json=as_json) as session:
        waiting = as_operator(session).show(ident)
    session.out.result(wire_review.waiting(waiting), _shown(waiting, texts=True))


@verb
def review_diff(ident: Ident, *, home: Home = None, as_json: AsJson = False) -> None:
    """Show only what a proposal would change: + comes, - goes."""
    with opened(home, None, as_json=as_json) as session:
        waiting = as_operator(session).show(ident)
    answer = {"id": waiting.proposal.id, "diff": list(waiting.effects), "content_hash": waiting.proposal.content_hash}
    session.out.result(answer, _shown(waiting, texts=False))


def _shown(waiting: Waiting, *, texts: bool) -> Iterator[str]:
    one = waiting.proposal
    if texts:
        yield strong(f"{one.id}  {one.state}")
        yield plain(f"kind {one.kind}, because: {one.reason}{' (tainted session)' if one.tainted else ''}")
        yield plain(f"scope {one.scope}, by {one.author}, session {one.session_id or 'none'}, {one.at}")
        for record, text in zip(waiting.records, waiting.texts, strict=True):
            yield plain(f"{record.id}  {record.status}  {record.trust.label}  {record.path}  {record.title}".rstrip())
            yield from (f"   {line}" for line in plain(text).splitlines())
    for effect in waiting.effects:
        yield from plain(effect).splitlines()
    yield f"content hash {one.content_hash}"


@verb
def review_approve(
    ident: Ident,
    *,
    content_hash: Hash = "",
    rationale: Rationale = "",
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="RECORD", help="Only what is about this record.")
    ] = None,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Let a proposal take effect; what a model offered enters as agent_observed."""
    with opened(home, None, as_json=as_json) as session:
        operator = as_operator(session)
        outcome = ensure_done(operator.approve(ident, _named(content_hash), rationale=rationale, only=only or ()))
    session.out.result(wire_review.ruled(ident, "approved", outcome), [f"approved {plain(ident)}"])


@verb
def review_reject(
    ident: Ident, *, content_hash: Hash = "", rationale: Rationale = "", home: Home = None, as_json: AsJson = False
) -> None:
    """Rule against a proposal: what it offers is rejected for ever, in this scope and in any wording that equals it."""
    with opened(home, None, as_json=as_json) as session:
        outcome = ensure_done(as_operator(session).reject(ident, _named(content_hash), rationale=rationale))
    session.out.result(wire_review.ruled(ident, "rejected", outcome), [f"rejected {plain(ident)}"])


def _named(content_hash: str) -> str:
    if not content_hash:
        raise InvalidInput("name what you read: --hash with the content hash that `memoranda review show` prints")
    return content_hash


@verb
def proposals(
    *,
    everything: Annotated[bool, typer.Option("--all", help="Also what was decided or lapsed.")] = False,
    limit: Annotated[int, typer.Option("-n", "--limit", min=1, max=200, help="Proposals at most.")] = 50,
    agent: AgentId = None,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """List what waits in one agent's memory: kind, reason and state, no content."""
    with opened(home, agent, as_json=as_json) as session:
        found = session.agent.proposals(pending=not everything, limit=limit)
    session.out.result({"count": len(found), "proposals": [wire_review.proposal(one) for one in found]}, _lines(found))


@verb
def adopt(
    ident: Annotated[str, typer.Argument(metavar="RECORD", help="A record's id.")],
    *,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Make a record's text the operator's own, with full trust and without its lineage."""
    with opened(home, None, as_json=as_json) as session:
        outcome = ensure_done(as_operator(session).adopt(ident))
    made = [new for item in outcome.items for new in getattr(item, "record_ids", ())]
    session.out.result({"adopted": True, "record_ids": made}, [f"adopted as {', '.join(made)}"])


@verb
def retier(
    ident: Annotated[str, typer.Argument(metavar="RECORD", help="A record's id.")],
    *,
    trust: Annotated[str, typer.Option("--trust", metavar="TIER", help="untrusted, agent_observed or agent_verified.")],
    evidence: Annotated[
        list[str] | None, typer.Option("--evidence", metavar="REF", help="A record's or session's id; needed to raise.")
    ] = None,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Change how far a record is believed."""
    tiers = {tier.label: tier for tier in Trust}
    if trust not in tiers:
        raise InvalidInput(f"there is no trust {trust[:40]!r}: use untrusted, agent_observed or agent_verified")
    with opened(home, None, as_json=as_json) as session:
        ensure_done(as_operator(session).retier(ident, tiers[trust], evidence=evidence or ()))
    session.out.result({"retiered": True, "record_id": ident, "trust": trust}, [f"{plain(ident)} is {trust} now"])
