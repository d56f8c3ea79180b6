"""Verbs for the operational ledger and the gate: conflicts list, add, resolve, stores, gate, gates, approve, deny."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

import typer

from memoranda.domain.gating import Gate, Verdict
from memoranda.errors import InvalidInput
from memoranda.interfaces import wire_ledger
from memoranda.interfaces.cli.credential import as_operator
from memoranda.interfaces.cli.options import AgentId, AsJson, Home, verb
from memoranda.interfaces.cli.output import indented, plain
from memoranda.interfaces.cli.session import Session, opened
from memoranda.memory import Agent, Operator

Entity = Annotated[str, typer.Argument(metavar="ENTITY", help="Whom or what it is about, in any case.")]
Topic = Annotated[str, typer.Argument(metavar="TOPIC", help="What of it.")]
StoreName = Annotated[
    str, typer.Option("--store", metavar="STORE", show_default="knowledge_graph", help="One of `conflicts stores`.")
]
AnyStore = Annotated[str, typer.Option("--store", metavar="STORE", help="Only this store.")]
Ident = Annotated[str, typer.Argument(metavar="ID", help="An action's id, from `conflicts gates`.")]
Rationale = Annotated[str, typer.Option("--rationale", metavar="TEXT", help="Why; at most 400 bytes.")]
ByOperator = Annotated[bool, typer.Option("--operator", help="Rule as the operator, in any scope.")]


def register(app: typer.Typer) -> None:
    """Add the verbs to the command line."""
    group = typer.Typer(
        name="conflicts", help="Facts, contradictions, and the gate before an action.", no_args_is_help=True
    )
    group.command("list")(conflicts_list)
    group.command("add")(conflicts_add)
    group.command("resolve")(conflicts_resolve)
    group.command("stores")(conflicts_stores)
    group.command("gate")(conflicts_gate)
    group.command("gates")(conflicts_gates)
    group.command("approve")(conflicts_approve)
    group.command("deny")(conflicts_deny)
    app.add_typer(group)


@verb
def conflicts_list(
    *,
    entity: Annotated[str, typer.Option("--entity", metavar="ENTITY", help="Only about this one.")] = "",
    topic: Annotated[str, typer.Option("--topic", metavar="TOPIC", help="Only about this topic.")] = "",
    store: AnyStore = "",
    query: Annotated[
        str, typer.Option("--query", metavar="TEXT", help="A part of entity, topic, fact or reason, in any case.")
    ] = "",
    facts: Annotated[bool, typer.Option("--facts", help="Print facts, too.")] = False,
    agent: AgentId = None,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """List open contradictions with their sides, newest first; with --json the facts as well."""
    with opened(home, agent, as_json=as_json) as session:
        params = {"entity": entity, "topic": topic, "store": store, "query": query}
        found = wire_ledger.answer(session.agent, "memory/query", params)
    session.out.result(found, _listed(found, facts=facts))


def _listed(found: Mapping[str, Any], *, facts: bool) -> Iterator[str]:
    for item in found["conflicts"]:
        why = f": {item['reason']}" if item["reason"] else ""
        yield plain(
            f"{item['entity']} / {item['topic']}  [{item['store']}]  {item['signalled_at'][:16]}{indented(why)}"
        )
        for side in item["sides"]:
            text = indented(side["fact"]) or "(its text is not shown)"
            yield plain(f"   {side['record_id']}  {side['source']}  {side['at'][:16]}  {text}")
    for item in found["assertions"] if facts else ():
        yield plain(f"{item['entity']} / {item['topic']}  [{item['store']}]  {indented(item['fact'])}")
    if not found["conflicts"]:
        yield "nothing contradicts itself"


@verb
def conflicts_add(
    entity: Entity,
    topic: Topic,
    *,
    store: StoreName = "",
    fact: Annotated[str, typer.Option("--fact", metavar="TEXT", help="What is so; at most 4,000 characters.")] = "",
    metadata: Annotated[str, typer.Option("--metadata", metavar="JSON", help="A JSON object beside the fact.")] = "",
    conflict: Annotated[bool, typer.Option("--conflict", help="Signal a contradiction.")] = False,
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why it is one.")] = "",
    record: Annotated[
        list[str] | None, typer.Option("--record", metavar="ID", help="A record that is one side of it.")
    ] = None,
    agent: AgentId = None,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Write a fact about a topic of an entity, signal a contradiction there, or both."""
    params: dict[str, object] = {
        "entity": entity, "topic": topic, "fact": fact, "conflict": conflict, "conflict_reason": reason,
        "records": record or [], **({"store": store} if store else {}), **_metadata(metadata),
    }  # fmt: skip
    with opened(home, agent, as_json=as_json) as session:
        done = wire_ledger.answer(session.agent, "memory/index", params)
    state = "a contradiction is open" if done["conflict_active"] else "no contradiction is open"
    session.out.result(done, [plain(f"kept: {done['entity']} / {done['topic']}  [{done['store']}]; {state}")])


