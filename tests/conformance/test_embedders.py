"""The Embedder port's conformance suite over every built-in embedder."""

from __future__ import annotations

from memoranda.adapters.registry import open_embedder
from memoranda.ports import Embedder
from memoranda.testing.embedder_suite import EmbedderSuite


def opened(address: str) -> Embedder:
    """Open an address that names an embedder."""
    embedder = open_embedder(address)
    assert embedder is not None
    return embedder


class TestMiniLM(EmbedderSuite):
    """The default embedder."""

    def make(self) -> Embedder:
        """Return a fresh one."""
        return opened("minilm")


class TestHashing512(EmbedderSuite):
    """The fallback at its default size."""

    def make(self) -> Embedder:
        """Return a fresh one."""
        return opened("hashing:512")


class TestHashing64(EmbedderSuite):
    """The fallback at a small size, where features collide."""

    def make(self) -> Embedder:
        """Return a fresh one."""
        return opened("hashing:64")
