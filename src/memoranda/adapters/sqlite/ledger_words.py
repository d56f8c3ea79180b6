"""Tells what people and models said in an event's payload from what the ledger itself writes there."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from memoranda.domain.erasure import leaves

OWN = frozenset(
    {
        "after", "at", "audience", "author", "base", "batch", "before", "binds", "block_hash", "body", "bytes",
        "capped", "checkpoint", "closed_at", "content", "content_hash", "decided_at", "decided_by", "derived_from",
        "epistemic", "events", "expected", "expires_at", "files", "group", "grp", "hash", "id", "key_id", "kind",
        "lifted_at", "lifted_by", "message_from", "message_to", "near", "near_key", "objects", "old", "op",
        "opened_at", "operation", "path", "paths", "reason", "record_id", "record_ids", "recorded_at", "records",
        "residue", "resolved_at", "resolved_by", "retired_at", "retired_by", "rules", "salt", "scope", "session_id",
        "state", "status", "successors", "superseded_by", "supersedes", "tainted_at", "text", "trust", "valid_from",
        "valid_to", "value", "value_key", "verification",
    }
)  # fmt: skip
"""Fields that hold ids, times, hashes, states and names of files; every other field holds words."""

KEPT_KINDS = ("batch.", "checkpoints.", "memory.", "operator.")
"""Events whose payloads hold names and hashes alone, which the proof of files and checkpoints needs."""

_SAID_KINDS = ("memory.assertion.", "memory.conflict.")
"""Events among those whose payloads hold words all the same."""

_PACKED = frozenset(
    {"derived_from", "heading", "operations", "provenance", "record_ids", "sides", "successors", "tags"}
)
"""Fields that hold JSON as text."""

_GIVEN = frozenset({"metadata"})
"""Fields that hold JSON as text of which every name and value is the caller's."""


def is_kept(kind: str) -> bool:
    """Whether events of a kind hold names and hashes alone, so that no erasure empties them."""
    return kind.startswith(KEPT_KINDS) and not kind.startswith(_SAID_KINDS)


def said(kind: str, payload: str) -> str:
    """Return the words in an event's payload, one a line."""
    if not payload or is_kept(kind):
        return ""
    return "\n".join(text for own, text in _leaves("", json.loads(payload)) if not own)


def written(kind: str, payload: str) -> str:
    """Return what the ledger itself wrote into an event's payload, one a line."""
    if is_kept(kind):
        return payload
    return "\n".join(text for own, text in _leaves("", json.loads(payload)) if own) if payload else ""


def _leaves(name: str, value: Any, *, own: bool = False) -> Iterator[tuple[bool, str]]:
    """Yield every name and text in a value with whether the ledger wrote it itself."""
    own = own or name in OWN
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield True, str(key)
            yield from _leaves(str(key), item, own=own)
    elif isinstance(value, list):
        for item in value:
            yield from _leaves("", item, own=own)
    elif isinstance(value, str) and name in _GIVEN:
        yield from ((False, text) for text in leaves(value))
    elif isinstance(value, str) and name in _PACKED and value[:1] in ("[", "{"):
        yield from _leaves(name, json.loads(value), own=own)
    elif isinstance(value, str):
        yield own, value
