"""Exports memory into one file and takes it in again, through the gateway, as untrusted words of an importer.

What waits, what was rejected and what is withheld never travels; the rejections themselves always do.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from memoranda.domain import editing
from memoranda.domain.archive import (
    EVENTS,
    FILES,
    FORMAT,
    KEYS,
    MANIFEST,
    RECORDS,
    TOMBSTONES,
    ExportReport,
    ImportReport,
    aside,
    flattened,
)
from memoranda.domain.fingerprint import KEY_BYTES, key_name, mark
from memoranda.domain.markdown import Document, parse
from memoranda.domain.operation import Batch, Carry, ReplaceFile
from memoranda.domain.outcome import Conflicted, Refused, Saved
from memoranda.domain.record import Details, Epistemic, Kind, Provenance, Record, Status
from memoranda.domain.report import Progress
from memoranda.domain.scope import Principal, Scope
from memoranda.domain.tombstone import Tombstone
from memoranda.domain.withheld import placeholder_hash
from memoranda.errors import IntegrityError, InvalidInput
from memoranda.ports.archive import ArchiveFiles, ForeignKeys
from memoranda.services import gateway
from memoranda.services.secret_text import secrets_in
from memoranda.services.stores import Stores
from memoranda.services.working_file import as_known

_EVENTS_A_PAGE = 1_000


def export(
    stores: Stores,
    archives: ArchiveFiles,
    keys: ForeignKeys,
    path: Path,
    scopes: Sequence[Scope],
    *,
    version: str,
    replace_file: bool = False,
    progress: Progress | None = None,
) -> ExportReport:
    """Write the curated files of these scopes with the metadata of what is active, the events and every tombstone.

    Raises:
        Conflict: the file exists.
        BackendError: the disk failed; no file is left behind.
    """
    report = ExportReport(path=str(path))
    files: list[tuple[str, bytes]] = []
    records: list[dict[str, object]] = []
    stones: list[dict[str, object]] = []
    for number, scope in enumerate(scopes):
        with stores.locks.hold(scope):
            for name in sorted(stores.ledger.files(scope)):
                text, described = _kept(stores, scope, name)
                files.append((f"{FILES}{scope.folder}/{name}", text.encode("utf-8", "surrogatepass")))
                records += described
            stones += [_stone_out(stores, stone) for stone in stores.ledger.tombstones(scope, all_of_them=True)]
        if progress:
            progress("exporting", number + 1, len(scopes))
    events = [_event_out(event) for scope in scopes for event in _events(stores, scope)]
    report = replace(
        report, files=len(files), records=len(records), tombstones=len(stones), events=len(events),
        withheld=sum(stores.ledger.count(scope, Status.WITHHELD) for scope in scopes),
        waiting=sum(stores.ledger.waiting(scope, at=stores.clock.now()) for scope in scopes),
    )  # fmt: skip
    manifest = {
        "format": FORMAT, "version": version, "created": stores.clock.now(), "scopes": [str(scope) for scope in scopes],
        "files": report.files, "records": report.records, "tombstones": report.tombstones, "events": report.events,
        "left_out": {"withheld": report.withheld, "waiting for review": report.waiting},
    }  # fmt: skip
    own = {key_name(stores.prints.tombstone_key): stores.prints.tombstone_key}
    members = [
        *files,
        (RECORDS, _lines(records)),
        (EVENTS, _lines(events)),
        (TOMBSTONES, _lines(stones)),
        *((f"{KEYS}{name}", key) for name, key in sorted({**keys.known(), **own}.items())),
        (MANIFEST, json.dumps(manifest).encode()),
    ]
    archives.write(path, members, replace=replace_file)
    return report


def _lines(rows: Sequence[Mapping[str, object]]) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False, sort_keys=True) + "\n" for row in rows).encode()


def _kept(stores: Stores, scope: Scope, name: str) -> tuple[str, list[dict[str, object]]]:
    """Return a file's content without what is withheld, and what is known of its active blocks."""
    working = as_known(stores, scope, name)
    if working.state is None or stores.ledger.text(working.state.object) is None:
        raise IntegrityError(f"the ledger's copy of {scope} {name} is missing; run `memoranda verify`")
    document = working.document
    hidden = [index for index, block in enumerate(document.blocks) if placeholder_hash(block.text)]
    known = [record for index, record in enumerate(working.known) if index not in hidden]
    left = editing.remove(document, hidden) if hidden else document
    rows = [
        _record_out(scope, name, index, record)
        for index, record in enumerate(known)
        if record is not None and record.status is Status.ACTIVE
    ]
    return left.text, rows


