"""Tells whether evidence resolves: it names something that is there, that may be believed, and that is not itself."""

from __future__ import annotations

from collections.abc import Sequence

from memoranda.domain.record import Record, Status, Trust
from memoranda.services.stores import Stores

_MOST = 64
"""Ancestors looked at: evidence that descends from the record itself proves nothing."""


def resolves(stores: Stores, record: Record, evidence: Sequence[str]) -> bool:
    """Whether there is evidence and every piece of it resolves.

    A piece is the id of another active record of the same scope that is believed more than a model's word and does not
    descend from this one, or the id of a session of the scope that is not tainted (a part after `#` names messages).
    """
    return bool(evidence) and all(_resolves(stores, record, piece) for piece in evidence)


def _resolves(stores: Stores, record: Record, piece: str) -> bool:
    name = piece.partition("#")[0]
    if name.startswith("ses_"):
        session = stores.ledger.session(name)
        return session is not None and session.scope == record.scope and not session.is_tainted
    other = stores.ledger.record(name)
    if other is None or other.scope != record.scope or other.status is not Status.ACTIVE or other.id == record.id:
        return False
    if other.capped or other.trust <= Trust.AGENT_OBSERVED:
        return False
    return not _descends(stores, other, record.id)


def _descends(stores: Stores, record: Record, ancestor: str) -> bool:
    waiting, seen = [record], {record.id}
    while waiting and len(seen) <= _MOST:
        current = waiting.pop()
        for name in (current.supersedes, *current.derived_from):
            if name == ancestor:
                return True
            parent = stores.ledger.record(name) if name and name not in seen else None
            if parent is not None:
                seen.add(name)
                waiting.append(parent)
    return bool(waiting)
