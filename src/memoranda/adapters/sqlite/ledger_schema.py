"""The ledger's tables, as numbered migrations. Tables and columns are documented in `docs/format.md`."""

from __future__ import annotations

import apsw

from memoranda.errors import IntegrityError

_FIRST = """
CREATE TABLE events(
    seq INTEGER PRIMARY KEY, at TEXT NOT NULL, principal TEXT NOT NULL, kind TEXT NOT NULL, scope TEXT NOT NULL,
    subject TEXT NOT NULL, payload TEXT NOT NULL, payload_hash TEXT NOT NULL, prev_hash TEXT NOT NULL,
    hash TEXT NOT NULL) STRICT;
CREATE INDEX events_subject ON events(subject, seq);
CREATE INDEX events_scope ON events(scope, seq);
CREATE TABLE event_salts(seq INTEGER PRIMARY KEY, salt BLOB NOT NULL) STRICT;
CREATE TABLE records(
    id TEXT PRIMARY KEY, scope TEXT NOT NULL, path TEXT NOT NULL, block_hash TEXT NOT NULL,
    occurrence INTEGER NOT NULL, value_key TEXT NOT NULL, near_key TEXT NOT NULL, heading TEXT NOT NULL,
    grp TEXT NOT NULL, kind TEXT NOT NULL, title TEXT NOT NULL, description TEXT NOT NULL, tags TEXT NOT NULL,
    trust INTEGER NOT NULL, status TEXT NOT NULL, reason TEXT NOT NULL, author TEXT NOT NULL,
    provenance TEXT NOT NULL, valid_from TEXT NOT NULL, valid_to TEXT NOT NULL, recorded_at TEXT NOT NULL,
    retired_at TEXT NOT NULL, supersedes TEXT NOT NULL, superseded_by TEXT NOT NULL, derived_from TEXT NOT NULL,
    ever_quarantined INTEGER NOT NULL, pinned INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE INDEX records_place ON records(scope, path, status);
CREATE INDEX records_block ON records(block_hash, scope, status);
CREATE INDEX records_value ON records(scope, value_key, status);
CREATE INDEX records_status ON records(scope, status);
CREATE INDEX records_near ON records(scope, near_key, status);
CREATE TABLE usage(
    record_id TEXT PRIMARY KEY, injected INTEGER NOT NULL DEFAULT 0, last_injected TEXT NOT NULL DEFAULT '',
    recalled INTEGER NOT NULL DEFAULT 0, last_recalled TEXT NOT NULL DEFAULT '',
    corroborated INTEGER NOT NULL DEFAULT 0, judged_useful INTEGER NOT NULL DEFAULT 0) STRICT, WITHOUT ROWID;
CREATE TABLE files(
    scope TEXT NOT NULL, path TEXT NOT NULL, content_hash TEXT NOT NULL, object TEXT NOT NULL,
    size INTEGER NOT NULL, stamp INTEGER NOT NULL, by_person INTEGER NOT NULL,
    PRIMARY KEY(scope, path)) STRICT, WITHOUT ROWID;
CREATE INDEX files_object ON files(object);
CREATE TABLE skipped(
    scope TEXT NOT NULL, path TEXT NOT NULL, reason TEXT NOT NULL, PRIMARY KEY(scope, path)) STRICT, WITHOUT ROWID;
CREATE TABLE objects(
    name TEXT PRIMARY KEY, codec INTEGER NOT NULL, base TEXT NOT NULL, depth INTEGER NOT NULL,
    data BLOB NOT NULL) STRICT;
CREATE INDEX objects_base ON objects(base) WHERE base <> '';
CREATE TABLE checkpoints(
    id TEXT PRIMARY KEY, seq INTEGER NOT NULL, at TEXT NOT NULL, scope TEXT NOT NULL, reason TEXT NOT NULL,
    author TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE INDEX checkpoints_scope ON checkpoints(scope, seq);
CREATE TABLE checkpoint_files(
    checkpoint TEXT NOT NULL REFERENCES checkpoints(id) ON DELETE CASCADE, position INTEGER NOT NULL,
    path TEXT NOT NULL, before TEXT NOT NULL, after TEXT NOT NULL, PRIMARY KEY(checkpoint, position))
    STRICT, WITHOUT ROWID;
CREATE INDEX checkpoint_files_before ON checkpoint_files(before);
CREATE INDEX checkpoint_files_after ON checkpoint_files(after);
CREATE TABLE intents(id TEXT PRIMARY KEY, scope TEXT NOT NULL, body TEXT NOT NULL) STRICT, WITHOUT ROWID;
"""

