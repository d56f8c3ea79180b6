"""Every protocol a backend implements: the page a plugin author reads.

Values that cross a port are frozen dataclasses of `memoranda.domain`. Backends raise only errors of
`memoranda.errors`. `memoranda.testing` holds one conformance suite per port.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from memoranda.domain.day import Zone
from memoranda.domain.entry import FoundFile
from memoranda.domain.passage import IndexedPassage, Passage, TextStatistics
from memoranda.domain.query import Filters
from memoranda.domain.scope import Scope
from memoranda.domain.withheld import SecretFinding
from memoranda.ports.embedding import (
    Alternatives,
    Bulk,
    BulkResult,
    ByWord,
    Embedder,
    EmbeddingCache,
    Multilingual,
    OpenEmbedder,
    Vector,
)
from memoranda.ports.ledger import Ledger
from memoranda.ports.log import EpisodeLog, LogFile, LogMark, TranscriptStore

if TYPE_CHECKING:
    from memoranda.domain.turn_table import TurnEvidence

__all__ = [
    "Alternatives",
    "Bulk",
    "BulkResult",
    "ByWord",
    "Clock",
    "DocumentStore",
    "Embedder",
    "EmbeddingCache",
    "EpisodeLog",
    "Ids",
    "IndexState",
    "Ledger",
    "Locks",
    "LogFile",
    "LogMark",
    "Multilingual",
    "OpenEmbedder",
    "SearchIndex",
    "SecretScanner",
    "TranscriptStore",
    "Vector",
    "Zones",
]


class Zones(Protocol):
    """Tells the user's time zone."""

    def __call__(self) -> Zone:
        """Return the zone in force."""

    def problem(self) -> str:
        """Return what is wrong with the zone that the profile names, "" where nothing is."""


class Clock(Protocol):
    """Tells the time."""

    def now(self) -> str:
        """Return the time as ISO 8601 in UTC with microseconds and `+00:00`."""


class SecretScanner(Protocol):
    """Finds credentials in text."""

    def scan(self, text: str) -> tuple[SecretFinding, ...]:
        """Return what was found, in order of lines; empty means clean."""

    def redact(self, text: str) -> tuple[str, tuple[SecretFinding, ...]]:
        """Return the text without its secrets, a mark in the place of each, and what was found."""


@dataclass(frozen=True, slots=True)
class IndexState:
    """What an index of one scope holds.

    `embedder` is the identity that answers vector searches, "" for none; `pending` counts current passages without a
    vector of the identity that is being built, or of `embedder` where none is. `generation` grows with every change.
    `applied` is the last ledger event it has seen (see `SearchIndex.put`).
    """

    passages: int
    vectors: int
    embedder: str
    pending: int
    generation: int
    applied: int


