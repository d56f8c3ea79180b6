"""What can be asked of recall and what it answers."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, time
from typing import Literal

from memoranda.domain.given import check_fields, check_str
from memoranda.domain.passage import Turn
from memoranda.domain.record import Kind, Status, Trust
from memoranda.domain.scope import Scope
from memoranda.errors import InvalidInput

Grain = Literal["passage", "section", "file", "session"]
Source = Literal["note", "turn"]
"""Where a passage comes from: a curated file, or a turn of the daily log."""
Mode = Literal["hybrid", "keyword", "vector"]
Strategy = Literal["linear", "rrf"]

MAX_LIMIT = 64
MAX_QUERY_CHARS = 4_000
"""Longer queries are cut here (and the trace says so): nobody types more; a pasted file is no question."""

_DATE_LENGTH = len("2026-01-31")


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """Conditions of the search itself, never applied afterwards. Empty means no condition.

    Times are ISO 8601, UTC where they have no offset; `valid_at` defaults to now when the search runs. `tags` must all
    be present. `path` is an exact workspace path such as `memory/notes.md`. Without `sources` all are searched;
    `session` and `not_session` are ids of sessions, whose turns alone, or not, are looked at.
    """

    kinds: frozenset[Kind] = frozenset()
    tags: frozenset[str] = frozenset()
    path: str = ""
    min_trust: Trust | None = None
    valid_at: str = ""
    since: str = ""
    until: str = ""
    sources: frozenset[Source] = frozenset()
    session: str = ""
    not_session: str = ""

    def __post_init__(self) -> None:
        check_fields(self)
        check_str(**{f"tag {number}": tag for number, tag in enumerate(self.tags, 1)})

    @property
    def by_validity_alone(self) -> bool:
        """Whether validity is the only condition beside where a passage comes from."""
        return self == Filters(
            valid_at=self.valid_at, sources=self.sources, session=self.session, not_session=self.not_session
        )

    def of(self, *sources: Source) -> Filters:
        """Return the same filters for these sources alone."""
        return replace(self, sources=frozenset(sources))

    def believed_at(self, as_of: str) -> tuple[Filters, str]:
        """Return the filters for a search in the past, and its time as it is stored.

        What was true is asked for that same time, unless `valid_at` is given: who asks what was believed in March wants
        what was then believed to be so in March. Raises InvalidInput for what is no time.
        """
        moment = _utc("as_of", as_of, end_of_day=True)
        return self.in_utc(moment), moment

    def in_utc(self, now: str) -> Filters:
        """Return the same filters with times as they are stored, `valid_at` set to `now` where it is empty.

        A date alone means its first instant, for `until` its last. Raises InvalidInput for what is no time.
        """
        return replace(
            self,
            valid_at=_utc("valid_at", self.valid_at) or now,
            since=_utc("since", self.since),
            until=_utc("until", self.until, end_of_day=True),
        )


def _utc(name: str, text: str, *, end_of_day: bool = False) -> str:
    """Return an ISO 8601 time in UTC with microseconds; a time without zone is UTC, "" stays."""
    if not text:
        return ""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise InvalidInput(
            f"{name} {text[:40]!r} is no time: use ISO 8601 such as 2026-01-31T09:00:00+00:00"
        ) from error
    if end_of_day and len(text) <= _DATE_LENGTH:
        moment = datetime.combine(moment, time.max)
    try:
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except OverflowError:
        raise InvalidInput(f"{name} {text[:40]!r} cannot be reckoned in UTC: use the years 1 to 9999") from None
    return moment.isoformat(timespec="microseconds")


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One question to recall; see `docs/concepts.md` for the rules.

    `limit` is 1 to 64. `min_score` is the relevance bar on the best hit's raw cosine (0 to 1). `token_budget`
    caps the text of all hits together, counted as characters / 4; 0 means no cap. `as_of` asks what the store believed
    at that time (ISO 8601; a date alone means its end), "" for now.
    """

    text: str
    limit: int = 5
    grain: Grain = "passage"
    mode: Mode = "hybrid"
    filters: Filters = field(default_factory=Filters)
    min_score: float = 0.15
    token_budget: int = 0
    strategy: Strategy = "linear"
    as_of: str = ""

    def __post_init__(self) -> None:
        check_fields(self)
        if not 1 <= self.limit <= MAX_LIMIT:
            raise InvalidInput(f"limit {self.limit} is out of range: use 1 to {MAX_LIMIT}")
        if not 0.0 <= self.min_score <= 1.0:
            raise InvalidInput(f"min_score {self.min_score} is out of range: use 0 to 1")
        if self.token_budget < 0:
            raise InvalidInput(f"token_budget {self.token_budget} is negative: use 0 for no cap")


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One answer. `score` is comparable within one result only; `addends` sum to it, in words and numbers.

    `line_start` and `line_end` count from 1 in the file as it is now; 0 where the file cannot be read, and for what is
    past: `status` and `retired_at` say so.
    """

    chunk_id: str
    record_id: str
    scope: Scope
    path: str
    line_start: int
    line_end: int
    heading: tuple[str, ...]
    text: str
    score: float
    addends: tuple[tuple[str, float], ...]
    kind: Kind
    title: str
    tags: tuple[str, ...]
    trust: Trust
    author: str
    recorded_at: str
    status: Status = Status.ACTIVE
    valid_from: str = ""
    valid_to: str = ""
    retired_at: str = ""
    turn: Turn | None = None

    @property
    def source(self) -> Source:
        """Where it comes from."""
        return "turn" if self.turn else "note"

    @property
    def citation(self) -> str:
        """`path#Lstart-Lend`, or `path` where the lines are unknown."""
        if not self.line_start:
            return self.path
        if self.line_start == self.line_end:
            return f"{self.path}#L{self.line_start}"
        return f"{self.path}#L{self.line_start}-L{self.line_end}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """How an answer came about, for `--explain` and the panel. Times are milliseconds.

    `gone` counts what was found and left out because its file no longer holds it.
    """

    terms: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    embedder: str = ""
    strategy: Strategy = "linear"
    weights: tuple[float, float] = (1.0, 0.0)
    candidates: int = 0
    best_cosine: float | None = None
    best_coverage: float | None = None
    notes: tuple[str, ...] = ()
    gone: int = 0
    milliseconds: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallResult:
    """The answer: hits best first, the mode that was really used, how it came about.

    `relevant` is False when something was found but nothing passed the relevance bar: hits are empty then.
    `withheld` counts what waits in the viewer's own scope; it carries no content.
    """

    hits: tuple[Hit, ...]
    mode: Mode
    trace: Trace
    relevant: bool = True
    withheld: int = 0

    @property
    def citations_shown(self) -> bool:
        """Whether `citations = "auto"` shows citations: when hits span more than one file."""
        return len({(hit.scope, hit.path) for hit in self.hits}) > 1
