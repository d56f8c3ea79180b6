"""Measures a first sync of many notes: when they are found by words, and how long searches take meanwhile.

    python bench/first_sync.py [--notes 2000] [--small]

Another process runs `memoranda sync` with the default embedder over files that nobody has synced. This one asks again
and again for a note of the newest file that is found, and of the next. "Found after" is from the start of that process;
a file is seen when the sync comes to it, so the time between one file's being found and the next bounds how long a note
waits after its file was seen.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import memoranda
from measuring import Samples, table
from memoranda.domain.query import Filters
from memoranda.domain.scope import agent_scope
from memoranda.memory import Memory
from synthetic import Corpus

PER_FILE = 5
SCOPE = agent_scope("main")


def written(folder: Path, corpus: Corpus) -> int:
    """Write the notes as list items, five to a file; return the number of files."""
    place = folder / "memory"
    place.mkdir(parents=True)
    for start in range(0, len(corpus.texts), PER_FILE):
        items = "".join(f"- {text}\n" for text in corpus.texts[start : start + PER_FILE])
        (place / f"notes-{start:06}.md").write_text(items, encoding="utf-8")
    return -(-len(corpus.texts) // PER_FILE)


def found(memory: Memory, number: int, samples: Samples) -> bool:
    """Ask for a note by its own word; time the search."""
    hits = samples.time(lambda: memory.agent("main").search(f"n{number}", mode="keyword").hits)
    return any(f" n{number}." in hit.text for hit in hits)  # type: ignore[attr-defined]


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--notes", type=int, default=2_000)
    parser.add_argument("--small", action="store_true", help="a few notes: a smoke test")
    options = parser.parse_args()
    corpus = Corpus(60 if options.small else options.notes)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = written(folder, corpus)
        with memoranda.open(folder, settings={"memory.provider": "minilm"}) as memory:
            watch(memory, corpus, files)


def watch(memory: Memory, corpus: Corpus, files: int) -> None:
    """Start the sync, ask until everything is there, and print what was seen."""
    index = memory._parts.stores.index  # noqa: SLF001 - how many vectors there are is not told so often
    reading, embedding, idle = (Samples(f"a search by words {when}") for when in
                                ("while files are read", "while passages are embedded", "afterwards"))  # fmt: skip
    environment = os.environ | {"MEMORANDA_HOME": str(memory.home), "MEMORANDA_MEMORY_PROVIDER": "minilm"}
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "memoranda", "sync"], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    times: list[float] = []
    while len(times) < files and process.poll() is None:
        if found(memory, len(times) * PER_FILE, reading):
            times.append(time.perf_counter() - began)
    vectors_began = time.perf_counter()
    while process.poll() is None:
        found(memory, 3, embedding)
        time.sleep(0.02)
    took = time.perf_counter() - vectors_began
    for number in range(50):
        found(memory, number, idle)
    state = index.state(SCOPE)
    said = (process.stderr.read() if process.stderr else b"").decode().splitlines()
    table(f"First sync of {len(corpus.texts):,} notes in {files:,} files", [reading, embedding, idle])
    gaps = [after - before for before, after in zip([times[0], *times], times, strict=False)]
    print(f"\nthe first file is found after {times[0]:.2f} s, the last after {times[-1]:.2f} s")
    print(f"longest wait from one file's being found to the next: {max(gaps):.2f} s")
    print(f"longest search while passages are embedded: {max(embedding.wall, default=0.0):.1f} ms")
    print(f"{state.vectors} vectors after {took:.1f} s more: {state.vectors / took:.0f} a second; {state.pending} wait")
    print("what the sync said: " + (said[-1] if said else "nothing"))
    if not memory.agent("main").search("n1", filters=Filters()).hits:
        raise SystemExit("a note is not found")


if __name__ == "__main__":
    main()
