"""The part of the ledger's port that holds assertions, contradictions and gated actions; and the check of health."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from memoranda.domain.assertion import Assertion
from memoranda.domain.gating import Gate, Lookup
from memoranda.domain.scope import Principal, Scope


class ConflictLedger(Protocol):
    """Assertions, contradictions and gated actions; every change is an event, and each method binds its scope."""

    def assertions(
        self, scope: Scope, *, entity: str = "", topic: str = "", store: str = "", conflicts: bool | None = None
    ) -> Sequence[Assertion]:
        """Return what is kept of a scope, newest first: exact names ("" for any), facts, open contradictions or both.

        A contradiction that was settled is kept and not among them.
        """

    def put_assertions(
        self, scope: Scope, found: Sequence[Assertion], *, keep: int, at: str, author: Principal
    ) -> Sequence[Assertion]:
        """Add facts and contradictions in one durable transaction, and return them as they are kept.

        A contradiction joins the open one with its entity, topic and store: the reason is the last that was given, the
        sides are those of both. Beyond `keep` the oldest facts and settled contradictions are dropped.
        """

    def settle(
        self, scope: Scope, names: tuple[str, str, str], *, decision: str, rationale: str, at: str, by: Principal
    ) -> Assertion | None:
        """Close the open contradiction of an entity, topic and store; return it, or None where there is none."""

    def assertion_counts(self, scope: Scope) -> Mapping[str, int]:
        """Return store -> number of facts and open contradictions."""

    def open_conflicts(self, scope: Scope, entity: str, topic: str) -> Lookup:
        """Return whether any contradiction is open, and those about these names, at a cost that does not grow."""

    def names_said(self) -> Iterator[str]:
        """Yield the entities and topics of all scopes that any event still names, in lower case as they are kept."""

    def put_gate(self, gate: Gate, *, limit: int) -> bool:
        """Store an action that waits, with its event; return False, unchanged, where `limit` of them wait already."""

    def gate_entry(self, gate_id: str) -> Gate | None:
        """Return a gated action by id, whatever its scope; callers check that."""

    def gates(self, scope: Scope | None, *, pending: bool, limit: int) -> Sequence[Gate]:
        """Return gated actions of a scope (None: of all): those that wait, oldest first, or all, newest first."""

    def rule_gate(self, gate: Gate, *, at: str, by: Principal) -> bool:
        """Store what became of an action, with its event; return False, unchanged, where it waits no more."""


class Health(Protocol):
    """Asks whether the operational ledger's endpoint is well."""

    def check(self) -> None:
        """Return where it is. Raises LedgerUnavailable where it is not, or does not answer in time."""
