"""The port of language models: one question, one answer. Jobs and chat need it, nothing else does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

Speaker = Literal["user", "assistant", "tool"]
Schema = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A tool that a model calls, with the arguments that it gave."""

    id: str
    tool: str
    arguments: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One message of a conversation. `call` names the call that a tool's result answers."""

    role: Speaker
    text: str
    calls: tuple[Call, ...] = ()
    call: str = ""
    tool: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool that a model may call; `schema` is the JSON schema of its arguments."""

    name: str
    description: str
    schema: Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a model is asked. `schema` is the JSON schema of the answer, None for free text.

    `max_tokens` bounds the answer, `timeout` is in seconds and for all attempts together.
    """

    instructions: str
    messages: tuple[Said, ...]
    schema: Schema | None = None
    tools: tuple[Tool, ...] = ()
    max_tokens: int = 2_000
    timeout: float = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a model answered. `cost` is in US dollars, None where the model's price is not known.

    `truncated` tells that it was cut off at the limit of its length.
    """

    text: str
    calls: tuple[Call, ...] = ()
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    truncated: bool = False


class LanguageModel(Protocol):
    """A language model; threads may share one."""

    @property
    def name(self) -> str:
        """Return `provider:name`, as it is noted with every run."""

    def ask(self, question: Question) -> Answer:
        """Return the answer. An interrupt cancels the request before it goes on.

        Raises:
            ModelFailed: it gave none in time, or none at all; what is worth it was tried again.
        """
