"""Embeds a question, by an embedder whose vectors the index holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memoranda.domain.query import MAX_QUERY_CHARS, Query
from memoranda.domain.scripts import is_mostly_latin
from memoranda.domain.words import ParsedQuery
from memoranda.errors import BackendError
from memoranda.ports import Alternatives, Embedder, Multilingual, Vector
from memoranda.ports.embedding import embed_query_by_word
from memoranda.services.recalling import Journal

if TYPE_CHECKING:
    from memoranda.domain.word_vectors import WordsAsked


@dataclass(frozen=True, slots=True)
class Meaning:
    """The vector arm of one question: the embedder's identity, the question's vector and words, the arm's share.

    `reads_all_scripts` is false of a model to which all words of other scripts than Latin are nearly one: what it makes
    of a text in them tells nothing.
    """

    identity: str
    vector: Vector
    weight: float
    words: WordsAsked
    reads_all_scripts: bool = True


def members_of(embedder: Embedder) -> Sequence[Embedder]:
    """Return the embedders that one stands for, in the order in which they are asked; itself where it is one."""
    return embedder.members if isinstance(embedder, Alternatives) else (embedder,)


def meaning_of(
    query: Query,
    words: ParsedQuery,
    embedder: Embedder | None,
    journal: Journal,
    answering: Callable[[], frozenset[str]],
) -> Meaning | None:
    """Embed the question, or return None and say why the vector arm stays out.

    Of several embedders the first counts whose vectors some scope holds (`answering` gives those identities): a
    vector of another space finds nothing.
    """
    if query.mode == "keyword" or not words.terms:
        return None
    if embedder is None:
        journal.notes.append("no embedder: keyword search only")
        return None
    members = members_of(embedder)
    held = answering() if len(members) > 1 else frozenset()
    for member in members:
        try:
            if held and member.identity not in held:
                continue
            return _of_one(query, member, journal)
        except BackendError as error:
            rest = "keyword search only" if len(members) == 1 else "the next is asked"
            journal.notes.append(f"the embedder failed ({error.code}): {rest}")
    if len(members) > 1:
        journal.notes.append("no embedder answers that has vectors here: keyword search only")
    return None


def _of_one(query: Query, embedder: Embedder, journal: Journal) -> Meaning | None:
    text = query.text[:MAX_QUERY_CHARS]
    knows_all = isinstance(embedder, Multilingual) and embedder.multilingual
    if not any(map(str.isalnum, text)):
        journal.notes.append("signs alone mean nothing to the embedder: keyword search only")
        return None
    if not knows_all and not is_mostly_latin(text):
        # An English model maps words of other scripts to nearly one vector, and takes from keyword search.
        journal.notes.append("the embedder knows English only: keyword search only")
        return None
    weight = 1.0 if query.mode == "vector" else embedder.weight
    if weight <= 0:
        return None
    vector, said = embed_query_by_word(embedder, text)
    return Meaning(embedder.identity, vector, weight, said, reads_all_scripts=knows_all)
