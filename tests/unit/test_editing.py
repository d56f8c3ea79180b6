"""Changes that leave every other byte alone."""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from memoranda.domain import editing
from memoranda.domain.markdown import parse
from tests.unit.test_markdown import TEXTS


@settings(max_examples=400, deadline=None)
@given(TEXTS)
def test_an_unchanged_splice_is_the_identity(text: str) -> None:
    """Putting every block back where it was gives the same text."""
    document = parse(text)
    changes = [(block.start, block.end, block.text) for block in document.blocks]
    assert editing.apply_splices(text, changes) == text
    assert editing.splices(text, text) == []


@settings(max_examples=400, deadline=None)
@given(TEXTS, TEXTS)
def test_a_splice_turns_one_text_into_another(before: str, after: str) -> None:
    """The splice between two texts, applied to the first, gives the second."""
    assert editing.apply_splices(before, editing.splices(before, after)) == after


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(TEXTS, st.data())
def test_removing_one_record_removes_exactly_its_bytes(text: str, data: st.DataObject) -> None:
    """What stays is the text before and after the block; a separating blank line may go or a line break stay."""
    document = parse(text)
    assume(document.blocks)
    index = data.draw(st.integers(0, len(document.blocks) - 1))
    block = document.blocks[index]
    left = editing.remove(document, [index]).text
    before, after = text[: block.start], text[block.extent :]
    blank = re.match(r"[ \t]*(?:\r\n|\n|\r)", after)
    shorter = [after[blank.end() :]] if blank else []
    assert left in [before + filler + rest for filler in ("", document.newline) for rest in (after, *shorter)]


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(TEXTS, TEXTS)
def test_appending_keeps_what_was_there(text: str, content: str) -> None:
    """An append either gives all old blocks and then all new ones, after the old bytes, or says that it cannot."""
    document = parse(text)
    offered = parse(editing.with_newlines(content.strip("\r\n"), document.newline) + document.newline)
    result = editing.append(document, content)
    if result is not None:
        assert result.text.startswith(text)
        texts = [block.text for block in result.blocks]
        assert texts == [block.text for block in (*document.blocks, *offered.blocks)]
        assert result == parse(result.text)


@pytest.mark.parametrize(
    ("before", "content", "after"),
    [
        ("", "fact", "fact\n"),
        ("one\n", "two", "one\n\ntwo\n"),
        ("one", "two", "one\n\ntwo\n"),
        ("- a\n", "- b", "- a\n- b\n"),
        ("- a\n\n", "- b", "- a\n\n- b\n"),
        ("# Title\n", "- a", "# Title\n\n- a\n"),
        ("one\r\n", "two\nlines", "one\r\n\r\ntwo\r\nlines\r\n"),
        ("\ufeff", "one", "\ufeffone\n"),
        ("- a\n", "plain", "- a\n\nplain\n"),
    ],
)
def test_appending_reads_as_a_person_would_write_it(before: str, content: str, after: str) -> None:
    """Paragraphs get a blank line before them, list items go on with the list, line endings are the file's."""
    result = editing.append(parse(before), content)
    assert result is not None
    assert result.text == after


def test_nothing_can_follow_an_open_fence() -> None:
    """An append after an open code fence is refused, and works once the fence is closed."""
    assert editing.append(parse("```\nopen\n"), "fact") is None
    assert editing.append(parse("```\nopen\n```\n"), "fact") is not None
    assert not editing.is_closed("```\nopen")
    assert not editing.is_closed("<!-- open")
    assert editing.is_closed("```\nclosed\n```")


def test_a_cut_takes_whole_lines_with_their_ending() -> None:
    """Cutting a whole item leaves no empty line; cutting a part leaves the rest of the line."""
    document = parse("- a\n- b\n- c\n")
    assert editing.cut(document, "- b").document.text == "- a\n- c\n"
    assert editing.cut(parse("one\n\ntwo\n\nthree\n"), "two").document.text == "one\n\nthree\n"
    assert editing.cut(parse("one two three\n"), " two").document.text == "one three\n"


def test_a_cut_takes_the_first_or_all() -> None:
    """First match alone, or every match, are removed and counted; a text that is absent changes nothing."""
    document = parse("- x\n\npara\n\n- x\n")
    first, every, none = (
        editing.cut(document, "- x"),
        editing.cut(document, "- x", every=True),
        editing.cut(document, "absent"),
    )
    assert (first.matches, first.document.text) == (1, "para\n\n- x\n")
    assert (every.matches, every.document.text) == (2, "para\n\n")
    assert (none.matches, none.document.text) == (0, document.text)


def test_a_snippet_with_lf_matches_a_file_with_crlf() -> None:
    """Line endings of the snippet do not matter, those of the file stay."""
    document = parse("one\r\ntwo\r\n\r\nthree\r\n")
    assert editing.cut(document, "one\ntwo").document.text == "three\r\n"


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.sampled_from(["plain words", "- an item", "> quoted", "| a |\n|---|"]), min_size=1, max_size=6),
    st.data(),
)
def test_a_removal_undoes_an_append(contents: list[str], data: st.DataObject) -> None:
    """Blank lines do not pile up: what was appended and removed again leaves no trace but one blank line at the end."""
    start = parse("First words.\n")
    document = start
    for content in contents:
        extended = editing.append(document, content)
        assert extended is not None
        document = extended
    while len(document.blocks) > 1:
        document = editing.remove(document, [data.draw(st.integers(1, len(document.blocks) - 1))])
    assert document.text in ("First words.\n", "First words.\n\n")


def test_neighbours_do_not_melt() -> None:
    """Removing a fence between two paragraphs leaves two paragraphs."""
    document = parse("above\n```\ncode\n```\nbelow\n")
    result = editing.remove(document, [1])
    assert [block.text for block in result.blocks] == ["above", "below"]
