"""The part of the ledger's port that trust rests on: tombstones, proposals, sessions, what was believed when."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Protocol

from memoranda.domain.proposal import Proposal
from memoranda.domain.scope import Principal, Scope
from memoranda.domain.session import SessionState
from memoranda.domain.tombstone import Mark, Standing, Tombstone


class TrustLedger(Protocol):
    """What the ledger knows beside records; each method binds its scope in the query."""

    def standing(
        self,
        scope: Scope,
        value_keys: Sequence[str],
        marks: Sequence[Sequence[Mark]],
        statements: Sequence[Sequence[Mark]] = (),
        *,
        at: str = "",
    ) -> Sequence[Standing]:
        """Return what is known of each text, at a cost that does not grow with the number of tombstones.

        A text is given by its value key and its marks under every tombstone key, and by the marks of the `statements`
        in it: one of those that is rejected makes the text near. What a tainted session did not offer waits no longer
        once its proposal has lapsed by `at`.
        """

    def active_with_value(self, scope: Scope, value_key: str) -> Sequence[str]:
        """Return the ids of all active records with this value."""

    def tombstones(self, scope: Scope, *, all_of_them: bool = False) -> Sequence[Tombstone]:
        """Return the tombstones that bind, oldest first; with `all_of_them` the lifted ones too."""

    def has_tombstones(self, scope: Scope) -> bool:
        """Whether any tombstone binds in this scope, at a constant cost."""

    def proposal(self, proposal_id: str) -> Proposal | None:
        """Return a proposal by id, whatever its scope; callers check that."""

    def proposals(self, scopes: Sequence[Scope] | None, *, pending: bool, limit: int) -> Sequence[Proposal]:
        """Return proposals of these scopes (None: of all), oldest first; only those that wait where `pending`."""

    def proposal_with(self, scope: Scope, content_hash: str, *, at: str) -> Proposal | None:
        """Return the proposal with this content that waits in this scope and has not lapsed by `at`."""

    def waiting(self, scope: Scope, *, at: str) -> int:
        """Count the proposals that wait in this scope at a time, at a cost that grows with them alone.

        One has lapsed when its time is over, or when what was found in a file is there no more.
        """

    def session(self, session_id: str) -> SessionState | None:
        """Return a session by id, whatever its scope."""

    def session_named(self, scope: Scope, key: str) -> SessionState | None:
        """Return the open session with this key."""

    def session_last(self, scope: Scope, key: str) -> SessionState | None:
        """Return the newest session with this key, open or not."""

    def sessions(self, scope: Scope | None, *, unsettled: bool = False) -> Sequence[SessionState]:
        """Return open sessions, newest first; with `unsettled` also the closed ones that no sync has followed."""

    def put_session(self, state: SessionState, *, at: str, author: Principal, kind: str) -> None:
        """Store a session's state with its event (`session.opened`, `session.tainted`, `session.closed`)."""

    def settle_sessions(self, session_ids: Sequence[str]) -> None:
        """Mark closed sessions as followed by a sync; no event, nothing of them changed."""

    def believed(self, record_ids: Sequence[str], as_of: str) -> AbstractSet[str]:
        """Return those records that were active at a time, by the events; gaps count as gaps."""
