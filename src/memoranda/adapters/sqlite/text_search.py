# ruff: noqa: S608 - conditions are constants of this package; values are bound
"""Notes that another arm names for a question's words, beside those that the index finds itself."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from memoranda.adapters.sqlite.connection import rows_of
from memoranda.adapters.sqlite.index_handles import Handle
from memoranda.adapters.sqlite.index_rows import decoded
from memoranda.adapters.sqlite.index_search import conditions
from memoranda.domain.query import Filters
from memoranda.ports.arm import TextArm


def with_named(
    arm: TextArm, handle: Handle, terms: Sequence[str], filters: Filters, found: Sequence[int]
) -> Sequence[int]:
    """Return the keys that the arm names and that pass the filters, then those that were found."""
    number = handle.connection.execute("SELECT value FROM meta WHERE name = 'number'").get
    arm.follow(f"{number}:{handle.generation()}", lambda: _notes(handle))
    named = arm.named(terms)
    if not named:
        return found
    where, values = conditions(filters)
    values |= {"keys": json.dumps(list(named)), "scope": str(handle.scope)}
    rows = handle.connection.execute(
        "SELECT p.key FROM current p WHERE p.scope = :scope AND p.origin = 'note' "
        f"AND p.key IN (SELECT value FROM json_each(:keys)){where}",
        values,
    )
    passing = {int(key) for (key,) in rows}
    return list(dict.fromkeys((*(key for key in named if key in passing), *found)))


def _notes(handle: Handle) -> Iterator[tuple[int, str]]:
    """Yield every current note of a scope as a Markdown text with its titles."""
    for key, data in rows_of(handle.connection, "SELECT key, passage FROM current WHERE origin = 'note' ORDER BY key"):
        yield int(key), decoded(data).embedding_text + "\n"
