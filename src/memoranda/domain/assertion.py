"""The operational ledger's unit: an assertion about a topic of an entity, or a contradiction with both of its sides."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from memoranda.domain.given import check_text
from memoranda.domain.scope import Principal, Scope
from memoranda.errors import InvalidInput

STORES = ("knowledge_graph", "vector", "timeline", "todo", "top_of_mind")
DEFAULT_STORE = STORES[0]
MAX_ASSERTIONS = 4_096
"""Assertions and settled contradictions that are kept in a scope; an open contradiction is never dropped."""

MAX_SIDES = 16
MAX_NAME_CHARS, MAX_FACT_CHARS, MAX_REASON_CHARS, MAX_METADATA_CHARS = 200, 4_000, 1_000, 8_192


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One side of a contradiction.

    `record_id` is an assertion, whose `fact` is held here, or a record, whose text is held in its file alone. `source`
    is who said it, `at` when.
    """

    record_id: str
    fact: str = ""
    source: str
    at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Assertion:
    """A fact about a topic of an entity; with `conflict` a contradiction there, which has `sides` and no fact.

    Names are trimmed and in lower case. A contradiction is open until `resolved_at`; `decision` and `rationale` are
    the person's who settled it. `metadata` is a JSON object as text.
    """

    id: str
    scope: Scope
    entity: str
    topic: str
    store: str
    fact: str = ""
    metadata: str = "{}"
    conflict: bool = False
    conflict_reason: str = ""
    sides: tuple[Side, ...] = ()
    author: Principal
    at: str
    resolved_at: str = ""
    resolved_by: str = ""
    decision: str = ""
    rationale: str = ""

    @property
    def metadata_values(self) -> dict[str, object]:
        """The metadata as an object."""
        return dict(json.loads(self.metadata))


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexed:
    """What `index` did; `assertion_id` and `conflict_id` are "" where there was none of that kind."""

    entity: str
    topic: str
    store: str
    assertion_id: str
    conflict_id: str
    conflict_active: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What `query` found, newest first."""

    assertions: tuple[Assertion, ...]
    conflicts: tuple[Assertion, ...]


def name_of(what: str, value: str, *, needed: bool = True) -> str:
    """Return an entity or a topic as it is kept: trimmed and in lower case.

    Raises:
        InvalidInput: it is no text, is empty where it is `needed`, has control characters or over 200 characters.
    """
    check_text(**{what: value})
    plain = value.strip().lower()
    if needed and not plain:
        raise InvalidInput(f"{what} is empty: name what it is about")
    if len(plain) > MAX_NAME_CHARS or not plain.isprintable():
        raise InvalidInput(f"{what} has at most {MAX_NAME_CHARS} characters, on one line")
    return plain


def store_of(value: str, *, default: str = DEFAULT_STORE) -> str:
    """Return a store's name; the default where none is given. Raises InvalidInput for any other name."""
    plain = name_of("store", value, needed=False) or default
    if plain and plain not in STORES:
        raise InvalidInput(f"there is no store of this name: use one of {', '.join(STORES)}")
    return plain


def words_of(what: str, value: str, limit: int) -> str:
    """Return a text without space around it. Raises InvalidInput where it is none or has over `limit` characters."""
    check_text(**{what: value})
    plain = value.strip()
    if len(plain) > limit:
        raise InvalidInput(f"{what} has at most {limit:,} characters, this one has {len(plain):,}")
    return plain


def metadata_of(value: object) -> str:
    """Return metadata as JSON with sorted keys.

    Raises:
        InvalidInput: it is no object of JSON values, or over 8,192 characters.
    """
    if value is None:
        return "{}"
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise InvalidInput("metadata must be an object with texts as names")
    try:
        text = json.dumps(dict(value), ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"metadata must be JSON ({type(error).__name__})") from error
    return words_of("metadata", text, MAX_METADATA_CHARS)


def merged(old: tuple[Side, ...], new: tuple[Side, ...]) -> tuple[Side, ...]:
    """Return the sides of a contradiction with more of them, each fact or record once; of many the first and newest."""
    found: dict[str, Side] = {}
    for side in (*old, *new):
        found.setdefault(side.fact or side.record_id, side)
    sides = tuple(found.values())
    return sides if len(sides) <= MAX_SIDES else (sides[0], *sides[1 - MAX_SIDES :])


def says(item: Assertion, query: str) -> bool:
    """Whether entity, topic, fact, reason or the fact of a side contain a text, in whatever case."""
    wanted = query.casefold()
    texts = (item.entity, item.topic, item.fact, item.conflict_reason, *(side.fact for side in item.sides))
    return any(wanted in text.casefold() for text in texts)
