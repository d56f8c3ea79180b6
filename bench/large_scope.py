"""Measures one large scope: hybrid recall against streaming every vector out of SQLite, and how exact the scan is.

    python bench/large_scope.py [--sizes 100000 1000000] [--small]

The index is the built-in one, filled through its port, and asked through `recall`; the stream reads the vectors of the
very same table in batches of 2,000 and keeps the best fifty. Cold is the first search of another process's index: with
the file of vectors there, and without. Quality is the share of the exact ten and fifty nearest that the scan finds.
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
import time
from functools import partial
from pathlib import Path

import apsw
import numpy as np

from measuring import Run, Samples, interleave, ratio, table
from memoranda.adapters.sqlite.index import SqliteIndex
from memoranda.domain.passages import passages_of
from memoranda.domain.query import Filters, Query
from memoranda.domain.record import Record
from memoranda.domain.scope import APPLICATION, Scope, Viewer
from memoranda.ports import Vector
from memoranda.services.recall import recall
from synthetic import Corpus, MadeUpEmbedder, Question

SCOPE = Scope("agent", "bench")
VIEWER = Viewer(APPLICATION, SCOPE, frozenset({SCOPE}))
NOW = "2026-01-01T00:00:00.000000+00:00"
AT_ONCE, STREAM_BATCH, NEAREST = 5_000, 2_000, 50
FILTERS = Filters(valid_at=NOW)


def fill(index: SqliteIndex, corpus: Corpus, embedder: MadeUpEmbedder) -> None:
    """Put every record of a corpus and its vector."""
    for start in range(0, len(corpus.texts), AT_ONCE):
        passages = []
        for number in range(start, min(start + AT_ONCE, len(corpus.texts))):
            path = f"memory/{number // 100}.md"
            record = Record(
                id=f"rec_{number:08}", scope=SCOPE, path=path, block_hash="", author=APPLICATION, recorded_at=NOW
            )
            passages += passages_of(record, corpus.texts[number], "")
        index.put(SCOPE, passages)
        waiting = index.pending(SCOPE, embedder.identity, AT_ONCE)
        vectors = embedder.embed_documents([text for _, text in waiting])
        index.put_vectors(SCOPE, embedder.identity, [key for key, _ in waiting], vectors)


def ask(index: SqliteIndex, embedder: MadeUpEmbedder, question: Question) -> object:
    """Search by words and meaning, as an agent does."""
    return recall(
        VIEWER, Query(text=question.text), index=index, embedder=embedder, clock_now=lambda: NOW,
        locate=lambda _record, _text: (1, 1),
    )  # fmt: skip


def stream(connection: apsw.Connection, query: Vector) -> list[tuple[float, int]]:
    """Return the nearest by reading every vector out of the table."""
    rows = connection.execute("SELECT key, vector FROM vectors")
    best: list[tuple[float, int]] = []
    while batch := list(itertools.islice(rows, STREAM_BATCH)):
        matrix = np.frombuffer(b"".join(blob for _, blob in batch), np.float32).reshape(len(batch), -1)
        found = zip((matrix @ query).tolist(), (key for key, _ in batch), strict=True)
        best = sorted([*best, *found], key=lambda item: (-item[0], item[1]))[:NEAREST]
    return best


def one_size(folder: Path, size: int, count: int, large: int) -> None:
    """Measure one size of a scope."""
    corpus = Corpus(size)
    embedder = MadeUpEmbedder(corpus)
    index = SqliteIndex(folder / "index", large=large)
    began = time.perf_counter()
    fill(index, corpus, embedder)
    print(f"\n{size:,} passages: index made in {time.perf_counter() - began:.0f} s", flush=True)
    questions = corpus.questions(count)
    embedder.learn(questions)
    first = Samples("first search, the file of vectors is written")
    first.time(partial(ask, index, embedder, questions[0]))
    index.close()
    again = Samples("first search of another process")
    for question in questions[:5]:
        other = SqliteIndex(folder / "index", large=large)
        again.time(partial(ask, other, embedder, question))
        other.close()
    database = next((folder / "index").glob("*/index.db"))
    connection = apsw.Connection(str(database))
    connection.execute("PRAGMA mmap_size=268435456")
    rows = {name: Samples(name) for name in ("hybrid recall", "vector arm", "every vector streamed")}
    for question in questions[:3]:
        ask(index, embedder, question)
        stream(connection, question.vector)
    arm = partial(index.search_vector, SCOPE, embedder.identity, limit=NEAREST, filters=FILTERS)
    rounds: list[list[tuple[Samples, Run]]] = []
    for number, question in enumerate(questions):
        things: list[tuple[Samples, Run]] = [
            (rows["hybrid recall"], partial(ask, index, embedder, question)),
            (rows["vector arm"], partial(arm, query=question.vector)),
        ]
        if number < max(count // 4, 3):
            things.append((rows["every vector streamed"], partial(stream, connection, question.vector)))
        rounds.append(things)
    interleave(rounds)
    table(f"One scope of {size:,} passages", [first, again, *rows.values()])
    print()
    print(ratio(rows["every vector streamed"], rows["hybrid recall"]))
    print(ratio(rows["every vector streamed"], rows["vector arm"]))
    quality(index, embedder, corpus, questions)
    connection.close()
    index.close()


def quality(index: SqliteIndex, embedder: MadeUpEmbedder, corpus: Corpus, questions: list[Question]) -> None:
    """Print what share of the exact nearest the scan finds."""
    shares: dict[int, list[float]] = {10: [], NEAREST: []}
    for question in questions:
        scores = corpus.vectors @ question.vector
        found = index.search_vector(SCOPE, embedder.identity, question.vector, NEAREST, FILTERS) or ()
        for limit, held in shares.items():
            bar = float(np.partition(scores, len(scores) - limit)[len(scores) - limit]) - 1e-5
            held.append(sum(cosine >= bar for _, cosine in found[:limit]) / limit)
    shown = ", ".join(f"{np.mean(held):.4f} of the nearest {limit}" for limit, held in shares.items())
    print(f"the scan finds {shown}")


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--small", action="store_true", help="a few hundred passages: a smoke test")
    options = parser.parse_args()
    for size in [600] if options.small else options.sizes:
        with tempfile.TemporaryDirectory() as folder:
            one_size(Path(folder), size, 8 if options.small else 40, 100 if options.small else 20_000)


if __name__ == "__main__":
    main()
