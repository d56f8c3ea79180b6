"""The episode: one entry of the daily log. What happened, not what is believed."""

from __future__ import annotations

import json
import unicodedata
from dataclasses import asdict, dataclass, fields
from datetime import date, datetime
from enum import StrEnum
from typing import Any, Literal

from memoranda.domain.erasure import PLACEHOLDER
from memoranda.domain.given import readable
from memoranda.domain.record import Kind, Provenance, Record, Trust
from memoranda.domain.scope import Principal, Scope

Role = Literal["user", "assistant", "system", "tool"]
ROLES: tuple[Role, ...] = ("user", "assistant", "system", "tool")

FOLDER, ENDING = "log", ".jsonl"
MAX_RESULT_BYTES = 10_000
"""A tool result longer than this is cut; the hash and size of the whole are kept."""

_BREAKING = frozenset({"Cc", "Zl", "Zp"})
"""Unicode categories of control characters, and of what separates lines and paragraphs."""

_HEARTBEATS = frozenset({"heartbeat", "heartbeat_ok", "no_reply"})


class EpisodeKind(StrEnum):
    """What sort of event it is."""

    TURN = "turn"
    TOOL_CALL = "tool_call"
    TOOL_RESULT = "tool_result"
    DECISION = "decision"
    NOTE = "note"
    ERROR = "error"
    SYSTEM = "system"
    HEARTBEAT = "heartbeat"
    COMPACTION = "compaction"


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """One event of a session. Times are ISO 8601 in UTC with microseconds.

    `at` is when it happened. `position` counts from 1 in its session. `tainted` tells that the session had read
    untrusted content by then. `source` is "" for what happened here and `import:<run>` for what came with a transcript;
    `ref` names the event there, so that it is taken in once. `size` and `whole` are the bytes and the keyed hash of a
    text that was cut. `kept_from` is of a compaction: the position of the first message that the model still sees.
    """

    id: str
    at: str
    session: str
    key: str
    position: int
    kind: EpisodeKind
    role: Role
    text: str
    author: str
    speaker: str = ""
    tool: str = ""
    call: str = ""
    tainted: bool = False
    source: str = ""
    ref: str = ""
    size: int = 0
    whole: str = ""
    kept_from: int = 0


_DEFAULTS = {field.name: field.default for field in fields(Episode)}
_NAMES = frozenset(_DEFAULTS)


def line_of(episode: Episode) -> bytes:
    """Return an episode as one line of a log."""
    said = {name: value for name, value in asdict(episode).items() if value != _DEFAULTS[name]}
    text = json.dumps(said, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace") + b"\n"


def one_line(text: str) -> str:
    """Return a name in one line: what would end a line, and other control characters, become single spaces.

    A line break in a speaker's name could forge another entry where a line stands for one.
    """
    shown = (" " if unicodedata.category(char) in _BREAKING else char for char in text)
    return " ".join("".join(shown).split())


def read_line(line: bytes) -> Episode | None:
    """Read a line of a log; None where it is torn or none of ours."""
    try:
        raw: Any = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(raw, dict) or not _NAMES.issuperset(raw):
        return None
    if b"\\u" in line:  # lone surrogates come in this way only
        raw = {name: readable(value) if isinstance(value, str) else value for name, value in raw.items()}
    try:
        made = Episode(**{**raw, "kind": EpisodeKind(raw["kind"])})
        if datetime.fromisoformat(made.at).tzinfo is None:
            return None
    except (KeyError, TypeError, ValueError):
        return None
    texts = (made.id, made.at, made.session, made.key, made.text, made.author, made.speaker, made.tool, made.call)
    whole = all(isinstance(value, str) for value in texts) and isinstance(made.position, int)
    return made if whole and made.role in ROLES else None


def is_searchable(episode: Episode) -> bool:
    """Whether an episode is found by search: user and assistant turns of a session that has read nothing untrusted."""
    if episode.kind is not EpisodeKind.TURN or episode.role not in ("user", "assistant") or episode.tainted:
        return False
    said = episode.text.strip()
    return said not in ("", PLACEHOLDER) and not is_heartbeat(said)


def is_heartbeat(text: str) -> bool:
    """Whether a turn only says that somebody is there."""
    return text.strip().casefold() in _HEARTBEATS


def is_for_models(episode: Episode) -> bool:
    """Whether a model may read an episode again: no result of a tool, and nothing said after untrusted content."""
    return episode.kind is not EpisodeKind.TOOL_RESULT and not episode.tainted


def log_path(day: date) -> str:
    """Return the log file of a day, relative to the workspace."""
    return f"{FOLDER}/{day.isoformat()}{ENDING}"


def day_of(path: str) -> date | None:
    """Return the day of a log file; None for a file of another name."""
    name = path.removeprefix(f"{FOLDER}/").removesuffix(ENDING)
    try:
        day = date.fromisoformat(name)
    except ValueError:
        return None
    return day if log_path(day) == path else None


def as_record(episode: Episode, scope: Scope, path: str) -> Record:
    """Return an episode in the form in which the index holds it; the ledger knows nothing of it."""
    author = Principal.parse(episode.author)
    return Record(
        id=episode.id,
        scope=scope,
        path=path,
        block_hash="",
        kind=Kind.FACT,
        trust=Trust.UNTRUSTED if author.kind == "importer" else Trust.AGENT_OBSERVED,
        author=author,
        provenance=Provenance(session_id=episode.session, message_from=episode.position, message_to=episode.position),
        recorded_at=episode.at,
    )
