"""Copies of ended sessions, for people to read. They are no memory, and nothing is read back from them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime

from memoranda.domain.conversation import Conversation
from memoranda.domain.episode import Episode, EpisodeKind, is_for_models, one_line
from memoranda.domain.scope import Scope
from memoranda.domain.session import SessionState
from memoranda.domain.withheld import MASK
from memoranda.services import episodes
from memoranda.services.stores import Stores
from memoranda.services.talking import paths_of
from memoranda.services.visibility import hides

KEEP_FILES, KEEP_DAYS = 100, 30
_SLUG_CHARACTERS = 30
_DAY_SECONDS = 86_400
_SHOWN = (EpisodeKind.TURN, EpisodeKind.DECISION, EpisodeKind.NOTE, EpisodeKind.COMPACTION, EpisodeKind.TOOL_CALL)


def export(stores: Stores, state: SessionState, conversation: Conversation) -> str:
    """Write a copy of a session to memory/sessions and return its path, "" where nothing was said.

    Results of tools, system text and what was said after untrusted content are left out and counted; values that a
    person has rejected are blanked. Copies beyond 100, and those older than 30 days, go.
    """
    paths = paths_of(stores, state, conversation)
    mine = [item for _, _, item in episodes.read_all(stores, state.scope, paths, session=state.id)]
    if not any(item.kind is EpisodeKind.TURN for item in mine):
        return ""
    zone = stores.zone()
    now = stores.clock.now()
    slug = slug_of(state.key) or "session"
    text = "\n".join(_lines(stores, state, mine))
    path = stores.transcripts.export(state.scope, f"{zone.day(now)}-{slug}", text.encode("utf-8", "replace"))
    tidy(stores, state.scope, now)
    return path


def slug_of(key: str) -> str:
    """Return a session's key as a part of a file name, "" where nothing of it can be."""
    return re.sub(r"[^a-z0-9]+", "-", key.lower())[:_SLUG_CHARACTERS].strip("-")


def _lines(stores: Stores, state: SessionState, mine: list[Episode]) -> Iterator[str]:
    zone = stores.zone()
    shown = [item for item in mine if item.kind in _SHOWN and is_for_models(item)]
    yield f"<!-- memoranda:transcript {state.id} -->"
    yield ""
    yield f"# Session {one_line(state.key)}"
    yield ""
    yield "A copy for reading. It is no memory: what is changed here changes nothing."
    if len(mine) > len(shown):
        yield ""
        yield (
            f"{len(mine) - len(shown)} entries are left out: results of tools, system text, and what was said after "
            "untrusted content was read. The log has them."
        )
    day = ""
    for item in shown:
        moment = zone.local(item.at)
        if moment.date().isoformat() != day:
            day = moment.date().isoformat()
            yield ""
            yield f"## {day}"
        who = item.speaker or (f"{item.role} ({item.tool})" if item.tool else item.role)
        kind = "" if item.kind is EpisodeKind.TURN else f" [{item.kind}]"
        yield ""
        yield f"**{moment:%H:%M} {one_line(who)}**{kind}"
        yield ""
        text = MASK if hides(stores, state.scope, item.text) else item.text
        yield from (f"> {line}".rstrip() for line in text.splitlines() or [""])
    yield ""


def tidy(stores: Stores, scope: Scope, now: str) -> int:
    """Remove the copies that are too many or too old; return how many."""
    found = list(stores.transcripts.exports(scope))
    oldest = datetime.fromisoformat(now).timestamp() - KEEP_DAYS * _DAY_SECONDS
    gone = [path for path, at in found[:-KEEP_FILES] or []] + [path for path, at in found[-KEEP_FILES:] if at < oldest]
    for path in gone:
        stores.transcripts.replace_export(scope, path, None)
    return len(gone)
