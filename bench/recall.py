"""Measures recall: latency at several sizes of one scope, and against the design that streams every vector.

    python bench/recall.py [--small]

Homes are real: files, ledger, index, through the public `search`. The embedder is made up and takes no time; a real
one adds the time of embedding the question, which is printed with `--minilm`.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from measuring import Run, Samples, interleave, ratio, table
from moltis_design import StreamedTable
from synthetic import Corpus, MadeUpEmbedder, Question, one_agent

from memoranda.adapters.registry import open_embedder
from memoranda.domain.query import Filters, Mode
from memoranda.domain.scope import Scope
from memoranda.memory import Memory

SIZES, SMALL_SIZES = (1_000, 10_000, 100_000), (200, 400)
MAIN = Scope("agent", "main")
MODES: tuple[Mode, ...] = ("hybrid", "keyword", "vector")
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
        print(ratio(rows["streamed vectors"], rows["vector arm"]))
        print(ratio(rows["streamed vectors and FTS5"], rows["hybrid"]))
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
    """Ask every question of everything, interleaved."""
    index = memory._parts.stores.index  # noqa: SLF001 - the arm alone is not public
    filters = Filters(valid_at=NOW)
    names = [*MODES, "vector arm", *(("streamed vectors", "streamed vectors and FTS5") if baseline else ())]
    rows = {name: Samples(f"{name}, {size:,}") for name in names}
    rounds: list[list[tuple[Samples, Run]]] = []
    for question in questions:
        things: list[tuple[Samples, Run]] = [
            (rows[mode], lambda q=question, m=mode: _ask(memory, q, m))
            for mode in MODES  # type: ignore[misc]
        ]
        things.append(
            (rows["vector arm"],
             lambda q=question: index.search_vector(MAIN, embedder.identity, q.vector, 50, filters))  # type: ignore[misc]
        )  # fmt: skip
        rounds.append(things)
    interleave(rounds)
    if baseline is not None:
        _measure_baseline(rows, questions, baseline, index_arm=rounds)
    return rows


def _measure_baseline(
    rows: dict[str, Samples],
    questions: list[Question],
    baseline: StreamedTable,
    index_arm: list[list[tuple[Samples, Run]]],
) -> None:
    """Ask the baseline a part of the questions, each beside the same question asked of ours."""
    rounds: list[list[tuple[Samples, Run]]] = []
    for question, ours in list(zip(questions, index_arm, strict=True))[:30]:
        streamed = (rows["streamed vectors"], lambda q=question: baseline.nearest(q.vector))
        whole = (rows["streamed vectors and FTS5"], lambda q=question: baseline.search(q.text, q.vector))
        rounds.append([*ours, streamed, whole])  # type: ignore[list-item]
    interleave(rounds, seed=2)


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
        rows.time(lambda q=question: embedder.embed_query(q.text))  # type: ignore[misc]
    table("Default embedder", [rows])


if __name__ == "__main__":
    main()
