"""Vectors of words: which words are kept, how small, and what comes nearest to a question's."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from memoranda.domain.word_vectors import (
    AFTER,
    BEFORE,
    MOST,
    WIDTH,
    WordsAsked,
    beside,
    nearest,
    no_words,
    packed,
    words_of,
)

PROJECTION = np.eye(WIDTH, 96, dtype=np.float32)


def some(seed: int, count: int) -> WordsAsked:
    """Return so many made-up words."""
    rows = np.random.default_rng(seed).standard_normal((count, WIDTH)).astype(np.float32)
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return WordsAsked(tuple(f"w{number}" for number in range(count)), units)


def test_pieces_become_words_and_small_words_are_dropped() -> None:
    """Pieces of one word count together; function words and signs do not count."""
    states = np.eye(6, 96, dtype=np.float32)
    words = words_of(["the", "gar", "##den", "##ers", ",", "dig"], states, PROJECTION)
    assert words.words == ("gardeners", "dig")
    np.testing.assert_allclose(words.vectors[0][:6] * np.sqrt(3), [0, 1, 1, 1, 0, 0], atol=1e-6)
    assert words_of([",", "of"], states[:2], PROJECTION).words == ()
    assert words_of(["##ing"], states[:1], PROJECTION).words == ("##ing",)
    assert len(words_of(["word"] * (2 * MOST), np.ones((2 * MOST, 96), np.float32), PROJECTION).words) == MOST


@given(st.integers(0, 1_000), st.integers(1, 5), st.lists(st.integers(0, 6), max_size=6))
def test_the_nearest_word_is_that_of_an_exhaustive_search(seed: int, asked: int, sizes: list[int]) -> None:
    """Packed in a byte a dimension each cosine stays within 0.02 of the exact one; a text without words has 0."""
    question = some(seed, asked)
    texts = [some(seed + 1 + number, size) for number, size in enumerate(sizes)]
    found = nearest(question, [packed(text) for text in texts])
    assert found.shape == (len(texts), asked)
    for row, text in zip(found, texts, strict=True):
        exact = (question.vectors @ text.vectors.T).max(axis=1) if len(text.vectors) else np.zeros(asked)
        np.testing.assert_allclose(row, exact, atol=0.02)


def test_a_word_takes_a_byte_a_dimension() -> None:
    """What is kept of a text is as long as its words times the width, and nothing of none."""
    assert len(packed(some(1, 7))) == 7 * WIDTH
    assert packed(no_words()) == b""


def test_names_are_dropped_unless_nothing_else_is_asked() -> None:
    """Who is meant is no word of the question."""
    asked = some(1, 3)
    assert asked.without({"w1"}).words == ("w0", "w2")
    assert asked.without({"w0", "w1", "w2"}) is asked


def test_neighbours_count_for_less() -> None:
    """A word that only a neighbour has counts its part, and no more than one's own."""
    own = np.array([[0.5, 0.0]])
    assert beside(own, np.array([[0.0, 1.0]]), np.zeros((1, 2)))[0] == (0.5 + BEFORE) / 2
    assert beside(own, np.zeros((1, 2)), np.array([[0.1, 1.0]]))[0] == (0.5 + AFTER) / 2
