"""What jobs did and used, as the ledger has it: runs, questions, tokens of a day."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from memoranda.domain.job import RunReport, Step
from memoranda.domain.report import Event
from memoranda.domain.scope import Scope
from memoranda.errors import NotFound
from memoranda.services.stores import Stores

_FEW, _MOST = 1_000, 100_000
_LONGEST_DAY = timedelta(hours=26)


def spent_today(stores: Stores) -> int:
    """Return the tokens that all jobs of this home have used today, as the user's zone has the day."""
    now = stores.clock.now()
    zone, since = stores.zone(), (datetime.fromisoformat(now) - _LONGEST_DAY).isoformat(timespec="microseconds")
    today = zone.day(now)
    found = stores.ledger.events(scope=None, limit=_MOST, kind="job.asked", since=since)
    asked = [_said(event) for event in found if zone.day(event.at) == today]
    return sum(int(one.get("input_tokens", 0)) + int(one.get("output_tokens", 0)) for one in asked)


def runs(stores: Stores, scope: Scope, *, kind: str = "", limit: int = 20) -> tuple[RunReport, ...]:
    """Return the newest runs in a scope, newest first; one that was killed has begun and never ended."""
    for most in (_FEW, _MOST):
        started = stores.ledger.events(scope=scope, limit=most, kind="job.started")
        wanted = [event for event in started if not kind or _said(event).get("kind") == kind][:limit]
        if len(wanted) == limit or len(started) < most:
            break
    return tuple(_report(event, _end(stores, scope, event.subject)) for event in wanted)


def run(stores: Stores, scope: Scope, run_id: str) -> RunReport:
    """Return one run. Raises NotFound, alike for an unknown id and another scope's."""
    found = stores.ledger.events(scope=scope, limit=1, kind="job.started", subject=run_id)
    if not found:
        raise NotFound("run not found; `memoranda dream list` shows those there are")
    return _report(found[0], _end(stores, scope, run_id))


def concluded(stores: Stores, scope: Scope, outcome: str, *, kind: str = "") -> Iterator[tuple[str, ...]]:
    """Yield the ids of each step with an outcome, of runs of one kind or of all, those of the newest run first."""
    found = stores.ledger.events(scope=scope, limit=_MOST, kind="job.ended")
    for said in (_said(event) for event in found if f'"{outcome}"' in event.payload):
        if kind in ("", said["kind"]):
            yield from (tuple(step["ids"]) for step in said["steps"] if step["outcome"] == outcome)


def _said(event: Event) -> dict[str, Any]:
    """Return what an event says; nothing where it named something that was erased since."""
    said: dict[str, Any] = json.loads(event.payload or "{}")
    return said


def _end(stores: Stores, scope: Scope, run_id: str) -> Sequence[Event]:
    return stores.ledger.events(scope=scope, limit=1, kind="job.ended", subject=run_id)


def _report(started: Event, ended: Sequence[Event]) -> RunReport:
    begun = _said(started)
    known = RunReport(
        id=started.subject, kind=begun.get("kind", ""), scope=started.scope, state="running", started_at=started.at,
        session=begun.get("session", ""), model=begun.get("model", ""),
    )  # fmt: skip
    if not ended:
        return known
    said = _said(ended[0])
    if not said:
        why = "what this run did named something that was erased since, and went with it"
        return replace(known, state="done", code="erased", message=why, ended_at=ended[0].at)
    steps = tuple(Step(**{**one, "ids": tuple(one["ids"])}) for one in said["steps"])
    return replace(known, **{**said, "steps": steps}, ended_at=ended[0].at)
