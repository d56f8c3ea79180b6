"""Writes a contradiction between two records into the operational ledger; a rule or a person says which one stands."""

from __future__ import annotations

from collections.abc import Sequence

from memoranda.domain.assertion import MAX_NAME_CHARS
from memoranda.domain.prompt import clipped
from memoranda.domain.record import Provenance, Record
from memoranda.domain.scope import Viewer
from memoranda.errors import BackendError, Denied, InvalidInput, NotFound
from memoranda.services import conflicts
from memoranda.services.jobs.run import Run


def signal(run: Run, records: Sequence[Record], *, entity: str = "", topic: str = "", why: str = "") -> str:
    """Write a contradiction with these records as its sides and return its id; "" where it could not be written.

    Without an entity it is that of the first record's file, without a topic the records themselves.
    """
    ids = tuple(one.id for one in records)
    viewer = Viewer(run.principal, run.scope, frozenset({run.scope}))
    offer = conflicts.Offer(
        entity=clipped(entity or records[0].path, MAX_NAME_CHARS),
        topic=clipped(topic or " ".join(sorted(ids)), MAX_NAME_CHARS), conflict=True, conflict_reason=why, records=ids,
    )  # fmt: skip
    try:
        made = conflicts.index(run.desk.stores, viewer, offer, Provenance(tool=run.kind))
    except (Denied, InvalidInput, NotFound, BackendError) as error:
        run.step("contradiction", "refused", *ids, why=str(error))
        return ""
    run.step("contradiction", "signalled", made.conflict_id, *ids, why=why)
    return made.conflict_id
