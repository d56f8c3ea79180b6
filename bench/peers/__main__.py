"""Asks several memories the same questions, in one run: each peer installed in an environment of its own.

    python bench/peers LOCOMO.json --harness retrieval_eval.py [--peers fts5 chroma …] [--limit N] [--folder DIR]

Every peer keeps the same turns, one at a time, and answers the same questions within one conversation. Vectors are
Memoranda's default embedder's, computed once and given to the peers that take vectors; Memoranda itself embeds on its
own, and that time is in its figures. A peer that cannot be installed, or that fails, is listed with the reason.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, Self

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

from catalogue import PEERS, Peer  # noqa: E402 - beside this file
from installing import InstallError, prepare  # noqa: E402

import dialogue  # noqa: E402

BATCH, DEEP, SECONDS = 100, 50, 1_800

Row = dict[str, Any]


class PeerError(Exception):
    """A peer did not answer, or answered with an error."""


@dataclass
class Conversation:
    """The turns of one conversation, as the protocol has them."""

    scope: str
    turns: list[Row] = field(default_factory=list)


def conversations_of(data: Sequence[Mapping[str, Any]]) -> list[Conversation]:
    """Return every conversation's turns in the order they were said, without vectors."""
    found = []
    for sample in data:
        conversation = Conversation(dialogue.agent_of(sample["sample_id"]))
        first = ""
        for number, began, turns in dialogue.sessions_of(sample["conversation"]):
            for position, turn in enumerate(turns, 1):
                first = first or turn["speaker"]
                conversation.turns.append(
                    {
                        "id": turn["dia_id"],
                        "session": number,
                        "at": (began + timedelta(seconds=30 * position)).isoformat(),
                        "speaker": turn["speaker"],
                        "role": "user" if turn["speaker"] == first else "assistant",
                        "text": dialogue.said(turn) or "…",
                    }
                )
        found.append(conversation)
    return found


def embed(conversations: Sequence[Conversation], questions: Sequence[dialogue.Question]) -> dict[str, list[float]]:
    """Give every turn its vector; return those of the questions by their text."""
    from memoranda.adapters.embedders.minilm import MiniLMEmbedder

    embedder = MiniLMEmbedder()
    for conversation in conversations:
        texts = [f"{turn['speaker']}: {turn['text']}" for turn in conversation.turns]
        for turn, vector in zip(conversation.turns, embedder.embed_documents(texts), strict=True):
            turn["vector"] = [float(value) for value in vector]
    texts = list(dict.fromkeys(question.text for question in questions))
    vectors = [embedder.embed_query(text) for text in texts]
    return {text: [float(value) for value in vector] for text, vector in zip(texts, vectors, strict=True)}


