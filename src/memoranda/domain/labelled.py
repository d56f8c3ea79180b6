"""Texts and questions of which the answers are known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from memoranda.domain.episode import Role


@dataclass(frozen=True, slots=True)
class Document:
    """A text by its id; a Markdown file has its name as id, and questions are answered by files then."""

    id: str
    scope: str
    text: str


@dataclass(frozen=True, slots=True)
class Said:
    """A turn by its id, in a session of a conversation (`scope`); `at` is ISO 8601, "" where unknown."""

    id: str
    scope: str
    session: str
    role: Role
    speaker: str
    text: str
    at: str


@dataclass(frozen=True, slots=True)
class Asked:
    """A question to one scope, its category, "" for none, and the ids that answer it."""

    scope: str
    text: str
    category: str
    gold: frozenset[str]


@dataclass(frozen=True, slots=True)
class Labelled:
    """One set: documents or turns, and questions about them; `by_file` where whole files are the answers."""

    name: str
    form: Literal["beir", "documents", "locomo"]
    documents: tuple[Document, ...]
    turns: tuple[Said, ...]
    questions: tuple[Asked, ...]

    @property
    def by_file(self) -> bool:
        """Whether whole files are the answers."""
        return self.form == "documents"