class SearchIndex(Protocol):
    """The disposable projection used for search; one independent part per scope.

    Every method binds the scope in its query. A failure raises BackendError, never an empty answer.
    """

    def put(
        self,
        scope: Scope,
        passages: Sequence[Passage],
        *,
        remove: Sequence[str] = (),
        retire: Sequence[Passage] = (),
        mark: tuple[int, int] | None = None,
    ) -> bool:
        """Replace records in one transaction.

        Every passage of the record ids in `remove`, of the records of `passages` and of `retire` is dropped; then
        `passages` go into the current table and `retire` into the history table. A passage whose embedding text is
        unchanged keeps its vector. `mark` (from, to) moves `IndexState.applied`,
        the last ledger event that the index has seen, if it is at `from`. Returns whether it is at `to` now; True
        without a mark.
        """

    def put_turns(
        self,
        scope: Scope,
        passages: Sequence[Passage],
        *,
        path: str,
        before: LogMark | None,
        after: LogMark | None,
        whole: bool = False,
    ) -> bool:
        """Take in turns of one log file in one transaction, if it was taken in as far as `before` (None: not at all).

        With `whole` the turns that are known of this file go first. A turn whose id is known stays as it is: of lines
        with one id the first counts. From then on it is taken in as far as `after`
        (None: not at all). Returns whether it was done; otherwise nothing was changed.
        """

    def logs(self, scope: Scope) -> Mapping[str, LogMark]:
        """Return how far each log file was taken in."""

    def parts_of(self, scope: Scope, record_id: str) -> Sequence[Passage]:
        """Return the current passages of one record or turn, in order."""

    def turns(self, scope: Scope) -> Mapping[str, str]:
        """Return turn id -> fingerprint of its indexed form, for verification."""

    def records(self, scope: Scope) -> Mapping[str, str]:
        """Return record id -> fingerprint of its indexed current form (see `indexed_form`), for verification.

        Turns of the log are not among them.
        """

    def state(self, scope: Scope) -> IndexState:
        """Count what is there; an absent index is an empty one."""

    def clear(self, scope: Scope) -> None:
        """Forget everything of this scope."""

    def search_text(
        self,
        scope: Scope,
        terms: Sequence[str],
        phrases: Sequence[Sequence[str]],
        limit: int,
        filters: Filters,
    ) -> Sequence[int]:
        """Return keys of the best passages holding any term (and every phrase), best first by BM25."""

    def newest(self, scope: Scope, limit: int, filters: Filters) -> Sequence[int]:
        """Return keys of the newest passages, newest first."""

    def statistics(self, scope: Scope, terms: Sequence[str]) -> TextStatistics:
        """Return the scope's keyword statistics for these terms."""

    def words_beginning(self, scope: Scope, beginning: str, limit: int) -> Sequence[str]:
        """Return words of current passages that begin so, folded, those that most passages hold first."""

    def turn_evidence(
        self,
        scope: Scope,
        terms: Sequence[str],
        phrases: Sequence[Sequence[str]],
        filters: Filters,
        meaning: tuple[str, Vector] | None = None,
    ) -> TurnEvidence:
        """Return the current turns and what is known of them for a question, read from one state.

        Rows that do not hold every phrase, nor stand beside one that does, are not `allowed`; a phrase that no turn
        holds is no condition. `meaning` is an embedder's identity and the question's
        vector, float32; of a large scope the nearest few thousand turns have a cosine.
        """

    def search_vector(
        self, scope: Scope, identity: str, query: Vector, limit: int, filters: Filters
    ) -> Sequence[tuple[int, float]] | None:
        """Return (key, cosine) of the nearest passages, exactly: nearest first, equal ones by key.

        None where the scope's vectors are of another identity. `query` must be float32.
        """

    def similarities(self, scope: Scope, identity: str, query: Vector, keys: Sequence[int]) -> Mapping[int, float]:
        """Return the cosine of those keys that have a vector of this identity."""

    def fetch(self, scope: Scope, keys: Sequence[int]) -> Sequence[IndexedPassage]:
        """Return the passages of these keys that exist, in the order asked."""

    def pending(self, scope: Scope, identity: str, limit: int) -> Sequence[tuple[int, str]]:
        """Return (key, embedding text) of current passages without a vector of this identity, oldest first."""

    def words(self, scope: Scope, identity: str, keys: Sequence[int]) -> Mapping[int, bytes]:
        """Return the words' vectors of those keys that have any of this identity."""

    def put_vectors(
        self, scope: Scope, identity: str, keys: Sequence[int], vectors: Vector, words: Sequence[bytes] = ()
    ) -> int:
        """Store vectors for keys that still exist and return how many were stored.

        `words` are the vectors of their words, one entry a key where the embedder gives any. The scope answers with
        them once none is pending, or at once when it had none of another identity.
        """

    def answer_alone(self, scope: Scope, identity: str) -> None:
        """Drop what other identities have half built, if this one answers and has a vector of every passage."""

    def search_history(
        self,
        scope: Scope,
        terms: Sequence[str],
        phrases: Sequence[Sequence[str]],
        limit: int,
        filters: Filters,
        *,
        as_of: str,
    ) -> Sequence[IndexedPassage]:
        """Return past passages that the store believed at `as_of` (recorded by then, retired later), best first.

        Reads the history table alone; what is current is not in it. Without terms and phrases: newest first.
        """

    def check(self, scope: Scope) -> Sequence[str]:
        """Return what is damaged, one sentence each, naming records and never their text; empty means sound."""

    def scopes(self) -> Sequence[Scope]:
        """Return the scopes that have an index."""


class DocumentStore(Protocol):
    """The Markdown files of all workspaces."""

    def workspace(self, scope: Scope) -> str:
        """Return the workspace's absolute folder."""

    def scopes(self) -> Sequence[Scope]:
        """Return the scopes that have a workspace on disk."""

    def odd_folders(self) -> Sequence[str]:
        """Return folders below agents/ and teams/ whose name is no id: nobody's memory."""

    def walk(self, scope: Scope) -> Iterator[FoundFile]:
        """Yield every memory file of a workspace, and what lies beside them and is not read, by `stat` alone."""

    def read(self, scope: Scope, path: str) -> tuple[bytes, FoundFile] | None:
        """Return a file's bytes and state; None where it does not exist. Raises BackendError if unreadable."""

    def check_path(self, scope: Scope, path: str) -> str:
        """Return "" or why this path leads out of the workspace (links included)."""

    def replace(
        self, scope: Scope, path: str, *, expected: bytes | None, data: bytes | None, token: str
    ) -> FoundFile | None:
        """Replace a file atomically and durably; None stands for "does not exist". Returns the new state.

        Raises:
            Conflict: the file no longer holds `expected`; it is left as it was found.
            BackendError: the file system failed.
        """

    def recover(self, scope: Scope, path: str, token: str) -> bytes | None:
        """Return what an interrupted `replace` left beside the file, or None."""

    def discard(self, scope: Scope, path: str, token: str) -> None:
        """Remove what an interrupted `replace` left beside the file."""


class Locks(Protocol):
    """One writer per scope, across threads and processes."""

    def hold(self, scope: Scope) -> AbstractContextManager[None]:
        """Hold the scope's lock; raises Busy where it is not free in time."""

    def alone(self, work: str) -> AbstractContextManager[None]:
        """Be the only one at a piece of work; raises Busy at once where another process or thread is at it."""


class Ids(Protocol):
    """Makes identifiers that sort by time and say nothing of content."""

    def new(self, prefix: str) -> str:
        """Return `<prefix>_` and 22 characters of 0-9a-z, greater than every one before it in this process."""
