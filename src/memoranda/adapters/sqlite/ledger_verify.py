"""Proves the ledger: the chain of events, the tables that project them, and every object.

The events are replayed into what the tables should hold. Nothing here shares code with the writers but the form of
rows and hashes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import apsw

from memoranda.adapters.sqlite import ledger_rows as rows
from memoranda.adapters.sqlite.connection import rows_of
from memoranda.adapters.sqlite.objects import Objects
from memoranda.domain.fingerprint import Fingerprints
from memoranda.domain.policy import writes_as_person
from memoranda.domain.report import Problem, Progress
from memoranda.domain.scope import Principal
from memoranda.errors import IntegrityError

_EVERY = 2_000
_REASON = rows.COLUMNS.index("reason")


class _Replay:
    """What the tables should hold after the events so far."""

    def __init__(self) -> None:
        self.records: dict[str, tuple[object, ...]] = {}
        self.files: dict[tuple[str, str], tuple[str, str, int]] = {}
        self.checkpoints: dict[str, tuple[tuple[object, ...], list[list[object]]]] = {}
        self.pruned = False

    def apply(self, seq: int, at: str, principal: str, kind: str, scope: str, payload: dict[str, Any]) -> None:
        if kind.startswith("record."):
            row = rows.row_of_payload(payload["record"])
            self.records[str(row[0])] = row
        elif kind == "checkpoints.pruned":
            self.pruned = True
            for checkpoint in payload["checkpoints"]:
                self.checkpoints.pop(checkpoint, None)
        elif kind in ("batch.committed", "batch.discarded"):
            if "checkpoint" in payload:
                head = (seq, at, scope, payload["reason"], principal)
                files = [[position, *file[:3]] for position, file in enumerate(payload["files"])]
                self.checkpoints[payload["checkpoint"]] = (head, files)
            if kind == "batch.committed":
                for path, _, after, content_hash in payload["files"]:
                    before = self.files.get((scope, path), ("", "", 0))
                    by_person = bool(after) and (
                        bool(before[2]) or writes_as_person(Principal.parse(principal), payload["reason"])
                    )
                    self.files[scope, path] = (after, content_hash, int(by_person))


def verify(
    db: apsw.Connection, prints: Fingerprints, objects: Objects, progress: Progress | None
) -> Iterator[Problem | tuple[str, int]]:
    """Yield every problem found, and per area how many things were checked."""
    for (message,) in db.execute("PRAGMA integrity_check(20)").fetchall():
        if message != "ok":
            yield Problem("chain", "ledger.db", f"the database file is damaged: {message}")
    replay = _Replay()
    yield from _chain(db, prints, replay, progress)
    yield from _records(db, replay)
    yield from _files(db, replay)
    yield from _checkpoints(db, replay)
    yield from _objects(db, objects, replay, progress)


def _chain(
    db: apsw.Connection, prints: Fingerprints, replay: _Replay, progress: Progress | None
) -> Iterator[Problem | tuple[str, int]]:
    total = int(db.execute("SELECT count(*) FROM events").get)
    query = (
        "SELECT e.seq, at, principal, kind, scope, subject, payload, payload_hash, prev_hash, hash, salt "
        "FROM events e LEFT JOIN event_salts s ON s.seq=e.seq ORDER BY e.seq"
    )
    previous, expected = "", 1
    for row in db.execute(query):
        seq, at, principal, kind, scope, subject, payload, payload_hash, prev_hash, digest, salt = row
        name = f"event {seq}"
        if seq != expected:
            yield Problem("chain", name, f"event {expected} is missing before it")
        if salt is None:
            yield Problem("chain", name, "its salt is missing, so its payload cannot be proven")
        elif prints.payload(salt, payload) != payload_hash:
            yield Problem("chain", name, "its payload or salt was changed")
        fields = (str(seq), at, principal, kind, scope, subject, payload_hash)
        if prev_hash != previous:
            yield Problem("chain", name, "it does not continue the event before it")
        if prints.event(fields, prev_hash) != digest:
            yield Problem("chain", name, "its fields do not fit its hash")
        try:
            replay.apply(seq, at, principal, kind, scope, json.loads(payload))
        except (ValueError, KeyError, TypeError):
            yield Problem("chain", name, "its payload cannot be read")
        previous, expected = digest, seq + 1
        if progress and seq % _EVERY == 0:
            progress("checking events", seq, total)
    yield "events", total


def _records(db: apsw.Connection, replay: _Replay) -> Iterator[Problem | tuple[str, int]]:
    seen = 0
    waiting = dict(replay.records)
    for row in db.execute(f"SELECT {','.join(rows.COLUMNS)} FROM records"):
        seen += 1
        expected = waiting.pop(row[0], None)
        if expected is None:
            yield Problem("records", str(row[0]), "no event knows this record")
        elif expected != row:
            changed = [name for name, is_, was in zip(rows.COLUMNS, row, expected, strict=True) if is_ != was]
            yield Problem("records", str(row[0]), f"differs from the events in {', '.join(changed)}")
    for record_id in waiting:
        yield Problem("records", record_id, "the events know this record, the table does not")
    yield "records", seen


def _files(db: apsw.Connection, replay: _Replay) -> Iterator[Problem | tuple[str, int]]:
    seen = 0
    waiting = {place: after for place, after in replay.files.items() if after[0]}
    for scope, path, *held in rows_of(db, "SELECT scope, path, object, content_hash, by_person FROM files"):
        seen += 1
        if waiting.pop((scope, path), None) != tuple(held):
            yield Problem("files", f"{scope} {path}", "its last known content differs from the events")
    for scope, path in waiting:
        yield Problem("files", f"{scope} {path}", "the events know this file, the table does not")
    yield "known files", seen


def _checkpoints(db: apsw.Connection, replay: _Replay) -> Iterator[Problem | tuple[str, int]]:
    seen = 0
    waiting = dict(replay.checkpoints)
    for checkpoint, *head in rows_of(db, "SELECT id, seq, at, scope, reason, author FROM checkpoints"):
        seen += 1
        query = "SELECT position, path, before, after FROM checkpoint_files WHERE checkpoint=? ORDER BY position"
        files = [list(file) for file in db.execute(query, (checkpoint,)).fetchall()]
        expected = waiting.pop(checkpoint, None)
        if expected is None:
            yield Problem("checkpoints", checkpoint, "no event knows this checkpoint")
        elif expected != (tuple(head), files):
            yield Problem("checkpoints", checkpoint, "differs from the events")
    for checkpoint in waiting:
        yield Problem("checkpoints", checkpoint, "the events know this checkpoint, the table does not")
    yield "checkpoints", seen


def _objects(
    db: apsw.Connection, objects: Objects, replay: _Replay, progress: Progress | None
) -> Iterator[Problem | tuple[str, int]]:
    needed = {str(row[3]) for row in replay.records.values() if not str(row[_REASON]).startswith("secret:")}
    needed.update(after for after, _, _ in replay.files.values() if after)
    for _, files in replay.checkpoints.values():
        needed.update(str(file[2]) for file in files if file[2])
    total = int(db.execute("SELECT count(*) FROM objects").get)
    seen = 0
    for name in objects.names():
        seen += 1
        needed.discard(name)
        try:
            objects.get(name)
        except IntegrityError as error:
            yield Problem("objects", f"object {name}", str(error))
        if progress and seen % _EVERY == 0:
            progress("checking objects", seen, total)
    for name in sorted(needed):
        yield Problem("objects", f"object {name}", "it is missing")
    yield from _depths(db, replay)
    yield "objects", seen


def _depths(db: apsw.Connection, replay: _Replay) -> Iterator[Problem]:
    """The depth of every object: how many differences build on it in a row; what was pruned may have been more."""
    rows_ = {name: (base, depth) for name, base, depth in db.execute("SELECT name, base, depth FROM objects")}
    real = dict.fromkeys(rows_, 0)
    for name in rows_:
        steps, current = 0, name
        while (base := rows_[current][0]) in rows_ and steps < len(rows_):
            steps, current = steps + 1, base
            if real[current] >= steps:
                break
            real[current] = steps
    for name, (_, depth) in rows_.items():
        if depth < real[name] or (depth > real[name] and not replay.pruned):
            yield Problem("objects", f"object {name}", "its depth is not that of the differences that build on it")
