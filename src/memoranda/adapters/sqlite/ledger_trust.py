"""Tombstones, proposals and sessions: their rows, and what the ledger answers about them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import fields, replace
from typing import Any

import apsw

from memoranda.adapters.sqlite.connection import rows_of
from memoranda.adapters.sqlite.json_form import canonical
from memoranda.adapters.sqlite.ledger_part import LedgerPart
from memoranda.adapters.sqlite.objects import Objects
from memoranda.adapters.sqlite.operation_rows import operations_in, operations_out, texts_of
from memoranda.domain.entry import Entry
from memoranda.domain.proposal import Decision, Proposal
from memoranda.domain.scope import Principal, Scope
from memoranda.domain.session import SessionState
from memoranda.domain.tombstone import Mark, Standing, Tombstone
from memoranda.domain.withheld import MASK
from memoranda.errors import IntegrityError, InvalidInput

STONE = tuple(field.name for field in fields(Tombstone))
PROPOSAL = tuple(field.name for field in fields(Proposal))
SESSION = tuple(field.name for field in fields(SessionState))
_STONES = f"SELECT {','.join(STONE)} FROM tombstones"
_PROPOSALS = f"SELECT {','.join(PROPOSAL)} FROM proposals"
_SESSIONS = f"SELECT {','.join(SESSION)} FROM sessions"
_GOES_ON = "(expires_at='' OR expires_at>?)"
"""A proposal's time is not over; without a time none has lapsed."""


_ENDINGS = {"expired": "withdrawn"}


def stone_row(stone: Tombstone) -> tuple[str, ...]:
    """Return a tombstone's row in the order of STONE."""
    return tuple(str(getattr(stone, name)) for name in STONE)


def stone_of(row: Sequence[Any]) -> Tombstone:
    """Return the tombstone of a row."""
    values = dict(zip(STONE, row, strict=True))
    values["scope"], values["author"] = Scope.parse(values["scope"]), Principal.parse(values["author"])
    return Tombstone(**values)


def proposal_row(proposal: Proposal, objects: Objects) -> tuple[str | int, ...]:
    """Return a proposal's row in the order of PROPOSAL; its texts are named and not held."""
    values = {name: getattr(proposal, name) for name in PROPOSAL}
    values["operations"] = operations_out(proposal.operations, objects.name_of)
    for name in ("record_ids", "successors"):
        values[name] = canonical(list(values[name]))
    values["tainted"] = int(proposal.tainted)
    return tuple(value if isinstance(value, int) else str(value) for value in values.values())


def proposal_of(row: Sequence[Any], objects: Objects) -> Proposal:
    """Return the proposal of a row.

    Raises:
        IntegrityError: a column holds what no writer of this program puts there.
    """
    values = dict(zip(PROPOSAL, row, strict=True))
    values["operations"] = operations_in(values["operations"], objects.get)
    try:
        values["scope"], values["author"] = Scope.parse(values["scope"]), Principal.parse(values["author"])
        for name in ("record_ids", "successors"):
            values[name] = tuple(json.loads(values[name]))
        values["tainted"] = bool(values["tainted"])
        return Proposal(**values)
    except (ValueError, TypeError, InvalidInput) as error:
        raise IntegrityError(f"the ledger's row of {row[0]} is damaged; run `memoranda verify`") from error


def session_row(state: SessionState) -> tuple[str | int, ...]:
    """Return a session's row in the order of SESSION."""
    values = (getattr(state, name) for name in SESSION)
    return tuple(int(value) if isinstance(value, bool) else str(value) for value in values)


def session_of(row: Sequence[Any]) -> SessionState:
    """Return the session of a row."""
    values = dict(zip(SESSION, row, strict=True))
    values["scope"], values["settled"] = Scope.parse(values["scope"]), bool(values["settled"])
    return SessionState(**values)


def _sticking(new: SessionState, old: SessionState) -> SessionState:
    """Keep what does not go away, whoever writes at the same time: the first taint, the end, a group that listens."""
    return replace(
        new,
        audience="shared" if "shared" in (new.audience, old.audience) else "private",
        tainted_at=old.tainted_at or new.tainted_at,
        taint_source=old.taint_source if old.tainted_at else new.taint_source,
        closed_at=old.closed_at or new.closed_at,
    )


