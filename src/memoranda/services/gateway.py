"""The one door through which memory changes: nine named steps, in order.

Every mutation by anyone is a batch given to `commit`: tools, the CLI, restores, and what sync found in a person's
files. `docs/architecture.md` lists the steps; what they decide lives in `domain/policy.py`, `services/planning.py`
and `services/operations.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from memoranda.domain.entry import Change
from memoranda.domain.operation import (
    MAX_OPERATIONS,
    Append,
    Batch,
    Cut,
    Observe,
    Operation,
    ReplaceFile,
    Restore,
)
from memoranda.domain.outcome import BatchOutcome, Conflicted, FileChange, Outcome, Refused
from memoranda.domain.policy import may_write, may_write_file, path_allowed, text_allowed
from memoranda.domain.scope import EXTERNAL, Scope
from memoranda.errors import Conflict
from memoranda.services import indexing, writing
from memoranda.services.operations import apply
from memoranda.services.planning import Plan
from memoranda.services.secret_text import name_words, secret_refused
from memoranda.services.stores import Stores
from memoranda.services.working_file import as_known, load, without

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
        retriable = all(isinstance(operation, Append | Cut) for operation in batch.operations)
        edited = False
        for _ in range(ATTEMPTS):
            plan = Plan(batch, stores.clock.now())
            try:
                edited = _load(stores, plan) or edited
            except Conflict:
                edited = True
                continue
            if edited and not retriable:
                return _conflict(stores, plan)
            items = _plan(stores, plan)
            if any(isinstance(item, Refused | Conflicted) for item in items):
                return _refuse(stores, batch, items)
            try:
                return _carry_out(stores, plan, items)
            except Conflict:
                edited = True
        return _conflict(stores, plan)


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
    for batch in batches:
        if batch.author != EXTERNAL or not all(isinstance(operation, Observe) for operation in batch.operations):
            raise ValueError("only what was seen in files goes this way")
        plan = Plan(batch, stores.clock.now())
        for operation in batch.operations:
            plan.files[operation.path] = without(as_known(stores, batch.scope, operation.path), moved)
        _plan(stores, plan)
        plans.append(plan)
    entries = [writing.entry_of(stores, plan, observed=True, first_run=first_run) for plan in plans]
    committed = stores.ledger.commit(entries)
    indexing.project(stores, list(zip(entries, committed, strict=True)))
    return Counter(_what(change) for plan in plans for change in plan.changes)


def _what(change: Change) -> str:
    name = change.kind.removeprefix("record.")
    if name == "created":
        return "edited" if change.record.supersedes else "added"
    return name


def _may_begin(stores: Stores, batch: Batch) -> list[Outcome] | None:
    """Steps 1 to 3 for the request itself: author and scope, paths and sizes, secrets."""
    if not batch.operations or len(batch.operations) > MAX_OPERATIONS:
        return [Refused("size", f"a batch has 1 to {MAX_OPERATIONS} operations, this one has {len(batch.operations)}")]
    whole = may_write(batch.author, batch.scope, stores.write_mode)
    if whole:
        return [whole]
    found = [_request_allowed(stores, batch, operation) for operation in batch.operations]
    return [item for item in found if item] or None


def _request_allowed(stores: Stores, batch: Batch, operation: Operation) -> Refused | None:
    refused = may_write_file(batch.author, operation.path, stores.write_mode)
    if refused:
        return refused
    if not isinstance(operation, Restore):
        refused = path_allowed(operation.path) or secret_refused(stores, name_words(operation.path))
        if refused:
            return refused
    outside = stores.documents.check_path(batch.scope, operation.path)
    if outside:
        return Refused("path", f"this file cannot be written: {outside}")
    if isinstance(operation, Append | ReplaceFile):
        return text_allowed(operation.text) or secret_refused(stores, operation.text)
    if isinstance(operation, Cut) and not operation.text.strip():
        return Refused("empty", "the text to remove is blank; name the text, or the whole file")
    return None


def _load(stores: Stores, plan: Plan) -> bool:
    """Read the files that the batch works on; return whether a person had changed one that was not yet seen."""
    edited = False
    scope = plan.batch.scope
    for path in dict.fromkeys(operation.path for operation in plan.batch.operations):
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


def _plan(stores: Stores, plan: Plan) -> list[Outcome]:
    """Steps 4 to 6 and the effect of every operation; stops at the first that is refused.

    Step 4 (tombstones) and step 6 (taint) have their place in `operations.apply`, beside step 5 (duplicates).
    """
    items: list[Outcome] = []
    for operation in plan.batch.operations:
        items.append(apply(stores, plan, operation))
        if isinstance(items[-1], Refused | Conflicted):
            break
    return items


def _carry_out(stores: Stores, plan: Plan, items: list[Outcome]) -> BatchOutcome:
    """Steps 7 to 9: checkpoint, write, index."""
    entry = writing.entry_of(stores, plan)
    if not entry.edits:
        if entry.corroborated:
            stores.ledger.commit([entry])
        return BatchOutcome(entry.batch_id, tuple(items), files=_files(plan))
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
    offered = "\n\n".join(item.text for item in batch.operations if isinstance(item, Append | ReplaceFile))
    entry = writing.conflict_entry(stores, batch, offered)
    stores.ledger.discard(entry, why="the file was changed in between")
    path = batch.operations[0].path
    kept = f" The offered text is kept in checkpoint {entry.checkpoint_id}." if offered else ""
    message = f"{path} was changed by a person in between; nothing was written. Read it again and retry.{kept}"
    return BatchOutcome(entry.batch_id, (Conflicted(path, entry.checkpoint_id if offered else "", message),))
