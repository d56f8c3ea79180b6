"""Takes in transcripts of other tools as sessions of an agent: what was said there, with honest provenance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from memoranda.domain.content_trust import ContentTrust
from memoranda.domain.conversation import Conversation
from memoranda.domain.episode import EpisodeKind, is_searchable
from memoranda.domain.report import Progress
from memoranda.domain.scope import Principal, Scope
from memoranda.domain.session import SessionState
from memoranda.domain.settings import SessionSettings
from memoranda.domain.times import read_time
from memoranda.domain.transcript_formats import ImportedEvent, parse
from memoranda.errors import InvalidInput
from memoranda.services import episodes, opening, sessions
from memoranda.services.episodes import Event
from memoranda.services.stores import Stores

MAX_FILE_BYTES = 200_000_000
_FIRST_YEAR, _LAST_YEAR = "0002", "9998"
"""Of these every time zone has every moment."""

_KINDS: Mapping[str, EpisodeKind] = {
    "turn": EpisodeKind.TURN, "tool_call": EpisodeKind.TOOL_CALL, "tool_result": EpisodeKind.TOOL_RESULT,
    "note": EpisodeKind.NOTE, "system": EpisodeKind.SYSTEM,
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptReport:
    """What an import took in: `turns` are those that search finds, `tainted` those after untrusted content."""

    session_id: str
    events: int
    turns: int
    tainted: int
    skipped: Sequence[tuple[int, str]]
    known: int


def import_transcript(
    stores: Stores,
    scope: Scope,
    data: bytes,
    *,
    key: str,
    run: str,
    form: str,
    policy: ContentTrust,
    settings: SessionSettings,
    progress: Progress | None = None,
) -> TranscriptReport:
    """Write a transcript's events into the log, each once: what was taken in before under this key is not again.

    Whatever an untrusted tool brought in taints the session from there on, as it would have here. Two imports at the
    same time take each event in once.

    Raises:
        InvalidInput: the file is too large, or none of the formats.
        Busy, BackendError: as `episodes.write`; what was written before stays, and the next import goes on after it.
    """
    if len(data) > MAX_FILE_BYTES:
        raise InvalidInput(f"a transcript has at most {MAX_FILE_BYTES:,} bytes")
    importer = Principal("importer", run)
    parsed = parse(data, form)
    state = _session(stores, scope, key, importer)
    conversation, known = _so_far(stores, state)
    turns = tainted = written = 0
    skipped = list(parsed.skipped)
    last = ""
    for number, (event, ref) in enumerate(_named(stores, parsed.events), 1):
        at = _time(event, last)
        last = at or last
        if ref in known:
            continue
        if event.kind != "tool_result" and len(event.text.encode("utf-8", "replace")) > episodes.MAX_TEXT_BYTES:
            skipped.append((event.line, f"longer than {episodes.MAX_TEXT_BYTES:,} bytes"))
            continue
        if event.brings_in:
            sessions.tool_result(stores, state.id, event.tool, server=None, policy=policy, author=importer)
        made = episodes.write_once(
            stores, sessions.current(stores, state.id), conversation, _event(event, run, at, ref), author=importer,
            limit=settings.max_messages, known=known,
        )  # fmt: skip
        if made is not None:
            written, turns, tainted = written + 1, turns + is_searchable(made), tainted + made.tainted
        if progress:
            progress(f"reading {key[:40]}", number, len(parsed.events))
    return TranscriptReport(
        session_id=state.id, events=written, turns=turns, tainted=tainted, skipped=tuple(skipped),
        known=len(parsed.events) - written - (len(skipped) - len(parsed.skipped)),
    )  # fmt: skip


def _session(stores: Stores, scope: Scope, key: str, importer: Principal) -> SessionState:
    """Return the session of this key: made and ended where there is none, for nobody talks in it."""
    if stores.ledger.session_last(scope, key) is None:
        opening.settle(stores, scope)
    with stores.log.hold(scope):  # two imports make one session
        found = stores.ledger.session_last(scope, key)
        if found is None:
            opened = sessions.open_session(stores, scope, key, author=importer)
            found = sessions.close(stores, opened.id, author=importer)
            stores.ledger.settle_sessions([found.id])
    return found


def _so_far(stores: Stores, state: SessionState) -> tuple[Conversation, set[str]]:
    """Return what the log has of a session, and the names of events that were taken in before."""
    conversation = Conversation(session=state.id)
    names: set[str] = set()
    files = [file.path for file in stores.log.files(state.scope)]
    for episode in episodes.read_on(stores, state.scope, conversation, files, limit=1):
        names.add(episode.ref)
    return conversation, names


def _named(stores: Stores, events: Sequence[ImportedEvent]) -> Iterator[tuple[ImportedEvent, str]]:
    """Name each event by its own id, or by what it says and how often that was said before."""
    count: Counter[str] = Counter()
    for event in events:
        said = repr((event.source_id, event.kind, event.role, event.speaker, event.call_id, event.text))
        count[said] += 1
        yield event, stores.prints.content(f"{said}\x1f{count[said]}")[:16]


def _time(event: ImportedEvent, last: str) -> str:
    """Return an event's own time; one without a time has that of the event before it, "" where there is none.

    A year that no clock here can show, or none yet, counts as no time.
    """
    try:
        found = read_time(event.at) if event.at else last
    except InvalidInput:
        return last
    return found if _FIRST_YEAR <= found[:4] <= _LAST_YEAR else last


def _event(event: ImportedEvent, run: str, at: str, ref: str) -> Event:
    return Event(
        kind=_KINDS[event.kind], role=event.role, text=event.text, speaker=event.speaker, tool=event.tool,
        call=event.call_id, at=at, source=f"import:{run}", ref=ref,
    )  # fmt: skip
