"""Tells what background work is due now, without asking a model and without a trace where there is none."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from memoranda.domain.job import JobKind
from memoranda.domain.scope import Scope
from memoranda.domain.session import SessionState
from memoranda.domain.settings import JobSettings
from memoranda.services.jobs.accounts import runs
from memoranda.services.jobs.dream import why_not_yet
from memoranda.services.jobs.extract import turns_waiting
from memoranda.services.stores import Stores

REST = timedelta(minutes=10)
"""How long work that nobody asked for rests after it failed or found nothing: it is looked for every few seconds."""

_LOOKED_AT = 50


def due_sessions(stores: Stores, settings: JobSettings) -> Iterator[SessionState]:
    """Yield open private sessions whose user has said enough since the last extraction."""
    if not settings.extract_interval or stores.write_mode == "off":
        return
    for state in stores.ledger.sessions(None):
        if state.audience != "private" or turns_waiting(stores, state) < settings.extract_interval:
            continue
        if not _rests(stores, state.scope, "extract", session=state.id):
            yield state


def due_dreams(stores: Stores, settings: JobSettings) -> Iterator[Scope]:
    """Yield agents' scopes that are silent, have something new, and have not been dreamt over lately."""
    if not settings.dreams or stores.write_mode == "off":
        return
    for scope in stores.ledger.scopes():
        if scope.kind != "agent" or why_not_yet(stores, scope, settings):
            continue
        if not _rests(stores, scope, "dream"):
            yield scope


def _rests(stores: Stores, scope: Scope, kind: JobKind, *, session: str = "") -> bool:
    """Whether the newest run of a kind, in a session where one is named, came to nothing a short while ago."""
    found = runs(stores, scope, kind=kind, limit=_LOOKED_AT)
    newest = next((one for one in found if session in ("", one.session)), None)
    if newest is None or newest.state not in ("failed", "skipped"):
        return False
    return datetime.fromisoformat(stores.clock.now()) - datetime.fromisoformat(newest.ended_at) < REST
