"""Step 9 of the gateway: the index follows the ledger, and catches up where it fell behind.

The index remembers the last event it has applied. A failure here never fails a write: the index stays behind, says
so, and `catch_up` replays what it missed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath

from memoranda.domain.entry import Committed, Entry
from memoranda.domain.passage import Passage
from memoranda.domain.passages import indexed_form, passages_of
from memoranda.domain.record import Record, Status
from memoranda.domain.report import Progress
from memoranda.domain.scope import Scope
from memoranda.errors import BackendError, IntegrityError
from memoranda.services import episodes
from memoranda.services.stores import Stores
from memoranda.services.working_file import text_of

_BATCH = 500
_NAMELESS = frozenset({"MEMORY", "memory", "notes"})


def passages(stores: Stores, record: Record, texts: Mapping[str, str]) -> tuple[Passage, ...]:
    """Return a record's passages; none where its text is lost, which `verify` names.

    The text comes from `texts`, from the ledger, or where the ledger's copy is damaged from the file itself.
    """
    text = texts.get(record.block_hash)
    if text is None:
        text = text_of(stores, record)
    return passages_of(record, text, file_title(record.path)) if text is not None else ()


def file_title(path: str) -> str:
    """Return a file's name as words; names that say nothing give ""."""
    stem = PurePosixPath(path).stem
    return "" if stem in _NAMELESS else stem.replace("_", " ")


def project(stores: Stores, committed: Sequence[tuple[Entry, Committed]]) -> bool:
    """Bring the index up to these entries, all of one scope; return whether it is."""
    texts: dict[str, str] = {}
    records: dict[str, Record] = {}
    for entry, _ in committed:
        texts.update(entry.texts)
        records.update({change.record.id: change.record for change in entry.changes})
    if not records:
        return True
    scope = committed[0][0].scope
    try:
        mark = (committed[0][1].previous_seq, committed[-1][1].last_seq)
        if not _put(stores, scope, records.values(), texts, mark):
            catch_up(stores, scope)
    except (BackendError, IntegrityError):
        return False
    return True


def _put(
    stores: Stores, scope: Scope, records: Iterable[Record], texts: Mapping[str, str], mark: tuple[int, int]
) -> bool:
    current: list[Passage] = []
    past: list[Passage] = []
    remove: list[str] = []
    for record in records:
        if record.status is Status.ACTIVE:
            current.extend(passages(stores, record, texts))
        elif record.status in (Status.SUPERSEDED, Status.RETIRED) and not record.reason:
            past.extend(passages(stores, record, texts))
        else:
            remove.append(record.id)
    return stores.index.put(scope, current, remove=remove, retire=past, mark=mark)


def catch_up(stores: Stores, scope: Scope, progress: Progress | None = None) -> int:
    """Replay what the index of a scope missed, and take its logs in; return how many records were brought up to date.

    An index that turns out to be damaged is deleted and built anew: it is disposable. The caller holds the scope's
    lock.
    """
    try:
        done = _replay(stores, scope, progress)
    except IntegrityError:
        stores.index.clear(scope)
        done = _replay(stores, scope, progress)
    episodes.catch_up(stores, scope, progress)
    return done


def _replay(stores: Stores, scope: Scope, progress: Progress | None) -> int:
    last = stores.ledger.last_seq(scope)
    applied = stores.index.state(scope).applied
    if applied == last:
        return 0
    if applied > last:
        stores.index.clear(scope)
        applied = 0
    ids = stores.ledger.changed_since(scope, applied)
    for start in range(0, len(ids), _BATCH):
        part = [record for record in map(stores.ledger.record, ids[start : start + _BATCH]) if record]
        done = start + len(part)
        final = done >= len(ids)
        _put(stores, scope, part, {}, (applied, last if final else applied))
        if progress:
            progress(f"indexing {scope}", done, len(ids))
    return len(ids)


def expected_forms(stores: Stores, scope: Scope) -> dict[str, str]:
    """Return record id -> fingerprint of what the index should hold for it."""
    forms = {
        record.id: passages(stores, record, {})
        for record in stores.ledger.present(scope)
        if record.status is Status.ACTIVE
    }
    return {record_id: indexed_form(parts) for record_id, parts in forms.items() if parts}
