"""The operational ledger as JSON: its four calls under the names that RPC clients use, and gated actions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any

from memoranda.domain.assertion import (
    DEFAULT_STORE,
    MAX_FACT_CHARS,
    MAX_NAME_CHARS,
    MAX_REASON_CHARS,
    MAX_SIDES,
    STORES,
    Assertion,
)
from memoranda.domain.gating import Gate, Verdict
from memoranda.errors import NotFound
from memoranda.interfaces import schema
from memoranda.interfaces.wire import Json
from memoranda.memory import Agent


@dataclass(frozen=True, slots=True)
class Call:
    """One call: its parameters as JSON Schema, and what answers it."""

    properties: Mapping[str, schema.Schema]
    required: tuple[str, ...]
    run: Callable[[Agent, dict[str, Any]], Json]


def answer(agent: Agent, name: str, params: Mapping[str, object]) -> dict[str, Any]:
    """Return the answer to a call such as `memory/index`; whose ledger it is comes from the handle alone.

    Raises:
        NotFound: there is no call of this name.
        InvalidInput: a parameter is unknown, missing, of another type or too long.
    """
    if name not in CALLS:
        raise NotFound(f"there is no call of this name: use one of {', '.join(CALLS)}")
    call = CALLS[name]
    return call.run(agent, schema.check({"properties": call.properties, "required": call.required}, params))


def _index(agent: Agent, params: dict[str, Any]) -> Json:
    done = agent.conflicts_index(**params)
    made: Json = {"assertion_id": done.assertion_id} if done.assertion_id else {}
    made |= {"conflict_id": done.conflict_id} if done.conflict_id else {}
    return {
        "entity": done.entity, "topic": done.topic, "store": done.store, **made,
        "conflict_active": done.conflict_active,
    }  # fmt: skip


def _query(agent: Agent, params: dict[str, Any]) -> Json:
    found = agent.conflicts_query(**params)
    return {"assertions": list(map(_assertion, found.assertions)), "conflicts": list(map(_conflict, found.conflicts))}


def _stores(agent: Agent, _: dict[str, Any]) -> Json:
    counts = agent.conflicts_stores()
    return {"stores": [{"store": store, "record_count": count} for store, count in counts.items()]}


def _resolve(agent: Agent, params: dict[str, Any]) -> Json:
    done = agent.conflicts_resolve(**params)
    return {
        **_conflict(done), "resolved_at": done.resolved_at, "resolved_by": done.resolved_by, "decision": done.decision,
        "rationale": done.rationale,
    }  # fmt: skip


def _assertion(item: Assertion) -> Json:
    return {
        "assertion_id": item.id, "entity": item.entity, "topic": item.topic, "store": item.store, "fact": item.fact,
        "metadata": item.metadata_values, "author": str(item.author), "indexed_at": item.at,
    }  # fmt: skip


def _conflict(item: Assertion) -> Json:
    return {
        "conflict_id": item.id, "entity": item.entity, "topic": item.topic, "store": item.store,
        "reason": item.conflict_reason, "sides": [asdict(side) for side in item.sides], "author": str(item.author),
        "signalled_at": item.at,
    }  # fmt: skip


def verdict(found: Verdict) -> Json:
    """Return the answer to a request to act."""
    return asdict(found) | {"conflicts": list(found.conflicts)}


def gated(item: Gate) -> Json:
    """Return a gated action and what became of it."""
    return {
        "id": item.id, "state": item.state, "scope": str(item.scope), "action": item.action, "level": item.level,
        "entity": item.entity, "topic": item.topic, "approver": item.approver, "author": str(item.author),
        "at": item.at, "expires_at": item.expires_at, "decided_at": item.decided_at, "decided_by": item.decided_by,
        "rationale": item.rationale,
    }  # fmt: skip


def _text(most: int, **more: object) -> schema.Schema:
    return {"type": "string", "maxLength": most, **more}


_NAME = _text(MAX_NAME_CHARS, minLength=1)
_FILTER = _text(MAX_NAME_CHARS, default="")
_STORE = _text(MAX_NAME_CHARS, default=DEFAULT_STORE, description=f"one of {', '.join(STORES)}")

CALLS: Mapping[str, Call] = MappingProxyType(
    {
        "memory/index": Call(
            {
                "entity": _NAME,
                "topic": _NAME,
                "store": _STORE,
                "fact": _text(MAX_FACT_CHARS, default=""),
                "metadata": {"type": "object"},
                "conflict": {"type": "boolean", "default": False},
                "conflict_reason": _text(MAX_REASON_CHARS, default=""),
                "records": {"type": "array", "maxItems": MAX_SIDES},
            },
            ("entity", "topic"),
            _index,
        ),
        "memory/query": Call(
            {"entity": _FILTER, "topic": _FILTER, "store": _FILTER, "query": _text(MAX_FACT_CHARS, default="")},
            (),
            _query,
        ),
        "memory/stores": Call({}, (), _stores),
        "memory/resolve": Call(
            {
                "entity": _NAME,
                "topic": _NAME,
                "store": _STORE,
                "decision": _NAME,
                "rationale": _text(MAX_REASON_CHARS, minLength=1),
            },
            ("entity", "topic", "decision", "rationale"),
            _resolve,
        ),
    }
)
"""Name -> call. A server puts its own error codes from `interfaces.errors` around them."""
