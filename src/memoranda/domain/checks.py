"""Checks of settings: each returns the value as it is kept, or raises ValueError that says what to use instead."""

from __future__ import annotations

import difflib
from collections.abc import Callable


def choice(*allowed: str) -> Callable[[object], object]:
    """Return a check for one of these words."""

    def check(value: object) -> object:
        if value not in allowed:
            near = difflib.get_close_matches(str(value), allowed, 1)
            hint = f" (did you mean {near[0]}?)" if near else ""
            raise ValueError(f"use one of {', '.join(allowed)}{hint}")
        return value

    return check


def boolean(value: object) -> object:
    """Check for true or false, in words too."""
    if isinstance(value, bool):
        return value
    words = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
    if isinstance(value, str) and value.lower() in words:
        return words[value.lower()]
    raise ValueError("use true or false")


def number(low: float, high: float, *, whole: bool = False) -> Callable[[object], object]:
    """Return a check for a number within bounds."""

    def check(value: object) -> object:
        try:
            number = int(str(value)) if whole else float(str(value))
        except ValueError:
            raise ValueError(f"use a number from {low} to {high}") from None
        if isinstance(value, bool) or not low <= number <= high:
            raise ValueError(f"use a number from {low} to {high}")
        return number

    return check


def text(value: object) -> object:
    """Check for a text."""
    if not isinstance(value, str) or "\0" in value:
        raise ValueError("use a text")
    return value


def policy(value: object) -> object:
    """Check for how often a transcript is kept: a name, or every so many messages."""
    if value in ("every-call", "manual", "none"):
        return value
    if not isinstance(value, bool) and str(value).isdecimal() and 1 <= int(str(value)) <= 10_000:  # noqa: PLR2004
        return str(int(str(value)))
    raise ValueError("use every-call, manual, none, or a number of messages from 1 to 10000")


def names(value: object) -> object:
    """Check for a list of names, or one text with commas."""
    if isinstance(value, str):
        value = [part for part in map(str.strip, value.split(",")) if part]
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) and item.strip() for item in value):
        raise ValueError('use a list of names such as ["files", "git"]')
    return tuple(value)


def addresses(value: object) -> object:
    """Check for one address or several, in order; kept as one text with commas."""
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, list | tuple) or not all(isinstance(part, str) for part in parts):
        raise ValueError('use an address such as "minilm", or a list of them')
    if isinstance(value, list | tuple) and any("," in part or not part.strip() for part in parts):
        raise ValueError("use addresses without a comma in them")
    return ",".join(filter(None, map(str.strip, parts)))
