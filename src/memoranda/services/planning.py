"""Works out what a batch does to a file: new texts, changed records, one outcome an operation. Writes nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from memoranda.domain.block import CORE, value_in
from memoranda.domain.editing import is_closed
from memoranda.domain.erasure import PLACEHOLDER, core_of
from memoranda.domain.fingerprint import normalise
from memoranda.domain.markdown import Document, front_matter_end, parse
from memoranda.domain.outcome import Outcome, Refused, Saved
from memoranda.domain.policy import RESERVED
from memoranda.domain.reconcile import Alignment, align
from memoranda.domain.record import Details, Record, Status
from memoranda.domain.scope import EXTERNAL
from memoranda.domain.withheld import (
    HELD_HEADING,
    NOTHING,
    REVIEW,
    Withheld,
    also,
    also_headings,
    headings_named,
    placeholder_names,
    withhold,
)
from memoranda.services.guarding import refused_change
from memoranda.services.judging import Waits, judged, rejected_since
from memoranda.services.plan import Plan
from memoranda.services.secret_text import secret_refused, secrets_in, spoken
from memoranda.services.steps import Revival, Step
from memoranda.services.stores import Stores
from memoranda.services.working_file import WorkingFile, block_hashes


@dataclass(frozen=True, slots=True)
class Settled:
    """What became of a file's records: ids made or brought back, taken away, withheld."""

    made: tuple[str, ...]
    removed: tuple[str, ...]
    withheld: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """What an operation means by a file's new text.

    `revive` says which blocks are a past record again: "typed" ones that equal a retired record (a person put the
    text back), "restored" ones that equal a retired or superseded one (what was there is there again). `moved` maps a
    new block's index to the record that moved here from another file, `successors` a new block's index to the old
    block whose place it takes. `details` describe the new records, `described` those of single new blocks.
    `drops_withheld` lets withheld text go; `reads_headings` says that a person has read what waits there.
    """

    withheld: Withheld = NOTHING
    revive: Revival | None = None
    moved: Mapping[int, str] = field(default_factory=dict)
    successors: Mapping[int, int] = field(default_factory=dict)
    details: Details | None = None
    described: Mapping[int, Details] = field(default_factory=dict)
    group: str = ""
    own_headings: frozenset[str] = frozenset()
    drops_withheld: bool = False
    reads_headings: bool = False


def settle(
    stores: Stores, plan: Plan, working: WorkingFile, document: Document, intent: Intent
) -> Settled | Refused | Waits:
    """Take a file from its present document to a new one and note what that does to its records."""
    hashes = block_hashes(stores, document)
    old = [*working.hashes, *(record.block_hash for record in working.orphans)]
    known = [*working.known, *working.orphans]
    step = Step(stores, plan, working.path, document, hashes, intent.withheld, intent.revive, dict(intent.moved))
    step.details, step.described, step.group = intent.details, dict(intent.described), intent.group
    found = align(
        old,
        hashes,
        lambda index: normalise(_old_text(stores, working, index)),
        lambda index: normalise(document.blocks[index].text),
        step.is_known_elsewhere,
    )
    found = _succeeding(found, intent.successors)
    step.withheld = _withheld(stores, plan, working, document, step, found, known)
    if not intent.reads_headings:
        unread = _unread_headings(stores, plan, working, document)
        step.withheld = also_headings(step.withheld, document, unread, HELD_HEADING)
    stop = _stopped(stores, plan, working, document, step, found, known, intent)
    if stop:
        return stop
    result: list[Record | None] = []
    for index in range(len(hashes)):
        if index in found.kept:
            result.append(step.keep(index, known[found.kept[index]]))
        elif index in found.edited:
            result.append(step.edit(index, known[found.edited[index]]))
        else:
            result.append(step.add(index))
    for index in found.removed:
        step.remove(known[index], _old_text(stores, working, index))
    working.document, working.hashes, working.known = document, hashes, result
    working.withheld, working.orphans, working.exists = step.withheld, [], True
    return Settled(tuple(step.made), tuple(step.removed), tuple(step.withheld_ids))


def _succeeding(found: Alignment, successors: Mapping[int, int]) -> Alignment:
    """Take over which old block a new one replaces, where the operation says so, however little they resemble."""
    if not successors:
        return found
    olds = set(successors.values())
    kept = {new: old for new, old in found.kept.items() if new not in successors and old not in olds}
    edited = {new: old for new, old in found.edited.items() if new not in successors and old not in olds}
    matched = {*kept, *edited, *successors}
    freed = [new for new in (*found.kept, *found.edited) if new not in matched]
    lost = [old for old in (*found.kept.values(), *found.edited.values()) if old not in olds]
    standing = {*kept.values(), *edited.values()}
    return Alignment(
        kept=kept,
        edited={**edited, **successors},
        removed=tuple(sorted({*found.removed, *lost} - olds - standing)),
        added=tuple(sorted(({*found.added} - set(successors)) | set(freed))),
    )


