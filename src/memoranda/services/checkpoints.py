"""Undo: checkpoints, restore, diff. A restore is itself a batch: checkpointed, indexed, audited, undoable."""

from __future__ import annotations

import difflib
from dataclasses import replace

from memoranda.domain.checkpoint import Checkpoint, CheckpointReason
from memoranda.domain.operation import Batch, Restore
from memoranda.domain.outcome import BatchOutcome
from memoranda.domain.record import Provenance
from memoranda.domain.report import FileDiff
from memoranda.domain.scope import REALM, Principal, Scope, Viewer
from memoranda.domain.withheld import MASK
from memoranda.errors import InvalidInput, NotFound
from memoranda.services import gateway
from memoranda.services.stores import Stores
from memoranda.services.visibility import hides_name, masked_text
from memoranda.services.working_file import as_known

MAX_LISTED = 100


def listed(stores: Stores, viewer: Viewer, *, limit: int, path_contains: str) -> tuple[Checkpoint, ...]:
    """Return the newest checkpoints of the viewer's scope, at most 100, without names that wait for a reader.

    Raises:
        InvalidInput: `limit` is not 1 to 100.
    """
    if not 1 <= limit <= MAX_LISTED:
        raise InvalidInput(f"limit {limit} is out of range: use 1 to {MAX_LISTED}")
    found = [
        item
        for scope in _within_reach(viewer)
        for item in stores.ledger.checkpoints(scope, limit=limit, path_contains=path_contains)
    ]
    found = sorted(found, key=lambda item: item.at, reverse=True)[:limit] if viewer.principal.is_person else found
    return tuple(
        replace(
            item,
            files=tuple(
                replace(file, path=MASK) if hides_name(stores, viewer, viewer.own, file.path) else file
                for file in item.files
            ),
        )
        for item in found
    )


def _within_reach(viewer: Viewer) -> tuple[Scope, ...]:
    """The scopes whose changes a viewer takes back: its own, and for a person the shared one."""
    return (viewer.own, REALM) if viewer.principal.is_person and viewer.own != REALM else (viewer.own,)


def find(stores: Stores, viewer: Viewer, checkpoint_id: str) -> Checkpoint:
    """Return one checkpoint; raises NotFound, alike for an unknown id and for another scope's."""
    for scope in _within_reach(viewer):
        checkpoint = stores.ledger.checkpoint(scope, checkpoint_id)
        if checkpoint is not None:
            return checkpoint
    raise NotFound("checkpoint not found; `memoranda checkpoints` lists those there are")


def restore(stores: Stores, viewer: Viewer, checkpoint_id: str, *, provenance: Provenance) -> BatchOutcome:
    """Bring every file of a checkpoint back to what it was before that change."""
    checkpoint = find(stores, viewer, checkpoint_id)
    scope = Scope.parse(checkpoint.scope)
    if checkpoint.reason == "conflict":
        raise InvalidInput(
            "this checkpoint keeps a text that could not be written; read it with `memoranda diff` and save it again"
        )
    states = {file.path: file.before for file in checkpoint.files}
    gateway.observe(stores, scope, states)
    return _bring_back(stores, viewer.principal, scope, states, "restore", provenance)


def undo(stores: Stores, author: Principal, scope: Scope, count: int, *, provenance: Provenance) -> BatchOutcome:
    """Take back the last `count` changes of a scope, a person's own edits included.

    Raises:
        InvalidInput: `count` is not 1 to 100.
        NotFound: there are not so many changes to take back.
    """
    states: dict[str, str] = {}
    for checkpoint in _last(stores, scope, count):
        for file in checkpoint.files:
            states[file.path] = file.before
    return _bring_back(stores, author, scope, states, "undo", provenance)


def _last(stores: Stores, scope: Scope, count: int) -> list[Checkpoint]:
    if not 1 <= count <= MAX_LISTED:
        raise InvalidInput(f"{count} changes cannot be taken back at once: use 1 to {MAX_LISTED}")
    found = [item for item in stores.ledger.checkpoints(scope, limit=2 * MAX_LISTED) if item.reason != "conflict"]
    if len(found) < count:
        raise NotFound(f"there are only {len(found)} changes to take back")
    return found[:count]


def _bring_back(
    stores: Stores,
    author: Principal,
    scope: Scope,
    states: dict[str, str],
    reason: CheckpointReason,
    provenance: Provenance,
) -> BatchOutcome:
    operations = tuple(Restore(path, content) for path, content in states.items())
    return gateway.commit(stores, Batch(author, scope, operations, reason, provenance))


def diff(stores: Stores, viewer: Viewer, checkpoint_id: str) -> tuple[FileDiff, ...]:
    """Return how each file would change if the checkpoint were restored. Withheld text is left out of both sides."""
    checkpoint = find(stores, viewer, checkpoint_id)
    scope = Scope.parse(checkpoint.scope)
    return _diffs(stores, viewer, scope, {file.path: file.before for file in checkpoint.files})


def undo_preview(stores: Stores, viewer: Viewer, count: int) -> tuple[FileDiff, ...]:
    """Return how each file would change if the last `count` changes were taken back."""
    states: dict[str, str] = {}
    for checkpoint in _last(stores, viewer.own, count):
        states.update({file.path: file.before for file in checkpoint.files})
    return _diffs(stores, viewer, viewer.own, states)


def _diffs(stores: Stores, viewer: Viewer, scope: Scope, states: dict[str, str]) -> tuple[FileDiff, ...]:
    found: list[FileDiff] = []
    for path, content in states.items():
        if hides_name(stores, viewer, scope, path):
            found.append(FileDiff(MASK, ""))
            continue
        now = as_known(stores, scope, path)
        present, then = (
            masked_text(stores, viewer, scope, (stores.ledger.text(name) or "") if name else "")
            for name in (now.state.object if now.state else "", content)
        )
        lines = difflib.unified_diff(
            present.splitlines(keepends=True), then.splitlines(keepends=True), f"{path} (now)",
            f"{path} (restored)",
        )  # fmt: skip
        text = "".join(
            line if line.endswith(("\n", "\r")) else f"{line}\n\\ No newline at end of file\n" for line in lines
        )
        found.append(FileDiff(path, text))
    return tuple(found)
