"""Settings: one frozen dataclass, one reader. `memoranda.toml`, overridden by `MEMORANDA_*` and by the caller."""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from memoranda.domain.block import DEFAULT_BLOCKS, BlockSpec
from memoranda.domain.checks import addresses as _addresses
from memoranda.domain.checks import boolean as _boolean
from memoranda.domain.checks import choice as _choice
from memoranda.domain.checks import names as _names
from memoranda.domain.checks import number as _number
from memoranda.domain.checks import policy as _policy
from memoranda.domain.checks import text as _text
from memoranda.domain.content_trust import ContentTrust
from memoranda.domain.policy import WriteMode
from memoranda.domain.query import Strategy
from memoranda.domain.scope import check_id
from memoranda.domain.settings import BACKENDS, EmbedderSettings, PromptSettings, QmdSettings, SessionSettings
from memoranda.errors import ConfigurationError, InvalidInput

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
    disable_rag: bool
    citations: str
    search_merge_strategy: Strategy
    vector_weight: float | None
    keyword_weight: float | None
    min_score: float
    prompt: PromptSettings
    sessions: SessionSettings
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


@dataclass(frozen=True, slots=True)
class Setting:
    """One key: its default, its check (raises ValueError with what to use instead) and what it is for.

    One that is `outside` never comes from a file, which may have come with a project; a `secret` one is not shown.
    """

    key: str
    default: object
    check: Callable[[object], object]
    purpose: str
    outside: bool = False
    secret: bool = False


SETTINGS: tuple[Setting, ...] = (
    Setting("memory.style", "hybrid", _choice("hybrid", "prompt-only", "search-only", "off"),
            "what agents get: prompt and tools (hybrid), prompt-only, search-only (tools and core blocks), off"),
    Setting("memory.agent_write_mode", "hybrid", _choice("hybrid", "prompt-only", "search-only", "off"),
            "which files an agent may write: both, MEMORY.md, memory/*.md, or none"),
    Setting("memory.llm_writes", "observed", _choice("observed", "quarantined"),
            "quarantined: every write of a model waits for a person"),
    Setting("memory.external_edits", "trust", _choice("trust", "review"),
            "review: what is edited by hand is withheld until it is approved"),
    Setting("memory.recorder_tool", True, _boolean, "whether agents are offered the tool `memory`"),
    Setting("memory.content_trust.trusted_mcp_servers", (), _names, "MCP servers whose results are trusted content"),
    Setting("memory.content_trust.trusted_tools", (), _names, "tools whose results are trusted; never web tools"),
    Setting("memory.content_trust.untrusted_tools", (), _names, "tools whose results taint a session"),
    Setting("memory.content_trust.shared_audience", "off", _choice("off", "on"),
            "on: memory is used in sessions that a group hears"),
    Setting("memory.provider", "", _addresses,
            "embedder by address: minilm, hashing:512, gguf:PATH, ollama:MODEL, openai:MODEL, custom:MODEL, none; "
            "of several the next is asked where one fails; empty: detected"),
    Setting("memory.model", "", _text, "model of an address that names none, such as ollama"),
    Setting("memory.base_url", "", _text, "server of the embedder; from the environment alone", outside=True),
    Setting("memory.api_key", "", _text, "key for that server; from the environment alone", outside=True, secret=True),
    Setting("memory.embedding.timeout_seconds", 30.0, _number(0.1, 600), "how long a server may take for documents"),
    Setting("memory.embedding.query_timeout_seconds", 5.0, _number(0.1, 600),
            "how long a server may take for a question"),
    Setting("memory.embedding.batch_api", False, _boolean,
            "whether large amounts go to OpenAI's Batch API: half the price, within a day"),
    Setting("memory.embedding.batch_threshold", 50, _number(1, 50_000, whole=True),
            "texts from which the Batch API is used"),
    Setting("memory.embedding.batch_wait_seconds", 10.0, _number(0, 86_400),
            "how long one sync waits for a batch; a later one fetches it"),
    Setting("memory.backend", "builtin", _choice(*BACKENDS),
            "what names candidates: builtin alone, or with it zvec (vectors; extra `zvec`) or qmd (notes by words)"),
    Setting("memory.qmd.command", "qmd", _text, "the command that runs QMD; from the environment alone", outside=True),
    Setting("memory.qmd.max_results", 20, _number(1, 100, whole=True), "notes that QMD is asked for"),
    Setting("memory.qmd.timeout_ms", 30_000, _number(100, 600_000, whole=True), "how long QMD may take"),
    Setting("memory.disable_rag", False, _boolean, "true: keyword search only, no embedder is loaded"),
    Setting("memory.citations", "auto", _choice("auto", "on", "off"), "whether results carry citations"),
    Setting("memory.search_merge_strategy", "linear", _choice("linear", "rrf"), "how keyword and vector hits merge"),
    Setting("memory.vector_weight", None, _number(0, 1), "share of the vector arm; unset: the embedder's measured one"),
    Setting("memory.keyword_weight", None, _number(0, 1), "share of the keyword arm; unset: the rest"),
    Setting("memory.prompt_memory_mode", "live-reload", _choice("live-reload", "frozen-at-session-start"),
            "whether a session's prompt follows MEMORY.md, or keeps what it was at its start"),
    Setting("memory.session_export", "on-new-or-reset", _choice("on-new-or-reset", "off"),
            "whether a session that ends leaves a copy for people in memory/sessions"),
    Setting("memory.max_session_messages", 100, _number(2, 10_000, whole=True),
            "messages of a session that are kept in the process; the log keeps all"),
    Setting("memory.transcript_checkpoints", "every-call", _policy,
            "when a session's transcript is kept to go on from: every-call, a number of messages, manual, none"),
    Setting("memory.recall.passive_inject", True, _boolean, "whether what fits a turn is recalled into its prompt"),
    Setting("memory.recall.selection", "contextual", _choice("contextual", "always"),
            "always: the best hits enter a prompt even where none passes the relevance bar"),
    Setting("memory.recall.top_k", 5, _number(1, 64, whole=True), "hits that enter one prompt at most"),
    Setting("memory.recall.recall_timeout_ms", 500, _number(1, 30_000, whole=True),
            "how long a turn waits for recall, in milliseconds"),
    Setting("memory.recall.recall_failure_policy", "skip", _choice("skip", "fail"),
            "a turn whose recall fails or is late goes on without it, or fails"),
    Setting("memory.recall.defang_inbound", True, _boolean,
            "whether text that imitates the marks of recalled memory is made harmless when it comes in"),
    Setting("memory.recall.min_score", 0.15, _number(0, 1), "cosine from which the best hit counts as relevant"),
    Setting("server.host", "127.0.0.1", _text, "address that `memoranda serve` listens on"),
    Setting("server.port", 8765, _number(0, 65535, whole=True), "port that `memoranda serve` listens on"),
)  # fmt: skip

