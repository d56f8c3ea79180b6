"""Assertions, contradictions and gated actions: their rows, and the events that they follow from."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, fields, replace
from typing import Any

import apsw

from memoranda.adapters.sqlite.connection import rows_of
from memoranda.adapters.sqlite.json_form import canonical
from memoranda.adapters.sqlite.ledger_part import LedgerPart
from memoranda.domain.assertion import Assertion, Side, merged
from memoranda.domain.erasure import without
from memoranda.domain.gating import Gate, Lookup
from memoranda.domain.scope import Principal, Scope
from memoranda.errors import IntegrityError, InvalidInput

ASSERTION = tuple(field.name for field in fields(Assertion))
GATE = tuple(field.name for field in fields(Gate))
_ASSERTIONS = f"SELECT {','.join(ASSERTION)} FROM assertions"
_GATES = f"SELECT {','.join(GATE)} FROM gates"
_OPEN = "conflict=1 AND resolved_at=''"
_WAITS = "state='pending'"
_RULINGS = {"approved": "gate.approved", "denied": "gate.denied", "safe_draft": "gate.expired"}
_JSON = ("metadata", "sides")

Row = tuple[str | int, ...]


def assertion_row(item: Assertion) -> Row:
    """Return an assertion's row in the order of ASSERTION."""
    values = {name: getattr(item, name) for name in ASSERTION}
    values["sides"] = canonical([asdict(side) for side in item.sides])
    return tuple(int(value) if isinstance(value, bool) else str(value) for value in values.values())


def assertion_of(row: Sequence[Any]) -> Assertion:
    """Return the assertion of a row. Raises IntegrityError where a column holds what no writer puts there."""
    values = dict(zip(ASSERTION, row, strict=True))
    try:
        values["scope"], values["author"] = Scope.parse(values["scope"]), Principal.parse(values["author"])
        values["sides"] = tuple(Side(**side) for side in json.loads(values["sides"]))
        values["conflict"] = bool(values["conflict"])
        return Assertion(**values)
    except (ValueError, TypeError, InvalidInput) as error:
        raise IntegrityError(f"the ledger's row of {row[0]} is damaged; run `memoranda verify`") from error


def gate_row(item: Gate) -> Row:
    """Return a gated action's row in the order of GATE."""
    return tuple(str(getattr(item, name)) for name in GATE)


def gate_of(row: Sequence[Any]) -> Gate:
    """Return the gated action of a row. Raises IntegrityError where a column holds what no writer puts there."""
    values = dict(zip(GATE, row, strict=True))
    try:
        values["scope"], values["author"] = Scope.parse(values["scope"]), Principal.parse(values["author"])
        return Gate(**values)
    except (ValueError, TypeError, InvalidInput) as error:
        raise IntegrityError(f"the ledger's row of {row[0]} is damaged; run `memoranda verify`") from error


def emptied(names: Sequence[str], row: Sequence[Any], pieces: tuple[str, ...]) -> dict[str, Any]:
    """Return a row's columns without these texts; within JSON they are found as they read, not as they are written."""

    def clean(value: Any) -> Any:
        if isinstance(value, str):
            return without(value, pieces)
        if isinstance(value, list):
            return [clean(item) for item in value]
        return {clean(key): clean(item) for key, item in value.items()} if isinstance(value, dict) else value

    return {
        name: canonical(clean(json.loads(value))) if name in _JSON else clean(value)
        for name, value in zip(names, row, strict=True)
    }


