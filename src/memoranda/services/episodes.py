"""The only door to the daily log: writes an episode durably, and takes the log in for search.

An episode is on disk before the call returns; the index follows and can always be built again from the log.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from memoranda.domain.conversation import Conversation
from memoranda.domain.episode import (
    MAX_RESULT_BYTES,
    Episode,
    EpisodeKind,
    Role,
    as_record,
    is_searchable,
    line_of,
    log_path,
    one_line,
    read_line,
)
from memoranda.domain.given import readable
from memoranda.domain.passage import Passage, Turn
from memoranda.domain.passages import passages_of
from memoranda.domain.record import Record
from memoranda.domain.report import Progress
from memoranda.domain.scope import Principal, Scope
from memoranda.domain.session import SessionState
from memoranda.errors import BackendError, Busy, IntegrityError, InvalidInput
from memoranda.ports.log import Appended, LogFile, LogMark
from memoranda.services.secret_text import redacted
from memoranda.services.stores import Stores

MAX_TEXT_BYTES = 1_000_000
"""A single event longer than this is refused: nobody says it, and a log is read line by line."""

_FILES = "__log"
"""Namespace of a session's private values that names the files in which it has written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """What is to be written down. `at` is when it happened, "" for now; `source` as in `Episode`."""

    kind: EpisodeKind
    role: Role
    text: str
    speaker: str = ""
    tool: str = ""
    call: str = ""
    at: str = ""
    source: str = ""
    ref: str = ""
    kept_from: int = 0


def write(
    stores: Stores, state: SessionState, conversation: Conversation, event: Event, *, author: Principal, limit: int
) -> Episode:
    """Write an event of an open session down; return it as it stands in the log, durable.

    Secrets are redacted, a long result of a tool is cut. What others have written in this session meanwhile is taken
    into the conversation first. Once the line is durable nothing is raised: an index that fails catches up later.

    Raises:
        InvalidInput: the session is closed, or the text is longer than 1,000,000 bytes.
        Busy, BackendError: the log cannot be written; nothing is.
    """
    if not state.is_open:
        raise InvalidInput("this session has ended; open it again under its key")
    made = _made(stores, state, event, author)
    path = log_path(stores.zone().day(made.at))
    with stores.log.hold(state.scope):
        read_on(stores, state.scope, conversation, _grown(stores, state, conversation, path), limit=limit)
        return _append(stores, state.scope, conversation, made, path, limit=limit)


def write_once(
    stores: Stores,
    state: SessionState,
    conversation: Conversation,
    event: Event,
    *,
    author: Principal,
    limit: int,
    known: set[str],
) -> Episode | None:
    """Write an event that was told elsewhere down, in a session that may have ended; None where it is known by its ref.

    `known` gains its ref, and those that others have written on that day meanwhile.

    Raises:
        InvalidInput, Busy, BackendError: as `write`.
    """
    made = _made(stores, state, event, author)
    path = log_path(stores.zone().day(made.at))
    with stores.log.hold(state.scope):
        paths = _grown(stores, state, conversation, path) if state.is_open else (path,)
        known.update(item.ref for item in read_on(stores, state.scope, conversation, paths, limit=limit))
        if event.ref in known:
            return None
        known.add(event.ref)
        return _append(stores, state.scope, conversation, made, path, limit=limit)


def _made(stores: Stores, state: SessionState, event: Event, author: Principal) -> Episode:
    """Return an event as it is to be written, without a position."""
    is_result = event.kind is EpisodeKind.TOOL_RESULT
    if not is_result and len(event.text.encode("utf-8", "replace")) > MAX_TEXT_BYTES:
        raise InvalidInput(f"one event holds at most {MAX_TEXT_BYTES:,} bytes of text")
    text, size, whole = _capped(stores, event.text) if is_result else (_clean(stores, event.text), 0, "")
    return Episode(
        id=stores.ids.new("epi"), at=event.at or stores.clock.now(), session=state.id, key=_clean(stores, state.key),
        position=0, kind=event.kind, role=event.role, text=text, author=str(author),
        speaker=one_line(_clean(stores, event.speaker))[:200], tool=_clean(stores, event.tool)[:200],
        call=_clean(stores, event.call)[:200],
        tainted=state.is_tainted, source=event.source, ref=event.ref, size=size, whole=whole, kept_from=event.kept_from,
    )  # fmt: skip


def _append(
    stores: Stores, scope: Scope, conversation: Conversation, made: Episode, path: str, *, limit: int
) -> Episode:
    """Give an episode the next position and add it to the log, then to the index. The caller holds the log."""
    episode = replace(made, position=conversation.position + 1)
    line = line_of(episode)
    added = stores.log.append(scope, path, line)
    conversation.seen[path] = added.offset + len(line)
    conversation.follow(episode, limit)
    with suppress(BackendError, IntegrityError, Busy):  # the index is behind the log then, and the next sync says why
        _index(stores, scope, episode, line, added)
    return episode


def _clean(stores: Stores, text: str) -> str:
    """Return a text without secrets, as UTF-8 can hold it."""
    return redacted(stores, readable(text))


