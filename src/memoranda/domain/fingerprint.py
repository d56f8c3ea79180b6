"""Keyed hashes: identity of bytes, value keys against duplicates and tombstones, and the ledger's chain.

Every hash is keyed BLAKE2b (RFC 7693) under the home's secret, so that a text that was erased cannot be confirmed
by guessing without the key. The `person` field separates the uses.
"""

from __future__ import annotations

import hashlib
import html
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

from memoranda.domain.tombstone import Mark
from memoranda.domain.words import near_terms

KEY_BYTES = 32
_SHORT = 16
_LONG = 32

INVISIBLE = dict.fromkeys(
    [
        0x00AD,
        0x034F,
        0x061C,
        0x180E,
        0xFEFF,
        *range(0x200B, 0x2010),
        *range(0x202A, 0x202F),
        *range(0x2060, 0x2065),
    ]
)
_LOOK_ALIKES = str.maketrans(
    "\u0430\u0441\u0501\u0435\u0456\u0458\u0455\u043e\u0440\u051b\u051d\u0445\u0443\u04bb\u04cf"
    "\u03b1\u03b9\u03bf\u03c1\u03bd\u03c5\u03c7\u03ba\u03c4\u0432\u043a\u043c\u043d\u0442\u0131",
    "acdeijsopqwxyhlaiopvuxktbkmhti",
)
"""Case-folded Cyrillic and Greek letters that pass for Latin ones (Unicode UTS #39 confusables); letters only."""

