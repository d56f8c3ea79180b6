"""The JSON shapes of reports: status, doctor, sync, verify, history, blame, log, diff."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from memoranda.domain.report import (
    BlameLine,
    Event,
    FileDiff,
    Finding,
    History,
    StatusReport,
    SyncReport,
    VerifyReport,
)
from memoranda.interfaces.wire import Json, record


def sync(report: SyncReport, *, embedded: int = 0, failed: str = "") -> Json:
    """Return what a sync did; `embedded` passages got their vectors after it, others wait where it `failed`."""
    return asdict(report) | {"embedded": embedded, "embedding_failed": failed}


def verify(report: VerifyReport) -> Json:
    """Return what was checked, found and rebuilt."""
    return {
        "clean": report.clean,
        "checked": dict(report.checked),
        "problems": [asdict(problem) for problem in report.problems],
        "repaired": list(report.repaired),
    }


def status(report: StatusReport) -> Json:
    """Return what the home holds."""
    return asdict(report)


def findings(found: Sequence[Finding]) -> Json:
    """Return the lines of `doctor` with the worst level among them."""
    levels = {finding.level for finding in found}
    worst = next((level for level in ("error", "warning") if level in levels), "ok")
    return {"level": worst, "findings": [asdict(finding) for finding in found]}


def event(seen: Event) -> Json:
    """Return one event of the ledger with its payload as JSON."""
    return asdict(seen) | {"payload": json.loads(seen.payload) if seen.payload else {}}


def history(chain: History) -> Json:
    """Return a record's versions, oldest first, and its events."""
    return {
        "versions": [record(version.record) | {"text": version.text} for version in chain.versions],
        "events": [event(seen) for seen in chain.events],
    }


def blame(file: str, lines: Sequence[BlameLine]) -> Json:
    """Return each block of a file with its record, or null where no sync has seen it."""
    return {
        "path": file,
        "blocks": [
            {
                "start_line": line.line_start,
                "end_line": line.line_end,
                "text": line.text,
                "record": record(line.record) if line.record else None,
            }
            for line in lines
        ],
    }


def diffs(checkpoint_id: str, changes: Sequence[FileDiff]) -> Json:
    """Return the files that differ between a checkpoint and the present."""
    return {"checkpoint": checkpoint_id, "files": [asdict(change) for change in changes]}
