"""Who may do what: one table, and what follows from it."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoranda.domain.access import Action, may, read_action, require, visible
from memoranda.domain.record import Record, Status
from memoranda.domain.scope import OPERATOR, REALM, Principal, Scope, Viewer
from memoranda.errors import Denied

ACTIONS = get_args(Action)
OWN, OTHER = Scope("agent", "ann"), Scope("agent", "anna")
TEAM, FOREIGN_TEAM = Scope("team", "web"), Scope("team", "web2")
SCOPES = (OWN, OTHER, TEAM, FOREIGN_TEAM, OPERATOR, REALM)
KINDS = ("operator", "application", "agent", "steward", "distiller", "importer", "external")


def viewer(kind: str) -> Viewer:
    """A viewer of ann's memory and what ann reads."""
    ident = "ann" if kind == "agent" else "run" if kind in ("steward", "distiller", "importer") else ""
    return Viewer(Principal(kind, ident), OWN, frozenset({OWN, TEAM, OPERATOR, REALM}))  # type: ignore[arg-type]


@given(st.sampled_from(KINDS), st.sampled_from(ACTIONS), st.sampled_from((OTHER, FOREIGN_TEAM)))
def test_nobody_but_the_operator_acts_outside_what_the_viewer_holds(kind: str, action: Action, scope: Scope) -> None:
    """Look-alike scopes are closed to everybody for everything, and open to the operator."""
    assert may(viewer(kind), action, scope) is (kind == "operator")


@pytest.mark.parametrize(
    ("scope", "allowed"),
    [
        (OWN, {"agent.view", "agent.memory.read", "agent.memory.write", "agent.memory.delete"}),
        (TEAM, {"team.memory.read", "team.memory.propose"}),
        (OPERATOR, {"operator.memory.read"}),
        (REALM, {"agent.memory.read"}),
    ],
)
def test_what_an_agent_may(scope: Scope, allowed: set[str]) -> None:
    """An agent has exactly these actions in each scope that it holds."""
    assert {action for action in ACTIONS if may(viewer("agent"), action, scope)} == allowed


@pytest.mark.parametrize("kind", ["agent", "steward", "distiller", "importer", "application", "external"])
def test_review_and_admin_are_the_operators(kind: str) -> None:
    """Nobody else reviews or administers any scope; the operator does in each."""
    for scope in SCOPES:
        for action in ("memory.quarantine.review", "agent.memory.admin"):
            assert not may(viewer(kind), action, scope)
            assert may(viewer("operator"), action, scope)


def test_a_person_commits_to_a_team_and_no_model_does() -> None:
    """`team.memory.commit` is a person's; a job does not even propose."""
    assert may(viewer("application"), "team.memory.commit", TEAM)
    for kind in ("agent", "steward", "distiller", "importer"):
        assert not may(viewer(kind), "team.memory.commit", TEAM)
    assert may(viewer("agent"), "team.memory.propose", TEAM)
    assert not may(viewer("steward"), "team.memory.propose", TEAM)


@given(st.sampled_from(KINDS), st.sampled_from(list(Status)), st.sampled_from(SCOPES))
def test_rows(kind: str, status: Status, scope: Scope) -> None:
    """A row shows where its scope may be read, and waits or was rejected only to the reviewer, withheld to persons."""
    row = Record(id="rec_1", scope=scope, path="MEMORY.md", block_hash="", author=Principal("agent", "ann"),
                 recorded_at="", status=status)  # fmt: skip
    reads = may(viewer(kind), read_action(scope), scope)
    expected = reads
    if status in (Status.QUARANTINED, Status.TOMBSTONED):
        expected = kind == "operator"
    if status is Status.WITHHELD:
        expected = reads and kind in ("operator", "application")
    assert visible(viewer(kind), row) is expected


def test_a_denial_names_the_action() -> None:
    """The error says who may not do what where; what is allowed raises nothing."""
    with pytest.raises(Denied, match=r"agent:ann may not agent\.memory\.admin in agent:ann"):
        require(viewer("agent"), "agent.memory.admin", OWN)
    require(viewer("agent"), "agent.memory.read", OWN)
