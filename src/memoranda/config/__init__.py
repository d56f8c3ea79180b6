"""Settings: one frozen dataclass, one reader. `memoranda.toml`, overridden by `MEMORANDA_*` and by the caller."""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from memoranda.config.named import blocks_in, teams_in, tokens_in
from memoranda.config.settings import SETTINGS, Setting
from memoranda.domain.block import BlockSpec
from memoranda.domain.content_trust import ContentTrust
from memoranda.domain.policy import WriteMode
from memoranda.domain.query import Strategy
from memoranda.domain.settings import (
    EmbedderSettings,
    JobSettings,
    ModelSettings,
    PromptSettings,
    QmdSettings,
    SessionSettings,
)
from memoranda.errors import ConfigurationError

FILE = "memoranda.toml"
PREFIX = "MEMORANDA_"
HIDDEN = "(hidden)"
"""What is shown in the place of a secret."""


@dataclass(frozen=True, slots=True)
class ConfigValue:
    """One setting, with where it came from: `default`, `memoranda.toml`, an environment variable or `caller`."""

    key: str
    value: object
    source: str
    default: object


@dataclass(frozen=True, slots=True)
class Config:
    """All settings. `provider` "" means detected; weights None mean the embedder's measured one."""

    style: str
    agent_write_mode: WriteMode
    llm_writes: str
    external_edits: str
    recorder_tool: bool
    content_trust: ContentTrust
    provider: str
    backend: str
    qmd: QmdSettings
    ledger_endpoint: str
    disable_rag: bool
    citations: str
    search_merge_strategy: Strategy
    vector_weight: float | None
    keyword_weight: float | None
    min_score: float
    prompt: PromptSettings
    sessions: SessionSettings
    llm: ModelSettings
    jobs: JobSettings
    blocks: tuple[BlockSpec, ...]
    teams: Mapping[str, tuple[str, ...]]
    host: str
    port: int
    tokens: Mapping[str, str]
    embedding: EmbedderSettings
    all: tuple[ConfigValue, ...]

    def shown(self, key: str, value: object, source: str) -> Config:
        """Return the same settings, with another value shown for one key: what was detected where none was set."""
        return replace(self, all=tuple(replace(v, value=value, source=source) if v.key == key else v for v in self.all))

    def values(self) -> tuple[ConfigValue, ...]:
        """Return every setting with its source, in the order of `docs/reference/settings.md`."""
        return self.all


_SECTIONS = (f"{PREFIX}MEMORY_", f"{PREFIX}SERVER_", f"{PREFIX}LLM_")
_TABLES = ("teams", "server.tokens", "memory.core.blocks")
"""Keys that hold tables of a person's own names; they come from `memoranda.toml` alone."""


def load(
    home: Path, *, settings: Mapping[str, object] | None = None, environ: Mapping[str, str] | None = None
) -> Config:
    """Read all settings of a home.

    Raises:
        ConfigurationError: a key or value is unknown; the message names the nearest right one.
    """
    known = {setting.key: setting for setting in SETTINGS}
    tables: dict[str, object] = {}
    values: dict[str, tuple[object, str]] = {}
    for key, value in _flatten(_read(home / FILE)).items():
        if key in _TABLES or key.startswith("teams."):
            tables[key] = value
        else:
            values[key] = (value, FILE)
    by_variable = {_variable(key): key for key in known}
    found = os.environ if environ is None else environ
    for name, text in sorted(found.items()):
        if name in by_variable:
            values[by_variable[name]] = (text, name)
        elif name.startswith(_SECTIONS):
            near = difflib.get_close_matches(name, by_variable, 1, 0.5)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise ConfigurationError(f"unknown setting in the environment: {name}{hint}")
    for key, value in (settings or {}).items():
        if key == "memory.core.blocks":
            tables[key] = value
        else:
            values[key] = (value, "caller")
    checked = {key: _check(known, key, value, source) for key, (value, source) in values.items()}
    used = {key: checked.get(key, item.default) for key, item in known.items()}
    listed = tuple(
        ConfigValue(
            key,
            HIDDEN if item.secret and used[key] else used[key],
            values[key][1] if key in values else "default",
            item.default,
        )
        for key, item in known.items()
    )
    used["openai_key"] = found.get("OPENAI_API_KEY", "")
    used["llm_key"] = _key_of(str(used["llm.api_key_env"]), found)
    return _config(used, tables, listed)


def _key_of(name: str, found: Mapping[str, str]) -> str:
    if name and name not in found:
        raise ConfigurationError(f"llm.api_key_env names {name[:80]}, and no such variable is set")
    return found.get(name, "")


def _variable(key: str) -> str:
    """`memory.recall.min_score` -> `MEMORANDA_MEMORY_RECALL_MIN_SCORE`."""
    return PREFIX + key.replace(".", "_").upper()


def _read(path: Path) -> dict[str, object]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path} cannot be read: {type(error).__name__}") from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"{path} is no valid TOML: {error}") from error


def _flatten(values: Mapping[str, object], prefix: str = "") -> dict[str, object]:
    flat: dict[str, object] = {}
    for name, value in values.items():
        key = f"{prefix}{name}"
        if isinstance(value, dict) and key not in _TABLES:
            flat.update(_flatten(value, f"{key}."))
        elif isinstance(value, dict) and key == "teams":
            flat.update({f"teams.{team}": entry for team, entry in value.items()})
        else:
            flat[key] = value
    return flat


