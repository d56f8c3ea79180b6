"""Looks at single records and files: get, blame, history, log; and finds a block's present lines."""

from __future__ import annotations

import re
from collections.abc import Sequence

from memoranda.domain.access import is_bound_by_rejection
from memoranda.domain.episode import Episode, is_for_models
from memoranda.domain.markdown import parse
from memoranda.domain.passages import passages_of
from memoranda.domain.record import Record, Status
from memoranda.domain.report import BlameLine, Chunk, Event, History, Version
from memoranda.domain.scope import Scope, Viewer
from memoranda.domain.withheld import MASK, withhold
from memoranda.errors import BackendError, InvalidInput, NotFound
from memoranda.services import episodes
from memoranda.services.indexing import file_title
from memoranda.services.secret_text import secrets_in
from memoranda.services.stores import Stores
from memoranda.services.visibility import hides, may_see, shown_events
from memoranda.services.working_file import assign, block_hashes, decode, text_of

_CHUNK_ID = re.compile(r"(rec_[0-9a-z]{22})(?:#([1-9]\d{0,4}))?")
_PLACE = re.compile(r"(.+?)(?:#L|:)(\d{1,9})(?:-L?\d{1,9})?")
_NOT_FOUND = "chunk not found"
MAX_LOG = 1_000
MAX_AROUND = 20


class Places:
    """Finds blocks in files as they are now; one instance serves one question and reads each file once."""

    def __init__(self, stores: Stores) -> None:
        self._stores = stores
        self._texts: dict[tuple[Scope, str], str | None] = {}

    def locate(self, record: Record, text: str) -> tuple[int, int] | None:
        """Return the lines (from 1) of a record's text, or of a part of it; None where the file no longer holds it.

        (0, 0) where the file cannot be read: unreadable is not deleted.
        """
        key = (record.scope, record.path)
        if key not in self._texts:
            self._texts[key] = self._read(*key)
        file, block = self._texts[key], text_of(self._stores, record)
        if file is None or block is None:
            return 0, 0
        position = _block_position(file, block, record.occurrence)
        if position < 0:
            return None
        part = max(block.find(text), 0)
        first = 1 + _line_ends(file[:position]) + _line_ends(block[:part])
        return first, first + _line_ends(text)

    def _read(self, scope: Scope, path: str) -> str | None:
        try:
            found = self._stores.documents.read(scope, path)
            return decode(found[0], path) if found else ""
        except BackendError:
            return None


def _block_position(file: str, block: str, occurrence: int) -> int:
    """Where a block stands in a file, as whole lines, for the n-th time (or the last time that it does); -1 if not."""
    found, position = -1, file.find(block)
    while position >= 0 and occurrence:
        end = position + len(block)
        before, after = file[max(0, position - 1) : position], file[end : end + 1]
        if before in ("", "\n", "\r", "\ufeff") and after in ("", "\n", "\r"):
            found = position
            occurrence -= 1
        position = file.find(block, position + 1)
    return found


def _line_ends(text: str) -> int:
    return text.count("\n") + text.count("\r") - text.count("\r\n")


def get(stores: Stores, viewer: Viewer, chunk_id: str) -> Chunk:
    """Return a record or a part of it by its id, or the record at `path:line` of the viewer's own workspace.

    Raises:
        NotFound: unknown, another scope's, or not active: all alike.
    """
    if chunk_id.startswith("epi_"):
        return _turn(stores, viewer, chunk_id)
    match = _CHUNK_ID.fullmatch(chunk_id)
    if match is None:
        return _at_place(stores, viewer, chunk_id)
    record = stores.ledger.record(match[1], viewer.scopes)
    if record is None or not may_see(stores, viewer, record) or record.status is not Status.ACTIVE:
        raise NotFound(_NOT_FOUND)
    whole = text_of(stores, record)
    if whole is None:
        raise NotFound(_NOT_FOUND)
    text = whole
    if match[2]:
        parts = passages_of(record, whole, file_title(record.path))
        part = next((item for item in parts if item.id == chunk_id), None)
        if part is None:
            raise NotFound(_NOT_FOUND)
        text = part.text
    lines = Places(stores).locate(record, text)
    if lines is None:
        raise NotFound(_NOT_FOUND)
    return Chunk(chunk_id, record, text, *lines)


def _turn(stores: Stores, viewer: Viewer, chunk_id: str) -> Chunk:
    """Return a turn of the log that search may find, whole or a part of it."""
    name = chunk_id.partition("#")[0]
    for scope in sorted(viewer.scopes):
        for passage in stores.index.parts_of(scope, name):
            lines = episodes.locate(stores, passage)
            episode = episodes.read_turn(stores, passage) if lines and chunk_id in (name, passage.id) else None
            if episode is None or lines is None:
                continue
            if is_bound_by_rejection(viewer.principal) and hides(stores, scope, episode.text):
                break
            text = episode.text if chunk_id == name else passage.text
            return Chunk(chunk_id, passage.record, text, *lines, turn=passage.turn)
    raise NotFound(_NOT_FOUND)


