"""Proves the ledger: the chain of events, the tables that project them, and every object.

The events are replayed into what the tables should hold. Nothing here shares code with the writers but the form of
rows and hashes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import apsw

from memoranda.adapters.sqlite import ledger_rows as rows
from memoranda.adapters.sqlite.connection import rows_of
from memoranda.adapters.sqlite.ledger_conflicts import ASSERTION, GATE
from memoranda.adapters.sqlite.ledger_replay import Replay
from memoranda.adapters.sqlite.ledger_trust import PROPOSAL, SESSION, STONE
from memoranda.adapters.sqlite.objects import Objects
from memoranda.domain.fingerprint import Fingerprints
from memoranda.domain.report import Problem, Progress
from memoranda.errors import IntegrityError

_EVERY = 2_000
_REASON = rows.COLUMNS.index("reason")
_RECORD_IDS, _OPERATIONS = PROPOSAL.index("record_ids"), PROPOSAL.index("operations")


def verify(
    db: apsw.Connection, prints: Fingerprints, objects: Objects, progress: Progress | None
) -> Iterator[Problem | tuple[str, int]]:
    """Yield every problem found, and per area how many things were checked."""
    for (message,) in db.execute("PRAGMA integrity_check(20)").fetchall():
        if message != "ok":
            yield Problem("chain", "ledger.db", f"the database file is damaged: {message}")
    replay = Replay()
    yield from _chain(db, prints, replay, progress)
    yield from _records(db, replay)
    yield from _files(db, replay)
    yield from _trust(db, replay)
    yield from _checkpoints(db, replay)
    yield from _objects(db, objects, replay, progress)


def _chain(
    db: apsw.Connection, prints: Fingerprints, replay: Replay, progress: Progress | None
) -> Iterator[Problem | tuple[str, int]]:
    total = int(db.execute("SELECT count(*) FROM events").get)
    query = (
        "SELECT e.seq, at, principal, kind, scope, subject, payload, payload_hash, prev_hash, hash, salt "
        "FROM events e LEFT JOIN event_salts s ON s.seq=e.seq ORDER BY e.seq"
    )
    previous, expected = "", 1
    emptied: list[int] = []
    for row in db.execute(query):
        seq, at, principal, kind, scope, subject, payload, payload_hash, prev_hash, digest, salt = row
        name = f"event {seq}"
        if seq != expected:
            yield Problem("chain", name, f"event {expected} is missing before it")
        if salt is None and not payload:
            emptied.append(seq)
        elif salt is None:
            yield Problem("chain", name, "its salt is missing, so its payload cannot be proven")
        elif prints.payload(salt, payload) != payload_hash:
            yield Problem("chain", name, "its payload or salt was changed")
        fields = (str(seq), at, principal, kind, scope, subject, payload_hash)
        if prev_hash != previous:
            yield Problem("chain", name, "it does not continue the event before it")
        if prints.event(fields, prev_hash) != digest:
            yield Problem("chain", name, "its fields do not fit its hash")
        try:
            replay.apply(seq, at, principal, kind, scope, subject, payload)
        except (ValueError, KeyError, TypeError):
            yield Problem("chain", name, "its payload cannot be read")
        previous, expected = digest, seq + 1
        if progress and seq % _EVERY == 0:
            progress("checking events", seq, total)
    unnamed = (seq for seq in emptied if seq not in replay.erased_events)
    yield from (
        Problem("chain", f"event {seq}", "its payload and salt are missing, no erasure names it") for seq in unnamed
    )
    yield "events", total


def _records(db: apsw.Connection, replay: Replay) -> Iterator[Problem | tuple[str, int]]:
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


def _files(db: apsw.Connection, replay: Replay) -> Iterator[Problem | tuple[str, int]]:
    seen = 0
    waiting = {place: after for place, after in replay.files.items() if after[0]}
    for scope, path, *held in rows_of(db, "SELECT scope, path, object, content_hash, by_person FROM files"):
        seen += 1
        if waiting.pop((scope, path), None) != tuple(held):
            yield Problem("files", f"{scope} {path}", "its last known content differs from the events")
    for scope, path in waiting:
        yield Problem("files", f"{scope} {path}", "the events know this file, the table does not")
    yield "known files", seen


def _trust(db: apsw.Connection, replay: Replay) -> Iterator[Problem | tuple[str, int]]:
    """What trust rests on, assertions and gates; whether a sync has followed a closed session is outside the chain."""
    session = tuple(name for name in SESSION if name != "settled")
    for table, names, expected in (
        ("tombstones", STONE, replay.tombstones),
        ("proposals", PROPOSAL, replay.proposals),
        ("sessions", session, replay.sessions),
        ("assertions", ASSERTION, replay.assertions),
        ("gates", GATE, replay.gates),
    ):
        waiting = dict(expected)
        seen = 0
        for row in rows_of(db, f"SELECT {','.join(names)} FROM {table}"):
            seen += 1
            was = waiting.pop(row[0], None)
            if was is None:
                yield Problem(table, str(row[0]), f"no event knows this row of {table}")
            elif tuple(row) != was:
                changed = [name for name, is_, had in zip(names, row, was, strict=True) if is_ != had]
                yield Problem(table, str(row[0]), f"differs from the events in {', '.join(changed)}")
        for ident in waiting:
            yield Problem(table, ident, f"the events know this row of {table}, the table does not")
        yield table, seen
    named = {(ident, row[0]) for row in replay.proposals.values() for ident in json.loads(str(row[_RECORD_IDS]))}
    held = set(rows_of(db, "SELECT record_id, proposal_id FROM proposal_records"))
    for record_id, proposal_id in sorted(named ^ held):
        yield Problem("proposals", str(proposal_id), f"its record {record_id} is not listed as the events say")


def _checkpoints(db: apsw.Connection, replay: Replay) -> Iterator[Problem | tuple[str, int]]:
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
    db: apsw.Connection, objects: Objects, replay: Replay, progress: Progress | None
) -> Iterator[Problem | tuple[str, int]]:
    withheld = ("secret:", "review:")
    needed = {str(row[3]) for row in replay.records.values() if row[3] and not str(row[_REASON]).startswith(withheld)}
    needed.update(after for after, _, _ in replay.files.values() if after)
    for _, files in replay.checkpoints.values():
        needed.update(str(file[2]) for file in files if file[2])
    for row in replay.proposals.values():
        needed.update(_texts_named(str(row[_OPERATIONS])))
    needed -= {name for name, left in replay.erased_objects.items() if not left}
    total = int(db.execute("SELECT count(*) FROM objects").get)
    seen = 0
    for name in objects.names():
        seen += 1
        needed.discard(name)
        try:
            objects.get(name)
        except IntegrityError as error:
            yield Problem("objects", f"object {name}", str(error))
        if objects.after_erasing(name) != replay.erased_objects.get(name, ""):
            yield Problem("objects", f"object {name}", "what was erased from it differs from the events")
        if progress and seen % _EVERY == 0:
            progress("checking objects", seen, total)
    for name in sorted(needed):
        yield Problem("objects", f"object {name}", "it is missing")
    yield from _depths(db, replay)
    yield "objects", seen


def _texts_named(operations: str) -> Iterator[str]:
    """Names of the texts in a proposal's operations."""
    try:
        for row in json.loads(operations):
            yield from (str(row[name]) for name in ("text", "body") if name in row)
    except (ValueError, TypeError):
        return


def _depths(db: apsw.Connection, replay: Replay) -> Iterator[Problem]:
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
