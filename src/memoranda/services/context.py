"""Puts together what a prompt gets from memory: the stable part as memory is now, and what fits the turn."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from memoranda.domain import prompt
from memoranda.domain.block import CORE, CoreBlock
from memoranda.domain.context import (
    MAX_FILE_CHARACTERS,
    MAX_LISTED_FILES,
    MAX_SESSION_BYTES,
    MAX_TURN_BYTES,
    MIN_QUERY_CHARACTERS,
    Context,
    PromptPart,
)
from memoranda.domain.conversation import Conversation
from memoranda.domain.injection import Injection
from memoranda.domain.prompt import MAX_HIT_BYTES, Observation
from memoranda.domain.query import Hit, RecallResult
from memoranda.domain.record import Record, Status
from memoranda.domain.scope import Scope, Viewer
from memoranda.domain.settings import PromptSettings
from memoranda.errors import MemorandaError
from memoranda.services.core_blocks import blocks
from memoranda.services.stores import Stores
from memoranda.services.timed import within
from memoranda.services.visible_file import VisibleFile, visible_file

_LONG_TERM = ("MEMORY.md", "memory.md")
_FROZEN = ("__prompt", "stable")
_ASK_FOR = 4
"""So many times the hits that are wanted are asked for: those shown before make room for others."""

Search = Callable[[str, int, str], RecallResult]
"""Searches as the agent itself: question, limit, and the id of a session whose turns are left out."""


@dataclass(frozen=True, slots=True)
class Talk:
    """The session that a prompt is for."""

    id: str
    conversation: Conversation
    nonce: str


@dataclass(slots=True)
class _Stable:
    """The stable part and the records that are shown in it already."""

    parts: list[PromptPart]
    shown: set[str]


def assemble(
    stores: Stores,
    viewer: Viewer,
    query: str,
    *,
    settings: PromptSettings,
    search: Search,
    talk: Talk | None,
    nonce: str,
) -> Context:
    """Return what a prompt of this agent gets; with `talk` what was recalled is noted and not repeated.

    Raises:
        MemorandaError: recall failed or came too late, and the settings say that the turn fails then.
    """
    if settings.style == "off":
        return Context(skipped="memory.style is off")
    stable = _stable(stores, viewer, settings)
    parts = _frozen(stores, viewer, stable.parts, talk) if settings.memory_mode != "live-reload" else stable.parts
    hits, skipped = _recalled(viewer, query, settings, search, stores, talk, stable.shown)
    zone, now = stores.zone(), stores.clock.now()
    today = f"{zone.local(now):%Y-%m-%d (%A)}"
    observations = [_observation(hit) for hit in hits]
    text = prompt.envelope(observations, nonce=nonce, now=now, today=today, zone=zone.name)
    recalled = PromptPart("recalled", text or prompt.today(today, zone.name))
    return Context(stable_parts=tuple(parts), recalled=recalled, hits=tuple(hits), skipped=skipped)


def _stable(stores: Stores, viewer: Viewer, settings: PromptSettings) -> _Stable:
    found = _Stable([], set())
    agent = viewer.own.id
    _add(found, "core memory", prompt.core_memory([_block(item) for item in blocks(stores, agent)]))
    if settings.style != "search-only":
        for path in _LONG_TERM:
            file = visible_file(stores, viewer.own, path)
            if file is not None:
                _add(found, path, _memory_file(path, file, settings, found.shown))
                break
    _add(found, "index", _index(stores, viewer))
    for scope in {viewer.own, *viewer.scopes}:
        file = visible_file(stores, scope, CORE) if scope.kind in ("agent", "realm") else None
        found.shown |= {record.id for record in file.records if record} if file else set()
    return found


def _add(stable: _Stable, name: str, text: str) -> None:
    if text:
        stable.parts.append(PromptPart(name, text))


def _block(item: CoreBlock) -> str:
    value = item.value
    if not item.is_readable:
        value = f"[not shown: {CORE} cannot be read; a person has to mend the file]"
    if item.over:
        value = (
            f"[not shown: {item.characters:,} characters of {item.spec.limit:,} allowed; "
            "a person has to shorten this block]"
        )
    return prompt.block(item.spec.label, item.spec.description, value, read_only=item.spec.read_only)


def _memory_file(path: str, file: VisibleFile, settings: PromptSettings, shown: set[str]) -> str:
    """Render the long-term file up to its cap, cut at a block, with a note of what was left out."""
    document = file.document
    start = _after_front_matter(file)
    end = len(document.text)
    if end - start > MAX_FILE_CHARACTERS:
        fitting = [block.extent for block in document.blocks if block.extent - start <= MAX_FILE_CHARACTERS]
        end = fitting[-1] if fitting else start
    text = file.text(start, end).strip("\ufeff \t\r\n")
    shown |= {record.id for record in file.active_in(start, end)}
    rest = file.active_in(end, len(document.text))
    if not text and not rest:
        return ""
    note = ""
    if rest:
        how = "ask for them" if settings.style == "prompt-only" else "memory_search finds them"
        note = f"{len(rest)} more entries of {path} are left out here; {how}."
    return prompt.memory_file(path, text, note)


def _after_front_matter(file: VisibleFile) -> int:
    """Where the text begins: front matter is for programs, and nobody has read it for a prompt."""
    starts = [block.start for block in file.document.blocks] + [item.start for item in file.document.headings]
    return min(starts, default=len(file.document.text))


def _index(stores: Stores, viewer: Viewer) -> str:
    """List what else there is, by file: own memory first, then what is shared."""
    lines: list[tuple[str, int]] = []
    for scope in sorted(viewer.scopes, key=lambda item: (item != viewer.own, item)):
        for path, count in _listing(stores, scope):
            if path == CORE or (scope == viewer.own and path in _LONG_TERM):
                continue
            lines.append((path if scope == viewer.own else f"{scope} {path}", count))
    if len(lines) > MAX_LISTED_FILES:
        rest = lines[MAX_LISTED_FILES:]
        lines = [*lines[:MAX_LISTED_FILES], (f"… {len(rest)} more files", sum(count for _, count in rest))]
    return prompt.memory_index(lines)


def _listing(stores: Stores, scope: Scope) -> Sequence[tuple[str, int]]:
    """Count a scope's records by file, once per change."""
    seq = stores.ledger.last_seq(scope)
    known = stores.listings.get(scope)
    if known is None or known[0] != seq:
        known = stores.listings[scope] = (seq, stores.ledger.listing(scope))
    return known[1]