class TrustReads(LedgerPart):
    """The part of the ledger's reading half that trust rests on."""

    def standing(
        self,
        scope: Scope,
        value_keys: Sequence[str],
        marks: Sequence[Sequence[Mark]],
        statements: Sequence[Sequence[Mark]] = (),
        *,
        at: str = "",
    ) -> Sequence[Standing]:
        """Return what is known of each text; every look-up goes by an index."""
        inner = statements or [()] * len(value_keys)
        with self._reading() as db:
            return [
                _standing(db, str(scope), key, found, parts, at)
                for key, found, parts in zip(value_keys, marks, inner, strict=True)
            ]

    def active_with_value(self, scope: Scope, value_key: str) -> Sequence[str]:
        """Return the ids of all active records with this value."""
        query = "SELECT id FROM records WHERE scope=? AND value_key=? AND status='active' ORDER BY id"
        with self._reading() as db:
            return [str(row[0]) for row in rows_of(db, query, (str(scope), value_key))]

    def tombstones(self, scope: Scope, *, all_of_them: bool = False) -> Sequence[Tombstone]:
        """Return the tombstones that bind, oldest first; with `all_of_them` the lifted ones too."""
        bound = "" if all_of_them else "AND lifted_at=''"
        with self._reading() as db:
            return [stone_of(row) for row in rows_of(db, f"{_STONES} WHERE scope=? {bound} ORDER BY id", (str(scope),))]

    def has_tombstones(self, scope: Scope) -> bool:
        """Whether any tombstone binds in this scope."""
        query = "SELECT 1 FROM tombstones INDEXED BY tombstones_value WHERE scope=? AND lifted_at='' LIMIT 1"
        with self._reading() as db:
            return db.execute(query, (str(scope),)).get is not None

    def proposal(self, proposal_id: str) -> Proposal | None:
        """Return a proposal by id, whatever its scope."""
        found = self._proposals("id=?", (proposal_id,), 1)
        return found[0] if found else None

    def proposals(self, scopes: Sequence[Scope] | None, *, pending: bool, limit: int) -> Sequence[Proposal]:
        """Return proposals of these scopes (None: of all), oldest first; only those that wait where `pending`."""
        where = "1" if scopes is None else f"scope IN ({','.join('?' * len(scopes))})"
        waiting = " AND state='pending'" if pending else ""
        return self._proposals(f"{where}{waiting}", tuple(str(scope) for scope in scopes or ()), limit)

    def proposal_with(self, scope: Scope, content_hash: str, *, at: str) -> Proposal | None:
        """Return the proposal with this content that waits in this scope and has not lapsed by `at`."""
        where = f"scope=? AND content_hash=? AND state='pending' AND {_GOES_ON}"
        found = self._proposals(where, (str(scope), content_hash, at), 1)
        return found[0] if found else None

    def _proposals(self, where: str, arguments: tuple[str, ...], limit: int) -> list[Proposal]:
        with self._reading() as db:
            rows = rows_of(db, f"{_PROPOSALS} WHERE {where} ORDER BY id LIMIT ?", (*arguments, limit))
            return [proposal_of(row, self._objects) for row in rows]

    def waiting(self, scope: Scope, *, at: str) -> int:
        """Count the proposals that wait in this scope at a time."""
        query = (
            f"SELECT count(*) FROM proposals WHERE scope=? AND state='pending' AND {_GOES_ON} "
            "AND (kind<>'external' OR EXISTS (SELECT 1 FROM json_each(record_ids) named JOIN records c "
            "ON c.id=named.value WHERE c.status='withheld' OR (c.status='active' AND instr(c.heading, ?))))"
        )
        with self._reading() as db:
            return int(db.execute(query, (str(scope), at, f'"{MASK}"')).get)

    def session(self, session_id: str) -> SessionState | None:
        """Return a session by id, whatever its scope."""
        return next(self._sessions("id=?", (session_id,)), None)

    def session_named(self, scope: Scope, key: str) -> SessionState | None:
        """Return the open session with this key."""
        return next(self._sessions("scope=? AND key=? AND closed_at=''", (str(scope), key)), None)

    def session_last(self, scope: Scope, key: str) -> SessionState | None:
        """Return the newest session with this key, open or not."""
        return next(self._sessions("scope=? AND key=?", (str(scope), key)), None)

    def sessions(self, scope: Scope | None, *, unsettled: bool = False) -> Sequence[SessionState]:
        """Return open sessions, newest first; with `unsettled` also the closed ones that no sync has followed."""
        state = "(closed_at='' OR settled=0)" if unsettled else "closed_at=''"
        if scope is None:
            return list(self._sessions(state, ()))
        return list(self._sessions(f"scope=? AND {state}", (str(scope),)))

    def _sessions(self, where: str, arguments: tuple[str, ...]) -> Iterator[SessionState]:
        with self._reading() as db:
            rows = rows_of(db, f"{_SESSIONS} WHERE {where} ORDER BY id DESC", arguments)
        return map(session_of, rows)

    def believed(self, record_ids: Sequence[str], as_of: str) -> AbstractSet[str]:
        """Return those records that were active at a time: what their last event by then says."""
        query = (
            "SELECT payload FROM events WHERE subject=? AND at<=? AND substr(kind,1,7)='record.' "
            "ORDER BY seq DESC LIMIT 1"
        )
        found: set[str] = set()
        with self._reading() as db:
            for record_id in record_ids:
                payload = db.execute(query, (record_id, as_of)).get
                if payload and json.loads(payload)["record"].get("status") == "active":
                    found.add(record_id)
        return found


