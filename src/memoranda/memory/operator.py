"""The operator's handle: review, trust, erase. It is made by `Memory.operator`, which asks for the credential."""

from __future__ import annotations

from collections.abc import Sequence

from memoranda.domain.access import require
from memoranda.domain.erasure import Certificate
from memoranda.domain.gating import Gate
from memoranda.domain.given import check_str
from memoranda.domain.operation import Adopt, Batch, Retier
from memoranda.domain.outcome import BatchOutcome
from memoranda.domain.proposal import Proposal, Verdict
from memoranda.domain.record import Provenance, Record, Trust
from memoranda.domain.report import Progress, Waiting
from memoranda.domain.scope import OPERATOR, REALM, Principal, Scope, Viewer
from memoranda.errors import NotFound
from memoranda.memory.parts import Parts
from memoranda.services import erase as erasing
from memoranda.services import gateway, review


class Operator:
    """A person with the operator's credential: the only one who rules on what waits, changes trust, and erases."""

    def __init__(self, parts: Parts, principal: Principal) -> None:
        self._parts, self.principal = parts, principal
        self.viewer = Viewer(principal, OPERATOR, frozenset({OPERATOR, REALM}))

    def waiting(self, *, scope: Scope | None = None, pending: bool = True, limit: int = 50) -> tuple[Proposal, ...]:
        """Return what waits, oldest first, in one scope or in all; without `pending` what was decided too."""
        require(self.viewer, "memory.quarantine.review", scope or OPERATOR)
        scopes = None if scope is None else [scope]
        return review.listed(self._parts.stores, scopes, pending=pending, limit=limit)

    def show(self, proposal_id: str) -> Waiting:
        """Return one proposal with all that it offers. Raises NotFound."""
        check_str(proposal_id=proposal_id)
        return review.shown(self._parts.stores, None, proposal_id)

    def approve(
        self, proposal_id: str, content_hash: str, *, rationale: str = "", only: Sequence[str] = ()
    ) -> BatchOutcome:
        """Let a proposal take effect; `content_hash` is that of what was read. Raises NotFound, Ruled."""
        return self._decide(proposal_id, "approved", content_hash, rationale, only)

    def reject(self, proposal_id: str, content_hash: str, *, rationale: str = "") -> BatchOutcome:
        """Rule against a proposal: what it offers is rejected for ever. Raises NotFound, Ruled."""
        return self._decide(proposal_id, "rejected", content_hash, rationale, ())

    def _decide(
        self, proposal_id: str, verdict: Verdict, content_hash: str, rationale: str, only: Sequence[str]
    ) -> BatchOutcome:
        require(self.viewer, "memory.quarantine.review", OPERATOR)
        check_str(proposal_id=proposal_id, content_hash=content_hash, rationale=rationale)
        return review.decide(
            self._parts.stores, self.principal, None, proposal_id, verdict, content_hash=content_hash,
            rationale=rationale, only=only,
        )  # fmt: skip

    def gate_list(self, *, pending: bool = True, limit: int = 50) -> tuple[Gate, ...]:
        """Return the actions that wait in any scope, oldest first; without `pending` all of them, newest first."""
        from memoranda.services import gating  # noqa: PLC0415 - few verbs need it

        return gating.listed_everywhere(self._parts.stores, pending=pending, limit=limit)

    def gate_approve(self, gate_id: str, *, rationale: str = "") -> Gate:
        """Let an action that waits be done. Raises NotFound, Denied where another person was named, Ruled."""
        from memoranda.services import gating  # noqa: PLC0415 - few verbs need it

        check_str(gate_id=gate_id, rationale=rationale)
        return gating.approve(self._parts.stores, self.principal, None, gate_id, rationale=rationale)

    def gate_deny(self, gate_id: str, *, rationale: str = "") -> Gate:
        """Rule that an action that waits is not done. Raises as `gate_approve`."""
        from memoranda.services import gating  # noqa: PLC0415 - few verbs need it

        check_str(gate_id=gate_id, rationale=rationale)
        return gating.deny(self._parts.stores, self.principal, None, gate_id, rationale=rationale)

    def retier(self, record_id: str, trust: Trust, *, evidence: Sequence[str] = ()) -> BatchOutcome:
        """Change how far a record is believed, up to `agent_verified`; raising needs evidence that resolves."""
        return self._on_record(record_id, Retier(record_id, trust, tuple(evidence)), "retier")

    def adopt(self, record_id: str) -> BatchOutcome:
        """Make a record's text the operator's own, without its lineage. Raises NotFound."""
        return self._on_record(record_id, Adopt(record_id), "adopt")

    def _on_record(self, record_id: str, operation: Retier | Adopt, reason: str) -> BatchOutcome:
        check_str(record_id=record_id)
        record: Record | None = self._parts.stores.ledger.record(record_id)
        if record is None:
            raise NotFound("record not found")
        require(self.viewer, "agent.memory.admin", record.scope)
        batch = Batch(self.principal, record.scope, (operation,), reason, Provenance(tool=reason))  # type: ignore[arg-type]  # both are reasons
        return gateway.commit(self._parts.stores, batch)

    def erase(
        self,
        *,
        record_id: str = "",
        text: str = "",
        only: bool = False,
        keep_tombstone: bool = True,
        progress: Progress | None = None,
    ) -> Certificate:
        """Erase a record's text and what descends from it, or a text wherever it stands, for good.

        Raises as `services.erase.erase`. Residue is in the certificate, not raised.
        """
        require(self.viewer, "agent.memory.admin", OPERATOR)
        check_str(record_id=record_id, text=text)
        return erasing.erase(
            self._parts.stores, self.principal, record_id=record_id, text=text, only=only,
            keep_tombstone=keep_tombstone, sweeper=self._parts.sweeper, forget_vectors=self._parts.cache.clear,
            progress=progress,
        )  # fmt: skip
