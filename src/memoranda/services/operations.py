"""Each operation of the gateway, as one function from a plan to an outcome. Nothing here writes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from memoranda.domain import editing
from memoranda.domain.erasure import PLACEHOLDER, core_of
from memoranda.domain.markdown import Document, parse
from memoranda.domain.operation import (
    ABSENT,
    Admit,
    Adopt,
    Append,
    Bound,
    Carry,
    Create,
    Cut,
    DeleteFile,
    EditBlock,
    Observe,
    Operation,
    Pin,
    Reject,
    Remove,
    ReplaceFile,
    Restore,
    Retier,
    Supersede,
)
from memoranda.domain.outcome import Duplicate, Outcome, Quarantined, Refused, Saved
from memoranda.domain.record import Status
from memoranda.domain.recording import cleaned, details_allowed
from memoranda.domain.withheld import fill, withhold
from memoranda.services import core_edit, recording, ruling
from memoranda.services.guarding import masked
from memoranda.services.judging import Sifted, Waits, bury_dropped, sift
from memoranda.services.plan import Plan
from memoranda.services.planning import Intent, delete_file, saved, self_contained, settle, still_withheld
from memoranda.services.quarantine import Held, trial_of, waiting_in_file
from memoranda.services.secret_text import secrets_in
from memoranda.services.stores import Stores


def apply(stores: Stores, plan: Plan, operation: Operation) -> Outcome | Waits:
    """Carry out one operation on the plan's files."""
    if isinstance(operation, Bound) and operation.expected:
        state = plan.files[operation.path].state
        if operation.expected != (state.content_hash if state else ABSENT):
            return Refused("stale", f"{operation.path} was changed since this was asked for; ask for it again")
    return _EFFECTS[type(operation)](stores, plan, operation)


def _delete(stores: Stores, plan: Plan, operation: DeleteFile) -> Outcome | Waits:
    return delete_file(stores, plan, operation.path)


def _append(stores: Stores, plan: Plan, operation: Append) -> Outcome | Waits:
    content = parse(operation.text.strip("\r\n"))
    known = self_contained(content) or sift(stores, plan, content)
    if isinstance(known, Refused):
        return known
    aside = _set_aside_blocks(stores, plan, operation, content, known) if known.asking else None
    if aside is not None and (not isinstance(aside, Quarantined) or len(known.asking) == len(content.blocks)):
        return aside
    waiting = (*known.waiting, *(aside.record_ids if isinstance(aside, Quarantined) else ()))
    plan.corroborated.extend(known.existing if not plan.unjudged else ())
    rest = editing.remove(content, known.left_out) if known.left_out else content
    if not rest.blocks:
        return Quarantined(waiting, "waiting") if waiting else Duplicate(known.existing)
    working = plan.files[operation.path]
    extended = editing.append(working.document, rest.text)
    if extended is None:
        return Refused(
            "open_block",
            f"{operation.path} ends inside an open code fence or HTML comment, or in lists nested too deeply, so that "
            "nothing can be added after it; close it, or save to another file",
        )
    settled = settle(stores, plan, working, extended, Intent(withheld=working.withheld))
    return saved(settled, duplicates=known.existing, quarantined=waiting)


def _set_aside_blocks(stores: Stores, plan: Plan, operation: Append, content: Document, known: Sifted) -> Outcome:
    """Let the blocks that a person has to look at wait, as an append of their own."""
    rest = editing.remove(content, [index for index in range(len(content.blocks)) if index not in known.asking])
    return trial_of(stores, plan, Append(operation.path, rest.text), apply, Held(known.reason))