def _standing(
    db: apsw.Connection, scope: str, value_key: str, marks: Sequence[Mark], statements: Sequence[Mark], at: str
) -> Standing:
    active = quarantined = ""
    query = (
        "SELECT id FROM records INDEXED BY records_value WHERE scope=? AND value_key=? AND status=? "
        "ORDER BY id DESC LIMIT 1"
    )
    if value_key:
        active = db.execute(query, (scope, value_key, "active")).get or ""
        for status in ("quarantined", "withheld"):
            found = db.execute(query, (scope, value_key, status)).get or ""
            quarantined = quarantined or (found if found and _waits(db, found, at) else "")
    removed_by = None if active or not value_key else _removed_by(db, scope, value_key)
    exact: list[Tombstone] = []
    near: list[Tombstone] = []
    for mark in marks:
        exact += _stones(db, "value", scope, mark.value)
        near += _stones(db, "near", scope, mark.near) if mark.near else []
    for part in statements:
        near += _stones(db, "value", scope, part.value)
        near += _stones(db, "near", scope, part.near) if part.near else []
    known = {stone.id for stone in exact}
    return Standing(
        active=active, quarantined=quarantined, exact=tuple(exact),
        near=tuple({stone.id: stone for stone in near if stone.id not in known}.values()), removed_by=removed_by,
    )  # fmt: skip


def _stones(db: apsw.Connection, column: str, scope: str, key: str) -> list[Tombstone]:
    near = " AND near<>''" if column == "near" else ""
    query = f"{_STONES} INDEXED BY tombstones_{column} WHERE scope=? AND {column}=? AND lifted_at=''{near}"
    return [stone_of(row) for row in rows_of(db, query, (scope, key))]


def _waits(db: apsw.Connection, record_id: str, at: str) -> bool:
    """Whether a record waits; what a tainted session offered goes on waiting when the offer has lapsed."""
    query = (
        "SELECT 1 FROM proposal_records r JOIN proposals p ON p.id=r.proposal_id "
        f"WHERE r.record_id=? AND p.state='pending' AND (p.tainted OR {_GOES_ON}) LIMIT 1"
    )
    return db.execute(query, (record_id, at)).get is not None


def _removed_by(db: apsw.Connection, scope: str, value_key: str) -> Principal | None:
    """Who took out the record of this value that left last."""
    last = ("", "", "")
    for status in ("retired", "superseded"):
        query = (
            "SELECT retired_at, retired_by, id FROM records INDEXED BY records_value WHERE scope=? AND value_key=? "
            "AND status=? AND reason='' ORDER BY retired_at DESC, id DESC LIMIT 1"
        )
        row = db.execute(query, (scope, value_key, status)).fetchone()
        last = max(last, (row[0], row[1], row[2])) if row else last
    _, who, record_id = last
    if record_id and not who:  # in a ledger of the first format only the event says who it was
        query = (
            "SELECT principal FROM events WHERE subject=? AND kind IN ('record.retired','record.superseded') "
            "ORDER BY seq DESC LIMIT 1"
        )
        who = db.execute(query, (record_id,)).get or ""
    return Principal.parse(who) if who else None


