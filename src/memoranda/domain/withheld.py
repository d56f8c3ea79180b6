"""Leaves withheld text out of what is kept, and puts it back from the person's own file.

A block (or a line of context) that holds a secret stands in that file alone. In the kept content a placeholder with
its keyed hash takes its place.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from memoranda.domain.markdown import Document

_PLACEHOLDER = re.compile(r"<!-- memoranda:withheld ([0-9a-f]{32}) -->")
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r|\Z)")
REVIEW = "review:"
"""Beginning of the reason of a record that is withheld until a person has read it."""

HELD_HEADING = "review:heading"
"""Why a heading is withheld that nobody has read."""

MASK = "[withheld]"
"""What stands in a record's heading trail for a heading that is withheld."""

PRIVATE_KEY = "private-key"
"""The class whose text may go on after a blank line, up to its END line."""


@dataclass(frozen=True, slots=True)
class SecretFinding:
    """A secret that was found: its class and line (from 1), never its text."""

    secret_class: str
    line: int


@dataclass(frozen=True, slots=True)
class Withheld:
    """What of a document is withheld: block index -> class, and context lines (line, class); spans of both."""

    blocks: dict[int, str]
    context: tuple[SecretFinding, ...]
    spans: tuple[tuple[int, int], ...]


NOTHING = Withheld({}, (), ())


def withhold(document: Document, findings: Sequence[SecretFinding]) -> Withheld:
    """Find the blocks and context lines that findings touch."""
    if not findings:
        return NOTHING
    blocks: dict[int, str] = {}
    context: list[SecretFinding] = []
    spans: list[tuple[int, int]] = []
    lines = [match.span() for match in _LINE.finditer(document.text)]
    for finding in findings:
        index = bisect.bisect_left(document.blocks, finding.line, key=lambda block: block.line_end)
        if index < len(document.blocks) and document.blocks[index].line_start <= finding.line:
            blocks.setdefault(index, finding.secret_class)
            if finding.secret_class == PRIVATE_KEY:
                blocks.update({more: PRIVATE_KEY for more in _rest_of_key(document, index) if more not in blocks})
        elif finding.line <= len(lines):
            context.append(finding)
            start, end = lines[finding.line - 1]
            spans.append((start, start + len(document.text[start:end].rstrip("\r\n"))))
    spans.extend((document.blocks[index].start, document.blocks[index].end) for index in blocks)
    return Withheld(blocks, tuple(context), tuple(sorted(set(spans))))


def also(withheld: Withheld, document: Document, more: Mapping[int, str]) -> Withheld:
    """Withhold further blocks, each with what it is called."""
    spans = {*withheld.spans, *((document.blocks[index].start, document.blocks[index].end) for index in more)}
    return Withheld({**withheld.blocks, **more}, withheld.context, tuple(sorted(spans)))


def also_headings(withheld: Withheld, document: Document, indexes: Iterable[int], reason: str) -> Withheld:
    """Withhold further headings, by index; `reason` is what they are called."""
    wanted = [(document.headings[index].start, document.headings[index].extent) for index in indexes]
    if not wanted:
        return withheld
    context, spans = list(withheld.context), set(withheld.spans)
    for number, match in enumerate(_LINE.finditer(document.text), 1):
        start, end = match.start(), match.start() + len(match.group().rstrip("\r\n"))
        if end > start and (start, end) not in spans and any(first <= start < last for first, last in wanted):
            context.append(SecretFinding(reason, number))
            spans.add((start, end))
    return Withheld(withheld.blocks, tuple(context), tuple(sorted(spans)))


def without_headings(withheld: Withheld, document: Document, indexes: Iterable[int], reason: str) -> Withheld:
    """Withhold these headings no longer, where that was the reason."""
    wanted = [(document.headings[index].start, document.headings[index].extent) for index in indexes]
    lines = [match.start() for match in _LINE.finditer(document.text)]

    def goes(start: int) -> bool:
        return any(first <= start < last for first, last in wanted)

    gone = {lines[item.line - 1] for item in withheld.context if item.secret_class == reason}
    gone = {start for start in gone if goes(start)}
    context = tuple(
        item for item in withheld.context if item.secret_class != reason or lines[item.line - 1] not in gone
    )
    return Withheld(withheld.blocks, context, tuple(span for span in withheld.spans if span[0] not in gone))


def headings_named(document: Document, names: AbstractSet[str], name_of: Callable[[str], str]) -> list[int]:
    """Return the indexes of headings whose first line has one of these hashes."""
    if not names:
        return []
    return [
        index
        for index, heading in enumerate(document.headings)
        if name_of(document.text[heading.start : heading.extent].splitlines()[0]) in names
    ]


def hidden_headings(document: Document, withheld: Withheld) -> frozenset[str]:
    """Return the texts of headings that are withheld."""
    if not withheld.context:
        return frozenset()
    starts = [start for start, _ in withheld.spans]
    return frozenset(
        heading.text
        for heading in document.headings
        if any(heading.start <= start < heading.extent for start in starts)
    )


def masked_trail(trail: tuple[str, ...], hidden: AbstractSet[str]) -> tuple[str, ...]:
    """Return a heading trail with a mask for each heading that is withheld."""
    return tuple(MASK if part in hidden else part for part in trail) if hidden else trail


def placeholder_names(text: str) -> frozenset[str]:
    """Return the hashes of everything that a kept content stands for."""
    return frozenset(_PLACEHOLDER.findall(text)) if "memoranda:withheld" in text else frozenset()


def _rest_of_key(document: Document, index: int) -> Sequence[int]:
    """Blocks after a private key's first one, up to the one with its END line, if there is such a line."""
    rest: list[int] = []
    for at in range(index, len(document.blocks)):
        rest.append(at)
        if "-----END" in document.blocks[at].text:
            return rest
    return []


def redact(document: Document, withheld: Withheld, name_of: Callable[[str], str]) -> str:
    """Return the text with a placeholder for every withheld span."""
    parts: list[str] = []
    position = 0
    for start, end in withheld.spans:
        parts.append(document.text[position:start])
        parts.append(f"<!-- memoranda:withheld {name_of(document.text[start:end])} -->")
        position = end
    parts.append(document.text[position:])
    return "".join(parts)


def fill(
    kept: str,
    document: Document,
    withheld: Withheld,
    name_of: Callable[[str], str],
    admitted: Callable[[str], str | None] = lambda _: None,
) -> str:
    """Return kept content with its placeholders filled; others stay.

    A text comes from the file as it is now, or from `admitted` by its hash.
    """
    texts = {name_of(document.text[start:end]): document.text[start:end] for start, end in withheld.spans}
    return _PLACEHOLDER.sub(lambda match: texts.get(match.group(1)) or admitted(match.group(1)) or match.group(), kept)


def placeholder_hash(block_text: str) -> str:
    """Return the hash in a block that is a placeholder, or ""."""
    match = _PLACEHOLDER.fullmatch(block_text)
    return match.group(1) if match else ""
