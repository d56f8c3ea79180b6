"""How every error looks from outside: one table from error class to exit code, HTTP status and RPC code.

A batch that was refused or in conflict is a value inside the library; `ensure_done` turns it into an error
here, so that no interface can show it as a success.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from memoranda.domain.outcome import BatchOutcome, Conflicted, Refused
from memoranda.errors import (
    BackendError,
    BudgetSpent,
    Busy,
    ConfigurationError,
    Conflict,
    Denied,
    IntegrityError,
    InvalidInput,
    LedgerUnavailable,
    MemorandaError,
    MissingExtra,
    MissingIdentity,
    ModelFailed,
    NotFound,
    RemovalsNotAccepted,
    Ruled,
    TooLate,
    Truncated,
    Unparsable,
)


class RefusedWrite(MemorandaError):  # noqa: N818 - named by what happened
    """Raised when a write breaks a rule of the gateway; nothing was written, `rule` is stable."""

    code = "refused"

    def __init__(self, refused: Refused) -> None:
        super().__init__(refused.message)
        self.rule = refused.rule


class ConflictedWrite(Conflict):
    """Raised when a person changed the file in between; the offered text is kept as `checkpoint_id`."""

    code = "write_conflict"

    def __init__(self, conflicted: Conflicted) -> None:
        super().__init__(conflicted.message)
        self.path, self.checkpoint_id = conflicted.path, conflicted.checkpoint_id


class Unauthorized(Denied):
    """Raised when an HTTP request carries no valid token."""

    code = "unauthorized"


@dataclass(frozen=True, slots=True)
class Answer:
    """What an error becomes: process exit code, HTTP status, JSON-RPC error code."""

    exit_code: int
    http: int
    rpc: int


TABLE: Mapping[type[MemorandaError], Answer] = MappingProxyType(
    {
        MemorandaError: Answer(1, 500, -32000),
        InvalidInput: Answer(2, 400, -32602),
        MissingIdentity: Answer(3, 400, -32602),
        NotFound: Answer(4, 404, -32001),
        Conflict: Answer(5, 409, -32009),
        RemovalsNotAccepted: Answer(6, 409, -32010),
        ConflictedWrite: Answer(7, 409, -32011),
        RefusedWrite: Answer(8, 422, -32012),
        Ruled: Answer(16, 409, -32013),
        Denied: Answer(9, 403, -32030),
        Unauthorized: Answer(10, 401, -32031),
        IntegrityError: Answer(11, 500, -32040),
        BackendError: Answer(12, 502, -32050),
        Busy: Answer(13, 503, -32051),
        TooLate: Answer(17, 504, -32052),
        LedgerUnavailable: Answer(22, 503, -32057),
        ModelFailed: Answer(18, 502, -32053),
        Truncated: Answer(19, 502, -32054),
        Unparsable: Answer(20, 502, -32055),
        BudgetSpent: Answer(21, 429, -32056),
        MissingExtra: Answer(14, 501, -32601),
        ConfigurationError: Answer(15, 500, -32060),
    }
)
"""2 is also the exit code for a wrong option; -32001, -32030, -32601 and -32602 are MobKit's codes."""

INTERRUPTED = 130
"""Exit code after Ctrl-C: 128 + SIGINT, as shells report it."""

BROKEN_PIPE = 141
"""Exit code when the reader of our output went away: 128 + SIGPIPE, as shells report it."""


def answer_to(error: MemorandaError) -> Answer:
    """Return the table's row for an error; a class of a plug-in gets the row of its nearest ancestor."""
    return next(TABLE[cls] for cls in type(error).__mro__ if cls in TABLE)


def describe(error: MemorandaError) -> dict[str, object]:
    """Return the one JSON shape of an error, `{"error": {"code", "message", ...}}`, with its own data."""
    body: dict[str, object] = {"code": error.code, "message": str(error)}
    match error:
        case RefusedWrite() | Ruled():
            body["rule"] = error.rule
        case ConflictedWrite():
            body |= {"path": error.path, "checkpointId": error.checkpoint_id}
        case RemovalsNotAccepted():
            body |= {"scope": error.scope, "missing": error.missing, "known": error.known}
        case MissingExtra():
            body["extra"] = error.extra
        case _:
            pass
    return {"error": body}


def ensure_done(outcome: BatchOutcome) -> BatchOutcome:
    """Return the outcome if the batch took effect.

    Raises:
        RefusedWrite: an item was refused; nothing of the batch was written.
        ConflictedWrite: a person changed the file in between; nothing was written.
    """
    for item in outcome.items:
        if isinstance(item, Refused):
            raise RefusedWrite(item)
        if isinstance(item, Conflicted):
            raise ConflictedWrite(item)
    return outcome
