"""The ledger in SQLite: every change as a hash-chained event, and the tables that project the events."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import apsw

from memoranda.adapters.sqlite import ledger_rows as rows
from memoranda.adapters.sqlite.connection import connect, foreign_errors, transaction
from memoranda.adapters.sqlite.json_form import canonical
from memoranda.adapters.sqlite.ledger_conflicts import LedgerConflicts
from memoranda.adapters.sqlite.ledger_erase import LedgerErase
from memoranda.adapters.sqlite.ledger_reads import LedgerReads
from memoranda.adapters.sqlite.ledger_schema import migrate
from memoranda.adapters.sqlite.ledger_sessions import LedgerSessions
from memoranda.adapters.sqlite.ledger_trust import TrustWrites
from memoranda.adapters.sqlite.ledger_verify import verify
from memoranda.adapters.sqlite.objects import Objects
from memoranda.domain.editing import apply_splices
from memoranda.domain.entry import Change, Committed, Entry, FileEdit, FileState
from memoranda.domain.fingerprint import Fingerprints
from memoranda.domain.policy import writes_as_person
from memoranda.domain.report import Problem, Progress
from memoranda.domain.scope import Principal, Scope
from memoranda.errors import IntegrityError

SALT_BYTES = 16
_EVENTS = "SELECT seq, at, principal, kind, scope, subject, payload_hash, prev_hash, hash FROM events ORDER BY seq DESC"
_PUT_RECORD = f"INSERT OR REPLACE INTO records VALUES({','.join('?' * len(rows.COLUMNS))})"


class SqliteLedger(LedgerReads, TrustWrites, LedgerSessions, LedgerConflicts, LedgerErase):
    """One ledger file. One connection under one lock: transactions are short, and threads must not share one."""

    def __init__(self, path: Path, fingerprints: Fingerprints) -> None:
        self._path = path
        self._prints = fingerprints
        self._lock = threading.RLock()
        self._db = connect(path, durable=True)
        try:
            with foreign_errors(path):
                migrate(self._db)
                _prove_key(self._db, fingerprints)
        except BaseException:
            self._db.close()
            raise
        self._objects = Objects(self._db, fingerprints.content)

    def close(self) -> None:
        """Close the connection; nothing is pending, every call commits."""
        with self._lock:
            self._db.close()

    @contextmanager
    def _reading(self) -> Iterator[apsw.Connection]:
        with self._lock, foreign_errors(self._path):
            yield self._db

    @contextmanager
    def _writing(self) -> Iterator[apsw.Connection]:
        with self._lock, transaction(self._db):
            yield self._db

    def prepare(self, entry: Entry) -> None:
        """Store an intent durably, before any file is touched."""
        with self._writing() as db:
            db.execute(
                "INSERT INTO intents VALUES(?,?,?)",
                (entry.batch_id, str(entry.scope), rows.intent_body(entry)),
            )

    def commit(self, entries: Sequence[Entry]) -> Sequence[Committed]:
        """Write entries in one durable transaction and drop their intents."""
        with self._writing() as db:
            return [self._write(db, entry) for entry in entries]

    def discard(self, entry: Entry, *, why: str) -> None:
        """Drop an intent whose files were not changed, with an event that says why."""
        with self._writing() as db:
            payload: dict[str, object] = {"why": why, "paths": [edit.path for edit in entry.edits]}
            if entry.kept_text:
                name = self._prints.content(entry.kept_text)
                self._objects.put(name, entry.kept_text)
                path = entry.edits[0].path if entry.edits else ""
                payload["checkpoint"] = entry.checkpoint_id
                payload["reason"] = "conflict"
                payload["files"] = [[path, name, "", ""]]
            seq = self._event(db, entry.at, entry.author, "batch.discarded", entry.scope, entry.batch_id, payload)
            if entry.kept_text:
                self._checkpoint(db, seq, entry, "conflict", [(path, name, "")])
            db.execute("DELETE FROM intents WHERE id=?", (entry.batch_id,))

    def note(
        self,
        *,
        at: str,
        author: Principal,
        kind: str,
        scope: Scope,
        subject: str,
        payload: Mapping[str, object],
    ) -> None:
        """Write one event that changes no record."""
        with self._writing() as db:
            self._event(db, at, author, kind, scope, subject, payload)

    def _write(self, db: apsw.Connection, entry: Entry) -> Committed:
        previous = self._last_seq(db, entry.scope)
        for name, text in entry.texts.items():
            self._objects.put(name, text)
        seq = self._batch_event(db, entry)
        for change in entry.changes:
            seq = self._change(db, entry, change)
        for state in entry.states:
            known = db.execute(
                "SELECT by_person FROM files WHERE scope=? AND path=?", (str(entry.scope), state.path)
            ).get
            by_person = bool(known) or writes_as_person(entry.author, entry.reason)
            self._put_state(db, entry.scope, replace(state, by_person=by_person))
        db.executemany(
            "DELETE FROM files WHERE scope=? AND path=?",
            [(str(entry.scope), path) for path in entry.forgotten],
        )
        for record_id in entry.corroborated:
            db.execute(
                "INSERT INTO usage(record_id, corroborated) VALUES(?,1) "
                "ON CONFLICT(record_id) DO UPDATE SET corroborated=corroborated+1",
                (record_id,),
            )
        for edit in entry.edits:
            self._keep_content(edit)
        self._trust(db, entry)
        db.execute("DELETE FROM intents WHERE id=?", (entry.batch_id,))
        return Committed(previous, seq)

    def _batch_event(self, db: apsw.Connection, entry: Entry) -> int:
        payload: dict[str, object] = {
            "reason": entry.reason,
            "files": [[edit.path, edit.before, edit.after, edit.after_hash] for edit in entry.edits],
        }
        if entry.checkpoint_id:
            payload["checkpoint"] = entry.checkpoint_id
        seq = self._event(db, entry.at, entry.author, "batch.committed", entry.scope, entry.batch_id, payload)
        if entry.checkpoint_id:
            files = [(edit.path, edit.before, edit.after) for edit in entry.edits]
            self._checkpoint(db, seq, entry, entry.reason, files)
        return seq

    def _change(self, db: apsw.Connection, entry: Entry, change: Change) -> int:
        db.execute(_PUT_RECORD, rows.to_row(change.record))
        payload = {"batch": entry.batch_id, "before": change.before, "record": rows.to_payload(change.record)}
        return self._event(db, entry.at, entry.author, change.kind, entry.scope, change.record.id, payload)

    def _checkpoint(
        self, db: apsw.Connection, seq: int, entry: Entry, reason: str, files: Sequence[tuple[str, str, str]]
    ) -> None:
        db.execute(
            "INSERT INTO checkpoints VALUES(?,?,?,?,?,?)",
            (entry.checkpoint_id, seq, entry.at, str(entry.scope), reason, str(entry.author)),
        )
        db.executemany(
            "INSERT INTO checkpoint_files VALUES(?,?,?,?,?)",
            [(entry.checkpoint_id, index, *file) for index, file in enumerate(files)],
        )

    def _keep_content(self, edit: FileEdit) -> None:
        """Keep the content after, whole, and the content before as its difference to it."""
        if not edit.after:
            return
        older = self._objects.get(edit.before) if edit.before and not edit.whole else ""
        if older is None:
            raise IntegrityError(f"object {edit.before} is missing")
        newer = apply_splices(older, edit.splices)
        self._objects.put(edit.after, newer)
        if edit.before and not edit.whole:
            self._objects.slim(edit.before, edit.after, older, newer)

    def _put_state(self, db: apsw.Connection, scope: Scope, state: FileState) -> None:
        db.execute(
            "INSERT OR REPLACE INTO files VALUES(?,?,?,?,?,?,?)",
            (
                str(scope),
                state.path,
                state.content_hash,
                state.object,
                state.size,
                state.stamp,
                int(state.by_person),
            ),
        )

    def _event(
        self,
        db: apsw.Connection,
        at: str,
        author: Principal,
        kind: str,
        scope: Scope,
        subject: str,
        payload: Mapping[str, object],
    ) -> int:
        last = db.execute("SELECT seq, hash FROM events ORDER BY seq DESC LIMIT 1").fetchone()
        seq, previous = (last[0] + 1, last[1]) if last else (1, "")
        text, salt = canonical(payload), os.urandom(SALT_BYTES)
        payload_hash = self._prints.payload(salt, text)
        fields = (str(seq), at, str(author), kind, str(scope), subject, payload_hash)
        db.execute(
            "INSERT INTO events VALUES(?,?,?,?,?,?,?,?,?,?)",
            (seq, at, str(author), kind, str(scope), subject, text, payload_hash, previous,
             self._prints.event(fields, previous)),
        )  # fmt: skip
        db.execute("INSERT INTO event_salts VALUES(?,?)", (seq, salt))
        return seq

    def refresh_states(self, scope: Scope, states: Sequence[FileState]) -> None:
        """Store new size and time for files whose content is the same; no event."""
        with self._writing() as db:
            for state in states:
                self._put_state(db, scope, state)

    def set_skipped(self, scope: Scope, skipped: Sequence[tuple[str, str]]) -> None:
        """Replace what `skipped` returns; nothing is written where it is the same already."""
        if sorted(skipped) == sorted(self.skipped(scope)):
            return
        with self._writing() as db:
            db.execute("DELETE FROM skipped WHERE scope=?", (str(scope),))
            db.executemany(
                "INSERT OR REPLACE INTO skipped VALUES(?,?,?)",
                [(str(scope), path, why) for path, why in skipped],
            )

    def prune(self, scope: Scope, *, keep: int, before: str, at: str, author: Principal) -> int:
        """Drop old checkpoints with an event, and the objects that nothing else refers to."""
        select = (
            "SELECT id FROM checkpoints WHERE scope=?1 AND at<?3 AND id NOT IN "
            "(SELECT id FROM checkpoints WHERE scope=?1 ORDER BY seq DESC LIMIT ?2)"
        )
        arguments = (str(scope), keep, before)
        with self._reading() as db:
            if db.execute(f"{select} LIMIT 1", arguments).get is None:
                return 0
        with self._writing() as db:
            gone = [row[0] for row in db.execute(select, arguments).fetchall()]
            names: set[str] = set()
            for checkpoint in gone:
                for pair in db.execute("SELECT before, after FROM checkpoint_files WHERE checkpoint=?", (checkpoint,)):
                    names.update(pair)
                db.execute("DELETE FROM checkpoints WHERE id=?", (checkpoint,))
            self._event(db, at, author, "checkpoints.pruned", scope, str(scope), {"checkpoints": gone})
            self._objects.drop(name for name in sorted(names) if name and not self._referred(db, name))
            return len(gone)

    def _referred(self, db: apsw.Connection, name: str) -> bool:
        for query in (
            "SELECT 1 FROM checkpoint_files WHERE before=?",
            "SELECT 1 FROM checkpoint_files WHERE after=?",
            "SELECT 1 FROM files WHERE object=?",
            "SELECT 1 FROM records WHERE block_hash=?",
            "SELECT 1 FROM proposals WHERE instr(operations, ?)",
        ):
            if db.execute(query, (name,)).get is not None:
                return True
        return False

    def verify(self, progress: Progress | None = None) -> Iterator[Problem | tuple[str, int]]:
        """Check chain, projections and objects; see `ledger_verify`."""
        with self._reading() as db:
            yield from verify(db, self._prints, self._objects, progress)


def _prove_key(db: apsw.Connection, prints: Fingerprints) -> None:
    """Check that the key made the newest event.

    Where that one does not fit, an older one that does shows that the event and not the key is wrong: `verify` says
    so then.

    Raises:
        IntegrityError: no event fits. An event written with this key would end the chain for good.
    """
    found = False
    for seq, *fields, previous, digest in db.execute(_EVENTS):
        if prints.event((str(seq), *fields), previous) == digest:
            return
        found = True
    if found:
        raise IntegrityError("the key does not fit this ledger; put the right .state/key back from a backup")
