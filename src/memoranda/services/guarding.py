"""What no write may do to a person's words, beside the trust of single records: context, order, withheld text.

Headings, rules and front matter are no records, and a block says something else under another heading. Withheld text
is kept nowhere but in the person's own file, so that nothing could bring it back.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from memoranda.domain.markdown import Document
from memoranda.domain.outcome import Refused
from memoranda.domain.policy import PERSONS_TEXT, may_change
from memoranda.domain.record import Record
from memoranda.domain.scope import EXTERNAL, Principal
from memoranda.domain.withheld import hidden_headings, masked_trail
from memoranda.services.working_file import WorkingFile


def refused_change(
    author: Principal,
    working: WorkingFile,
    document: Document,
    known: Sequence[Record | None],
    kept: Mapping[int, int],
    gone: Sequence[int],
    *,
    own_headings: AbstractSet[str] = frozenset(),
    drops_withheld: bool = False,
) -> Refused | None:
    """Return why an author may not turn a file into this document, or None.

    `known` are the old blocks' records, `kept` maps new indexes to old ones, `gone` are old indexes that are removed
    or edited. `own_headings` are headings that the product wrote for a record that goes; `drops_withheld` is a person's
    ruling on withheld text.
    """
    if author == EXTERNAL:
        return None
    for index in gone:
        record = known[index]
        refused = may_change(author, record.trust) if record else None
        if refused:
            return refused
    old = working.document.text
    if not drops_withheld and any(old[start:end] not in document.text for start, end in working.withheld.spans):
        return (
            Refused("trust", PERSONS_TEXT)
            if author.is_bound
            else Refused(
                "withheld",
                "this would remove a text that is withheld because it holds a secret; it is kept nowhere else; only "
                "you can remove it, with an editor",
            )
        )
    if author.is_bound and working.state is not None and working.state.by_person:
        moved = _moves_a_persons_block(author, working, document, known, kept)
        before = (line for line in _context(working.document) if line.strip("# ") not in own_headings)
        if moved or not _is_within(before, _context(document)):
            return Refused("trust", PERSONS_TEXT)
    return None


def _moves_a_persons_block(
    author: Principal,
    working: WorkingFile,
    document: Document,
    known: Sequence[Record | None],
    kept: Mapping[int, int],
) -> bool:
    """Whether a block that this author may not change stands under other headings or in another order."""
    hidden = hidden_headings(working.document, working.withheld)
    last = -1
    for new, old in sorted(kept.items()):
        record = known[old]
        if record is None or not may_change(author, record.trust):
            continue
        if old < last or masked_trail(document.blocks[new].heading, hidden) != record.heading:
            return True
        last = old
    return False


def _context(document: Document) -> Iterator[str]:
    """The lines that are in no block, blank ones left out."""
    position = 0
    for start, end in [*((block.start, block.extent) for block in document.blocks), (len(document.text),) * 2]:
        yield from (line for line in document.text[position:start].splitlines() if line.strip("\ufeff \t"))
        position = end


def _is_within(part: Iterator[str], whole: Iterator[str]) -> bool:
    """Whether all lines are there, in order, with perhaps others between them."""
    return all(any(line == other for other in whole) for line in part)


def masked(working: WorkingFile) -> str:
    """Return a file's text with a NUL for every character that is withheld: what a model may look into."""
    parts: list[str] = []
    position = 0
    for start, end in working.withheld.spans:
        parts.extend((working.document.text[position:start], "\0" * (end - start)))
        position = end
    return "".join([*parts, working.document.text[position:]])
