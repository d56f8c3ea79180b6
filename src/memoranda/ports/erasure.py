"""The part of the ledger's port that erases, and the independent look that proves it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from memoranda.domain.erasure import HeldText, Holding, Sweep
from memoranda.domain.scope import Principal
from memoranda.domain.tombstone import Tombstone


class ErasureLedger(Protocol):
    """Finds and removes texts in everything that the ledger keeps."""

    def holding(self, pieces: Sequence[str]) -> Holding:
        """Return which kept texts are one of these pieces or contain one; looks at every object."""

    def kept_texts(self) -> Iterator[str]:
        """Yield the text of every object, and the words in every payload."""

    def derived_from(self, record_id: str) -> Sequence[str]:
        """Return the ids of records that name this one among what they derive from."""

    def own_words(self, pieces: Sequence[str]) -> Sequence[str]:
        """Return those of these pieces that the ledger itself writes, in ids, times, states and names of fields."""

    def scrub(
        self,
        record_ids: Sequence[str],
        pieces: Sequence[str],
        *,
        whole: Sequence[str] = (),
        tombstones: Sequence[Tombstone],
        at: str,
        author: Principal,
    ) -> tuple[int, int]:
        """Remove pieces from every object and payload, and empty these records, in one durable transaction.

        `whole` texts go only where nothing else is kept beside them. These tombstones go too. The chain stays
        provable: what was emptied is named by an event. Returns how many objects and events were emptied or rewritten.
        """

    def compact(self) -> None:
        """Rewrite the file so that free pages and the log hold nothing of what was removed.

        Raises:
            Busy: another process is using the ledger.
        """

    def held_texts(self) -> Iterator[HeldText]:
        """Yield every text that the ledger keeps: of records, of files in checkpoints, of proposals; and payloads."""


class Sweeper(Protocol):
    """Looks at the raw bytes of a home; shares no code with what writes them."""

    def sweep(self, pieces: Sequence[str]) -> Sweep:
        """Look for pieces in every file, in free pages and logs too, packed or not."""
