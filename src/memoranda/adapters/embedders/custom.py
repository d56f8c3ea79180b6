"""Embeddings of any server that speaks OpenAI's `/embeddings`: `custom:MODEL`, at `memory.base_url`."""

from __future__ import annotations

from memoranda.adapters.embedders.openai import OpenAIDialect
from memoranda.adapters.embedders.recipes import recipe_of
from memoranda.adapters.embedders.remote import RemoteEmbedder
from memoranda.domain.settings import EmbedderSettings
from memoranda.errors import ConfigurationError

MOST = 32
"""Texts in one request: the least that servers of this kind take where nothing is set."""


def open_embedder(rest: str, settings: EmbedderSettings) -> RemoteEmbedder:
    """Return the embedder of an address `custom:MODEL`; the key, where it needs one, is `memory.api_key`.

    Raises:
        ConfigurationError: no model or no server is named, or `memory.base_url` is no address.
    """
    model = rest or settings.model
    if not model:
        raise ConfigurationError("embedder 'custom' needs a model: write custom:MODEL, or set memory.model")
    if not settings.base_url:
        raise ConfigurationError(
            "embedder 'custom' needs a server: set MEMORANDA_MEMORY_BASE_URL in the environment; "
            "of several in a chain the first has it"
        )
    dialect = OpenAIDialect("custom", model, settings.base_url, key=settings.api_key, most=MOST)
    return RemoteEmbedder(dialect, recipe_of(model), settings)
