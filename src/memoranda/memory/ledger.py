"""The operational ledger and the gate, as an agent's handle offers them; the scope is always the viewer's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from memoranda.domain.assertion import Assertion, Found, Indexed
from memoranda.domain.gating import TIMEOUT_SECONDS, Gate, Verdict
from memoranda.domain.given import check_str
from memoranda.memory.handle import Handle


class Conflicts(Handle):
    """A caller that keeps assertions and contradictions, and asks before it acts."""

    def conflicts_index(
        self,
        entity: str,
        topic: str,
        *,
        store: str = "",
        fact: str = "",
        metadata: Mapping[str, object] | None = None,
        conflict: bool = False,
        conflict_reason: str = "",
        records: Sequence[str] = (),
    ) -> Indexed:
        """Write a fact about a topic of an entity, signal a contradiction there, or both.

        `store` is one of five, `knowledge_graph` unless given; `records` are ids of memory that contradicts itself.

        Raises InvalidInput, Denied, NotFound, and LedgerUnavailable where the endpoint is not well.
        """
        from memoranda.services import conflicts  # noqa: PLC0415 - few verbs need it

        self._guard()
        offer = conflicts.Offer(
            entity=entity, topic=topic, store=store, fact=fact, metadata=metadata, conflict=conflict,
            conflict_reason=conflict_reason, records=records,
        )  # fmt: skip
        return conflicts.index(self._parts.stores, self.viewer, offer, self._provenance("memory_index"))

    def conflicts_query(self, *, entity: str = "", topic: str = "", store: str = "", query: str = "") -> Found:
        """Return facts and open contradictions, newest first, by exact names and by words.

        `query` is a part of entity, topic, fact or reason, in whatever case. Raises as `conflicts_index`.
        """
        from memoranda.services import conflicts  # noqa: PLC0415 - few verbs need it

        self._guard()
        return conflicts.query(self._parts.stores, self.viewer, entity=entity, topic=topic, store=store, text=query)

    def conflicts_stores(self) -> Mapping[str, int]:
        """Return the five stores, each with its number of facts and open contradictions."""
        from memoranda.services import conflicts  # noqa: PLC0415 - few verbs need it

        self._guard()
        return conflicts.counts(self._parts.stores, self.viewer)

    def conflicts_resolve(
        self, entity: str, topic: str, *, store: str = "", decision: str, rationale: str
    ) -> Assertion:
        """Settle an open contradiction, with what was decided (200 characters) and why (400 bytes).

        Raises Denied where a model asks, NotFound where none is open under these names, InvalidInput.
        """
        from memoranda.services import conflicts  # noqa: PLC0415 - few verbs need it

        self._guard()
        return conflicts.resolve(
            self._parts.stores, self.viewer, entity=entity, topic=topic, store=store, decision=decision,
            rationale=rationale,
        )  # fmt: skip

    def gate(
        self,
        action: str,
        level: str,
        *,
        entity: str = "",
        topic: str = "",
        approver: str = "",
        timeout: float = TIMEOUT_SECONDS,
    ) -> Verdict:
        """Ask whether an action may be done now; `outcome` says `act`, `wait` or `safe_draft`.

        R0 and R1 pass, R2 passes and is noted, R3 waits for a person, for the `approver` where one is named
        (`operator` or `application`), for `timeout` seconds at most. An open contradiction blocks R2 and R3. Raises
        InvalidInput, Denied.
        """
        from memoranda.services import gating  # noqa: PLC0415 - few verbs need it

        self._guard()
        asked = gating.Request(
            action=action, level=level, entity=entity, topic=topic, approver=approver, timeout=timeout
        )
        return gating.request(self._parts.stores, self.viewer, asked)

    def gate_list(self, *, pending: bool = True, limit: int = 50) -> tuple[Gate, ...]:
        """Return this scope's actions that wait, oldest first; without `pending` all of them, newest first."""
        from memoranda.services import gating  # noqa: PLC0415 - few verbs need it

        self._guard()
        return gating.listed(self._parts.stores, self.viewer, pending=pending, limit=limit)

    def gate_get(self, gate_id: str) -> Gate:
        """Return one of this scope's actions as it is now: what became of it. Raises NotFound."""
        from memoranda.services import gating  # noqa: PLC0415 - few verbs need it

        self._guard()
        check_str(gate_id=gate_id)
        return gating.get(self._parts.stores, self.viewer, gate_id)

    def gate_approve(self, gate_id: str, *, rationale: str = "") -> Gate:
        """Let an action be done; a person does that, the one that was named. Raises NotFound, Denied, Ruled."""
        from memoranda.services import gating  # noqa: PLC0415 - few verbs need it

        self._guard()
        check_str(gate_id=gate_id, rationale=rationale)
        by = self.viewer.principal
        return gating.approve(self._parts.stores, by, [self.scope], gate_id, rationale=rationale)

    def gate_deny(self, gate_id: str, *, rationale: str = "") -> Gate:
        """Rule that an action is not done. Raises as `gate_approve`."""
        from memoranda.services import gating  # noqa: PLC0415 - few verbs need it

        self._guard()
        check_str(gate_id=gate_id, rationale=rationale)
        return gating.deny(self._parts.stores, self.viewer.principal, [self.scope], gate_id, rationale=rationale)
