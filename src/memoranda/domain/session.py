"""A session: one conversation of one agent, who hears it, and whether it has read untrusted content.

Taint is sticky: only a new session is clean again.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Literal

from memoranda.domain.fingerprint import INVISIBLE
from memoranda.domain.scope import Scope

Audience = Literal["private", "shared"]
AUDIENCES: tuple[Audience, ...] = ("private", "shared")

RESERVED = "__"
"""Namespaces of private values that begin so are the product's own, and do not count."""

JOBS = f"{RESERVED}jobs"
"""Namespace in which jobs keep how far they have come in a session."""

_ID = re.compile(r"ses_[0-9a-z]+")


def sessions_named(text: str) -> tuple[str, ...]:
    """Return the ids of sessions in a text, whatever is around them and in whatever case they are written."""
    plain = unicodedata.normalize("NFKC", text).translate(INVISIBLE).casefold()
    return tuple(dict.fromkeys(_ID.findall(plain)))


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionState:
    """What is known of a session. Times are "" for never; `key` is the host's own name for it.

    `taint_source` says what tainted it first: `tool:<name>`, `message:<session id>`. `settled` is set once a sync has
    looked at the files after the session was closed.
    """

    id: str
    scope: Scope
    key: str
    audience: Audience = "private"
    opened_at: str
    tainted_at: str = ""
    taint_source: str = ""
    closed_at: str = ""
    settled: bool = False

    @property
    def is_open(self) -> bool:
        """Whether it goes on."""
        return not self.closed_at

    @property
    def is_tainted(self) -> bool:
        """Whether untrusted content has been read in it."""
        return bool(self.tainted_at)
