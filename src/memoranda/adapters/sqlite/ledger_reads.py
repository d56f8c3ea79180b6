"""What the ledger answers: plain look-ups, each with the scope in its condition."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import apsw

from memoranda.adapters.sqlite import ledger_rows as rows
from memoranda.adapters.sqlite.connection import rows_of
from memoranda.adapters.sqlite.ledger_part import LedgerPart
from memoranda.domain.checkpoint import Checkpoint, CheckpointFile
from memoranda.domain.entry import Entry, FileState
from memoranda.domain.record import Record, Status
from memoranda.domain.report import Event
from memoranda.domain.scope import Scope

_RECORD = f"SELECT {','.join(rows.COLUMNS)} FROM records"
_PRESENT = "status IN ('active','withheld')"
_PAST = "status IN ('superseded','retired')"
_FILE = "SELECT path, content_hash, object, size, stamp, by_person FROM files"
_CHAIN_BOUND = 10_000


def _file(row: Any) -> FileState:
    path, content_hash, kept, size, stamp, by_person = row
    return FileState(path, content_hash, kept, size, stamp, bool(by_person))


class LedgerReads(LedgerPart):
    """The reading half of the ledger."""

    _path: Path

    def _records(self, where: str, arguments: tuple[object, ...]) -> list[Record]:
        with self._reading() as db:
            return [rows.of_row(row) for row in rows_of(db, f"{_RECORD} WHERE {where}", arguments)]

    def intents(self, scope: Scope) -> Sequence[Entry]:
        """Return the intents that no commit followed, oldest first."""
        with self._reading() as db:
            found = rows_of(db, "SELECT id, scope, body FROM intents WHERE scope=? ORDER BY id", (str(scope),))
        return [rows.intent_of(*row) for row in found]

    def record(self, record_id: str, scopes: Collection[Scope] | None = None) -> Record | None:
        """Return a record by id, of these scopes (None: of any) and whatever its status."""
        if scopes is None:
            found = self._records("id=?", (record_id,))
        else:
            names = sorted(map(str, scopes))
            found = self._records(f"id=? AND scope IN ({','.join('?' * len(names))})", (record_id, *names))
        return found[0] if found else None

    def listing(self, scope: Scope) -> Sequence[tuple[str, int]]:
        """Return the files of a scope with the number of their active records, by path."""
        query = "SELECT path, count(*) FROM records WHERE scope=? AND status='active' GROUP BY path ORDER BY path"
        with self._reading() as db:
            return [(str(path), int(count)) for path, count in rows_of(db, query, (str(scope),))]

    def records_in(self, scope: Scope, path: str) -> Sequence[Record]:
        """Return the records that stand in a file now."""
        return self._records(f"scope=? AND path=? AND {_PRESENT} ORDER BY block_hash, occurrence", (str(scope), path))

    def present(self, scope: Scope) -> Iterator[Record]:
        """Return the scope's records that stand in some file now."""
        yield from self._records(f"scope=? AND {_PRESENT} ORDER BY path, id", (str(scope),))

    def past(self, scope: Scope) -> Iterator[Record]:
        """Return the scope's superseded and retired records."""
        yield from self._records(f"scope=? AND {_PAST} ORDER BY id", (str(scope),))

    def with_value(self, scope: Scope, value_keys: Sequence[str]) -> Mapping[str, str]:
        """Return value key -> id of an active record that has it."""
        with self._reading() as db:
            found = {}
            for key in value_keys:
                record = db.execute(
                    "SELECT id FROM records WHERE scope=? AND value_key=? AND status='active' LIMIT 1",
                    (str(scope), key),
                ).get
                if record is not None:
                    found[key] = str(record)
            return found

    def with_text(self, scope: Scope, block_hash: str, statuses: Sequence[Status]) -> Record | None:
        """Return the record with these exact bytes in one of these states that was retired last."""
        found = self._records(
            f"block_hash=? AND scope=? AND reason='' AND status IN ({','.join('?' * len(statuses))}) "
            "ORDER BY retired_at DESC, id DESC LIMIT 1",
            (block_hash, str(scope), *(status.value for status in statuses)),
        )
        return found[0] if found else None

    def waiting_with(self, scope: Scope, block_hash: str) -> Record | None:
        """Return a record with these exact bytes that is withheld in a file until a person has read it."""
        found = self._records(
            "block_hash=? AND scope=? AND status='withheld' AND substr(reason,1,7)='review:' LIMIT 1",
            (block_hash, str(scope)),
        )
        return found[0] if found else None

    def chain(self, record_id: str) -> Sequence[Record]:
        """Return a record's whole chain of supersession, oldest first."""
        first = self.record(record_id)
        chain = [first] if first else []
        while chain and chain[0].supersedes and len(chain) < _CHAIN_BOUND:
            older = self.record(chain[0].supersedes)
            if older is None:
                break
            chain.insert(0, older)
        while chain and chain[-1].superseded_by and len(chain) < _CHAIN_BOUND:
            newer = self.record(chain[-1].superseded_by)
            if newer is None:
                break
            chain.append(newer)
        return chain

    def text(self, name: str) -> str | None:
        """Return the text of an object; None where there is none."""
        with self._reading():
            return self._objects.get(name)

    def files(self, scope: Scope) -> Mapping[str, FileState]:
        """Return path -> state of the scope's known files."""
        with self._reading() as db:
            query = f"{_FILE} WHERE scope=?"
            return {row[0]: _file(row) for row in rows_of(db, query, (str(scope),))}

    def file(self, scope: Scope, path: str) -> FileState | None:
        """Return the state of one known file."""
        with self._reading() as db:
            query = f"{_FILE} WHERE scope=? AND path=?"
            row = db.execute(query, (str(scope), path)).fetchone()
            return _file(row) if row else None

    def events(
        self,
        *,
        scope: Scope | None,
        limit: int,
        kind: str = "",
        subject: str = "",
        since: str = "",
        subjects: Sequence[str] = (),
    ) -> Sequence[Event]:
        """Return the newest events that fit, newest first."""
        conditions, arguments = ["1"], list[object]()
        for condition, value in (
            ("scope=?", str(scope) if scope else ""),
            ("subject=?", subject),
            ("at>=?", since),
        ):
            if value:
                conditions.append(condition)
                arguments.append(value)
        if kind:
            conditions.append("(kind=? OR substr(kind,1,?)=?)")
            arguments.extend((kind, len(kind) + 1, f"{kind}."))
        if subjects:
            conditions.append(f"subject IN ({','.join('?' * len(subjects))})")
            arguments.extend(subjects)
        query = (
            "SELECT seq, at, principal, kind, scope, subject, payload FROM events "
            f"WHERE {' AND '.join(conditions)} ORDER BY seq DESC LIMIT ?"
        )
        with self._reading() as db:
            return [Event(*row) for row in rows_of(db, query, (*arguments, limit))]

    def checkpoints(self, scope: Scope, *, limit: int, path_contains: str = "") -> Sequence[Checkpoint]:
        """Return checkpoints, newest first; `path_contains` is case-insensitive."""
        where, arguments = "scope=?", [str(scope)]
        if path_contains:
            where += " AND id IN (SELECT checkpoint FROM checkpoint_files WHERE instr(lower(path), lower(?)))"
            arguments.append(path_contains)
        query = f"SELECT id, at, scope, reason, author FROM checkpoints WHERE {where} ORDER BY seq DESC LIMIT ?"
        with self._reading() as db:
            return [self._with_files(db, row) for row in rows_of(db, query, (*arguments, limit))]

    def checkpoint(self, scope: Scope, checkpoint_id: str) -> Checkpoint | None:
        """Return one checkpoint of this scope."""
        query = "SELECT id, at, scope, reason, author FROM checkpoints WHERE scope=? AND id=?"
        with self._reading() as db:
            row = db.execute(query, (str(scope), checkpoint_id)).fetchone()
            return self._with_files(db, row) if row else None

    def _with_files(self, db: apsw.Connection, row: tuple[str, str, str, str, str]) -> Checkpoint:
        query = "SELECT path, before, after FROM checkpoint_files WHERE checkpoint=? ORDER BY position"
        files = tuple(CheckpointFile(*file) for file in rows_of(db, query, (row[0],)))
        return Checkpoint(row[0], row[1], row[2], row[3], row[4], files)  # type: ignore[arg-type]  # a known reason

    def _last_seq(self, db: apsw.Connection, scope: Scope) -> int:
        query = "SELECT seq FROM events WHERE scope=? AND substr(kind,1,7)='record.' ORDER BY seq DESC LIMIT 1"
        return int(db.execute(query, (str(scope),)).get or 0)

    def last_seq(self, scope: Scope) -> int:
        """Return the scope's last event that changed a record; 0 where there is none."""
        with self._reading() as db:
            return self._last_seq(db, scope)

    def count(self, scope: Scope, status: Status) -> int:
        """Return the number of records in one state."""
        with self._reading() as db:
            query = "SELECT count(*) FROM records WHERE scope=? AND status=?"
            return int(db.execute(query, (str(scope), status.value)).get)

    def counts(self, scope: Scope) -> Mapping[str, int]:
        """Return status -> number of records."""
        with self._reading() as db:
            query = "SELECT status, count(*) FROM records WHERE scope=? GROUP BY status"
            return dict(rows_of(db, query, (str(scope),)))

    def scopes(self) -> Sequence[Scope]:
        """Return the scopes that have records or files."""
        with self._reading() as db:
            query = "SELECT scope FROM records UNION SELECT scope FROM files ORDER BY 1"
            return [Scope.parse(row[0]) for row in rows_of(db, query)]

    def skipped(self, scope: Scope) -> Sequence[tuple[str, str]]:
        """Return (path, reason) of the files the last sync did not read."""
        with self._reading() as db:
            query = "SELECT path, reason FROM skipped WHERE scope=? ORDER BY path"
            return [(row[0], row[1]) for row in rows_of(db, query, (str(scope),))]

    def size(self) -> tuple[int, int, int]:
        """Return (events, checkpoints, bytes on disk)."""
        with self._reading() as db:
            events = int(db.execute("SELECT count(*) FROM events").get)
            checkpoints = int(db.execute("SELECT count(*) FROM checkpoints").get)
        names = (self._path, self._path.with_name(self._path.name + "-wal"))
        return events, checkpoints, sum(name.stat().st_size for name in names if name.exists())

    def changed_since(self, scope: Scope, seq: int) -> Sequence[str]:
        """Return the ids of the scope's records with an event after `seq`, in order of their last event."""
        query = (
            "SELECT subject FROM events WHERE scope=? AND seq>? AND substr(kind,1,7)='record.' "
            "GROUP BY subject ORDER BY max(seq)"
        )
        with self._reading() as db:
            return [row[0] for row in rows_of(db, query, (str(scope), seq))]
