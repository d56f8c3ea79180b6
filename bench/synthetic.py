"""Makes up memories of any size from a seed: Zipf text, clustered vectors, questions, homes on disk.

Words follow Zipf's law with the exponent of English prose; vectors lie in clusters of a low latent rank, as those
of sentence models do. Recall on such vectors is optimistic; times are not.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path

import numpy as np

import memoranda
from memoranda.domain.scope import Scope
from memoranda.memory import Memory
from memoranda.ports import Vector

DIMENSIONS = 384
RANK = 48
CLUSTERS = 2_000
NOISE = 0.35
VOCABULARY = 20_000
ZIPF = 1.07
STOP_RANKS = 150
"""Most frequent words, which stand for stop words: texts hold them, questions that reach the index do not."""

WORDS = 40
FILE_RECORDS = 100

_SYLLABLES = [consonant + vowel for consonant in "bdfghjklmnprstvwz" for vowel in "aeiou"]
_NUMBER = re.compile(r"\bn(\d+)\b")


@dataclass(frozen=True)
class Question:
    """Four words, one of them frequent, and a vector near that of one record."""

    text: str
    vector: Vector


class Corpus:
    """So many records with their vectors; the text of record 17 holds the word `n17`."""

    def __init__(self, count: int, seed: int = 1) -> None:
        self._random = random.Random(seed)
        self._words = list(dict.fromkeys(self._word() for _ in range(2 * VOCABULARY)))[:VOCABULARY]
        self._stop_words = frozenset(self._words[:STOP_RANKS])
        self._shares = list(accumulate(1 / rank**ZIPF for rank in range(1, VOCABULARY + 1)))
        self.texts = [self._text(number) for number in range(count)]
        self.vectors = _clustered(count, np.random.default_rng(seed))

    def _word(self) -> str:
        return "".join(self._random.choices(_SYLLABLES, k=self._random.randint(2, 4)))

    def _text(self, number: int) -> str:
        words = self._random.choices(self._words, cum_weights=self._shares, k=WORDS)
        return f"{' '.join(words).capitalize()} n{number}."

    def questions(self, count: int, *, among: int | None = None) -> list[Question]:
        """Return questions, each about one record (of the first `among`)."""
        rng = np.random.default_rng(self._random.randrange(1 << 30))
        found = []
        for _ in range(count):
            number = self._random.randrange(among or len(self.texts))
            rare = [word for word in self.texts[number].lower().split()[:-1] if word not in self._stop_words]
            words = [*rare[:3], self._words[STOP_RANKS]]
            vector = self.vectors[number] + rng.standard_normal(DIMENSIONS).astype(np.float32) * 0.02
            found.append(Question(" ".join(words), (vector / np.linalg.norm(vector)).astype(np.float32)))
        return found


def _clustered(count: int, rng: np.random.Generator) -> Vector:
    basis = rng.standard_normal((RANK, DIMENSIONS)).astype(np.float32)
    centres = rng.standard_normal((CLUSTERS, RANK)).astype(np.float32)
    vectors = np.empty((count, DIMENSIONS), np.float32)
    for start in range(0, count, 10_000):
        stop = min(start + 10_000, count)
        latent = centres[rng.integers(0, CLUSTERS, stop - start)]
        latent += NOISE * rng.standard_normal(latent.shape).astype(np.float32)
        vectors[start:stop] = latent @ basis
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors


@dataclass
class MadeUpEmbedder:
    """Knows the vectors of a corpus and of its questions; takes no time, so that only the store is measured."""

    corpus: Corpus
    known: dict[str, Vector] = field(default_factory=dict)
    identity: str = "made-up"
    dimensions: int = DIMENSIONS
    weight: float = 0.4
    texts: int = 0

    def embed_documents(self, texts: Sequence[str]) -> Vector:
        """Return the vectors of records, recognised by their number."""
        self.texts += len(texts)
        return self.corpus.vectors[[_number(text) for text in texts]]

    def embed_query(self, text: str) -> Vector:
        """Return the vector of a question that was learnt."""
        return self.known[text]

    def learn(self, questions: Sequence[Question]) -> None:
        """Remember the vectors of questions."""
        self.known.update({question.text: question.vector for question in questions})


def _number(text: str) -> int:
    found = _NUMBER.search(text)
    if found is None:
        raise ValueError("this text is not of a made-up corpus")
    return int(found[1])


def write_notes(folder: Path, texts: Sequence[str]) -> None:
    """Write records as paragraphs into files of a hundred below a workspace's `memory` folder."""
    (folder / "memory").mkdir(parents=True, exist_ok=True)
    for start in range(0, len(texts), FILE_RECORDS):
        body = "\n\n".join(texts[start : start + FILE_RECORDS])
        note = folder / "memory" / f"part{start // FILE_RECORDS}.md"
        note.write_text(f"# Part {start // FILE_RECORDS}\n\n{body}\n", encoding="utf-8")


def embed(memory: Memory, scope: Scope, embedder: MadeUpEmbedder) -> None:
    """Give a scope its vectors in large batches."""
    index = memory._parts.stores.index  # noqa: SLF001 - the product embeds in small batches, between which it can stop
    waiting = index.pending(scope, embedder.identity, 10_000_000)
    for start in range(0, len(waiting), 20_000):
        part = waiting[start : start + 20_000]
        vectors = embedder.embed_documents([text for _, text in part])
        index.put_vectors(scope, embedder.identity, [key for key, _ in part], vectors)


def one_agent(home: Path, corpus: Corpus) -> tuple[Memory, MadeUpEmbedder]:
    """Make a home whose agent `main` holds a whole corpus: files, ledger, index and vectors."""
    write_notes(home, corpus.texts)
    embedder = MadeUpEmbedder(corpus)
    memory = memoranda.open(home, embedder=embedder)
    memory.sync(agents=["main"])
    embed(memory, Scope("agent", "main"), embedder)
    return memory, embedder


def agent_names(count: int) -> Iterator[str]:
    """Yield agent ids."""
    return (f"a{number}" for number in range(count))