_EMPHASIS = re.compile(r"(?<![\w*_~])(\*{1,3}|_{1,3}|~~)(?=\S)(.+?)(?<=\S)\1(?![\w*_~])", re.DOTALL)
_INTRAWORD_STARS = re.compile(r"(\*{1,3}|~~)(?=\S)([^*~\n]+?)(?<=\S)\1")
_CODE = re.compile(r"(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
_MARKER = re.compile(r"^[ \t>]*(?:[-*+]|\d{1,9}[.)])[ \t]+", re.MULTILINE)
_TAG = re.compile(r"</?[A-Za-z][^<>]{0,200}>|<!--.{0,2000}?-->", re.DOTALL)
_INLINE = re.compile(
    r"</?(?:a|abbr|b|bdi|bdo|big|cite|code|del|dfn|em|font|i|ins|kbd|mark|q|s|samp|small|span|strike|strong|sub|sup|tt|u|"
    r"var|wbr)\b[^<>]{0,200}>|<!--.{0,2000}?-->",
    re.DOTALL | re.IGNORECASE,
)
"""Tags and comments that part no words, by the HTML standard's phrasing content."""

_BLANK = "\u2800"
_LATIN_NAME = re.compile(
    r"(?:LATIN LETTER SMALL CAPITAL|REGIONAL INDICATOR SYMBOL LETTER|TAG LATIN SMALL LETTER|"
    r"(?:NEGATIVE |CROSSED NEGATIVE )?(?:CIRCLED|SQUARED) LATIN CAPITAL LETTER) ([A-Z])"
)
_SCRIPT_LETTERS = {
    "LATIN SMALL LETTER SCRIPT G": "g", "LATIN SMALL LETTER ALPHA": "a", "LATIN SMALL LETTER IOTA": "i",
    "LATIN SMALL LETTER UPSILON": "u", "LATIN LETTER SMALL CAPITAL INVERTED R": "r",
    "ARMENIAN SMALL LETTER OH": "o", "ARMENIAN SMALL LETTER VO": "n", "ARMENIAN SMALL LETTER SEH": "u",
    "ARMENIAN SMALL LETTER HO": "h", "ARMENIAN SMALL LETTER CO": "g", "HEBREW LETTER SAMEKH": "o",
}  # fmt: skip
_LINK = re.compile(r"!?\[([^\[\]]{0,1000})\]\([^()]{0,1000}\)|!?\[([^\[\]]{0,1000})\]\[[^\[\]]{0,200}\]")
_FOOTNOTE = re.compile(r"\[\^[^\[\]]{1,100}\]")
_BOX = re.compile(r"^[ \t>]*(?:[-*+]|\d{1,9}[.)])?[ \t]*\[[ xX]\](?=\s)", re.MULTILINE)
_DIACRITIC = re.compile("[\u0300-\u036f]")
_SENTENCE_END = re.compile(
    "(?<=[.!?;:])\\s+|[\u3002\uff01\uff1f\uff1b]|\\n+|\\s(?:[|\u2013\u2014-]|-{2,3})\\s|\\s*\\|\\s*"
)
_ASIDE = re.compile(
    r"\]\([^()\s]*\s+[\"'(]([^\"')]{1,2000})|^[ \t>]*\[[^\[\]]{1,200}\]:[ \t]*\S+\s+[\"'(](.{1,2000}?)[\"')]?[ \t]*$|"
    r"=\s*\"([^\"]{1,2000})\"|=\s*'([^']{1,2000})'|<!--(.{1,2000}?)-->",
    re.MULTILINE | re.DOTALL,
)
"""Words that are not shown and can be read: titles of links, definitions of links, attributes, comments."""

_MIN_WORDS, _MIN_BYTES = 3, 24
"""A statement that is compared by itself: shorter ones, such as "not yet", occur in many texts."""
_FILLERS_BEFORE, _FILLERS_AFTER = 4, 2
"""So many words before a rejected statement ("Note that …", "Yes, …") and after it do not hide it."""

_LONE = re.compile(r"(?<!\S)[^\w\s]+(?!\S)")


def normalise(text: str) -> str:
    """Return the form in which two texts are one value; see `docs/format.md`.

    NFKC, case-folded, invisible characters dropped, look-alike letters folded, emphasis and list markers dropped,
    white space collapsed. Symbols that touch a letter or digit stay; if nothing is left the text itself counts.
    """
    folded = unicodedata.normalize("NFKC", text).translate(INVISIBLE)
    folded = _MARKER.sub("", folded)
    folded = _CODE.sub(r"\2", folded)
    for pattern in (_EMPHASIS, _EMPHASIS, _INTRAWORD_STARS):
        folded = pattern.sub(r"\2", folded)
    folded = unicodedata.normalize("NFKC", folded.casefold()).translate(_LOOK_ALIKES)
    folded = " ".join(_LONE.sub(" ", folded).split())
    return folded or " ".join(text.split()) or text


def plain_words(text: str) -> str:
    """Return a text without what may be wrapped around its words.

    That is links, tags, entities, footnotes, check boxes, diacritics and letters that only look otherwise.
    """
    words = html.unescape(_TAG.sub(" ", _INLINE.sub("", text)))
    words = _LINK.sub(lambda match: f" {match[1] or match[2]} ", _FOOTNOTE.sub(" ", _BOX.sub(" ", words)))
    if not words.isascii():
        words = "".join(map(_plain_letter, unicodedata.normalize("NFKD", words)))
    return unicodedata.normalize("NFKC", words)


@lru_cache(maxsize=1 << 14)
def _plain_letter(letter: str) -> str:
    """Return what a letter reads as, by its name in the Unicode Character Database; a mark on another is nothing."""
    if letter.isascii():
        return letter
    if unicodedata.category(letter) in ("Me", "Cf") or _DIACRITIC.match(letter):
        return ""
    if letter == _BLANK:
        return " "
    name = unicodedata.name(letter, "")
    found = _LATIN_NAME.fullmatch(name)
    return found[1].lower() if found else _SCRIPT_LETTERS.get(name, letter)


def statements(text: str) -> tuple[str, ...]:
    """Return the sentences and lines of a text that has several: a rejected one may hide among others.

    Only those of three words (24 bytes in scripts without spaces) or more.
    """
    parts = [part.strip() for part in _SENTENCE_END.split(text)]
    parts = parts if len(parts) > 1 else []
    for match in _ASIDE.finditer(text):
        aside = next(group for group in match.groups() if group is not None)
        parts += [aside.strip(), *(part.strip() for part in _SENTENCE_END.split(aside))]
    kept = [part for part in parts if len(part.split()) >= _MIN_WORDS or len(part.encode()) >= _MIN_BYTES]
    return tuple(dict.fromkeys([*kept, *(inner for part in kept or [text] for inner in _inside(part))]))


def _inside(statement: str) -> Iterator[str]:
    """Yield a statement without its first or last words: it may be said with some before or after it."""
    words = statement.split()
    for first in range(1, _FILLERS_BEFORE + 1):
        if len(words) - first > _MIN_WORDS:
            yield " ".join(words[first:])
    for last in range(1, _FILLERS_AFTER + 1):
        if len(words) - last > _MIN_WORDS:
            yield " ".join(words[:-last])


def mark(key: bytes, text: str) -> Mark:
    """Return a text's mark under one tombstone key."""
    value = normalise(text)
    stems, exact = near_terms(normalise(plain_words(text)))
    near = "\x1f".join([*stems, "\x1e", *exact]) if stems or exact else ""
    return Mark(_keyed(key, b"tomb value", value), _keyed(key, b"tomb near", near) if near else "")


def _keyed(key: bytes, use: bytes, text: str) -> str:
    data = text.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, digest_size=_SHORT, key=key, person=use).hexdigest()


