"""Memoranda: the memory of an AI agent, as Markdown that people can open and edit."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memoranda.bootstrap import open_home as open  # noqa: A004 - reads as memoranda.open(...)
    from memoranda.errors import (
        BackendError,
        Busy,
        ConfigurationError,
        Conflict,
        Denied,
        IntegrityError,
        InvalidInput,
        MemorandaError,
        MissingExtra,
        MissingIdentity,
        NotFound,
        RemovalsNotAccepted,
        Ruled,
    )
    from memoranda.memory import Agent, Memory, Operator, Session

__version__ = "0.1.0"

__all__ = [
    "Agent",
    "BackendError",
    "Busy",
    "ConfigurationError",
    "Conflict",
    "Denied",
    "IntegrityError",
    "InvalidInput",
    "MemorandaError",
    "Memory",
    "MissingExtra",
    "MissingIdentity",
    "NotFound",
    "Operator",
    "RemovalsNotAccepted",
    "Ruled",
    "Session",
    "__version__",
    "open",
]

_PLACES = {"open": ("memoranda.bootstrap", "open_home"), "Agent": ("memoranda.memory", "Agent"),
           "Memory": ("memoranda.memory", "Memory"), "Operator": ("memoranda.memory", "Operator"),
           "Session": ("memoranda.memory", "Session")}  # fmt: skip


def __getattr__(name: str) -> object:
    """Import a public name at its first use, so that `import memoranda` costs nothing."""
    if name not in __all__:
        raise AttributeError(f"module 'memoranda' has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415

    module, attribute = _PLACES.get(name, ("memoranda.errors", name))
    return getattr(import_module(module), attribute)