def _grown(stores: Stores, state: SessionState, conversation: Conversation, path: str) -> Sequence[str]:
    """Note that an open session writes in a file, and return those that it has written in and that have grown."""
    known = written_in(stores, state)
    if path not in known:
        stores.ledger.state_set(state.id, _FILES, path, "1", at=stores.clock.now())
    seen = conversation.seen
    return [name for name in sorted({*known, path}) if stores.log.size(state.scope, name) != seen.get(name, 0)]


def written_in(stores: Stores, state: SessionState) -> tuple[str, ...]:
    """Return the log files in which an open session has written, oldest day first."""
    return tuple(stores.ledger.state_keys(state.id, _FILES))


def _capped(stores: Stores, text: str) -> tuple[str, int, str]:
    """Cut a long result at a character; return it with size and hash of the whole, 0 and "" where nothing was cut."""
    data = text.encode("utf-8", "replace")
    kept = _clean(stores, data[:MAX_TEXT_BYTES].decode("utf-8", "ignore")).encode()
    if len(data) <= MAX_TEXT_BYTES and len(kept) <= MAX_RESULT_BYTES:
        return kept.decode(), 0, ""
    return kept[:MAX_RESULT_BYTES].decode("utf-8", "ignore"), len(data), stores.prints.content(data)


def read_on(
    stores: Stores, scope: Scope, conversation: Conversation, paths: Sequence[str], *, limit: int
) -> list[Episode]:
    """Take into a conversation what its session has gained in log files since they were read last, and return it.

    The order is that in which it was written, whatever days it is dated. A line that cannot be read keeps its position.
    """
    lines = [episode for path in paths for episode in _unread(stores, scope, conversation, path)]
    found = sorted((episode for episode in lines if episode), key=lambda item: item.position)
    for episode in found:
        conversation.follow(episode, limit)
    conversation.position += len(lines) - len(found)
    return found


def _unread(stores: Stores, scope: Scope, conversation: Conversation, path: str) -> Iterator[Episode | None]:
    """Yield what a conversation's session has gained in a log file; None for a line that cannot be read."""
    start = conversation.seen.get(path, 0)
    data = stores.log.read(scope, path, start) or b""
    name = f'"session":"{conversation.session}"'.encode()
    end = data.rfind(b"\n") + 1
    conversation.seen[path] = start + end
    for line in data[:end].splitlines():
        episode = read_line(line) if name in line else None
        if episode is not None and episode.session == conversation.session:
            yield episode
        elif name in line:
            yield None


def _index(stores: Stores, scope: Scope, episode: Episode, line: bytes, added: Appended) -> None:
    """Take one new line in; where the index is behind, or the file was touched meanwhile, all of the file."""
    offset, file = added.offset, added.after
    before = stores.log_marks.get((scope, file.path))
    if before is None or before.size != offset:
        before = stores.index.logs(scope).get(file.path)
    is_next = before.size == offset and before.stamp == added.before.stamp if before else offset == 0
    if not is_next:
        _take_in(stores, scope, file, before)
        return
    lines = before.lines if before else 0
    tail = _chained(stores, before.tail if before else "", line)
    after = LogMark(offset + len(line), file.inode, file.stamp, tail, lines + 1)
    found = _passages(episode, scope, file.path, offset, len(line), lines + 1) if is_searchable(episode) else ()
    if stores.index.put_turns(scope, found, path=file.path, before=before, after=after):
        stores.log_marks[(scope, file.path)] = after
    else:
        _take_in(stores, scope, file, stores.index.logs(scope).get(file.path))


def _passages(episode: Episode, scope: Scope, path: str, offset: int, size: int, line: int) -> tuple[Passage, ...]:
    turn = Turn(
        session=episode.session, key=episode.key, position=episode.position, speaker=episode.speaker,
        role=episode.role, offset=offset, size=size, line=line,
    )  # fmt: skip
    return passages_of(as_record(episode, scope, path), episode.text, "", turn)


def catch_up(stores: Stores, scope: Scope, progress: Progress | None = None) -> tuple[tuple[str, str], ...]:
    """Take in what the logs of a scope gained or lost; return what could not be read, as (path:line, why)."""
    files = stores.log.files(scope)
    marks = stores.index.logs(scope)
    gone = sorted(marks.keys() - {file.path for file in files})
    todo = [file for file in files if not _is_known(file, marks.get(file.path))]
    if not todo and not gone:
        return ()
    skipped: list[tuple[str, str]] = []
    with stores.log.hold(scope):
        marks = stores.index.logs(scope)
        for path in gone:
            stores.index.put_turns(scope, (), path=path, before=marks.get(path), after=None, whole=True)
        for number, file in enumerate(todo, 1):
            skipped += _take_in(stores, scope, file, marks.get(file.path))
            if progress:
                progress(f"reading the log of {scope}", number, len(todo))
    return tuple(skipped)


def _is_known(file: LogFile, mark: LogMark | None) -> bool:
    return mark is not None and (mark.size, mark.stamp) == (file.size, file.stamp)