_SECTIONS = (f"{PREFIX}MEMORY_", f"{PREFIX}SERVER_")
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
    return _config(used, tables, listed)


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


def _teams(tables: Mapping[str, object]) -> dict[str, tuple[str, ...]]:
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


def _blocks(tables: Mapping[str, object]) -> tuple[BlockSpec, ...]:
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


def _tokens(tables: Mapping[str, object]) -> dict[str, str]:
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
        disable_rag=bool(values["memory.disable_rag"]),
        citations=str(values["memory.citations"]),
        search_merge_strategy=values["memory.search_merge_strategy"],  # type: ignore[arg-type]  # checked
        vector_weight=values["memory.vector_weight"],  # type: ignore[arg-type]  # checked
        keyword_weight=values["memory.keyword_weight"],  # type: ignore[arg-type]  # checked
        min_score=values["memory.recall.min_score"],  # type: ignore[arg-type]  # checked
        prompt=PromptSettings(
            style=str(values["memory.style"]),
            memory_mode=str(values["memory.prompt_memory_mode"]),
            passive_inject=bool(values["memory.recall.passive_inject"]),
            selection=str(values["memory.recall.selection"]),
            top_k=int(str(values["memory.recall.top_k"])),
            timeout_ms=int(str(values["memory.recall.recall_timeout_ms"])),
            failure_policy=str(values["memory.recall.recall_failure_policy"]),
            defang_inbound=bool(values["memory.recall.defang_inbound"]),
        ),
        sessions=SessionSettings(
            max_messages=int(str(values["memory.max_session_messages"])),
            checkpoints=str(values["memory.transcript_checkpoints"]),
            export=str(values["memory.session_export"]),
        ),
        blocks=_blocks(tables),
        teams=_teams(tables),
        host=str(values["server.host"]),
        port=values["server.port"],  # type: ignore[arg-type]  # checked
        tokens=_tokens(tables),
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
