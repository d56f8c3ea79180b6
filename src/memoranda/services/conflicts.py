"""The operational ledger: facts about topics of entities, contradictions with both sides, and what settled them.

Models write facts and signal contradictions; only a person settles one. What waits for a person or was rejected does
not get in, and is not shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from memoranda.domain.access import is_bound_by_rejection, require
from memoranda.domain.assertion import (
    MAX_ASSERTIONS,
    MAX_FACT_CHARS,
    MAX_NAME_CHARS,
    MAX_REASON_CHARS,
    MAX_SIDES,
    STORES,
    Assertion,
    Found,
    Indexed,
    Side,
    merged,
    metadata_of,
    name_of,
    says,
    store_of,
    words_of,
)
from memoranda.domain.given import check_str
from memoranda.domain.proposal import MAX_RATIONALE_BYTES
from memoranda.domain.record import Provenance, Status
from memoranda.domain.scope import Principal, Scope, Viewer
from memoranda.domain.tombstone import is_bound
from memoranda.errors import Denied, InvalidInput, NotFound
from memoranda.services.secret_text import secret_refused
from memoranda.services.sessions import taint_of
from memoranda.services.stores import Stores
from memoranda.services.visibility import hides, may_see


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """What is to be indexed, as the caller gave it; `records` are ids of memory that contradicts itself."""

    entity: str
    topic: str
    store: str = ""
    fact: str = ""
    metadata: Mapping[str, object] | None = None
    conflict: bool = False
    conflict_reason: str = ""
    records: Sequence[str] = ()


def index(stores: Stores, viewer: Viewer, offer: Offer, provenance: Provenance) -> Indexed:
    """Write a fact, signal a contradiction, or both.

    A contradiction holds as its sides every fact that is known of this topic of the entity, in any store, the one that
    comes with it, and the records that are named.

    Raises:
        InvalidInput: neither fact nor contradiction is given, a value is too long or of another type, or holds a
            secret.
        Denied: the caller may not write here, or what it says must wait for a person.
        NotFound: a named record is unknown to this caller.
        LedgerUnavailable: the endpoint is not well; nothing was written.
    """
    require(viewer, "agent.memory.write", viewer.own)
    blank = _checked(stores, viewer, offer)
    _ensure_may_say(stores, viewer, blank, provenance)
    check_health(stores)
    fresh: list[Assertion] = []
    if blank.fact:
        fresh.append(replace(blank, id=stores.ids.new("ast"), conflict_reason=""))
    if offer.conflict:
        sides = _sides(stores, viewer, blank, fresh, offer.records)
        fresh.append(replace(blank, id=stores.ids.new("ast"), fact="", metadata="{}", conflict=True, sides=sides))
    kept = stores.ledger.put_assertions(viewer.own, fresh, keep=MAX_ASSERTIONS, at=blank.at, author=viewer.principal)
    ids = {item.conflict: item.id for item in kept}
    active = bool(stores.ledger.assertions(
        viewer.own, entity=blank.entity, topic=blank.topic, store=blank.store, conflicts=True
    ))  # fmt: skip
    return Indexed(
        entity=blank.entity, topic=blank.topic, store=blank.store, assertion_id=ids.get(False, ""),
        conflict_id=ids.get(True, ""), conflict_active=active,
    )  # fmt: skip


def _checked(stores: Stores, viewer: Viewer, offer: Offer) -> Assertion:
    """Return what is offered in the form in which it is kept, still without an id."""
    blank = Assertion(
        id="", scope=viewer.own, entity=name_of("entity", offer.entity), topic=name_of("topic", offer.topic),
        store=store_of(offer.store), fact=words_of("fact", offer.fact, MAX_FACT_CHARS),
        metadata=metadata_of(offer.metadata), author=viewer.principal, at=stores.clock.now(),
        conflict_reason=words_of("conflict_reason", offer.conflict_reason, MAX_REASON_CHARS),
    )  # fmt: skip
    if not blank.fact and not offer.conflict:
        raise InvalidInput("give a fact, or conflict = true")
    if (blank.conflict_reason or offer.records) and not offer.conflict:
        raise InvalidInput("a conflict_reason or records say why there is a conflict: give conflict = true with them")
    if isinstance(offer.records, str) or len(offer.records) > MAX_SIDES:
        raise InvalidInput(f"records is a list of at most {MAX_SIDES} ids")
    return blank


def _ensure_may_say(stores: Stores, viewer: Viewer, item: Assertion, provenance: Provenance) -> None:
    """Refuse secrets, what a person rejected, and all that a model may not write without a person's look at it."""
    words = f"{item.entity}\n{item.topic}\n{item.fact}\n{item.metadata}\n{item.conflict_reason}"
    refused = secret_refused(stores, words)
    if refused is not None:
        raise InvalidInput(refused.message)
    author = viewer.principal
    if author.is_person:
        return
    if stores.llm_writes == "quarantined" and author.is_model:
        raise Denied("every write of a model waits for a person here (memory.llm_writes); this ledger has no waiting")
    if taint_of(stores, viewer.own, provenance):
        raise Denied("this session has read untrusted content; what it says does not enter the operational ledger")
    for text in filter(None, (item.fact, item.conflict_reason)):
        _ensure_not_withheld(stores, viewer.own, author, text)


