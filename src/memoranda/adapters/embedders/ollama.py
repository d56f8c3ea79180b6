"""Embeddings of an Ollama server: `ollama:MODEL`."""

from __future__ import annotations

from collections.abc import Sequence

from memoranda.adapters.embedders.addresses import endpoint
from memoranda.adapters.embedders.http_client import JsonClient, Patience
from memoranda.adapters.embedders.recipes import recipe_of
from memoranda.adapters.embedders.remote import RemoteEmbedder
from memoranda.domain.settings import EmbedderSettings
from memoranda.errors import BackendError

BASE_URL = "http://127.0.0.1:11434"
DEFAULT_MODEL = "nomic-embed-text"
MOST = 32
_PATH = "/api/embed"
_DIGITS = 12


class OllamaDialect:
    """Speaks `POST /api/embed`."""

    def __init__(self, model: str, base_url: str, *, key: str) -> None:
        self.model, self.most = model, MOST
        host = base_url.rstrip("/").removesuffix("/v1").removesuffix("/api")
        self._url = endpoint(host, path=_PATH, ending=_PATH)
        self._client = JsonClient("ollama", self._url, key=key)
        self.source = self._client.source

    def embed(self, texts: Sequence[str], patience: Patience) -> Sequence[object]:
        """Return a row for each text; the server cuts what is longer than the model's context."""
        body = {"model": self.model, "input": list(texts), "truncate": True}
        answer = self._client.json("POST", self._url, patience, body=body)
        rows = answer.get("embeddings") if isinstance(answer, dict) else None
        if not isinstance(rows, list):
            raise BackendError(f"{self.source} answered with something that holds no embeddings")
        return rows

    def space(self, patience: Patience) -> str:
        """Name the model and the digest of its weights: a name such as `latest` can get other weights."""
        answer = self._client.json("GET", self._url.removesuffix(_PATH) + "/api/tags", patience)
        listed = answer.get("models") if isinstance(answer, dict) else None
        names = {self.model, f"{self.model}:latest"}
        for entry in listed if isinstance(listed, list) else ():
            if isinstance(entry, dict) and names & {entry.get("name"), entry.get("model")}:
                digest = str(entry.get("digest", "")).removeprefix("sha256:")
                return f"ollama:{self.model}:{digest[:_DIGITS]}"
        raise BackendError(f"{self.source} does not list the model {self.model[:80]!r}: run `ollama pull` for it")


def open_embedder(rest: str, settings: EmbedderSettings) -> RemoteEmbedder:
    """Return the embedder of an address `ollama` or `ollama:MODEL`.

    Raises:
        ConfigurationError: `memory.base_url` is no address.
    """
    model = rest or settings.model or DEFAULT_MODEL
    dialect = OllamaDialect(model, settings.base_url or BASE_URL, key=settings.api_key)
    return RemoteEmbedder(dialect, recipe_of(model), settings)