def _withheld(
    stores: Stores,
    plan: Plan,
    working: WorkingFile,
    document: Document,
    step: Step,
    found: Alignment,
    known: Sequence[Record | None],
) -> Withheld:
    """Add to the secrets what waits for a person's approval: what did already, and what this door lets in so."""
    more: dict[int, str] = {}
    for index, old in found.kept.items():
        if index not in step.withheld.blocks and _is_held(known[old]):
            more[index] = _reason(known[old])
    for index in (*found.added, *found.edited):  # a copy of what waits, or a mark that stands for it, waits too
        if index in step.withheld.blocks or index in step.moved:
            continue
        twin = stores.ledger.waiting_with(plan.batch.scope, step.hashes[index])
        if twin is not None:
            more[index] = twin.reason
        elif RESERVED.search(document.blocks[index].text) and core_of(document.blocks[index].text) != PLACEHOLDER:
            more[index] = f"{REVIEW}forged"
    if plan.batch.author == EXTERNAL:
        more |= _unread(stores, plan, document, step, found, known, is_new=_is_unread(working))
    return also(step.withheld, document, more) if more else step.withheld


def _unread_headings(stores: Stores, plan: Plan, working: WorkingFile, document: Document) -> list[int]:
    """Headings that no person has read: those that waited before, and what this door lets in so."""
    text, spans = working.document.text, working.withheld.spans
    names = {*placeholder_names(text), *(stores.prints.content(text[start:end]) for start, end in spans)}
    held = set(headings_named(document, names | plan.held_names, stores.prints.content))
    door = plan.batch.door
    if plan.batch.author == EXTERNAL and door != "trusted":
        before = {heading.text for heading in working.document.headings}
        still = {line.strip("\r\n") for line in document.text.splitlines()}
        lost = any(name not in set(map(stores.prints.content, still)) for name in names) if names else False
        for index, heading in enumerate(document.headings):
            is_new = heading.text not in before
            if is_new and (door != "session" or lost or rejected_since(stores, plan, heading.text)):
                held.add(index)
    return sorted(held)


def _is_held(record: Record | None) -> bool:
    return record is not None and record.status is Status.WITHHELD and record.reason.startswith(REVIEW)


def _reason(record: Record | None) -> str:
    return record.reason if record else ""


def _unread(
    stores: Stores,
    plan: Plan,
    document: Document,
    step: Step,
    found: Alignment,
    known: Sequence[Record | None],
    *,
    is_new: bool,
) -> dict[int, str]:
    """What sync found and no person has read: by where the edit came from, or because it waited before.

    A text that waits goes on waiting in another file, and so does what takes its place while a session is open: the
    ledger does not have its words, so that nobody can tell whether it is said anew. Lines that are known wait under a
    new file's name as it does: a name is read, too. They count again where they stood before.
    """
    door = plan.batch.door
    name = _unread_name(stores, plan, step.path) if is_new else ""
    gone = [known[old] for old in (*found.removed, *found.edited.values())]
    lost = next((record.reason for record in gone if record is not None and _is_held(record)), "")
    more: dict[int, str] = {}
    for index in (*found.added, *found.edited):
        moved = stores.ledger.record(step.moved[index]) if index in step.moved else None
        if index in step.withheld.blocks:
            continue
        if moved is not None:
            reason = name or (moved.reason if stores.ledger.text(moved.block_hash) is None else "")
            more |= {index: reason} if reason.startswith(REVIEW) else {}
        elif door in ("review", "tainted"):
            more[index] = f"{REVIEW}{door}"
        elif door == "session" and (lost or name):
            more[index] = lost or name
        elif door == "session" and rejected_since(stores, plan, document.blocks[index].text):
            more[index] = f"{REVIEW}rejected"
    return more


def _is_unread(working: WorkingFile) -> bool:
    """Whether a file's name has been read by nobody: it is new, or nothing in it counts."""
    return not any(record is not None and record.status is Status.ACTIVE for record in working.known)


def _unread_name(stores: Stores, plan: Plan, path: str) -> str:
    """Why a new file's name has to be read by a person, "" where it need not."""
    door = plan.batch.door
    if door in ("review", "tainted"):
        return f"{REVIEW}{door}"
    return f"{REVIEW}rejected" if door == "session" and rejected_since(stores, plan, spoken(path)) else ""


