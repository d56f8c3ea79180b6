"""Reads core blocks as they are now, an agent's own and the shared ones that it has."""

from __future__ import annotations

from memoranda.domain.block import CORE, CoreBlock, labels_in, repeated_in, section_of
from memoranda.domain.markdown import Document
from memoranda.domain.scope import REALM, Scope, agent_scope
from memoranda.services.stores import Stores
from memoranda.services.visible_file import VisibleFile, visible_file, why_unreadable


def blocks(stores: Stores, agent: str) -> tuple[CoreBlock, ...]:
    """Return the blocks of an agent in the order in which they are declared, without what is withheld in them."""
    files: dict[Scope, VisibleFile | None] = {}
    found: list[CoreBlock] = []
    for spec in stores.blocks:
        if not spec.is_for(agent):
            continue
        scope = REALM if spec.shared else agent_scope(agent)
        if scope not in files:
            files[scope] = visible_file(stores, scope, CORE)
        file = files[scope]
        section = section_of(_readable(file), spec.label) if file else None
        if file is None and is_unreadable(stores, scope):
            found.append(CoreBlock(spec=spec, value="", is_edited=True, is_readable=False))
        elif file is None or section is None:
            found.append(CoreBlock(spec=spec, value=spec.value, is_edited=False))
        else:
            value = file.text(section.start, section.end).strip("\r\n")
            found.append(CoreBlock(spec=spec, value=value, is_edited=True))
    return tuple(found)


def is_unreadable(stores: Stores, scope: Scope) -> bool:
    """Whether a scope has a file of core blocks and nobody can read it, known to the ledger or not."""
    if visible_file(stores, scope, CORE) is not None:
        return False
    return stores.ledger.file(scope, CORE) is not None or bool(why_unreadable(stores, scope, CORE))


def too_long(stores: Stores, scope: Scope) -> tuple[CoreBlock, ...]:
    """Return the blocks in a scope's file that are longer than their limit."""
    file = visible_file(stores, scope, CORE)
    if file is None:
        return ()
    document = _readable(file)
    mine = [spec for spec in stores.blocks if spec.shared == (scope == REALM)]
    found = [
        CoreBlock(spec=spec, value=file.text(section.start, section.end).strip("\r\n"), is_edited=True)
        for spec in mine
        if (section := section_of(document, spec.label)) is not None
    ]
    return tuple(block for block in found if block.over)


def scope_of(stores: Stores, agent: str, label: str) -> Scope:
    """Return the scope in which a block of this label lives; an unknown one is looked for in the agent's own."""
    shared = any(spec.label == label and spec.shared and spec.is_for(agent) for spec in stores.blocks)
    return REALM if shared else agent_scope(agent)


def _readable(file: VisibleFile) -> Document:
    """Return the document without headings that nobody has read: they begin no block."""
    hidden = {start for start, _ in file.withheld.spans}
    headings = tuple(heading for heading in file.document.headings if heading.start not in hidden)
    return Document(file.document.text, file.document.blocks, headings)


def odd_labels(stores: Stores, scope: Scope) -> tuple[str, ...]:
    """Return labels in a file of core blocks that no setting declares: their text is in no prompt."""
    file = visible_file(stores, scope, CORE)
    declared = {spec.label.casefold() for spec in stores.blocks if spec.shared == (scope == REALM)}
    return tuple(label for label in labels_in(file.document) if label.casefold() not in declared) if file else ()


def repeated_labels(stores: Stores, scope: Scope) -> tuple[str, ...]:
    """Return labels of declared blocks that a file has more than once: the later sections are in no prompt."""
    file = visible_file(stores, scope, CORE)
    odd = {label.casefold() for label in odd_labels(stores, scope)}
    repeated = repeated_in(_readable(file)) if file else ()
    return tuple(label for label in dict.fromkeys(repeated) if label.casefold() not in odd)
