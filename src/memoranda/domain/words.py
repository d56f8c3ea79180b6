# ruff: noqa: RUF001 - characters of many scripts
"""Text to words: one analyser for the index and for questions.

A text gives two streams. `exact` holds its words in order, folded, and serves phrases; `terms` is the bag
that is scored: stems, joined forms of words with symbols (`foo-bar`, `c#`, `user@host`), and for scripts
written without spaces overlapping pairs of characters and single ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

from memoranda.domain.languages import ENGLISH, language_of, says_little, stem, stems
from memoranda.domain.query import MAX_QUERY_CHARS
from memoranda.domain.scripts import SIGN, SOFT_SYMBOLS, UNSPACED, classes, fold, is_unspaced
from memoranda.domain.stopwords import FUNCTION_CHARACTERS, NEGATIONS, SPOKEN_STOP_WORDS, STOP_WORDS, TURNING_WORDS

ANALYSER = 3
"""Version of the rules below; an index built by another version is built anew."""

MAX_WORD = 128
"""Longest word in characters; longer ones (encoded data) are cut, in index and questions alike."""

_CACHED_WORD = 48
_SOFT = re.escape(SOFT_SYMBOLS)
_ASCII_CHUNKS = re.compile(f"[a-z0-9{_SOFT}]+")
_RUNS = re.compile("[ws]+|b+|e")
_OUTER = re.compile(r"[/\\:@=&]+")
_INNER = re.compile(rf"([^{_SOFT}]+)([+#]*)")
_TAIL = re.compile(r"[+#]+|%")
_BEGINNING = re.compile(r"(?<![\w*])(\w[^\s*\"]*)\*(?![\w*])")
_ASKED_BEGINNING = re.compile(rf"\w[\w{_SOFT}]*")
_QUOTED = re.compile(r'"([^"]*)"')
_DOUBLE_QUOTES = str.maketrans("“”„‟«»＂", '"""""""')

_SAYS_NOTHING = (STOP_WORDS | NEGATIONS) - TURNING_WORDS


@dataclass(frozen=True, slots=True)
class Analysis:
    """The words of a text: `exact` in order, `terms` as the bag that is scored."""

    exact: tuple[str, ...]
    terms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """A question as words: `terms` scored and OR-ed, `phrases` required, each a sequence of exact words.

    `forms` pairs a stem with the exact word that was asked, so that the same word counts more than its kin.
    `units` are the pieces of information in the question, each as the terms that show that a text speaks of
    it: a word, or a character that says something in scripts without spaces. `spoken` are the terms for talk, where
    fewer words say nothing.
    """

    terms: tuple[str, ...] = ()
    phrases: tuple[tuple[str, ...], ...] = ()
    forms: tuple[tuple[str, str], ...] = ()
    units: tuple[tuple[str, ...], ...] = ()
    spoken: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Word:
    """One word of a text with everything that it is found by."""

    exact: tuple[str, ...]
    """Its parts in order."""
    terms: tuple[str, ...]
    """What is indexed: stems of the parts, joined forms."""
    asked: tuple[str, ...]
    """What a question with it looks for, without stop words."""
    kept: tuple[str, ...]
    """The same with stop words."""


_NOTHING = _Word((), (), (), ())


def analyse(text: str, language: str = "") -> Analysis:
    """Return the words of a text, for the index; any string is accepted.

    Each has its stem as an English word, and where the text is in another language (`language`, "" to find out) its
    stem in that as well: nobody loses a word where the language was mistaken.
    """
    words = tuple(_words(text))
    language = language or _language(words)
    if language not in ("", ENGLISH):
        words = tuple(_words(text, language))
    return Analysis(
        tuple(part for word in words for part in word.exact), tuple(term for word in words for term in word.terms)
    )


def analyse_titled(text: str, titles: str) -> tuple[Analysis, Analysis]:
    """Return the words of a text and of its titles, which are in the language of the text."""
    language = _language(_words(text))
    return analyse(text, language or ENGLISH), analyse(titles, language)


def _language(words: Iterable[_Word], least: int = 1) -> str:
    return language_of((part for word in words for part in word.exact), least)


def _nothing_more(_: str) -> Sequence[str]:
    return ()


def parse_query(text: str, complete: Callable[[str], Sequence[str]] = _nothing_more) -> ParsedQuery:
    """Return what a question asks for; never raises, and is empty for text without words.

    Text in double quotes becomes a phrase, whose words are scored as well. Stop words are dropped unless
    nothing else is left. Text after `query.MAX_QUERY_CHARS` is not read. A word with a star at its end (`conf*`) is the
    beginning of words: `complete` is given it, folded, and returns those that begin so.
    """
    text = text[:MAX_QUERY_CHARS].translate(_DOUBLE_QUOTES)
    phrases = tuple(dict.fromkeys(p for p in (analyse(m[1]).exact for m in _QUOTED.finditer(text)) if p))
    begun: dict[str, Sequence[str]] = {}
    plain = _BEGINNING.sub(lambda match: _begun(match, complete, begun), text).replace('"', " ")
    return _with_begun(_parsed(plain, phrases, is_all=not begun), begun)


def _begun(match: re.Match[str], complete: Callable[[str], Sequence[str]], begun: dict[str, Sequence[str]]) -> str:
    """Take the beginning of a word out of a question; one that no word has stays."""
    beginning = fold(match[1])
    if not _ASKED_BEGINNING.fullmatch(beginning) or any(map(is_unspaced, beginning)):
        return match[0]
    if words := complete(beginning):
        begun[beginning] = words
    return " " if words else match[0]


def _with_begun(query: ParsedQuery, begun: Mapping[str, Sequence[str]]) -> ParsedQuery:
    """Add what beginnings stand for: each is one piece of information, whichever of its words a text holds."""
    if not begun:
        return query
    units = [
        tuple(dict.fromkeys(term for word in words for term in (word, *stems(word, ENGLISH))))
        for words in begun.values()
    ]
    added = [term for unit in units for term in unit]
    forms = [(root, word) for words in begun.values() for word in words for root in stems(word, ENGLISH)]
    return replace(
        query,
        terms=tuple(dict.fromkeys((*query.terms, *added))),
        forms=tuple(dict.fromkeys((*query.forms, *forms))),
        units=(*query.units, *units),
        spoken=tuple(dict.fromkeys((*query.spoken, *added))),
    )


def _parsed(plain: str, phrases: tuple[tuple[str, ...], ...], *, is_all: bool) -> ParsedQuery:
    """Read a question without its beginnings of words; where there are some, stop words are dropped in any case."""
    language = _language(_words(plain), least=2)  # the words of a language that is mistaken are not dropped
    words = tuple(_words(plain, language))
    asked = tuple(dict.fromkeys(term for word in words for term in word.asked))
    terms = asked if asked or not is_all else tuple(dict.fromkeys(term for word in words for term in word.kept))
    wanted = set(terms)
    forms = dict.fromkeys((root, part) for word in words for part in word.exact for root in stems(part, language))
    units = dict.fromkeys(unit for word in words for unit in _units(word, asked=bool(asked) or not is_all))
    spoken = dict.fromkeys(
        term
        for word in words
        for term in (*word.asked, *(stem(part) for part in word.exact if _is_said(part, language)))
    )
    return ParsedQuery(
        terms, phrases, tuple(pair for pair in forms if pair[0] in wanted), tuple(units), tuple(spoken) or terms
    )


def _is_said(word: str, language: str) -> bool:
    return language in ("", ENGLISH) and word in STOP_WORDS and word not in SPOKEN_STOP_WORDS


def _units(word: _Word, *, asked: bool) -> Iterator[tuple[str, ...]]:
    """Yield what a question's word adds to the pieces of information in it."""
    terms = word.asked if asked else word.kept
    if len(terms) < 2 or not is_unspaced(terms[0][0]):  # noqa: PLR2004 - one pair is one piece
        if terms:
            yield terms
        return
    characters = [pair[0] for pair in terms] + [terms[-1][1]]
    says = [i for i, character in enumerate(characters) if not _is_grammar(character)] or range(len(characters))
    for i in says:
        yield terms[max(i - 1, 0) : i + 1]


