"""Checks a tool's arguments against its JSON Schema: exactly the keywords that the tool table uses.

Messages name the argument and the rule, never the value: arguments are memory contents.
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches

from memoranda.errors import InvalidInput

Schema = Mapping[str, object]

KEYWORDS = frozenset(
    {"type", "description", "default", "minimum", "maximum", "minLength", "maxLength", "enum", "maxItems"}
)
"""Keywords of one argument that `check` understands; a test holds the tool table to them."""

MAX_ITEM_CHARS = 200
"""Longest text in an array; the gateway counts the bytes."""

_TYPES: Mapping[str, type] = {"string": str, "integer": int, "boolean": bool, "array": list, "object": dict}


def published(rule: Schema) -> dict[str, object]:
    """Return an argument's rule as JSON Schema: what an array holds is said too."""
    extra: dict[str, object] = {"items": {"type": "string"}} if rule["type"] == "array" else {}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in rule.items()} | extra


def check(schema: Schema, arguments: Mapping[str, object]) -> dict[str, object]:
    """Return the arguments with defaults filled in.

    Raises:
        InvalidInput: an argument is unknown, missing, of another type or out of range.
    """
    properties: Mapping[str, Schema] = schema["properties"]  # type: ignore[assignment]  # a schema of tools.py
    required: tuple[str, ...] = tuple(schema.get("required", ()))  # type: ignore[arg-type]  # the same
    for name in arguments:
        if name not in properties:
            raise InvalidInput(_unknown(name, tuple(properties)))
    for name in required:
        if arguments.get(name) is None:
            raise InvalidInput(f"argument '{name}' is missing")
    checked: dict[str, object] = {}
    for name, rule in properties.items():
        if arguments.get(name) is not None:
            checked[name] = _value(name, rule, arguments[name])
        elif "default" in rule:
            checked[name] = rule["default"]
    return checked


def _unknown(name: str, known: tuple[str, ...]) -> str:
    near = get_close_matches(name, known, n=1)
    hint = f"; did you mean '{near[0]}'?" if near else ""
    allowed = ", ".join(known) if known else "none"
    return f"unknown argument '{name[:40]}'{hint} (allowed: {allowed})"


def _value(name: str, rule: Schema, value: object) -> object:
    kind = str(rule["type"])
    if kind == "integer" and isinstance(value, float) and value.is_integer():
        value = int(value)
    right = isinstance(value, _TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool))
    if not right:
        raise InvalidInput(f"argument '{name}' must be of type {kind}")
    if isinstance(value, list):
        _items(name, rule, value)
    elif isinstance(value, str):
        _length(name, rule, value)
        if "enum" in rule and value not in rule["enum"]:  # type: ignore[operator]  # a tuple in the tool table
            raise InvalidInput(f"argument '{name}' must be one of {', '.join(rule['enum'])}")  # type: ignore[arg-type]  # the same
    elif isinstance(value, int):
        low, high = rule.get("minimum", value), rule.get("maximum", value)
        if not int(low) <= value <= int(high):  # type: ignore[call-overload]  # numbers in tools.py
            raise InvalidInput(f"argument '{name}' is out of range: use {low} to {high}")
    return value


def _items(name: str, rule: Schema, value: list[object]) -> None:
    """Every array of the tool table is one of texts."""
    if not all(isinstance(item, str) for item in value):
        raise InvalidInput(f"argument '{name}' must be a list of texts")
    if len(value) > int(rule["maxItems"]):  # type: ignore[call-overload]  # a number in the tool table
        raise InvalidInput(f"argument '{name}' has too many items: {rule['maxItems']} at most")
    for item in value:
        _length(name, {"minLength": 1, "maxLength": MAX_ITEM_CHARS}, str(item))


def _length(name: str, rule: Schema, value: str) -> None:
    if len(value) < int(rule.get("minLength", 0)):  # type: ignore[call-overload]  # a number in tools.py
        raise InvalidInput(f"argument '{name}' is empty")
    if len(value) > int(rule.get("maxLength", len(value))):  # type: ignore[call-overload]  # the same
        raise InvalidInput(f"argument '{name}' is too long: {rule['maxLength']} characters at most")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InvalidInput(f"argument '{name}' holds half of a character pair and is not valid Unicode") from None
