# ruff: noqa: S101 - assert is how a suite speaks
"""The conformance suite of the Embedder port, for the built-in embedders and for plugin authors.

Subclass `EmbedderSuite` in a test module, return your embedder from `make`, and let pytest collect it:

    class TestMine(EmbedderSuite):
        def make(self) -> Embedder:
            return open_embedder("mine:large")
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from memoranda.domain.word_vectors import WIDTH, nearest
from memoranda.ports import ByWord, Embedder, Vector

ODD_TEXTS = (
    "",
    " \t\r\n",
    "\x00",
    "\ud800",
    "🙂👩‍👩‍👧",
    "שלום עולם مرحبا",
    "記憶は力なり",
    "[CLS] [SEP] [PAD]",
    "!?…—",
    "a" * 100_000,
    "one word after another " * 4_500,
)
"""Texts that break careless embedders: empty, control and lone surrogate characters, many scripts, 100 KB."""

_ORDINARY = ("The cat sleeps in the sun.", "Deploys run every Tuesday at nine.", "Ann prefers tea to coffee.")
_TOLERANCE = 1e-4


class EmbedderSuite:
    """What every embedder must do; each test states one fact of the port."""

    def make(self) -> Embedder:
        """Return a fresh embedder of the kind under test."""
        raise NotImplementedError

    def test_documents_are_unit_float32_rows(self) -> None:
        """N texts give N rows of unit length, float32, of the promised length."""
        embedder = self.make()
        rows = embedder.embed_documents(_ORDINARY)
        assert rows.shape == (len(_ORDINARY), embedder.dimensions)
        assert_units(rows)

    def test_a_query_is_one_unit_vector(self) -> None:
        """A question gives one vector of unit length, float32, of the promised length."""
        embedder = self.make()
        vector = embedder.embed_query("Who likes tea?")
        assert vector.shape == (embedder.dimensions,)
        assert_units(vector[np.newaxis])

    def test_no_texts_give_no_rows(self) -> None:
        """An empty list gives shape (0, dimensions), and one text gives one row."""
        embedder = self.make()
        assert embedder.embed_documents([]).shape == (0, embedder.dimensions)
        assert embedder.embed_documents([]).dtype == np.float32
        assert embedder.embed_documents(["x"]).shape == (1, embedder.dimensions)

    def test_odd_texts_are_embedded(self) -> None:
        """Empty, control, surrogate, right-to-left, emoji and 100 KB texts give unit vectors too."""
        embedder = self.make()
        assert_units(embedder.embed_documents(ODD_TEXTS))
        for text in ODD_TEXTS:
            assert_units(embedder.embed_query(text)[np.newaxis])

    def test_the_same_text_gives_the_same_vector(self) -> None:
        """A second embedder and a second call agree, and another text differs."""
        first, second = self.make(), self.make()
        one = first.embed_documents(_ORDINARY)
        np.testing.assert_allclose(one, first.embed_documents(_ORDINARY), atol=_TOLERANCE)
        np.testing.assert_allclose(one, second.embed_documents(_ORDINARY), atol=_TOLERANCE)
        assert float(one[0] @ one[1]) < 1.0 - _TOLERANCE

    def test_neighbours_in_a_batch_change_nothing(self) -> None:
        """A text's vector does not depend on order or company, and rows come in the order of the texts."""
        embedder = self.make()
        together = embedder.embed_documents(_ORDINARY)
        backwards = embedder.embed_documents(tuple(reversed(_ORDINARY)))
        np.testing.assert_allclose(together, backwards[::-1], atol=_TOLERANCE)
        np.testing.assert_allclose(together[1], embedder.embed_documents(_ORDINARY[1:2])[0], atol=_TOLERANCE)

    def test_queries_and_documents_share_a_space(self) -> None:
        """A text as a question is nearest to itself as a document."""
        embedder = self.make()
        rows = embedder.embed_documents(_ORDINARY)
        for number, text in enumerate(_ORDINARY):
            assert int(np.argmax(rows @ embedder.embed_query(text))) == number

    def test_identity_is_stable(self) -> None:
        """The identity is a non-empty line, the same for a second embedder and after use."""
        first, second = self.make(), self.make()
        before = first.identity
        first.embed_query("anything")
        assert before
        assert before == before.strip()
        assert "\n" not in before
        assert first.identity == second.identity == before

    def test_weight_is_a_share(self) -> None:
        """The weight of the vector arm is between 0 and 1."""
        assert 0.0 <= self.make().weight <= 1.0

    def test_words_come_with_the_same_vectors(self) -> None:
        """Where an embedder knows words, texts have the same vectors with them, and a question its own words."""
        embedder = self.make()
        if not isinstance(embedder, ByWord):
            return
        rows, words = embedder.embed_documents_by_word((*_ORDINARY, ""))
        np.testing.assert_allclose(rows, embedder.embed_documents((*_ORDINARY, "")), atol=_TOLERANCE)
        vector, asked = embedder.embed_query_by_word(_ORDINARY[0])
        np.testing.assert_allclose(vector, rows[0], atol=_TOLERANCE)
        if not words:
            assert not asked.words
            return
        assert [len(said) % WIDTH for said in words] == [0, 0, 0, 0]
        assert int(np.argmax(nearest(asked, words).mean(axis=1))) == 0
        assert_units(asked.vectors)

    def test_threads_agree(self) -> None:
        """Four threads that share a fresh embedder get the vectors that one thread gets."""
        texts = [f"{text} {number}" for number in range(6) for text in _ORDINARY]
        shared = self.make()
        with ThreadPoolExecutor(4) as pool:
            parallel = list(pool.map(shared.embed_query, texts))
        other = self.make()
        alone = [other.embed_query(text) for text in texts]
        np.testing.assert_allclose(np.stack(parallel), np.stack(alone), atol=_TOLERANCE)


def assert_units(rows: Vector) -> None:
    """Fail unless every row is finite, float32 and of unit length."""
    assert rows.dtype == np.float32
    assert bool(np.isfinite(rows).all())
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, atol=_TOLERANCE)
