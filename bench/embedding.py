"""Measures how fast the default embedder is in several ways of running it, and that all give the same vectors.

    python bench/embedding.py [--small]

"Plain" is a loop of one text at a time on one thread. Batches are padded to the longest text of each, in the order of
the texts or sorted by length; threads are those inside the runtime; workers run texts beside each other, in threads of
this process or in processes of their own. Everything is run by turns over the same texts.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np

from measuring import Run, Samples, interleave, ratio, table
from memoranda.adapters.embedders.minilm import MiniLMEmbedder, _open_session, _open_tokenizer
from memoranda.ports import Vector
from synthetic import Corpus

BATCH = 16
LENGTHS = (6, 15, 15, 40, 40, 150)
"""Words of a text, drawn for each: turns and notes."""

Embed = Callable[[Sequence[str]], Vector]


def made_up(count: int) -> list[str]:
    """Return texts of several lengths."""
    drawn = random.Random(1)
    words = " ".join(Corpus(200).texts).split()
    return [" ".join(drawn.choices(words, k=drawn.choice(LENGTHS))) for _ in range(count)]


def batched(texts: Sequence[str], *, by_length: bool, threads: int = 1) -> Vector:
    """Embed in padded batches, as sentence-transformers does; sorted by length the padding is small."""
    session, tokenizer = _open_session(threads), _open_tokenizer()
    encoded = [tokenizer.encode(text).ids for text in texts]
    order = sorted(range(len(texts)), key=lambda at: len(encoded[at])) if by_length else list(range(len(texts)))
    rows = np.empty((len(texts), MiniLMEmbedder.dimensions), np.float32)
    for start in range(0, len(order), BATCH):
        part = order[start : start + BATCH]
        width = max(len(encoded[at]) for at in part)
        ids, mask = np.zeros((2, len(part), width), np.int64)
        for row, at in enumerate(part):
            ids[row, : len(encoded[at])] = encoded[at]
            mask[row, : len(encoded[at])] = 1
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        states = np.asarray(session.run(["last_hidden_state"], feed)[0], np.float32)
        means = (states * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1)[:, None]
        rows[part] = means / np.linalg.norm(means, axis=1, keepdims=True)
    return rows


def plain(texts: Sequence[str]) -> Vector:
    """Embed one after the other, on one thread: also what a process of its own does."""
    return MiniLMEmbedder(workers=1).embed_documents(texts)


def in_processes(pool: ProcessPoolExecutor, texts: Sequence[str]) -> Vector:
    """Embed halves in two processes."""
    return np.concatenate(list(pool.map(plain, (texts[0::2], texts[1::2]))))


def agreement(ways: dict[str, Embed], texts: Sequence[str]) -> None:
    """Print how far the vectors of each way are from those of the plain loop."""
    right = ways["plain loop"](texts)
    for name, way in list(ways.items())[1:]:
        found = way(texts)
        if name == "2 processes":
            found = found[np.argsort([*range(0, len(texts), 2), *range(1, len(texts), 2)])]
        same = "the same to the bit" if np.array_equal(found, right) else "not the same"
        print(f"{name}: {same}, least cosine {float((found * right).sum(axis=1).min()):.7f}")


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="a few texts: a smoke test")
    options = parser.parse_args()
    texts, rounds = made_up(12 if options.small else 300), 2 if options.small else 5
    with ProcessPoolExecutor(2) as pool:
        ways: dict[str, Embed] = {
            "plain loop": plain,
            "2 workers, as shipped on two cores": MiniLMEmbedder(workers=2).embed_documents,
            "2 threads inside": MiniLMEmbedder(threads=2, workers=1).embed_documents,
            f"batches of {BATCH}": partial(batched, by_length=False),
            f"batches of {BATCH} by length": partial(batched, by_length=True),
            f"batches of {BATCH} by length, 2 threads inside": partial(batched, by_length=True, threads=2),
            "2 processes": partial(in_processes, pool),
        }
        for way in ways.values():
            way(texts[:8])
        rows = {name: Samples(name) for name in ways}
        things: list[list[tuple[Samples, Run]]] = [
            [(rows[name], partial(way, texts)) for name, way in ways.items()] for _ in range(rounds)
        ]
        interleave(things)
        table(f"{len(texts)} texts", list(rows.values()))
        print()
        for name in list(ways)[1:]:
            print(ratio(rows["plain loop"], rows[name]))
        print(f"plain loop: {len(texts) / rows['plain loop'].median * 1_000:.0f} texts a second")
        agreement(ways, texts)


if __name__ == "__main__":
    main()
