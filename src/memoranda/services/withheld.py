"""Says where secrets stand in a person's own files: class and line, never the text."""

from __future__ import annotations

from collections.abc import Mapping

from memoranda.domain.entry import FileState
from memoranda.domain.report import WithheldSecret
from memoranda.domain.scope import Scope
from memoranda.errors import BackendError
from memoranda.services.secret_text import secrets_in
from memoranda.services.stores import Stores
from memoranda.services.working_file import decode


def withheld_lines(stores: Stores, scope: Scope, known: Mapping[str, FileState]) -> tuple[WithheldSecret, ...]:
    """Look again at those of the known files that hold withheld text; other files are not read."""
    found: list[WithheldSecret] = []
    for path in sorted(path for path, state in known.items() if state.object != state.content_hash):
        try:
            read = stores.documents.read(scope, path)
            text = decode(read[0], path) if read else ""
        except BackendError:
            continue
        found.extend(
            WithheldSecret(str(scope), path, finding.line, finding.secret_class) for finding in secrets_in(stores, text)
        )
    return tuple(found)
