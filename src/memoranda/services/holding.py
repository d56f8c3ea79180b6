"""What becomes of a batch that may not take effect yet: each operation, or all together, waits for a person."""

from __future__ import annotations

from dataclasses import replace

from memoranda.domain.operation import Operation
from memoranda.domain.outcome import Conflicted, Duplicate, Outcome, Quarantined, Refused, Saved
from memoranda.domain.proposal import ProposalKind
from memoranda.domain.scope import Principal
from memoranda.services.judging import Waits, judged
from memoranda.services.operations import apply
from memoranda.services.plan import Plan
from memoranda.services.quarantine import Held, created_by, set_aside, trial_of
from memoranda.services.stores import Stores


def plan_asking(stores: Stores, plan: Plan, *, tainted: bool) -> list[Outcome]:
    """Make one proposal of all operations, where each can be carried out by a person and the author may say it."""
    trial = plan.copy_for(replace(plan.batch, author=Principal("operator")))
    for operation in plan.batch.operations:
        done = apply(stores, trial, operation)
        if isinstance(done, Refused | Duplicate):
            return [done]
    created = created_by(trial.changes)
    texts = {record.block_hash: trial.texts[record.block_hash] for record in created}
    verdict = judged(stores, plan.copy_for(plan.batch), list(texts.values()))
    if isinstance(verdict, Refused):
        return [verdict]
    plan.texts.update(texts)
    kind: ProposalKind = "forget" if plan.batch.asks == "unsure" else "change"
    return [set_aside(stores, plan, plan.batch.operations, created, Held(plan.batch.asks, kind, tainted))]


def proposed(stores: Stores, plan: Plan, operation: Operation, refused: Refused, held: Held) -> Outcome:
    """Let a change that only a person may make wait for one; where it cannot be made at all, say what was refused."""
    tried = trial_of(stores, plan, operation, apply, held, author=Principal("operator"))
    keeps = isinstance(tried, Quarantined) or (isinstance(tried, Refused) and tried.rule == "tombstone")
    return tried if keeps else refused


def plan_held(stores: Stores, plan: Plan, held: Held) -> list[Outcome]:
    """Step 6: find out what every operation would do and let it wait; nothing of it reaches a file."""
    trial = plan.copy_for(plan.batch)
    items: list[Outcome] = []
    for operation in plan.batch.operations:
        before = len(trial.changes)
        done = apply(stores, trial, operation)
        if isinstance(done, Refused) and done.rule == "trust" and plan.batch.proposes:
            done = proposed(stores, plan, operation, done, replace(held, kind="change"))
        elif isinstance(done, Saved):
            created = created_by(trial.changes[before:])
            plan.texts.update({record.block_hash: trial.texts[record.block_hash] for record in created})
            done = set_aside(stores, plan, (operation,), created, held)
        items.append(done if not isinstance(done, Waits) else Quarantined((), done.reason))
        if isinstance(items[-1], Refused | Conflicted):
            break
    return items
