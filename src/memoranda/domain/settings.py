"""Settings that rules of the product read, as values."""

from __future__ import annotations

from dataclasses import dataclass, field

BACKENDS = ("builtin", "zvec", "qmd")
"""What may name candidates: the index alone, zvec the nearest vectors too, QMD notes by their words too."""


@dataclass(frozen=True, slots=True)
class QmdSettings:
    """How QMD is run: its command, results asked for, seconds it may take."""

    command: str = "qmd"
    max_results: int = 20
    timeout: float = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptSettings:
    """What enters a prompt and how long it may take."""

    style: str = "hybrid"
    memory_mode: str = "live-reload"
    passive_inject: bool = True
    selection: str = "contextual"
    top_k: int = 5
    timeout_ms: int = 500
    failure_policy: str = "skip"
    defang_inbound: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSettings:
    """How sessions are kept. `checkpoints` is `every-call`, `manual`, `none` or a number of messages."""

    max_messages: int = 100
    checkpoints: str = "every-call"
    export: str = "on-new-or-reset"


@dataclass(frozen=True, slots=True)
class EmbedderSettings:
    """What an embedder is opened with beside its address. Keys are never shown, not even in a traceback.

    `state` is a folder for what has to survive a restart, "" for none; times are in seconds.
    """

    model: str = ""
    base_url: str = ""
    api_key: str = field(default="", repr=False)
    openai_key: str = field(default="", repr=False)
    timeout_seconds: float = 30.0
    query_timeout_seconds: float = 5.0
    batch_api: bool = False
    batch_threshold: int = 50
    batch_wait_seconds: float = 10.0
    state: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """The model of jobs and chat: `provider:name`, "" for none. The key is never shown, not even in a traceback.

    `daily_budget` counts tokens of a day, 0 for no limit.
    """

    model: str = ""
    base_url: str = ""
    api_key: str = field(default="", repr=False)
    timeout_seconds: float = 120.0
    daily_budget: int = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSettings:
    """What jobs may do and when. `extract_interval` counts turns of the user, 0 for never.

    `max_change` is the share of a scope's records that one dream may touch; where it `applies`, without a person.
    """

    reranks: bool = False
    extract_interval: int = 5
    dreams: bool = True
    idle_seconds: float = 120.0
    interval_seconds: float = 1_800.0
    applies: bool = False
    max_change: float = 0.05
