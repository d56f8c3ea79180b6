"""Changes a core block, as an operation of the gateway; a block is a section of the file `core.md`."""

from __future__ import annotations

from memoranda.domain.block import BlockSpec, changed, holds_heading, section_of, value_in, with_value
from memoranda.domain.markdown import parse
from memoranda.domain.operation import Batch, EditBlock
from memoranda.domain.outcome import Outcome, Refused
from memoranda.domain.scope import REALM, Principal, Scope
from memoranda.services.guarding import masked
from memoranda.services.judging import Waits
from memoranda.services.plan import Plan
from memoranda.services.planning import Intent, saved, self_contained, settle, still_withheld
from memoranda.services.stores import Stores


def spec_of(stores: Stores, scope: Scope, label: str, author: Principal) -> BlockSpec | Refused:
    """Return the block of this label that lives in this scope and that the author has."""
    here = [spec for spec in stores.blocks if spec.shared == (scope == REALM)]
    mine = [spec for spec in here if author.kind != "agent" or spec.is_for(author.id)]
    found = next((spec for spec in mine if spec.label == label), None)
    if found is None:
        known = ", ".join(spec.label for spec in stores.blocks if _has(spec, scope, author)) or "none"
        return Refused("unknown_block", f"there is no block {label[:80]!r} here (there are: {known})")
    return found


def _has(spec: BlockSpec, scope: Scope, author: Principal) -> bool:
    """Whether who writes in a scope has a block, its own or a shared one."""
    owner = author if author.kind == "agent" else scope
    return owner.kind != "agent" or spec.is_for(owner.id)


def shares_blocks(stores: Stores, batch: Batch) -> bool:
    """Whether a batch only changes shared blocks that its author has: those are its own to write."""
    return (
        batch.scope == REALM
        and batch.author.kind == "agent"
        and bool(batch.operations)
        and all(
            isinstance(operation, EditBlock)
            and isinstance(spec_of(stores, REALM, operation.label, batch.author), BlockSpec)
            for operation in batch.operations
        )
    )


def edit_block(stores: Stores, plan: Plan, operation: EditBlock) -> Outcome | Waits:
    """Change a block's value; what a person wrote in it only a person changes."""
    author = plan.batch.origin.author if plan.batch.origin else plan.actor
    spec = spec_of(stores, plan.batch.scope, operation.label, author)
    if isinstance(spec, Refused):
        return spec
    if spec.read_only and author.is_bound:
        return Refused("read_only", f"the block {spec.label} is read-only: a person changes it")
    working = plan.files[operation.path]
    there = section_of(working.document, spec.label)
    visible = parse(masked(working)) if author.is_bound else working.document
    seen = value_in(visible, spec.label) if there else spec.value
    value = changed(seen, operation.action, operation.text, operation.old)
    if value is None:
        why = "names no text to replace" if not operation.old else f"does not stand in the block {spec.label}"
        return Refused("not_found", f"`old` {why}; nothing was changed")
    refused = _value_allowed(spec, value)
    if refused:
        return refused
    if "\0" in value:
        return Refused("trust", "this block holds a text that is withheld; append to it, or let a person change it")
    document = parse(with_value(working.document, spec.label, value))
    intent = Intent(withheld=still_withheld(stores, working, document))
    return saved(settle(stores, plan, working, document, intent))


def _value_allowed(spec: BlockSpec, value: str) -> Refused | None:
    if spec.limit and len(value) > spec.limit:
        return Refused(
            "limit",
            f"the block {spec.label} would have {len(value):,} characters; at most {spec.limit:,} are allowed: "
            "shorten it, or save the rest with memory_save",
        )
    if holds_heading(value):
        return Refused("heading", "a block's value has no headings: they would begin another block; use bold or a list")
    return self_contained(parse(value)) if value.strip() else None
