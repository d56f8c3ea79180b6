"""Shows a conversation without the ballast of what is long past: old results of tools, runs of heartbeats.

Nothing is dropped from the conversation itself: a place up to which it is tidied says how it is shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from memoranda.domain.conversation import Message
from memoranda.domain.episode import EpisodeKind, is_heartbeat

MIN_RESULT_BYTES = 200
"""A shorter result stays: the line in its place would be no shorter."""
MIN_BEATS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Tidied:
    """Messages as they are shown: results of tools pruned, their bytes, heartbeats that became one line each run."""

    messages: tuple[Message, ...]
    results: int = 0
    bytes: int = 0
    heartbeats: int = 0


def turn_start(messages: Sequence[Message], turns: int) -> int:
    """Return the position before the user's last so many turns; everything is before none; 0 where there are fewer."""
    asked = [one.position for one in messages if _is_turn(one) and one.role == "user" and not is_heartbeat(one.text)]
    if turns <= 0:
        return messages[-1].position if messages else 0
    return asked[-turns] - 1 if turns <= len(asked) else 0


def tidied(messages: Sequence[Message], until: int) -> Tidied:
    """Return messages with what is not needed any more up to a position put into one line each."""
    shown: list[Message] = []
    results = size = beats = 0
    for run in _runs(messages, until):
        first = run[0]
        length = len(first.text.encode("utf-8", "replace"))
        if len(run) >= MIN_BEATS:
            beats += len(run)
            text = f"[{len(run)} heartbeats from {first.at[:16]} to {run[-1].at[:16]} are one line here]"
            shown.append(replace(first, role="system", kind=str(EpisodeKind.HEARTBEAT), speaker="", text=text))
        elif first.position <= until and first.kind == EpisodeKind.TOOL_RESULT and length > MIN_RESULT_BYTES:
            results, size = results + 1, size + length
            text = f"[a result of {first.tool or 'a tool'} is left out here: {length:,} bytes, entry {first.position}]"
            shown.append(replace(first, text=text))
        else:
            shown.extend(run)
    return Tidied(messages=tuple(shown), results=results, bytes=size, heartbeats=beats)


def _runs(messages: Sequence[Message], until: int) -> Iterator[list[Message]]:
    """Yield the messages one by one, heartbeats up to a position that follow one another together."""
    run: list[Message] = []
    for message in messages:
        beats = message.position <= until and _is_turn(message) and is_heartbeat(message.text)
        if run and not beats:
            yield run
            run = []
        if beats:
            run.append(message)
        else:
            yield [message]
    if run:
        yield run


def _is_turn(message: Message) -> bool:
    return message.kind == EpisodeKind.TURN
