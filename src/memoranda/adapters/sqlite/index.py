# ruff: noqa: S608 - names of tables and columns are constants of this package; values are bound
"""The built-in search index: SQLite full text and exact vectors, one folder per scope under one root."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import apsw

from memoranda.adapters.sqlite import index_search, index_write, text_search, vector_rows
from memoranda.adapters.sqlite.index_check import problems
from memoranda.adapters.sqlite.index_handles import Handle, HandlePool
from memoranda.adapters.sqlite.index_rows import COLUMNS, decoded
from memoranda.domain.passage import IndexedPassage, Passage, TextStatistics
from memoranda.domain.query import Filters
from memoranda.domain.scope import Scope
from memoranda.errors import InvalidInput
from memoranda.ports import IndexState, Vector
from memoranda.ports.arm import Arms
from memoranda.ports.log import LogMark

if TYPE_CHECKING:
    from memoranda.domain.turn_table import TurnEvidence

LARGE = 20_000
"""Vectors of a scope above which the nearest are looked for by their signs first, and rescored exactly
(docs/decisions/0023-large-scopes.md).
"""

OPEN_INDEXES = 64
"""Databases that are open at a time, by default; each takes two or three file handles."""


class SqliteIndex:
    """A `SearchIndex` under `root`: one `index.db` per scope, made on the first write, removable at any time.

    Safe to use from several threads and processes. Vectors of a scope stay in memory while its database is
    open.
    """

    def __init__(
        self, root: Path, *, open_limit: int = OPEN_INDEXES, large: int = LARGE, arms: Arms | None = None
    ) -> None:
        self._large = large
        self._pool = HandlePool(root, open_limit, large, arms or Arms())

    def warm(self, scope: Scope) -> None:
        """Load the vectors that answer, and hand them to another arm where there is one; see `ports.arm.Remarking`."""
        with self._pool.using(scope) as handle:
            if handle is not None:
                with handle.reading() as connection:
                    active = vector_rows.active_embedder(connection)
                    if active:
                        handle.vectors.refresh(connection, active, handle.generation())

    def remark(self, scope: Scope) -> str:
        """Return why another arm than the built-in one does not answer; see `ports.arm.Remarking`."""
        with self._pool.using(scope) as handle:
            return handle.remark() if handle is not None else ""

    def close(self) -> None:
        """Close every open database; the index can be used again afterwards."""
        self._pool.close()

    def put(
        self,
        scope: Scope,
        passages: Sequence[Passage],
        *,
        remove: Sequence[str] = (),
        retire: Sequence[Passage] = (),
        mark: tuple[int, int] | None = None,
    ) -> bool:
        """Replace records in one transaction; see the port."""
        if any(passage.record.scope != scope for passage in (*passages, *retire)):
            raise InvalidInput(f"every passage put into the index of {scope} must belong to that scope")
        rows, past = list(index_write.rows_of_records(passages)), list(index_write.rows_of_records(retire))
        records = sorted({*remove, *(row[1] for row in (*rows, *past))})
        with self._pool.using(scope, create=bool(rows or past or mark)) as handle:
            if handle is None or not (records or mark):
                return mark is None
            with handle.writing() as connection:
                before = connection.total_changes()
                index_write.replace_records(connection, scope, records, rows)
                index_write.replace_past(connection, scope, records, past)
                if connection.total_changes() != before:
                    _next_generation(connection)
                    vector_rows.settle(connection, scope)
                return _moved_on(connection, mark)

    def put_turns(
        self,
        scope: Scope,
        passages: Sequence[Passage],
        *,
        path: str,
        before: LogMark | None,
        after: LogMark | None,
        whole: bool = False,
    ) -> bool:
        """Take in turns of one log file; see the port."""
        with self._pool.using(scope, create=True) as handle:
            if handle is None:
                return False
            with handle.writing() as connection:
                if index_write.log_mark(connection, path) != before:
                    return False
                changed = connection.total_changes()
                if whole:
                    connection.execute(
                        "DELETE FROM current WHERE scope = ? AND path = ? AND origin <> 'note'", (str(scope), path)
                    )
                connection.executemany(
                    f"INSERT INTO current({', '.join(COLUMNS)}) VALUES ({index_write.MARKS})",
                    list(index_write.rows_of_records(index_write.unknown(connection, scope, passages))),
                )
                if connection.total_changes() != changed:
                    _next_generation(connection)
                connection.execute("DELETE FROM logs WHERE path = ?", (path,))
                if after is not None:
                    connection.execute(
                        "INSERT INTO logs VALUES (?, ?, ?, ?, ?, ?)",
                        (path, after.size, after.inode, after.stamp, after.tail, after.lines),
                    )
                return True

    def logs(self, scope: Scope) -> Mapping[str, LogMark]:
        """Return how far each log file was taken in; see the port."""
        with self._pool.using(scope) as handle:
            if handle is None:
                return {}
            with handle.reading() as connection:
                rows = connection.execute("SELECT path, size, inode, stamp, tail, lines FROM logs")
                return {path: LogMark(*rest) for path, *rest in rows}

    def parts_of(self, scope: Scope, record_id: str) -> Sequence[Passage]:
        """Return what is indexed of one record or turn; see the port."""
        with self._pool.using(scope) as handle:
            if handle is None:
                return ()
            with handle.reading() as connection:
                query = "SELECT passage FROM current WHERE scope = ? AND record = ? ORDER BY part"
                return [decoded(passage) for (passage,) in connection.execute(query, (str(scope), record_id))]

    def turns(self, scope: Scope) -> Mapping[str, str]:
        """Return turn id -> fingerprint; see the port."""
        with self._pool.using(scope) as handle:
            if handle is None:
                return {}
            with handle.reading() as connection:
                query = "SELECT record, max(form) FROM current WHERE scope = ? AND origin <> 'note' GROUP BY record"
                return dict(connection.execute(query, (str(scope),)))

    def records(self, scope: Scope) -> Mapping[str, str]:
        """Return record id -> fingerprint; see the port."""
        with self._pool.using(scope) as handle:
            if handle is None:
                return {}
            with handle.reading() as connection:
                query = "SELECT record, max(form) FROM current WHERE scope = ? AND origin = 'note' GROUP BY record"
                return dict(connection.execute(query, (str(scope),)))

    def state(self, scope: Scope) -> IndexState:
        """Count what is there; see the port."""
        with self._pool.using(scope) as handle:
            if handle is None:
                return IndexState(0, 0, "", 0, 0, 0)
            with handle.reading() as connection:
                active = vector_rows.active_embedder(connection)
                newest = int(connection.execute("SELECT coalesce(max(id), 0) FROM embedders").get)
                identity = connection.execute("SELECT identity FROM embedders WHERE id = ?", (active,)).get
                count = connection.execute("SELECT count(*) FROM vectors WHERE embedder = ?", (active,)).get
                return IndexState(
                    passages=self._sizes(handle)[0],
                    vectors=int(count),
                    embedder=str(identity or ""),
                    pending=vector_rows.count_pending(connection, scope, newest),
                    generation=handle.generation(),
                    applied=int(connection.execute("SELECT value FROM meta WHERE name = 'applied'").get),
                )

    def clear(self, scope: Scope) -> None:
        """Delete the scope's folder, damaged or not."""
        self._pool.remove(scope)

    def search_text(
        self,
        scope: Scope,
        terms: Sequence[str],
        phrases: Sequence[Sequence[str]],
        limit: int,
        filters: Filters,
    ) -> Sequence[int]:
        """Return keys of the best passages; see the port."""
        with self._pool.using(scope) as handle:
            if handle is None:
                return ()
            with handle.reading() as connection:
                found = index_search.search_text(
                    connection, scope, terms, phrases, limit=limit, filters=filters, passages=self._sizes(handle)[0]
                )
                if handle.text_arm is None or phrases:
                    return found
                return text_search.with_named(handle.text_arm, handle, terms, filters, found)

    def newest(self, scope: Scope, limit: int, filters: Filters) -> Sequence[int]:
        """Return keys of the newest passages; see the port."""
        with self._pool.using(scope) as handle:
            if handle is None:
                return ()
            with handle.reading() as connection:
                return index_search.newest(connection, scope, limit, filters)

    def statistics(self, scope: Scope, terms: Sequence[str]) -> TextStatistics:
        """Return keyword statistics; see the port."""
        with self._pool.using(scope) as handle:
            if handle is None:
                return TextStatistics(0, 0, {})
            with handle.reading() as connection:
                count, total, turns = self._sizes(handle)
                frequency = index_search.document_frequency(connection, dict.fromkeys(terms))
                return TextStatistics(count, total, frequency, turns)

    def words_beginning(self, scope: Scope, beginning: str, limit: int) -> Sequence[str]:
        """Return words that begin so; see the port."""
        with self._pool.using(scope) as handle:
            if handle is None:
                return ()
            with handle.reading() as connection:
                return index_search.words_beginning(connection, beginning, limit)

    def turn_evidence(
        self,
        scope: Scope,
        terms: Sequence[str],
        phrases: Sequence[Sequence[str]],
        filters: Filters,
        meaning: tuple[str, Vector] | None = None,
    ) -> TurnEvidence:
        """Return what is known of turns for a question; see the port."""
        from memoranda.adapters.sqlite import turns  # noqa: PLC0415 - numpy costs 0.15 s of every start

        with self._pool.using(scope) as handle:
            if handle is None:
                return turns.nothing()
            with handle.reading() as connection:
                has_vectors = meaning is not None and self._load(handle, meaning[0])
                others = meaning is not None and not has_vectors and bool(vector_rows.active_embedder(connection))
                found = turns.evidence(handle, terms, phrases, filters, meaning[1] if meaning and has_vectors else None)
                return replace(found, is_of_other_model=others)

    def search_vector(
        self, scope: Scope, identity: str, query: Vector, limit: int, filters: Filters
    ) -> Sequence[tuple[int, float]] | None:
        """Return the nearest passages, exactly; see the port."""
        from memoranda.adapters.sqlite import vectors as stored  # noqa: PLC0415 - numpy costs 0.15 s of every start

        stored.check_query(query)
        with self._pool.using(scope) as handle:
            if handle is None:
                return ()
            with handle.reading() as connection:
                if not self._load(handle, identity):
                    return () if not vector_rows.active_embedder(connection) else None
                filters, allowed = stored.of_notes(handle, filters)
                return stored.nearest(
                    connection, scope, handle.vectors, query, limit=limit, filters=filters, allowed=allowed
                )

    def similarities(self, scope: Scope, identity: str, query: Vector, keys: Sequence[int]) -> Mapping[int, float]:
        """Return the cosine of keys that have a vector; see the port."""
        from memoranda.adapters.sqlite import vectors as stored  # noqa: PLC0415 - as above

        stored.check_query(query)
        with self._pool.using(scope) as handle:
            if handle is None:
                return {}
            with handle.reading():
                return stored.similarities(handle.vectors, query, keys) if self._load(handle, identity) else {}

    def fetch(self, scope: Scope, keys: Sequence[int]) -> Sequence[IndexedPassage]:
        """Return passages by key; see the port."""
        with self._pool.using(scope) as handle:
            if handle is None:
                return ()
            with handle.reading() as connection:
                return index_search.fetch(connection, scope, keys)

    def pending(self, scope: Scope, identity: str, limit: int) -> Sequence[tuple[int, str]]:
        """Return what waits to be embedded; see the port."""
        with self._pool.using(scope) as handle:
            if handle is None:
                return ()
            with handle.reading() as connection:
                embedder = vector_rows.embedder_id(connection, identity)
                found = vector_rows.pending(connection, scope, embedder, limit)
                return [(key, decoded(passage).embedding_text) for key, passage in found]

    def words(self, scope: Scope, identity: str, keys: Sequence[int]) -> Mapping[int, bytes]:
        """Return the words' vectors of passages; see the port."""
        with self._pool.using(scope) as handle:
            if handle is None:
                return {}
            with handle.reading() as connection:
                return vector_rows.words(connection, identity, keys)

    def put_vectors(
        self, scope: Scope, identity: str, keys: Sequence[int], vectors: Vector, words: Sequence[bytes] = ()
    ) -> int:
        """Store vectors; see the port. Raises InvalidInput unless they are float32, one row per key."""
        from memoranda.adapters.sqlite import vectors as stored  # noqa: PLC0415 - as above

        if vectors.dtype.name != "float32" or vectors.ndim != 2 or len(vectors) != len(keys):  # noqa: PLR2004
            raise InvalidInput(f"vectors must be float32 with one row per key, not {vectors.shape} {vectors.dtype}")
        with self._pool.using(scope) as handle:
            if handle is None or not len(keys):
                return 0
            with handle.writing() as connection:
                stamp = _next_generation(connection)
                written = stored.store(connection, scope, identity, keys, vectors, stamp=stamp)
                vector_rows.store_words(connection, identity, keys, words)
                vector_rows.settle(connection, scope)
            with handle.reading() as connection:
                if vector_rows.wants_file(connection, scope, handle.path.parent, self._large):
                    self._load(handle, identity)  # who embeds has the time that who searches has not
            return written

    def answer_alone(self, scope: Scope, identity: str) -> None:
        """Drop what other embedders have half built; see the port."""
        with self._pool.using(scope) as handle:
            if handle is None:
                return
            with handle.writing() as connection:
                if vector_rows.answer_alone(connection, scope, identity):
                    _next_generation(connection)

    def search_history(
        self,
        scope: Scope,
        terms: Sequence[str],
        phrases: Sequence[Sequence[str]],
        limit: int,
        filters: Filters,
        *,
        as_of: str,
    ) -> Sequence[IndexedPassage]:
        """Return past passages; see the port."""
        with self._pool.using(scope) as handle:
            if handle is None:
                return ()
            with handle.reading() as connection:
                return index_search.search_history(
                    connection, scope, terms, phrases, limit=limit, filters=filters, as_of=as_of
                )

    def check(self, scope: Scope) -> Sequence[str]:
        """Return what is damaged; see the port. Reads the file afresh, not what is cached."""
        path = self._pool.path(scope)
        return problems(path, scope) if path.exists() else ()

    def scopes(self) -> Sequence[Scope]:
        """Return the scopes that have an index."""
        return self._pool.scopes()

    def _sizes(self, handle: Handle) -> tuple[int, int, int]:
        """Return passages, total length and turns, counted once per generation."""
        generation = handle.generation()
        if handle.sizes[0] != generation:
            handle.sizes = (generation, index_search.sizes(handle.connection, handle.scope))
        return handle.sizes[1]

    def _load(self, handle: Handle, identity: str) -> bool:
        """Bring the vectors in memory up to date; False where this identity does not answer here."""
        embedder = vector_rows.embedder_id(handle.connection, identity)
        if not embedder or embedder != vector_rows.active_embedder(handle.connection):
            return False
        handle.vectors.refresh(handle.connection, embedder, handle.generation())
        return True


def _moved_on(connection: apsw.Connection, mark: tuple[int, int] | None) -> bool:
    """Move the mark from where the writer thinks it is; a gap before it keeps it where it is."""
    if mark is None:
        return True
    connection.execute("UPDATE meta SET value = ? WHERE name = 'applied' AND value = ?", (str(mark[1]), str(mark[0])))
    return int(connection.execute("SELECT value FROM meta WHERE name = 'applied'").get) == mark[1]


def _next_generation(connection: apsw.Connection) -> int:
    query = "UPDATE meta SET value = value + 1 WHERE name = 'generation' RETURNING value"
    return int(connection.execute(query).get)
