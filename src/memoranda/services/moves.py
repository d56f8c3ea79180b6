"""Finds records that moved from one file of a workspace to another: cut and paste, split and renamed files."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Mapping, Sequence

from memoranda.domain.entry import FileState
from memoranda.domain.markdown import parse
from memoranda.domain.record import Record, Status
from memoranda.domain.scope import Scope
from memoranda.errors import BackendError
from memoranda.services.stores import Stores
from memoranda.services.working_file import as_known, block_hashes, decode

Arrivals = dict[str, tuple[str, dict[int, str]]]
"""Path -> hash of the content that was looked at, and index of a new block -> id of the record that came there."""


def find_moves(
    stores: Stores, scope: Scope, known: Mapping[str, FileState], changed: Sequence[str], missing: Sequence[str]
) -> Arrivals:
    """Match blocks that left a changed or missing file with equal blocks that turned up in a changed one.

    `known` are the files that the ledger knows.
    """
    if not missing and not any(path in known for path in changed):
        return {}
    gone_files = frozenset(missing)
    fresh: dict[str, tuple[str, list[str]]] = {}
    departed: defaultdict[str, deque[Record]] = defaultdict(deque)
    surplus: dict[str, Counter[str]] = {}
    for path in [*changed, *missing]:
        looked_at = _hashes_now(stores, scope, path) if path not in gone_files else ("", [])
        if looked_at is None:
            continue
        fresh[path] = looked_at
        now = looked_at[1]
        before = as_known(stores, scope, path)
        left, came = Counter(before.hashes), Counter(now)
        surplus[path] = came - left
        gone = left - came
        for name, record in zip(before.hashes, before.known, strict=True):
            if gone[name] and record is not None and _moves(record):
                gone[name] -= 1
                departed[name].append(record)
    arrivals: Arrivals = {}
    for path, (content, names) in fresh.items():
        for index, name in enumerate(names):
            if surplus[path][name] and departed.get(name):
                surplus[path][name] -= 1
                arrivals.setdefault(path, (content, {}))[1][index] = departed[name].popleft().id
    return arrivals


def _moves(record: Record) -> bool:
    """Whether a record goes along with its text: what waits for a person's eyes still waits in another file."""
    return record.status is Status.ACTIVE or record.reason.startswith("review:")


def _hashes_now(stores: Stores, scope: Scope, path: str) -> tuple[str, list[str]] | None:
    try:
        found = stores.documents.read(scope, path)
        if found is None:
            return "", []
        return stores.prints.content(found[0]), block_hashes(stores, parse(decode(found[0], path)))
    except BackendError:
        return None
