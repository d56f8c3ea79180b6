"""Looks for secrets in everything that is stored already: kept texts of every checkpoint, proposals, events, files."""

from __future__ import annotations

from collections.abc import Iterator

from memoranda.domain.report import Finding, Progress
from memoranda.errors import BackendError
from memoranda.services.secret_text import secrets_in
from memoranda.services.stores import Stores
from memoranda.services.working_file import decode

_EVERY = 200
_ADVICE = "erase it (`memoranda erase`), change the secret where it is used, and keep it in a password manager"


def scan_secrets(stores: Stores, progress: Progress | None = None) -> Iterator[Finding]:
    """Yield where secrets stand, by class, line and place; never the text. One that is clean says so."""
    texts = found = 0
    for held in stores.ledger.held_texts():
        texts += 1
        places = ", ".join(held.places[:3]) or f"object {held.name}"
        for finding in secrets_in(stores, held.text):
            found += 1
            where = f"line {finding.line} of " if held.name else ""
            yield Finding("error", f"{where}{places}", f"a secret ({finding.secret_class}) is kept", _ADVICE)
        if progress and texts % _EVERY == 0:
            progress("scanning kept texts", texts, 0)
    for scope in sorted({*stores.documents.scopes(), *stores.ledger.scopes()}):
        for path in sorted(stores.ledger.files(scope)):
            try:
                read = stores.documents.read(scope, path)
                text = decode(read[0], path) if read else ""
            except BackendError:
                yield Finding("warning", f"{scope} {path}", "it cannot be read and was not scanned")
                continue
            for finding in secrets_in(stores, text):
                found += 1
                yield Finding(
                    "warning", f"{scope} {path}:{finding.line}", f"a secret ({finding.secret_class}) is withheld",
                    "move it to a password manager; the file is left as it is",
                )  # fmt: skip
    yield Finding("ok" if not found else "error", "scan", f"{texts} kept texts scanned, {found} secrets found")