def _record_out(scope: Scope, name: str, index: int, record: Record) -> dict[str, object]:
    return {
        "scope": str(scope), "path": name, "block": index, "id": record.id, "kind": str(record.kind),
        "title": record.title, "description": record.description, "tags": list(record.tags),
        "trust": record.trust.label, "author": str(record.author), "recorded_at": record.recorded_at,
        "valid_from": record.valid_from, "valid_to": record.valid_to,
    }  # fmt: skip


def _stone_out(stores: Stores, stone: Tombstone) -> dict[str, object]:
    return {
        "scope": str(stone.scope), "value": stone.value, "near": stone.near, "binds": stone.binds,
        "author": str(stone.author), "at": stone.at, "lifted_at": stone.lifted_at, "lifted_by": stone.lifted_by,
        "key_id": stone.key_id or key_name(stores.prints.tombstone_key),
    }  # fmt: skip


def _events(stores: Stores, scope: Scope) -> Iterator[Any]:
    yield from reversed(stores.ledger.events(scope=scope, limit=_EVENTS_A_PAGE * _EVENTS_A_PAGE))


def _event_out(event: Any) -> dict[str, object]:
    """An event without its payload: titles of what was rejected or waits stand there."""
    return {
        "seq": event.seq, "at": event.at, "principal": event.principal, "kind": event.kind, "scope": event.scope,
        "subject": event.subject,
    }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Archive:
    """An archive that was read and checked, as values."""

    files: Mapping[tuple[Scope, str], str]
    described: Mapping[tuple[Scope, str], Mapping[int, Details]]
    tombstones: Mapping[Scope, tuple[Tombstone, ...]]
    keys: Mapping[str, bytes]


def opened(archives: ArchiveFiles, path: Path) -> Archive:
    """Read an archive whole before anything is done with it.

    Raises:
        InvalidInput, IntegrityError: as `ArchiveFiles.read`; or a member is not what an export writes.
    """
    members = archives.read(path)
    try:
        files: dict[tuple[Scope, str], str] = {}
        for name, data in members.items():
            if name.startswith(FILES):
                folder, _, inner = name.removeprefix(FILES).partition("/")
                files[_scope_of(folder), inner] = data.decode()
        described: dict[tuple[Scope, str], dict[int, Details]] = {}
        for row in _rows(members, RECORDS):
            place = Scope.parse(row["scope"]), str(row["path"])
            described.setdefault(place, {})[int(row["block"])] = _details_in(row)
        keys = {name.removeprefix(KEYS): data for name, data in members.items() if name.startswith(KEYS)}
        if any(len(key) != KEY_BYTES or key_name(key) != name for name, key in keys.items()):
            raise IntegrityError("a tombstone key of the archive is not what its name says")
        stones: dict[Scope, list[Tombstone]] = {}
        for row in _rows(members, TOMBSTONES):
            stone = _stone_in(row, keys)
            if not stone.lifted_at:
                stones.setdefault(stone.scope, []).append(stone)
    except (LookupError, ValueError, TypeError, AttributeError, InvalidInput) as error:
        raise IntegrityError("the archive holds something that no export writes") from error
    return Archive(files, described, {scope: tuple(found) for scope, found in stones.items()}, keys)


def _scope_of(folder: str) -> Scope:
    return Scope.parse(folder.removesuffix("+") if folder.endswith("+") else folder.replace("+", ":", 1))


def _rows(members: Mapping[str, bytes], name: str) -> Iterator[dict[str, Any]]:
    for line in members[name].decode().splitlines():
        yield json.loads(line)


def _details_in(row: Mapping[str, Any]) -> Details:
    return Details(
        title=str(row["title"]), description=str(row["description"]), tags=tuple(map(str, row["tags"])),
        kind=Kind(row["kind"]), epistemic=Epistemic.OBSERVED, valid_from=str(row["valid_from"]),
        valid_to=str(row["valid_to"]),
    )  # fmt: skip


