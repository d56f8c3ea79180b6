"""Whose memory it is (scope), who acts (principal) and who reads (viewer).

Scopes are compared for equality and never by prefix or pattern.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from memoranda.domain.given import check_str
from memoranda.errors import InvalidInput, MissingIdentity

ScopeKind = Literal["agent", "team", "operator", "realm"]
PrincipalKind = Literal["operator", "application", "agent", "steward", "distiller", "importer", "external"]

_ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_WITH_ID: tuple[ScopeKind, ...] = ("agent", "team")
_MODEL_AUTHORS = ("agent", "steward", "distiller")
_JOBS = ("steward", "distiller", "importer")


def check_id(kind: str, value: str | None) -> str:
    """Return the id if it is a legal agent or team id.

    Raises:
        MissingIdentity: it is absent or empty; ids are never defaulted inside the library.
        InvalidInput: it has another form than `[a-z0-9][a-z0-9_-]{0,63}`.
    """
    if value is None or value == "":
        raise MissingIdentity(f"no {kind} id was given; name one (there is no default)")
    check_str(**{f"{kind} id": value})
    if not _ID.fullmatch(value):
        raise InvalidInput(
            f"{kind} id {value[:80]!r} is not allowed: use 1 to 64 of a-z, 0-9, '_' and '-', "
            "starting with a letter or digit"
        )
    return value


@dataclass(frozen=True, order=True, slots=True)
class Scope:
    """Whose memory it is: `agent:<id>`, `team:<id>`, `operator` or `realm`."""

    kind: ScopeKind
    id: str = ""

    def __post_init__(self) -> None:
        if self.kind in _WITH_ID:
            check_id(self.kind, self.id)
        elif self.kind not in ("operator", "realm"):
            raise InvalidInput(f"unknown scope kind {self.kind!r}: use agent, team, operator or realm")
        elif self.id:
            raise InvalidInput(f"scope {self.kind!r} takes no id")

    def __str__(self) -> str:
        return f"{self.kind}:{self.id}" if self.id else self.kind

    @property
    def folder(self) -> str:
        """Name of this scope's index folder; ids hold no '+', so the name is unique."""
        return f"{self.kind}+{self.id}"

    @classmethod
    def parse(cls, text: str) -> Scope:
        """Read `kind:id` or `kind`; raises InvalidInput for anything else."""
        kind, _, ident = text.partition(":")
        if kind not in ("agent", "team", "operator", "realm"):
            raise InvalidInput(f"unknown scope {text[:80]!r}: use agent:<id>, team:<id>, operator or realm")
        return cls(kind, ident)  # type: ignore[arg-type]  # checked on the line above


OPERATOR = Scope("operator")
REALM = Scope("realm")


def agent_scope(agent: str | None) -> Scope:
    """Return the scope of an agent; raises MissingIdentity or InvalidInput for a bad id."""
    return Scope("agent", check_id("agent", agent))


@dataclass(frozen=True, order=True, slots=True)
class Principal:
    """Who acts; set by the door a request came through, never by its payload."""

    kind: PrincipalKind
    id: str = ""

    def __str__(self) -> str:
        return f"{self.kind}:{self.id}" if self.id else self.kind

    @property
    def is_person(self) -> bool:
        """Whether a person stands behind it: the operator or an application of theirs."""
        return self.kind in ("operator", "application")

    @property
    def is_model(self) -> bool:
        """Whether a language model decides what it writes."""
        return self.kind in _MODEL_AUTHORS

    @property
    def is_job(self) -> bool:
        """Whether it is background work or an import."""
        return self.kind in _JOBS

    @property
    def is_bound(self) -> bool:
        """Whether it may not undo what a person did: a model or a job, whatever it works for."""
        return self.is_model or self.is_job

    @classmethod
    def parse(cls, text: str) -> Principal:
        """Read what `str()` wrote."""
        kind, _, ident = text.partition(":")
        return cls(kind, ident)  # type: ignore[arg-type]  # written by str() alone


APPLICATION = Principal("application")
EXTERNAL = Principal("external")


@dataclass(frozen=True, slots=True)
class Viewer:
    """A principal plus the scopes it may read; every read takes one.

    `own` is the scope the viewer writes to; it is always among `scopes`.
    """

    principal: Principal
    own: Scope
    scopes: frozenset[Scope]

    def __post_init__(self) -> None:
        if self.own not in self.scopes:
            raise InvalidInput(f"viewer of {self.own} must be able to read it")
