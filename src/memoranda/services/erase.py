"""Erases a text everywhere in the home, proves it by a look at all raw bytes, and writes a certificate.

First the text leaves the files, through the gateway; then the ledger is scrubbed in one transaction; then what is
derived is built anew and free pages are overwritten. Each step can be repeated: an erasure that was interrupted is
finished by asking for it again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress

from memoranda.domain.erasure import MIN_PIECE, Certificate, core_of, holds, spellings
from memoranda.domain.markdown import parse
from memoranda.domain.operation import Batch, Cut, Operation, Reject, Remove
from memoranda.domain.outcome import Conflicted, Refused
from memoranda.domain.record import Provenance, Record, Status
from memoranda.domain.report import Progress
from memoranda.domain.scope import OPERATOR, Principal, Scope
from memoranda.domain.tombstone import Tombstone
from memoranda.errors import BackendError, Conflict, InvalidInput, NotFound, RemovalsNotAccepted
from memoranda.ports.erasure import Sweeper
from memoranda.services import episodes, erase_log, gateway, indexing, writing
from memoranda.services.secret_text import spoken
from memoranda.services.stores import Stores
from memoranda.services.sync import sync
from memoranda.services.working_file import block_hashes, decode, load

TURN = "epi_"
BEGUN, COMPLETED = "erase.begun", "erase.completed"


def erase(
    stores: Stores,
    operator: Principal,
    *,
    record_id: str = "",
    text: str = "",
    only: bool = False,
    keep_tombstone: bool = True,
    sweeper: Sweeper,
    forget_vectors: Callable[[], None],
    progress: Progress | None = None,
) -> Certificate:
    """Remove a record's text and all that descends from it, or a text of 8 characters or more wherever it stands.

    `only` leaves what descends from the record, where it does not hold the same words. Without `keep_tombstone` the
    value is not even remembered as rejected.

    Raises:
        NotFound: there is no such record.
        InvalidInput: both or neither of record and text are given, the text is too short to be told from chance, or it
            is what the program itself writes of every change.
        Conflict: a file was changed meanwhile; nothing is lost, erase again.
        Busy: another process is using the ledger.
    """
    if bool(record_id) == bool(text):
        raise InvalidInput("give either a record's id or a text to erase")
    if text and len(core_of(text)) < MIN_PIECE:
        raise InvalidInput(f"a text to erase has at least {MIN_PIECE} characters; name the record instead")
    with _all_scopes(stores) as scopes:
        if record_id.startswith(TURN):
            record_id, text = "", _turn(stores, scopes, record_id)
        with suppress(RemovalsNotAccepted):  # a folder that is away keeps its records, and what it holds is not here
            sync(stores, scopes, progress=progress)
        records, texts = _targets(stores, record_id, text, scopes, only=only)
        pieces, whole = _apart(stores, scopes, texts, is_text=bool(text))
        if not texts or _is_gone(stores, records, pieces, scopes):
            return _again(stores, operator, records, pieces, sweeper, keep_tombstone=keep_tombstone)
        ids = tuple(record.id for record in records)
        _note(stores, operator, BEGUN, ids, {"records": list(ids)})
        stones = _stones(stores, records, pieces) if not keep_tombstone else []
        _leave_files(stores, operator, records, pieces, keep_value=not keep_tombstone)
        records = _closure(stores, records, only=True, pieces=pieces)
        ids = tuple(record.id for record in records)
        if progress:
            progress("erasing from the ledger", 0, 0)
        erase_log.clean(stores, scopes, pieces)
        objects, events = stores.ledger.scrub(
            ids, pieces, whole=whole, tombstones=stones, at=stores.clock.now(), author=operator
        )  # fmt: skip
        _rebuild(stores, forget_vectors, progress)
        certificate = Certificate(
            what=ids, when=stores.clock.now(), who=str(operator), objects=objects, events=events,
            swept=sweeper.sweep(pieces), tombstones_kept=keep_tombstone,
        )  # fmt: skip
        _complete(stores, operator, certificate)
        return certificate


def _apart(
    stores: Stores, scopes: Sequence[Scope], texts: Sequence[str], *, is_text: bool
) -> tuple[list[str], list[str]]:
    """Return which texts are looked for inside others, and which only as wholes: words of the program itself."""
    own = {*stores.ledger.own_words(texts), *erase_log.own_words(stores, scopes, texts)}
    if is_text and own:
        raise InvalidInput(
            "this text is part of what the program itself writes of every change (a time, a name, a state, an id); "
            "give more of the text around it, or the record's id"
        )
    return [item for item in texts if item not in own], [item for item in texts if item in own]


def _turn(stores: Stores, scopes: Sequence[Scope], turn_id: str) -> str:
    """Return what was said in a turn; it is erased by its words."""
    for scope in scopes:
        paths = [file.path for file in stores.log.files(scope)]
        for _path, _line, episode in episodes.read_all(stores, scope, paths):
            if episode.id == turn_id:
                if len(core_of(episode.text)) < MIN_PIECE:
                    raise InvalidInput(f"this turn has fewer than {MIN_PIECE} characters; edit its line of the log")
                return episode.text
    raise NotFound("turn not found")


@contextmanager
def _all_scopes(stores: Stores) -> Iterator[list[Scope]]:
    """Hold every scope's lock, in order; what was interrupted is finished first."""
    scopes = sorted({*stores.documents.scopes(), *stores.ledger.scopes(), OPERATOR})
    with ExitStack() as stack:
        for scope in scopes:
            stack.enter_context(stores.locks.hold(scope))
            writing.recover(stores, scope)
        yield scopes


