"""Runs of jobs as JSON."""

from __future__ import annotations

from memoranda.domain.job import RunReport
from memoranda.domain.timeline import TimelineEvent
from memoranda.interfaces.wire import Json
from memoranda.services.jobs.undoing import Undone


def run(one: RunReport, *, steps: bool = True) -> Json:
    """Return a run; with `steps` everything it did or left."""
    shown: Json = {
        "id": one.id, "kind": one.kind, "scope": one.scope, "state": one.state, "code": one.code,
        "message": one.message, "started_at": one.started_at, "ended_at": one.ended_at, "session": one.session,
        "model": one.model, "questions": one.questions, "input_tokens": one.input_tokens,
        "output_tokens": one.output_tokens, "cost": one.cost,
    }  # fmt: skip
    if steps:
        shown["steps"] = [
            {"what": step.what, "outcome": step.outcome, "ids": list(step.ids), "why": step.why} for step in one.steps
        ]
    return shown


def timeline_event(one: TimelineEvent) -> Json:
    """Return an event of the timeline."""
    return {"name": one.name, "seq": one.seq, "at": one.at, "scope": one.scope, "payload": dict(one.payload)}


def undone(run_id: str, one: Undone) -> Json:
    """Return what was taken back."""
    return {
        "id": run_id, "restored": list(one.restored), "withdrawn": list(one.withdrawn),
        "settled": list(one.settled),
        "conflicts": list(one.conflicts), "checkpointIds": list(one.checkpoint_ids),
    }  # fmt: skip
