"""Each operation of the gateway, as one function from a plan to an outcome. Nothing here writes."""

from __future__ import annotations

from memoranda.domain import editing
from memoranda.domain.markdown import Document, parse
from memoranda.domain.operation import Append, Cut, DeleteFile, Observe, Operation, ReplaceFile, Restore
from memoranda.domain.outcome import Duplicate, Outcome, Refused, Saved
from memoranda.domain.withheld import Withheld, fill, withhold
from memoranda.services.guarding import masked
from memoranda.services.planning import Plan, Settled, settle
from memoranda.services.secret_text import secrets_in
from memoranda.services.stores import Stores


def apply(stores: Stores, plan: Plan, operation: Operation) -> Outcome:
    """Carry out one operation on the plan's files."""
    match operation:
        case Append():
            return _append(stores, plan, operation)
        case ReplaceFile():
            return _replace(stores, plan, operation)
        case Cut():
            return _cut(stores, plan, operation)
        case DeleteFile():
            return _delete(stores, plan, operation.path)
        case Restore():
            return _restore(stores, plan, operation)
        case Observe():
            return _observe(stores, plan, operation)


def _saved(settled: Settled | Refused, *, duplicates: tuple[str, ...] = (), matches: int = 0) -> Outcome:
    if isinstance(settled, Refused):
        return settled
    return Saved(settled.made, settled.removed, duplicates, settled.withheld, matches)


def _self_contained(content: Document) -> Refused | None:
    if not content.blocks:
        return Refused("empty", "the text has only headings or rules; there is nothing in it to remember")
    if not editing.is_closed(content.text):
        return Refused(
            "open_block",
            "the text ends inside a code fence or an HTML block, or nests lists too deeply; close it and save again",
        )
    return None


def _append(stores: Stores, plan: Plan, operation: Append) -> Outcome:
    content = parse(operation.text.strip("\r\n"))
    refused = _self_contained(content)
    if refused:
        return refused
    content, existing = _without_known(stores, plan, content)
    if not content.blocks:
        return Duplicate(existing)
    working = plan.files[operation.path]
    extended = editing.append(working.document, content.text)
    if extended is None:
        return Refused(
            "open_block",
            f"{operation.path} ends inside an open code fence or HTML comment, or in lists nested too deeply, so that "
            "nothing can be added after it; close it, or save to another file",
        )
    return _saved(settle(stores, plan, working, extended, withheld=working.withheld), duplicates=existing)


def _without_known(stores: Stores, plan: Plan, content: Document) -> tuple[Document, tuple[str, ...]]:
    """Step 5: leave out blocks whose value an active record of the scope has; return their ids."""
    keys = [stores.prints.value_key(block.text) for block in content.blocks]
    active = stores.ledger.with_value(plan.batch.scope, keys)
    existing: list[str] = []
    double: list[int] = []
    seen: set[str] = set()
    for index, key in enumerate(keys):
        record_id = plan.values.get(key) or active.get(key)
        if record_id and record_id not in plan.gone:
            existing.append(record_id)
            double.append(index)
        elif key in seen:
            double.append(index)
        seen.add(key)
    if not double:
        return content, ()
    plan.corroborated.extend(existing)
    return editing.remove(content, double), tuple(dict.fromkeys(existing))


def _replace(stores: Stores, plan: Plan, operation: ReplaceFile) -> Outcome:
    refused = _self_contained(parse(operation.text))
    if refused:
        return refused
    working = plan.files[operation.path]
    newline = working.document.newline
    text = editing.with_newlines(operation.text.rstrip("\r\n"), newline) + newline
    if working.document.text.startswith("\ufeff") and not text.startswith("\ufeff"):
        text = f"\ufeff{text}"
    document = parse(text)
    return _saved(
        settle(stores, plan, working, document, withheld=_still_withheld(stores, plan, operation.path, document))
    )


def _still_withheld(stores: Stores, plan: Plan, path: str, document: Document) -> Withheld:
    """Find again what is withheld in a file that holds such text; other files need no second scan."""
    before = plan.files[path].withheld
    return withhold(document, secrets_in(stores, document.text)) if before.spans else before


def _cut(stores: Stores, plan: Plan, operation: Cut) -> Outcome:
    working = plan.files[operation.path]
    visible = masked(working) if plan.batch.author.is_model else working.document.text
    result = editing.cut(working.document, operation.text, every=operation.all_matches, visible=visible)
    if not result.matches:
        return Refused("not_found", f"{operation.path} does not hold this text; nothing was removed")
    if not result.document.text.strip("\ufeff \t\r\n") and operation.delete_if_empty:
        outcome = _delete(stores, plan, operation.path)
        if isinstance(outcome, Saved):
            return Saved(removed_ids=outcome.removed_ids, matches=result.matches)
        return outcome
    withheld = _still_withheld(stores, plan, operation.path, result.document)
    return _saved(settle(stores, plan, working, result.document, withheld=withheld), matches=result.matches)


def _delete(stores: Stores, plan: Plan, path: str) -> Outcome:
    working = plan.files[path]
    settled = settle(stores, plan, working, parse(""))
    working.exists = isinstance(settled, Refused) and working.exists
    return _saved(settled)


def _restore(stores: Stores, plan: Plan, operation: Restore) -> Outcome:
    if not operation.content:
        return _delete(stores, plan, operation.path)
    kept = stores.ledger.text(operation.content)
    if kept is None:
        return Refused("not_found", f"the checkpoint's content of {operation.path} is no longer kept")
    working = plan.files[operation.path]
    document = parse(fill(kept, working.document, working.withheld, stores.prints.content))
    withheld = _still_withheld(stores, plan, operation.path, document)
    return _saved(settle(stores, plan, working, document, withheld=withheld, revive="restored"))


def _observe(stores: Stores, plan: Plan, operation: Observe) -> Outcome:
    working = plan.files[operation.path]
    if operation.text is None:
        settled = settle(stores, plan, working, parse(""))
        working.exists = False
        return _saved(settled)
    document = parse(operation.text)
    withheld = withhold(document, secrets_in(stores, operation.text))
    moved = dict(operation.moved)
    return _saved(settle(stores, plan, working, document, withheld=withheld, revive="typed", moved=moved))
