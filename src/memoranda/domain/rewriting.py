"""Changes single blocks in place: put another text there, rename the heading above, remove a heading left alone.

Like `editing`, each function checks its own result by parsing it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from memoranda.domain.editing import remove, with_newlines
from memoranda.domain.markdown import Block, Document, Heading, parse

_MARKER = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?")
_CHECKBOX = re.compile(r"\[[ xX]\][ \t]+\Z")


def substitute(document: Document, index: int, text: str) -> Document | None:
    """Put a text in a block's place; nothing else changes.

    A plain text that takes the place of a list item becomes an item with the same marker. Returns None where the text
    would take in what stands around it, or be taken in.
    """
    block = document.blocks[index]
    body = with_newlines(_as_item(block, text.strip("\r\n")), document.newline)
    offered = [item.text for item in parse(body).blocks]
    others = [item.text for item in document.blocks]
    expected = [*others[:index], *offered, *others[index + 1 :]]
    result = parse(document.text[: block.start] + body + document.text[block.end :])
    return result if [item.text for item in result.blocks] == expected else None


def _as_item(block: Block, text: str) -> str:
    """Give a text the marker of the item whose place it takes, its further lines indented below it."""
    marker = _MARKER.match(block.text) if block.kind == "item" else None
    blocks = parse(text).blocks
    if marker is None or not blocks or blocks[0].kind == "item":
        return text
    width = len(_CHECKBOX.sub("", marker.group()))
    first, *rest = text.splitlines()
    return "\n".join([marker.group() + first, *(" " * width + line if line.strip() else line for line in rest)])


def retitle(document: Document, index: int, old: str, new: str) -> Document | None:
    """Rename the ATX heading right above a block, if it is `old`; None where there is none or it would not hold."""
    block = document.blocks[index]
    above = [item for item in document.headings if item.extent <= block.start]
    if not above or above[-1].text != old:
        return None
    heading = above[-1]
    line = document.text[heading.start : heading.extent]
    ending = line[len(line.rstrip("\r\n")) :]
    text = f"{document.text[: heading.start]}{'#' * heading.level} {new}{ending}{document.text[heading.extent :]}"
    result = parse(text)
    same = [item.text for item in result.blocks] == [item.text for item in document.blocks]
    return result if same and len(result.headings) == len(document.headings) else None


def drop(document: Document, indexes: Sequence[int], lone_headings: AbstractSet[str]) -> Document:
    """Remove blocks, and a heading of `lone_headings` that one of them was the last block under."""
    trails = {document.blocks[index].heading[-1:] for index in indexes}
    result = remove(document, indexes)
    for name in sorted(lone_headings):
        if (name,) in trails:
            result = _without_heading(result, name)
    return result


def _without_heading(document: Document, name: str) -> Document:
    for position, heading in enumerate(document.headings):
        if heading.text == name and _is_alone(document, position):
            start, end = heading.start, _end_of_gap(document, heading)
            result = parse(document.text[:start] + document.text[end:])
            if [item.text for item in result.blocks] == [item.text for item in document.blocks]:
                return result
    return document


def _is_alone(document: Document, position: int) -> bool:
    """Whether nothing is below a heading: no block, no deeper heading."""
    heading = document.headings[position]
    after = document.headings[position + 1 :]
    limit = after[0].start if after else len(document.text)
    if after and after[0].level > heading.level:
        return False
    return not any(heading.extent <= block.start < limit for block in document.blocks)


def _end_of_gap(document: Document, heading: Heading) -> int:
    """Where the blank lines after a heading end; one that separates what is left stays before it."""
    end = heading.extent
    while end < len(document.text) and document.text[end] in "\r\n":
        end += 1
    return end
