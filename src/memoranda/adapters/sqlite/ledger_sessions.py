"""State of sessions and injections, in the ledger's file and outside its chain."""

from __future__ import annotations

from collections.abc import Sequence

from memoranda.adapters.sqlite.connection import rows_of
from memoranda.adapters.sqlite.ledger_part import LedgerPart
from memoranda.domain.erasure import holds, in_json
from memoranda.domain.injection import Injection
from memoranda.domain.scope import Scope
from memoranda.domain.session import RESERVED

_NAMED = "session=? AND namespace=? AND key=?"


class LedgerSessions(LedgerPart):
    """The part of the ledger that keeps what is a session's own."""

    def state_get(self, session: str, namespace: str, key: str) -> str | None:
        """Return a value as JSON; None where there is none."""
        with self._reading() as db:
            found = db.execute(f"SELECT value FROM session_state WHERE {_NAMED}", (session, namespace, key)).get
        return None if found is None else str(found)

    def state_set(self, session: str, namespace: str, key: str, value: str, *, at: str) -> None:
        """Store a value as JSON."""
        with self._writing() as db:
            db.execute("INSERT OR REPLACE INTO session_state VALUES(?,?,?,?,?)", (session, namespace, key, value, at))

    def state_delete(self, session: str, namespace: str, key: str = "") -> int:
        """Remove a value, or all of a namespace; return how many there were."""
        with self._writing() as db:
            if key:
                db.execute(f"DELETE FROM session_state WHERE {_NAMED}", (session, namespace, key))
            else:
                db.execute("DELETE FROM session_state WHERE session=? AND namespace=?", (session, namespace))
            return db.changes()

    def state_keys(self, session: str, namespace: str) -> Sequence[str]:
        """Return the keys of a namespace, in order."""
        query = "SELECT key FROM session_state WHERE session=? AND namespace=? ORDER BY key"
        with self._reading() as db:
            return [str(key) for (key,) in rows_of(db, query, (session, namespace))]

    def state_size(self, session: str, *, but: tuple[str, str] = ("", "")) -> tuple[int, int]:
        """Return how many values a session has of its host, and their characters together; `but` one is not counted."""
        query = (
            "SELECT count(*), coalesce(sum(length(value)), 0) FROM session_state "
            "WHERE session=? AND substr(namespace, 1, ?)<>? AND NOT (namespace=? AND key=?)"
        )
        with self._reading() as db:
            ((count, size),) = rows_of(db, query, (session, len(RESERVED), RESERVED, *but))
        return int(count), int(size)

    def state_drop(self, session: str) -> None:
        """Remove everything of a session."""
        with self._writing() as db:
            db.execute("DELETE FROM session_state WHERE session=?", (session,))

    def state_values(self) -> Sequence[str]:
        """Return everything that is kept with any session: namespaces, keys, values as JSON."""
        with self._reading() as db:
            return [str(text) for row in rows_of(db, "SELECT namespace, key, value FROM session_state") for text in row]

    def state_scrub(self, pieces: Sequence[str]) -> int:
        """Remove every value, of any session, that holds one of these texts; return how many."""
        forms = {form for piece in pieces for form in in_json(piece)}
        with self._writing() as db:
            gone = [
                (session, namespace, key)
                for session, namespace, key, value in rows_of(
                    db, "SELECT session, namespace, key, value FROM session_state"
                )
                if any(holds(f"{namespace}\n{key}\n{value}", form) for form in forms)
            ]
            db.executemany(f"DELETE FROM session_state WHERE {_NAMED}", gone)
        return len(gone)

    def inject(self, injections: Sequence[Injection]) -> None:
        """Note what entered a prompt, and count it on each record."""
        with self._writing() as db:
            for item in injections:
                db.execute(
                    "INSERT INTO injections(at, scope, session, epoch, record, surface, bytes) VALUES(?,?,?,?,?,?,?)",
                    (item.at, str(item.scope), item.session, item.epoch, item.record, item.surface, item.size),
                )
                db.execute(
                    "INSERT INTO usage(record_id, injected, last_injected) VALUES(?,1,?) ON CONFLICT(record_id) "
                    "DO UPDATE SET injected=injected+1, last_injected=excluded.last_injected",
                    (item.record, item.at),
                )

    def injected(self, session: str, epoch: int) -> tuple[frozenset[str], int]:
        """Return which records entered a session's prompts since its last compaction, and the bytes of all ever."""
        with self._reading() as db:
            found = rows_of(db, "SELECT record FROM injections WHERE session=? AND epoch=?", (session, epoch))
            total = db.execute("SELECT coalesce(sum(bytes), 0) FROM injections WHERE session=?", (session,)).get
        return frozenset(str(record) for (record,) in found), int(total)

    def injections(self, scope: Scope, *, limit: int, record: str = "") -> Sequence[Injection]:
        """Return what entered prompts of a scope, newest first."""
        where, values = ("scope=? AND record=?", (str(scope), record)) if record else ("scope=?", (str(scope),))
        query = (
            "SELECT at, scope, session, epoch, record, surface, bytes FROM injections "
            f"WHERE {where} ORDER BY id DESC LIMIT ?"
        )
        with self._reading() as db:
            rows = rows_of(db, query, (*values, limit))
        return [
            Injection(
                at=at, scope=Scope.parse(owner), session=session, epoch=epoch, record=name, surface=surface, size=size
            )
            for at, owner, session, epoch, name, surface, size in rows
        ]
