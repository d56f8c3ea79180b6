"""The table of settings: key, default, check, and what each is for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from memoranda.domain.checks import addresses as _addresses
from memoranda.domain.checks import boolean as _boolean
from memoranda.domain.checks import choice as _choice
from memoranda.domain.checks import names as _names
from memoranda.domain.checks import number as _number
from memoranda.domain.checks import policy as _policy
from memoranda.domain.checks import text as _text
from memoranda.domain.settings import BACKENDS


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
    Setting("memory.ledger.endpoint", "", _text,
            "server whose /v1/health must answer before the operational ledger is read or written; "
            "from the environment alone; empty: none", outside=True),
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
    Setting("memory.llm_reranking", False, _boolean, "whether the model reads the best 20 hits of a search again"),
    Setting("memory.auto_extract_interval", 5, _number(0, 1_000, whole=True),
            "turns of the user after which a session's facts are noted in the background; 0: never"),
    Setting("memory.consolidation.enabled", True, _boolean, "whether memory is consolidated (dreams) where a model is"),
    Setting("memory.consolidation.idle_seconds", 120, _number(0, 86_400),
            "how long an agent's sessions must have been silent before a dream"),
    Setting("memory.consolidation.interval_seconds", 1_800, _number(0, 604_800), "least time between two dreams"),
    Setting("memory.consolidation.apply", "propose", _choice("propose", "auto"),
            "auto: merges, rewrites and retirements by a dream take effect without a person"),
    Setting("memory.consolidation.max_change", 0.05, _number(0, 0.5),
            "share of a scope's records that one dream may touch at most"),
    Setting("llm.model", "", _text,
            "model for jobs and chat as provider:name, such as ollama:llama3.2 or openai:gpt-5-mini; empty: none"),
    Setting("llm.base_url", "", _text, "server of that model; from the environment alone", outside=True),
    Setting("llm.api_key_env", "", _text,
            "variable that holds the key for it; from the environment alone; empty: the provider's usual one",
            outside=True),
    Setting("llm.timeout_seconds", 120.0, _number(0.1, 3_600), "how long one question to the model may take"),
    Setting("llm.daily_budget", 1_000_000, _number(0, 10**12, whole=True),
            "tokens that all jobs of this home may use in a day; 0: no limit"),
    Setting("server.host", "127.0.0.1", _text, "address that `memoranda serve` listens on"),
    Setting("server.port", 8765, _number(0, 65535, whole=True), "port that `memoranda serve` listens on"),
)  # fmt: skip
