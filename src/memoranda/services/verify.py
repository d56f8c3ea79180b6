"""Proves that everything stored is what it was: ledger, objects, files, index; rebuilds what is derived."""

from __future__ import annotations

from collections.abc import Iterator

from memoranda.domain.markdown import parse
from memoranda.domain.passages import indexed_form
from memoranda.domain.report import Problem, Progress, VerifyReport
from memoranda.domain.scope import Scope
from memoranda.errors import BackendError, IntegrityError
from memoranda.services import episodes, indexing
from memoranda.services.stores import Stores
from memoranda.services.working_file import assign, block_hashes, decode

_SHOWN = 5


def verify(stores: Stores, *, repair: bool = False, progress: Progress | None = None) -> VerifyReport:
    """Check the ledger's chain and projections, every object, every file, every index.

    `repair` rebuilds damaged indexes; truth is reported and never changed.
    """
    checked: list[tuple[str, int]] = []
    problems: list[Problem] = []
    for item in stores.ledger.verify(progress):
        if isinstance(item, Problem):
            problems.append(item)
        else:
            checked.append(item)
    files = 0
    repaired: list[str] = []
    scopes = sorted({*stores.ledger.scopes(), *stores.index.scopes()})
    for scope in scopes:
        with stores.locks.hold(scope):
            found = list(_files(stores, scope))
            files += len(stores.ledger.files(scope))
            problems.extend(found)
            wrong = list(_index(stores, scope))
            if wrong and repair:
                wrong = _repaired(stores, scope, progress)
                if not wrong:
                    repaired.append(f"index of {scope}")
            problems.extend(wrong)
    checked.extend((("files on disk", files), ("indexes", len(scopes))))
    return VerifyReport(tuple(checked), tuple(problems), tuple(repaired))


def _repaired(stores: Stores, scope: Scope, progress: Progress | None) -> list[Problem]:
    """Build an index again; return what is wrong with it afterwards."""
    stores.index.clear(scope)
    try:
        indexing.catch_up(stores, scope, progress)
    except IntegrityError as error:
        return [Problem("records", str(scope), f"the index waits for a sound ledger: {error}")]
    return list(_index(stores, scope))


def _files(stores: Stores, scope: Scope) -> Iterator[Problem]:
    """Every known file against its last known hash, and its blocks against the records."""
    if stores.ledger.intents(scope):
        yield Problem("files", str(scope), "a batch was interrupted; `memoranda sync` finishes it or takes it back")
    for path, state in stores.ledger.files(scope).items():
        name = f"{scope} {path}"
        try:
            found = stores.documents.read(scope, path)
            text = decode(found[0], path) if found else ""
        except BackendError as error:
            yield Problem("files", name, f"it cannot be read: {error}")
            continue
        if found is None:
            yield Problem("files", name, "it is gone since the last sync; `memoranda sync` takes note of it")
        elif stores.prints.content(found[0]) != state.content_hash:
            yield Problem("files", name, "it was changed since the last sync; `memoranda sync` takes note of it")
        else:
            yield from _blocks(stores, scope, path, text)


def _blocks(stores: Stores, scope: Scope, path: str, text: str) -> Iterator[Problem]:
    try:
        records = stores.ledger.records_in(scope, path)
    except IntegrityError as error:
        yield Problem("records", f"{scope} {path}", str(error))
        return
    known, orphans = assign(block_hashes(stores, parse(text)), records)
    missing = sum(1 for record in known if record is None)
    if missing:
        yield Problem("files", f"{scope} {path}", f"{missing} of its blocks have no record")
    for record in orphans[:_SHOWN]:
        yield Problem("records", record.id, f"it should stand in {path} and does not")


def _turns(stores: Stores, scope: Scope) -> Iterator[Problem]:
    """The turns in the index against the logs."""
    held, expected = stores.index.turns(scope), episodes.expected_turns(stores, scope)
    wrong = [
        name
        for name in {*held, *expected}
        if held.get(name) not in [indexed_form(passages) for passages in expected.get(name, ())]
    ]
    if wrong:
        message = (
            f"{len(wrong)} turns of the log differ in it, such as {min(wrong)}; `memoranda sync` brings it up to date"
        )
        yield Problem("index", f"index of {scope}", message, derived=True)


def _index(stores: Stores, scope: Scope) -> Iterator[Problem]:
    """The index against itself and against the ledger."""
    name = f"index of {scope}"
    try:
        for message in stores.index.check(scope):
            yield Problem("index", name, message, derived=True)
        if stores.index.state(scope).applied != stores.ledger.last_seq(scope):
            yield Problem("index", name, "it is behind the ledger; the next sync brings it up to date", derived=True)
            return
        held = dict(stores.index.records(scope))
    except (BackendError, IntegrityError) as error:
        yield Problem("index", name, str(error), derived=True)
        return
    try:
        expected = indexing.expected_forms(stores, scope)
    except IntegrityError as error:
        yield Problem("objects", str(scope), str(error))
        return
    yield from _turns(stores, scope)
    for record_id in sorted({*held, *expected}):
        if held.get(record_id) != expected.get(record_id):
            what = (
                "is missing from it"
                if record_id not in held
                else ("differs in it" if record_id in expected else "should not be in it")
            )
            yield Problem("index", name, f"{record_id} {what}", derived=True)
