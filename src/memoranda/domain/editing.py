"""Changes a text block by block and leaves every other byte alone.

Each function checks its own result by parsing it: what was not touched must still be the same blocks in the same
order, because in Markdown a removed line can melt its neighbours together.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Sequence
from dataclasses import dataclass

from memoranda.domain.markdown import Document, common_start, parse, reparse

_ANY_NEWLINE = re.compile(r"\r\n|\n|\r")
_PROBE = "probe"
_BLANK_END = re.compile(r"\n[ \t]*\n\Z")
_BLANK_LINE = re.compile(r"[ \t]*(?:\r\n|\n|\r)")
_TAIL = 1_000
"""Characters looked at for a blank line at the end; one that is wider gets another blank line after it."""


def with_newlines(text: str, newline: str) -> str:
    """Give a text the line endings of the file it goes into."""
    return _ANY_NEWLINE.sub(newline, text)


def is_closed(text: str) -> bool:
    """Whether a text ends outside any open code fence or HTML block, so that something can follow it."""
    blocks = parse(text).blocks
    followed = parse(f"{text.rstrip()}\n\n{_PROBE}").blocks
    return len(followed) == len(blocks) + 1 and followed[-1].text == _PROBE


def append(document: Document, content: str) -> Document | None:
    """Add blocks at the end, a blank line before them (none between list items).

    Returns None where the file's end takes everything in: an open code fence or HTML comment.
    """
    newline = document.newline
    body = with_newlines(content.strip("\r\n"), newline) + newline
    offered = [block.text for block in parse(body).blocks]
    before = [block.text for block in document.blocks]
    for separator in _separators(document, body, newline):
        text = document.text + separator + body
        result = reparse(document, text, len(document.text))
        if [block.text for block in result.blocks] == [*before, *offered]:
            return result
    return None


def _separators(document: Document, body: str, newline: str) -> Sequence[str]:
    """Separators to try, tightest first."""
    text = document.text
    if not text.strip("\ufeff\r\n"):
        return [""]
    ended = text.endswith(("\n", "\r"))
    finish = "" if ended else newline
    blank = bool(_BLANK_END.search(with_newlines(text[-_TAIL:], "\n")))
    loose = [finish] if blank else [finish + newline, finish]
    last_is_end = bool(document.blocks) and document.blocks[-1].extent == len(text)
    first = parse(body).blocks[:1]
    if last_is_end and document.blocks[-1].kind == "item" and first and first[0].kind == "item" and first[0].start == 0:
        return [finish, *loose]
    return loose


def remove(document: Document, indexes: Sequence[int]) -> Document:
    """Remove blocks: their lines, and the blank line after them where one before them stays.

    Where the neighbours would melt into one, a line break takes the block's place.
    """
    gone = set(indexes)
    expected = [block.text for index, block in enumerate(document.blocks) if index not in gone]
    spans = [
        _with_separator(document.text, document.blocks[index].start, document.blocks[index].extent)
        for index in sorted(gone)
    ]
    return _without(document, spans, expected)


def _with_separator(text: str, start: int, end: int) -> tuple[int, int]:
    """Widen a span of whole lines by the blank line after it, if a blank line or nothing is before it.

    This undoes what `append` wrote; without it, blank lines would pile up.
    """
    before = with_newlines(text[max(0, start - _TAIL) : start], "\n")
    if before.strip("\ufeff") and not _BLANK_END.search(before) and before != "\n":
        return start, end
    separator = _BLANK_LINE.match(text, end)
    return (start, separator.end()) if separator else (start, end)


def _without(document: Document, spans: Sequence[tuple[int, int]], expected: list[str] | None) -> Document:
    text = _splice(document.text, spans, "")
    result = parse(text)
    if expected is None or [block.text for block in result.blocks] == expected:
        return result
    apart = parse(_splice(document.text, spans, document.newline))
    return apart if [block.text for block in apart.blocks] == expected else result


def _splice(text: str, spans: Sequence[tuple[int, int]], filler: str) -> str:
    parts: list[str] = []
    position = 0
    for start, end in spans:
        parts.extend((text[position:start], filler))
        position = max(position, end)
    parts.append(text[position:])
    return "".join(parts)


@dataclass(frozen=True, slots=True)
class CutResult:
    """A text without a snippet, and how often the snippet was removed; 0 means it was not there."""

    document: Document
    matches: int


def cut(document: Document, snippet: str, *, every: bool = False, visible: str | None = None) -> CutResult:
    """Remove a snippet, its first occurrence or all; one with LF matches a file with CRLF.

    `visible` is the text that is searched, of the same length; a NUL in it matches nothing. A block that the snippet
    covers whole goes with its line ending, so that no empty line stays behind.
    """
    text = document.text if visible is None else visible
    needle = snippet if snippet in text else with_newlines(snippet, document.newline)
    spans: list[tuple[int, int]] = []
    position = -1 if "\0" in needle else text.find(needle)
    while position >= 0 and (every or not spans):
        spans.append((position, position + len(needle)))
        position = text.find(needle, position + len(needle))
    if not spans:
        return CutResult(document, 0)
    whole, touched = _covered(document, spans)
    extents = {document.blocks[index].end: document.blocks[index].extent for index in whole}
    starts = {document.blocks[index].start for index in whole}
    widened = [
        _with_separator(document.text, start, extents[end]) if end in extents and start in starts else (start, end)
        for start, end in spans
    ]
    expected = None
    if whole == touched:
        expected = [block.text for index, block in enumerate(document.blocks) if index not in whole]
    return CutResult(_without(document, widened, expected), len(spans))


def _covered(document: Document, spans: Sequence[tuple[int, int]]) -> tuple[set[int], set[int]]:
    """Indexes of the blocks that lie whole in a span, and of those that a span touches at all."""
    whole: set[int] = set()
    touched: set[int] = set()
    blocks = document.blocks
    for start, end in spans:
        index = bisect.bisect_right(blocks, start, key=lambda block: block.end)
        while index < len(blocks) and blocks[index].start < end:
            touched.add(index)
            if start <= blocks[index].start and blocks[index].end <= end:
                whole.add(index)
            index += 1
    return whole, touched


def splices(before: str, after: str) -> list[tuple[int, int, str]]:
    """Return the one splice (start, end, new text) that turns `before` into `after`, or none if they are equal.

    Common beginning and end are left out; offsets are characters of `before`.
    """
    if before == after:
        return []
    start = common_start(before, after)
    end = common_start(before[start:][::-1], after[start:][::-1])
    return [(start, len(before) - end, after[start : len(after) - end])]


def apply_splices(before: str, changes: Sequence[tuple[int, int, str]]) -> str:
    """Apply splices in order of their offsets in `before`."""
    parts: list[str] = []
    position = 0
    for start, end, text in changes:
        parts.extend((before[position:start], text))
        position = end
    parts.append(before[position:])
    return "".join(parts)
