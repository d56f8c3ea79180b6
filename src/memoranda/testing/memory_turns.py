"""Turns in the search index that is in memory: the table, postings and masks, written the plain way."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from memoranda.domain.episode import day_of
from memoranda.domain.passage import Passage
from memoranda.domain.query import Filters
from memoranda.domain.turn_marks import marks_of
from memoranda.domain.turn_table import TurnColumns, TurnEvidence, TurnTable
from memoranda.domain.words import analyse, analyse_titled, is_single_character

BREAK = "\n"
"""Between text and heading in the sequence of exact words, so that no phrase runs across."""


def evidence_of(
    current: Mapping[int, Passage],
    terms: Sequence[str],
    phrases: Sequence[Sequence[str]],
    passing: Callable[[Passage], bool],
    cosines: Mapping[int, float],
) -> TurnEvidence:
    """Return what these passages say of a question about turns."""
    turns = sorted((p.turn.session, p.turn.position, p.part, key) for key, p in current.items() if p.turn is not None)
    keys = [key for *_, key in turns]
    found = [current[key] for key in keys]
    table = _table_of(found, keys)
    bags = [Counter(analyse(passage.text).terms) for passage in found]
    holding = {term: [row for row, bag in enumerate(bags) if term in bag] for term in terms}
    return TurnEvidence(
        table=table,
        postings={
            term: (np.array(rows, np.int64), np.array([bags[row][term] for row in rows], np.float64))
            for term, rows in holding.items()
            if rows
        },
        allowed=_allowed(table, found, phrases, passing),
        cosines=np.array([cosines.get(key, math.nan) for key in keys]) if cosines else None,
    )


def _table_of(turns: Sequence[Passage], keys: Sequence[int]) -> TurnTable:
    """Return passages of turns, in the order of sessions, positions and parts, as a table."""
    lengths = [len(analyse(passage.text).exact) for passage in turns]
    return TurnTable.of(
        TurnColumns(
            keys=np.array(keys, np.int64),
            sessions=[passage.turn.session for passage in turns if passage.turn],
            positions=np.array([passage.turn.position for passage in turns if passage.turn], np.int64),
            speakers=[passage.turn.speaker or passage.turn.role for passage in turns if passage.turn],
            lengths=np.array(lengths, np.float64),
            marks=np.array(
                [marks_of(passage.text, words) for passage, words in zip(turns, lengths, strict=True)], np.int64
            ),
            days=np.array([day.toordinal() if (day := day_of(p.record.path)) else 0 for p in turns], np.int64),
        )
    )


def _allowed(
    table: TurnTable, turns: Sequence[Passage], phrases: Sequence[Sequence[str]], passing: Callable[[Passage], bool]
) -> NDArray[np.bool_] | None:
    """Return which turns pass the filters and hold, or stand beside, every phrase; None where all do."""
    allowed = np.array([passing(passage) for passage in turns], bool)
    holding = np.array([_says(passage, phrases) for passage in turns], bool)
    if phrases and holding.any():
        allowed &= table.around(holding)
    return None if allowed.all() else allowed


def _says(passage: Passage, phrases: Sequence[Sequence[str]]) -> bool:
    text, heading = analyse_titled(passage.text, passage.heading_text)
    stream = (*text.exact, BREAK, *heading.exact)
    return all(holds(stream, {*text.terms, *heading.terms}, phrase) for phrase in phrases)


def holds(stream: Sequence[str], bag: set[str], phrase: Sequence[str]) -> bool:
    """Tell whether the words of a phrase stand in a row; a single last character may begin a longer run."""
    if len(phrase) == 1:
        return phrase[0] in bag or phrase[0] in stream
    last = phrase[-1]
    for start in range(len(stream) - len(phrase) + 1):
        window = stream[start : start + len(phrase)]
        ends = window[-1].startswith(last) if is_single_character(last) else window[-1] == last
        if ends and tuple(window[:-1]) == tuple(phrase[:-1]):
            return True
    return False


def passes(passage: Passage, filters: Filters) -> bool:
    """Tell whether a passage meets every filter."""
    record, at = passage.record, filters.valid_at
    session = passage.turn.session if passage.turn else ""
    return (
        (len(filters.sources) != 1 or ("turn" if passage.turn else "note") in filters.sources)
        and filters.session in ("", session)
        and (not filters.not_session or filters.not_session != session)
        and (not filters.kinds or record.kind in filters.kinds)
        and filters.tags <= set(record.tags)
        and filters.path in ("", record.path)
        and (filters.min_trust is None or record.trust >= filters.min_trust)
        and (not at or not record.valid_from or record.valid_from <= at)
        and (not at or not record.valid_to or record.valid_to > at)
        and (not filters.since or record.recorded_at >= filters.since)
        and (not filters.until or record.recorded_at <= filters.until)
    )