def _replace(stores: Stores, plan: Plan, operation: ReplaceFile) -> Outcome | Waits:
    refused = self_contained(parse(operation.text))
    refused = refused or next((why for _, said in operation.described if (why := details_allowed(said))), None)
    if refused:
        return refused
    working = plan.files[operation.path]
    newline = working.document.newline
    text = editing.with_newlines(operation.text.rstrip("\r\n"), newline) + newline
    if working.document.text.startswith("\ufeff") and not text.startswith("\ufeff"):
        text = f"\ufeff{text}"
    document = parse(text)
    withheld = still_withheld(stores, working, document)
    described = {index: cleaned(details) for index, details in operation.described}
    return saved(settle(stores, plan, working, document, Intent(withheld=withheld, described=described)))


def _cut(stores: Stores, plan: Plan, operation: Cut) -> Outcome | Waits:
    working = plan.files[operation.path]
    visible = masked(working) if plan.batch.author.is_bound else working.document.text
    result = editing.cut(working.document, operation.text, every=operation.all_matches, visible=visible)
    if not result.matches:
        return Refused("not_found", f"{operation.path} does not hold this text; nothing was removed")
    before = set(plan.dropped)
    drops = plan.batch.reason == "erase"
    if not result.document.text.strip("\ufeff \t\r\n") and operation.delete_if_empty:
        outcome = delete_file(stores, plan, operation.path, Intent(drops_withheld=drops))
        if isinstance(outcome, Saved):
            outcome = Saved(removed_ids=outcome.removed_ids, matches=result.matches)
    else:
        withheld = still_withheld(stores, working, result.document)
        settled = settle(stores, plan, working, result.document, Intent(withheld=withheld, drops_withheld=drops))
        outcome = saved(settled, matches=result.matches)
    if isinstance(outcome, Saved) and not operation.keep_value:
        bury_dropped(stores, plan, set(plan.dropped) - before)
    return outcome


def _restore(stores: Stores, plan: Plan, operation: Restore) -> Outcome | Waits:
    if not operation.content:
        return delete_file(stores, plan, operation.path)
    kept = stores.ledger.text(operation.content)
    if kept is None:
        return Refused("not_found", f"the checkpoint's content of {operation.path} is no longer kept")
    working = plan.files[operation.path]

    def admitted(name: str) -> str | None:
        """A text that was withheld when the content was kept, and that a person has approved since."""
        past = (Status.ACTIVE, Status.SUPERSEDED, Status.RETIRED)
        record = stores.ledger.with_text(plan.batch.scope, name, past)
        return None if record is None or record.reason else stores.ledger.text(name)

    document = parse(fill(kept, working.document, working.withheld, stores.prints.content, admitted))
    erased = [at for at, block in enumerate(document.blocks) if core_of(block.text) == PLACEHOLDER]
    document = editing.remove(document, erased) if erased else document
    withheld = still_withheld(stores, working, document)
    return saved(settle(stores, plan, working, document, Intent(withheld=withheld, revive="restored")))


def _observe(stores: Stores, plan: Plan, operation: Observe) -> Outcome | Waits:
    working = plan.files[operation.path]
    if operation.text is None:
        settled = settle(stores, plan, working, parse(""), Intent())
        working.exists = False
        return saved(settled)
    document = parse(operation.text)
    withheld = withhold(document, secrets_in(stores, operation.text))
    intent = Intent(withheld=withheld, revive="typed", moved=dict(operation.moved))
    outcome = saved(settle(stores, plan, working, document, intent))
    waiting_in_file(stores, plan, outcome)
    return outcome


_EFFECTS: Mapping[type, Callable[..., Outcome | Waits]] = {
    Append: _append,
    ReplaceFile: _replace,
    Cut: _cut,
    DeleteFile: _delete,
    Restore: _restore,
    EditBlock: core_edit.edit_block,
    Observe: _observe,
    Create: recording.create,
    Supersede: recording.supersede,
    Remove: recording.remove,
    Retier: ruling.retier,
    Adopt: ruling.adopt,
    Admit: ruling.admit,
    Reject: ruling.reject,
    Pin: ruling.pin,
    Carry: ruling.carry,
}
