# ruff: noqa: S608 - names of tables and columns are constants of this package; values are bound
"""The keyword side of the index: candidates, statistics, and passages by key. Every query binds the scope."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

import apsw

from memoranda.adapters.sqlite.index_rows import indexed_passage, session_word, storable, tag_pattern
from memoranda.domain.passage import IndexedPassage
from memoranda.domain.query import Filters
from memoranda.domain.ranking import K1
from memoranda.domain.scope import Scope
from memoranda.domain.words import is_single_character

_WITH_VALIDITY = "AND (p.valid_from <> '' OR p.valid_to <> '')"
_MANY, _COMMON = 20_000, 50
"""In a scope of so many passages a term is common that one in so many of them hold."""

_LAST = "\U0010ffff"
"""After every character that a word may go on with."""

_ROW = "key, length, terms, exact, heading, passage"


def match_expression(terms: Sequence[str], phrases: Sequence[Sequence[str]]) -> str:
    """Return the full-text expression: any term and every phrase, quoted so that no word is an operator."""
    clauses = [_phrase(phrase) for phrase in phrases if phrase]
    if terms:
        clauses.append("{terms heading} : (" + " OR ".join(map(_quoted, terms)) + ")")
    return " AND ".join(clauses)


def _phrase(words: Sequence[str]) -> str:
    if len(words) == 1:
        return "{terms exact heading} : " + _quoted(words[0])
    # In the text a single character at the end may go on as a pair (月 in 月に): a prefix finds both.
    end = " *" if is_single_character(words[-1]) else ""
    return "{exact} : (" + " + ".join(map(_quoted, words)) + end + ")"


def _quoted(word: str) -> str:
    return '"' + word.replace('"', '""') + '"'


def conditions(filters: Filters) -> tuple[str, dict[str, object]]:
    """Return the filters as SQL conditions, each starting with AND, and their bindings."""
    parts: list[str] = []
    values: dict[str, object] = {}

    def add(condition: str, **bindings: object) -> None:
        parts.append(f" AND {condition}")
        values.update(bindings)

    if filters.kinds:
        names = {f"kind{i}": str(kind) for i, kind in enumerate(sorted(filters.kinds))}
        add(f"p.kind IN ({', '.join(':' + name for name in names)})", **names)
    for i, tag in enumerate(sorted(filters.tags)):
        add(f"instr(p.tags, :tag{i}) > 0", **{f"tag{i}": tag_pattern(tag)})
    if filters.path:
        add("p.path = :path", path=storable(filters.path))
    if filters.min_trust is not None:
        add("p.trust >= :trust", trust=int(filters.min_trust))
    if filters.valid_at:
        add("(p.valid_from = '' OR p.valid_from <= :valid_at)", valid_at=filters.valid_at)
        add("(p.valid_to = '' OR p.valid_to > :valid_at)")
    if filters.since:
        add("p.recorded_at >= :since", since=filters.since)
    if filters.until:
        add("p.recorded_at <= :until", until=filters.until)
    for condition, bindings in _origins(filters):
        add(condition, **bindings)
    return "".join(parts), values


def _origins(filters: Filters) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield the conditions on where passages come from."""
    if len(filters.sources) == 1:
        yield "substr(p.origin, 1, 4) = :source", {"source": next(iter(filters.sources))}
    if filters.session:
        yield "p.origin = :session", {"session": f"turn {session_word(filters.session)}"}
    if filters.not_session:
        yield "p.origin <> :not_session", {"not_session": f"turn {session_word(filters.not_session)}"}


def _of_origin(expression: str, filters: Filters) -> str:
    """Narrow a full-text expression to where passages come from: as words of the index it costs next to nothing."""
    if len(filters.sources) == 1:
        expression = f"origin : {_quoted(next(iter(filters.sources)))} AND ({expression})"
    if filters.session:
        expression = f"origin : {_quoted(session_word(filters.session))} AND ({expression})"
    if filters.not_session:
        expression = f"({expression}) NOT origin : {_quoted(session_word(filters.not_session))}"
    return expression


def search_text(
    connection: apsw.Connection,
    scope: Scope,
    terms: Sequence[str],
    phrases: Sequence[Sequence[str]],
    *,
    limit: int,
    filters: Filters,
    passages: int = 0,
) -> list[int]:
    """Return keys of the best current passages; `passages` counts those of the scope where it is a large one."""
    common = () if phrases else _common(connection, terms, passages)
    if not common:
        expression = match_expression(terms, phrases)
        return [key for key, _ in _matching(connection, scope, expression, limit=limit, filters=filters)]
    # What holds only common words is looked at where nothing better fills the list. The rest is found twice: by its
    # rare words, and with the common ones, so that neither hides the other.
    rare = [term for term in terms if term not in common]
    by_rare = _matching(connection, scope, match_expression(rare, ()), limit=limit, filters=filters)
    both = f"({match_expression(rare, ())}) AND ({match_expression(list(common), ())})"
    with_common = _matching(connection, scope, both, limit=limit, filters=filters)
    found = sorted({**dict(by_rare), **dict(with_common)}.items(), key=lambda item: (item[1], item[0]))
    most = sum(common.values()) * (K1 + 1)
    if len(found) < limit or -found[limit - 1][1] < most:
        expression = match_expression(terms, ())
        return [key for key, _ in _matching(connection, scope, expression, limit=limit, filters=filters)]
    return [key for key, _ in found[:limit]]


def _common(connection: apsw.Connection, terms: Sequence[str], passages: int) -> dict[str, float]:
    """Return the terms that very many passages hold, with their weight, where there are others as well."""
    if passages < _MANY or len(terms) < 2:  # noqa: PLR2004 - a lone term is what is asked for
        return {}
    holding = document_frequency(connection, terms)
    common = {
        term: math.log(1 + (passages - count + 0.5) / (count + 0.5))
        for term, count in holding.items()
        if count * _COMMON > passages
    }
    return common if len(common) < len(holding) else {}