def _check(known: Mapping[str, Setting], key: str, value: object, source: str) -> object:
    if key not in known:
        near = difflib.get_close_matches(key, [*known, *_TABLES], 1, 0.5)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise ConfigurationError(f"unknown setting {key!r} ({source}){hint}")
    if known[key].outside and source == FILE:
        raise ConfigurationError(
            f"setting {key} is not read from {FILE}, which may come with a project: set {_variable(key)} instead"
        )
    if value is None:
        return known[key].default
    try:
        return known[key].check(value)
    except ValueError as error:
        raise ConfigurationError(f"setting {key} ({source}) has a value it cannot have: {error}") from None


def _config(values: Mapping[str, object], tables: Mapping[str, object], listed: tuple[ConfigValue, ...]) -> Config:
    return Config(
        style=str(values["memory.style"]),
        agent_write_mode=values["memory.agent_write_mode"],  # type: ignore[arg-type]  # checked
        llm_writes=str(values["memory.llm_writes"]),
        external_edits=str(values["memory.external_edits"]),
        recorder_tool=bool(values["memory.recorder_tool"]),
        content_trust=ContentTrust(
            values["memory.content_trust.trusted_mcp_servers"],  # type: ignore[arg-type]  # checked
            values["memory.content_trust.trusted_tools"],  # type: ignore[arg-type]  # checked
            values["memory.content_trust.untrusted_tools"],  # type: ignore[arg-type]  # checked
            str(values["memory.content_trust.shared_audience"]),
        ),
        provider=str(values["memory.provider"]),
        backend=str(values["memory.backend"]),
        qmd=QmdSettings(
            command=str(values["memory.qmd.command"]),
            max_results=int(str(values["memory.qmd.max_results"])),
            timeout=int(str(values["memory.qmd.timeout_ms"])) / 1_000,
        ),
        ledger_endpoint=str(values["memory.ledger.endpoint"]),
        disable_rag=bool(values["memory.disable_rag"]),
        citations=str(values["memory.citations"]),
        search_merge_strategy=values["memory.search_merge_strategy"],  # type: ignore[arg-type]  # checked
        vector_weight=values["memory.vector_weight"],  # type: ignore[arg-type]  # checked
        keyword_weight=values["memory.keyword_weight"],  # type: ignore[arg-type]  # checked
        min_score=values["memory.recall.min_score"],  # type: ignore[arg-type]  # checked
        prompt=_prompt(values),
        sessions=_sessions(values),
        llm=_llm(values),
        jobs=_jobs(values),
        blocks=blocks_in(tables),
        teams=teams_in(tables),
        host=str(values["server.host"]),
        port=values["server.port"],  # type: ignore[arg-type]  # checked
        tokens=tokens_in(tables),
        embedding=EmbedderSettings(
            model=str(values["memory.model"]),
            base_url=str(values["memory.base_url"]),
            api_key=str(values["memory.api_key"]),
            openai_key=str(values["openai_key"]),
            timeout_seconds=float(str(values["memory.embedding.timeout_seconds"])),
            query_timeout_seconds=float(str(values["memory.embedding.query_timeout_seconds"])),
            batch_api=bool(values["memory.embedding.batch_api"]),
            batch_threshold=int(str(values["memory.embedding.batch_threshold"])),
            batch_wait_seconds=float(str(values["memory.embedding.batch_wait_seconds"])),
        ),
        all=listed,
    )


def _prompt(values: Mapping[str, object]) -> PromptSettings:
    return PromptSettings(
        style=str(values["memory.style"]),
        memory_mode=str(values["memory.prompt_memory_mode"]),
        passive_inject=bool(values["memory.recall.passive_inject"]),
        selection=str(values["memory.recall.selection"]),
        top_k=int(str(values["memory.recall.top_k"])),
        timeout_ms=int(str(values["memory.recall.recall_timeout_ms"])),
        failure_policy=str(values["memory.recall.recall_failure_policy"]),
        defang_inbound=bool(values["memory.recall.defang_inbound"]),
    )


def _sessions(values: Mapping[str, object]) -> SessionSettings:
    return SessionSettings(
        max_messages=int(str(values["memory.max_session_messages"])),
        checkpoints=str(values["memory.transcript_checkpoints"]),
        export=str(values["memory.session_export"]),
    )


def _llm(values: Mapping[str, object]) -> ModelSettings:
    return ModelSettings(
        model=str(values["llm.model"]),
        base_url=str(values["llm.base_url"]),
        api_key=str(values["llm_key"]),
        timeout_seconds=float(str(values["llm.timeout_seconds"])),
        daily_budget=int(str(values["llm.daily_budget"])),
    )


def _jobs(values: Mapping[str, object]) -> JobSettings:
    return JobSettings(
        reranks=bool(values["memory.llm_reranking"]),
        extract_interval=int(str(values["memory.auto_extract_interval"])),
        dreams=bool(values["memory.consolidation.enabled"]),
        idle_seconds=float(str(values["memory.consolidation.idle_seconds"])),
        interval_seconds=float(str(values["memory.consolidation.interval_seconds"])),
        applies=values["memory.consolidation.apply"] == "auto",
        max_change=float(str(values["memory.consolidation.max_change"])),
    )