class TrustWrites(TrustReads):
    """The part of the ledger's writing half that trust rests on; all within the batch's transaction."""

    def put_session(self, state: SessionState, *, at: str, author: Principal, kind: str) -> None:
        """Store a session's state with its event.

        Raises:
            BackendError: another session with this key is open.
        """
        with self._writing() as db:
            found = db.execute(f"{_SESSIONS} WHERE id=?", (state.id,)).fetchone()
            row = session_row(_sticking(state, session_of(found)) if found else state)
            names = ",".join(f"{name}=excluded.{name}" for name in SESSION)
            db.execute(
                f"INSERT INTO sessions VALUES({','.join('?' * len(row))}) ON CONFLICT(id) DO UPDATE SET {names}", row
            )
            payload = {name: value for name, value in zip(SESSION, row, strict=True) if name != "settled"}
            self._event(db, at, author, kind, state.scope, state.id, payload)

    def settle_sessions(self, session_ids: Sequence[str]) -> None:
        """Mark closed sessions as followed by a sync; no event."""
        with self._writing() as db:
            db.executemany(
                "UPDATE sessions SET settled=1 WHERE id=? AND closed_at<>''", [(name,) for name in session_ids]
            )

    def _bury(self, db: apsw.Connection, stone: Tombstone, at: str, author: Principal) -> None:
        row = stone_row(stone)
        db.execute(f"INSERT INTO tombstones VALUES({','.join('?' * len(row))})", row)
        self._event(db, at, author, "tombstone.made", stone.scope, stone.id, dict(zip(STONE, row, strict=True)))

    def _lift(self, db: apsw.Connection, stone_id: str, at: str, author: Principal, scope: Scope) -> None:
        found = db.execute(
            "SELECT 1 FROM tombstones WHERE id=? AND scope=? AND lifted_at=''", (stone_id, str(scope))
        ).get
        if found is None:
            return
        db.execute("UPDATE tombstones SET lifted_at=?, lifted_by=? WHERE id=?", (at, str(author), stone_id))
        self._event(db, at, author, "tombstone.lifted", scope, stone_id, {"lifted_at": at, "lifted_by": str(author)})

    def _trust(self, db: apsw.Connection, entry: Entry) -> None:
        """Write a batch's tombstones, what it lifts, what waits, and what was decided."""
        for stone in entry.tombstones:
            self._bury(db, stone, entry.at, entry.author)
        for stone_id in entry.lifted:
            self._lift(db, stone_id, entry.at, entry.author, entry.scope)
        for proposal in entry.proposals:
            self._propose(db, proposal, entry)
        if entry.decision is not None:
            self._decide(db, entry.decision, entry)

    def _propose(self, db: apsw.Connection, proposal: Proposal, entry: Entry) -> None:
        for operation in proposal.operations:
            for text in texts_of(operation):
                self._objects.put(self._objects.name_of(text), text)
        row = proposal_row(proposal, self._objects)
        db.execute(f"INSERT INTO proposals VALUES({','.join('?' * len(row))})", row)
        db.executemany(
            "INSERT OR IGNORE INTO proposal_records VALUES(?,?)",
            [(record_id, proposal.id) for record_id in proposal.record_ids],
        )
        payload: dict[str, object] = dict(zip(PROPOSAL, row, strict=True))
        self._event(db, entry.at, entry.author, "proposal.made", proposal.scope, proposal.id, payload)

    def _decide(self, db: apsw.Connection, decision: Decision, entry: Entry) -> None:
        payload: dict[str, object] = {
            "state": decision.verdict, "decided_at": entry.at, "decided_by": str(decision.by),
            "rationale": decision.rationale, "successors": canonical(list(decision.successors)),
        }  # fmt: skip
        db.execute(
            f"UPDATE proposals SET {','.join(f'{name}=?' for name in payload)} WHERE id=?",
            (*map(str, payload.values()), decision.proposal_id),
        )
        payload["content_hash"] = decision.content_hash
        kind = f"proposal.{_ENDINGS.get(decision.verdict, decision.verdict)}"
        self._event(db, entry.at, entry.author, kind, entry.scope, decision.proposal_id, payload)