def _stone_in(row: Mapping[str, Any], keys: Mapping[str, bytes]) -> Tombstone:
    if row["key_id"] not in keys or row["binds"] not in ("models", "jobs"):
        raise IntegrityError("a tombstone of the archive has no key")
    return Tombstone(
        id="", scope=Scope.parse(row["scope"]), value=str(row["value"]), near=str(row["near"]), binds=row["binds"],
        author=Principal.parse(str(row["author"])), at=str(row["at"]), key_id=str(row["key_id"]),
        lifted_at=str(row["lifted_at"]), lifted_by=str(row["lifted_by"]),
    )  # fmt: skip


def take_in(
    stores: Stores, keys: ForeignKeys, archive: Archive, *, run: str, progress: Progress | None = None
) -> ImportReport:
    """Write an archive's memory into this home, all of it untrusted; its rejections bind here from now on.

    Done twice it changes nothing the second time, and one that was interrupted is finished so.
    """
    importer = Principal("importer", run)
    own = key_name(stores.prints.tombstone_key)
    for name, key in archive.keys.items():
        if name != own:
            keys.store(name, key)
    carried = 0
    for scope, stones in archive.tombstones.items():
        at_home = tuple(replace(stone, key_id="") if stone.key_id == own else stone for stone in stones)
        for start in range(0, len(at_home), _EVENTS_A_PAGE):
            part = at_home[start : start + _EVENTS_A_PAGE]
            gateway.commit(stores, Batch(importer, scope, (Carry(part),), "import", Provenance(tool="import")))
        carried += len(stones)
    report = ImportReport(tombstones=carried)
    for number, (place, text) in enumerate(sorted(archive.files.items())):
        report = _file_in(stores, importer, archive, place, text, report)
        if progress:
            progress("importing", number + 1, len(archive.files))
    return report


def _file_in(
    stores: Stores, importer: Principal, archive: Archive, place: tuple[Scope, str], text: str, report: ImportReport
) -> ImportReport:
    scope, name = place
    document = parse(text)
    described = archive.described.get(place, {})
    left_out, report = _sifted(stores, archive, scope, document, report)
    kept = [index for index in range(len(document.blocks)) if index not in left_out]
    if not kept:
        return report
    rest = editing.remove(document, sorted(left_out)) if left_out else document
    facts = tuple((at, described[index]) for at, index in enumerate(kept) if index in described)
    path = _free_path(stores, scope, flattened(name))
    batch = Batch(importer, scope, (ReplaceFile(path, rest.text, facts),), "import", Provenance(tool="import"))
    (item,) = gateway.commit(stores, batch).items[:1]
    if isinstance(item, Saved):
        return replace(report, files=report.files + 1, written=report.written + len(item.record_ids))
    rule = item.rule if isinstance(item, Refused) else "conflict" if isinstance(item, Conflicted) else "waits"
    return replace(report, refused=(*report.refused, f"{scope} {name}: {rule}"))


def _sifted(
    stores: Stores, archive: Archive, scope: Scope, document: Document, report: ImportReport
) -> tuple[set[int], ImportReport]:
    """Leave out what is known, rejected here or there, or holds a secret; the gateway would refuse it all the same."""
    texts = [block.text for block in document.blocks]
    standings = stores.ledger.standing(
        scope, [stores.prints.value_key(text) for text in texts], [stores.prints.marks(text) for text in texts]
    )
    theirs = {(stone.value, stone.key_id) for stone in archive.tombstones.get(scope, ())}
    out: set[int] = set()
    for index, (text, standing) in enumerate(zip(texts, standings, strict=True)):
        there = any((mark(key, text).value, name) in theirs for name, key in archive.keys.items())
        if there or standing.exact or standing.near or standing.removed_by is not None:
            report = replace(report, rejected=report.rejected + 1)
        elif standing.quarantined:
            report = replace(report, waiting=report.waiting + 1)
        elif standing.active:
            report = replace(report, duplicates=report.duplicates + 1)
        elif secrets_in(stores, text):
            report = replace(report, secrets=report.secrets + 1)
        else:
            continue
        out.add(index)
    return out, report


def _free_path(stores: Stores, scope: Scope, path: str) -> str:
    """Return the path, or the next name beside it that is free: an import replaces no file."""
    if stores.documents.read(scope, path) is None and stores.ledger.file(scope, path) is None:
        return path
    number = 1
    while stores.documents.read(scope, aside(path, number)) is not None:
        number += 1
    return aside(path, number)