def _frozen(stores: Stores, viewer: Viewer, live: list[PromptPart], talk: Talk | None) -> list[PromptPart]:
    """Return the parts as they were at the session's start; what was taken out of memory since does not stay."""
    if talk is None:
        return live
    seqs = {str(scope): stores.ledger.last_seq(scope) for scope in viewer.scopes}
    kept = stores.ledger.state_get(talk.id, *_FROZEN)
    if kept is not None:
        said = json.loads(kept)
        if not any(_took_out(stores, Scope.parse(scope), seq) for scope, seq in said["seqs"].items()):
            return [PromptPart(name, text) for name, text in said["parts"]]
    value = json.dumps({"seqs": seqs, "parts": [[part.name, part.text] for part in live]}, ensure_ascii=False)
    stores.ledger.state_set(talk.id, *_FROZEN, value, at=stores.clock.now())
    return live


def _took_out(stores: Stores, scope: Scope, seq: int) -> bool:
    if stores.ledger.last_seq(scope) == seq:
        return False
    changed = (stores.ledger.record(name) for name in stores.ledger.changed_since(scope, seq))
    return any(record is not None and _is_out(record) for record in changed)


def _is_out(record: Record) -> bool:
    return record.status in (Status.RETIRED, Status.TOMBSTONED, Status.WITHHELD)


def refresh(stores: Stores, session: str) -> bool:
    """Let a frozen prompt follow memory from now on; return whether there was one."""
    return bool(stores.ledger.state_delete(session, *_FROZEN))


def _recalled(
    viewer: Viewer,
    query: str,
    settings: PromptSettings,
    search: Search,
    stores: Stores,
    talk: Talk | None,
    shown: set[str],
) -> tuple[list[Hit], str]:
    """Return what fits the turn and was not shown before, or why there is nothing."""
    why = _why_not(query, settings)
    if why:
        return [], why
    known, spent = stores.ledger.injected(talk.id, talk.conversation.epoch) if talk else (frozenset[str](), 0)
    limit = min(settings.top_k * _ASK_FOR, 64)
    silent = talk.id if talk and not talk.conversation.epoch else ""
    try:
        result = within(settings.timeout_ms, lambda: search(query, limit, silent))
    except MemorandaError as error:
        if settings.failure_policy == "fail":
            raise
        return [], f"recall failed and is left out ({error.code})"
    fresh = [
        hit for hit in result.hits
        if hit.record_id not in known and hit.record_id not in shown and not _is_heard(hit, talk)
    ]  # fmt: skip
    hits, full = _within_budget(fresh[: settings.top_k], spent)
    if talk and hits:
        _note(stores, viewer, talk, hits)
    if hits:
        return hits, ""
    if full:
        return [], "the session's budget for recalled text is used up"
    return [], "nothing relevant is known" if not result.hits else "what is relevant was shown before"


def _why_not(query: str, settings: PromptSettings) -> str:
    if not settings.passive_inject or settings.style == "search-only":
        return "recall into the prompt is switched off"
    if len(query.strip()) < MIN_QUERY_CHARACTERS:
        return "the message is too short to recall anything for"
    return "commands recall nothing" if query.lstrip().startswith("/") else ""


def _is_heard(hit: Hit, talk: Talk | None) -> bool:
    """Whether a turn is in front of the model already, as part of the conversation."""
    if talk is None or hit.turn is None or hit.turn.session != talk.id:
        return False
    kept = [message.position for message in talk.conversation.messages if message.kind != "summary"]
    return bool(kept) and hit.turn.position >= kept[0]


def _within_budget(hits: Sequence[Hit], spent: int) -> tuple[list[Hit], bool]:
    """Return the hits, cut to size, that fit this turn's budget and the session's; whether some did not."""
    room = min(MAX_TURN_BYTES, MAX_SESSION_BYTES - spent)
    kept: list[Hit] = []
    for hit in hits:
        short = replace(hit, text=prompt.clipped(hit.text, MAX_HIT_BYTES))
        size = len(short.text.encode("utf-8", "replace"))
        if size > room:
            return kept, True
        room -= size
        kept.append(short)
    return kept, False


def _note(stores: Stores, viewer: Viewer, talk: Talk, hits: Sequence[Hit]) -> None:
    now = stores.clock.now()
    stores.ledger.inject([
        Injection(
            at=now, scope=viewer.own, session=talk.id, epoch=talk.conversation.epoch, record=hit.record_id,
            surface="turn", size=len(hit.text.encode("utf-8", "replace")),
        )
        for hit in hits
    ])  # fmt: skip


def _observation(hit: Hit) -> Observation:
    return Observation(
        text=hit.text, source=hit.citation, author=hit.author, trust=hit.trust.label, recorded_at=hit.recorded_at,
        kind="turn" if hit.turn else str(hit.kind), heading=" \u203a ".join((*hit.heading, hit.title) if hit.title and
        hit.title not in hit.heading else hit.heading), speaker=(hit.turn.speaker or hit.turn.role) if hit.turn else "",
    )  # fmt: skip
