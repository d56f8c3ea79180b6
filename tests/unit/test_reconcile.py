"""What became of a file's records when its text changed."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from memoranda.domain.reconcile import EDIT_SIMILARITY, Alignment, align, similarity

BLOCKS = st.lists(
    st.sampled_from(["alpha", "beta", "gamma delta epsilon", "gamma delta zeta", "eta", "10", "11"]),
    max_size=12,
)


def aligned(old: list[str], new: list[str]) -> Alignment:
    """Align two lists of texts that stand for themselves."""
    return align(old, new, old.__getitem__, new.__getitem__)


@settings(max_examples=500, deadline=None)
@given(BLOCKS, BLOCKS)
def test_every_block_has_exactly_one_fate(old: list[str], new: list[str]) -> None:
    """Old blocks are kept, edited or removed; new ones are kept, edited or added; none twice, none forgotten."""
    found = aligned(old, new)
    assert sorted([*found.kept.values(), *found.edited.values(), *found.removed]) == list(range(len(old)))
    assert sorted([*found.kept, *found.edited, *found.added]) == list(range(len(new)))
    assert all(old[before] == new[after] for after, before in found.kept.items())
    assert sum((Counter(old) & Counter(new)).values()) == len(found.kept)


def test_an_edit_is_recognised_between_its_neighbours() -> None:
    """A changed block between the same neighbours is an edit of the old one."""
    old = ["the sky is blue", "the user prefers dark mode", "the port is open"]
    new = ["the sky is blue", "the user prefers very dark mode", "the port is open"]
    assert aligned(old, new) == Alignment({0: 0, 2: 2}, {1: 1}, (), ())


def test_another_text_in_the_same_place_is_no_edit() -> None:
    """A block with another meaning in the same place retires the old one and is new."""
    old, new = ["a", "the user prefers dark mode", "z"], ["a", "lisbon trip was in may", "z"]
    assert aligned(old, new) == Alignment({0: 0, 2: 2}, {}, (1,), (1,))


def test_a_similar_text_elsewhere_is_no_edit() -> None:
    """Similarity counts between the same matched neighbours alone."""
    old = ["the user prefers dark mode", "anchor one", "anchor two"]
    new = ["anchor one", "anchor two", "the user prefers very dark mode"]
    found = aligned(old, new)
    assert (found.removed, found.added) == ((0,), (2,))
    assert found.kept == {0: 1, 1: 2}


def test_a_reordered_block_is_the_same_block() -> None:
    """Moving blocks about keeps all of them."""
    found = aligned(["a", "b", "c"], ["c", "a", "b"])
    assert found.kept == {0: 2, 1: 0, 2: 1}


def test_the_first_of_two_identical_blocks_stays_the_first() -> None:
    """The k-th identical block is the k-th identical record."""
    found = aligned(["x", "y", "x"], ["x", "x"])
    assert found.kept == {0: 0, 1: 2}
    assert found.removed == (1,)


def test_long_texts_are_compared_by_words() -> None:
    """A long text with one changed word is an edit; a wholly other one is not, and both answer at once."""
    long = " ".join(f"word{number}" for number in range(30_000))
    assert similarity(long, long.replace("word77 ", "changed ")) > 0.99
    assert similarity(long, " ".join(f"other{number}" for number in range(30_000))) < EDIT_SIMILARITY


def test_many_changed_blocks_in_one_gap_are_paired_by_place() -> None:
    """A thousand edits in a row are found without comparing each with each."""
    old = [f"setting number {number} has the value {number * 7}" for number in range(1_000)]
    new = [f"setting number {number} has the value {number * 7} now" for number in range(1_000)]
    found = aligned(old, new)
    assert len(found.edited) == 1_000
    assert all(after == before for after, before in found.edited.items())
