"""Says what the home holds, and what a person should look at."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from memoranda.domain.block import CORE
from memoranda.domain.record import Status
from memoranda.domain.report import Finding, ScopeStatus, Skipped, StatusReport
from memoranda.domain.scope import Scope
from memoranda.errors import BackendError, ConfigurationError, MissingExtra
from memoranda.ports import Embedder
from memoranda.services import core_blocks, episodes, erase
from memoranda.services.meaning import members_of
from memoranda.services.stores import Stores
from memoranda.services.withheld import withheld_lines


def status(stores: Stores, *, home: str, embedder: str, reason: str, backend: str, index_bytes: int) -> StatusReport:
    """Count what every scope holds; files and index are looked at, nothing is changed."""
    scopes = sorted({*stores.documents.scopes(), *stores.ledger.scopes()})
    events, checkpoints, ledger_bytes = stores.ledger.size()
    return StatusReport(
        home=home,
        embedder=embedder,
        embedder_reason=reason,
        backend=backend,
        scopes=tuple(_scope(stores, scope) for scope in scopes),
        skipped=tuple(Skipped(str(scope), path, why) for scope in scopes for path, why in stores.ledger.skipped(scope)),
        withheld=tuple(item for scope in scopes for item in withheld_lines(stores, scope, stores.ledger.files(scope))),
        ledger_events=events,
        ledger_bytes=ledger_bytes,
        index_bytes=index_bytes,
        checkpoints=checkpoints,
    )


def _scope(stores: Stores, scope: Scope) -> ScopeStatus:
    counts: Mapping[str, int] = stores.ledger.counts(scope)
    state = stores.index.state(scope)
    return ScopeStatus(
        scope=str(scope),
        workspace=stores.documents.workspace(scope),
        files=len(stores.ledger.files(scope)),
        active=counts.get(Status.ACTIVE, 0),
        withheld=counts.get(Status.WITHHELD, 0),
        retired=counts.get(Status.RETIRED, 0) + counts.get(Status.SUPERSEDED, 0),
        indexed_passages=state.passages,
        vectors=state.vectors,
        pending_vectors=state.pending,
        waiting=stores.ledger.waiting(scope, at=stores.clock.now()),
    )


def doctor(stores: Stores, report: StatusReport, opened: Callable[[], Embedder | None]) -> Iterator[Finding]:
    """Yield what is well and what is not, each with advice; embedders behind a server are asked whether they answer."""
    yield Finding("ok", "home", f"{report.home} can be read and written")
    yield Finding(
        "warning" if report.embedder == "none" else "ok",
        "embedder",
        f"{report.embedder}: {report.embedder_reason}",
    )
    yield from _unanswering(opened)
    main = Scope("agent", "main")
    home = Path(report.home)
    if (home / "agents" / "main").is_dir() and ((home / "MEMORY.md").exists() or (home / "memory").is_dir()):
        yield Finding(
            "warning", "workspace", "both the home and agents/main/ hold notes of agent main; agents/main/ is read",
            "move MEMORY.md and memory/ of the home into agents/main/, then run `memoranda sync`",
        )  # fmt: skip
    yield from _unsettled(stores)
    yield from _core_blocks(stores)
    yield from _logs(stores)
    for scope in sorted({main, *stores.ledger.scopes()}):
        if stores.ledger.intents(scope):
            yield Finding(
                "warning",
                str(scope),
                "a write was interrupted",
                "run `memoranda sync`: it is finished or taken back",
            )
        if stores.index.state(scope).applied != stores.ledger.last_seq(scope):
            yield Finding("warning", str(scope), "the index is behind the ledger", "run `memoranda sync`")
    for item in report.scopes:
        if item.pending_vectors:
            yield Finding(
                "warning", item.scope, f"{item.pending_vectors} passages wait for vectors; keyword search finds them",
                "run `memoranda sync` or `memoranda serve`",
            )  # fmt: skip
    for name in stores.documents.odd_folders():
        yield Finding(
            "warning", name, "not read: the folder's name is no agent or team id", "rename it to a-z, 0-9, '_', '-'"
        )
    for place in report.withheld:
        yield Finding(
            "warning", f"{place.scope} {place.path}:{place.line}", f"a secret ({place.secret_class}) is withheld",
            "move it to a password manager; the file is left as it is",
        )  # fmt: skip
    for odd in report.skipped:
        yield Finding("warning", f"{odd.scope} {odd.path}", f"not read: {odd.reason}")


def _core_blocks(stores: Stores) -> Iterator[Finding]:
    """Core blocks that are in no prompt: too long, under a name that no setting has, or under one that is taken."""
    for scope in sorted({*stores.ledger.scopes(), *stores.documents.scopes()}):
        if scope.kind not in ("agent", "realm"):
            continue
        if core_blocks.is_unreadable(stores, scope):
            yield Finding(
                "error", f"{scope} {CORE}", "the file of core blocks cannot be read; no prompt has them",
                _how_to_read_again(stores, scope),
            )  # fmt: skip
        for label in core_blocks.repeated_labels(stores, scope):
            yield Finding(
                "warning", f"{scope} {CORE}",
                f"the section {label!r} stands more than once; only the first is a core block, the others are in no "
                "prompt",
                "move what they hold into the first, and take their headings out",
            )  # fmt: skip
        for label in core_blocks.odd_labels(stores, scope):
            yield Finding(
                "warning", f"{scope} {CORE}", f"the section {label!r} is no core block and in no prompt",
                "name it in [[memory.core.blocks]] of memoranda.toml, or move it to MEMORY.md",
            )  # fmt: skip
        for block in core_blocks.too_long(stores, scope):
            yield Finding(
                "warning", f"{scope} {CORE}",
                f"the block {block.spec.label} has {block.over} characters too many and is in no prompt", "shorten it",
            )  # fmt: skip


def _how_to_read_again(stores: Stores, scope: Scope) -> str:
    """What to do with a file of core blocks that is not text: `undo` alone refuses, for it would overwrite it."""
    mend = "open it in an editor and save it as UTF-8"
    if scope.kind != "agent" or stores.ledger.file(scope, CORE) is None:
        return mend
    agent = "" if scope.id == "main" else f" --agent {scope.id}"
    return (
        f"{mend}; to go back to its last readable state instead, move it away, run `memoranda sync --accept-removals`, "
        f"and then `memoranda undo{agent}`"
    )


def _logs(stores: Stores) -> Iterator[Finding]:
    """A zone that nobody knows, and lines of logs that nobody can read: they stay, and are in no answer."""
    if stores.zone.problem():
        yield Finding("warning", "time zone", stores.zone.problem(), "name one such as Europe/Berlin, or UTC")
    for scope in stores.documents.scopes():
        for place, why in episodes.unreadable(stores, scope):
            yield Finding("warning", f"{scope} {place}", f"not read: {why}", "mend the line, or leave it as it is")


def _unanswering(opened: Callable[[], Embedder | None]) -> Iterator[Finding]:
    """Yield the embedders that cannot be used as things are."""
    try:
        embedder = opened()
    except (ConfigurationError, MissingExtra) as error:
        yield Finding("problem", "embedder", str(error))
        return
    for member in members_of(embedder) if embedder else ():
        try:
            _ = member.identity
        except (BackendError, MissingExtra) as error:
            yield Finding("warning", "embedder", str(error))


def _unsettled(stores: Stores) -> Iterator[Finding]:
    """What waits for a person, and what keeps writes waiting."""
    if erase.pending(stores):
        yield Finding("error", "erase", "an erasure was interrupted", "ask for it again: `memoranda erase`")
    for scope in stores.ledger.scopes():
        waiting = stores.ledger.waiting(scope, at=stores.clock.now())
        if waiting:
            yield Finding(
                "warning", str(scope), f"{waiting} proposals wait for a ruling", "run `memoranda review list`"
            )
    for session in stores.ledger.sessions(None):
        if session.is_tainted:
            yield Finding(
                "warning", f"{session.scope} session {session.key}",
                "it has read untrusted content: what models write waits for a person",
                "when it is over, run `memoranda session close`",
            )  # fmt: skip