def _targets(
    stores: Stores, record_id: str, text: str, scopes: Sequence[Scope], *, only: bool
) -> tuple[list[Record], list[str]]:
    """Return the records that go and the texts that are looked for; no texts where they are gone already."""
    if text:
        pieces = _spellings(stores, core_of(text), scopes)
        pieces += _names(stores, pieces)
        return _closure(stores, [], only=only, pieces=pieces), pieces
    record = stores.ledger.record(record_id.partition("#")[0])
    if record is None:
        raise NotFound("record not found")
    records = _descendants(stores, record) if not only else [record]
    pieces = list(dict.fromkeys(piece for item in records if (piece := core_of(_text(stores, item)))))
    pieces += _names(stores, pieces)
    return _closure(stores, records, only=only, pieces=pieces), pieces


def _names(stores: Stores, pieces: Sequence[str]) -> list[str]:
    """Return these texts as the operational ledger has them in its names: in lower case."""
    said = set(stores.ledger.names_said())
    patterns = [spellings(piece.lower()) for piece in pieces if len(piece) >= MIN_PIECE]
    found = dict.fromkeys(match.group() for name in said for pattern in patterns for match in pattern.finditer(name))
    return [name for name in found if name not in pieces]


def _spellings(stores: Stores, text: str, scopes: Sequence[Scope]) -> list[str]:
    """Return a text in every form in which it stands in a file, a log or in the ledger, and as it was given.

    Raises:
        InvalidInput: a file's name holds it; a name is not changed by erasing.
    """
    pattern = spellings(text)
    found = {text: None}
    for scope in scopes:
        for path in stores.ledger.files(scope):
            if pattern.search(path) or pattern.search(spoken(path)):
                raise InvalidInput(f"the name of a file of {scope} holds this text: rename the file, then erase again")
            read = stores.documents.read(scope, path)
            content = decode(read[0], path) if read else ""
            found |= dict.fromkeys(match.group() for match in pattern.finditer(content))
    for kept in (*stores.ledger.kept_texts(), *erase_log.said_in_logs(stores, scopes)):
        found |= dict.fromkeys(match.group() for match in pattern.finditer(kept))
    return sorted(found, key=len, reverse=True)


