"""A session's conversation: taken up again after a restart, kept in checkpoints, compacted."""

from __future__ import annotations

from memoranda.domain.conversation import Conversation, checkpoint_of, cut, read_checkpoint
from memoranda.domain.episode import Episode, EpisodeKind, log_path
from memoranda.domain.scope import Principal
from memoranda.domain.session import SessionState
from memoranda.domain.settings import SessionSettings
from memoranda.errors import InvalidInput
from memoranda.services import episodes
from memoranda.services.episodes import Event
from memoranda.services.secret_text import redacted
from memoranda.services.stores import Stores

KEPT_CHECKPOINTS = 3


def resume(stores: Stores, state: SessionState, settings: SessionSettings) -> tuple[Conversation, tuple[str, ...]]:
    """Return a session's conversation as the newest whole checkpoint and the log after it have it, and warnings.

    Without a checkpoint it is read from the logs since the day on which the session was opened, and those of other days
    in which it has written.
    """
    warnings: list[str] = []
    conversation = Conversation(session=state.id)
    for number, data in enumerate(stores.transcripts.kept(state.scope, state.id), 1):
        found = read_checkpoint(data, state.id)
        if found is not None:
            conversation = found
            break
        warnings.append(f"checkpoint {number} of session {state.key[:40]!r} is damaged; the one before it is used")
    paths = paths_of(stores, state, conversation)
    episodes.read_on(stores, state.scope, conversation, paths, limit=settings.max_messages)
    return conversation, tuple(warnings)


def is_due(settings: SessionSettings, episode: Episode) -> bool:
    """Whether the policy wants a checkpoint after this episode: after what a model said, or every so many."""
    if settings.checkpoints.isdecimal():
        return episode.position % int(settings.checkpoints) == 0
    return settings.checkpoints == "every-call" and episode.kind is EpisodeKind.TURN and episode.role == "assistant"


def keep(stores: Stores, state: SessionState, conversation: Conversation) -> None:
    """Store a checkpoint of the transcript; the last three of a session stay."""
    stores.transcripts.keep(state.scope, state.id, checkpoint_of(conversation), last=KEPT_CHECKPOINTS)


def compact(
    stores: Stores,
    state: SessionState,
    conversation: Conversation,
    settings: SessionSettings,
    *,
    summary: str,
    keep_messages: int,
    author: Principal,
) -> Episode | None:
    """Put a summary in the place of older messages; the log keeps them all. None where there is nothing to cut.

    Without a summary a sentence says how many messages went and where they are. A tool's call and its result stay
    together.

    Raises:
        InvalidInput: `keep_messages` is negative.
    """
    if keep_messages < 0:
        raise InvalidInput(f"a session cannot keep {keep_messages} messages")
    messages = conversation.messages
    at = cut(messages, max(len(messages) - keep_messages, 0))
    if at <= 0 or (at == 1 and messages[0].kind == "summary" and not summary):
        return None
    first = messages[at].position if at < len(messages) else conversation.position + 1
    text = redacted(stores, summary) if summary.strip() else _what_went(conversation, at)
    event = Event(kind=EpisodeKind.COMPACTION, role="system", text=text, kept_from=first)
    return episodes.write(stores, state, conversation, event, author=author, limit=settings.max_messages)


def _what_went(conversation: Conversation, at: int) -> str:
    gone = [message for message in conversation.messages[:at] if message.kind != "summary"]
    earlier = next((message.text for message in conversation.messages[:at] if message.kind == "summary"), "")
    if not gone:
        return earlier
    days = sorted({message.at[:10] for message in gone})
    when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    said = (
        f"[{len(gone)} earlier messages of this conversation ({when}) are left out here. They are in the log: "
        "recall_timeframe shows them by date, recall_search finds them by words.]"
    )
    return f"{earlier}\n{said}" if earlier else said


def paths_of(stores: Stores, state: SessionState, conversation: Conversation) -> list[str]:
    """Return the log files in which a session may have written, oldest first."""
    opened = log_path(stores.zone().day(state.opened_at))
    since = {file.path for file in stores.log.files(state.scope, opened)}
    return sorted({*since, *conversation.seen, *episodes.written_in(stores, state)})
