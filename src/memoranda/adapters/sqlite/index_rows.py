"""Turns passages into rows of the index and back, with a checksum over everything a row says."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import MISSING, asdict, fields
from functools import lru_cache
from typing import Any

from memoranda.domain.passage import IndexedPassage, Passage, Turn
from memoranda.domain.record import Epistemic, Kind, Provenance, Record, Status, Trust
from memoranda.domain.scope import Principal, Scope
from memoranda.domain.turn_marks import marks_of
from memoranda.domain.words import analyse_titled

COLUMNS = (
    "scope", "record", "part", "path", "origin", "kind", "tags", "trust", "valid_from", "valid_to", "recorded_at",
    "retired_at", "position", "speaker", "marks", "length", "terms", "exact", "heading", "form", "passage", "checksum",
)  # fmt: skip
"""Columns of a passage table in order, without the key."""

TAG_MARK = "\x1f"
"""Stands around every tag in its column, so that one tag is looked up whole."""

_FIELD_BREAK = "‖"
"""Keeps phrases from running from the text into the heading; the analyser never makes it a word."""

_CHECKSUM_BYTES = 12

Row = tuple[Any, ...]


def row_of(passage: Passage, form: str) -> Row:
    """Return the row of a passage; `form` is the fingerprint of its whole record."""
    record = passage.record
    text, heading = analyse_titled(passage.text, passage.heading_text)
    exact = (*text.exact, _FIELD_BREAK, *heading.exact)
    row = (
        str(record.scope), record.id, passage.part, storable(record.path), origin_of(passage),
        str(record.kind),
        _tag_column(record.tags), int(record.trust), record.valid_from, record.valid_to, record.recorded_at,
        record.retired_at, *_place(passage, len(text.exact)), len(text.exact), " ".join(text.terms), " ".join(exact),
        " ".join(heading.terms), form, _encoded(passage),
    )  # fmt: skip
    return (*row, checksum(row))


def _place(passage: Passage, words: int) -> tuple[int, str, int]:
    """Return position, speaker and marks of a turn; nothing of a note."""
    turn = passage.turn
    if turn is None:
        return 0, "", 0
    return turn.position, storable(turn.speaker or turn.role), marks_of(passage.text, words)


def origin_of(passage: Passage) -> str:
    """Return the words of a passage's origin: `note`, or `turn` and its session."""
    return f"turn {session_word(passage.turn.session)}" if passage.turn else "note"


def session_word(session_id: str) -> str:
    """Return a session's id as one word."""
    return session_id.replace("_", "").lower()


def session_of(origin: str) -> str:
    """Return the id of the session that an origin names."""
    return origin.removeprefix("turn ").replace("ses", "ses_", 1)


def checksum(values: Iterable[object]) -> bytes:
    """Return a checksum over values in order; it finds damage, not forgery."""
    digest = hashlib.blake2b(digest_size=_CHECKSUM_BYTES)
    for value in values:
        data = value if isinstance(value, bytes) else str(value).encode()
        digest.update(b"%d:" % len(data) + data)
    return digest.digest()


def indexed_passage(row: Row) -> IndexedPassage:
    """Return what a row of key, length, terms, exact, heading and passage holds."""
    key, length, terms, exact, heading, passage = row
    return IndexedPassage(
        key,
        decoded(passage),
        Counter(terms.split()),
        length,
        Counter(heading.split()),
        Counter(exact.split()),
    )


def storable(text: str) -> str:
    """Return text that SQLite can compare; lone surrogates become question marks."""
    return text.encode("utf-8", "replace").decode()


def tag_pattern(tag: str) -> str:
    """Return the piece of a tag column that means this tag."""
    return storable(f"{TAG_MARK}{tag}{TAG_MARK}")


def decoded(data: bytes) -> Passage:
    """Read a passage from its stored form."""
    fields_of = json.loads(data)
    raw = fields_of.pop("record")
    for name, read in _READERS.items():
        if name in raw:
            raw[name] = read(raw[name])
    turn = fields_of.pop("turn", None)
    return Passage(record=Record(**raw), turn=Turn(**turn) if turn else None, **fields_of)


def _provenance(raw: dict[str, Any]) -> Provenance:
    raw["epistemic"] = Epistemic(raw["epistemic"])
    raw["evidence"] = tuple(raw["evidence"])
    return Provenance(**raw)


_READERS: dict[str, Callable[[Any], object]] = {
    "scope": lru_cache(maxsize=256)(Scope.parse),
    "author": lru_cache(maxsize=256)(Principal.parse),
    "kind": Kind, "trust": Trust, "status": Status, "provenance": _provenance,
    "heading": tuple, "tags": tuple, "derived_from": tuple,
}  # fmt: skip
_WRITERS: dict[str, Callable[[Any], object]] = {"scope": str, "author": str, "provenance": asdict}
_DEFAULTS = {
    field.name: field.default_factory() if field.default_factory is not MISSING else field.default
    for field in fields(Record)
}


def _encoded(passage: Passage) -> bytes:
    """Write a passage as JSON; fields of the record that have their default are left out."""
    record = {
        name: _WRITERS[name](value) if name in _WRITERS else value
        for name, default in _DEFAULTS.items()
        if (value := getattr(passage.record, name)) != default
    }
    said = {
        "id": passage.id, "part": passage.part, "parts": passage.parts, "file_title": passage.file_title,
        "text": passage.text, "record": record,
    }  # fmt: skip
    if passage.turn:
        said["turn"] = asdict(passage.turn)
    try:
        return json.dumps(said, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:  # lone surrogates travel as escapes
        return json.dumps(said).encode()


def _tag_column(tags: Sequence[str]) -> str:
    return "".join(map(tag_pattern, tags))
