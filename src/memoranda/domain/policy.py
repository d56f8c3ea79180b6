"""The rules of writing that need nothing but the request: who may write where, which paths, how much.

Each rule answers None or a Refused that names it and says what to do; none repeats the offered text.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Literal

from memoranda.domain.outcome import Refused
from memoranda.domain.record import Trust
from memoranda.domain.scope import Principal, Scope

WriteMode = Literal["hybrid", "prompt-only", "search-only", "off"]

LONG_TERM = "MEMORY.md"
NOTES = "memory/notes.md"
MAX_WRITE_BYTES = 50 * 1024
MAX_NAME_BYTES = 200
PERSONS_TEXT = (
    "this would remove, replace or move a person's own text; an agent may add beside it, a person may change it"
)
RESERVED = re.compile(r"<!--\s*memoranda:(?:withheld|erased)", re.IGNORECASE)
"""Marks that stand for a text in what is kept; nobody may write one."""

_FOLDER = "memory/"
_DEVICES = frozenset({"con", "prn", "aux", "nul", *(f"{name}{n}" for name in ("com", "lpt") for n in range(1, 10))})


def default_file(mode: WriteMode) -> str:
    """Return where a save without a file goes."""
    return NOTES if mode == "search-only" else LONG_TERM


def may_write(author: Principal, scope: Scope, mode: WriteMode, *, proposes: bool = False) -> Refused | None:
    """Step 1: an agent writes in its own scope alone, and only where the write mode lets it.

    It may offer something to another scope by a proposal.
    """
    if not author.is_model:
        return None
    if author.kind == "agent" and scope != Scope("agent", author.id) and not proposes:
        return Refused(
            "scope",
            f"agent {author.id} may write in its own memory only; shared memory changes by a proposal",
        )
    if mode == "off":
        return Refused("mode", "writing is switched off (agent_write_mode = off); ask a person to save it")
    return None


def may_write_file(author: Principal, path: str, mode: WriteMode) -> Refused | None:
    """Step 1, for one file: the write mode's files."""
    if not author.is_model or mode == "hybrid":
        return None
    long_term = not path.startswith(_FOLDER)
    if mode == "prompt-only" and not long_term:
        return Refused("mode", f"agent_write_mode is prompt-only: write to {LONG_TERM}")
    if mode == "search-only" and long_term:
        return Refused("mode", f"agent_write_mode is search-only: write to a file in memory/, such as {NOTES}")
    return None


def path_allowed(path: str) -> Refused | None:
    """Step 2: `MEMORY.md`, `memory.md` or `memory/<name>.md`, one level deep."""
    why = _path_fault(path)
    if why is None:
        return None
    return Refused("path", f"this file name is not allowed: {why}. Use MEMORY.md, memory.md or memory/<name>.md")


def _path_fault(path: str) -> str | None:  # noqa: PLR0911 - one return per rule reads best
    if not path:
        return "it is empty"
    try:
        encoded = path.encode()
    except UnicodeEncodeError:
        return "it is not valid Unicode"
    if "\\" in path:
        return "it has a backslash"
    if path.startswith(("/", "~")) or ":" in path:
        return "it is absolute or names a drive"
    if any(character.isspace() or unicodedata.category(character) in ("Cc", "Cf", "Zl", "Zp") for character in path):
        return "it has white space or a control character"
    parts = path.split("/")
    if ".." in parts or "." in parts or "" in parts:
        return "it has an empty part, '.' or '..'"
    if path in (LONG_TERM, "memory.md"):
        return None
    if len(parts) != 2 or parts[0] != "memory":  # noqa: PLR2004 - folder and name
        return "it is not one level below memory/"
    return _name_fault(parts[1], len(encoded))


def _name_fault(name: str, size: int) -> str | None:
    if name.startswith("."):
        return "it starts with a dot"
    if not name.endswith(".md"):
        return "it does not end in .md"
    if size > MAX_NAME_BYTES:
        return f"it is longer than {MAX_NAME_BYTES} bytes"
    if any(character in name for character in '<>"|?*'):
        return "it has a character that not every file system takes"
    if name.split(".", maxsplit=1)[0].casefold() in _DEVICES:
        return "it is a device name on some systems"
    return None


def text_allowed(text: str) -> Refused | None:
    """Step 2, for the content: not empty, valid, at most 50 KiB."""
    if not text.strip():
        return Refused("empty", "there is no text to save")
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        return Refused("encoding", "the text is not valid Unicode (it holds half of a surrogate pair)")
    if RESERVED.search(text):
        return Refused("reserved", "the text holds a mark that only Memoranda writes (memoranda:withheld, …:erased)")
    if "\0" in text:
        return Refused("encoding", "the text holds a NUL character, which no text file may have")
    if size > MAX_WRITE_BYTES:
        return Refused(
            "size",
            f"the text has {size} bytes; one write takes at most {MAX_WRITE_BYTES} (50 KiB): save it in parts",
        )
    return None


def may_change(author: Principal, trust: Trust) -> Refused | None:
    """Step 1, for a record: a model never removes or replaces what stands above `agent_observed`."""
    if author.is_bound and trust > Trust.AGENT_OBSERVED:
        return Refused("trust", PERSONS_TEXT)
    return None


def writes_as_person(author: Principal, reason: str) -> bool:
    """Whether a batch makes a file one that a person has written into; taking back and deleting write nothing."""
    return not author.is_model and reason in ("save", "replace", "edit", "block")


def trust_of(author: Principal) -> Trust:
    """Return the trust that a door gives: set by who writes, never by what is written."""
    match author.kind:
        case "operator":
            return Trust.OPERATOR
        case "application" | "external":
            return Trust.APPLICATION
        case "importer":
            return Trust.UNTRUSTED
        case "agent" | "steward" | "distiller":
            return Trust.AGENT_OBSERVED
