"""Transcripts of other tools: found out, read leniently, and turned into one form. What is left out is named."""

from __future__ import annotations

from collections.abc import Callable

from memoranda.domain.transcript_formats import claude_code, message_list, plain_lines
from memoranda.domain.transcript_formats.event import ImportedEvent, ParsedTranscript
from memoranda.errors import InvalidInput

__all__ = ["FORMS", "ImportedEvent", "ParsedTranscript", "detect", "parse"]

_FITS: dict[str, Callable[[bytes], bool]] = {
    "claude-code": claude_code.fits, "messages": message_list.fits, "jsonl": plain_lines.fits,
}  # fmt: skip
_READ: dict[str, Callable[[bytes], ParsedTranscript]] = {
    "claude-code": claude_code.read, "messages": message_list.read, "jsonl": plain_lines.read,
}  # fmt: skip
FORMS = tuple(_READ)


def detect(data: bytes) -> str:
    """Return the form of a transcript: `claude-code`, `messages` or `jsonl`.

    Raises:
        InvalidInput: it has none of them.
    """
    found = next((name for name, fits in _FITS.items() if fits(data)), "")
    if not found:
        raise InvalidInput(f"this is no transcript of a known form ({', '.join(FORMS)})")
    return found


def parse(data: bytes, form: str = "") -> ParsedTranscript:
    """Read a transcript; without `form` it is found out. A line that cannot be read is left out and named.

    Raises:
        InvalidInput: the form is unknown, or the file has none.
    """
    if form and form not in _READ:
        raise InvalidInput(f"unknown form {form[:40]!r}: use {', '.join(FORMS)}")
    return _READ[form or detect(data)](data)
