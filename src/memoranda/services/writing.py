"""Steps 7 and 8 of the gateway: what a batch is about to change is kept, then written so that a kill loses nothing.

An intent goes into the ledger, each file is swapped, the ledger commits. Killed anywhere, `recover` finishes the
batch or takes it back whole at the next call in this scope.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePosixPath
from typing import Literal

from memoranda.domain.aside import aside_names
from memoranda.domain.checkpoint import CheckpointReason
from memoranda.domain.editing import apply_splices, splices
from memoranda.domain.entry import Committed, Entry, FileEdit, FileState, FoundFile
from memoranda.domain.markdown import parse
from memoranda.domain.operation import Batch, FileOperation, Observe
from memoranda.domain.proposal import Decision
from memoranda.domain.scope import EXTERNAL, Scope
from memoranda.domain.times import days_before
from memoranda.domain.withheld import fill, withhold
from memoranda.errors import BackendError, Conflict, IntegrityError
from memoranda.services.plan import Plan
from memoranda.services.secret_text import secrets_in
from memoranda.services.sessions import door_for
from memoranda.services.stores import Stores
from memoranda.services.working_file import WorkingFile, decode, kept_content, readable_text

KEEP_CHECKPOINTS = 500
KEEP_DAYS = 30
_PRUNE_EVERY = 64
"""Events between two looks for old checkpoints; a look costs about a millisecond."""


def entry_of(stores: Stores, plan: Plan, *, observed: bool = False, first_run: bool = False) -> Entry:
    """Write down what a plan changes.

    `observed`: the files on disk are as the plan has them already. `first_run`: nothing was known of this scope
    before, so that there is nothing to go back to and no checkpoint.
    """
    edits: list[FileEdit] = []
    states: list[FileState] = []
    forgotten: list[str] = []
    for working in plan.files.values():
        edit = _edit_of(stores, working)
        if observed:
            seen = next(
                item for item in plan.batch.operations if isinstance(item, Observe) and item.path == working.path
            )
            if working.exists:
                states.append(FileState(working.path, seen.content_hash, edit.after, seen.size, seen.stamp))
        if not working.exists and working.state is not None:
            forgotten.append(working.path)
        if edit.before_hash != edit.after_hash or edit.before != edit.after:
            edits.append(edit)
    kept = [edit for edit in edits if edit.before_hash != edit.after_hash]
    return Entry(
        batch_id=stores.ids.new("bat"),
        at=plan.at,
        author=plan.batch.author,
        scope=plan.batch.scope,
        reason=plan.batch.reason,
        checkpoint_id="" if first_run or not kept else stores.ids.new("cp"),
        edits=tuple(edits),
        changes=tuple(plan.changes),
        texts=dict(plan.texts),
        states=tuple(states),
        forgotten=tuple(forgotten),
        corroborated=tuple(plan.corroborated),
        tombstones=tuple(plan.tombstones),
        lifted=tuple(dict.fromkeys(plan.lifted)),
        proposals=tuple(plan.proposals),
        decision=_decided(plan),
    )


def _decided(plan: Plan) -> Decision | None:
    decision = plan.batch.decision
    if decision is None:
        return None
    made = (change.record.id for change in plan.changes if change.kind in ("record.created", "record.admitted"))
    return replace(decision, successors=tuple(made))


def _edit_of(stores: Stores, working: WorkingFile) -> FileEdit:
    state = working.state
    before, before_hash = (state.object, state.content_hash) if state else ("", "")
    kept = readable_text(stores, before) if before else ""
    if not working.exists:
        return FileEdit(working.path, before, "", before_hash, "", ())
    after_text = kept_content(stores, working)
    return FileEdit(
        path=working.path,
        before=before,
        after=stores.prints.content(after_text),
        before_hash=before_hash,
        after_hash=stores.prints.content(working.document.text),
        splices=tuple(splices(kept or "", after_text)),
        whole=kept is None,
    )


def observation(stores: Stores, scope: Scope, path: str, found: tuple[bytes, FoundFile] | None) -> Batch:
    """Return the batch that takes note of a file as it is on disk, or of its absence."""
    if found is None:
        operation = Observe(path, None, "", 0, 0)
    else:
        data, state = found
        operation = Observe(path, decode(data, path), stores.prints.content(data), state.size, state.stamp)
    return Batch(EXTERNAL, scope, (operation,), "edit", door=door_for(stores, scope, stores.external_edits))


def conflict_entry(stores: Stores, batch: Batch, offered: str) -> Entry:
    """Return an entry that changes nothing and keeps what was offered."""
    reason: CheckpointReason = "conflict"
    paths = [operation.path for operation in batch.operations if isinstance(operation, FileOperation)]
    edits = tuple(FileEdit(path, "", "", "", "", ()) for path in paths)
    return Entry(
        batch_id=stores.ids.new("bat"), at=stores.clock.now(), author=batch.author, scope=batch.scope, reason=reason,
        checkpoint_id=stores.ids.new("cp"), edits=edits, changes=(), texts={}, kept_text=offered,
    )  # fmt: skip


def write(stores: Stores, plan: Plan, entry: Entry) -> tuple[Entry, Committed]:
    """Carry out an entry's edits: intent, files, commit.

    Raises:
        Conflict: a file was changed since it was read; what was written is taken back, the intent is dropped.
        BackendError: the disk or the database failed; nothing is acknowledged.
    """
    stores.ledger.prepare(entry)
    states: list[FileState] = []
    done: list[int] = []
    try:
        for index, edit in enumerate(entry.edits):
            working = plan.files[edit.path]
            data = working.document.text.encode() if working.exists else None
            if edit.before_hash == edit.after_hash:
                states.extend([replace(working.state, object=edit.after)] if working.state else [])
                continue
            try:
                found = stores.documents.replace(
                    entry.scope, edit.path, expected=working.original, data=data, token=_token(entry, index)
                )
            except BackendError:
                done.append(index)  # it may have failed after the swap
                raise
            done.append(index)
            if found is not None:
                states.append(FileState(edit.path, edit.after_hash, edit.after, found.size, found.stamp))
    except (Conflict, BackendError):
        for index in reversed(done):
            _take_back(stores, plan, entry, index)
        stores.ledger.discard(entry, why="a file was changed or could not be written")
        raise
    final = replace(entry, states=tuple(states))
    committed = stores.ledger.commit([final])[0]
    for working in plan.files.values():
        stores.parsed.remember(entry.scope, working.path, working.document)
    return final, committed


def _token(entry: Entry, index: int) -> str:
    return f"{entry.batch_id}-{index}"


def _take_back(stores: Stores, plan: Plan, entry: Entry, index: int) -> None:
    working = plan.files[entry.edits[index].path]
    data = working.document.text.encode() if working.exists else None
    try:
        stores.documents.replace(
            entry.scope, working.path, expected=data, data=working.original, token=_token(entry, index)
        )
    except Conflict:
        return  # a person was faster: their text stays, and sync will see it


Stand = Literal["before", "after", "other"]


def recover(stores: Stores, scope: Scope) -> int:
    """Finish or take back every batch that a crash left open; return how many there were."""
    intents = stores.ledger.intents(scope)
    for entry in intents:
        stands = [_stand(stores, entry, index) for index in range(len(entry.edits))]
        if all(stand == "after" or (stand == "other" and _looks_applied(stores, entry, index))
               for index, stand in enumerate(stands)):  # fmt: skip
            stores.ledger.commit([replace(entry, states=_states(stores, entry))])
            continue
        for index, stand in enumerate(stands):
            if stand == "after":
                _undo_edit(stores, entry, index)
        stores.ledger.discard(entry, why="it was interrupted before every file was written")
    return len(intents)


def _stand(stores: Stores, entry: Entry, index: int) -> Stand:
    """Where one file of an interrupted batch stands; what a swap left behind is put back, set aside or removed."""
    edit, token = entry.edits[index], _token(entry, index)
    current = _hash_on_disk(stores, entry.scope, edit.path)
    left = stores.documents.recover(entry.scope, edit.path, token)
    if left is not None and _is_displaced(stores, entry, index, left):
        if current == edit.after_hash:
            found = stores.documents.read(entry.scope, edit.path)
            stores.documents.replace(
                entry.scope, edit.path, expected=found[0] if found else None, data=left, token=f"{token}-back"
            )
            current = stores.prints.content(left)
        elif current not in (edit.before_hash, stores.prints.content(left)):
            _set_aside(stores, entry, index, left)
    stores.documents.discard(entry.scope, edit.path, f"{token}-back")
    stores.documents.discard(entry.scope, edit.path, token)
    if current == edit.after_hash:
        return "after"
    return "before" if current == edit.before_hash else "other"


def _is_displaced(stores: Stores, entry: Entry, index: int, left: bytes) -> bool:
    """Whether what lies beside a file is a person's edit, and not the copy to be written (or a part of it)."""
    edit = entry.edits[index]
    if stores.prints.content(left) in (edit.before_hash, edit.after_hash):
        return False
    before = stores.ledger.text(edit.before) if edit.before else ""
    return not edit.after or not apply_splices(before or "", edit.splices).encode().startswith(left)