def _take_in(stores: Stores, scope: Scope, file: LogFile, mark: LogMark | None) -> list[tuple[str, str]]:
    """Take in a log file: from where it was read last if it only grew, else whole. The caller holds the log."""
    data = stores.log.read(scope, file.path) or b""
    end = data.rfind(b"\n") + 1
    start = mark.size if mark is not None and _only_grew(stores, data, file, mark) else 0
    tail = mark.tail if mark is not None and start else ""
    whole = start == 0
    lines = mark.lines if mark is not None and not whole else 0
    found: list[Passage] = []
    skipped: list[tuple[str, str]] = []
    offset = start
    for line in data[start:end].splitlines(keepends=True):
        lines += 1
        episode = read_line(line)
        if episode is not None and is_searchable(episode):
            found.extend(_passages(episode, scope, file.path, offset, len(line), lines))
        elif episode is None and line.strip():
            skipped.append((f"{file.path}:{lines}", "not a line of a log, or a torn one"))
        offset, tail = offset + len(line), _chained(stores, tail, line)
    if len(data) > end:
        skipped.append((f"{file.path}:{lines + 1}", "the last line is torn"))
    after = LogMark(end, file.inode, file.stamp if len(data) == end == file.size else 0, tail, lines)
    stores.index.put_turns(scope, found, path=file.path, before=mark, after=after, whole=whole)
    stores.log_marks[(scope, file.path)] = after
    return skipped


def _only_grew(stores: Stores, data: bytes, file: LogFile, mark: LogMark) -> bool:
    """Whether the part that was read is there still: the same file, and the same lines before the mark."""
    if not mark.size or file.inode != mark.inode or len(data) < mark.size:
        return False
    tail = ""
    for line in data[: mark.size].splitlines(keepends=True):
        tail = _chained(stores, tail, line)
    return tail == mark.tail


def _chained(stores: Stores, tail: str, line: bytes) -> str:
    """Return the hash of a line and all lines before it."""
    return stores.prints.content(tail.encode() + line)


def read_all(
    stores: Stores, scope: Scope, paths: Sequence[str], *, session: str = ""
) -> Iterator[tuple[str, int, Episode]]:
    """Yield every episode of these log files (of one session where it is named) with its file and line, in order.

    What is no episode is left out.
    """
    name = f'"session":"{session}"'.encode() if session else b""
    for path in paths:
        data = stores.log.read(scope, path) or b""
        for number, line in enumerate(data.splitlines(), 1):
            episode = read_line(line) if name in line else None
            if episode is not None and session in ("", episode.session):
                yield path, number, episode


def unreadable(stores: Stores, scope: Scope) -> Iterator[tuple[str, str]]:
    """Yield the lines of a scope's logs that are no episodes of their own, as (path:line, why)."""
    names: dict[str, str] = {}
    for file in stores.log.files(scope):
        for number, line in enumerate((stores.log.read(scope, file.path) or b"").splitlines(), 1):
            episode, place = read_line(line), f"{file.path}:{number}"
            if episode is None and line.strip():
                yield place, "not a line of a log, or a torn one"
            elif episode is not None and names.setdefault(episode.id, place) != place:
                yield place, f"it has the id of the line {names[episode.id]}"


def locate(stores: Stores, passage: Passage) -> tuple[int, int] | None:
    """Return the line of a turn, twice; None where the log no longer holds it there."""
    turn, record = passage.turn, passage.record
    if turn is None:
        return None
    data = stores.log.read(record.scope, record.path, turn.offset, turn.offset + turn.size)
    return (turn.line, turn.line) if data and record.id.encode() in data else None


def read_turn(stores: Stores, passage: Passage) -> Episode | None:
    """Return the episode that a passage is of; None where the log no longer holds it there."""
    turn, record = passage.turn, passage.record
    data = stores.log.read(record.scope, record.path, turn.offset, turn.offset + turn.size) if turn else None
    episode = read_line(data) if data else None
    return episode if episode is not None and episode.id == record.id else None


def session_around(stores: Stores, record: Record, turn: Turn, count: int) -> tuple[Episode, ...]:
    """Return the episodes of a turn's session in the same log file, `count` positions before and after it."""
    name = f'"session":"{turn.session}"'.encode()
    data = stores.log.read(record.scope, record.path) or b""
    found = (read_line(line) for line in data.splitlines() if name in line)
    near = [item for item in found if item is not None and abs(item.position - turn.position) <= count]
    return tuple(sorted((item for item in near if item.session == turn.session), key=lambda item: item.position))


def expected_turns(stores: Stores, scope: Scope) -> dict[str, list[Sequence[Passage]]]:
    """Return turn id -> the passages that the index should hold of it: those of one of the lines with that id."""
    found: dict[str, list[Sequence[Passage]]] = {}
    for file in stores.log.files(scope):
        data = stores.log.read(scope, file.path) or b""
        offset = 0
        for number, line in enumerate(data[: data.rfind(b"\n") + 1].splitlines(keepends=True), 1):
            episode = read_line(line)
            if episode is not None and is_searchable(episode):
                passages = _passages(episode, scope, file.path, offset, len(line), number)
                found.setdefault(episode.id, []).append(passages)
            offset += len(line)
    return found
