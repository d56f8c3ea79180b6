"""Carrying memory between homes, as `Memory` offers it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from memoranda.domain.archive import ExportReport, ImportReport
from memoranda.domain.report import Progress
from memoranda.domain.scope import Scope, check_id
from memoranda.memory.parts import Parts


class Archives:
    """The part of a home that exports and imports."""

    _parts: Parts

    def _scopes(self, agents: Sequence[str] | None) -> list[Scope]:
        raise NotImplementedError

    def export_archive(
        self,
        path: Path | str,
        *,
        agents: Sequence[str] | None = None,
        replace: bool = False,
        progress: Progress | None = None,
    ) -> ExportReport:
        """Write all memory, or what some agents read, into one file, with every rejection.

        Raises:
            Conflict: the file exists and `replace` is not set.
        """
        from memoranda.services import archive  # noqa: PLC0415 - only archives need it

        parts = self._parts
        return archive.export(
            parts.stores, parts.archives, parts.foreign_keys, Path(path), self._scopes(agents), version=parts.version,
            replace_file=replace, progress=progress,
        )  # fmt: skip

    def archive_size(self, path: Path | str) -> int:
        """Return how many files an archive holds, after all of it was checked. Raises as `import_archive`."""
        from memoranda.services import archive  # noqa: PLC0415 - the same

        return len(archive.opened(self._parts.archives, Path(path)).files)

    def import_archive(self, path: Path | str, *, run: str, progress: Progress | None = None) -> ImportReport:
        """Take in an archive as untrusted memory; `run` names the import and has the form of an id.

        Raises:
            InvalidInput, IntegrityError: it is no archive, or it was changed; nothing was written.
        """
        from memoranda.services import archive  # noqa: PLC0415 - the same

        checked = archive.opened(self._parts.archives, Path(path))
        return archive.take_in(
            self._parts.stores, self._parts.foreign_keys, checked, run=check_id("run", run), progress=progress
        )