def _set_aside(stores: Stores, entry: Entry, index: int, left: bytes) -> None:
    """Keep a displaced edit as a file of its own, where its place holds something newer."""
    place = PurePosixPath(entry.edits[index].path)
    for name in aside_names(place.name):
        path = str(place.with_name(name))
        found = stores.documents.read(entry.scope, path)
        if found is None:
            stores.documents.replace(entry.scope, path, expected=None, data=left, token=f"{_token(entry, index)}-aside")
        elif found[0] != left:
            continue
        return


def _hash_on_disk(stores: Stores, scope: Scope, path: str) -> str:
    found = stores.documents.read(scope, path)
    return stores.prints.content(found[0]) if found else ""


def _looks_applied(stores: Stores, entry: Entry, index: int) -> bool:
    """Whether a file that a person edited since holds what the batch wrote, and not what it removed."""
    edit = entry.edits[index]
    found = stores.documents.read(entry.scope, edit.path)
    if found is None:
        return not edit.after
    current = found[0].decode(errors="replace")
    before = (stores.ledger.text(edit.before) or "") if edit.before else ""
    return all(
        text.strip() in current if text.strip() else before[start:end].strip() not in current
        for start, end, text in edit.splices
    )


def _states(stores: Stores, entry: Entry) -> tuple[FileState, ...]:
    """The files as the batch left them; a time of 0 makes the next sync look at those that were edited since."""
    states: list[FileState] = []
    for edit in entry.edits:
        if not edit.after:
            continue
        found = stores.documents.read(entry.scope, edit.path)
        same = found is not None and stores.prints.content(found[0]) == edit.after_hash
        size, mtime = (found[1].size, found[1].stamp) if found and same else (0, 0)
        states.append(FileState(edit.path, edit.after_hash, edit.after, size, mtime))
    return tuple(states)


def _undo_edit(stores: Stores, entry: Entry, index: int) -> None:
    edit = entry.edits[index]
    found = stores.documents.read(entry.scope, edit.path)
    data: bytes | None = None
    if edit.before:
        kept = stores.ledger.text(edit.before)
        if kept is None:
            raise IntegrityError(f"the ledger's copy of {edit.path} is missing; run `memoranda verify`")
        if edit.before != edit.before_hash:
            now = parse(decode(found[0], edit.path) if found else "")
            kept = fill(kept, now, withhold(now, secrets_in(stores, now.text)), stores.prints.content)
        data = kept.encode()
    stores.documents.replace(
        entry.scope, edit.path, expected=found[0] if found else None, data=data, token=_token(entry, index)
    )


def prune(stores: Stores, scope: Scope, *, last_seq: int = 0) -> int:
    """Drop checkpoints that are neither among the newest 500 nor younger than 30 days."""
    if last_seq % _PRUNE_EVERY:
        return 0
    now = stores.clock.now()
    before = days_before(now, KEEP_DAYS)
    return stores.ledger.prune(scope, keep=KEEP_CHECKPOINTS, before=before, at=now, author=EXTERNAL)