def _descendants(stores: Stores, record: Record) -> list[Record]:
    """Return a record and all that supersedes it or derives from it."""
    found = {record.id: record}
    waiting = [record]
    while waiting:
        current = waiting.pop()
        for name in (current.superseded_by, *stores.ledger.derived_from(current.id)):
            item = stores.ledger.record(name) if name and name not in found else None
            if item is not None:
                found[name] = item
                waiting.append(item)
    return list(found.values())


def _closure(stores: Stores, records: Sequence[Record], *, only: bool, pieces: Sequence[str]) -> list[Record]:
    """Add every record that says one of these texts, whoever wrote it; return them as they are now."""
    ids = [record.id for record in records]
    if pieces:
        for name in stores.ledger.holding(pieces).records:
            item = stores.ledger.record(name)
            more = [item] if only or item is None else _descendants(stores, item)
            ids.extend(found.id for found in more if found is not None)
    now = (stores.ledger.record(name) for name in dict.fromkeys(ids))
    return [record for record in now if record is not None]


def _text(stores: Stores, record: Record) -> str:
    """Return a record's text; one that is withheld stands in its file alone."""
    if not record.block_hash:
        return ""
    kept = stores.ledger.text(record.block_hash)
    if kept is not None or record.status is not Status.WITHHELD:
        return kept or ""
    found = stores.documents.read(record.scope, record.path)
    document = parse(decode(found[0], record.path) if found else "")
    hashes = block_hashes(stores, document)
    return document.blocks[hashes.index(record.block_hash)].text if record.block_hash in hashes else ""


def _leave_files(
    stores: Stores, operator: Principal, records: Sequence[Record], pieces: Sequence[str], *, keep_value: bool
) -> None:
    """Take the texts out of every curated file, through the gateway."""
    for scope in sorted({*stores.documents.scopes(), *(record.scope for record in records)}):
        gateway.observe(stores, scope, stores.ledger.files(scope))
        operations: list[Operation] = []
        for record in records:
            now = stores.ledger.record(record.id)
            if now is None or now.scope != scope:
                continue
            if now.status in (Status.ACTIVE, Status.WITHHELD):
                operations.append(Remove(now.id, keep_value=keep_value))
            elif now.status is Status.QUARANTINED and not keep_value:
                operations.append(Reject(now.id))
        _commit(stores, operator, scope, operations)
        for path in list(stores.ledger.files(scope)):
            found = stores.documents.read(scope, path)
            content = decode(found[0], path) if found else ""
            for held in _withheld_with(stores, scope, path, pieces):
                _commit(stores, operator, scope, [Cut(path, held, all_matches=True, keep_value=keep_value)])
                content = content.replace(held, "")
            cuts = [
                Cut(path, piece, all_matches=True, keep_value=keep_value) for piece in pieces if holds(content, piece)
            ]
            for cut in cuts:
                _commit(stores, operator, scope, [cut])


def _withheld_with(stores: Stores, scope: Scope, path: str, pieces: Sequence[str]) -> list[str]:
    """Return the blocks and headings that are withheld in a file and hold a text: they go whole, never in part.

    What would be left of one that waits to be read would be let in without that.
    """
    working = load(stores, scope, path)
    if working is None:
        return []
    texts = (working.document.text[start:end] for start, end in working.withheld.spans)
    return list(dict.fromkeys(text for text in texts if any(holds(text, piece) for piece in pieces)))


def _commit(stores: Stores, operator: Principal, scope: Scope, operations: Sequence[Operation]) -> None:
    if not operations:
        return
    batch = Batch(operator, scope, tuple(operations), "erase", Provenance(tool="erase"))
    for item in gateway.commit(stores, batch).items:
        if isinstance(item, Refused) and item.rule != "not_found":
            raise Conflict(f"a file could not be changed ({item.rule}): {item.message}")
        if isinstance(item, Conflicted):
            raise Conflict(item.message)


