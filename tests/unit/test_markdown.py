"""The grammar of records: blocks, context, and the bytes they own."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoranda.domain.markdown import Document, parse, reparse

PIECES = (
    "- item\n", "* star\n", "1. one\n", "2) two\n", "  - nested\n", "    code or more\n", "\ttab\n", "para\n",
    "\n",    "\n\n", "# H1\n", "## H2\n", "Setext\n===\n", "---\n", "***\n", "```py\ncode\n```\n", "```\nopen\n",
    "~~~\nx\n~~~\n",    "> quote\n", "lazy\n", "| a | b |\n|---|---|\n| 1 | 2 |\n", "<div>\n", "</div>\n", "<!-- note -->\n",
    "<!-- open\n",    "[ref]: http://x.example\n", "- [ ] task\n", "- [x] done\n", "\r\n", "crlf\r\n", "- crlf item\r\n",
    "lone\r", "\ufeff",    "end without newline", "日本語の段落\n", "- 项目\n", "\u2028", "\x0c", "\0", "-", "- \n", "1.\n", "   indented\n", "|", "\\",
)  # fmt: skip
TEXTS = st.one_of(
    st.text(max_size=200),
    st.lists(st.sampled_from(PIECES), max_size=30).map("".join),
    st.text("-*#>|` \t\r\n1.a", max_size=80),
)


def owned(document: Document) -> list[tuple[int, int]]:
    """The extents of all blocks, in order."""
    return [(block.start, block.extent) for block in document.blocks]


@settings(max_examples=400, deadline=None)
@given(TEXTS)
def test_records_and_context_cover_the_file(text: str) -> None:
    """Blocks follow each other without overlap, and putting all pieces together gives the text back."""
    document = parse(text)
    position, rebuilt = 0, ""
    for start, end in owned(document):
        assert position <= start < end <= len(text)
        rebuilt += text[position:start] + text[start:end]
        position = end
    assert rebuilt + text[position:] == text


@settings(max_examples=400, deadline=None)
@given(TEXTS)
def test_context_holds_no_words_of_a_paragraph(text: str) -> None:
    """A block's own text is what its place says, it is never blank, and its lines are where it says."""
    document = parse(text)
    lines = [line for part in text.split("\r\n") for line in part.replace("\r", "\n").split("\n")]
    for block in document.blocks:
        assert text[block.start : block.end] == block.text
        assert block.text.strip(" \t\r\n")
        assert block.line_start <= block.line_end
        first = block.text.replace("\r\n", "\n").replace("\r", "\n").split("\n")[0]
        assert lines[block.line_start - 1].lstrip("\ufeff").endswith(first) or first.startswith("\ufeff")


@pytest.mark.slow
@settings(max_examples=600, deadline=None)
@given(TEXTS, TEXTS, st.integers(0, 200))
def test_reading_again_from_a_change_equals_reading_all(old: str, tail: str, cut: int) -> None:
    """Parsing from two blocks before a change gives the same document as parsing everything."""
    at = min(cut, len(old))
    new = old[:at] + tail
    assert reparse(parse(old), new, at) == parse(new)


def test_every_kind_of_block() -> None:
    """Items, paragraphs, tables, code, quotes and HTML are records; headings, rules and front matter are context."""
    text = (
        "\ufeff---\nkey: value\n---\n# Title\n\nA paragraph\nof two lines.\n\n- first\n  - nested\n- second\n\n"
        "| a | b |\n|---|---|\n| 1 | 2 |\n\n> quoted\nlazily\n\n```py\ncode\n\nmore\n```\n<!-- note -->\n\n"
        "    indented code\n\n***\n[looks]: like-a-reference\n\n## Part\n1. one\n"
    )
    found = [(block.kind, block.line_start, block.line_end, block.heading) for block in parse(text).blocks]
    title = ("Title",)
    assert found == [
        ("paragraph", 6, 7, title),
        ("item", 9, 10, title),
        ("item", 11, 11, title),
        ("table", 13, 15, title),
        ("quote", 17, 18, title),
        ("code", 20, 24, title),
        ("html", 25, 25, title),
        ("code", 27, 27, title),
        ("paragraph", 30, 30, title),
        ("item", 33, 33, ("Title", "Part")),
    ]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_line_endings_are_kept(newline: str) -> None:
    """A block's text holds the file's own line endings, and its extent takes exactly one more."""
    text = newline.join(["one", "two", "", "- three", ""])
    document = parse(text)
    assert [block.text for block in document.blocks] == [f"one{newline}two", "- three"]
    assert document.newline == newline
    assert document.blocks[1].extent == len(text)


def test_front_matter_must_be_closed() -> None:
    """An opening rule without a closing one is a rule, so that its text is not lost from memory."""
    assert [block.text for block in parse("---\nkey: value\n").blocks] == ["key: value"]
    assert parse("---\nkey: value\n---\n").blocks == ()


def test_heading_trail_follows_levels() -> None:
    """A heading closes those of its level and below."""
    text = "# A\n## B\nx\n\n### C\ny\n\n## D\nz\n\n# E\nw\n"
    assert [block.heading for block in parse(text).blocks] == [
        ("A", "B"),
        ("A", "B", "C"),
        ("A", "D"),
        ("E",),
    ]
