"""The Embedder port's conformance suite over every built-in embedder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memoranda.adapters.embedders.chain import ChainEmbedder, Member
from memoranda.adapters.embedders.hashing import HashingEmbedder
from memoranda.adapters.embedders.weighted import WeightedEmbedder
from memoranda.adapters.registry import open_embedder
from memoranda.domain.settings import EmbedderSettings
from memoranda.ports import Embedder
from memoranda.testing.embedder_suite import EmbedderSuite
from tests import gguf_model
from tests.embedding_server import EmbeddingServer, serving


def opened(address: str, settings: EmbedderSettings | None = None) -> Embedder:
    """Open an address that names an embedder."""
    embedder = open_embedder(address, settings)
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


class RemoteSuite(EmbedderSuite):
    """The suite over an embedder behind a server on this machine."""

    address = ""
    path = ""

    @pytest.fixture(autouse=True)
    def _server(self) -> Iterator[None]:
        with serving() as server:
            self.server: EmbeddingServer = server
            yield

    def make(self) -> Embedder:
        """Return a fresh one, of the server of this test."""
        settings = EmbedderSettings(base_url=self.server.url + self.path, api_key="k" * 20)
        return opened(self.address, settings)


class TestOllama(RemoteSuite):
    """Ollama, with the prompts of nomic-embed-text."""

    address = "ollama:nomic-embed-text"


class TestOpenAI(RemoteSuite):
    """OpenAI's protocol, at another server."""

    address, path = "openai:text-embedding-3-small", "/v1"


class TestCustom(RemoteSuite):
    """A server that speaks it too, by its whole address."""

    address, path = "custom:bge-m3", "/v1/embeddings"


class TestTinyGguf(EmbedderSuite):
    """A small random model, run by llama.cpp."""

    @pytest.fixture(autouse=True)
    def _file(self, tmp_path_factory: pytest.TempPathFactory) -> None:
        self.file: Path = tmp_path_factory.getbasetemp() / "tiny.gguf"
        if not self.file.exists():
            gguf_model.write_tiny(self.file)

    def make(self) -> Embedder:
        """Return a fresh one."""
        return opened(f"gguf:{self.file}")


class TestChain(EmbedderSuite):
    """A chain whose first member does not answer."""

    def make(self) -> Embedder:
        """Return a fresh one."""
        gone = EmbedderSettings(base_url="http://127.0.0.1:9", query_timeout_seconds=0.2, timeout_seconds=0.2)
        return ChainEmbedder([
            Member("custom:x", lambda: opened("custom:x", gone)), Member("hashing:64", lambda: HashingEmbedder(64))
        ])  # fmt: skip


class TestWeighted(EmbedderSuite):
    """An embedder with another weight."""

    def make(self) -> Embedder:
        """Return a fresh one."""
        return WeightedEmbedder(HashingEmbedder(64), 0.7)
