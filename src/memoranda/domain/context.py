"""What a prompt gets from memory: a stable part that a provider's prefix cache keeps, and a volatile one after it."""

from __future__ import annotations

from dataclasses import dataclass

from memoranda.domain.query import Hit

CHARACTERS_PER_TOKEN = 4
"""For the estimate of tokens: about what tokenizers of current models need for English prose."""

MAX_FILE_CHARACTERS = 20_000
MAX_TURN_BYTES, MAX_SESSION_BYTES = 20 * 1024, 60 * 1024
MIN_QUERY_CHARACTERS = 10
MAX_LISTED_FILES = 100
NONCE = "NONCE"
"""Stands for the nonce where a prompt is shown and not used."""


@dataclass(frozen=True, slots=True)
class PromptPart:
    """A named piece of a prompt."""

    name: str
    text: str

    @property
    def tokens(self) -> int:
        """About how many tokens it costs."""
        return -(-len(self.text) // CHARACTERS_PER_TOKEN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The parts of a prompt in their order; `skipped` says why nothing was recalled, "" where something was.

    The stable text is the same to the byte until memory itself changes; the volatile one goes after it, as a message of
    its own.
    """

    stable_parts: tuple[PromptPart, ...] = ()
    recalled: PromptPart | None = None
    hits: tuple[Hit, ...] = ()
    skipped: str = ""

    @property
    def stable(self) -> str:
        """What goes into the system prompt."""
        return "\n\n".join(part.text for part in self.stable_parts)

    @property
    def volatile(self) -> str:
        """What goes after the conversation so far, as a message of its own."""
        return self.recalled.text if self.recalled else ""

    @property
    def parts(self) -> tuple[PromptPart, ...]:
        """Everything in order."""
        return (*self.stable_parts, self.recalled) if self.recalled else self.stable_parts
