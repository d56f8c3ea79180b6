"""Who may do what, in one function, and which rows of a scope a viewer may see, in another.

Every interface and every read goes through these two. An id that is unknown and one that may not be seen get the same
answer, so that nothing tells them apart.
"""

from __future__ import annotations

from typing import Literal

from memoranda.domain.record import Record, Status
from memoranda.domain.scope import Principal, Scope, Viewer
from memoranda.errors import Denied

Action = Literal[
    "agent.view", "agent.memory.read", "agent.memory.write", "agent.memory.delete", "agent.memory.admin",
    "team.memory.read", "team.memory.propose", "team.memory.commit", "operator.memory.read",
    "memory.quarantine.review",
]  # fmt: skip

_OPERATOR_ONLY: tuple[Action, ...] = ("agent.memory.admin", "memory.quarantine.review")
_PAST = (Status.SUPERSEDED, Status.RETIRED)
_REVIEWED = (Status.QUARANTINED, Status.TOMBSTONED)


def may(viewer: Viewer, action: Action, scope: Scope) -> bool:
    """Whether a viewer may do something in a scope.

    The operator may do anything anywhere. An application is a person: anything in the scopes it was opened for but
    erase and review. A model reads what its viewer holds, writes in its own agent's scope, and proposes to its teams.
    """
    principal = viewer.principal
    if principal.kind == "operator":
        return True
    if action in _OPERATOR_ONLY or scope not in viewer.scopes:
        return False
    if principal.is_person or principal.kind == "external":
        return True
    if action in ("agent.memory.write", "agent.memory.delete"):
        return scope == viewer.own and scope.kind == "agent"
    if action == "team.memory.propose":
        return scope.kind == "team" and principal.kind == "agent"
    return action != "team.memory.commit" and _reads(action, scope)


def _reads(action: Action, scope: Scope) -> bool:
    """Whether a reading action is the one for this kind of scope; what the whole realm shares is everybody's."""
    kinds: dict[Action, tuple[str, ...]] = {
        "agent.view": ("agent",),
        "agent.memory.read": ("agent", "realm"),
        "team.memory.read": ("team",),
        "operator.memory.read": ("operator",),
    }
    return scope.kind in kinds.get(action, ())


def require(viewer: Viewer, action: Action, scope: Scope) -> None:
    """Raise Denied where a viewer may not do something in a scope; the message names the action and no content."""
    if not may(viewer, action, scope):
        raise Denied(f"{viewer.principal} may not {action} in {scope}")


def read_action(scope: Scope) -> Action:
    """Return the action that reading a scope needs."""
    if scope.kind == "team":
        return "team.memory.read"
    return "operator.memory.read" if scope.kind == "operator" else "agent.memory.read"


def visible(viewer: Viewer, record: Record) -> bool:
    """Whether a viewer may know of a record at all.

    What is quarantined or rejected needs the review action and the scope's own; what is withheld in a person's file is
    that person's to see.
    """
    if not may(viewer, read_action(record.scope), record.scope):
        return False
    if record.status in _REVIEWED:
        return may(viewer, "memory.quarantine.review", record.scope)
    return record.status is Status.ACTIVE or record.status in _PAST or viewer.principal.is_person


def is_bound_by_rejection(principal: Principal) -> bool:
    """Whether values that a person rejected are kept from this principal also where they are past."""
    return principal.is_model or principal.is_job
