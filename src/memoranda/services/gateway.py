"""The one door through which memory changes: nine named steps, in order.

Every mutation by anyone is a batch given to `commit`: tools, the CLI, restores, and what sync found in a person's
files. `docs/architecture.md` lists the steps; what they decide lives in `domain/policy.py`, `services/planning.py`
and `services/operations.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from memoranda.domain.block import CORE
from memoranda.domain.entry import Change
from memoranda.domain.operation import (
    MAX_OPERATIONS,
    Append,
    Batch,
    Carry,
    Create,
    Cut,
    EditBlock,
    Observe,
    Operation,
    RecordOperation,
    ReplaceFile,
    Restore,
    Retier,
    Supersede,
)
from memoranda.domain.outcome import (
    BatchOutcome,
    Conflicted,
    FileChange,
    Outcome,
    Refused,
)
from memoranda.domain.policy import may_write, may_write_file, path_allowed, text_allowed
from memoranda.domain.record import Details
from memoranda.domain.scope import EXTERNAL, Scope, agent_scope
from memoranda.domain.session import sessions_named
from memoranda.domain.withheld import placeholder_names
from memoranda.errors import Conflict
from memoranda.services import indexing, writing
from memoranda.services.core_edit import shares_blocks
from memoranda.services.holding import plan_asking, plan_held, proposed
from memoranda.services.judging import Waits
from memoranda.services.operations import apply
from memoranda.services.plan import Plan
from memoranda.services.quarantine import Held, released, trial_of
from memoranda.services.secret_text import name_words, secret_refused
from memoranda.services.sessions import taint_of
from memoranda.services.stores import Stores
from memoranda.services.working_file import as_known, load, readable_text, without

ATTEMPTS = 8
"""How often an append is tried again when a person changes the file in the same instant."""


def commit(stores: Stores, batch: Batch) -> BatchOutcome:
    """Carry out a batch: all of it or nothing.

    A refused or conflicting item stops the batch; duplicates and quarantined items do not stop the others.

    Raises:
        Busy: the scope's lock was not free in time.
        BackendError: disk or database failed; the batch is then finished or dropped by the next call.
    """
    with stores.locks.hold(batch.scope):
        writing.recover(stores, batch.scope)
        refused = _may_begin(stores, batch)
        if refused:
            return _refuse(stores, batch, refused)
        held = _held(stores, batch)
        retriable = all(_goes_on(operation) for operation in batch.operations)
        edited = False
        for _ in range(ATTEMPTS):
            plan = Plan(batch, stores.clock.now())
            try:
                edited = _load(stores, plan) or edited
            except Conflict:
                edited = True
                continue
            if edited and not retriable and held is None:  # what waits overwrites nothing
                return _conflict(stores, plan)
            items = _items(stores, plan, held)
            if any(isinstance(item, Refused | Conflicted) for item in items):
                return _refuse(stores, batch, items)
            try:
                return _carry_out(stores, plan, items)
            except Conflict:
                edited = True
        return _conflict(stores, plan)


def _goes_on(operation: Operation) -> bool:
    """Whether an operation means the same after a person's edit of its file: it adds, or names what it takes away."""
    if isinstance(operation, EditBlock):
        return operation.action != "set" and not operation.expected
    return isinstance(operation, Append | Cut | Create)


def commit_observed(stores: Stores, batches: Sequence[Batch], *, first_run: bool = False) -> Counter[str]:
    """Carry out what sync saw in a person's files: one batch a file, all in one durable transaction.

    The caller holds the scope's lock. No file is written: the person has done that. The `first_run` over a folder
    leaves no checkpoints. Returns how many records were added, edited, moved, retired, revived and withheld.
    """
    plans: list[Plan] = []
    moved = {
        record_id
        for batch in batches
        for operation in batch.operations
        if isinstance(operation, Observe)
        for _, record_id in operation.moved
    }
    held = _held_in_files(stores, batches[0].scope) if batches else frozenset()
    for batch in batches:
        if batch.author != EXTERNAL or not all(isinstance(operation, Observe) for operation in batch.operations):
            raise ValueError("only what was seen in files goes this way")
        plan = Plan(batch, stores.clock.now(), held_names=held)
        for operation in batch.operations:
            if isinstance(operation, Observe):
                plan.files[operation.path] = without(as_known(stores, batch.scope, operation.path), moved)
        _plan(stores, plan)
        plans.append(plan)
    entries = [writing.entry_of(stores, plan, observed=True, first_run=first_run) for plan in plans]
    committed = stores.ledger.commit(entries)
    indexing.project(stores, list(zip(entries, committed, strict=True)))
    return Counter(_what(change) for plan in plans for change in plan.changes)


def _held_in_files(stores: Stores, scope: Scope) -> frozenset[str]:
    """Return the hashes of what is withheld in the files of a scope: it stays so under another name, and in a copy."""
    names: set[str] = set()
    for state in stores.ledger.files(scope).values():
        if state.object != state.content_hash:
            names |= placeholder_names(readable_text(stores, state.object) or "")
    return frozenset(names)


