"""An injection: a record or turn that entered a prompt."""

from __future__ import annotations

from dataclasses import dataclass

from memoranda.domain.scope import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Injection:
    """What entered which prompt, when, and where from. `epoch` counts the session's compactions, `size` is bytes."""

    at: str
    scope: Scope
    session: str
    epoch: int
    record: str
    surface: str
    size: int
