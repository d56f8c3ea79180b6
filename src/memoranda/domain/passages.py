# ruff: noqa: RUF001 - characters of many scripts
"""Splits a record into passages and tells what form of it is indexed."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from memoranda.domain.passage import PASSAGE_WORDS, Passage, Turn
from memoranda.domain.record import Record
from memoranda.domain.scripts import UNSPACED, classes, may_break

UNSPACED_WORD = 2.5
"""Characters that count as one word in scripts without spaces: about what a word piece covers there."""

_LONG_WORD = 16
"""Characters of a spaced word that count as one; encoded data and long addresses weigh more than one word."""

_LINE = re.compile(r"\n+")
_LIST_ITEM = re.compile(r"\n(?=[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t])")
_SENTENCE = re.compile(r"(?<=[.!?…])[\"')\]”’»]*\s+|(?<=[。！？｡।۔])")
_SPACE = re.compile(r"\s+")
_BOUNDARIES = (_LIST_ITEM, _LINE, _SENTENCE, _SPACE)
_FORM_BYTES = 16


def passages_of(record: Record, text: str, file_title: str, turn: Turn | None = None) -> tuple[Passage, ...]:
    """Return the record's passages: one, or several of about `PASSAGE_WORDS` words where the text is long.

    Parts are cut at list items, then lines, then sentences, then spaces, and only inside a word where there
    is no other place, never inside a character. Together they hold every character that is not white space,
    in order. Blank text gives none.
    """
    parts = _split(text)
    return tuple(
        Passage(
            id=record.id if len(parts) == 1 else f"{record.id}#{number}",
            part=number,
            parts=len(parts),
            record=record,
            file_title=file_title,
            text=part,
            turn=turn,
        )
        for number, part in enumerate(parts, 1)
    )


def first_of_each(passages: Sequence[Passage]) -> list[Passage]:
    """Return the passages of turns without those of a later line that has the id of one before it."""
    places: dict[str, int] = {}
    return [
        item
        for item in passages
        if item.turn and places.setdefault(item.record.id, item.turn.offset) == item.turn.offset
    ]


def indexed_form(passages: Sequence[Passage]) -> str:
    """Return a fingerprint of what search uses and shows of one record's passages, as 32 hexadecimal digits.

    Two sequences with one fingerprint make the same index rows; counters and lineage do not count.
    """
    digest = hashlib.blake2b(digest_size=_FORM_BYTES)
    for passage in passages:
        record = passage.record
        fields = (
            passage.id, passage.part, passage.parts, passage.file_title, passage.text,
            record.id, str(record.scope), record.path, record.block_hash, record.occurrence, record.heading,
            record.kind, record.title, record.description, record.tags, int(record.trust), record.status,
            str(record.author), record.valid_from, record.valid_to, record.recorded_at, record.retired_at,
        )  # fmt: skip
        digest.update(json.dumps(fields).encode() + b"\n")
    return digest.hexdigest()


def _split(text: str) -> list[str]:
    """Return the parts of a text, balanced in size."""
    stripped = text.strip()
    if not stripped:
        return []
    total = _size(stripped)
    if total <= PASSAGE_WORDS:
        return [stripped]
    atoms = list(_atoms(stripped, 0))
    target = total / -(-total // PASSAGE_WORDS)
    parts: list[str] = []
    held: list[str] = []
    size = 0.0
    for atom in atoms:
        weight = _size(atom)
        if held and (size + weight > PASSAGE_WORDS or size >= target):
            parts.append("".join(held))
            held, size = [], 0.0
        held.append(atom)
        size += weight
    parts.append("".join(held))
    return [part.strip() for part in parts if part.strip()]


def _atoms(text: str, level: int) -> Iterator[str]:
    """Yield pieces of at most `PASSAGE_WORDS` words, cut at the coarsest boundary that will do."""
    if _size(text) <= PASSAGE_WORDS:
        yield text
        return
    if level == len(_BOUNDARIES):
        yield from _characters(text)
        return
    cuts = [0, *(match.end() for match in _BOUNDARIES[level].finditer(text)), len(text)]
    for start, end in pairwise(cuts):
        if end > start:
            yield from _atoms(text[start:end], level + 1)


def _characters(text: str) -> Iterator[str]:
    """Cut a text without any boundary between characters, as readers see them."""
    step = int(PASSAGE_WORDS * UNSPACED_WORD) - 1
    start = 0
    while len(text) - start > step:
        end = start + step
        while end > start and not may_break(text, end):
            end -= 1
        if end == start:  # a pile of marks longer than a passage is cut somewhere
            end = start + step
        yield text[start:end]
        start = end
    yield text[start:]


def _size(text: str) -> float:
    """Count words; characters of scripts without spaces and of very long words count as fractions."""
    if text.isascii():
        return float(sum(1 + len(word) // _LONG_WORD for word in text.split()))
    unspaced = classes(text).count(UNSPACED)
    spaced = (word for word in text.split() if not word.isalpha() or UNSPACED not in classes(word))
    return unspaced / UNSPACED_WORD + sum(1 + len(word) // _LONG_WORD for word in spaced)
