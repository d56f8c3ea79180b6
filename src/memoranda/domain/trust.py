"""How far a record may be believed: the ceiling that descent sets, and what evidence may raise.

The rule is transitive. It is kept inductively: a record that is untrusted at its birth, or that descends from something
untrusted or ever quarantined, is `capped`, and whatever descends from a capped record is capped too, also when the
ancestor is released, merged, deleted or erased.
"""

from __future__ import annotations

from collections.abc import Iterable

from memoranda.domain.record import Record, Trust

CEILING = Trust.AGENT_OBSERVED
"""The highest trust of what descends from something untrusted or ever quarantined."""

RETIER_TO = (Trust.UNTRUSTED, Trust.AGENT_OBSERVED, Trust.AGENT_VERIFIED)
"""The tiers that a retier may give; those of persons come from their own hand alone."""


def is_capped(ancestors: Iterable[Record]) -> bool:
    """Whether descent from these records holds trust below the ceiling for ever."""
    return any(
        ancestor.capped or ancestor.ever_quarantined or ancestor.trust is Trust.UNTRUSTED for ancestor in ancestors
    )


def within(trust: Trust, *, capped: bool) -> Trust:
    """Return the trust, held below the ceiling where the record is capped."""
    return min(trust, CEILING) if capped else trust
