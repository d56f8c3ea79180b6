"""Writes a contradiction between two records into the operational ledger; a rule or a person says which one stands."""

from __future__ import annotations

from collections.abc import Sequence

from memoranda.domain.assertion import MAX_NAME_CHARS
from memoranda.domain.prompt import clipped
from memoranda.domain.record import Provenance, Record
from memoranda.domain.scope import Scope, Viewer
from memoranda.errors import BackendError, Denied, InvalidInput, NotFound
from memoranda.services import conflicts
from memoranda.services.jobs.accounts import concluded
from memoranda.services.jobs.run import Run
from memoranda.services.stores import Stores

SIGNALLED = "signalled"


def signalled(stores: Stores, scope: Scope) -> set[frozenset[str]]:
    """Return the pairs of records that were signalled in a scope already, settled since or not."""
    return {frozenset(records) for _, *records in concluded(stores, scope, SIGNALLED)}


def signal(
    run: Run, records: Sequence[Record], *, entity: str = "", topic: str = "", why: str = "", dry_run: bool = False
) -> None:
    """Write a contradiction once, with these records as its sides; nothing of them changes.

    Without an entity it is about the first record's file, without a topic about the records themselves.
    """
    ids = tuple(one.id for one in records)
    if frozenset(ids) in signalled(run.desk.stores, run.scope):
        run.step("contradiction", "known", *ids, why="this was signalled before")
        return
    if dry_run:
        run.step("contradiction", "would", *ids, why=why)
        return
    viewer = Viewer(run.principal, run.scope, frozenset({run.scope}))
    offer = conflicts.Offer(
        entity=clipped(entity or records[0].path, MAX_NAME_CHARS),
        topic=clipped(topic or " ".join(sorted(ids)), MAX_NAME_CHARS), conflict=True, conflict_reason=why, records=ids,
    )  # fmt: skip
    try:
        made = conflicts.index(run.desk.stores, viewer, offer, Provenance(tool=run.kind))
    except (Denied, InvalidInput, NotFound, BackendError) as error:
        run.step("contradiction", "refused", *ids, why=str(error))
        return
    run.step("contradiction", SIGNALLED, made.conflict_id, *ids, why=why)
