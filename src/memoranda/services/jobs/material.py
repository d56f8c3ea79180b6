"""What a job may look at and what it shows a model: known records, core blocks, rejected values, what was said."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from memoranda.domain.block import CoreBlock
from memoranda.domain.episode import Episode, is_searchable, log_path
from memoranda.domain.prompt import clipped
from memoranda.domain.query import Hit
from memoranda.domain.record import Record, Status
from memoranda.domain.scope import Scope
from memoranda.domain.session import SessionState
from memoranda.services import episodes
from memoranda.services.stores import Stores
from memoranda.services.visibility import hides

MAX_MESSAGE_BYTES = 4_096
MAX_PART_BYTES = 48 * 1024
"""Of one message, and of all messages in one question: what fits a small model with room for the rest."""

MAX_REJECTED, MAX_REJECTED_BYTES = 20, 200
MAX_KNOWN, MAX_KNOWN_BYTES = 20, 500

_RECALLED = re.compile(
    r"<(recalled_memory|memory_context|memory_file|memory_index|core_memory)[\w-]*[^>]*>.*?(?:</\1[\w-]*>|\Z)",
    re.DOTALL | re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """What a job may look at beside the ledger, in its own scope alone.

    `search` finds records for a text, best first; recall is the only search there is. `cosines` compares a text with
    others, None where there is no embedder.
    """

    search: Callable[[str, int], Sequence[Hit]]
    cosines: Callable[[str, Sequence[str]], Sequence[float] | None]
    blocks: Callable[[], Sequence[CoreBlock]]


def text_of_record(stores: Stores, record: Record, limit: int = MAX_KNOWN_BYTES) -> str:
    """Return a record's text as it is shown to a model, cut at so many bytes; "" where it is lost."""
    return clipped(stores.ledger.text(record.block_hash) or "", limit)


def active_in(stores: Stores, scope: Scope) -> list[Record]:
    """Return the records of a scope that count now."""
    return [record for record in stores.ledger.present(scope) if record.status is Status.ACTIVE]


def heard(stores: Stores, scope: Scope, found: Iterable[Episode]) -> list[Episode]:
    """Return what users and the model said, without what memory put in, heartbeats and what a person has rejected.

    Turns after untrusted content are among them: what is learnt from their session waits for a person.
    """
    kept: list[Episode] = []
    for episode in found:
        plain = replace(episode, text=_RECALLED.sub("", episode.text).strip(), tainted=False)
        if is_searchable(plain) and not hides(stores, scope, plain.text):
            kept.append(plain)
    return kept


def said_in(stores: Stores, state: SessionState) -> list[Episode]:
    """Return what users and the model said in a session before it read untrusted content, in order.

    What was imported is not among it.
    """
    zone = stores.zone()
    last = log_path(zone.day(state.closed_at or stores.clock.now()))
    files = stores.log.files(state.scope, log_path(zone.day(state.opened_at)))
    paths = sorted({*(file.path for file in files if file.path <= last), *episodes.written_in(stores, state)})
    found = (one for _, _, one in episodes.read_all(stores, state.scope, paths, session=state.id))
    clean = sorted((one for one in found if not one.tainted and not one.source), key=lambda one: one.position)
    return heard(stores, state.scope, clean)


def parts_of(said: Sequence[Episode]) -> Iterator[list[Episode]]:
    """Yield what was said in parts that each fit one question."""
    part: list[Episode] = []
    size = 0
    for episode in said:
        taken = min(len(episode.text.encode("utf-8", "replace")), MAX_MESSAGE_BYTES)
        if part and size + taken > MAX_PART_BYTES:
            yield part
            part, size = [], 0
        part.append(episode)
        size += taken
    if part:
        yield part


def as_said(said: Sequence[Episode]) -> list[dict[str, str]]:
    """Return turns as they are shown to a model."""
    return [
        {"role": one.role, "at": one.at[:16], "text": clipped(one.text, MAX_MESSAGE_BYTES)}
        | ({"speaker": one.speaker} if one.speaker else {})
        for one in said
    ]


def as_known(hits: Iterable[Hit]) -> list[dict[str, str]]:
    """Return records as they are shown to a model, each once."""
    found = {hit.record_id: hit for hit in hits}
    return [
        {"id": hit.record_id, "path": hit.path, "text": clipped(hit.text, MAX_KNOWN_BYTES)}
        for hit in list(found.values())[:MAX_KNOWN]
    ]


def rejected_texts(stores: Stores, scope: Scope) -> list[str]:
    """Return the newest values that were rejected and are still kept, cut short; never one that was quarantined."""
    texts: list[str] = []
    for stone in reversed(stores.ledger.tombstones(scope)):
        record = stores.ledger.record(stone.record_id) if stone.record_id else None
        text = _open_text(stores, record)
        if text and len(texts) < MAX_REJECTED:
            texts.append(clipped(text, MAX_REJECTED_BYTES))
    return list(dict.fromkeys(texts))


def _open_text(stores: Stores, record: Record | None) -> str:
    closed = (Status.QUARANTINED, Status.WITHHELD)
    if record is None or record.ever_quarantined or record.status in closed:
        return ""
    return stores.ledger.text(record.block_hash) or ""


def waiting_texts(stores: Stores, scope: Scope) -> list[str]:
    """Return the texts of what waits for a person; they are compared here and shown to no model."""
    found: list[str] = []
    for proposal in stores.ledger.proposals([scope], pending=True, limit=1_000):
        records = (stores.ledger.record(ident) for ident in proposal.record_ids)
        found += [text for record in records if record and (text := stores.ledger.text(record.block_hash))]
    return found
