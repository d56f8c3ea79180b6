"""Lets a search wait for a write that is under way: its files are there before its index is."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from memoranda.domain.query import RecallResult
from memoranda.domain.scope import Scope
from memoranda.services.stores import Stores

LONGEST = 0.25
"""Seconds a search waits at most; a write takes a few milliseconds."""
_PAUSE = 0.005


def settled(stores: Stores, scopes: Iterable[Scope], search: Callable[[], RecallResult]) -> RecallResult:
    """Search, and once more where something found was gone from its file: the write that took it may bring another.

    A person's edit that no sync has seen costs a second search; the answer says what was left out, as before.
    """
    result, until = search(), time.monotonic() + LONGEST
    while result.trace.gone:
        was_busy = _waited(stores, tuple(scopes), until)
        result = search()
        if not was_busy or time.monotonic() >= until:
            break
    return result


def _waited(stores: Stores, scopes: tuple[Scope, ...], until: float) -> bool:
    """Wait for writes of these scopes to be indexed; return whether there was one."""
    was_busy = False
    while any(_is_busy(stores, scope) for scope in scopes) and time.monotonic() < until:
        was_busy = True
        time.sleep(_PAUSE)
    return was_busy


def _is_busy(stores: Stores, scope: Scope) -> bool:
    return bool(stores.ledger.intents(scope)) or stores.index.state(scope).applied < stores.ledger.last_seq(scope)
