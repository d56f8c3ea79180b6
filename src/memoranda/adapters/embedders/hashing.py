"""Signed feature hashing of words and character trigrams: an embedder without a model.

Method: Weinberger et al., "Feature Hashing for Large Scale Multitask Learning" (2009): every feature adds or
subtracts at one hashed position, so that collisions cancel out in expectation.
"""

from __future__ import annotations

import functools
import hashlib
import math
import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

from memoranda.domain.settings import EmbedderSettings
from memoranda.errors import ConfigurationError
from memoranda.ports import Vector

DEFAULT_DIMENSIONS = 512
MIN_DIMENSIONS, MAX_DIMENSIONS = 16, 4096

_WORD = re.compile(r"\w+")
_CACHED_WORDS = 50_000
_CACHED_LENGTH = 32
"""Longer words are rarely met twice and would fill the cache."""
_TRIGRAM_SHARE = 0.5
"""Weight of all trigrams of a word together, against 1 for the word itself."""

Features = tuple[tuple[int, float], ...]


class HashingEmbedder:
    """Embeds by hashing words and trigrams, lower-cased; no model, no state, the same on every machine."""

    weight = 0.2
    """Share of the vector arm measured on LoCoMo, where it adds little to keywords alone."""

    def __init__(self, dimensions: int = DEFAULT_DIMENSIONS) -> None:
        if not MIN_DIMENSIONS <= dimensions <= MAX_DIMENSIONS:
            raise ConfigurationError(
                f"embedder 'hashing' cannot have {dimensions} dimensions: use {MIN_DIMENSIONS} to {MAX_DIMENSIONS}"
            )
        self._dimensions = dimensions

    @property
    def identity(self) -> str:
        """Name the recipe: words and trigrams, version 1."""
        return f"hashing:{self._dimensions}:words+trigrams:v1"

    @property
    def dimensions(self) -> int:
        """Length of every vector, 16 to 4096."""
        return self._dimensions

    def embed_documents(self, texts: Sequence[str]) -> Vector:
        """Return one unit row per text, shape (n, dimensions), float32."""
        rows = np.empty((len(texts), self._dimensions), dtype=np.float32)
        for number, text in enumerate(texts):
            rows[number] = self.embed_query(text)
        return rows

    def embed_query(self, text: str) -> Vector:
        """Return the unit vector of a text, shape (dimensions,), float32."""
        sums = [0.0] * self._dimensions
        for word, count in Counter(_WORD.findall(text.casefold())).items():
            damped = 1.0 + math.log(count)
            features = _remembered if len(word) <= _CACHED_LENGTH else _features
            for position, value in features(word, self._dimensions):
                sums[position] += value * damped
        vector = np.array(sums)
        norm = float(np.linalg.norm(vector))
        if norm == 0.0:
            # No words, or all of them cancelled out: the raw text is then the one feature, for the port
            # promises a unit vector and equal texts must still be equal.
            position, sign = _hashed("raw:" + text, self._dimensions)
            vector[position] = norm = sign
        unit: Vector = (vector / abs(norm)).astype(np.float32)
        return unit


def open_embedder(rest: str, _settings: EmbedderSettings | None = None) -> HashingEmbedder:
    """Return the embedder of an address `hashing` or `hashing:DIMENSIONS`.

    Raises:
        ConfigurationError: the dimensions are no whole number from 16 to 4096.
    """
    if not rest:
        return HashingEmbedder()
    if not (rest.isascii() and rest.isdecimal()):
        raise ConfigurationError(f"embedder address 'hashing:{rest[:40]}' is wrong: write for example hashing:512")
    return HashingEmbedder(int(rest[:9]))


def _features(word: str, dimensions: int) -> Features:
    padded = f"<{word}>"
    grams = [padded[start : start + 3] for start in range(len(padded) - 2)]
    share = _TRIGRAM_SHARE / math.sqrt(len(grams))
    return (
        _hashed("word:" + word, dimensions),
        *((position, sign * share) for position, sign in (_hashed("gram:" + gram, dimensions) for gram in grams)),
    )


_remembered = functools.lru_cache(_CACHED_WORDS)(_features)


def _hashed(feature: str, dimensions: int) -> tuple[int, float]:
    """Return the position and sign of a feature by BLAKE2b: Python's own hash differs between processes."""
    digest = hashlib.blake2b(feature.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    number = int.from_bytes(digest, "little")
    return (number >> 1) % dimensions, 1.0 if number & 1 else -1.0
