"""Makes the table by which the default model's words are kept in 64 dimensions, from any Markdown.

    python bench/word_projection.py FOLDER OUT.npy

The first principal axes of the words' vectors (without centring), as float16, shape (64, 384). The table that is
shipped was made from this project's own documentation: what it is measured with had no part in it.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from memoranda.adapters.embedders.minilm import DIMENSIONS, word_states
from memoranda.domain.word_vectors import WIDTH, words_of

LEAST_CHARACTERS = 80
"""A paragraph of fewer is a heading or a scrap."""


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    whole = np.eye(DIMENSIONS, dtype=np.float32)
    found = []
    for path in sorted(options.folder.rglob("*.md")):
        paragraphs = path.read_text(encoding="utf-8").split("\n\n")
        found += [words_of(*word_states(text), whole).vectors for text in paragraphs if len(text) > LEAST_CHARACTERS]
    rows = np.concatenate(found)
    _, _, axes = np.linalg.svd(rows, full_matrices=False)
    np.save(options.out, axes[:WIDTH].astype(np.float16))
    kept = float((np.linalg.norm(rows @ axes[:WIDTH].T, axis=1) ** 2).mean())
    print(f"{len(rows)} words of {len(found)} paragraphs; {WIDTH} of {DIMENSIONS} dimensions keep {kept:.3f}")


if __name__ == "__main__":
    main()
