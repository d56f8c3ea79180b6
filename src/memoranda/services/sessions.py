"""Sessions and their taint: set before untrusted content is handed over, sticky, passed on, asked at every write."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import replace

from memoranda.domain.content_trust import ContentTrust, is_untrusted
from memoranda.domain.episode import one_line
from memoranda.domain.given import check_str, readable
from memoranda.domain.operation import Door
from memoranda.domain.record import Provenance
from memoranda.domain.scope import Principal, Scope
from memoranda.domain.session import AUDIENCES, Audience, SessionState
from memoranda.errors import BackendError, Conflict, InvalidInput, NotFound
from memoranda.services.secret_text import redacted, secret_refused
from memoranda.services.stores import Stores

MAX_KEY_CHARS = 200
_ATTEMPTS = 4


def check_opening(stores: Stores, key: str, audience: Audience) -> None:
    """Check what a session is to be opened with.

    Raises:
        InvalidInput: the key is empty, long, holds control characters or a secret, or nobody is such an audience.
    """
    check_str(**{"a session's key": key})
    if not key.strip() or len(key) > MAX_KEY_CHARS or not key.isprintable():
        raise InvalidInput(f"a session's key is 1 to {MAX_KEY_CHARS} printable characters")
    if audience not in AUDIENCES:
        raise InvalidInput(f"a session's audience is {' or '.join(AUDIENCES)}")
    refused = secret_refused(stores, key)
    if refused is not None:
        raise InvalidInput(f"a session's key is kept and shown: {refused.message}")


def open_session(
    stores: Stores, scope: Scope, key: str, *, author: Principal, audience: Audience = "private"
) -> SessionState:
    """Return the open session with this key, opened where there is none.

    A private session that a group hears from now on becomes shared; a shared one never becomes private again.

    Raises:
        InvalidInput: as `check_opening`.
    """
    check_opening(stores, key, audience)
    for _ in range(_ATTEMPTS):
        found = stores.ledger.session_named(scope, key)
        if found is not None and found.audience in (audience, "shared"):
            return found
        now = stores.clock.now()
        state = (
            replace(found, audience=audience)
            if found
            else SessionState(id=stores.ids.new("ses"), scope=scope, key=key, audience=audience, opened_at=now)
        )
        with contextlib.suppress(BackendError):  # another process has opened it in this instant
            if found is None and stores.ledger.session_named(scope, key) is not None:
                continue
            stores.ledger.put_session(state, at=now, author=author, kind="session.opened")
            return state
    raise Conflict("this session is being opened by others; try again")


def current(stores: Stores, session_id: str) -> SessionState:
    """Return a session as it is now; raises NotFound."""
    found = stores.ledger.session(session_id)
    if found is None:
        raise NotFound("session not found")
    return found


def tool_result(
    stores: Stores, session_id: str, tool: str, *, server: str | None, policy: ContentTrust, author: Principal
) -> bool:
    """Note that a tool's result is about to be read; return whether the session is tainted from here on.

    The taint is durable when this returns, so that no write can come between.
    """
    if is_untrusted(tool, server, policy):
        _taint(stores, session_id, f"tool:{one_line(redacted(stores, readable(tool)))[:100]}", author)
    return current(stores, session_id).is_tainted


def receive(stores: Stores, session_id: str, sender_session_id: str, *, author: Principal) -> bool:
    """Note that a message of another session is about to be read; its taint is passed on.

    A sender that is not known counts as tainted.
    """
    sender_session_id = readable(sender_session_id)
    sender = stores.ledger.session(sender_session_id)
    if sender is None or sender.is_tainted:
        _taint(stores, session_id, f"message:{one_line(sender_session_id)[:100]}", author)
    return current(stores, session_id).is_tainted


def _taint(stores: Stores, session_id: str, source: str, author: Principal) -> None:
    state = current(stores, session_id)
    if not state.is_tainted:
        now = stores.clock.now()
        tainted = replace(state, tainted_at=now, taint_source=source)
        stores.ledger.put_session(tainted, at=now, author=author, kind="session.tainted")


def close(stores: Stores, session_id: str, *, author: Principal) -> SessionState:
    """End a session; a second time changes nothing."""
    state = current(stores, session_id)
    if state.is_open:
        now = stores.clock.now()
        state = replace(state, closed_at=now)
        stores.ledger.put_session(state, at=now, author=author, kind="session.closed")
    return state


def renew(stores: Stores, session_id: str, *, author: Principal) -> SessionState:
    """End a session and begin another under its key; the new one has read nothing."""
    old = close(stores, session_id, author=author)
    return open_session(stores, old.scope, old.key, author=author, audience=old.audience)


def taint_of(stores: Stores, scope: Scope, provenance: Provenance) -> bool:
    """Whether a write that cites this session is tainted.

    It is where the session is, where it is unknown or another scope's, and where no session is named while any open
    one of this scope is tainted: a tool server that does not know its session is no way around.
    """
    if provenance.session_id:
        found = stores.ledger.session(provenance.session_id)
        return found is None or found.scope != scope or found.is_tainted
    return any(state.is_tainted for state in stores.ledger.sessions(scope))


def door_for(stores: Stores, scope: Scope, external_edits: str) -> Door:
    """Say how a change that sync finds in this scope's files is taken.

    A session of that very agent that was open since the last sync may have made it with other tools. What was there
    before is settled when a session opens: by a sync, not by times that a program could carry into a file.
    """
    states = stores.ledger.sessions(scope, unsettled=True)
    if any(state.is_tainted for state in states):
        return "tainted"
    if external_edits == "review":
        return "review"
    return "session" if states else "trusted"


def closed_by_now(stores: Stores, scope: Scope) -> Sequence[str]:
    """Return the closed sessions that a sync which begins now will have followed."""
    return [state.id for state in stores.ledger.sessions(scope, unsettled=True) if not state.is_open]
