"""A file while a batch works on it: its blocks, each with the record it is."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from memoranda.domain.entry import FileState
from memoranda.domain.markdown import Document, parse
from memoranda.domain.record import Record, Status
from memoranda.domain.scope import Scope
from memoranda.domain.withheld import (
    HELD_HEADING,
    NOTHING,
    Withheld,
    also,
    also_headings,
    headings_named,
    placeholder_hash,
    placeholder_names,
    redact,
    withhold,
)
from memoranda.errors import BackendError, IntegrityError
from memoranda.services.secret_text import secrets_in
from memoranda.services.stores import Stores


@dataclass(slots=True)
class WorkingFile:
    """`original` are the bytes on disk when the batch began (None: no file), `state` what the ledger knows of them.

    `document`, `hashes` and `known` (one entry per block) follow the batch's operations. `orphans` are records that
    should stand in the file and were not found in it.
    """

    path: str
    original: bytes | None
    state: FileState | None
    document: Document
    hashes: list[str]
    known: list[Record | None]
    exists: bool
    orphans: list[Record] = field(default_factory=list)
    withheld: Withheld = NOTHING

    @property
    def changed(self) -> bool:
        """Whether the batch leaves the file other than it found it."""
        now = self.document.text.encode() if self.exists else None
        return now != self.original


def load(stores: Stores, scope: Scope, path: str) -> WorkingFile | None:
    """Read a file with its records; None where it is not as the ledger knows it and must be observed first.

    Raises:
        BackendError: the file cannot be read or is not UTF-8.
    """
    state = stores.ledger.file(scope, path)
    found = stores.documents.read(scope, path)
    original = found[0] if found else None
    if (original is None) != (state is None):
        return None
    if original is None or state is None:
        return WorkingFile(path, None, None, parse(""), [], [], exists=False)
    if stores.prints.content(original) != state.content_hash:
        return None
    document = stores.parsed.parse(scope, path, decode(original, path))
    working = _with_records(stores, scope, path, document, original, state)
    if state.object != state.content_hash:
        waiting = {
            index: record.reason
            for index, record in enumerate(working.known)
            if record is not None and record.status is Status.WITHHELD and record.reason.startswith("review:")
        }
        working.withheld = also(withhold(document, secrets_in(stores, document.text)), document, waiting)
        names = placeholder_names(readable_text(stores, state.object) or "")
        held = headings_named(document, names, stores.prints.content)
        working.withheld = also_headings(working.withheld, document, held, HELD_HEADING)
    return working


def as_known(stores: Stores, scope: Scope, path: str) -> WorkingFile:
    """Return a file as the ledger last knew it, whatever is on disk now."""
    state = stores.ledger.file(scope, path)
    if state is None:
        return _with_records(stores, scope, path, parse(""), None, None)
    kept = readable_text(stores, state.object)
    return _with_records(stores, scope, path, parse(kept or ""), None, state)


def readable_text(stores: Stores, name: str) -> str | None:
    """Return a kept text; None where it is damaged or missing, which `verify` names and writes can do without."""
    try:
        return stores.ledger.text(name)
    except IntegrityError:
        return None


def text_of(stores: Stores, record: Record) -> str | None:
    """Return a record's text: the kept one, or where that is damaged the file's own; None where both are lost."""
    text = readable_text(stores, record.block_hash)
    if text is not None:
        return text
    try:
        found = stores.documents.read(record.scope, record.path)
        document = stores.parsed.parse(record.scope, record.path, decode(found[0], record.path) if found else "")
    except BackendError:
        return None
    hashes = block_hashes(stores, document)
    return document.blocks[hashes.index(record.block_hash)].text if record.block_hash in hashes else None


def without(working: WorkingFile, ids: AbstractSet[str]) -> WorkingFile:
    """Take records out of a file that another file of the same transaction takes in."""
    working.known = [None if record is None or record.id in ids else record for record in working.known]
    working.orphans = [record for record in working.orphans if record.id not in ids]
    return working


def decode(data: bytes, path: str) -> str:
    """Decode a file; the text keeps every byte (a byte order mark is a character of it).

    Raises:
        BackendError: it is not UTF-8.
    """
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise BackendError(f"{path} is not UTF-8: convert it, then it can be memory") from error


def block_hashes(stores: Stores, document: Document) -> list[str]:
    """Return the keyed hash of every block's exact bytes."""
    return [stores.prints.content(block.text) for block in document.blocks]


def _with_records(
    stores: Stores,
    scope: Scope,
    path: str,
    document: Document,
    original: bytes | None,
    state: FileState | None,
) -> WorkingFile:
    records = stores.ledger.records_in(scope, path)
    hashes = block_hashes(stores, document)
    withheld = {record.block_hash for record in records if record.status is Status.WITHHELD}
    if withheld and original is None:
        stood_for = [placeholder_hash(block.text) for block in document.blocks]
        hashes = [there if there in withheld else name for there, name in zip(stood_for, hashes, strict=True)]
    known, orphans = assign(hashes, records)
    return WorkingFile(path, original, state, document, hashes, known, state is not None, orphans)


def assign(hashes: Sequence[str], records: Iterable[Record]) -> tuple[list[Record | None], list[Record]]:
    """Give each block its record: the k-th identical block the k-th identical record. Return what is left over too."""
    waiting: defaultdict[str, deque[Record]] = defaultdict(deque)
    for record in sorted(records, key=lambda item: (item.block_hash, item.occurrence, item.id)):
        waiting[record.block_hash].append(record)
    known = [waiting[name].popleft() if waiting.get(name) else None for name in hashes]
    return known, [record for left in waiting.values() for record in left]


def kept_content(stores: Stores, working: WorkingFile) -> str:
    """Return the file's content without what is withheld."""
    return redact(working.document, working.withheld, stores.prints.content)