def _metadata(text: str) -> dict[str, object]:
    if not text:
        return {}
    try:
        return {"metadata": json.loads(text)}
    except (ValueError, RecursionError) as error:
        raise InvalidInput("--metadata is no JSON") from error


@verb
def conflicts_resolve(
    entity: Entity,
    topic: Topic,
    *,
    decision: Annotated[str, typer.Option("--decision", metavar="TEXT", help="What was decided.")],
    rationale: Rationale,
    store: StoreName = "",
    agent: AgentId = None,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Settle an open contradiction; only a person does that, and who, what and why is kept."""
    params = {
        "entity": entity, "topic": topic, "decision": decision, "rationale": rationale,
        **({"store": store} if store else {}),
    }  # fmt: skip
    with opened(home, agent, as_json=as_json) as session:
        done = wire_ledger.answer(session.agent, "memory/resolve", params)
    session.out.result(done, [plain(f"settled: {done['entity']} / {done['topic']}  [{done['store']}]")])


@verb
def conflicts_stores(*, agent: AgentId = None, home: Home = None, as_json: AsJson = False) -> None:
    """List the five stores with their number of facts and open contradictions."""
    with opened(home, agent, as_json=as_json) as session:
        found = wire_ledger.answer(session.agent, "memory/stores", {})
    session.out.result(found, (f"{item['record_count']:6}  {item['store']}" for item in found["stores"]))


@verb
def conflicts_gate(
    action: Annotated[str, typer.Argument(metavar="ACTION", help="What is to be done.")],
    *,
    level: Annotated[str, typer.Option("--level", metavar="LEVEL", help="R0, R1, R2 or R3.")],
    entity: Annotated[str, typer.Option("--entity", metavar="ENTITY", help="Whom or what it is about.")] = "",
    topic: Annotated[str, typer.Option("--topic", metavar="TOPIC", help="What of it.")] = "",
    approver: Annotated[
        str, typer.Option("--approver", metavar="WHO", help="Who alone may approve it: operator or application.")
    ] = "",
    timeout: Annotated[float, typer.Option("--timeout", metavar="SECONDS", help="How long it waits.")] = 3_600.0,
    agent: AgentId = None,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Ask whether an action may be done now: it passes, waits for a person, or is to stay a safe draft."""
    with opened(home, agent, as_json=as_json) as session:
        found = session.agent.gate(action, level, entity=entity, topic=topic, approver=approver, timeout=timeout)
    session.out.result(wire_ledger.verdict(found), [_verdict(found)])


def _verdict(found: Verdict) -> str:
    if found.state == "pending":
        return f"waits for a person until {found.expires_at[:16]}: {found.id}"
    return f"blocked ({found.reason}): keep it as a draft" if found.state == "blocked" else "passed"


@verb
def conflicts_gates(
    ident: Annotated[str, typer.Argument(metavar="ID", show_default="all", help="Only this action.")] = "",
    *,
    everything: Annotated[
        bool, typer.Option("--all", help="Also what was decided or ran out of time; newest first.")
    ] = False,
    limit: Annotated[int, typer.Option("-n", "--limit", min=1, max=512, help="Actions at most.")] = 50,
    by_operator: ByOperator = False,
    agent: AgentId = None,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """List the actions that wait for a person, oldest first, or say what became of one."""
    with opened(home, agent, as_json=as_json) as session:
        handle = _ruling(session, by_operator=by_operator and not ident)
        found = handle.gate_list(pending=not everything, limit=limit) if not ident else (session.agent.gate_get(ident),)
    session.out.result({"count": len(found), "gates": [wire_ledger.gated(item) for item in found]}, _gates(found))


def _gates(found: Sequence[Gate]) -> Iterator[str]:
    for item in found:
        about = f"{item.entity or '-'} / {item.topic or '-'}"
        yield plain(f"{item.id}  {item.state}  {item.level}  {about}  by {item.author}  {indented(item.action)}")
    if not found:
        yield "nothing waits"


def _ruling(session: Session, *, by_operator: bool) -> Agent | Operator:
    """Return who rules on an action: the operator on those of every scope, else whoever is at the command line."""
    return as_operator(session) if by_operator else session.agent


@verb
def conflicts_approve(
    ident: Ident,
    *,
    rationale: Rationale = "",
    by_operator: ByOperator = False,
    agent: AgentId = None,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Let an action that waits be done."""
    with opened(home, agent, as_json=as_json) as session:
        done = _ruling(session, by_operator=by_operator).gate_approve(ident, rationale=rationale)
    session.out.result(wire_ledger.gated(done), [f"approved {plain(done.id)}"])


@verb
def conflicts_deny(
    ident: Ident,
    *,
    rationale: Rationale = "",
    by_operator: ByOperator = False,
    agent: AgentId = None,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Rule that an action that waits is not done."""
    with opened(home, agent, as_json=as_json) as session:
        done = _ruling(session, by_operator=by_operator).gate_deny(ident, rationale=rationale)
    session.out.result(wire_ledger.gated(done), [f"denied {plain(done.id)}"])
