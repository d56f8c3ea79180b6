"""Erasing: which words go, and the certificate that says what was done and what is left."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

PLACEHOLDER = "<!-- memoranda:erased -->"
_JSON_DEPTH = 3
MIN_PIECE = 8
"""Characters from which on a text is looked for inside other texts: shorter ones occur everywhere by chance."""

NOT_COVERED = (
    "copies outside the home: backups, exports, other machines, what a model or a person has read",
    "blocks of the disk that the file system has not overwritten",
)
GUESSABLE = "whoever holds the home's key can still confirm a guess against the tombstone that was kept"

_MARKER = re.compile(r"\A[ \t>]*(?:[-*+]|\d{1,9}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """What of the ledger holds some texts.

    Names of objects that are one of them or contain one, ids of records that are one of them, and how many events'
    payloads contain one.
    """

    equal: tuple[str, ...] = ()
    containing: tuple[str, ...] = ()
    records: tuple[str, ...] = ()
    events: int = 0

    @property
    def is_empty(self) -> bool:
        """Whether nothing holds any of them."""
        return not (self.equal or self.containing or self.records or self.events)


@dataclass(frozen=True, slots=True)
class HeldText:
    """A text that the ledger keeps and the places it belongs to, in words; the text goes into no message."""

    name: str
    text: str
    places: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """What a look at all raw bytes found: `residue` are places, never the text."""

    files: int = 0
    bytes: int = 0
    residue: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """What an erasure did: ids of erased records, how many kept texts and events were emptied, what the sweep saw."""

    what: tuple[str, ...]
    when: str
    who: str
    objects: int = 0
    events: int = 0
    swept: Sweep = Sweep()
    tombstones_kept: bool = True
    nothing_to_do: bool = False

    @property
    def not_covered(self) -> tuple[str, ...]:
        """What no erasure in this home can reach."""
        return (*NOT_COVERED, GUESSABLE) if self.tombstones_kept else NOT_COVERED


def core_of(text: str) -> str:
    """Return a block's words without its list marker: they may stand elsewhere in another dress."""
    return _MARKER.sub("", text.strip()).strip()


def spellings(text: str) -> re.Pattern[str]:
    """Return a pattern for a text in each form that reads the same.

    Its lines may be broken elsewhere, also in a quote, and its letters composed or not (Unicode NFC, NFD).
    """
    words = unicodedata.normalize("NFC", text).split()
    return re.compile(r"[\s>]+".join("".join(map(_letter, word)) for word in words))


def _letter(character: str) -> str:
    apart = unicodedata.normalize("NFD", character)
    whole = re.escape(character)
    return whole if apart == character else f"(?:{whole}|{re.escape(apart)})"


def variants(text: str) -> tuple[str, ...]:
    """Return a text with either line ending, longest first."""
    plain = text.replace("\r\n", "\n")
    return tuple(dict.fromkeys((plain.replace("\n", "\r\n"), plain)))


def in_json(piece: str) -> tuple[str, ...]:
    """Return a text as it stands in JSON, and in JSON within JSON, up to three deep; as it is first."""
    forms = {piece: None}
    layer = [piece]
    for _ in range(_JSON_DEPTH):
        layer = [json.dumps(item, ensure_ascii=ascii_only)[1:-1] for item in layer for ascii_only in (False, True)]
        forms |= dict.fromkeys(layer)
    return tuple(forms)


def leaves(text: str) -> Iterator[str]:
    """Yield a text and, where it is JSON, every text in it, JSON within JSON too."""
    yield text
    if text[:1] not in ("{", "[", '"'):
        return
    try:
        waiting: list[object] = [json.loads(text)]
    except (ValueError, RecursionError):
        return
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += [*map(str, value), *value.values()]
        elif isinstance(value, list):
            waiting += value
        elif isinstance(value, str) and value != text:
            yield value
            if value[:1] in ("{", "["):
                with suppress(ValueError, RecursionError):
                    waiting.append(json.loads(value))


def holds(text: str, piece: str) -> bool:
    """Whether a text contains a piece that is long enough to be told from chance."""
    return len(piece) >= MIN_PIECE and any(item in text for item in variants(piece))


def is_one_of(text: str, pieces: tuple[str, ...]) -> bool:
    """Whether a text is one of the pieces, whatever its list marker and line endings."""
    core = core_of(text).replace("\r\n", "\n")
    return any(core == piece.replace("\r\n", "\n") for piece in pieces)


def without(text: str, pieces: tuple[str, ...]) -> str:
    """Return a text with a placeholder for every piece in it."""
    for piece in pieces:
        if holds(text, piece):
            for item in variants(piece):
                text = text.replace(item, PLACEHOLDER)
    return text
