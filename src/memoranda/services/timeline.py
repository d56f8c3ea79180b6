"""Reads the timeline of one scope out of the ledger."""

from __future__ import annotations

import json

from memoranda.domain.scope import Scope
from memoranda.domain.timeline import TimelineEvent, read
from memoranda.errors import InvalidInput
from memoranda.services.stores import Stores

MAX_LISTED = 1_000
_KINDS = ("job", "proposal", "session.tainted", "memory")
"""Families of ledger events that the timeline is made of."""


def timeline(stores: Stores, scope: Scope, *, limit: int, since: str = "", name: str = "") -> tuple[TimelineEvent, ...]:
    """Return the newest events of a scope's timeline, newest first; `name` may be the beginning of names, before a dot.

    Raises:
        InvalidInput: `limit` is not 1 to 1,000.
    """
    if not 1 <= limit <= MAX_LISTED:
        raise InvalidInput(f"limit {limit} is out of range: use 1 to {MAX_LISTED}")
    found: list[TimelineEvent] = []
    for kind in _KINDS:
        for event in stores.ledger.events(scope=scope, limit=MAX_LISTED, kind=kind, since=since):
            said = json.loads(event.payload) if event.payload else {}
            found += [
                TimelineEvent(name=what, seq=event.seq, at=event.at, scope=event.scope, payload=payload)
                for what, payload in read(event.kind, event.subject, event.principal, said)
                if not name or what == name or what.startswith(f"{name}.")
            ]
    return tuple(sorted(found, key=lambda one: one.seq, reverse=True)[:limit])