def _ensure_not_withheld(stores: Stores, scope: Scope, author: Principal, text: str) -> None:
    prints = stores.prints
    (standing,) = stores.ledger.standing(
        scope, [prints.value_key(text)], [prints.marks(text)], [prints.statement_marks(text)], at=stores.clock.now()
    )
    if any(is_bound(author, stone) for stone in (*standing.exact, *standing.near)):
        raise Denied("a person has rejected what this says")
    if standing.quarantined:
        raise Denied("what this says waits for a person's decision")


def _sides(
    stores: Stores, viewer: Viewer, item: Assertion, fresh: Sequence[Assertion], records: Sequence[str]
) -> tuple[Side, ...]:
    """Return the sides of a contradiction: known facts, oldest first, the records that are named, the new fact."""
    known = stores.ledger.assertions(viewer.own, entity=item.entity, topic=item.topic, conflicts=False)
    facts = tuple(
        Side(record_id=one.id, fact=one.fact, source=str(one.author), at=one.at) for one in (*reversed(known), *fresh)
    )
    named = tuple(_named(stores, viewer, record_id) for record_id in records)
    return merged((), (*facts[: len(known)], *named, *facts[len(known) :]))


def _named(stores: Stores, viewer: Viewer, record_id: str) -> Side:
    """Return a record as a side; its text stays where it is."""
    check_str(record_id=record_id)
    record = stores.ledger.record(record_id, viewer.scopes)
    if record is None or record.status is not Status.ACTIVE or not may_see(stores, viewer, record):
        raise NotFound("record not found")
    return Side(record_id=record.id, source=str(record.author), at=record.recorded_at)


def query(
    stores: Stores, viewer: Viewer, *, entity: str = "", topic: str = "", store: str = "", text: str = ""
) -> Found:
    """Return facts and open contradictions, newest first.

    Names are exact, "" for any; `text` is a part of entity, topic, fact or reason, in whatever case. A side that is a
    record is shown with its text where this caller may read it now. Raises InvalidInput, Denied, LedgerUnavailable.
    """
    require(viewer, "agent.memory.read", viewer.own)
    entity, topic = name_of("entity", entity, needed=False), name_of("topic", topic, needed=False)
    store = store_of(store, default="")
    wanted = words_of("query", text, MAX_FACT_CHARS)
    check_health(stores)
    known = stores.ledger.assertions(viewer.own, entity=entity, topic=topic, store=store)
    shown = [item for item in (_shown(stores, viewer, one) for one in known) if says(item, wanted)]
    return Found(
        assertions=tuple(item for item in shown if item.fact),
        conflicts=tuple(item for item in shown if item.conflict),
    )


def _shown(stores: Stores, viewer: Viewer, item: Assertion) -> Assertion:
    """Return an assertion as a viewer may see it: to no model what a person has rejected since."""

    def clean(text: str) -> str:
        hidden = bool(text) and is_bound_by_rejection(viewer.principal) and hides(stores, item.scope, text)
        return "" if hidden else text

    sides = tuple(replace(side, fact=clean(side.fact or _text(stores, viewer, side.record_id))) for side in item.sides)
    return replace(item, fact=clean(item.fact), conflict_reason=clean(item.conflict_reason), sides=sides)


def _text(stores: Stores, viewer: Viewer, record_id: str) -> str:
    record = stores.ledger.record(record_id, viewer.scopes)
    if record is None or record.status is not Status.ACTIVE or not may_see(stores, viewer, record):
        return ""
    return stores.ledger.text(record.block_hash) or ""


def counts(stores: Stores, viewer: Viewer) -> Mapping[str, int]:
    """Return each of the five stores with its number of facts and open contradictions. Raises as `query`."""
    require(viewer, "agent.memory.read", viewer.own)
    check_health(stores)
    found = stores.ledger.assertion_counts(viewer.own)
    return {store: found.get(store, 0) for store in STORES}


def resolve(
    stores: Stores, viewer: Viewer, *, entity: str, topic: str, store: str = "", decision: str, rationale: str
) -> Assertion:
    """Settle an open contradiction; who decided what and why is kept.

    Raises:
        Denied: a model or a job asks; a person settles contradictions.
        InvalidInput: a name, the decision or the rationale is missing or too long, or holds a secret.
        NotFound: no contradiction is open under these names.
        LedgerUnavailable: the endpoint is not well; nothing was written.
    """
    if not viewer.principal.is_person:
        raise Denied("only a person settles a contradiction")
    require(viewer, "agent.memory.write", viewer.own)
    names = name_of("entity", entity), name_of("topic", topic), store_of(store)
    decision = words_of("decision", decision, MAX_NAME_CHARS)
    rationale = words_of("rationale", rationale, MAX_RATIONALE_BYTES)
    if not decision or not rationale:
        raise InvalidInput("say what was decided and why: decision and rationale are needed")
    if len(rationale.encode()) > MAX_RATIONALE_BYTES:
        raise InvalidInput(f"rationale has at most {MAX_RATIONALE_BYTES} bytes")
    refused = secret_refused(stores, f"{decision}\n{rationale}")
    if refused is not None:
        raise InvalidInput(refused.message)
    check_health(stores)
    settled = stores.ledger.settle(
        viewer.own, names, decision=decision, rationale=rationale, at=stores.clock.now(), by=viewer.principal
    )
    if settled is None:
        raise NotFound("no contradiction is open under these names")
    return settled


def check_health(stores: Stores) -> None:
    """Ask the endpoint where one is set. Raises LedgerUnavailable where it is not well."""
    if stores.health is not None:
        stores.health.check()