def _what(change: Change) -> str:
    name = change.kind.removeprefix("record.")
    if name == "created":
        return "edited" if change.record.supersedes else "added"
    return name


def _may_begin(stores: Stores, batch: Batch) -> list[Outcome] | None:
    """Steps 1 to 3 for the request itself: author and scope, paths and sizes, secrets."""
    if (not batch.operations and batch.decision is None) or len(batch.operations) > MAX_OPERATIONS:
        return [Refused("size", f"a batch has 1 to {MAX_OPERATIONS} operations, this one has {len(batch.operations)}")]
    if batch.decision is not None and not _may_rule(stores, batch):
        return [Refused("operator", "only the operator may rule on what waits")]
    is_member = batch.author.id in stores.teams.get(batch.scope.id, ()) if batch.scope.kind == "team" else False
    may_offer = (batch.proposes and is_member) or shares_blocks(stores, batch)
    whole = may_write(batch.author, batch.scope, stores.write_mode, proposes=may_offer)
    if whole:
        return [whole]
    found = [_request_allowed(stores, batch, operation) for operation in batch.operations]
    return [item for item in found if item] or None


def _may_rule(stores: Stores, batch: Batch) -> bool:
    """Whether the author may decide on a proposal: the operator on any, another person on a removal that was unsure.

    Any person may take back what a job has proposed: it lapses unharmed.
    """
    if batch.author.kind == "operator":
        return True
    if batch.decision is not None and batch.decision.verdict == "expired":
        return batch.author.is_person
    proposal = stores.ledger.proposal(batch.decision.proposal_id) if batch.decision else None
    return batch.author.is_person and proposal is not None and proposal.kind == "forget"


def _request_allowed(stores: Stores, batch: Batch, operation: Operation) -> Refused | None:
    path = _path(stores, batch.scope, operation)
    if path is None:
        return None
    if path == CORE and isinstance(operation, Cut) and not batch.author.is_bound:  # a person cuts a block
        return _text_allowed(stores, operation)
    mode_allows = None if isinstance(operation, EditBlock) else may_write_file(batch.author, path, stores.write_mode)
    return mode_allows or _place_allowed(
        stores, batch.scope, operation, path
    ) or _text_allowed(stores, operation)  # fmt: skip


def _place_allowed(stores: Stores, scope: Scope, operation: Operation, path: str) -> Refused | None:
    """Step 2: the file's name, and where it really lies."""
    if not isinstance(operation, Restore | RecordOperation | EditBlock):
        refused = path_allowed(path) or secret_refused(stores, name_words(path))
        if refused:
            return refused
    outside = stores.documents.check_path(scope, path)
    return Refused("path", f"this file cannot be written: {outside}") if outside else None


def _text_allowed(stores: Stores, operation: Operation) -> Refused | None:
    """Steps 2 and 3 for what is offered: size, encoding, secrets."""
    match operation:
        case Append() | EditBlock():
            may_be_blank = isinstance(operation, EditBlock) and operation.action != "append"
            if may_be_blank and not operation.text.strip():
                return None
            return text_allowed(operation.text) or secret_refused(stores, operation.text)
        case ReplaceFile():
            said = [words for _, details in operation.described for words in _words(details)]
            return text_allowed(operation.text) or secret_refused(stores, "\n\n".join((operation.text, *said)))
        case Create() | Supersede():
            words = "\n\n".join((operation.body, *_words(operation.details)))
            return text_allowed(operation.body) or secret_refused(stores, words)
        case Cut():
            blank = not operation.text.strip()
            return Refused("empty", "the text to remove is blank; name the text, or the whole file") if blank else None
        case _:
            return None


def _words(details: Details) -> tuple[str, ...]:
    """Everything an author says beside the text, for the scan."""
    return (details.title, details.description, *details.tags, *details.evidence)


def _path(stores: Stores, scope: Scope, operation: Operation) -> str | None:
    """Return the file an operation works on; None where it names a record that is in none of this scope."""
    if isinstance(operation, Carry):
        return None
    if not isinstance(operation, RecordOperation):
        return operation.path
    record = stores.ledger.record(operation.record_id)
    return record.path if record is not None and record.scope == scope else None


def _held(stores: Stores, batch: Batch) -> Held | None:
    """Step 6: return why everything in this batch waits for a person, or None."""
    is_bound = batch.author.is_model or (batch.author.is_job and bool(batch.provenance.session_id))
    if not is_bound or batch.origin is not None:
        return None
    own = agent_scope(batch.author.id) if batch.author.kind == "agent" else batch.scope
    cited = [batch.provenance]
    for operation in batch.operations:
        if isinstance(operation, Create | Supersede | Retier):
            evidence = operation.evidence if isinstance(operation, Retier) else operation.details.evidence
            cited += [
                replace(batch.provenance, session_id=name) for piece in evidence for name in sessions_named(piece)
            ]
    tainted = any(taint_of(stores, own, provenance) for provenance in cited)
    if own != batch.scope and not shares_blocks(stores, batch):
        return Held("tainted" if tainted else "team", "team", tainted)
    if tainted:
        return Held("tainted", tainted=True)
    return Held("llm_writes") if stores.llm_writes == "quarantined" else None