_TRUST = """
ALTER TABLE records ADD COLUMN capped INTEGER NOT NULL DEFAULT 0;
ALTER TABLE records ADD COLUMN retired_by TEXT NOT NULL DEFAULT '';
ALTER TABLE objects ADD COLUMN erased TEXT NOT NULL DEFAULT '';
CREATE TABLE tombstones(
    id TEXT PRIMARY KEY, scope TEXT NOT NULL, value TEXT NOT NULL, near TEXT NOT NULL, binds TEXT NOT NULL,
    author TEXT NOT NULL, at TEXT NOT NULL, record_id TEXT NOT NULL, key_id TEXT NOT NULL,
    lifted_at TEXT NOT NULL, lifted_by TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE INDEX tombstones_value ON tombstones(scope, value) WHERE lifted_at = '';
CREATE INDEX tombstones_near ON tombstones(scope, near) WHERE lifted_at = '' AND near <> '';
CREATE TABLE proposals(
    id TEXT PRIMARY KEY, scope TEXT NOT NULL, kind TEXT NOT NULL, reason TEXT NOT NULL, author TEXT NOT NULL,
    session_id TEXT NOT NULL, tainted INTEGER NOT NULL, at TEXT NOT NULL, expires_at TEXT NOT NULL,
    operations TEXT NOT NULL, record_ids TEXT NOT NULL, content_hash TEXT NOT NULL, state TEXT NOT NULL,
    decided_at TEXT NOT NULL, decided_by TEXT NOT NULL, rationale TEXT NOT NULL, successors TEXT NOT NULL)
    STRICT, WITHOUT ROWID;
CREATE INDEX proposals_waiting ON proposals(scope, id) WHERE state = 'pending';
CREATE INDEX proposals_content ON proposals(scope, content_hash) WHERE state = 'pending';
CREATE INDEX proposals_scope ON proposals(scope, id);
CREATE TABLE proposal_records(
    record_id TEXT NOT NULL, proposal_id TEXT NOT NULL, PRIMARY KEY(record_id, proposal_id)) STRICT, WITHOUT ROWID;
CREATE TABLE sessions(
    id TEXT PRIMARY KEY, scope TEXT NOT NULL, key TEXT NOT NULL, audience TEXT NOT NULL, opened_at TEXT NOT NULL,
    tainted_at TEXT NOT NULL, taint_source TEXT NOT NULL, closed_at TEXT NOT NULL, settled INTEGER NOT NULL)
    STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX sessions_open ON sessions(scope, key) WHERE closed_at = '';
CREATE INDEX sessions_unsettled ON sessions(scope, id) WHERE closed_at = '' OR settled = 0;
"""

_SESSIONS = """
CREATE TABLE session_state(
    session TEXT NOT NULL, namespace TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, at TEXT NOT NULL,
    PRIMARY KEY(session, namespace, key)) STRICT, WITHOUT ROWID;
CREATE TABLE injections(
    id INTEGER PRIMARY KEY, at TEXT NOT NULL, scope TEXT NOT NULL, session TEXT NOT NULL, epoch INTEGER NOT NULL,
    record TEXT NOT NULL, surface TEXT NOT NULL, bytes INTEGER NOT NULL) STRICT;
CREATE INDEX sessions_key ON sessions(scope, key, id);
CREATE INDEX events_records ON events(scope, seq) WHERE substr(kind,1,7)='record.';
CREATE INDEX injections_session ON injections(session, epoch, record);
CREATE INDEX injections_scope ON injections(scope, id);
"""

_CONFLICTS = """
CREATE TABLE assertions(
    id TEXT PRIMARY KEY, scope TEXT NOT NULL, entity TEXT NOT NULL, topic TEXT NOT NULL, store TEXT NOT NULL,
    fact TEXT NOT NULL, metadata TEXT NOT NULL, conflict INTEGER NOT NULL, conflict_reason TEXT NOT NULL,
    sides TEXT NOT NULL, author TEXT NOT NULL, at TEXT NOT NULL, resolved_at TEXT NOT NULL, resolved_by TEXT NOT NULL,
    decision TEXT NOT NULL, rationale TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE INDEX assertions_scope ON assertions(scope, id);
CREATE INDEX assertions_named ON assertions(scope, entity, topic);
CREATE INDEX assertions_open ON assertions(scope, entity, topic) WHERE conflict=1 AND resolved_at='';
CREATE TABLE gates(
    id TEXT PRIMARY KEY, scope TEXT NOT NULL, action TEXT NOT NULL, level TEXT NOT NULL, entity TEXT NOT NULL,
    topic TEXT NOT NULL, approver TEXT NOT NULL, author TEXT NOT NULL, at TEXT NOT NULL, expires_at TEXT NOT NULL,
    state TEXT NOT NULL, decided_at TEXT NOT NULL, decided_by TEXT NOT NULL, rationale TEXT NOT NULL)
    STRICT, WITHOUT ROWID;
CREATE INDEX gates_scope ON gates(scope, id);
CREATE INDEX gates_waiting ON gates(scope, id) WHERE state='pending';
"""

MIGRATIONS: tuple[str, ...] = (_FIRST, _TRUST, _SESSIONS, _CONFLICTS)
"""Each runs once, in its own transaction, in order; a released one is never changed."""


def migrate(connection: apsw.Connection) -> None:
    """Bring the database to the newest version.

    Raises:
        IntegrityError: it was written by a newer version of the product; nothing is changed.
    """
    version = int(connection.execute("PRAGMA user_version").get)
    if version > len(MIGRATIONS):
        raise IntegrityError(
            f"the ledger has format {version}, this program knows {len(MIGRATIONS)}: update the program"
        )
    for number in range(version + 1, len(MIGRATIONS) + 1):
        connection.execute("BEGIN IMMEDIATE")
        try:
            if int(connection.execute("PRAGMA user_version").get) < number:
                connection.execute(MIGRATIONS[number - 1])
                connection.execute(f"PRAGMA user_version={number}")
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")
