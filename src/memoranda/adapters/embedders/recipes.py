"""What the cards of embedding models ask for: prompts for documents and questions, and languages.

Sources are the model cards of nomic-embed-text, EmbeddingGemma, mxbai-embed-large, snowflake-arctic-embed, bge, e5,
Qwen3-Embedding, and OpenAI's page on embeddings.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

DEFAULT_WEIGHT = 0.4
"""Share of the vector arm: the one measured for MiniLM (see `minilm.py`); not measured for these models."""

_SEARCHING = "Represent this sentence for searching relevant passages: "


@dataclass(frozen=True, slots=True)
class Recipe:
    """How one model wants its texts; what is put before them, and whether it knows more than English."""

    document: str = ""
    query: str = ""
    multilingual: bool = False

    @property
    def name(self) -> str:
        """Name the prompts for an identity: vectors of other prompts are of another space."""
        if not (self.document or self.query):
            return "plain"
        return "prompts-" + hashlib.sha256(f"{self.document}\0{self.query}".encode()).hexdigest()[:8]


_PLAIN = Recipe()
_RECIPES: tuple[tuple[str, Recipe], ...] = (
    (r"nomic-embed-text-v2|nomic-embed-text-2", Recipe("search_document: ", "search_query: ", multilingual=True)),
    (r"nomic-embed-text", Recipe("search_document: ", "search_query: ")),
    (r"embedding-?gemma", Recipe("title: none | text: ", "task: search result | query: ", multilingual=True)),
    (r"mxbai-embed-(large|xsmall)", Recipe("", _SEARCHING)),
    (r"snowflake-arctic-embed-?2|arctic-embed-[lm]-v2", Recipe("", "query: ", multilingual=True)),
    (r"snowflake-arctic-embed", Recipe("", _SEARCHING)),
    (r"bge-m3", Recipe(multilingual=True)),
    (r"bge-(small|base|large)-en", Recipe("", _SEARCHING)),
    (r"multilingual-e5-\w+-instruct", Recipe(
        "",
        "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery: ",
        multilingual=True,
    )),
    (r"multilingual-e5", Recipe("passage: ", "query: ", multilingual=True)),
    (r"\be5-(small|base|large)", Recipe("passage: ", "query: ")),
    (r"qwen3-embedding", Recipe(
        "",
        "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:",
        multilingual=True,
    )),
    (r"text-embedding-3|text-embedding-ada|multilingual", Recipe(multilingual=True)),
)  # fmt: skip
"""The first expression found in a model's name says how it is asked."""


def recipe_of(model: str) -> Recipe:
    """Return the recipe of a model by its name or file name; plain where it is not known."""
    return next((recipe for pattern, recipe in _RECIPES if re.search(pattern, model, re.IGNORECASE)), _PLAIN)
