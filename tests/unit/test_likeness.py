"""Likeness: what says the same, what resembles, and what is another thing; with the cosines of the default embedder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from memoranda.domain.likeness import Likeness, likeness
from memoranda.domain.settings import EmbedderSettings

if TYPE_CHECKING:
    from memoranda.ports import Embedder

PAIRS: tuple[tuple[str, str, tuple[Likeness, ...]], ...] = (
    # the same: fewer words, other order, other endings
    ("Ana lives in Lisbon.", "Ana lives in Lisbon", ("same",)),
    ("- In Lisbon lives Ana", "Ana lives in Lisbon.", ("same",)),
    ("Ana lived in Lisbon", "Ana lives in Lisbon", ("same",)),
    ("The deploy script needs sudo", "The deploy script always needs sudo", ("same",)),
    ("Der Server steht in Köln", "Der Server steht in Köln.", ("same",)),
    ("她住在里斯本", "她住在里斯本。", ("same",)),
    # paraphrases: never another thing
    ("The user's favourite colour is green", "Green is the colour the user likes best", ("similar", "same")),
    ("The user prefers tea over coffee", "The user likes tea more than coffee", ("similar",)),
    ("Meetings are on Monday mornings", "The meetings take place on Monday morning", ("similar", "same")),
    ("Ana works as a nurse in a hospital", "Ana is a nurse at a hospital", ("similar", "same")),
    ("Tests are run with pytest", "The project runs its tests with pytest", ("similar", "same")),
    ("Deployments happen on Fridays", "We deploy on Fridays", ("similar", "same")),
    # an update, an antonym, another name, another number: never the same
    ("Ana lives in Porto", "Ana lives in Lisbon", ("similar", "other")),
    ("The user is not vegetarian", "The user is vegetarian", ("similar",)),
    ("The flag enables caching", "The flag disables caching", ("similar",)),
    ("Backups run before midnight", "Backups run after midnight", ("similar",)),
    ("The standup is in the evening", "The standup is in the morning", ("similar",)),
    ("The door opens inward", "The door opens outward", ("similar", "other")),
    ("The port is 8081", "The port is 8080", ("similar",)),
    ("Call Boris about the lease", "Call Anna about the lease", ("similar", "other")),
    ("Der Server steht in Bonn", "Der Server steht in Köln", ("similar", "other")),
    ("她不住在里斯本", "她住在里斯本", ("similar",)),
    # another thing altogether
    ("Ana lives in Lisbon", "The deploy script needs sudo", ("other",)),
    ("The user prefers tea", "Backups run at midnight", ("other",)),
    ("Der Server steht in Köln", "Die Miete kostet 900 Euro", ("other",)),
)


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    """The default embedder, whose weights come with the package."""
    from memoranda.adapters.embedders.minilm import open_embedder

    return open_embedder("", EmbedderSettings())


@pytest.mark.parametrize(("new", "known", "expected"), PAIRS)
def test_what_two_statements_have_in_common(
    embedder: Embedder, new: str, known: str, expected: tuple[Likeness, ...]
) -> None:
    """Each pair is one of what it may be, with the cosine of its vectors."""
    one, two = embedder.embed_documents([new, known])
    assert likeness(new, known, float(one @ two)) in expected


def test_a_cosine_alone_makes_nothing_the_same() -> None:
    """However near two vectors are, a word in the place of another may turn what is said."""
    assert likeness("The flag enables caching", "The flag disables caching", 0.999) == "similar"
    assert likeness("The flag enables caching", "The flag enables caching") == "same"