class LedgerConflicts(LedgerPart):
    """The part of the ledger that keeps assertions, contradictions and gated actions."""

    def assertions(
        self, scope: Scope, *, entity: str = "", topic: str = "", store: str = "", conflicts: bool | None = None
    ) -> Sequence[Assertion]:
        """Return facts, open contradictions or both, newest first; names are exact, "" for any."""
        named = [(name, value) for name, value in (("entity", entity), ("topic", topic), ("store", store)) if value]
        kinds = {None: f"(conflict=0 OR {_OPEN})", True: _OPEN, False: "conflict=0"}
        where = " AND ".join(["scope=?", *(f"{name}=?" for name, _ in named), kinds[conflicts]])
        query = f"{_ASSERTIONS} WHERE {where} ORDER BY id DESC"
        with self._reading() as db:
            return [assertion_of(row) for row in rows_of(db, query, (str(scope), *(value for _, value in named)))]

    def put_assertions(
        self, scope: Scope, found: Sequence[Assertion], *, keep: int, at: str, author: Principal
    ) -> Sequence[Assertion]:
        """Add facts and contradictions, drop what is beyond `keep`; one durable transaction."""
        with self._writing() as db:
            kept = [self._joined(db, item) if item.conflict else item for item in found]
            for item in kept:
                kind = "memory.conflict.signal" if item.conflict else "memory.assertion.indexed"
                self._put(db, item, kind, at, author)
            self._drop_oldest(db, scope, keep, at, author)
            return kept

    @staticmethod
    def _joined(db: apsw.Connection, item: Assertion) -> Assertion:
        """Return the open contradiction with these names, with what this one adds."""
        query = f"{_ASSERTIONS} WHERE scope=? AND entity=? AND topic=? AND store=? AND {_OPEN} ORDER BY id LIMIT 1"
        rows = rows_of(db, query, (str(item.scope), item.entity, item.topic, item.store))
        if not rows:
            return item
        old = assertion_of(rows[0])
        reason = item.conflict_reason or old.conflict_reason
        return replace(old, conflict_reason=reason, sides=merged(old.sides, item.sides))

    def _put(self, db: apsw.Connection, item: Assertion, kind: str, at: str, author: Principal) -> None:
        row = assertion_row(item)
        db.execute(f"INSERT OR REPLACE INTO assertions VALUES({','.join('?' * len(row))})", row)
        self._event(db, at, author, kind, item.scope, item.id, dict(zip(ASSERTION, row, strict=True)))

    def _drop_oldest(self, db: apsw.Connection, scope: Scope, keep: int, at: str, author: Principal) -> None:
        query = f"SELECT id FROM assertions WHERE scope=? AND NOT ({_OPEN}) ORDER BY id DESC LIMIT -1 OFFSET ?"
        gone = [str(ident) for (ident,) in rows_of(db, query, (str(scope), keep))]
        if gone:
            db.executemany("DELETE FROM assertions WHERE id=?", [(ident,) for ident in gone])
            self._event(db, at, author, "memory.assertion.dropped", scope, str(scope), {"records": gone})

    def settle(
        self, scope: Scope, names: tuple[str, str, str], *, decision: str, rationale: str, at: str, by: Principal
    ) -> Assertion | None:
        """Close the open contradiction of an entity, topic and store; return it, or None where there is none."""
        query = f"{_ASSERTIONS} WHERE scope=? AND entity=? AND topic=? AND store=? AND {_OPEN} ORDER BY id LIMIT 1"
        with self._writing() as db:
            rows = rows_of(db, query, (str(scope), *names))
            if not rows:
                return None
            settled = replace(
                assertion_of(rows[0]), resolved_at=at, resolved_by=str(by), decision=decision, rationale=rationale
            )
            self._put(db, settled, "memory.conflict.resolved", at, by)
            return settled

    def assertion_counts(self, scope: Scope) -> Mapping[str, int]:
        """Return store -> number of facts and open contradictions."""
        query = f"SELECT store, count(*) FROM assertions WHERE scope=? AND (conflict=0 OR {_OPEN}) GROUP BY store"
        with self._reading() as db:
            return {str(store): int(count) for store, count in rows_of(db, query, (str(scope),))}

    def open_conflicts(self, scope: Scope, entity: str, topic: str) -> Lookup:
        """Return whether any contradiction is open, and those about these names."""
        any_open = f"SELECT 1 FROM assertions INDEXED BY assertions_open WHERE scope=? AND {_OPEN} LIMIT 1"
        about = f"SELECT id FROM assertions WHERE scope=? AND entity=? AND topic=? AND {_OPEN} ORDER BY id"
        with self._reading() as db:
            found = rows_of(db, about, (str(scope), entity, topic))
            return Lookup(db.execute(any_open, (str(scope),)).get is not None, tuple(str(row[0]) for row in found))

    def names_said(self) -> Iterator[str]:
        """Yield the entities and topics of all scopes that any event still names, in lower case as they are kept."""
        query = (
            "SELECT payload FROM events WHERE payload<>'' AND (substr(kind,1,5)='gate.' "
            "OR substr(kind,1,17) IN ('memory.assertion.', 'memory.conflict.s', 'memory.conflict.r'))"
        )
        with self._reading() as db:
            payloads = rows_of(db, query)
        for (payload,) in payloads:
            found = json.loads(payload)
            yield from (str(found[name]) for name in ("entity", "topic") if name in found)

    def put_gate(self, gate: Gate, *, limit: int) -> bool:
        """Store an action that waits, with its event; return False where `limit` of them wait already."""
        row = gate_row(gate)
        with self._writing() as db:
            if (
                int(db.execute(f"SELECT count(*) FROM gates WHERE scope=? AND {_WAITS}", (str(gate.scope),)).get)
                >= limit
            ):
                return False
            db.execute(f"INSERT INTO gates VALUES({','.join('?' * len(row))})", row)
            payload = dict(zip(GATE, row, strict=True))
            self._event(db, gate.at, gate.author, "gate.requested", gate.scope, gate.id, payload)
            return True

    def gate_entry(self, gate_id: str) -> Gate | None:
        """Return a gated action by id, whatever its scope."""
        with self._reading() as db:
            rows = rows_of(db, f"{_GATES} WHERE id=?", (gate_id,))
        return gate_of(rows[0]) if rows else None

    def gates(self, scope: Scope | None, *, pending: bool, limit: int) -> Sequence[Gate]:
        """Return gated actions of a scope (None: of all): those that wait, oldest first, or all, newest first."""
        where = "1" if scope is None else "scope=?"
        where += f" AND {_WAITS}" if pending else ""
        arguments = () if scope is None else (str(scope),)
        order = "" if pending else "DESC"
        query = f"{_GATES} WHERE {where} ORDER BY id {order} LIMIT ?"
        with self._reading() as db:
            return [gate_of(row) for row in rows_of(db, query, (*arguments, limit))]

    def rule_gate(self, gate: Gate, *, at: str, by: Principal) -> bool:
        """Store what became of an action, with its event; return False where it waits no more."""
        row = gate_row(gate)
        with self._writing() as db:
            if db.execute(f"SELECT 1 FROM gates WHERE id=? AND {_WAITS}", (gate.id,)).get is None:
                return False
            db.execute(f"INSERT OR REPLACE INTO gates VALUES({','.join('?' * len(row))})", row)
            payload = dict(zip(GATE, row, strict=True))
            self._event(db, at, by, _RULINGS[gate.state], gate.scope, gate.id, payload)
            return True
