"""Measures the secret scanner: findings in ordinary text, misses on made-up credentials, speed.

    python bench/secret_scanner.py FOLDER...

Every `.md`, `.txt`, `.rst`, `.json` and `.jsonl` file below the folders is ordinary text. Findings are
printed by class, file and line, never by value. (The file is not called `secrets.py`: that would hide the
standard library's module from every script in this folder.)
"""

from __future__ import annotations

import argparse
import random
import re
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from memoranda.adapters.secrets.scanner import DetectSecretsScanner
from memoranda.testing.made_up_secrets import FORMATS, made_up

ENDINGS = {".md", ".markdown", ".txt", ".rst", ".json", ".jsonl"}
SETTINGS = ("The key for the build is {}, keep it.", "TOKEN={}", "- use `{}` here", "({})", "it is **{}**.")
SEEDS = 50


def main() -> None:
    """Print the three tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path)
    arguments = parser.parse_args()
    scanner = DetectSecretsScanner()
    misses(scanner)
    if arguments.folders:
        ordinary(scanner, list(texts(arguments.folders)))


def misses(scanner: DetectSecretsScanner) -> None:
    """Print every format of which a made-up credential was missed, and the totals."""
    found, missed = 0, Counter[str]()
    for entry in FORMATS:
        rng = random.Random(entry.name)
        for seed in range(SEEDS):
            setting = SETTINGS[seed % len(SETTINGS)] if entry.bare else "{}"
            if scanner.scan(setting.format(made_up(entry, rng))):
                found += 1
            else:
                missed[entry.name] += 1
    print(f"made-up credentials: {found} of {SEEDS * len(FORMATS)} found in {len(FORMATS)} formats")
    for name, count in missed.most_common():
        print(f"  missed {count} of {SEEDS}: {name}")


def ordinary(scanner: DetectSecretsScanner, files: list[tuple[Path, str]]) -> None:
    """Print findings per 1,000 paragraphs by class, where they are, and the speed."""
    paragraphs = sum(len(re.split(r"\n\s*\n", text)) for _, text in files)
    megabytes = sum(len(text.encode()) for _, text in files) / 1e6
    by_class: Counter[str] = Counter()
    places: list[str] = []
    start = time.perf_counter()
    for path, text in files:
        for finding in scanner.scan(text):
            by_class[finding.secret_class] += 1
            places.append(f"  {finding.secret_class}: {path}:{finding.line}")
    seconds = time.perf_counter() - start
    print(f"ordinary text: {len(files)} files, {paragraphs} paragraphs, {megabytes:.2f} MB")
    print(f"speed: {megabytes / seconds:.1f} MB/s on one core")
    for name, count in by_class.most_common():
        print(f"{name}: {count}, {1000 * count / paragraphs:.2f} in 1,000 paragraphs")
    print("\n".join(places))


def texts(folders: list[Path]) -> Iterator[tuple[Path, str]]:
    """Yield the readable text files below the folders."""
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if path.suffix.lower() in ENDINGS and path.is_file():
                try:
                    yield path, path.read_text(encoding="utf-8")
                except (UnicodeDecodeError, OSError):
                    continue


if __name__ == "__main__":
    main()
