"""Single blocks are changed in place, and nothing beside them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoranda.domain.markdown import parse
from memoranda.domain.recording import rendered
from memoranda.domain.rewriting import drop, retitle, substitute

BLOCKS = [
    "a paragraph",
    "- an item\n- another item",
    "> a quote",
    "```\ncode\n```",
    "| a |\n|---|\n| b |",
    "1. one\n2. two",
]
NEW = ["new words", "new\nlines", "- new item", "> new quote", "```\nnew code\n```", "two\n\nparagraphs"]


@given(
    st.lists(st.sampled_from(BLOCKS), min_size=1, max_size=5), st.integers(0, 9), st.sampled_from(NEW),
    st.sampled_from(["\n", "\r\n"]),
)  # fmt: skip
def test_a_substitution_changes_one_block(blocks: list[str], at: int, new: str, newline: str) -> None:
    """All other blocks and all bytes around them stay, or the substitution does not come about."""
    document = parse(("# Head\n\n" + "\n\n".join(blocks) + "\n").replace("\n", newline))
    index = at % len(document.blocks)
    block = document.blocks[index]
    result = substitute(document, index, new)
    if result is None:
        return
    assert result.text.startswith(document.text[: block.start])
    assert result.text.endswith(document.text[block.end :])
    before = [item.text for item in document.blocks]
    after = [item.text for item in result.blocks]
    assert after[:index] == before[:index]
    assert after[len(after) - (len(before) - index - 1) :] == before[index + 1 :]
    assert newline == "\n" or "\n" not in result.text.replace("\r\n", "")


@pytest.mark.parametrize("new", ["```\nopen fence", "<!-- open"])
def test_what_would_take_in_its_neighbours_is_not_done(new: str) -> None:
    """A text that does not end by itself is no substitute before other blocks; a closed one is."""
    document = parse("one\n\ntwo\n\nthree\n")
    assert substitute(document, 1, new) is None
    assert substitute(document, 1, "```\nclosed\n```") is not None


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("## T\n\nbody\n", ""),
        ("# Top\n\n## T\n\nbody\n", "# Top\n\n"),
        ("## T\n\nbody\n\n## Next\n\nmore\n", "## Next\n\nmore\n"),
        ("## T\n\nbody\n\n### Deeper\n\nmore\n", "## T\n\n### Deeper\n\nmore\n"),
        ("## T\n\nbody\n\nsecond\n", "## T\n\nsecond\n"),
        ("T\n---\n\nbody\n\nnext\n===\n", "next\n===\n"),
        ("## Other\n\nbody\n", "## Other\n\n"),
    ],
)
def test_a_lone_heading_goes_with_its_last_block(text: str, left: str) -> None:
    """The named heading goes where nothing is below it any more; others stay."""
    assert drop(parse(text), [0], {"T"}).text == left


def test_a_heading_is_renamed_right_above_its_block_alone() -> None:
    """The heading above the block gets the new name at its level; without one, or with another name, nothing."""
    document = parse("## Old\r\n\r\nbody\r\n\r\n## Old\r\n\r\nmore\r\n")
    found = retitle(document, 1, "Old", "New")
    assert found is not None
    assert found.text == "## Old\r\n\r\nbody\r\n\r\n## New\r\n\r\nmore\r\n"
    assert retitle(document, 0, "Else", "New") is None
    assert retitle(parse("body\n"), 0, "Old", "New") is None


def test_a_record_is_plain_markdown() -> None:
    """A title is a heading of level 2, no title is no heading."""
    assert rendered("body", "Title") == "## Title\n\nbody"
    assert rendered("body", "") == "body"
