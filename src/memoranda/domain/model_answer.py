"""Reads what a language model answered: JSON with prose or a fence around it, and nothing that was not asked for."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from memoranda.domain.given import readable

MAX_ANSWER_CHARS = 1_000_000
"""A longer answer is none: no job asks for so much."""

_OPENING = {"{": "}", "[": "]"}


class Misread(ValueError):  # noqa: N818 - named by what happened
    """Raised where an answer is not of the form that was asked for; the message does not repeat it."""


def json_in(text: str) -> object:
    """Return the JSON value in an answer: the whole of it, or the outermost object or list with text around it.

    Raises:
        Misread: there is none, in words that do not repeat the answer.
    """
    if len(text) > MAX_ANSWER_CHARS:
        raise Misread(f"the answer has {len(text):,} characters, far more than was asked for")
    for piece in (text.strip(), _outermost(text)):
        try:
            return json.loads(piece)
        except (ValueError, RecursionError):
            continue
    raise Misread("the answer is no JSON")


def _outermost(text: str) -> str:
    """Return the text from the first opening bracket to the last one that closes its kind."""
    starts = [at for at in map(text.find, _OPENING) if at >= 0]
    if not starts:
        return ""
    start = min(starts)
    return text[start : text.rfind(_OPENING[text[start]]) + 1]


def items_of(value: object, name: str) -> Sequence[Mapping[str, object]]:
    """Return the objects listed under a name in an answer; a list alone is taken for it.

    Raises:
        Misread: there is no such list, or something in it is no object.
    """
    found = value.get(name) if isinstance(value, dict) else value
    if not isinstance(found, list):
        raise Misread(f"the answer has no list {name!r}")
    if not all(isinstance(item, dict) for item in found):
        raise Misread(f"something in {name!r} is no object")
    return found


def text_of(item: Mapping[str, object], name: str, *, limit: int = 4_000) -> str:
    """Return a text in an object, stripped, "" where it is absent; raises Misread for what is none or too long."""
    value = item.get(name, "")
    if value is None:
        return ""
    if not isinstance(value, str):
        raise Misread(f"{name} is no text")
    if len(value) > limit:
        raise Misread(f"{name} is longer than {limit:,} characters")
    return readable(value).strip()


def names_of(item: Mapping[str, object], name: str, *, limit: int = 64) -> tuple[str, ...]:
    """Return a list of ids in an object, each once, in order; raises Misread for anything else."""
    value = item.get(name, [])
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise Misread(f"{name} is no list of ids")
    if len(value) > limit:
        raise Misread(f"{name} names more than {limit}")
    return tuple(dict.fromkeys(map(readable, value)))


def number_of(item: Mapping[str, object], name: str) -> float:
    """Return a number in an object, held between 0 and 1; raises Misread for what is none."""
    value = item.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:  # noqa: PLR0124 - NaN
        raise Misread(f"{name} is no number")
    return min(max(float(value), 0.0), 1.0)


def form(name: str, properties: Mapping[str, object], *, required: Sequence[str] = ()) -> dict[str, object]:
    """Return the JSON schema of an answer: an object with one list of objects."""
    item = {
        "type": "object", "properties": dict(properties), "required": list(required or properties),
        "additionalProperties": False,
    }  # fmt: skip
    return {
        "type": "object", "properties": {name: {"type": "array", "items": item}}, "required": [name],
        "additionalProperties": False,
    }  # fmt: skip
