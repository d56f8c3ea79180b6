"""Reads core blocks as they are now, an agent's own and the shared ones that it has."""

from __future__ import annotations

from memoranda.domain.block import CORE, CoreBlock, labels_in, section_of
from memoranda.domain.markdown import Document
from memoranda.domain.scope import REALM, Scope, agent_scope
from memoranda.services.stores import Stores
from memoranda.services.visible_file import VisibleFile, visible_file


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
        if file is None and stores.ledger.file(scope, CORE) is not None:
            found.append(CoreBlock(spec=spec, value="", is_edited=True, is_readable=False))
        elif file is None or section is None:
            found.append(CoreBlock(spec=spec, value=spec.value, is_edited=False))
        else:
            value = file.text(section.start, section.end).strip("\r\n")
            found.append(CoreBlock(spec=spec, value=value, is_edited=True))
    return tuple(found)


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
