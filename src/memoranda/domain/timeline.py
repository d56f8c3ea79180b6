"""The timeline: what happened to a memory, as events with stable names and payloads, made of the ledger's.

The ledger's own events change with the format of the ledger; these do not. No payload holds a text of memory.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Fields = dict[str, object]

SHAPES: Mapping[str, tuple[str, ...]] = {
    "memory.dream.started": ("run", "model"),
    "memory.dream.ended": ("run", "state", "code", "questions", "input_tokens", "output_tokens", "cost", "outcomes"),
    "memory.record.promoted": ("run", "records"),
    "memory.quarantine.verdict": ("proposal", "verdict", "by"),
    "memory.write.quarantined": ("proposal", "kind", "reason", "author", "session", "tainted", "records"),
    "memory.taint.transition": ("session", "from", "to", "source"),
    "memory.conflict.signal": ("conflict", "records", "by"),
    "memory.conflict.resolved": ("conflict", "records", "by"),
    "memory.budget.denied": ("run", "job", "question", "model"),
    "memory.hygiene.pruned": ("session", "results", "bytes", "heartbeats"),
    "memory.hygiene.restored": ("session", "results", "bytes", "heartbeats"),
}
"""Name of an event -> the keys of its payload, all of them always there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineEvent:
    """One event of the timeline; `seq` is that of the ledger's event, `at` is ISO 8601 in UTC."""

    name: str
    seq: int
    at: str
    scope: str
    payload: Mapping[str, object]


def read(kind: str, subject: str, by: str, said: Mapping[str, Any]) -> Iterator[tuple[str, Fields]]:
    """Yield what a ledger's event is on the timeline, as names and payloads; nothing for one that is not on it.

    `said` is the event's payload, `by` who caused it. One that was erased says nothing any more and is left out.
    """
    made = _READERS.get(kind)
    if made is not None and said:
        yield from made(subject, by, said)


def _started(subject: str, _: str, said: Mapping[str, Any]) -> Iterator[tuple[str, Fields]]:
    if said["kind"] == "dream":
        yield "memory.dream.started", {"run": subject, "model": said["model"]}


def _asked(subject: str, _: str, said: Mapping[str, Any]) -> Iterator[tuple[str, Fields]]:
    if said["outcome"] == "denied":
        yield "memory.budget.denied", {
            "run": subject, "job": said["kind"], "question": said["question"], "model": said["model"],
        }  # fmt: skip


def _ended(subject: str, _: str, said: Mapping[str, Any]) -> Iterator[tuple[str, Fields]]:
    if said["kind"] != "dream":
        return
    outcomes: dict[str, int] = {}
    for step in said["steps"]:
        outcomes[step["outcome"]] = outcomes.get(step["outcome"], 0) + 1
        if (step["what"], step["outcome"]) == ("promote", "saved"):
            yield "memory.record.promoted", {"run": subject, "records": step["ids"]}
    kept = ("state", "code", "questions", "input_tokens", "output_tokens", "cost")
    yield "memory.dream.ended", {"run": subject, **{key: said[key] for key in kept}, "outcomes": outcomes}


def _waits(subject: str, _: str, said: Mapping[str, Any]) -> Iterator[tuple[str, Fields]]:
    yield "memory.write.quarantined", {
        "proposal": subject, "kind": said["kind"], "reason": said["reason"], "author": said["author"],
        "session": said["session_id"], "tainted": bool(said["tainted"]), "records": _list(said["record_ids"]),
    }  # fmt: skip


def _ruled(verdict: str) -> Callable[[str, str, Mapping[str, Any]], Iterator[tuple[str, Fields]]]:
    def ruled(subject: str, by: str, _: Mapping[str, Any]) -> Iterator[tuple[str, Fields]]:
        yield "memory.quarantine.verdict", {"proposal": subject, "verdict": verdict, "by": by}

    return ruled


def _judged(subject: str, by: str, said: Mapping[str, Any]) -> Iterator[tuple[str, Fields]]:
    yield "memory.quarantine.verdict", {"proposal": subject, "verdict": said["verdict"], "by": by}


def _tainted(subject: str, _: str, said: Mapping[str, Any]) -> Iterator[tuple[str, Fields]]:
    yield "memory.taint.transition", {
        "session": subject, "from": "clean", "to": "tainted", "source": said["taint_source"],
    }  # fmt: skip


def _conflict(name: str) -> Callable[[str, str, Mapping[str, Any]], Iterator[tuple[str, Fields]]]:
    def conflict(subject: str, by: str, said: Mapping[str, Any]) -> Iterator[tuple[str, Fields]]:
        records = [side["record_id"] for side in _list(said["sides"])]
        yield name, {"conflict": subject, "records": records, "by": by}

    return conflict


def _hygiene(name: str) -> Callable[[str, str, Mapping[str, Any]], Iterator[tuple[str, Fields]]]:
    def hygiene(subject: str, _: str, said: Mapping[str, Any]) -> Iterator[tuple[str, Fields]]:
        yield name, {"session": subject, **{key: said[key] for key in ("results", "bytes", "heartbeats")}}

    return hygiene


def _list(value: Any) -> list[Any]:
    """Return a list that the ledger may keep as JSON text."""
    return list(json.loads(value) if isinstance(value, str) else value)


_READERS: Mapping[str, Callable[[str, str, Mapping[str, Any]], Iterator[tuple[str, Fields]]]] = {
    "job.started": _started,
    "job.asked": _asked,
    "job.ended": _ended,
    "proposal.made": _waits,
    "proposal.approved": _ruled("approved"),
    "proposal.rejected": _ruled("rejected"),
    "proposal.withdrawn": _ruled("withdrawn"),
    "memory.quarantine.verdict": _judged,
    "session.tainted": _tainted,
    "memory.conflict.signal": _conflict("memory.conflict.signal"),
    "memory.conflict.resolved": _conflict("memory.conflict.resolved"),
    "memory.hygiene.pruned": _hygiene("memory.hygiene.pruned"),
    "memory.hygiene.restored": _hygiene("memory.hygiene.restored"),
}