def _matching(
    connection: apsw.Connection, scope: Scope, expression: str, *, limit: int, filters: Filters
) -> list[tuple[int, float]]:
    """Return keys and ranks (the lower the better) of the best passages for a full-text expression."""
    if not expression:
        return []
    where, values = conditions(filters)
    values |= {"words": _of_origin(expression, filters), "scope": str(scope), "limit": limit}
    if filters.by_validity_alone:
        where, valid = conditions(Filters(valid_at=filters.valid_at))
        values = {"words": values["words"], "scope": str(scope), "limit": limit, **valid}
        # Nearly every query: only the few rows that are not valid now are left out, and ranking touches no row.
        query = (
            "SELECT p.key, w.rank FROM (SELECT rowid, rank FROM current_words WHERE current_words MATCH :words "
            f"AND rowid NOT IN (SELECT p.key FROM current p WHERE p.scope = :scope {_WITH_VALIDITY} "
            f"AND NOT (1{where})) "
            "ORDER BY rank, rowid LIMIT :limit) w CROSS JOIN current p ON p.key = w.rowid "
            "WHERE p.scope = :scope ORDER BY w.rank, p.key"
        )
    else:
        query = (
            "SELECT p.key, w.rank FROM current_words w CROSS JOIN current p ON p.key = w.rowid "
            f"WHERE w.current_words MATCH :words AND p.scope = :scope{where} ORDER BY w.rank, p.key LIMIT :limit"
        )
    return [(int(key), float(rank)) for key, rank in connection.execute(query, values)]


def phrase_keys(connection: apsw.Connection, phrases: Sequence[Sequence[str]]) -> apsw.Cursor:
    """Return the keys of the current passages that hold every phrase, one a row."""
    return connection.execute(
        "SELECT rowid FROM current_words WHERE current_words MATCH ?", (match_expression((), phrases),)
    )


def newest(connection: apsw.Connection, scope: Scope, limit: int, filters: Filters) -> list[int]:
    """Return keys of the newest current passages."""
    where, values = conditions(filters)
    rows = connection.execute(
        f"SELECT p.key FROM current p WHERE p.scope = :scope{where} "
        "ORDER BY p.recorded_at DESC, p.key DESC LIMIT :limit",
        {**values, "scope": str(scope), "limit": limit},
    )
    return [int(key) for (key,) in rows]


def document_frequency(connection: apsw.Connection, terms: Iterable[str]) -> Mapping[str, int]:
    """Return how many current passages hold each term; database and vocabulary are of one scope."""
    query = "SELECT max(doc) FROM current_vocabulary WHERE term = ? AND col IN ('terms', 'heading')"
    found = ((term, connection.execute(query, (term,)).get) for term in terms)
    return {term: int(count) for term, count in found if count}


def words_beginning(connection: apsw.Connection, beginning: str, limit: int) -> list[str]:
    """Return words of current passages that begin so, those that most passages hold first."""
    query = (
        "SELECT term FROM current_vocabulary WHERE term >= ? AND term < ? AND col IN ('terms', 'exact', 'heading') "
        "GROUP BY term ORDER BY max(doc) DESC, term LIMIT ?"
    )
    first = storable(beginning)
    return [str(term) for (term,) in connection.execute(query, (first, first + _LAST, limit))]


def sizes(connection: apsw.Connection, scope: Scope) -> tuple[int, int, int]:
    """Return the number of current passages, the sum of their lengths, and how many of them are turns."""
    count, total, turns = connection.execute(
        "SELECT count(*), coalesce(sum(length), 0), coalesce(sum(origin <> 'note'), 0) FROM current WHERE scope = ?",
        (str(scope),),
    ).get
    return int(count), int(total), int(turns)


def fetch(connection: apsw.Connection, scope: Scope, keys: Sequence[int]) -> list[IndexedPassage]:
    """Return the current passages of these keys, in the order asked."""
    if not keys:
        return []
    rows = connection.execute(
        f"SELECT {_ROW} FROM current WHERE +scope = ? AND key IN (SELECT value FROM json_each(?))",
        (str(scope), json.dumps([int(key) for key in keys])),
    )
    found = {int(row[0]): indexed_passage(row) for row in rows}
    return [found[key] for key in keys if key in found]


def search_history(
    connection: apsw.Connection,
    scope: Scope,
    terms: Sequence[str],
    phrases: Sequence[Sequence[str]],
    *,
    limit: int,
    filters: Filters,
    as_of: str,
) -> list[IndexedPassage]:
    """Return past passages that were believed at `as_of`."""
    where, values = conditions(filters)
    where += " AND p.recorded_at <= :as_of AND p.retired_at > :as_of"
    values |= {"scope": str(scope), "limit": limit, "as_of": as_of}
    columns = ", ".join(f"p.{name}" for name in _ROW.split(", "))
    if expression := match_expression(terms, phrases):
        rows = connection.execute(
            f"SELECT {columns} FROM past_words w CROSS JOIN past p ON p.key = w.rowid "
            f"WHERE w.past_words MATCH :words AND p.scope = :scope{where} "
            "ORDER BY w.rank, p.key LIMIT :limit",
            {**values, "words": expression},
        )
    else:
        rows = connection.execute(
            f"SELECT {columns} FROM past p WHERE p.scope = :scope{where} "
            "ORDER BY p.recorded_at DESC, p.key DESC LIMIT :limit",
            values,
        )
    return [indexed_passage(row) for row in rows]
