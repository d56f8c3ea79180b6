"""Homes for tests: made in a temporary folder, keyword-only unless asked otherwise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import memoranda
from memoranda.memory import Agent, Memory
from memoranda.ports.model import LanguageModel

KEYWORDS_ONLY: Mapping[str, object] = {"memory.provider": "none"}


@contextmanager
def home(folder: Path, **settings: Any) -> Iterator[Memory]:
    """Open a home without an embedder; settings are given with `__` for dots, and a language `model` as it is."""
    model: LanguageModel | None = settings.pop("model", None)
    named = {key.replace("__", "."): value for key, value in settings.items()}
    with memoranda.open(folder, settings={**KEYWORDS_ONLY, **named}, model=model) as memory:
        yield memory


def write(folder: Path, path: str, text: str | bytes) -> Path:
    """Write a file as a person's editor would, byte for byte."""
    target = folder / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(text if isinstance(text, bytes) else text.encode())
    return target


def read(folder: Path, path: str) -> str:
    """Return a file's text, line endings as they are."""
    return (folder / path).read_bytes().decode()


def texts(agent: Agent, question: str, limit: int = 20) -> list[str]:
    """Return the texts that a search finds."""
    return [hit.text for hit in agent.search(question, limit=limit, min_score=0).hits]


def holding(agent: Agent, word: str) -> list[str]:
    """Return those of the texts found for a word that hold it: what was said beside them is found as well."""
    return [text for text in texts(agent, word) if word.lower() in text.lower()]
