"""Measures recall: latency at several sizes of one scope, and against the design that streams every vector.

    python bench/recall.py [--small]

Homes are real: files, ledger, index, through the public `search`. The embedder is made up and takes no time; a real
one adds the time of embedding the question, which is printed with `--minilm`.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np

from measuring import Run, Samples, interleave, ratio, table
from memoranda.adapters.registry import open_embedder
from memoranda.domain.query import Filters, Mode
from memoranda.domain.scope import Scope
from memoranda.memory import Memory
from moltis_design import StreamedTable
from synthetic import Corpus, MadeUpEmbedder, Question, one_agent

SIZES, SMALL_SIZES = (1_000, 10_000, 100_000), (200, 400)
MAIN = Scope("agent", "main")
MODES: tuple[Mode, ...] = ("hybrid", "keyword", "vector")
ARM, STREAMED, WHOLE = "vector arm", "streamed vectors", "streamed vectors and FTS5"
STREAMED_QUESTIONS = 40
NOW = "2026-01-01T00:00:00.000000+00:00"


def main() -> None:
    """Print a table for each size, and the comparison at the largest."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="a few hundred records: a smoke test")
    parser.add_argument("--minilm", action="store_true", help="also time the default embedder on a question")
    arguments = parser.parse_args()
    sizes, count = (SMALL_SIZES, 6) if arguments.small else (SIZES, 150)
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            one_size(Path(folder), size, count, compare=size == sizes[-1])
    if arguments.minilm:
        question_time(count)


def one_size(folder: Path, size: int, count: int, *, compare: bool) -> None:
    """Measure one size of a scope."""
    corpus = Corpus(size)
    began = time.perf_counter()
    memory, embedder = one_agent(folder / "home", corpus)
    print(f"\n{size:,} records: files, ledger, index and vectors made in {time.perf_counter() - began:.1f} s")
    questions = corpus.questions(count)
    embedder.learn(questions)
    baseline = StreamedTable(folder / "baseline.db", corpus.texts, corpus.vectors) if compare else None
    cold = Samples(f"first hybrid search of a process, {size:,}")
    cold.time(lambda: memory.agent("main").search(questions[0].text))
    for question in questions[:5]:
        _ask(memory, question, "hybrid")
    rows = _measure(memory, embedder, questions, size, baseline)
    table(f"One scope of {size:,} records", [cold, *rows.values()])
    _parts(memory, questions)
    if baseline is not None:
        print()
        print(ratio(rows[STREAMED], rows[ARM]))
        print(ratio(rows[WHOLE], rows["hybrid"]))
        baseline.close()
    memory.close()


def _ask(memory: Memory, question: Question, mode: Mode) -> object:
    return memory.agent("main").search(question.text, mode=mode)


def _measure(
    memory: Memory,
    embedder: MadeUpEmbedder,
    questions: list[Question],
    size: int,
    baseline: StreamedTable | None,
) -> dict[str, Samples]:
    """Ask every question of everything, interleaved; the baseline a part of them, each beside ours."""
    search = memory._parts.stores.index.search_vector  # noqa: SLF001 - the arm alone is not public
    filters = Filters(valid_at=NOW)
    rows = {name: Samples(f"{name}, {size:,}") for name in (*MODES, ARM, *((STREAMED, WHOLE) if baseline else ()))}
    rounds: list[list[tuple[Samples, Run]]] = []
    for number, question in enumerate(questions):
        things: list[tuple[Samples, Run]] = [(rows[mode], partial(_ask, memory, question, mode)) for mode in MODES]
        things.append((rows[ARM], partial(search, MAIN, embedder.identity, question.vector, 50, filters)))
        if baseline is not None and number < STREAMED_QUESTIONS:
            things.append((rows[STREAMED], partial(baseline.nearest, question.vector)))
            things.append((rows[WHOLE], partial(baseline.search, question.text, question.vector)))
        rounds.append(things)
    interleave(rounds)
    if baseline is not None:
        ours = search(MAIN, embedder.identity, questions[0].vector, 50, filters) or ()
        theirs = baseline.nearest(questions[0].vector)
        if not np.allclose([cosine for _, cosine in ours], [cosine for _, cosine in theirs], atol=1e-5):
            raise RuntimeError("the two do not find the same")
    return rows


def _parts(memory: Memory, questions: list[Question]) -> None:
    """Print where the time of a hybrid search goes, by the search's own trace."""
    sums: dict[str, list[float]] = {}
    for question in questions:
        for name, milliseconds in memory.agent("main").search(question.text).trace.milliseconds:
            sums.setdefault(name, []).append(milliseconds)
    middle = {name: sorted(values)[len(values) // 2] for name, values in sums.items()}
    print("\nparts of a hybrid search, p50 ms: " + ", ".join(f"{name} {value:.2f}" for name, value in middle.items()))


def question_time(count: int) -> None:
    """Print what the default embedder takes for one question."""
    embedder = open_embedder("minilm")
    if embedder is None:
        return
    embedder.embed_query("a question to warm up")
    rows = Samples("embedding a question with minilm")
    for question in Corpus(count).questions(count):
        rows.time(partial(embedder.embed_query, question.text))
    table("Default embedder", [rows])


if __name__ == "__main__":
    main()
