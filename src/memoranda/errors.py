"""Every error the library raises, as one tree by what the caller can do about it.

MemorandaError
├── InvalidInput            the request is wrong; change it
│   └── MissingIdentity     no agent, team or principal was named
├── NotFound                nothing with this id for this caller
├── Conflict                the world changed in between; read again and retry
│   ├── RemovalsNotAccepted too much vanished at once; a person must say that it is meant
│   └── Ruled               a ruling on what waits cannot be made; `rule` says why
├── Denied                  this caller may not do this
├── IntegrityError          stored data is not what it was; run `memoranda verify`
├── BackendError            a file system, database or model failed; retry or look at the machine
│   ├── Busy                another process holds what is needed; retry
│   ├── TooLate             there was no answer in time
│   ├── LedgerUnavailable   the endpoint of the operational ledger is not well; nothing was read or written
│   └── ModelFailed         a language model did not answer
│       ├── Truncated       its answer was cut off at the limit of its length
│       ├── Unparsable      its answer is not of the form that was asked for
│       └── BudgetSpent     the day's tokens for jobs are used up; it was not asked
├── MissingExtra            an optional dependency is not installed
└── ConfigurationError      a setting is wrong

Expected outcomes (saved, duplicate, quarantined, refused) are values, not errors: see `domain/outcome.py`.
"""

from __future__ import annotations


class MemorandaError(Exception):
    """Base of all errors raised on purpose; `code` is stable and may be matched on."""

    code = "error"


class InvalidInput(MemorandaError):  # noqa: N818 - named by what the caller did
    """Raised when a request breaks a rule; the message names the rule and what to do."""

    code = "invalid_input"


class MissingIdentity(InvalidInput):
    """Raised when an operation needs to know who asks and nobody was named."""

    code = "missing_identity"


class NotFound(MemorandaError):  # noqa: N818
    """Raised when an id is unknown to this caller; another scope's id gives the same answer."""

    code = "not_found"


class Conflict(MemorandaError):  # noqa: N818
    """Raised when what was expected has changed in between; read again and retry."""

    code = "conflict"


class RemovalsNotAccepted(Conflict):
    """Raised when more than half of a workspace's files vanished at once and nobody has accepted that."""

    code = "removals_not_accepted"

    def __init__(self, scope: str, missing: int, known: int) -> None:
        super().__init__(
            f"{missing} of {known} memory files of {scope} are gone. Nothing was changed. "
            "If a disk or folder is not mounted, bring it back; if the removal is meant, "
            "run `memoranda sync --accept-removals`."
        )
        self.scope, self.missing, self.known = scope, missing, known


class Ruled(Conflict):
    """Raised when a person's ruling on a proposal cannot be made; it waits on, `rule` is stable."""

    code = "ruling"

    def __init__(self, rule: str, message: str) -> None:
        super().__init__(message)
        self.rule = rule


class Denied(MemorandaError):  # noqa: N818
    """Raised when the caller is known but may not do this."""

    code = "denied"


class IntegrityError(MemorandaError):
    """Raised when stored truth is damaged; nothing is repaired by dropping it."""

    code = "integrity"


class BackendError(MemorandaError):
    """Raised when the file system, a database or a model fails underneath."""

    code = "backend"


class Busy(BackendError):  # noqa: N818
    """Raised when a lock was not free in time; nothing was changed."""

    code = "busy"


class TooLate(BackendError):  # noqa: N818
    """Raised when recall did not answer in time and the settings say that the turn fails then."""

    code = "too_late"


class LedgerUnavailable(BackendError):  # noqa: N818
    """Raised when the endpoint of the operational ledger is not well; nothing was read or written."""

    code = "ledger_unavailable"


class ModelFailed(BackendError):  # noqa: N818
    """Raised when a language model gives no answer that can be used; nothing was written because of it.

    `input_tokens` and `output_tokens` are what it used all the same, as far as it said.
    """

    code = "model_failed"

    def __init__(self, message: str, *, input_tokens: int = 0, output_tokens: int = 0) -> None:
        super().__init__(message)
        self.input_tokens, self.output_tokens = input_tokens, output_tokens


class Truncated(ModelFailed):
    """Raised when a model's answer was cut off at the limit of its length."""

    code = "model_truncated"


class Unparsable(ModelFailed):
    """Raised when a model's answer is not of the form that was asked for, after one request to mend it."""

    code = "model_unparsable"


class BudgetSpent(ModelFailed):
    """Raised when the day's tokens for jobs are used up; the model was not asked."""

    code = "budget_spent"


class MissingExtra(MemorandaError):  # noqa: N818
    """Raised when an optional dependency is needed; the message carries the install line."""

    code = "missing_extra"

    def __init__(self, extra: str, purpose: str) -> None:
        super().__init__(f"{purpose} needs an optional part: pip install 'memoranda[{extra}]'")
        self.extra = extra


class ConfigurationError(MemorandaError):
    """Raised when a setting is unknown or has a value it cannot have."""

    code = "configuration"