def key_name(key: bytes) -> str:
    """Name a tombstone key without telling it: 16 hexadecimal digits."""
    return hashlib.blake2b(key, digest_size=8, person=b"keyname").hexdigest()


class Fingerprints:
    """All keyed hashes of one home. `key` is its secret, 32 bytes.

    Tombstones have a key of their own, derived from the secret: it travels with every archive, the secret never does.
    `foreign` returns the tombstone keys that came with archives of other homes.
    """

    def __init__(self, key: bytes, foreign: Callable[[], Sequence[bytes]] = tuple) -> None:
        self._key, self._foreign = key, foreign
        self.tombstone_key = hashlib.blake2b(key, digest_size=KEY_BYTES, person=b"tombstone key").digest()

    def statement_marks(self, text: str) -> tuple[Mark, ...]:
        """Return the marks of the sentences and lines of a text of several."""
        keys = (self.tombstone_key, *self._foreign())
        return tuple(mark(key, part) for part in statements(text) for key in keys)

    def marks(self, text: str) -> tuple[Mark, ...]:
        """Return a text's marks under every tombstone key, this home's first."""
        return tuple(mark(key, text) for key in (self.tombstone_key, *self._foreign()))

    def _hash(self, use: bytes, data: bytes, size: int = _SHORT) -> str:
        return hashlib.blake2b(data, digest_size=size, key=self._key, person=use).hexdigest()

    def nonce(self, session_id: str) -> str:
        """Return the mark of a session's envelopes, 32 hexadecimal digits that nobody without the key can guess."""
        return self._hash(b"nonce", session_id.encode())

    def content(self, data: bytes | str) -> str:
        """Name exact bytes: a block, a file, an object. 32 hexadecimal digits."""
        raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
        return self._hash(b"content", raw)

    def value_key(self, text: str) -> str:
        """Name a value whatever its dress (see `normalise`)."""
        return self._hash(b"value", normalise(text).encode("utf-8", "surrogatepass"))

    def near_key(self, text: str) -> str:
        """Name a statement up to word order, inflection and stop words; "" where no word is left."""
        stems, exact = near_terms(normalise(text))
        if not stems and not exact:
            return ""
        return self._hash(b"near", "\x1f".join([*stems, "\x1e", *exact]).encode("utf-8", "surrogatepass"))

    def payload(self, salt: bytes, payload: str) -> str:
        """Hash an event's payload under its own salt; destroying the salt makes the payload unguessable."""
        return self._hash(b"payload", len(salt).to_bytes(2, "big") + salt + payload.encode(), _LONG)

    def event(self, fields: tuple[str, ...], previous: str) -> str:
        """Chain an event to the one before it."""
        return self._hash(b"event", "\x1f".join([previous, *fields]).encode(), _LONG)
