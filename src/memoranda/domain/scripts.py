# ruff: noqa: RUF001 - characters of many scripts
"""Scripts and characters: what is a letter, what a sign, what is written without spaces.

Character data come from the interpreter's Unicode tables; block ranges are those of Unicode 15.
"""

from __future__ import annotations

import re
import unicodedata

WORD, UNSPACED, SOFT, SIGN, GAP = "w", "b", "s", "e", " "
"""Classes of a folded character: letter, letter of a script without spaces, symbol that may touch a word,
sign that is a word by itself (emoji, currency, arrows), and everything that separates."""

SOFT_SYMBOLS = "-./\\:@#+_&='~%$"
"""ASCII symbols that belong to the word they touch: `C++`, `foo-bar`, `user@host`, `C:\\x`, `--force`."""

_UNSPACED_RANGES = (
    (0x0E01, 0x0E3A), (0x0E40, 0x0E4E),                      # Thai
    (0x0E81, 0x0ECE), (0x0EDC, 0x0EDF),                      # Lao
    (0x1000, 0x103F), (0x1050, 0x108F), (0x109A, 0x109D), (0xA9E0, 0xA9EF), (0xAA60, 0xAA7F),  # Burmese
    (0x1100, 0x11FF), (0x3131, 0x318E), (0xA960, 0xA97C), (0xAC00, 0xD7FB),  # Hangul
    (0x1780, 0x17D3), (0x17D7, 0x17D7), (0x17DC, 0x17DD),    # Khmer
    (0x3005, 0x3007), (0x3021, 0x3029), (0x3031, 0x3035), (0x3038, 0x303C),  # iteration marks, numerals
    (0x3041, 0x309A), (0x309D, 0x309F), (0x30A1, 0x30FA), (0x30FC, 0x30FF), (0x31F0, 0x31FF),  # kana
    (0x3105, 0x312F), (0x31A0, 0x31BF),                      # bopomofo
    (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x3FFFD),  # Han
    (0x1AFF0, 0x1B16F),                                      # kana supplements
)  # fmt: skip

_DROPPED = re.compile(
    "[\u00ad\u034f\u061c\u0640\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
    "\U0001f3fb-\U0001f3ff\U000e0000-\U000e0fff]"
)
"""Zero-width and direction characters, soft hyphens, tatweel, variation selectors, skin tones."""

_FOLDED_MARKS = re.compile(
    "(?<!и)\u0306|[\u0300-\u0305\u0307-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"
    "\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u093c]"
)
"""Latin, Greek and Cyrillic diacritics, Hebrew points, Arabic vowels, the nukta. The breve of Russian short i
makes another letter and stays; vowel signs of Indic scripts and voicing marks of kana are letters and
stay.
"""

_LETTERS = str.maketrans({
    "ł": "l", "ø": "o", "đ": "d", "ð": "d", "ħ": "h", "ı": "i", "ŧ": "t", "æ": "ae", "œ": "oe", "þ": "th",
    "ى": "ي", "ة": "ه", "ک": "ك", "ی": "ي",
    "\u2018": "'", "\u2019": "'", "\u201b": "'", "\u02bc": "'", "\u02b9": "'", "\u2032": "'",
    "\u2010": "-", "\u2011": "-", "\u2212": "-", "\u2044": "/", "\u2215": "/",
})  # fmt: skip
"""Letters without a decomposition, spellings that readers do not tell apart, ASCII twins of symbols."""


class _Classes(dict[int, str]):
    """Class of every code point, filled on demand for `str.translate`."""

    def __missing__(self, code: int) -> str:
        self[code] = found = _classify(code)
        return found


def _classify(code: int) -> str:
    character = chr(code)
    if character in SOFT_SYMBOLS:
        return SOFT
    if any(low <= code <= high for low, high in _UNSPACED_RANGES):
        return UNSPACED
    category = unicodedata.category(character)
    if category[0] in "LMN" or category == "Co":
        return WORD
    if not character.isascii() and category in ("So", "Sm", "Sc", "Cn"):
        return SIGN
    return GAP


_CLASSES = _Classes()


def fold(text: str) -> str:
    """Return the text without differences that a searcher does not mean.

    NFKC, case folded, zero-width characters dropped, diacritics folded. Idempotent for practical text; any
    string is accepted, lone surrogates included.
    """
    if text.isascii():
        return text.lower()
    text = unicodedata.normalize("NFKC", _DROPPED.sub("", text)).casefold()
    text = _FOLDED_MARKS.sub("", unicodedata.normalize("NFD", text))
    return unicodedata.normalize("NFC", text).translate(_LETTERS)


def classes(folded: str) -> str:
    """Return a string of the same length that holds the class of every character."""
    return folded.translate(_CLASSES)


def is_unspaced(character: str) -> bool:
    """Tell whether this character belongs to a script written without spaces."""
    return _CLASSES[ord(character)] == UNSPACED


def is_mostly_latin(text: str) -> bool:
    """Tell whether at least half of the words are Latin; text without letters counts as Latin."""
    return _latin_share(text) >= 0.5  # noqa: PLR2004 - half


def is_hardly_latin(text: str) -> bool:
    """Tell whether less than a quarter of the words are Latin: an English model can make nothing of such a text."""
    return _latin_share(text) < 0.25  # noqa: PLR2004 - a quarter


def _latin_share(text: str) -> float:
    """Return the share of Latin letters, 0 to 1, 1 without letters.

    A letter of a script without spaces says as much as two: words there are half as long.
    """
    if text.isascii():
        return 1.0
    letters = [c for c in unicodedata.normalize("NFKC", text) if c.isalpha()]
    latin = sum(1 for c in letters if c.isascii() or unicodedata.name(c, "").startswith("LATIN"))
    return latin / (len(letters) + sum(map(is_unspaced, letters))) if letters else 1.0


_JOINERS = "\u200d\u034f"
_REGIONAL = range(0x1F1E6, 0x1F200)
_CONTINUING = (
    range(0x0E33, 0x0E34), range(0x0EB3, 0x0EB4), range(0x1160, 0x1200), range(0x1F3FB, 0x1F400),
    range(0xE0020, 0xE0080),
)  # fmt: skip
"""Thai and Lao am, Hangul vowels and finals, skin tones, tags of flags."""


def may_break(text: str, at: int) -> bool:
    """Tell whether text may be cut before position `at` without tearing what a reader sees as one character.

    A conservative form of the extended grapheme clusters of Unicode Annex 29.
    """
    if not 0 < at < len(text):
        return True
    before, after = text[at - 1], text[at]
    if before + after == "\r\n" or before in _JOINERS or after in _JOINERS:
        return False
    if unicodedata.category(after)[0] == "M" or any(ord(after) in block for block in _CONTINUING):
        return False
    return not (ord(before) in _REGIONAL and ord(after) in _REGIONAL)
