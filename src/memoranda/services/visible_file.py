"""A file as a model may see it: as it is now, without what is withheld."""

from __future__ import annotations

from dataclasses import dataclass

from memoranda.domain.markdown import Document
from memoranda.domain.record import Record, Status
from memoranda.domain.scope import Scope
from memoranda.domain.withheld import Withheld
from memoranda.errors import BackendError, Conflict
from memoranda.services import gateway
from memoranda.services.stores import Stores
from memoranda.services.working_file import WorkingFile, decode, load

_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class VisibleFile:
    """A file's document with what of it is withheld, and the records of its blocks."""

    document: Document
    withheld: Withheld
    records: tuple[Record | None, ...]

    def text(self, start: int, end: int) -> str:
        """Return a part of the text without what is withheld."""
        parts: list[str] = []
        position = start
        for first, last in self.withheld.spans:
            if last <= start or first >= end:
                continue
            parts.append(self.document.text[position : max(first, start)])
            position = max(position, min(last, end))
        return "".join([*parts, self.document.text[position:end]])

    def active_in(self, start: int, end: int) -> tuple[Record, ...]:
        """Return the records that stand there and count."""
        return tuple(
            record
            for block, record in zip(self.document.blocks, self.records, strict=True)
            if record is not None and record.status is Status.ACTIVE and start <= block.start < end
        )


def visible_file(stores: Stores, scope: Scope, path: str) -> VisibleFile | None:
    """Return a file as it is now, hand edits noticed; None where there is none, or it cannot be read."""
    try:
        working = _current(stores, scope, path)
    except (BackendError, Conflict):
        return None
    if working is None or not working.exists:
        return None
    return VisibleFile(working.document, working.withheld, tuple(working.known))


def why_unreadable(stores: Stores, scope: Scope, path: str) -> str:
    """Return why a file that is there cannot be read, "" where it can, or where there is none."""
    try:
        found = stores.documents.read(scope, path)
        decode(found[0] if found else b"", path)
    except BackendError as error:
        return str(error)
    return ""


def _current(stores: Stores, scope: Scope, path: str) -> WorkingFile | None:
    for _ in range(_ATTEMPTS):
        working = load(stores, scope, path)
        if working is not None:
            return working
        gateway.observe(stores, scope, [path])
    return None
