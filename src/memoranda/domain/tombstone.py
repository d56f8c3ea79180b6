"""A tombstone: a durable "no" to a value, keyed on the value and not on a record.

It never expires. A person's binds every model author and importer until a person writes the value again; an agent's
own binds jobs and importers until that agent writes it again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from memoranda.domain.scope import Principal, Scope

Binds = Literal["models", "jobs"]


@dataclass(frozen=True, slots=True)
class Mark:
    """A text under one tombstone key: its exact value and what it says in other words ("" where no word is left)."""

    value: str
    near: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Tombstone:
    """A rejected value. `value` and `near` are keyed hashes; the text is nowhere in it.

    `key_id` names the key of another home that a tombstone came with, "" for this home's own. `record_id` is the
    record that carried the value. `lifted_at` is "" while it binds.
    """

    id: str
    scope: Scope
    value: str
    near: str
    binds: Binds
    author: Principal
    at: str
    record_id: str = ""
    key_id: str = ""
    lifted_at: str = ""
    lifted_by: str = ""


def binds_for(author: Principal) -> Binds | None:
    """Return whom a rejection by this author binds; None where it makes no tombstone."""
    if author.is_person:
        return "models"
    return "jobs" if author.is_model else None


def is_bound(author: Principal, tombstone: Tombstone) -> bool:
    """Whether an author may not write this value."""
    if author.is_job:
        return True
    return author.kind == "agent" and tombstone.binds == "models"


def lifts(author: Principal, tombstone: Tombstone) -> bool:
    """Whether writing the value lifts the tombstone: a person's hand does, and an agent's its own."""
    if author.is_person or author.kind == "external":
        return True
    return author.kind == "agent" and tombstone.binds == "jobs" and tombstone.author == author


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What the ledger already says about one text in a scope.

    `active` is the id of an active record with this value, `quarantined` that of one that waits, "" for none. `exact`
    and `near` are the tombstones that bind now: by value, and by near key or a statement alone. `removed_by` is who
    took out the record that last had the value, where none is active.
    """

    active: str = ""
    quarantined: str = ""
    exact: tuple[Tombstone, ...] = ()
    near: tuple[Tombstone, ...] = ()
    removed_by: Principal | None = None
