"""Settings that rules of the product read, as values."""

from __future__ import annotations

from dataclasses import dataclass


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
