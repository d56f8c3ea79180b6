"""What a dream may do: operations as a model names them, and how much of memory one pass may touch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from memoranda.domain.model_answer import Misread, form, names_of, text_of
from memoranda.domain.record import Trust

Deed = Literal["promote", "note", "merge", "rewrite", "retire", "retier", "contradiction"]
DEEDS: tuple[Deed, ...] = get_args(Deed)

MOST_TOUCHED = 32
"""Records that one pass touches at most, however large the scope."""

_NEEDS: Mapping[Deed, tuple[int, int]] = {
    "promote": (1, 8), "note": (0, 8), "merge": (2, 8), "rewrite": (1, 1), "retire": (1, 8), "retier": (1, 1),
    "contradiction": (2, 2),
}  # fmt: skip
"""Deed -> how many records it names, at least and at most."""

_WITH_TEXT = ("promote", "note", "merge", "rewrite")

SCHEMA = form(
    "operations",
    {
        "op": {"type": "string", "enum": list(DEEDS)},
        "ids": {"type": "array", "items": {"type": "string"}},
        "text": {"type": "string"}, "block": {"type": "string"}, "path": {"type": "string"},
        "trust": {"type": "string"}, "why": {"type": "string"}, "entity": {"type": "string"},
        "topic": {"type": "string"},
    },
    required=("op",),
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Dreamt:
    """One operation that a model wants: its deed, the records it names, and what the deed needs."""

    deed: Deed
    ids: tuple[str, ...] = ()
    text: str = ""
    block: str = ""
    path: str = ""
    trust: Trust | None = None
    why: str = ""
    entity: str = ""
    topic: str = ""

    @property
    def touches(self) -> bool:
        """Whether it changes records that are there, which waits for a person."""
        return self.deed in ("merge", "rewrite", "retire", "retier")


def read_dreamt(item: Mapping[str, object]) -> Dreamt:
    """Return one operation of an answer. Raises Misread where it has another form or lacks what its deed needs."""
    deed = next((deed for deed in DEEDS if deed == item.get("op")), None)
    if deed is None:
        raise Misread("there is no such operation")
    ids = names_of(item, "ids")
    least, most = _NEEDS[deed]
    if not least <= len(ids) <= most:
        raise Misread(f"{deed} names {least} to {most} records")
    text = text_of(item, "text")
    if deed in _WITH_TEXT and not text:
        raise Misread(f"{deed} needs a text")
    tiers = {tier.label: tier for tier in (Trust.UNTRUSTED, Trust.AGENT_OBSERVED, Trust.AGENT_VERIFIED)}
    trust = tiers.get(text_of(item, "trust"))
    if deed == "retier" and trust is None:
        raise Misread("retier needs a trust")
    return Dreamt(
        deed=deed, ids=ids, text=text, block=text_of(item, "block"), path=text_of(item, "path"), trust=trust,
        why=text_of(item, "why"), entity=text_of(item, "entity"), topic=text_of(item, "topic"),
    )  # fmt: skip


def cap(active: int, share: float, *, applies: bool) -> int:
    """Return how many records one pass may touch in a scope that has so many active ones: at most 32.

    At least one; where a person decides at least two, for a merge needs so many.
    """
    return min(MOST_TOUCHED, max(1 if applies else 2, int(active * share)))
