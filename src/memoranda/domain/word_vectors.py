"""Vectors of a text's words, small enough to keep: what a question's words come nearest to in it.

The vector of a whole text says what it is about; those of its words say whether anything in it answers. Each word of
the question counts its nearest word in the text (MaxSim of ColBERT, Khattab and Zaharia 2020, section 3.3). Words are
kept in `WIDTH` bytes each; what that and the numbers here are worth is in `docs/benchmarks.md`, "Nearest words".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memoranda.domain.stopwords import STOP_WORDS

WIDTH = 64
"""Dimensions, and bytes, of a word."""

MOST = 64
"""Words kept of one passage."""

BEFORE, AFTER = 0.9, 0.8
"""What the nearest word counts in the turn before, and in the turn after."""

_FEW = 8
"""Words projected at a time: OpenBLAS sets threads to work on larger products, which wait for each other where texts
are embedded side by side: two were 1.2 times as fast as one, and are 1.9 times (`bench/embedding.py`)."""

_CONTINUED = "##"
_LARGEST = 127

Floats = NDArray[np.floating[Any]]


@dataclass(frozen=True, slots=True)
class WordsAsked:
    """The words of a question and their unit vectors, shape (n, WIDTH), float32."""

    words: tuple[str, ...]
    vectors: NDArray[np.float32]

    def without(self, names: Iterable[str]) -> WordsAsked:
        """Return those that are none of these names; all where nothing else is asked."""
        dropped = frozenset(names)
        kept = [at for at, word in enumerate(self.words) if word not in dropped]
        if not kept:
            return self
        return WordsAsked(tuple(self.words[at] for at in kept), self.vectors[kept])


def no_words() -> WordsAsked:
    """Return what an embedder says that knows no words."""
    return WordsAsked((), np.empty((0, WIDTH), np.float32))


def words_of(pieces: Sequence[str], states: Floats, projection: Floats) -> WordsAsked:
    """Return the words of a text that say something, their pieces averaged, each projected to `WIDTH` dimensions.

    `pieces` are word pieces as of BERT, `states` their vectors, shape (len(pieces), n), `projection` (WIDTH, n).
    """
    groups: list[tuple[str, list[int]]] = []
    for at, piece in enumerate(pieces):
        if piece.startswith(_CONTINUED) and groups and groups[-1][1][-1] == at - 1:
            word, parts = groups[-1]
            groups[-1] = word + piece.removeprefix(_CONTINUED), [*parts, at]
        else:
            groups.append((piece, [at]))
    said = [(word, at) for word, at in groups if word not in STOP_WORDS and any(c.isalnum() for c in word)][:MOST]
    if not said:
        return no_words()
    units = states / np.maximum(np.linalg.norm(states, axis=1, keepdims=True), 1e-9)
    means = np.stack([units[at].mean(axis=0) for _, at in said])
    projected = [means[start : start + _FEW] @ projection.T for start in range(0, len(means), _FEW)]
    return WordsAsked(tuple(word for word, _ in said), _unit(np.concatenate(projected)))


def packed(words: WordsAsked) -> bytes:
    """Return the vectors of words in one byte a dimension."""
    if not len(words.vectors):
        return b""
    largest = np.abs(words.vectors).max(axis=1, keepdims=True)
    return bytes(np.rint(words.vectors * (_LARGEST / largest)).astype(np.int8).tobytes())


def nearest(asked: WordsAsked, texts: Sequence[bytes]) -> Floats:
    """Return the cosine of each asked word's nearest word in each text, shape (texts, words); 0 in one without."""
    found = np.zeros((len(texts), len(asked.vectors)), np.float32)
    sizes = np.array([len(text) // WIDTH for text in texts], np.int64)
    holding = np.flatnonzero(sizes)
    if len(holding) and len(asked.vectors):
        held = np.frombuffer(b"".join(texts), np.int8).reshape(-1, WIDTH).astype(np.float32)
        starts = np.concatenate(([0], np.cumsum(sizes[holding])[:-1]))
        found[holding] = np.maximum.reduceat(_unit(held) @ asked.vectors.T, starts, axis=0)
    return found


def beside(own: Floats, before: Floats, after: Floats) -> Floats:
    """Return how near turns come to a question, 0 to 1: words of their neighbours count for less."""
    return np.asarray(np.maximum(own, np.maximum(BEFORE * before, AFTER * after)).mean(axis=1), np.float64)


def _unit(rows: Floats) -> NDArray[np.float32]:
    norms = np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
    return np.asarray(rows / norms, np.float32)
