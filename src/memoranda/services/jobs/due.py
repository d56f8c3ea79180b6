"""Tells what background work is due now, without asking a model and without a trace where there is none."""

from __future__ import annotations

from collections.abc import Iterator

from memoranda.domain.scope import Scope
from memoranda.domain.session import SessionState
from memoranda.domain.settings import JobSettings
from memoranda.services.jobs.dream import why_not_yet
from memoranda.services.jobs.extract import turns_waiting
from memoranda.services.stores import Stores


def due_sessions(stores: Stores, settings: JobSettings) -> Iterator[SessionState]:
    """Yield open private sessions whose user has said enough since the last extraction."""
    if not settings.extract_interval or stores.write_mode == "off":
        return
    for state in stores.ledger.sessions(None):
        if state.audience == "private" and turns_waiting(stores, state) >= settings.extract_interval:
            yield state


def due_dreams(stores: Stores, settings: JobSettings) -> Iterator[Scope]:
    """Yield agents' scopes that are silent, have something new, and have not been dreamt over lately."""
    if not settings.dreams or stores.write_mode == "off":
        return
    for scope in stores.ledger.scopes():
        if scope.kind == "agent" and not why_not_yet(stores, scope, settings):
            yield scope
