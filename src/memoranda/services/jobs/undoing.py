"""Takes a whole run of a job back: its changes, those that a person let take effect for it, and what still waits."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from memoranda.domain.checkpoint import Checkpoint
from memoranda.domain.operation import Batch, Restore
from memoranda.domain.proposal import Proposal
from memoranda.domain.record import Provenance
from memoranda.domain.scope import REALM, Principal, Scope, Viewer
from memoranda.services import gateway, review
from memoranda.services.conflicts import resolve
from memoranda.services.stores import Stores

_ALL = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Undone:
    """What was taken back: files brought back, proposals withdrawn, contradictions settled as withdrawn.

    `conflicts` are files that were changed since and stay as they are.
    """

    restored: tuple[str, ...] = ()
    withdrawn: tuple[str, ...] = ()
    settled: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()
    checkpoint_ids: tuple[str, ...] = ()


def undo_run(stores: Stores, person: Principal, scope: Scope, run_id: str) -> Undone:
    """Bring every file back to what it was before the run, byte for byte, and withdraw what it proposed.

    A file that anyone else has changed since is left as it is and named among the conflicts.
    """
    restored: list[str] = []
    conflicts: list[str] = []
    made: list[str] = []
    withdrawn: list[str] = []
    for goal in dict.fromkeys((scope, REALM)):
        proposals = [
            one for one in stores.ledger.proposals([goal], pending=False, limit=_ALL) if one.author.id == run_id
        ]
        with stores.locks.hold(goal):
            back, kept = _states(stores, goal, run_id, proposals)
            conflicts += kept
            if back:
                operations = tuple(Restore(path, content) for path, content in back.items())
                batch = Batch(person, goal, operations, "undo", Provenance(tool="dream undo"))
                outcome = gateway.commit(stores, batch)
                (restored if outcome.done else conflicts).extend(back)
                made += filter(None, (outcome.checkpoint_id,))
        waiting = [one for one in proposals if one.state == "pending"]
        withdrawn += [one.id for one in waiting if review.withdraw(stores, person, one).done]
    return Undone(
        restored=tuple(restored),
        withdrawn=tuple(withdrawn),
        conflicts=tuple(conflicts),
        checkpoint_ids=tuple(made),
        settled=_settled(stores, person, scope, run_id),
    )


def _settled(stores: Stores, person: Principal, scope: Scope, run_id: str) -> tuple[str, ...]:
    """Settle the contradictions that the run has opened, as withdrawn."""
    opened = [one for one in stores.ledger.assertions(scope, conflicts=True) if one.author.id == run_id]
    viewer = Viewer(person, scope, frozenset({scope}))
    for one in opened:
        resolve(
            stores, viewer, entity=one.entity, topic=one.topic, store=one.store, decision="withdrawn",
            rationale=f"the run {run_id} that signalled it was undone",
        )  # fmt: skip
    return tuple(one.id for one in opened)


def _states(stores: Stores, scope: Scope, run_id: str, proposals: list[Proposal]) -> tuple[dict[str, str], list[str]]:
    """Return path -> content before the run, and the files that were changed by others after it began."""
    ruled = {one.decided_at for one in proposals if one.state == "approved"}
    everything = stores.ledger.checkpoints(scope, limit=_ALL)
    mine = [one for one in everything if _is_of(one, run_id, ruled)]
    paths = dict.fromkeys(file.path for one in mine for file in one.files)
    gateway.observe(stores, scope, paths)
    back: dict[str, str] = {}
    kept: list[str] = []
    for path in paths:
        steps = [file for one in mine for file in one.files if file.path == path]
        state = stores.ledger.file(scope, path)
        if (state.object if state else "") == steps[-1].before:
            continue  # it is as it was before, by an earlier undo or by a person's hand
        unbroken = all(later.before == earlier.after for later, earlier in pairwise(steps))
        if unbroken and (state.object if state else "") == steps[0].after:
            back[path] = steps[-1].before
        else:
            kept.append(path)
    return back, kept


def _is_of(checkpoint: Checkpoint, run_id: str, ruled: set[str]) -> bool:
    """Whether a checkpoint is the run's own, or that of an approval of what it proposed."""
    if checkpoint.reason == "conflict":
        return False
    return checkpoint.author.endswith(f":{run_id}") or (checkpoint.reason == "review" and checkpoint.at in ruled)