def _load(stores: Stores, plan: Plan) -> bool:
    """Read the files that the batch works on; return whether a person had changed one that was not yet seen."""
    edited = False
    scope = plan.batch.scope
    paths = [_path(stores, scope, operation) for operation in plan.batch.operations]
    for path in dict.fromkeys(path for path in paths if path is not None):
        working = load(stores, scope, path)
        if working is None:
            edited = True
            _observe_file(stores, scope, path)
            working = load(stores, scope, path)
        if working is None:
            raise Conflict(f"{path} changes faster than it can be read")
        plan.files[path] = working
    return edited


def observe(stores: Stores, scope: Scope, paths: Iterable[str]) -> None:
    """Take note of single files as they are on disk, as sync would."""
    with stores.locks.hold(scope):
        writing.recover(stores, scope)
        for path in paths:
            if load(stores, scope, path) is None:
                _observe_file(stores, scope, path)


def _observe_file(stores: Stores, scope: Scope, path: str) -> None:
    found = stores.documents.read(scope, path)
    commit_observed(stores, [writing.observation(stores, scope, path, found)])


def _items(stores: Stores, plan: Plan, held: Held | None) -> list[Outcome]:
    if plan.batch.asks:
        return plan_asking(stores, plan, tainted=held is not None and held.tainted)
    return plan_held(stores, plan, held) if held else _plan(stores, plan)


def _plan(stores: Stores, plan: Plan) -> list[Outcome]:
    """Steps 4 to 6 and the effect of every operation; stops at the first that is refused."""
    items: list[Outcome] = []
    for operation in plan.batch.operations:
        done = apply(stores, plan, operation)
        if isinstance(done, Waits):
            done = trial_of(stores, plan, operation, apply, Held(done.reason))
        elif isinstance(done, Refused) and done.rule == "trust" and plan.batch.proposes:
            done = proposed(stores, plan, operation, done, Held("trust", "change"))
        items.append(done)
        if isinstance(done, Refused | Conflicted):
            break
    if plan.batch.origin is not None:
        released(plan, stores)
    return items


def _carry_out(stores: Stores, plan: Plan, items: list[Outcome]) -> BatchOutcome:
    """Steps 7 to 9: checkpoint, write, index."""
    entry = writing.entry_of(stores, plan)
    if not entry.edits:
        indexed = True
        if any((entry.changes, entry.corroborated, entry.tombstones, entry.lifted, entry.proposals, entry.decision)):
            committed = stores.ledger.commit([entry])[0]
            indexed = indexing.project(stores, [(entry, committed)])
        return BatchOutcome(entry.batch_id, tuple(items), files=_files(plan), indexed=indexed)
    written, committed = writing.write(stores, plan, entry)
    indexed = indexing.project(stores, [(written, committed)])
    writing.prune(stores, plan.batch.scope, last_seq=committed.last_seq)
    return BatchOutcome(entry.batch_id, tuple(items), entry.checkpoint_id, _files(plan), indexed)


def _files(plan: Plan) -> tuple[FileChange, ...]:
    return tuple(
        FileChange(
            path=working.path,
            existed=working.original is not None,
            deleted=working.original is not None and not working.exists,
            size=len(working.document.text.encode()) if working.exists else 0,
        )
        for working in plan.files.values()
        if working.changed or (working.original is None and not working.exists)
    )


def _refuse(stores: Stores, batch: Batch, items: list[Outcome]) -> BatchOutcome:
    """Write the refusal down (its rule, never the text) and return it."""
    batch_id = stores.ids.new("bat")
    rules = [item.rule for item in items if isinstance(item, Refused)]
    stores.ledger.note(
        at=stores.clock.now(), author=batch.author, kind="batch.refused", scope=batch.scope, subject=batch_id,
        payload={"reason": batch.reason, "rules": rules, "tool": batch.provenance.tool},
    )  # fmt: skip
    return BatchOutcome(batch_id, tuple(items))


def _conflict(stores: Stores, plan: Plan) -> BatchOutcome:
    """Give up on a batch whose file a person changed; what was offered is kept as a checkpoint."""
    batch = plan.batch
    offered = "\n\n".join(
        item.body if isinstance(item, Create) else item.text
        for item in batch.operations
        if isinstance(item, Append | ReplaceFile | Create | EditBlock)
    )
    entry = writing.conflict_entry(stores, batch, offered)
    stores.ledger.discard(entry, why="the file was changed in between")
    path = next(iter(plan.files), "the file")
    kept = f" The offered text is kept in checkpoint {entry.checkpoint_id}." if offered else ""
    message = f"{path} was changed by a person in between; nothing was written. Read it again and retry.{kept}"
    return BatchOutcome(entry.batch_id, (Conflicted(path, entry.checkpoint_id if offered else "", message),))
