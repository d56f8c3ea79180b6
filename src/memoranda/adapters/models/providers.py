"""Opens a language model by its address `provider:name`, through pydantic-ai (the extra `llm`)."""

from __future__ import annotations

from memoranda.domain.settings import ModelSettings
from memoranda.errors import ConfigurationError, MissingExtra
from memoranda.ports.model import LanguageModel

COMPATIBLE = "custom"
"""Provider of any server that speaks OpenAI's protocol; it needs `llm.base_url`."""
_OLLAMA = "http://127.0.0.1:11434/v1"


def open_model(settings: ModelSettings) -> LanguageModel:
    """Return the model of an address; nothing is asked yet.

    Raises:
        ConfigurationError: the address has no provider or an unknown one, or the provider needs a key or a server.
        MissingExtra: pydantic-ai, or the provider's own package, is not installed.
    """
    provider, _, name = settings.model.partition(":")
    if not provider or not name:
        raise ConfigurationError(
            f"llm.model {settings.model[:80]!r} is no address: use provider:name such as ollama:llama3.2"
        )
    if provider == COMPATIBLE and not settings.base_url:
        raise ConfigurationError("a custom model needs its server: set MEMORANDA_LLM_BASE_URL")
    try:
        from pydantic_ai.exceptions import UserError  # noqa: PLC0415 - the extra `llm`

        from memoranda.adapters.models.asked import PydanticModel  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtra("llm", "a language model") from error
    try:
        found = _compatible(provider, name, settings) if _speaks_openai(provider, settings) else _native(settings)
    except UserError as error:
        raise ConfigurationError(f"llm.model {settings.model[:80]!r} cannot be used: {error}") from error
    except ImportError as error:
        raise ConfigurationError(
            f"{provider} needs a package of its own: pip install 'pydantic-ai-slim[{provider}]'"
        ) from error
    return PydanticModel(found, settings.model)  # type: ignore[arg-type]  # a pydantic-ai model


def _speaks_openai(provider: str, settings: ModelSettings) -> bool:
    return provider in (COMPATIBLE, "ollama") or (provider == "openai" and bool(settings.base_url or settings.api_key))


def _compatible(provider: str, name: str, settings: ModelSettings) -> object:
    """Return a model of a server that speaks OpenAI's protocol: its root, `/v1` and the full address all work."""
    from pydantic_ai.models.openai import OpenAIChatModel  # noqa: PLC0415 - the extra `llm`
    from pydantic_ai.providers.openai import OpenAIProvider  # noqa: PLC0415

    url = (settings.base_url or (_OLLAMA if provider == "ollama" else "")).rstrip("/")
    url = url.removesuffix("/chat/completions")
    if url and "/" not in url.partition("://")[2]:
        url = f"{url}/v1"
    return OpenAIChatModel(name, provider=OpenAIProvider(base_url=url or None, api_key=settings.api_key or None))


def _native(settings: ModelSettings) -> object:
    """Return the model of a provider that pydantic-ai knows by name; its key comes from the provider's variable."""
    from pydantic_ai.models import infer_model  # noqa: PLC0415 - the extra `llm`
    from pydantic_ai.providers import infer_provider_class  # noqa: PLC0415

    if not settings.api_key and not settings.base_url:
        return infer_model(settings.model)
    given = {"api_key": settings.api_key, "base_url": settings.base_url}

    def provider(name: str) -> object:
        try:
            return infer_provider_class(name)(**{key: value for key, value in given.items() if value})
        except TypeError as error:
            raise ConfigurationError(f"{name} takes no such llm.base_url or llm.api_key_env") from error

    return infer_model(settings.model, provider)  # type: ignore[arg-type]  # each is a provider
