"""Takes note of what people did to their files: edits, removals, moves, additions. Changes no file.

By `stat` first: a file whose size and time are known is not read. What was read and has changed goes through the
gateway as one batch a file, under the scope's lock.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace

from memoranda.domain.entry import FileState, FoundFile
from memoranda.domain.operation import Batch, Observe
from memoranda.domain.report import Progress, Skipped, SyncReport
from memoranda.domain.scope import Scope
from memoranda.errors import BackendError, RemovalsNotAccepted
from memoranda.services import episodes, indexing, sessions, writing
from memoranda.services.gateway import commit_observed
from memoranda.services.moves import Arrivals, find_moves
from memoranda.services.secret_text import name_words, secrets_in
from memoranda.services.stores import Stores
from memoranda.services.withheld import withheld_lines
from memoranda.services.working_file import decode

_GROUP_FILES, _GROUP_BYTES = 200, 4_000_000
"""One transaction takes so many files: each has its own batch, all share one sync to disk."""

_LARGE_BYTES = 1_000_000
"""A file of this size takes about a second to parse and is named before it is read."""

_FRESH_NS = 50_000_000
"""A file changed so shortly before it was read may change again within one tick of the file system's clock (4 to
10 ms on Linux): its time is not trusted, and the next sync reads it once more."""


@dataclass(slots=True)
class _Walk:
    """What `stat` alone tells of a workspace, beside the files that the ledger knew before."""

    known: Mapping[str, FileState]
    first_run: bool
    found: dict[str, FoundFile] = field(default_factory=dict)
    skipped: list[tuple[str, str]] = field(default_factory=list)
    suspects: list[FoundFile] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)


def sync(
    stores: Stores,
    scopes: Iterable[Scope],
    *,
    accept_removals: bool = False,
    progress: Progress | None = None,
) -> SyncReport:
    """Bring ledger and index up to the files of these scopes.

    Raises:
        RemovalsNotAccepted: more than half of a workspace's files are gone; nothing of that scope was changed, the
            other scopes were brought up to date.
        Busy, BackendError: as the gateway.
    """
    report = SyncReport()
    stopped: list[RemovalsNotAccepted] = []
    for scope in scopes:
        try:
            with stores.locks.hold(scope):
                part = _sync_scope(stores, scope, accept_removals=accept_removals, progress=progress)
        except RemovalsNotAccepted as error:
            stopped.append(error)
            continue
        report = _sum(report, part)
    if stopped:
        raise stopped[0]
    return report


def _sync_scope(stores: Stores, scope: Scope, *, accept_removals: bool, progress: Progress | None) -> SyncReport:
    recovered = writing.recover(stores, scope)
    followed = sessions.closed_by_now(stores, scope)
    walk = _walk(stores, scope)
    counts: Counter[str] = Counter()
    changed, same = _read_suspects(stores, scope, walk, counts, progress)
    _guard(stores, scope, walk, changed, accept_removals=accept_removals)
    if same:
        stores.ledger.refresh_states(scope, same)
    _commit(stores, scope, walk, changed, counts, progress)
    reindexed = indexing.catch_up(stores, scope, progress)
    walk.skipped.extend(episodes.catch_up(stores, scope, progress))
    touched = bool(changed or walk.missing)
    withheld = withheld_lines(stores, scope, stores.ledger.files(scope) if touched else walk.known)
    stores.ledger.set_skipped(scope, list(dict.fromkeys(walk.skipped)))
    if followed:
        stores.ledger.settle_sessions(followed)
    writing.prune(stores, scope)
    state = stores.index.state(scope)
    return SyncReport(
        files_seen=len(walk.found),
        files_read=counts["read"],
        files_changed=counts["changed"],
        files_removed=len(walk.missing),
        added=counts["added"],
        edited=counts["edited"],
        moved=counts["moved"],
        removed=counts["retired"],
        revived=counts["revived"],
        recovered_batches=recovered,
        reindexed=reindexed,
        pending_vectors=state.pending,
        skipped=tuple(Skipped(str(scope), path, why) for path, why in dict.fromkeys(walk.skipped)),
        withheld=withheld,
    )


def _walk(stores: Stores, scope: Scope) -> _Walk:
    known = stores.ledger.files(scope)
    walk = _Walk(known, first_run=not stores.ledger.last_seq(scope))
    for file in stores.documents.walk(scope):
        if secrets_in(stores, name_words(file.path)):
            folder = file.path.rpartition("/")[0] or "."
            walk.skipped.append((f"{folder}/(withheld)", "its name holds a secret"))
            continue
        if file.skip:
            walk.skipped.append((file.path, file.skip))
            continue
        walk.found[file.path] = file
        state = known.get(file.path)
        if state is None or (state.size, state.stamp) != (file.size, file.stamp):
            walk.suspects.append(file)
    unread = {path for path, _ in walk.skipped}
    walk.missing = [
        path
        for path in known
        if path not in walk.found and path not in unread and not any(path.startswith(f"{gap}/") for gap in unread)
    ]
    return walk


def _read_suspects(
    stores: Stores, scope: Scope, walk: _Walk, counts: Counter[str], progress: Progress | None
) -> tuple[list[FoundFile], list[FileState]]:
    """Hash what `stat` could not settle; return the files with new content and fresh states of the others."""
    known = walk.known
    changed: list[FoundFile] = []
    same: list[FileState] = []
    for number, file in enumerate(walk.suspects):
        state = known.get(file.path)
        if state is None:
            changed.append(file)
            continue
        found = _read(stores, scope, file.path, walk)
        counts["read"] += 1
        if found is None:
            continue
        data, seen = found
        if stores.prints.content(data) == state.content_hash:
            same.append(replace(state, size=seen.size, stamp=seen.stamp))
        else:
            changed.append(file)
        if progress:
            progress(f"reading {scope}", number + 1, len(walk.suspects))
    return changed, same


def _read(stores: Stores, scope: Scope, path: str, walk: _Walk) -> tuple[bytes, FoundFile] | None:
    """Read a file; what cannot be read is reported and stays as it was known."""
    try:
        found = stores.documents.read(scope, path)
        if found is not None:
            decode(found[0], path)
    except BackendError as error:
        why = "not UTF-8" if "not UTF-8" in str(error) else "unreadable"
        walk.skipped.append((path, why))
        return None
    if found is None:
        return None
    data, state = found
    if 0 <= time.time_ns() - state.changed_ns < _FRESH_NS:
        state = replace(state, stamp=0)
    return data, state


def _guard(stores: Stores, scope: Scope, walk: _Walk, changed: Sequence[FoundFile], *, accept_removals: bool) -> None:
    """Stop where more than half of the files vanished at once; a file that turned up under another name did not."""
    known = walk.known
    if accept_removals or len(walk.missing) * 2 <= len(known):
        return
    arrived: set[str] = set()
    for file in changed:
        if file.path not in known:
            found = _read(stores, scope, file.path, walk)
            if found:
                arrived.add(stores.prints.content(found[0]))
    vanished = [path for path in walk.missing if known[path].content_hash not in arrived]
    if len(vanished) * 2 > len(known):
        raise RemovalsNotAccepted(str(scope), len(vanished), len(known))


def _commit(
    stores: Stores,
    scope: Scope,
    walk: _Walk,
    changed: Sequence[FoundFile],
    counts: Counter[str],
    progress: Progress | None,
) -> None:
    """Send every changed and missing file through the gateway, in groups."""
    if not changed and not walk.missing:
        return
    arrivals = find_moves(stores, scope, walk.known, [file.path for file in changed], walk.missing)
    changed = sorted(changed, key=lambda file: file.path not in arrivals)  # a record arrives before it leaves
    group: list[Batch] = []
    size = 0
    total = len(changed) + len(walk.missing)
    for number, file in enumerate(changed):
        if progress and file.size >= _LARGE_BYTES:
            progress(f"reading {file.path} ({file.size // 1_000_000} MB)", number, total)
        found = _read(stores, scope, file.path, walk)
        counts["read"] += 1
        if found is None:
            continue
        counts["changed"] += 1
        group.append(_with_moves(writing.observation(stores, scope, file.path, found), arrivals))
        size += file.size
        if len(group) >= _GROUP_FILES or size >= _GROUP_BYTES:
            counts += commit_observed(stores, group, first_run=walk.first_run)
            group, size = [], 0
        if progress:
            progress(f"reading {scope}", number + 1, total)
    group.extend(writing.observation(stores, scope, path, None) for path in walk.missing)
    if group:
        counts += commit_observed(stores, group, first_run=walk.first_run)


def _with_moves(batch: Batch, arrivals: Arrivals) -> Batch:
    """Add what came into a file, unless it was written again since it was looked at for that."""
    operation = batch.operations[0]
    if not isinstance(operation, Observe) or operation.path not in arrivals:
        return batch
    content, moved = arrivals[operation.path]
    if content != operation.content_hash:
        return batch
    return replace(batch, operations=(replace(operation, moved=tuple(moved.items())),))


def _sum(left: SyncReport, right: SyncReport) -> SyncReport:
    values = {item.name: getattr(left, item.name) + getattr(right, item.name) for item in fields(SyncReport)}
    return SyncReport(**values)
