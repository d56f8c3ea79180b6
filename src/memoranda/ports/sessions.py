"""The part of the ledger's port that sessions rest on: their private state, and what entered which prompt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from memoranda.domain.injection import Injection
from memoranda.domain.scope import Scope


class SessionLedger(Protocol):
    """State and injections of sessions. Neither is memory, and neither is in the chain."""

    def state_get(self, session: str, namespace: str, key: str) -> str | None:
        """Return a value as JSON; None where there is none."""

    def state_set(self, session: str, namespace: str, key: str, value: str, *, at: str) -> None:
        """Store a value as JSON."""

    def state_delete(self, session: str, namespace: str, key: str = "") -> int:
        """Remove a value, or all of a namespace; return how many there were."""

    def state_keys(self, session: str, namespace: str) -> Sequence[str]:
        """Return the keys of a namespace, in order."""

    def state_size(self, session: str, *, but: tuple[str, str] = ("", "")) -> tuple[int, int]:
        """Return how many values a session has of its host, and their characters together; `but` one is not counted."""

    def state_drop(self, session: str) -> None:
        """Remove everything of a session."""

    def state_values(self) -> Sequence[str]:
        """Return everything that is kept with any session: namespaces, keys, values as JSON."""

    def state_scrub(self, pieces: Sequence[str]) -> int:
        """Remove every value, of any session, that holds one of these texts; return how many."""

    def inject(self, injections: Sequence[Injection]) -> None:
        """Note what entered a prompt, and count it on each record."""

    def injected(self, session: str, epoch: int) -> tuple[frozenset[str], int]:
        """Return which records entered a session's prompts since its last compaction, and the bytes of all ever."""

    def injections(self, scope: Scope, *, limit: int, record: str = "") -> Sequence[Injection]:
        """Return what entered prompts of a scope, newest first."""
