"""Measures how well recall finds, keyword alone against the default, on questions with known answers.

    python bench/quality.py DATA... [--embedder minilm] [--cache FILE]

A folder is BEIR-shaped (`corpus.jsonl`, `queries.jsonl`, `qrels.tsv`) or holds `eval-docs/*.md` with
`bench-example.json` and `eval-deep-research.jsonl`. Paragraphs become records of one scope; everything runs
through the built-in index and `recall`. Differences come with a paired bootstrap over questions.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import random
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from memoranda.adapters.registry import open_embedder
from memoranda.adapters.sqlite.embedding_cache import SqliteEmbeddingCache
from memoranda.adapters.sqlite.index import SqliteIndex
from memoranda.domain.markdown import parse
from memoranda.domain.passage import Passage
from memoranda.domain.passages import passages_of
from memoranda.domain.query import Grain, Mode, Query
from memoranda.domain.record import Record
from memoranda.domain.scope import APPLICATION, Scope, Viewer
from memoranda.ports import Embedder
from memoranda.services.embedding import embed_pending
from memoranda.services.recall import recall

SCOPE = Scope("agent", "bench")
VIEWER = Viewer(APPLICATION, SCOPE, frozenset({SCOPE}))
NOW = "2026-01-01T00:00:00.000000+00:00"
METRICS = ("R@10", "nDCG@10", "MRR", "Hit@1", "Hit@3")
SAMPLES = 2_000

Scores = dict[str, float]


@dataclass(frozen=True)
class Question:
    """A question with the ids that answer it."""

    text: str
    gold: frozenset[str]


@dataclass(frozen=True)
class Collection:
    """Passages to search, questions, and the grain at which answers count."""

    name: str
    passages: tuple[Passage, ...]
    questions: tuple[Question, ...]
    grain: Grain


def load(folder: Path) -> Iterator[Collection]:
    """Yield the collections of a folder of either shape."""
    if (folder / "corpus.jsonl").exists():
        yield _load_beir(folder)
    else:
        yield from _load_documents(folder)


def _lines(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def _record(ident: str, path: str, heading: tuple[str, ...] = ()) -> Record:
    return Record(id=ident, scope=SCOPE, path=path, block_hash="", heading=heading, author=APPLICATION, recorded_at=NOW)


def _load_beir(folder: Path) -> Collection:
    passages = [
        passage
        for row in _lines(folder / "corpus.jsonl")
        for passage in passages_of(_record(row["_id"], "memory/corpus.md"), row["text"], row.get("title", ""))
    ]
    gold: dict[str, set[str]] = {}
    for line in (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        question, document, score = line.split("\t")
        if int(score) > 0:
            gold.setdefault(question, set()).add(document)
    questions = [
        Question(row["text"], frozenset(gold[row["_id"]]))
        for row in _lines(folder / "queries.jsonl")
        if row["_id"] in gold
    ]
    return Collection(folder.name, tuple(passages), tuple(questions), "passage")


def _load_documents(folder: Path) -> Iterator[Collection]:
    passages: list[Passage] = []
    names = []
    for path in sorted((folder / "eval-docs").glob("*.md")):
        document = parse(path.read_text(encoding="utf-8"))
        names.append(path.name)
        for number, block in enumerate(document.blocks):
            record = _record(f"{path.stem}-{number}", f"memory/{path.name}", block.heading)
            passages += passages_of(record, block.text, document.title or path.stem)
    hard = [
        Question(row["query"], frozenset(name for name in names if row["expected_doc"] in name))
        for row in _lines(folder / "eval-deep-research.jsonl")
    ]
    yield Collection(f"{folder.name} hard", tuple(passages), tuple(hard), "file")
    example = json.loads((folder / "bench-example.json").read_text(encoding="utf-8"))["queries"]
    easy = [Question(row["query"], frozenset(row["expected_files"])) for row in example]
    yield Collection(f"{folder.name} example", tuple(passages), tuple(easy), "file")


def build(collection: Collection, root: Path, embedder: Embedder | None, cache: Path | None) -> SqliteIndex:
    """Index a collection under `root` and embed it where there is an embedder."""
    index = SqliteIndex(root)
    index.put(SCOPE, collection.passages)
    if embedder is not None:
        known = None
        if cache is not None:
            known = SqliteEmbeddingCache(cache, lambda text: hashlib.sha256(text.encode()).digest())
        embed_pending(index, embedder, known, SCOPE)
        if known is not None:
            known.close()
    return index


def measure(
    collection: Collection,
    index: SqliteIndex,
    embedder: Embedder | None,
    mode: Mode,
    *,
    min_score: float = 0.0,
) -> list[Scores]:
    """Return the scores of every question; what the relevance bar holds back counts as not found."""
    rows = []
    for question in collection.questions:
        query = Query(text=question.text, limit=10, grain=collection.grain, mode=mode, min_score=min_score)
        result = recall(
            VIEWER,
            query,
            index=index,
            embedder=embedder,
            clock_now=lambda: NOW,
            locate=lambda _record, _text: (1, 1),
        )
        by_file = collection.grain == "file"
        found = [hit.path.removeprefix("memory/") if by_file else hit.record_id for hit in result.hits]
        rows.append(score(found, question.gold))
    return rows


def held_back(
    collection: Collection,
    index: SqliteIndex,
    embedder: Embedder | None,
    mode: Mode,
    *,
    without_bar: Sequence[Scores],
) -> int:
    """Count the questions, all of which have an answer, that the default relevance bar leaves without one."""
    rows = measure(collection, index, embedder, mode, min_score=Query(text="").min_score)
    return sum(1 for row, free in zip(rows, without_bar, strict=True) if row != free)


def score(found: Sequence[str], gold: frozenset[str]) -> Scores:
    """Return recall, nDCG with binary gains, reciprocal rank and hits of one ranked answer."""
    ranks = [rank for rank, ident in enumerate(found[:10], 1) if ident in gold]
    ideal = sum(1 / math.log2(rank + 1) for rank in range(1, min(len(gold), 10) + 1))
    return {
        "R@10": len(ranks) / len(gold),
        "nDCG@10": sum(1 / math.log2(rank + 1) for rank in ranks) / ideal,
        "MRR": 1 / ranks[0] if ranks else 0.0,
        "Hit@1": float(1 in ranks),
        "Hit@3": float(any(rank <= 3 for rank in ranks)),
    }


def mean(rows: Sequence[Scores], metric: str) -> float:
    """Return the mean of one metric over questions."""
    return sum(row[metric] for row in rows) / len(rows)


def bootstrap(base: Sequence[Scores], other: Sequence[Scores], metric: str) -> tuple[float, float, float]:
    """Return (difference, 2.5 %, 97.5 %) of `other` over `base`, resampling questions in pairs."""
    differences = [b[metric] - a[metric] for a, b in zip(base, other, strict=True)]
    generator = random.Random(7)
    means = sorted(sum(generator.choices(differences, k=len(differences))) / len(differences) for _ in range(SAMPLES))
    return sum(differences) / len(differences), means[SAMPLES // 40], means[-SAMPLES // 40]


def report(collection: Collection, index: SqliteIndex, embedder: Embedder | None) -> None:
    """Print the table of one collection."""
    print(f"\n{collection.name}: {len(collection.passages)} passages, {len(collection.questions)} questions")
    print("  " + " ".join(f"{name:>9}" for name in ("", *METRICS, "ms", "held back")))
    modes: tuple[tuple[str, Mode], ...] = (("keyword", "keyword"), ("default", "hybrid"))
    results: dict[str, list[Scores]] = {}
    for name, mode in modes if embedder is not None else modes[:1]:
        start = time.perf_counter()
        rows = results[name] = measure(collection, index, embedder, mode)
        spent = (time.perf_counter() - start) * 1000 / len(rows)
        held = held_back(collection, index, embedder, mode, without_bar=rows)
        print(f"  {name:>9} " + " ".join(f"{mean(rows, m):9.4f}" for m in METRICS) + f" {spent:9.2f} {held:9}")
    if "default" in results:
        for metric in METRICS:
            gain, low, high = bootstrap(results["keyword"], results["default"], metric)
            print(f"  default - keyword, {metric}: {gain:+.4f} [{low:+.4f}, {high:+.4f}]")


def main() -> None:
    """Measure every folder and print one table per collection."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="+", type=Path)
    parser.add_argument("--embedder", default="minilm", help="address of the embedder, or none")
    parser.add_argument("--cache", type=Path, help="keep vectors in this file between runs")
    options = parser.parse_args()
    embedder = open_embedder(options.embedder)
    for collection in (found for folder in options.data for found in load(folder)):
        with tempfile.TemporaryDirectory() as root:
            index = build(collection, Path(root), embedder, options.cache)
            report(collection, index, embedder)
            index.close()


if __name__ == "__main__":
    main()
