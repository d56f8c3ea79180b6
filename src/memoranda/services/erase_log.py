"""Erases texts from what sessions leave: daily logs, transcripts, checkpoints of transcripts, private values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace

from memoranda.domain.episode import Episode, line_of, read_line
from memoranda.domain.erasure import MIN_PIECE, holds, in_json, leaves, without
from memoranda.domain.scope import Scope
from memoranda.services.stores import Stores
from memoranda.services.transcripts import slug_of

DAY = len("2026-01-01")
_SAID = ("key", "text", "speaker", "tool", "call")


def said_in_logs(stores: Stores, scopes: Sequence[Scope]) -> Iterator[str]:
    """Yield every text that the logs and the copies of transcripts of these scopes hold."""
    for scope in scopes:
        for file in stores.log.files(scope):
            for line in (stores.log.read(scope, file.path) or b"").splitlines():
                episode = read_line(line)
                if episode is None:
                    yield line.decode("utf-8", "replace")
                else:
                    yield from (leaf for name in _SAID for leaf in leaves(str(getattr(episode, name))))
        for path, _ in stores.transcripts.exports(scope):
            yield (stores.transcripts.read_export(scope, path) or b"").decode("utf-8", "replace")
    for value in stores.ledger.state_values():
        yield from leaves(value)


def is_in_logs(stores: Stores, scopes: Sequence[Scope], pieces: Sequence[str]) -> bool:
    """Whether a log, a copy of a transcript, a checkpoint or a private value holds one of these texts."""
    if any(holds(text, form) for text in said_in_logs(stores, scopes) for piece in pieces for form in in_json(piece)):
        return True
    kept = (
        data.decode("utf-8", "replace")
        for scope in scopes
        for session in stores.transcripts.sessions(scope)
        for data in stores.transcripts.kept(scope, session)
    )
    return any(holds(text, form) for text in kept for piece in pieces for form in in_json(piece))


def own_words(stores: Stores, scopes: Sequence[Scope], pieces: Sequence[str]) -> set[str]:
    """Return those of these texts that the lines of the logs hold beside what was said: names, times, ids."""
    found: set[str] = set()
    nothing = dict.fromkeys(_SAID, "")
    for scope in scopes:
        for file in stores.log.files(scope):
            for line in (stores.log.read(scope, file.path) or b"").splitlines():
                episode = read_line(line)
                if episode is not None:
                    own = line_of(replace(episode, **nothing)).decode()  # type: ignore[arg-type]  # texts all
                    found |= {piece for piece in pieces if holds(own, piece)}
    return found


def clean(stores: Stores, scopes: Sequence[Scope], pieces: Sequence[str]) -> int:
    """Take texts out of all that sessions left in these scopes; return how many entries were changed."""
    wanted = tuple(sorted({form for piece in pieces for form in in_json(piece)}, key=len, reverse=True))
    changed = 0
    with ExitStack() as stack:
        for scope in scopes:
            stack.enter_context(stores.log.hold(scope))
            stores.transcripts.tidy(scope)
            lines = _logs(stores, scope, wanted)
            changed += lines + _copies(stores, scope, wanted)
            changed += _checkpoints(stores, scope, wanted, moved=lines > 0)
    return changed + stores.ledger.state_scrub(pieces)


def _logs(stores: Stores, scope: Scope, pieces: tuple[str, ...]) -> int:
    changed = 0
    for file in stores.log.files(scope):
        data = stores.log.read(scope, file.path) or b""
        lines = data.splitlines(keepends=True)
        left = [_line(line, pieces) for line in lines]
        different = sum(1 for old, new in zip(lines, left, strict=True) if old != new)
        if different:
            stores.log.rewrite(scope, file.path, b"".join(left))
            changed += different
    return changed


def _line(line: bytes, pieces: tuple[str, ...]) -> bytes:
    episode = read_line(line)
    if episode is None:
        text = line.decode("utf-8", "surrogateescape")
        return without(text, pieces).encode("utf-8", "surrogateescape")
    said = {name: without(str(getattr(episode, name)), pieces) for name in _SAID}
    left: Episode = replace(episode, **said)  # type: ignore[arg-type]  # texts all
    return line if left == episode else line_of(left)


def _copies(stores: Stores, scope: Scope, pieces: tuple[str, ...]) -> int:
    """Clean the copies that were left for people."""
    changed = 0
    for path, _ in stores.transcripts.exports(scope):
        data = (stores.transcripts.read_export(scope, path) or b"").decode("utf-8", "replace")
        left = without(data, (*pieces, *(piece.replace("\n", "\n> ") for piece in pieces)))
        if left != data:
            stores.transcripts.replace_export(scope, path, left.encode())
            changed += 1
        if any(len(slug) >= MIN_PIECE and slug in path for slug in map(slug_of, pieces)):  # the name was the program's
            stores.transcripts.export(scope, f"{path.rpartition('/')[2][:DAY]}-session", left.encode())
            stores.transcripts.replace_export(scope, path, None)
            changed += 1
    return changed


def _checkpoints(stores: Stores, scope: Scope, pieces: tuple[str, ...], *, moved: bool) -> int:
    """Drop checkpoints that hold a text, and all where lines have `moved`: the log has what they had."""
    changed = 0
    for session in stores.transcripts.sessions(scope):
        kept = b"\n".join(stores.transcripts.kept(scope, session)).decode("utf-8", "replace")
        if moved or any(holds(kept, form) for piece in pieces for form in in_json(piece)):
            stores.transcripts.drop(scope, session)
            changed += 1
    return changed