def _is_grammar(character: str) -> bool:
    return "\u3041" <= character <= "\u3096" or character in FUNCTION_CHARACTERS


def near_terms(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return what two texts share when they say nearly the same.

    A pair: the sorted stems without stop words and numbers; the numbers and negations in order.

    Word order, articles and punctuation do not count; a number, a sign before it or a "not" does.
    """
    found: list[str] = []
    strict: list[str] = []
    for word in _words(text):
        if not word.exact:
            continue
        if is_unspaced(word.exact[0][0]):
            found.extend(word.exact)
            continue
        negated = not NEGATIONS.isdisjoint((*word.exact, *word.terms))
        joined = word.terms[-1] if len(word.terms) > len(word.exact) else ""
        if negated:
            strict.append("not")
        if any(part[0].isdigit() for part in word.exact):
            strict.append(joined or word.exact[0])
        elif joined and not negated:
            found.append(joined)
        else:
            kept = (part for part in word.exact if part not in _SAYS_NOTHING)
            found.extend(stem(part) if part.isascii() else part for part in kept)
    return tuple(sorted(found)), tuple(strict)


def _words(text: str, language: str = ENGLISH) -> Iterator[_Word]:
    """Yield the words of a text in order, with their stems in a language, "" for all that are known."""
    folded = fold(text)
    if folded.isascii():
        for chunk in _ASCII_CHUNKS.findall(folded):
            yield _remembered(chunk, language) if len(chunk) <= _CACHED_WORD else _read(chunk, language)
        return
    kinds = classes(folded)
    for run in _RUNS.finditer(kinds):
        piece = folded[run.start() : run.end()]
        kind = kinds[run.start()]
        if kind == UNSPACED:
            yield _unspaced(piece)
        elif kind == SIGN:
            yield _Word((piece,), (piece,), (piece,), (piece,))
        else:
            yield _remembered(piece, language) if len(piece) <= _CACHED_WORD else _read(piece, language)


def _unspaced(run: str) -> _Word:
    """Return pairs of neighbouring characters, and single ones for the index."""
    if len(run) == 1:
        return _Word((run,), (run,), (run,), (run,))
    pairs = tuple(map("".join, pairwise(run)))
    return _Word(pairs, (*pairs, *run), pairs, pairs)


def _read(chunk: str, language: str) -> _Word:
    """Take a run of letters and touching symbols apart."""
    lead, body, tail = _edges(chunk)
    if not body:
        return _NOTHING
    pieces = [piece for piece in _OUTER.split(body) if piece.strip(SOFT_SYMBOLS)]
    if len(pieces) == 1 and not _OUTER.search(body):
        return _piece(lead, body, tail, language)
    found = [_piece("", *_edges(piece)[1:], language) for piece in pieces[1:-1]]
    found = [
        _piece(lead, *_edges(pieces[0])[1:], language),
        *found,
        _piece(_edges(pieces[-1])[0], _edges(pieces[-1])[1], tail, language),
    ]
    whole = _limited(lead + body + tail)
    return _Word(
        tuple(part for word in found for part in word.exact),
        (*(term for word in found for term in word.terms), *whole),
        (*(term for word in found for term in word.asked), *whole),
        (*(term for word in found for term in word.kept), *whole),
    )


_remembered = lru_cache(maxsize=1 << 16)(_read)


def _edges(chunk: str) -> tuple[str, str, str]:
    """Split off the symbols around a chunk and keep those that mean something: `#tag`, `--force`, `C++`."""
    body = chunk.strip(SOFT_SYMBOLS)
    start = chunk.find(body) if body else 0
    lead, tail = chunk[:start], chunk[start + len(body) :]
    if lead:
        dashes = len(lead) - len(lead.rstrip("-"))
        lead = lead[-min(dashes, 2) :] if dashes else (lead[-1] if lead[-1] in "#@.$+~%" else "")
    ending = _TAIL.match(tail)
    return lead, body, ending[0] if ending else ""


def _piece(lead: str, body: str, tail: str, language: str) -> _Word:
    """Read a word that has only inner connectors: `foo-bar`, `1.2.3`, `don't`, `c++17`."""
    exact: list[str] = []
    terms: list[str] = []
    asked: list[str] = []
    whole = body + tail
    for match in _INNER.finditer(whole):
        part, suffix = match[1][:MAX_WORD], match[2]
        if match.end() < len(whole) and suffix != "++" and whole[match.end()] not in SOFT_SYMBOLS:
            suffix = ""  # `a+b`: the sign stands between two words
        roots = stems(part, language)
        if not suffix:
            exact.append(part)
            terms += roots
            asked += () if says_little(part, language) else roots
            continue
        joined = part + suffix
        # One letter is nothing without its sign (C, C#, C++); a longer word is also found without it.
        exact.append(joined if len(part) == 1 else part)
        terms += (joined,) if len(part) == 1 else (*roots, joined)
        asked.append(joined)
    whole = lead + whole
    if whole == exact[0] or whole in terms:
        extra: tuple[str, ...] = ()
    elif "'" in whole:
        extra = () if whole.endswith("'s") and len(exact) == 2 else _limited(whole.replace("'", ""))  # noqa: PLR2004
    else:
        extra = _limited(whole)
    return _Word(tuple(exact), (*terms, *extra), (*asked, *_informative(extra)), (*terms, *extra))


def _informative(words: Iterable[str]) -> Iterator[str]:
    return (word for word in words if word not in STOP_WORDS)


def _limited(word: str) -> tuple[str, ...]:
    """Return the joined form, or nothing where it is no word any more."""
    return (word,) if len(word) <= MAX_WORD else ()


def is_single_character(word: str) -> bool:
    """Tell whether a word is one character of a script without spaces: it may begin a longer run."""
    return len(word) == 1 and is_unspaced(word)