class Connection:
    """A driver that runs, asked line by line; ends it at the latest when the `with` block ends."""

    def __init__(self, command: Sequence[str], log: Path) -> None:
        self._log = log.open("wb")
        environment = os.environ | {"HF_HUB_OFFLINE": "1", "DO_NOT_TRACK": "1", "PYTHONUNBUFFERED": "1"}
        self._process = subprocess.Popen(
            list(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, env=environment
        )

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def ask(self, **request: Any) -> Row:
        """Send one request and return its answer.

        Raises:
            PeerError: the driver answered with an error, took too long, or ended.
        """
        if self._process.stdin is None or self._process.stdout is None:
            raise PeerError("no pipes")
        watch = threading.Timer(SECONDS, self._process.kill)
        watch.start()
        try:
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except OSError as error:
            raise PeerError(f"its driver ended ({error})") from error
        finally:
            watch.cancel()
        if not line:
            raise PeerError(f"its driver ended; see {self._log.name}")
        answer: Row = json.loads(line)
        if "error" in answer:
            raise PeerError(answer["error"])
        return answer

    def __exit__(self, *_: object) -> None:
        """Close its input, wait, and end it when it stays."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            self._process.wait(60)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._log.close()


def measured(
    driver: Connection,
    conversations: Sequence[Conversation],
    questions: Sequence[dialogue.Question],
    vectors: Mapping[str, Sequence[float]],
) -> Row:
    """Tell a driver everything, ask it everything, and return its figures."""
    row = driver.ask(do="hello")
    told = 0.0
    for conversation in conversations:
        for start in range(0, len(conversation.turns), BATCH):
            turns = conversation.turns[start : start + BATCH]
            told += driver.ask(do="add", scope=conversation.scope, turns=turns)["ms"]
    told += driver.ask(do="finish")["ms"]
    scores, times, empty = [], [], 0
    for question in questions:
        asked = {"scope": question.agent, "text": question.text, "vector": vectors[question.text]}
        found = driver.ask(do="search", limit=20, **asked)
        times.append(found["ms"])
        empty += not found["ids"]
        sessions = _sessions(driver.ask(do="sessions", limit=5, **asked)["ids"] or found_deep(driver, asked))
        scores.append(dialogue.score(found["ids"], sessions, question.gold))
    usage = driver.ask(do="usage")
    ordered = sorted(times)
    return (
        row
        | usage
        | {metric: dialogue.mean(scores, metric) for metric in dialogue.METRICS}
        | {"empty": empty / max(len(questions), 1), "told": told / 1_000}
        | {"p50": statistics.median(ordered), "p95": ordered[int(len(ordered) * 0.95)]}
    )


def found_deep(driver: Connection, asked: Mapping[str, Any]) -> list[str]:
    """Return the ids of a long answer, for peers without a search for sessions."""
    ids: list[str] = driver.ask(do="search", limit=DEEP, **asked)["ids"]
    return ids


def _sessions(ids: Sequence[str]) -> list[str]:
    """Return the sessions that turns belong to, in order, each once."""
    return list(dict.fromkeys(name.partition(":")[0] for name in ids))


def run(peer: Peer, folder: Path, told: Sequence[Any]) -> Row:
    """Install a peer and measure it; a failure is a row that says why."""
    print(f"{peer.title}: installing", file=sys.stderr)
    try:
        command = prepare(peer, folder / "environments", HERE / "drivers")
        work = folder / "work" / peer.name
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        print(f"{peer.title}: asking", file=sys.stderr)
        with Connection([part.replace("{folder}", str(work)) for part in command], folder / f"{peer.name}.log") as one:
            return measured(one, *told) | {"title": peer.title}
    except (InstallError, PeerError) as error:
        return {"title": peer.title, "failed": str(error)}


def report(rows: Sequence[Row], questions: int, turns: int) -> None:
    """Print the table, and who is not in it."""
    print(f"\n{questions} questions over {turns} turns; sizes in MB.\n")
    print("| memory | version | R@10 | MRR | session hit@5 | no answer | p50 ms | p95 ms | told in s | disk | memory |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for row in rows:
        if "failed" not in row:
            quality = " | ".join(f"{row[metric]:.4f}" for metric in dialogue.METRICS)
            sizes = f"{row['disk'] / 1e6:.1f} | {row['memory'] / 1e6:.0f}"
            speed = f"{row['p50']:.1f} | {row['p95']:.1f} | {row['told']:.1f}"
            print(f"| {row['title']} | {row['version']} | {quality} | {row['empty']:.0%} | {speed} | {sizes} |")
    for row in rows:
        if "failed" in row:
            print(f"\nNot measured: {row['title']}: {row['failed']}")


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(
        prog="bench/peers", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--harness", type=Path, required=True)
    parser.add_argument("--peers", nargs="+", choices=list(PEERS), default=list(PEERS))
    parser.add_argument("--limit", type=int, default=0, help="only the first conversations")
    parser.add_argument("--questions", type=int, default=0, help="only the first questions of each conversation")
    parser.add_argument("--folder", type=Path, help="where environments are kept for another run")
    options = parser.parse_args()
    data = json.loads(options.data.read_text(encoding="utf-8"))[: options.limit or None]
    for sample in data:
        sample["qa"] = sample["qa"][: options.questions or None]
    questions = dialogue.questions_of(data, dialogue.harness_of(options.harness))
    conversations = conversations_of(data)
    with tempfile.TemporaryDirectory() as scratch:
        folder = (options.folder or Path(scratch)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        told = conversations, questions, embed(conversations, questions)
        rows = [run(PEERS[name], folder, told) for name in options.peers]
    report(rows, len(questions), sum(len(one.turns) for one in conversations))
    if any("failed" in row for row in rows):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
