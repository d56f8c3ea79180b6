"""Core blocks: small named texts that are in every prompt. Each is a section `## label` of a file `core.md`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from memoranda.domain.markdown import BlockKind, Document, Heading, parse

CORE = "core.md"
_LABEL_LEVEL = 2
DEFAULT_LIMIT = 2_000
BlockAction = Literal["append", "replace", "set"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockSpec:
    """How a block is declared: `limit` in characters (0 for none), `agents` that have it (empty: all)."""

    label: str
    description: str = ""
    value: str = ""
    limit: int = DEFAULT_LIMIT
    shared: bool = False
    read_only: bool = False
    agents: tuple[str, ...] = ()

    def is_for(self, agent: str) -> bool:
        """Whether an agent has this block."""
        return not self.agents or agent in self.agents


DEFAULT_BLOCKS = (
    BlockSpec(label="persona", description="Who you are: your role, your manner, what you have learnt about yourself."),
    BlockSpec(label="human", description="Who you work for: name, preferences, what matters to them."),
    BlockSpec(label="project", description="What you are working on now: goals, state, decisions that hold."),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CoreBlock:
    """A block with its present value. `over` characters are too many: it is then not shown to a model.

    Where its file is not readable, neither is the block: what stands there is not known, and not replaced.
    """

    spec: BlockSpec
    value: str
    is_edited: bool
    is_readable: bool = True

    @property
    def characters(self) -> int:
        """Length of the value."""
        return len(self.value)

    @property
    def over(self) -> int:
        """How many characters are over the limit."""
        return max(0, len(self.value) - self.spec.limit) if self.spec.limit else 0


@dataclass(frozen=True, slots=True)
class Section:
    """Where a block's value stands in a text: after its heading, up to the next heading of its level or above."""

    heading: Heading
    start: int
    end: int


def section_of(document: Document, label: str) -> Section | None:
    """Return the first section of this label, in any case."""
    found: Heading | None = None
    for heading in document.headings:
        if found is not None and heading.level <= _LABEL_LEVEL:
            return Section(found, found.extent, heading.start)
        if found is None and heading.level == _LABEL_LEVEL and heading.text.casefold() == label.casefold():
            found = heading
    return Section(found, found.extent, len(document.text)) if found else None


def value_in(document: Document, label: str) -> str:
    """Return the text of a block's section, "" where there is none."""
    section = section_of(document, label)
    return document.text[section.start : section.end].strip("\r\n") if section else ""


def labels_in(document: Document) -> tuple[str, ...]:
    """Return the labels of all sections, in order."""
    return tuple(heading.text for heading in document.headings if heading.level == _LABEL_LEVEL)


def repeated_in(document: Document) -> tuple[str, ...]:
    """Return the labels of sections that stand more than once, in any case: only the first of each is a block."""
    names = [label.casefold() for label in labels_in(document)]
    return tuple(label for at, label in enumerate(labels_in(document)) if names.index(names[at]) < at)


def with_value(document: Document, label: str, value: str) -> str:
    """Return the text with a block's value in the place of the old one, or with a new section at the end."""
    newline = document.newline
    body = newline.join(value.strip("\r\n").splitlines())
    section = section_of(document, label)
    if section is None:
        text = document.text.rstrip()
        before = f"{text}{newline}{newline}" if text else ""
        return f"{before}## {label}{newline}{newline}{body}{newline}"
    rest = document.text[section.end :]
    middle = f"{newline}{body}{newline}" if body else ""
    head = document.text[: section.start]
    head = head if head.endswith(("\n", "\r")) else head + newline
    return f"{head}{middle}{newline if rest else ''}{rest}"


def changed(value: str, action: BlockAction, text: str, old: str) -> str | None:
    """Return a block's value after a change; None where `old` does not stand in it."""
    match action:
        case "set":
            return text.strip("\r\n")
        case "append":
            if not value.strip():
                return text.strip("\r\n")
            added = text.strip("\r\n")
            between = "\n" if _kind_at(value, -1) == _kind_at(added, 0) == "item" else "\n\n"
            return f"{value.rstrip()}{between}{added}"
        case _:
            if not old or old not in value:
                return None
            return value.replace(old, text, 1).strip("\r\n")


def _kind_at(text: str, index: int) -> BlockKind | None:
    blocks = parse(text).blocks
    return blocks[index].kind if blocks else None


def holds_heading(value: str) -> bool:
    """Whether a value has headings of its own: it would begin another block, or hide text from those who read it."""
    return bool(parse(value).headings)