def _stopped(
    stores: Stores,
    plan: Plan,
    working: WorkingFile,
    document: Document,
    step: Step,
    found: Alignment,
    known: Sequence[Record | None],
    intent: Intent,
) -> Refused | Waits | None:
    """Steps 1, 3 and 4 for what would come about."""
    refused = refused_change(
        plan.batch.author, working, document, known, found.kept, (*found.removed, *found.edited.values()),
        own_headings=intent.own_headings, drops_withheld=intent.drops_withheld,
    )  # fmt: skip
    fresh = (*found.added, *found.edited)
    refused = refused or _secret_in_new(stores, plan, document, fresh, intent.revive)
    refused = refused or _block_too_long(stores, plan, working, document)
    refused = refused or step.refused_revival(found.added)
    if refused:
        return refused
    texts = [
        document.blocks[index].text for index in fresh if index not in step.withheld.blocks and index not in step.moved
    ]
    return judged(stores, plan, [*texts, *_other_words(plan, working, document, intent)])


def _block_too_long(stores: Stores, plan: Plan, working: WorkingFile, document: Document) -> Refused | None:
    """Hold every road into core blocks to their limits; what a person's editor wrote is reported instead."""
    if working.path != CORE or plan.batch.author == EXTERNAL:
        return None
    for spec in stores.blocks:
        length, before = len(value_in(document, spec.label)), len(value_in(working.document, spec.label))
        if spec.limit and length > max(spec.limit, before):
            return Refused(
                "limit", f"the block {spec.label} would have {length:,} characters; at most {spec.limit:,} are allowed"
            )
    return None


def _other_words(plan: Plan, working: WorkingFile, document: Document, intent: Intent) -> list[str]:
    """What a model says beside its text (headings, details, a file's name): words that are kept and found."""
    if not (plan.actor.is_model or plan.actor.is_job):
        return []
    before = {heading.text for heading in working.document.headings}
    said = [intent.details] if intent.details else list(intent.described.values())
    words = [
        words
        for details in said
        for words in (details.title, details.description, " ".join(details.tags), *details.tags, *details.evidence)
        if words
    ]
    name = [spoken(working.path)] if working.state is None else []
    front = document.text[: front_matter_end(document.text)]
    if front and front not in working.document.text:
        name.append(front)
    return [*name, *(heading.text for heading in document.headings if heading.text not in before), *words]


def _secret_in_new(
    stores: Stores, plan: Plan, document: Document, indexes: Sequence[int], revive: Revival | None
) -> Refused | None:
    """Step 3 for what comes about in a file: a cut can put a secret together that no offered text held."""
    if revive is not None or plan.batch.author == EXTERNAL:
        return None
    for index in indexes:
        refused = secret_refused(stores, document.blocks[index].text)
        if refused:
            return refused
    return None


def _old_text(stores: Stores, working: WorkingFile, index: int) -> str:
    if index < len(working.document.blocks):
        return working.document.blocks[index].text
    return stores.ledger.text(working.orphans[index - len(working.document.blocks)].block_hash) or ""


def replaced(working: WorkingFile, index: int, record: Record) -> None:
    """Put a record's new state into a working file."""
    working.known = [record if at == index else known for at, known in enumerate(working.known)]


def index_of(working: WorkingFile, record_id: str) -> int | None:
    """Return the index of a record's block, None where the file no longer holds it."""
    for index, known in enumerate(working.known):
        if known is not None and known.id == record_id:
            return index
    return None


def without_withheld(withheld: Withheld, document: Document, index: int) -> Withheld:
    """Return what is withheld but for one block."""
    block = document.blocks[index]
    return replace(
        withheld,
        blocks={at: why for at, why in withheld.blocks.items() if at != index},
        spans=tuple(span for span in withheld.spans if span != (block.start, block.end)),
    )


def still_withheld(stores: Stores, working: WorkingFile, document: Document) -> Withheld:
    """Find again the secrets in a file that holds withheld text; other files need no second scan."""
    before = working.withheld
    return withhold(document, secrets_in(stores, document.text)) if before.spans else before


def self_contained(content: Document) -> Refused | None:
    """Refuse a text without a block, and one that would take in what comes after it."""
    if not content.blocks:
        return Refused("empty", "the text has only headings or rules; there is nothing in it to remember")
    if not is_closed(content.text):
        return Refused(
            "open_block",
            "the text ends inside a code fence or an HTML block, or nests lists too deeply; close it and save again",
        )
    return None


def saved(
    settled: Settled | Refused | Waits,
    *,
    duplicates: tuple[str, ...] = (),
    matches: int = 0,
    quarantined: tuple[str, ...] = (),
) -> Outcome | Waits:
    """Return the outcome of an operation that changed a file."""
    if not isinstance(settled, Settled):
        return settled
    return Saved(settled.made, settled.removed, duplicates, settled.withheld, matches, quarantined)


def delete_file(stores: Stores, plan: Plan, path: str, intent: Intent | None = None) -> Outcome | Waits:
    """Remove a file and its records; a missing one is a success."""
    working = plan.files[path]
    settled = settle(stores, plan, working, parse(""), intent or Intent())
    working.exists = not isinstance(settled, Settled) and working.exists
    return saved(settled)
