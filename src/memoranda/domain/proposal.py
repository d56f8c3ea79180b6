"""A proposal: one record type for everything that waits for a person's decision."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from memoranda.domain.operation import Operation
from memoranda.domain.scope import Principal, Scope

ProposalKind = Literal["quarantine", "change", "team", "forget", "external"]
"""`quarantine`: a model's write that is withheld; `change`: a model would change a person's record; `team`: offered to
a team; `forget`: a removal that is not sure; `external`: found in a file, withheld until approved."""

ProposalState = Literal["pending", "approved", "rejected", "expired"]
Verdict = Literal["approved", "rejected"]
Ruling = Literal["approved", "rejected", "expired"]
"""What ends a proposal: a verdict, or that it is taken back and lapses unharmed."""

MAX_RATIONALE_BYTES = 400
EXPIRES_AFTER_DAYS = {"change": 90, "team": 90, "forget": 7}
"""Days until a proposal lapses unharmed; quarantine and external edits wait for ever, for a person rules on them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """Operations that wait.

    `scope` is where they would take effect. `reason` says why they wait (`tainted`, `llm_writes`, `near`, `removed`,
    `waiting`, `trust`, `team`, `unsure`, `dream`, `similar`, `replace`, `review`,
    `session`). `tainted` is that of the author's
    session when it was proposed. `record_ids` are the quarantined or withheld records that hold what is offered.
    `content_hash` names what a reviewer reads; a decision names it too. `successors` are the records that an approval
    made.
    """

    id: str
    scope: Scope
    kind: ProposalKind
    reason: str
    author: Principal
    session_id: str
    tainted: bool
    at: str
    expires_at: str = ""
    operations: tuple[Operation, ...]
    record_ids: tuple[str, ...] = ()
    content_hash: str = ""
    state: ProposalState = "pending"
    decided_at: str = ""
    decided_by: str = ""
    rationale: str = ""
    successors: tuple[str, ...] = ()

    def state_at(self, now: str) -> ProposalState:
        """Return its state, a lapsed one as expired."""
        lapsed = self.state == "pending" and bool(self.expires_at) and self.expires_at <= now
        return "expired" if lapsed else self.state


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What ends a proposal. `content_hash` is that of what the person read who ruled on it."""

    proposal_id: str
    verdict: Ruling
    by: Principal
    content_hash: str
    rationale: str = ""
    successors: tuple[str, ...] = field(default=())
