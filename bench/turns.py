"""Measures ranking of turns with their neighbours against a plain FTS5 OR query over the same turns.

    python bench/turns.py [--said LOCOMO.json] [--sizes 10000 100000] [--small]

Turns are in sessions of twenty-five: made up, one in five a short question, and questions of three rare words and a
common one; or what people said, again and again with a word of its own each, and the questions about it. The storage
part is what the index and the arrays do for a question (postings, cosines, all scores, the best sixty with the vectors
of their words); the whole recall adds what turns those into hits. The FTS5 queries ask a table of its own (porter
stems, the scope as a column that is matched) for any word of the question, or any that is no stop word, the best twenty
by rank. The embedder takes no time. Everything is asked by turns.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import apsw
import numpy as np

from dialogue import said, sessions_of
from measuring import Run, Samples, interleave, ratio, table
from memoranda.adapters.sqlite.index import SqliteIndex
from memoranda.domain.passage import Turn
from memoranda.domain.passages import passages_of
from memoranda.domain.query import Filters, Query
from memoranda.domain.record import Record
from memoranda.domain.scope import APPLICATION, Scope, Viewer
from memoranda.domain.stopwords import STOP_WORDS
from memoranda.domain.word_vectors import WIDTH, WordsAsked, packed
from memoranda.domain.words import analyse, parse_query
from memoranda.ports import Vector
from memoranda.ports.log import LogMark
from memoranda.services.meaning import Meaning
from memoranda.services.recall import recall
from memoranda.services.recall_turns import turn_candidates
from synthetic import DIMENSIONS, Corpus, Question

SCOPE = Scope("agent", "bench")
VIEWER = Viewer(APPLICATION, SCOPE, frozenset({SCOPE}))
NOW = "2026-01-01T00:00:00.000000+00:00"
SESSION, SAID, AT_ONCE = 25, 14, 5_000
"""Turns of a session, words of a turn, turns put at a time."""

PLAIN, INFORMED = "FTS5, any word", "FTS5, any word that is no stop word"
IDENTITY, WEIGHT = "made-up", 0.4


@dataclass
class Talker:
    """A made-up embedder that knows words, and takes no time."""

    known: dict[str, Vector] = field(default_factory=dict)
    identity: str = IDENTITY
    dimensions: int = DIMENSIONS
    weight: float = WEIGHT

    def embed_query(self, text: str) -> Vector:
        """Return the vector of a question that was learnt."""
        return self.known[text]

    def embed_query_by_word(self, text: str) -> tuple[Vector, WordsAsked]:
        """Return it with vectors of its words."""
        return self.known[text], words(len(text), len(text.split()))

    def embed_documents(self, texts: list[str]) -> Vector:
        """Embed nothing: vectors are put by hand."""
        raise NotImplementedError

    embed_documents_by_word = embed_documents


def words(seed: int, count: int) -> WordsAsked:
    """Return so many made-up words."""
    rows = np.random.default_rng(seed).standard_normal((count, WIDTH)).astype(np.float32)
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return WordsAsked(tuple(f"w{number}" for number in range(count)), units)


def made_up(corpus: Corpus) -> list[str]:
    """Return short turns of a corpus, one in five a question."""
    turns = [" ".join(text.split()[-SAID:]) for text in corpus.texts]
    return [f"{text.removesuffix('.')}?" if number % 5 == 0 else text for number, text in enumerate(turns)]


def natural(path: Path, size: int, corpus: Corpus, count: int) -> tuple[list[str], list[Question]]:
    """Return what people said, as often as it takes, and questions with vectors of the corpus."""
    data = json.loads(path.read_text(encoding="utf-8"))
    turns = [said(turn) for sample in data for _, _, session in sessions_of(sample["conversation"]) for turn in session]
    asked = [item["question"] for sample in data for item in sample["qa"]]
    drawn = random.Random(1).sample(asked, count)
    return [f"{turns[number % len(turns)]} n{number}" for number in range(size)], [
        Question(text, question.vector) for text, question in zip(drawn, corpus.questions(count), strict=True)
    ]


def fill(index: SqliteIndex, corpus: Corpus, turns: Sequence[str]) -> None:
    """Put every turn with its vectors."""
    mark: LogMark | None = None
    for start in range(0, len(turns), AT_ONCE):
        passages = []
        for number in range(start, min(start + AT_ONCE, len(turns))):
            turn = Turn(
                session=f"ses_{number // SESSION:022}", role="user", speaker=("Ann", "Bob")[number % 2],
                position=number % SESSION, line=number + 1, offset=number, size=1, key="talk",
            )  # fmt: skip
            record = Record(
                id=f"epi_{number:022}", scope=SCOPE, path="log/2026-01-01.jsonl", block_hash="", author=APPLICATION,
                recorded_at=NOW,
            )  # fmt: skip
            passages += passages_of(record, turns[number], "", turn)
        after = LogMark(start + AT_ONCE, 1, start, "", start)
        index.put_turns(SCOPE, passages, path="log/2026-01-01.jsonl", before=mark, after=after)
        mark = after
        waiting = sorted(key for key, _ in index.pending(SCOPE, IDENTITY, AT_ONCE))
        vectors = corpus.vectors[start : start + len(waiting)]
        index.put_vectors(SCOPE, IDENTITY, waiting, vectors, [packed(words(key, 8)) for key in waiting])


def plain(folder: Path, turns: Sequence[str]) -> apsw.Connection:
    """Return a table that holds the same turns and nothing else."""
    connection = apsw.Connection(str(folder / "plain.db"))
    connection.execute("CREATE VIRTUAL TABLE said USING fts5(scope, text, tokenize='porter')")
    with connection:
        connection.executemany("INSERT INTO said VALUES ('main', ?)", ((text,) for text in turns))
        connection.execute("INSERT INTO said(said, rank) VALUES ('rank', 'bm25(0.0, 1.0)')")
        connection.execute("INSERT INTO said(said) VALUES ('optimize')")
    return connection


def any_word(connection: apsw.Connection, words: Sequence[str]) -> object:
    """Ask the plain table for any of the words."""
    expression = " OR ".join(f'"{word}"' for word in dict.fromkeys(words))
    return connection.execute(
        "SELECT rowid FROM said WHERE said MATCH ? ORDER BY rank LIMIT 20", (f"scope : main AND text : ({expression})",)
    ).fetchall()


def informative(words: Sequence[str]) -> Sequence[str]:
    """Return the words that are no stop words; all where there are no others."""
    return [word for word in words if word not in STOP_WORDS] or words


def storage(index: SqliteIndex, talker: Talker, question: Question, *, by_meaning: bool) -> object:
    """Do what the index does for a question about turns."""
    meaning = None
    if by_meaning:
        vector, asked = talker.embed_query_by_word(question.text)
        meaning = Meaning(IDENTITY, vector, WEIGHT, asked)
    query, parsed = Query(text=question.text, limit=10), parse_query(question.text)
    return turn_candidates(index, [SCOPE], query, parsed, Filters(valid_at=NOW).of("turn"), meaning, None)


def whole(index: SqliteIndex, talker: Talker | None, question: Question) -> object:
    """Search as an agent does."""
    return recall(
        VIEWER, Query(text=question.text, limit=10), index=index, embedder=talker, clock_now=lambda: NOW,
        locate=lambda _record, _text: (1, 1),
    )  # fmt: skip


def one_size(folder: Path, size: int, count: int, large: int, path: Path | None) -> None:
    """Measure one size of a scope."""
    corpus = Corpus(size)
    turns, questions = (made_up(corpus), []) if path is None else natural(path, size, corpus, count)
    if path is None:
        corpus.texts = turns
        questions = corpus.questions(count)
    index = SqliteIndex(folder / "index", large=large)
    began = time.perf_counter()
    fill(index, corpus, turns)
    print(f"\n{size:,} turns: index made in {time.perf_counter() - began:.0f} s", flush=True)
    talker = Talker({question.text: question.vector for question in questions})
    connection = plain(folder, turns)
    rows = {
        name: Samples(name)
        for name in (PLAIN, INFORMED, "storage, words", "storage, default", "recall, words", "recall, default")
    }
    for question in questions[:5]:
        storage(index, talker, question, by_meaning=True)
    rounds: list[list[tuple[Samples, Run]]] = [
        [
            (rows[PLAIN], partial(any_word, connection, said_words := analyse(question.text).exact)),
            (
                rows[INFORMED],
                partial(any_word, connection, [w for w in said_words if w not in STOP_WORDS] or said_words),
            ),
            (rows["storage, words"], partial(storage, index, talker, question, by_meaning=False)),
            (rows["storage, default"], partial(storage, index, talker, question, by_meaning=True)),
            (rows["recall, words"], partial(whole, index, None, question)),
            (rows["recall, default"], partial(whole, index, talker, question)),
        ]
        for question in questions
    ]
    interleave(rounds)
    table(f"One scope of {size:,} turns", list(rows.values()))
    print()
    for name in list(rows)[2:]:
        for floor in (PLAIN, INFORMED):
            print(ratio(rows[name], rows[floor]))
    print("means, ms: " + ", ".join(f"{name} {sum(row.wall) / len(row.wall):.2f}" for name, row in rows.items()))
    connection.close()
    index.close()


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--said", type=Path, help="conversations whose turns and questions are taken")
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--small", action="store_true", help="a few hundred turns: a smoke test")
    options = parser.parse_args()
    for size in [600] if options.small else options.sizes:
        with tempfile.TemporaryDirectory() as folder:
            one_size(Path(folder), size, 8 if options.small else 80, 100 if options.small else 20_000, options.said)


if __name__ == "__main__":
    main()
