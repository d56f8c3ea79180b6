"""What callers give as text: a `str` that UTF-8 can hold, or a plain word on what is wrong with it."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from memoranda.errors import InvalidInput

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

NOT_UNICODE = "a text here is not valid Unicode (it holds half of a surrogate pair)"


def check_str(**values: object) -> None:
    """Raise InvalidInput where one of these values is no `str`."""
    for name, value in values.items():
        if not isinstance(value, str):
            raise InvalidInput(f"{name} must be text (str), not {type(value).__name__}")


def check_text(**values: object) -> None:
    """Raise InvalidInput where one of these values is no `str`, or holds what UTF-8 cannot."""
    check_str(**values)
    for name, value in values.items():
        if not is_unicode(str(value)):
            raise InvalidInput(f"{name} is not valid Unicode (it holds half of a surrogate pair)")


def is_unicode(text: str) -> bool:
    """Whether UTF-8 can hold a text: it has no lone half of a surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def check_fields(item: DataclassInstance, *, unicode: bool = False) -> None:
    """Raise InvalidInput where a field that is declared as text is none; with `unicode` as `check_text`."""
    check = check_text if unicode else check_str
    for field in fields(item):
        value = getattr(item, field.name)
        if field.type == "str":
            check(**{field.name: value})
        elif field.type == "tuple[str, ...]":
            if isinstance(value, str | bytes):
                raise InvalidInput(f"{field.name} is a list of texts, not one")
            for piece in value:
                check(**{field.name: piece})


def readable(text: str) -> str:
    """Return a text with a mark for each character that UTF-8 cannot hold."""
    return text.encode("utf-8", "replace").decode("utf-8")
