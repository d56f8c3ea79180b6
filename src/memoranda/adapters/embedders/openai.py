"""Embeddings of OpenAI, and of servers that speak the same: `openai:MODEL`."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

from memoranda.adapters.embedders.addresses import endpoint
from memoranda.adapters.embedders.http_client import JsonClient, Patience
from memoranda.adapters.embedders.openai_batch import BatchingEmbedder
from memoranda.adapters.embedders.recipes import recipe_of
from memoranda.adapters.embedders.remote import RemoteEmbedder
from memoranda.domain.settings import EmbedderSettings
from memoranda.errors import BackendError, ConfigurationError

BASE_URL = "https://api.openai.com/v1"
DEFAULT_MODEL = "text-embedding-3-small"
MOST = 256
"""Texts in one request to OpenAI, which takes 2,048."""


class OpenAIDialect:
    """Speaks `POST …/embeddings`."""

    def __init__(self, scheme: str, model: str, base_url: str, *, key: str, most: int) -> None:
        self.url = endpoint(base_url, path="/v1/embeddings", ending="/embeddings")
        self.client = JsonClient(scheme, self.url, key=key)
        self.source, self.model, self.most = self.client.source, model, most
        official = self.url == f"{BASE_URL}/embeddings"
        parts = urlsplit(self.url)
        place = "" if official else f"@{parts.netloc}{parts.path.removesuffix('/embeddings')}"
        self._space = f"{scheme}{place}:{model}"

    def embed(self, texts: Sequence[str], patience: Patience) -> Sequence[object]:
        """Return a row for each text, put in order by its `index`."""
        answer = self.client.json("POST", self.url, patience, body={"model": self.model, "input": list(texts)})
        return rows_by_index(answer, self.source)

    def space(self, _patience: Patience) -> str:
        """Name provider, model and, where it is not OpenAI's own, the server: names of models mean little elsewhere."""
        return self._space


def rows_by_index(answer: object, source: str) -> list[object]:
    """Return the rows of an answer in the order of their `index`; as they came where none has one.

    Raises:
        BackendError: the answer has another shape, or the indexes are not 0, 1, 2 …
    """
    try:
        items = [(item.get("index"), item["embedding"]) for item in answer["data"]]  # type: ignore[index]  # or raises
    except (KeyError, TypeError, AttributeError) as error:
        raise BackendError(f"{source} answered with something that holds no embeddings") from error
    if all(index is None for index, _ in items):
        return [row for _, row in items]
    by_index = {index: row for index, row in items if isinstance(index, int)}
    if sorted(by_index) != list(range(len(items))):
        raise BackendError(f"{source} returned vectors for other texts than were sent")
    return [by_index[number] for number in range(len(items))]


def open_embedder(rest: str, settings: EmbedderSettings) -> RemoteEmbedder:
    """Return the embedder of an address `openai` or `openai:MODEL`; the key is `OPENAI_API_KEY` or `memory.api_key`.

    Raises:
        ConfigurationError: there is no key, or `memory.base_url` is no address.
    """
    key = settings.api_key or settings.openai_key
    if not key:
        raise ConfigurationError(
            "embedder 'openai' needs a key: set OPENAI_API_KEY or MEMORANDA_MEMORY_API_KEY in the environment"
        )
    model = rest or settings.model or DEFAULT_MODEL
    dialect = OpenAIDialect("openai", model, settings.base_url or BASE_URL, key=key, most=MOST)
    if settings.batch_api:
        return BatchingEmbedder(dialect, recipe_of(model), settings)
    return RemoteEmbedder(dialect, recipe_of(model), settings)
