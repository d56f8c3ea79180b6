# ruff: noqa: S608 - names of tables and columns are constants of this package; values are bound
"""The turns of an index as arrays, and the postings of their words; loaded when a scope with turns is searched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date

import apsw
import numpy as np
from numpy.typing import NDArray

from memoranda.adapters.sqlite.index_handles import Handle
from memoranda.adapters.sqlite.index_rows import session_of
from memoranda.adapters.sqlite.index_search import conditions, phrase_keys
from memoranda.domain.query import Filters
from memoranda.domain.turn_table import Floats, Postings, Rows, TurnColumns, TurnEvidence, TurnTable, empty_table
from memoranda.ports import Vector

_COLUMNS = "SELECT key, origin, position, length, speaker, marks, path FROM current"
_ALL = f"{_COLUMNS} INDEXED BY current_turns WHERE origin <> 'note' ORDER BY origin, position, part, key"
_NEWER = f"{_COLUMNS} WHERE origin <> 'note' AND key > ? ORDER BY origin, position, part, key"
NEAREST = 1_000
"""Turns of a large scope that have a cosine, at least, with those beside them."""

_DAY_LENGTH = len("2026-01-31")


def nothing() -> TurnEvidence:
    """Return what a scope without an index knows."""
    return TurnEvidence(empty_table(), {}, None, None)


def evidence(
    handle: Handle,
    terms: Sequence[str],
    phrases: Sequence[Sequence[str]],
    filters: Filters,
    query: Vector | None,
) -> TurnEvidence:
    """Return what one state of the index knows of turns; `query` is None where it has no vectors for it."""
    table = _table(handle)
    return TurnEvidence(
        table=table,
        postings=_postings(handle.connection, table, terms),
        allowed=_allowed(handle, table, phrases, filters),
        cosines=None if query is None else _cosines(handle, table, query),
    )


def _table(handle: Handle) -> TurnTable:
    """Return the scope's turns; where the index has changed, what came since is read, or all where turns went."""
    generation = handle.generation()
    known, table = handle.turns
    if table is None or known != generation:
        table = (table and _grown(handle.connection, table)) or TurnTable.of(_read(handle.connection))
        handle.turns = (generation, table)
    return table


def _grown(connection: apsw.Connection, table: TurnTable) -> TurnTable | None:
    """Return the table with the turns that came since; None where any went, or belongs among those before."""
    count = int(connection.execute("SELECT count(*) FROM current WHERE origin <> 'note'").get)
    if count == len(table):
        newest = connection.execute("SELECT max(key) FROM current WHERE origin <> 'note'").get
        return table if not count or newest == int(table.keys.max()) else None
    columns = _read(connection, after=int(table.keys.max(initial=0)))
    return table.extended(columns) if count == len(table) + len(columns.keys) else None


def _read(connection: apsw.Connection, after: int = -1) -> TurnColumns:
    """Return the turns of which the key is greater than `after`; database and index are of one scope."""
    rows = connection.execute(_ALL if after < 0 else _NEWER, () if after < 0 else (after,)).fetchall()
    keys, origins, positions, lengths, speakers, marks, paths = zip(*rows, strict=True) if rows else ((),) * 7
    days = {path: _day(path) for path in set(paths)}
    return TurnColumns(
        keys=np.array(keys, np.int64),
        sessions=[session_of(origin) for origin in origins],
        positions=np.array(positions, np.int64),
        speakers=speakers,
        lengths=np.array(lengths, np.float64),
        marks=np.array(marks, np.int64),
        days=np.array([days[path] for path in paths], np.int64),
    )


def _day(path: str) -> int:
    """Return the day of a log file as a number; 0 for another file."""
    try:
        return date.fromisoformat(path.rpartition("/")[2][:_DAY_LENGTH]).toordinal()
    except ValueError:
        return 0


def _postings(connection: apsw.Connection, table: TurnTable, terms: Sequence[str]) -> dict[str, Postings]:
    query = "SELECT group_concat(key), group_concat(frequency) FROM postings WHERE term = ?"
    found: dict[str, Postings] = {}
    for term in dict.fromkeys(terms):
        keys, counts = connection.execute(query, (term,)).get
        if keys is not None:
            rows, known = table.rows_of(np.fromstring(keys, np.int64, sep=","))
            found[term] = rows, np.fromstring(counts, np.float64, sep=",")[known]
    return found


def _allowed(
    handle: Handle, table: TurnTable, phrases: Sequence[Sequence[str]], filters: Filters
) -> NDArray[np.bool_] | None:
    """Return which rows pass the filters and hold every phrase; None where all do. A turn is valid at any time.

    A phrase may stand beside a turn. One that nobody has said is asked for by its words: people quote from memory.
    """
    allowed = table.of_sessions(filters.session, filters.not_session)
    others = replace(filters, session="", not_session="")
    if others != Filters(valid_at=filters.valid_at, sources=filters.sources):
        where, values = conditions(others)
        query = f"SELECT p.key FROM current p WHERE p.scope = :scope AND p.origin <> 'note'{where}"
        passing = _mask(table, handle.connection.execute(query, {**values, "scope": str(handle.scope)}))
        allowed = passing if allowed is None else allowed & passing
    if phrases:
        holding = table.around(_mask(table, phrase_keys(handle.connection, phrases)))
        if holding.any():
            allowed = holding if allowed is None else allowed & holding
    return allowed


def _mask(table: TurnTable, rows: apsw.Cursor) -> NDArray[np.bool_]:
    mask = np.zeros(len(table), bool)
    mask[table.rows_of(np.fromiter((key for (key,) in rows), np.int64))[0]] = True
    return mask


@dataclass(frozen=True, slots=True)
class Places:
    """Where turns stand among the vectors: the row of each turn's vector, -1 without one, and the turn of each row."""

    of_turns: Rows
    turns: Rows


def places_of(handle: Handle) -> Places:
    """Return where the turns of the state that is open stand among the vectors in memory."""
    cache = handle.vectors
    state = (*cache.stamp, handle.generation())
    known, places = handle.places
    if places is None or known != state:
        table = _table(handle)
        rows, has_turn = table.rows_of(cache.keys)
        of_turns, turns = np.full(len(table), -1), np.full(len(cache.keys), -1)
        of_turns[rows], turns[has_turn] = np.flatnonzero(has_turn), rows
        places = Places(of_turns, turns)
        handle.places = (state, places)
    return places


def _cosines(handle: Handle, table: TurnTable, query: Vector) -> Floats:
    """Return the cosine of each turn, NaN for one without a vector; of a large scope only those of the nearest turns.

    The turns beside those have one as well: what is near to a question speaks for its neighbours.
    """
    cache, places = handle.vectors, places_of(handle)
    found = np.full(len(table), np.nan)
    if not cache.is_large:
        chosen = places.of_turns >= 0
        found[chosen] = cache.scores(query)[places.of_turns[chosen]]  # reading all is faster than picking most
        return found
    rows, scores = cache.nearest(query, places.turns >= 0, NEAREST)
    found[places.turns[rows]] = scores
    if len(rows) > NEAREST:
        rows = rows[np.argpartition(scores, len(rows) - NEAREST)[len(rows) - NEAREST :]]
    near = places.turns[rows]
    around = [at[inside] for step in (-2, -1, 1, 2) for at, inside in (table.beside(near, step),)]
    beside = np.unique(np.concatenate(around))
    beside = beside[np.isnan(found[beside]) & (places.of_turns[beside] >= 0)]
    found[beside] = cache.scores(query, places.of_turns[beside])
    return found
