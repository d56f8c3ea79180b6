"""Erases from the ledger: objects are rewritten, payloads emptied and their salts destroyed; the chain still holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import Any

import apsw

from memoranda.adapters.sqlite import ledger_rows as rows
from memoranda.adapters.sqlite.connection import rows_of
from memoranda.adapters.sqlite.ledger_conflicts import ASSERTION, GATE, emptied
from memoranda.adapters.sqlite.ledger_part import LedgerPart
from memoranda.adapters.sqlite.ledger_replay import ERASED_EVENT
from memoranda.adapters.sqlite.ledger_trust import PROPOSAL, SESSION
from memoranda.adapters.sqlite.ledger_words import is_kept, said, written
from memoranda.domain.erasure import MIN_PIECE, HeldText, Holding, core_of, holds, is_one_of, without
from memoranda.domain.record import Provenance, Record, Status
from memoranda.domain.scope import OPERATOR, Principal, Scope
from memoranda.domain.tombstone import Tombstone
from memoranda.errors import IntegrityError

_RESTATED = {
    "ast_": (("assertions", ASSERTION, "memory.assertion.erased"),),
    "gat_": (("gates", GATE, "gate.erased"),),
}
"""First characters of ids -> what is said again of them."""


@dataclass(slots=True)
class _Scrub:
    """What one erasure does: objects with the hash of what is left ("" for nothing), and emptied events.

    `pieces` go wherever they stand, `whole` only where a text is nothing else.
    """

    pieces: tuple[str, ...]
    whole: tuple[str, ...] = ()
    objects: dict[str, str] = field(default_factory=dict)
    events: list[int] = field(default_factory=list)


class LedgerErase(LedgerPart):
    """The part of the ledger that erases."""

    def holding(self, pieces: Sequence[str]) -> Holding:
        """Return which kept texts are one of these pieces or contain one."""
        cores = tuple(map(core_of, pieces))
        equal: list[str] = []
        containing: list[str] = []
        with self._reading() as db:
            for name in list(self._objects.names()):
                text = self._readable(name)
                if is_one_of(text, cores):
                    equal.append(name)
                elif any(holds(text, piece) for piece in cores):
                    containing.append(name)
            query = "SELECT id FROM records WHERE block_hash=? ORDER BY id"
            records = [str(row[0]) for name in equal for row in rows_of(db, query, (name,))]
            payloads = rows_of(db, "SELECT kind, payload FROM events WHERE payload<>''")
            told = (said(kind, payload) for kind, payload in payloads)
            events = sum(1 for words in told if any(holds(words, piece) for piece in cores))
        return Holding(equal=tuple(equal), containing=tuple(containing), records=tuple(records), events=events)

    def own_words(self, pieces: Sequence[str]) -> Sequence[str]:
        """Return those of these pieces that the ledger itself writes: in ids, times, states, names of fields."""
        left = [piece for piece in pieces if len(piece) >= MIN_PIECE]
        found: set[str] = set()
        with self._reading() as db:
            schema = rows_of(db, "SELECT sql FROM sqlite_schema WHERE sql<>''")
            found |= {piece for (sql,) in schema for piece in left if piece in sql}
            query = "SELECT at, principal, kind, scope, subject, payload FROM events ORDER BY seq"
            for *columns, kind, scope, subject, payload in rows_of(db, query):
                words = "\n".join((*columns, kind, scope, subject, written(kind, payload)))
                found |= {piece for piece in left if piece in words}
        return [piece for piece in pieces if piece in found]

    def _readable(self, name: str) -> str:
        try:
            return self._objects.get(name) or ""
        except IntegrityError:
            return ""

    def derived_from(self, record_id: str) -> Sequence[str]:
        """Return the ids of records that name this one among what they derive from."""
        with self._reading() as db:
            query = "SELECT id FROM records WHERE instr(derived_from, ?) ORDER BY id"
            return [str(row[0]) for row in rows_of(db, query, (f'"{record_id}"',))]

    def scrub(
        self,
        record_ids: Sequence[str],
        pieces: Sequence[str],
        *,
        whole: Sequence[str] = (),
        tombstones: Sequence[Tombstone],
        at: str,
        author: Principal,
    ) -> tuple[int, int]:
        """Remove pieces from every object and payload, and empty these records, in one durable transaction."""
        with self._writing() as db:
            scrub = _Scrub(tuple(map(core_of, pieces)), tuple(map(core_of, whole)))
            self._scrub_objects(scrub)
            touched = self._scrub_events(db, scrub, record_ids)
            for record_id in record_ids:
                self._empty_record(db, record_id, at, author)
            for subject in sorted(touched - set(record_ids)):
                self._restate(db, scrub, subject, at, author)
            self._empty_proposals(db, scrub, record_ids, touched, at, author)
            for stone in tombstones:
                self._drop_tombstone(db, scrub, stone, at, author)
            payload: dict[str, object] = {
                "records": list(record_ids), "objects": scrub.objects, "events": sorted(scrub.events),
            }  # fmt: skip
            self._event(db, at, author, ERASED_EVENT, OPERATOR, record_ids[0] if record_ids else "text", payload)
            return len(scrub.objects), len(scrub.events)

    def _scrub_objects(self, scrub: _Scrub) -> None:
        """Rewrite every object that holds a piece; what is built on one is made whole first."""
        for name in list(self._objects.names()):
            text = self._readable(name)
            if is_one_of(text, (*scrub.pieces, *scrub.whole)):
                self._objects.drop(iter([name]))
                scrub.objects[name] = ""
                continue
            left = without(text, scrub.pieces)
            if left != text:
                self._objects.rewrite(name, left)
                scrub.objects[name] = self._objects.name_of(left)
        if scrub.objects:
            self._objects.settle_depths()

    def _scrub_events(self, db: apsw.Connection, scrub: _Scrub, record_ids: Sequence[str]) -> set[str]:
        """Empty the payloads that hold a piece, and all that describe an erased record; return their subjects."""
        touched: set[str] = set()
        erased = set(record_ids)
        query = "SELECT seq, kind, subject, payload FROM events WHERE payload<>'' ORDER BY seq"
        for seq, kind, subject, payload in rows_of(db, query):
            if is_kept(kind):
                continue
            is_about = kind.startswith("record.") and subject in erased
            if is_about or any(holds(words, piece) for words in (said(kind, payload),) for piece in scrub.pieces):
                self._empty_event(db, scrub, seq)
                touched.add(subject)
        return touched

    @staticmethod
    def _empty_event(db: apsw.Connection, scrub: _Scrub, seq: int) -> None:
        db.execute("UPDATE events SET payload='' WHERE seq=?", (seq,))
        db.execute("DELETE FROM event_salts WHERE seq=?", (seq,))
        scrub.events.append(seq)

    def _empty_record(self, db: apsw.Connection, record_id: str, at: str, author: Principal) -> None:
        """Leave of a record who wrote it, where and when."""
        query = f"SELECT {','.join(rows.COLUMNS)} FROM records WHERE id=?"
        old = rows.of_row(rows_of(db, query, (record_id,))[0])
        left: Record = replace(
            old, block_hash="", value_key="", near_key="", heading=(), title="", description="", tags=(),
            status=Status.TOMBSTONED, reason="erased", provenance=Provenance(session_id=old.provenance.session_id),
            retired_at=old.retired_at or at, retired_by=old.retired_by or str(author),
        )  # fmt: skip
        db.execute(f"INSERT OR REPLACE INTO records VALUES({','.join('?' * len(rows.COLUMNS))})", rows.to_row(left))
        db.execute("DELETE FROM usage WHERE record_id=?", (record_id,))
        payload = {"batch": "", "before": old.status.value, "record": rows.to_payload(left)}
        self._event(db, at, author, "record.erased", old.scope, record_id, payload)

    def _restate(self, db: apsw.Connection, scrub: _Scrub, subject: str, at: str, author: Principal) -> None:
        """Say again what stands of a record, session, assertion or gate whose event was emptied, without the pieces."""

        def clean(value: Any) -> Any:
            return without(value, scrub.pieces) if isinstance(value, str) else value

        if subject.startswith("rec_"):
            query = f"SELECT {','.join(rows.COLUMNS)} FROM records WHERE id=?"
            for row in rows_of(db, query, (subject,)):
                left = rows.of_row(tuple(map(clean, row)))
                places = ",".join("?" * len(rows.COLUMNS))
                db.execute(f"INSERT OR REPLACE INTO records VALUES({places})", rows.to_row(left))
                payload = {"batch": "", "before": left.status.value, "record": rows.to_payload(left)}
                self._event(db, at, author, "record.erased", left.scope, subject, payload)
        if subject.startswith("ses_"):
            for row in rows_of(db, f"SELECT {','.join(SESSION)} FROM sessions WHERE id=?", (subject,)):
                values = dict(zip(SESSION, map(clean, row), strict=True))
                names = ",".join(f"{name}=?" for name in SESSION)
                db.execute(f"UPDATE sessions SET {names} WHERE id=?", (*values.values(), subject))
                scope = Scope.parse(values["scope"])
                values.pop("settled")
                self._event(db, at, author, "session.erased", scope, subject, values)
        for table, columns, kind in _RESTATED.get(subject[:4], ()):
            for row in rows_of(db, f"SELECT {','.join(columns)} FROM {table} WHERE id=?", (subject,)):
                values = emptied(columns, row, scrub.pieces)
                db.execute(
                    f"INSERT OR REPLACE INTO {table} VALUES({','.join('?' * len(columns))})", (*values.values(),)
                )
                self._event(db, at, author, kind, Scope.parse(values["scope"]), subject, values)

    def _empty_proposals(
        self,
        db: apsw.Connection,
        scrub: _Scrub,
        record_ids: Sequence[str],
        touched: AbstractSet[str],
        at: str,
        author: Principal,
    ) -> None:
        """Empty the proposals that offered what is erased; one that waited has lapsed."""
        names = [name for name, left in scrub.objects.items() if not left]
        for row in rows_of(db, f"SELECT {','.join(PROPOSAL)} FROM proposals"):
            values: dict[str, Any] = dict(zip(PROPOSAL, row, strict=True))
            operations = str(values["operations"])
            about = any(record_id in values["record_ids"] or record_id in operations for record_id in record_ids)
            if not (about or values["id"] in touched or any(name in operations for name in names)):
                continue
            state = "expired" if values["state"] == "pending" else values["state"]
            values |= {"operations": "[]", "state": state, "content_hash": "", "rationale": ""}
            names_ = ",".join(f"{name}=?" for name in PROPOSAL)
            db.execute(f"UPDATE proposals SET {names_} WHERE id=?", (*values.values(), values["id"]))
            for (seq,) in rows_of(db, "SELECT seq FROM events WHERE subject=? AND payload<>''", (values["id"],)):
                self._empty_event(db, scrub, seq)
            self._event(db, at, author, "proposal.erased", Scope.parse(values["scope"]), values["id"], values)

    def _drop_tombstone(self, db: apsw.Connection, scrub: _Scrub, stone: Tombstone, at: str, author: Principal) -> None:
        db.execute("DELETE FROM tombstones WHERE id=?", (stone.id,))
        for (seq,) in rows_of(db, "SELECT seq FROM events WHERE subject=? AND payload<>''", (stone.id,)):
            self._empty_event(db, scrub, seq)
        self._event(db, at, author, "tombstone.erased", stone.scope, stone.id, {})

    def compact(self) -> None:
        """Rewrite the file and empty its log."""
        with self._reading() as db:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            db.execute("VACUUM")
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def kept_texts(self) -> Iterator[str]:
        """Yield the text of every object, and the words in every payload."""
        with self._reading():
            names = list(self._objects.names())
        for name in names:
            with self._reading():
                text = self._readable(name)
            yield text
        yield from (item.text for item in self._payloads())

    def held_texts(self) -> Iterator[HeldText]:
        """Yield every text that the ledger keeps, with where it belongs."""
        with self._reading() as db:
            names = list(self._objects.names())
        for name in names:
            with self._reading() as db:
                text, places = self._readable(name), tuple(_places(db, name))
            yield HeldText(name, text, places)
        yield from self._payloads()

    def _payloads(self) -> Iterator[HeldText]:
        with self._reading() as db:
            payloads = rows_of(db, "SELECT seq, kind, payload FROM events WHERE payload<>'' ORDER BY seq")
        for seq, kind, payload in payloads:
            words = said(kind, payload)
            if words:
                yield HeldText("", words, (f"event {seq}",))


def _places(db: apsw.Connection, name: str) -> Iterator[str]:
    """Where an object belongs: records, files, checkpoints, proposals."""
    for record_id, path, status in rows_of(db, "SELECT id, path, status FROM records WHERE block_hash=?", (name,)):
        yield f"record {record_id} ({status}) of {path}"
    for scope, path in rows_of(db, "SELECT scope, path FROM files WHERE object=?", (name,)):
        yield f"{scope} {path}"
    query = "SELECT DISTINCT checkpoint, path FROM checkpoint_files WHERE before=?1 OR after=?1 ORDER BY checkpoint"
    for checkpoint, path in rows_of(db, query, (name,)):
        yield f"checkpoint {checkpoint} of {path}"
    for (proposal,) in rows_of(db, "SELECT id FROM proposals WHERE instr(operations, ?)", (name,)):
        yield f"proposal {proposal}"
