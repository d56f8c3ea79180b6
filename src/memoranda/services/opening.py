"""Opens and renews a session: what changed in the files before is taken note of first, for it is not its doing."""

from __future__ import annotations

import contextlib

from memoranda.domain.scope import Principal, Scope
from memoranda.domain.session import Audience, SessionState
from memoranda.errors import RemovalsNotAccepted
from memoranda.services import sessions
from memoranda.services.stores import Stores
from memoranda.services.sync import sync


def open_session(
    stores: Stores, scope: Scope, key: str, *, author: Principal, audience: Audience = "private"
) -> SessionState:
    """Return the open session with this key; before a new one begins, the scope is synced.

    Raises:
        InvalidInput, Conflict: as `sessions.open_session`.
        Busy, BackendError: as `sync`; no session is opened then.
    """
    sessions.check_opening(stores, key, audience)
    if stores.ledger.session_named(scope, key) is None:
        settle(stores, scope)
    return sessions.open_session(stores, scope, key, author=author, audience=audience)


def renew(stores: Stores, session_id: str, *, author: Principal) -> SessionState:
    """End a session and begin another under its key; what the old one did to files is taken note of as its doing."""
    settle(stores, sessions.current(stores, session_id).scope)
    return sessions.renew(stores, session_id, author=author)


def settle(stores: Stores, scope: Scope) -> None:
    """Take note of what changed in the files of a scope, and clear away what killed writers have left."""
    stores.transcripts.tidy(scope)
    with contextlib.suppress(RemovalsNotAccepted):  # a person is asked at the next sync; what is gone stays as it was
        sync(stores, [scope])