def around(stores: Stores, viewer: Viewer, turn_id: str, count: int) -> tuple[Episode, ...]:
    """Return what was said in the same session around a turn, `count` entries before and after, oldest first.

    Raises:
        NotFound: there is no such turn for this viewer.
        InvalidInput: `count` is not 1 to 20.
    """
    if not 1 <= count <= MAX_AROUND:
        raise InvalidInput(f"{count} entries around a turn are out of range: use 1 to {MAX_AROUND}")
    chunk = _turn(stores, viewer, turn_id)
    is_model = is_bound_by_rejection(viewer.principal)
    said = episodes.session_around(stores, chunk.record, chunk.turn, count) if chunk.turn else ()
    return tuple(
        item
        for item in said
        if not is_model or (is_for_models(item) and not hides(stores, chunk.record.scope, item.text))
    )


def _at_place(stores: Stores, viewer: Viewer, place: str) -> Chunk:
    match = _PLACE.fullmatch(place)
    if match is None:
        raise NotFound(_NOT_FOUND)
    line = int(match[2])
    for entry in blame(stores, viewer, match[1]):
        if entry.line_start <= line <= entry.line_end and entry.record and entry.record.status is Status.ACTIVE:
            return Chunk(entry.record.id, entry.record, entry.text, entry.line_start, entry.line_end)
    raise NotFound(_NOT_FOUND)


def blame(stores: Stores, viewer: Viewer, path: str) -> tuple[BlameLine, ...]:
    """Return every block of a file of the viewer's own scope with its record.

    The text of a withheld secret is left out; for a model so is all that is not active.

    Raises:
        NotFound: the scope has no such memory file.
        InvalidInput: the path leads out of the workspace.
    """
    scope, is_model = viewer.own, is_bound_by_rejection(viewer.principal)
    if "\\" in path or "\0" in path or path.startswith("/") or ".." in path.split("/"):
        raise InvalidInput("this is no path inside the workspace: use one such as MEMORY.md or memory/notes.md")
    if stores.ledger.file(scope, path) is None:
        raise NotFound(f"no memory file of this name is known in {scope}; `memoranda status` names what is not read")
    found = stores.documents.read(scope, path)
    if found is None:
        raise NotFound(f"{path} is gone; the next sync will take note of it")
    document = parse(decode(found[0], path))
    known, _ = assign(block_hashes(stores, document), stores.ledger.records_in(scope, path))
    secret = withhold(document, secrets_in(stores, document.text)).blocks
    return tuple(
        BlameLine(
            block.line_start,
            block.line_end,
            _blamed(block.text, known[index], secret.get(index, ""), is_model=is_model),
            known[index],
        )
        for index, block in enumerate(document.blocks)
    )


def _blamed(text: str, record: Record | None, secret: str, *, is_model: bool) -> str:
    if secret:
        return f"[withheld: secret:{secret}]"
    if is_model and (record is None or record.status is not Status.ACTIVE):
        return MASK
    return text


def history(stores: Stores, viewer: Viewer, record_id: str) -> History:
    """Return a record's whole chain, oldest first, with its events.

    Raises:
        NotFound: unknown or another scope's id, alike.
    """
    base = record_id.partition("#")[0]
    record = stores.ledger.record(base, viewer.scopes)
    if record is None or not may_see(stores, viewer, record):
        raise NotFound("record not found")
    chain = [item for item in stores.ledger.chain(base) if may_see(stores, viewer, item)]
    versions = tuple(
        Version(item, None if item.status is Status.WITHHELD else stores.ledger.text(item.block_hash)) for item in chain
    )
    events = stores.ledger.events(scope=None, limit=MAX_LOG, subjects=[item.id for item in chain])
    return History(versions, shown_events(stores, viewer, tuple(reversed(events))))


def log(stores: Stores, viewer: Viewer, *, limit: int, kind: str, subject: str, since: str) -> Sequence[Event]:
    """Return the newest events of the viewer's own scope, newest first, without what it may not see.

    Raises:
        InvalidInput: `limit` is not 1 to 1,000.
    """
    if not 1 <= limit <= MAX_LOG:
        raise InvalidInput(f"limit {limit} is out of range: use 1 to {MAX_LOG}")
    found = stores.ledger.events(scope=viewer.own, limit=limit, kind=kind, subject=subject, since=since)
    return shown_events(stores, viewer, found)
