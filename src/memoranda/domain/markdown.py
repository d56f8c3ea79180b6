"""Markdown as blocks: what is a record, what is context, and where each byte belongs.

A record is a top-level list item with all its descendants, or a paragraph, table, code, quote or HTML block.
Headings, rules, front matter and blank lines are context. Offsets are characters of the decoded text; nothing is
normalised, so that every byte that is not changed keeps its value. Link reference definitions are ordinary
paragraphs here: a note that looks like one must not vanish from memory.
"""

from __future__ import annotations

import bisect
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from markdown_it import MarkdownIt
from markdown_it.token import Token

BlockKind = Literal["item", "paragraph", "table", "code", "quote", "html"]

_LINE = re.compile(r"\r\n|\n|\r")
"""The line endings of CommonMark; other Unicode separators do not end a line."""

_FRONT_MATTER = re.compile(
    r"---[ \t]*(?:\r\n|\n|\r)(?:.*?(?:\r\n|\n|\r))??(?:---|\.\.\.)[ \t]*(?=\r\n|\n|\r|\Z)", re.DOTALL
)
_BOM = "\ufeff"
_BLANK = " \t\r\n"
_NESTING = 100
"""Containers in each other, two for each level of a list; deeper ones are one block's plain text."""
_WORTH_KEEPING = 3
"""Blocks before a change from which on `reparse` saves anything."""

_KINDS: dict[str, BlockKind] = {
    "paragraph_open": "paragraph",
    "table_open": "table",
    "fence": "code",
    "code_block": "code",
    "blockquote_open": "quote",
    "html_block": "html",
    "list_item_open": "item",
}


@dataclass(frozen=True, slots=True)
class Block:
    """One record's place in a text.

    `start:end` is the block without its last line ending; `extent` includes that line ending and is what goes when
    the block is removed. `line_start` and `line_end` count from 1. `heading` is the trail of headings above it.
    """

    start: int
    end: int
    extent: int
    line_start: int
    line_end: int
    kind: BlockKind
    heading: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Heading:
    """One heading's place: `start:extent` is its lines with their endings."""

    start: int
    extent: int
    level: int
    text: str


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed text: its blocks and headings in order."""

    text: str
    blocks: tuple[Block, ...]
    headings: tuple[Heading, ...]

    @property
    def title(self) -> str:
        """The first heading's text, or "" where there is none."""
        return self.headings[0].text if self.headings else ""

    @property
    def newline(self) -> str:
        """The line ending the file uses, by its first line; a new file uses a line feed."""
        found = _LINE.search(self.text)
        return found.group() if found else "\n"


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"maxNesting": _NESTING}).enable("table")
    parser.core.ruler.enableOnly(["normalize", "block"])
    parser.disable("reference")
    return parser


def parse(text: str) -> Document:
    """Parse a text of any content into blocks and headings that do not overlap and follow its order."""
    body = _body_offset(text)
    found = _Reader(text, _line_starts(text, body), len(_LINE.findall(text, 0, body)), [])
    found.read(_parser().parse(text[body:]))
    return Document(text, tuple(found.blocks), tuple(found.headings))


def reparse(old: Document, text: str, changed_at: int) -> Document:
    """Parse a text that equals `old.text` before `changed_at`, reading again only what the change can reach.

    Parsing may restart at the first line of any top-level block or list item: no container is open there. It
    restarts two blocks before the change, because the block right before it can take in what follows.
    """
    before = bisect.bisect_right(old.blocks, changed_at, key=lambda block: block.extent)
    if before < _WORTH_KEEPING or _body_offset(text) != _body_offset(old.text):
        return parse(text)
    restart = old.blocks[before - 2]
    kept = old.blocks[: before - 2]
    headings = tuple(heading for heading in old.headings if heading.start < restart.start)
    found = _Reader(text, _line_starts(text, restart.start), restart.line_start - 1, _trail(headings))
    found.read(_parser().parse(text[restart.start :]))
    return Document(text, (*kept, *found.blocks), (*headings, *found.headings))


def common_start(left: str, right: str) -> int:
    """Length of what two texts begin with alike, by halving: slices compare fast, characters one by one do not."""
    low, high = 0, min(len(left), len(right))
    while low < high:
        middle = (low + high + 1) // 2
        if left[low:middle] == right[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _trail(headings: tuple[Heading, ...]) -> list[tuple[int, str]]:
    """The headings still open after these."""
    trail: list[tuple[int, str]] = []
    for heading in headings:
        trail = [entry for entry in trail if entry[0] < heading.level]
        trail.append((heading.level, heading.text))
    return trail


def front_matter_end(text: str) -> int:
    """Return where front matter ends, with its line's end; 0 where there is none."""
    end = _body_offset(text)
    return end if end > 1 or (end and not text.startswith(_BOM)) else 0


def _body_offset(text: str) -> int:
    """Where Markdown begins: after a byte order mark and front matter."""
    start = 1 if text.startswith(_BOM) else 0
    front = _FRONT_MATTER.match(text, start)
    if front is None:
        return start
    end = front.end()
    newline = _LINE.match(text, end)
    return newline.end() if newline else end


def _line_starts(text: str, body: int) -> list[int]:
    """Offsets of the lines from `body` on, with the end of the text as a last entry."""
    starts = [body]
    starts.extend(match.end() for match in _LINE.finditer(text, body))
    starts.append(len(text))
    return starts


class _Reader:
    """Collects blocks and headings from one parse."""

    def __init__(self, text: str, starts: list[int], first_line: int, trail: list[tuple[int, str]]) -> None:
        self.text, self.starts, self.first_line, self.trail = text, starts, first_line, trail
        self.blocks: list[Block] = []
        self.headings: list[Heading] = []

    def read(self, tokens: list[Token]) -> None:
        for index, token in enumerate(tokens):
            if token.map is None:
                continue
            if token.level == 0 and token.type == "heading_open":
                self._heading(token, tokens[index + 1].content)
            elif (token.level == 0 and token.type in _KINDS) or (token.level == 1 and token.type == "list_item_open"):
                self._block(_KINDS[token.type], token.map[0], token.map[1])

    def _span(self, first: int, last: int) -> tuple[int, int, int]:
        """Return end, extent and last line of lines first..last-1, trailing blank lines left out."""
        last = min(last, len(self.starts) - 1)
        while last > first + 1 and not self.text[self.starts[last - 1] : self.starts[last]].strip(_BLANK):
            last -= 1
        start, extent = self.starts[first], self.starts[last]
        end = extent
        if self.text.endswith("\r\n", start, extent):
            end -= 2
        elif self.text.endswith(("\n", "\r"), start, extent):
            end -= 1
        return end, extent, last

    def _heading(self, token: Token, content: str) -> None:
        first, last = token.map or (0, 0)
        _, extent, _ = self._span(first, last)
        level = int(token.tag[1:])
        title = " ".join(content.split())
        self.headings.append(Heading(self.starts[first], extent, level, title))
        self.trail = [entry for entry in self.trail if entry[0] < level]
        self.trail.append((level, title))

    def _block(self, kind: BlockKind, first: int, last: int) -> None:
        end, extent, last = self._span(first, last)
        start = self.starts[first]
        if start >= end or (self.blocks and start < self.blocks[-1].extent):
            return
        line = self.first_line + first
        self.blocks.append(
            Block(
                start=start,
                end=end,
                extent=extent,
                line_start=line + 1,
                line_end=self.first_line + last,
                kind=kind,
                heading=tuple(text for _, text in self.trail if text),
                text=self.text[start:end],
            )
        )