def _stones(stores: Stores, records: Sequence[Record], pieces: Sequence[str]) -> list[Tombstone]:
    """The tombstones of these values in every scope."""
    found: dict[str, Tombstone] = {}
    texts = [*pieces, *(text for record in records if (text := _text(stores, record)))]
    values = {mark.value for text in texts for mark in stores.prints.marks(text)}
    for scope in sorted({*stores.documents.scopes(), *stores.ledger.scopes()}):
        for stone in stores.ledger.tombstones(scope, all_of_them=True):
            if stone.value in values:
                found[stone.id] = stone
    return list(found.values())


def _rebuild(stores: Stores, forget_vectors: Callable[[], None], progress: Progress | None) -> None:
    """Build every index from nothing and overwrite free pages: derived data may hold a text in any form."""
    for scope in stores.index.scopes():
        stores.index.clear(scope)
        indexing.catch_up(stores, scope, progress)
    forget_vectors()
    stores.ledger.compact()


def _is_gone(stores: Stores, records: Sequence[Record], pieces: Sequence[str], scopes: Sequence[Scope]) -> bool:
    """Whether neither ledger nor any log or curated file holds the texts."""
    if any(record.block_hash or record.status in (Status.ACTIVE, Status.WITHHELD) for record in records):
        return False
    if not stores.ledger.holding(pieces).is_empty or erase_log.is_in_logs(stores, scopes, pieces):
        return False
    for scope in stores.documents.scopes():
        for path in stores.ledger.files(scope):
            found = stores.documents.read(scope, path)
            if found and any(holds(decode(found[0], path), piece) for piece in pieces):
                return False
    return True


def _again(
    stores: Stores,
    operator: Principal,
    records: Sequence[Record],
    pieces: Sequence[str],
    sweeper: Sweeper,
    *,
    keep_tombstone: bool,
) -> Certificate:
    """Nothing is left to erase: say so, and finish what an interrupted erasure left open."""
    ids = tuple(record.id for record in records)
    if pending(stores):
        stores.ledger.compact()
        _complete(stores, operator, Certificate(what=ids, when=stores.clock.now(), who=str(operator)))
    return Certificate(
        what=ids, when=stores.clock.now(), who=str(operator), swept=sweeper.sweep(pieces),
        tombstones_kept=keep_tombstone, nothing_to_do=True,
    )  # fmt: skip


def _complete(stores: Stores, operator: Principal, certificate: Certificate) -> None:
    payload: dict[str, object] = {
        "records": list(certificate.what), "files": certificate.swept.files, "bytes": certificate.swept.bytes,
        "residue": list(certificate.swept.residue), "tombstones_kept": certificate.tombstones_kept,
    }  # fmt: skip
    _note(stores, operator, COMPLETED, certificate.what, payload)


def _note(stores: Stores, operator: Principal, kind: str, ids: Sequence[str], payload: dict[str, object]) -> None:
    stores.ledger.note(
        at=stores.clock.now(), author=operator, kind=kind, scope=OPERATOR, subject=ids[0] if ids else "text",
        payload=payload,
    )  # fmt: skip


def pending(stores: Stores) -> bool:
    """Whether an erasure was begun and not completed."""
    newest = stores.ledger.events(scope=OPERATOR, limit=1, kind="erase")
    return bool(newest) and newest[0].kind == BEGUN


def erasures(stores: Stores) -> int:
    """Return the number of the newest event about erasing, 0 where there is none: who holds texts reads them anew."""
    newest = stores.ledger.events(scope=OPERATOR, limit=1, kind="erase")
    return newest[0].seq if newest else 0


def ensure_clean(certificate: Certificate) -> Certificate:
    """Return the certificate where nothing is left.

    Raises:
        BackendError: the text is still somewhere; the places are named, the text is not.
    """
    if certificate.swept.residue:
        places = "; ".join(certificate.swept.residue)
        raise BackendError(f"erased, but it is still found in files that are not memory: {places}. Remove it there")
    return certificate
