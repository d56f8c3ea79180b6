"""Settings that hold names of a person's own: teams, core blocks, tokens."""

from __future__ import annotations

import difflib
from collections.abc import Mapping

from memoranda.domain.block import DEFAULT_BLOCKS, BlockSpec
from memoranda.domain.scope import check_id
from memoranda.errors import ConfigurationError, InvalidInput


def teams_in(tables: Mapping[str, object]) -> dict[str, tuple[str, ...]]:
    """Read `[teams.<id>]`: team id -> ids of its members."""
    teams: dict[str, tuple[str, ...]] = {}
    if "teams" in tables:
        raise ConfigurationError('teams are tables: [teams.<id>] with members = ["agent-id", …]')
    for key, entry in tables.items():
        if not key.startswith("teams."):
            continue
        team = key.removeprefix("teams.")
        members = entry.get("members") if isinstance(entry, dict) and len(entry) == 1 else None
        if not isinstance(members, list):
            raise ConfigurationError(f'[{key}] needs exactly one key: members = ["agent-id", …]')
        try:
            teams[check_id("team", team)] = tuple(check_id("agent", str(member)) for member in members)
        except InvalidInput as error:
            raise ConfigurationError(f"[{key}]: {error}") from error
    return teams


def blocks_in(tables: Mapping[str, object]) -> tuple[BlockSpec, ...]:
    """Read `[[memory.core.blocks]]`; where it is given it replaces the default blocks."""
    if "memory.core.blocks" not in tables:
        return DEFAULT_BLOCKS
    entries = tables["memory.core.blocks"]
    if not isinstance(entries, list | tuple):
        raise ConfigurationError("memory.core.blocks is a list of tables: [[memory.core.blocks]] with label = …")
    found = [entry if isinstance(entry, BlockSpec) else _block(entry) for entry in entries]
    labels = [spec.label for spec in found]
    twice = next((label for label in labels if labels.count(label) > 1), "")
    if twice:
        raise ConfigurationError(f"[[memory.core.blocks]] names the block {twice!r} twice")
    return tuple(found)


def _block(entry: object) -> BlockSpec:
    kinds: dict[str, type] = {
        "label": str, "description": str, "value": str, "limit": int, "shared": bool, "read_only": bool, "agents": list,
    }  # fmt: skip
    if not isinstance(entry, dict) or "label" not in entry:
        raise ConfigurationError("each [[memory.core.blocks]] needs a label")
    for key, value in entry.items():
        if key not in kinds:
            near = difflib.get_close_matches(key, kinds, 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise ConfigurationError(f"unknown key {key!r} in [[memory.core.blocks]]{hint}")
        if not isinstance(value, kinds[key]) or (kinds[key] is int and isinstance(value, bool)):
            raise ConfigurationError(f"{key} in [[memory.core.blocks]] must be of type {kinds[key].__name__}")
    try:
        check_id("block", entry["label"])
        agents = tuple(check_id("agent", str(agent)) for agent in entry.get("agents", ()))
    except InvalidInput as error:
        raise ConfigurationError(f"[[memory.core.blocks]]: {error}") from error
    if entry.get("limit", 0) < 0:
        raise ConfigurationError("limit in [[memory.core.blocks]] is a number of characters, 0 for none")
    spec = BlockSpec(**{**entry, "agents": agents})
    if spec.limit and len(spec.value) > spec.limit:
        raise ConfigurationError(f"the value of the core block {spec.label!r} is longer than its limit of {spec.limit}")
    return spec


def tokens_in(tables: Mapping[str, object]) -> dict[str, str]:
    """Read `[server.tokens]`: token -> agent id."""
    entry = tables.get("server.tokens", {})
    if not isinstance(entry, dict):
        raise ConfigurationError('[server.tokens] is a table of "token" = "agent-id"')
    tokens: dict[str, str] = {}
    for token, agent in entry.items():
        if len(token) < 16:  # noqa: PLR2004 - shorter ones can be guessed
            raise ConfigurationError("a token in [server.tokens] is shorter than 16 characters")
        try:
            tokens[token] = check_id("agent", str(agent))
        except InvalidInput as error:
            raise ConfigurationError(f"[server.tokens]: {error}") from error
    return tokens
