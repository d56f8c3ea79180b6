"""What jobs did and used, as the ledger has it: runs, questions, tokens of a day."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime, timedelta

from memoranda.domain.job import RunReport, Step
from memoranda.domain.report import Event
from memoranda.domain.scope import Scope
from memoranda.errors import NotFound
from memoranda.services.stores import Stores

_MOST = 100_000
_RUNS = 1_000
_LONGEST_DAY = timedelta(hours=26)


def spent_today(stores: Stores) -> int:
    """Return the tokens that all jobs of this home have used today, as the user's zone has the day."""
    now = stores.clock.now()
    zone, since = stores.zone(), (datetime.fromisoformat(now) - _LONGEST_DAY).isoformat(timespec="microseconds")
    today = zone.day(now)
    found = stores.ledger.events(scope=None, limit=_MOST, kind="job.asked", since=since)
    asked = [json.loads(event.payload) for event in found if zone.day(event.at) == today]
    return sum(int(one["input_tokens"]) + int(one["output_tokens"]) for one in asked)


def runs(stores: Stores, scope: Scope, *, kind: str = "", limit: int = 20) -> tuple[RunReport, ...]:
    """Return the newest runs in a scope, newest first; one that was killed has begun and never ended."""
    started = stores.ledger.events(scope=scope, limit=_MOST, kind="job.started")
    wanted = [event for event in started if not kind or json.loads(event.payload)["kind"] == kind][:limit]
    return tuple(_report(event, _end(stores, scope, event.subject)) for event in wanted)


def run(stores: Stores, scope: Scope, run_id: str) -> RunReport:
    """Return one run. Raises NotFound, alike for an unknown id and another scope's."""
    found = stores.ledger.events(scope=scope, limit=1, kind="job.started", subject=run_id)
    if not found:
        raise NotFound("run not found; `memoranda dream list` shows those there are")
    return _report(found[0], _end(stores, scope, run_id))


def concluded(stores: Stores, scope: Scope, kind: str, outcome: str) -> set[str]:
    """Return the ids that runs of this kind, the newest 1,000 of all, have ended with this outcome."""
    ended = (json.loads(event.payload or "{}") for event in stores.ledger.events(
        scope=scope, limit=_RUNS, kind="job.ended"
    ))  # fmt: skip
    return {
        ident for said in ended if said.get("kind") == kind for step in said["steps"] if step["outcome"] == outcome
        for ident in step["ids"]
    }  # fmt: skip


def _end(stores: Stores, scope: Scope, run_id: str) -> Sequence[Event]:
    return stores.ledger.events(scope=scope, limit=1, kind="job.ended", subject=run_id)


def _report(started: Event, ended: Sequence[Event]) -> RunReport:
    begun = json.loads(started.payload)
    if not ended:
        return RunReport(
            id=started.subject, kind=begun["kind"], scope=started.scope, state="running", started_at=started.at,
            session=begun["session"], model=begun["model"],
        )  # fmt: skip
    said = json.loads(ended[0].payload)
    return RunReport(
        id=started.subject, kind=said["kind"], scope=started.scope, state=said["state"], code=said["code"],
        message=said["message"], started_at=started.at, ended_at=ended[0].at, session=said["session"],
        model=said["model"], questions=said["questions"], input_tokens=said["input_tokens"],
        output_tokens=said["output_tokens"], cost=said["cost"],
        steps=tuple(
            Step(what=one["what"], outcome=one["outcome"], ids=tuple(one["ids"]), why=one["why"])
            for one in said["steps"]
        ),
    )  # fmt: skip
