"""The archive: what of a home travels in one file, and what an import of it did."""

from __future__ import annotations

import re
from dataclasses import dataclass

FORMAT = 1
MANIFEST = "manifest.json"
RECORDS, EVENTS, TOMBSTONES = "records.jsonl", "events.jsonl", "tombstones.jsonl"
FILES, KEYS = "files/", "keys/"

MAX_MEMBERS = 100_000
MAX_BYTES = 2 * 1024 * 1024 * 1024
MAX_RATIO = 200
"""Unpacked bytes to packed ones, above which a member is taken for a trap: Markdown packs about 3 to 1."""

_PLAIN = re.compile(r"[^\w.-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportReport:
    """What an export holds and what it leaves out."""

    path: str
    files: int = 0
    records: int = 0
    tombstones: int = 0
    events: int = 0
    withheld: int = 0
    waiting: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """What an import did, in records: written, known already, rejected here or there, waiting, holding a secret.

    `refused` names files that could not be written, with the rule.
    """

    files: int = 0
    written: int = 0
    duplicates: int = 0
    rejected: int = 0
    waiting: int = 0
    secrets: int = 0
    tombstones: int = 0
    refused: tuple[str, ...] = ()


def safe_name(name: str) -> bool:
    """Whether a member's name leads nowhere else: relative, no empty or dotted part, no backslash, no control."""
    parts = name.split("/")
    return (
        bool(name)
        and not name.startswith("/")
        and "\\" not in name
        and ":" not in name
        and name.isprintable()
        and all(part not in ("", ".", "..") for part in parts)
    )


def flattened(path: str) -> str:
    """Return a path that agents and imports may write: one level below memory/, no white space, `.md`."""
    if path in ("MEMORY.md", "memory.md"):
        return path
    stem = path.removeprefix("memory/")
    for ending in (".markdown", ".md"):
        stem = stem.removesuffix(ending)
    return f"memory/{_PLAIN.sub('-', stem).strip('-.') or 'imported'}.md"


def aside(path: str, number: int) -> str:
    """Return the n-th other name for a path that is taken."""
    stem = path.removeprefix("memory/").removesuffix(".md")
    return f"memory/{stem}-imported{'' if number == 1 else f'-{number}'}.md"
