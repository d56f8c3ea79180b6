"""The conversation of a session: its messages in order, how many are kept, and where it may be cut."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from memoranda.domain.episode import ROLES, Episode, EpisodeKind, Role

CHECKPOINT_FORMAT = 1
SUMMARY = "summary"
NOTED = "memory:"
"""Beginning of the tool in an entry that notes a memory call; no result follows it."""

_MAX_UNANSWERED = 200
_SPOKEN = (EpisodeKind.TURN, EpisodeKind.TOOL_CALL, EpisodeKind.TOOL_RESULT, EpisodeKind.SYSTEM)


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message as a model sees it. `call` pairs a tool's call with its result; `kind` is that of its episode."""

    role: Role
    text: str
    id: str = ""
    kind: str = "turn"
    speaker: str = ""
    tool: str = ""
    call: str = ""
    position: int = 0
    at: str = ""


@dataclass(slots=True)
class Conversation:
    """What a process knows of one session.

    `position` is the highest of its episodes, `epoch` counts its compactions, `seen` maps a log file to the bytes of it
    that were read. `unanswered` are the calls that went while their results were awaited: those are left out too.
    """

    session: str
    messages: list[Message] = field(default_factory=list)
    position: int = 0
    epoch: int = 0
    seen: dict[str, int] = field(default_factory=dict)
    unanswered: list[str] = field(default_factory=list)

    def follow(self, episode: Episode, limit: int) -> None:
        """Take in an episode of this session, in the order of positions; at most `limit` messages stay.

        Where there are more, a quarter goes at once: what a host sends then begins alike for many turns, and a
        provider's prefix cache keeps it. What the user asked last stays. A line that is there twice counts once.
        """
        held = self.messages
        if any(one.id == episode.id for one in held) or (held and episode.position < min(one.position for one in held)):
            return
        self.position = max(self.position, episode.position)
        if episode.kind is EpisodeKind.COMPACTION:
            self.epoch += 1
            kept = [message for message in self.messages if message.position >= episode.kept_from]
            self._leave([message for message in self.messages if message.position < episode.kept_from])
            self.messages = [_summary(episode), *kept]
        elif episode.kind in _SPOKEN and not self._is_unasked(episode):
            self.messages.append(message_of(episode))
        if len(self.messages) > limit:
            first = self.messages[:1] if self.messages[0].kind == SUMMARY else []
            start = cut(self.messages, len(self.messages) - limit + limit // 4 + len(first))
            asked = [message for message in self.messages[len(first) : start] if _is_question(message)][-1:]
            if any(map(_is_question, self.messages[start:])):
                asked = []
            self._leave(self.messages[:start])
            self.messages = [*first, *asked, *self.messages[start:]]

    def _leave(self, gone: Sequence[Message]) -> None:
        """Remember which of the messages that go are calls without a result."""
        answered = {start for start, _ in _answers(gone)}
        self.unanswered += [one.call for at, one in enumerate(gone) if _is_call(one) and at not in answered]
        del self.unanswered[:-_MAX_UNANSWERED]

    def _is_unasked(self, episode: Episode) -> bool:
        """Whether an episode is the result of a call that went."""
        if episode.kind is not EpisodeKind.TOOL_RESULT or episode.call not in self.unanswered:
            return False
        answered = {start for start, _ in _answers(self.messages)}
        if any(
            _is_call(one) and one.call == episode.call and at not in answered for at, one in enumerate(self.messages)
        ):
            return False
        self.unanswered.remove(episode.call)
        return True


def _is_call(message: Message) -> bool:
    return message.kind == "tool_call" and not message.tool.startswith(NOTED)


def _is_question(message: Message) -> bool:
    return message.kind == "turn" and message.role == "user"


def message_of(episode: Episode) -> Message:
    """Return an episode as a message."""
    return Message(
        role=episode.role, text=episode.text, id=episode.id, kind=str(episode.kind), speaker=episode.speaker,
        tool=episode.tool, call=episode.call, position=episode.position, at=episode.at,
    )  # fmt: skip


def _summary(episode: Episode) -> Message:
    return Message(
        role="system", text=episode.text, id=episode.id, kind=SUMMARY, position=episode.position, at=episode.at
    )


def cut(messages: Sequence[Message], at: int) -> int:
    """Return the first index from `at` on where nothing before it belongs to something after it.

    A tool's call and its result stay on one side, and a call that still waits for its result stays. Where no such place
    is left, the index before the pair.
    """
    pairs = _pairs(messages)
    index = at
    while crossed := [end for start, end in pairs if start < index <= end]:
        index = max(crossed) + 1
    if index < len(messages) or index == at == len(messages):
        return index
    index = min(at, len(messages))
    while index > 0 and any(start < index <= end for start, end in pairs):
        index -= 1
    return index


def _pairs(messages: Sequence[Message]) -> list[tuple[int, int]]:
    """Return the indexes of calls and their results; a call that waits has its result after the last message.

    Without ids the first call that waits is answered first. What was said since ends the waiting.
    """
    waiting: dict[str, list[int]] = {}
    pairs: list[tuple[int, int]] = []
    said = -1
    for index, message in enumerate(messages):
        if _is_call(message):
            waiting.setdefault(message.call, []).append(index)
        elif message.kind == "tool_result" and waiting.get(message.call):
            pairs.append((waiting[message.call].pop(0), index))
        elif message.kind == "turn":
            waiting.pop("", None)
            said = index
    left = [start for starts in waiting.values() for start in starts if start > said]
    return pairs + [(start, len(messages)) for start in left]


def _answers(messages: Sequence[Message]) -> list[tuple[int, int]]:
    """Return the indexes of calls and of the results that are there."""
    return [(start, end) for start, end in _pairs(messages) if end < len(messages)]


def checkpoint_of(conversation: Conversation) -> bytes:
    """Return a conversation as a checkpoint."""
    said = {"format": CHECKPOINT_FORMAT, **asdict(conversation)}
    return json.dumps(said, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def read_checkpoint(data: bytes, session: str) -> Conversation | None:
    """Read a checkpoint of this session; None where it is damaged."""
    try:
        raw: Any = json.loads(data)
        if raw.pop("format") != CHECKPOINT_FORMAT or raw["session"] != session:
            return None
        messages = [Message(**item) for item in raw.pop("messages")]
        made = Conversation(messages=messages, **raw)
        numbers = [made.position, made.epoch, *made.seen.values(), *(message.position for message in messages)]
        names = ("text", "id", "kind", "speaker", "tool", "call", "at")
        texts = [*made.seen, *made.unanswered, *(getattr(message, name) for message in messages for name in names)]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    whole = all(type(value) is int for value in numbers) and all(isinstance(text, str) for text in texts)
    return made if whole and all(message.role in ROLES for message in messages) else None
