"""Finds credentials with `detect-secrets` plugins; reads no file, uses no network, keeps no value."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from memoranda.adapters.secrets.anchors import GENERIC, SPECIFIC, possible
from memoranda.domain.fingerprint import INVISIBLE
from memoranda.domain.withheld import PRIVATE_KEY, SecretFinding

if TYPE_CHECKING:
    from detect_secrets.plugins.base import BasePlugin

_LINE_BREAK = re.compile(r"\r\n|\n|\r")
_WORD = r"[^\s\"'`<>()\[\],;|]"
"""A character that can be a part of a token."""

WINDOW, STEP = 4_096, 2_048
"""Long lines are read in overlapping windows: time stays linear, and tokens are shorter than the overlap."""


class DetectSecretsScanner:
    """Scans text line by line; stateless between calls and safe in threads.

    Detectors are loaded at the first text that holds an anchor (see `anchors`); other texts cost a few
    substring searches.
    """

    def __init__(self) -> None:
        self._loading = threading.Lock()
        self._detectors: dict[str, tuple[BasePlugin, ...]] = {}

    def scan(self, text: str) -> tuple[SecretFinding, ...]:
        """Return each class found with its line, counted from 1 by CRLF, LF or CR, in order of lines."""
        folded = text.casefold()
        specific = possible(SPECIFIC, folded)
        generic = possible(GENERIC, folded)
        if not (specific or generic):
            return ()
        detected = self._load()
        findings: list[SecretFinding] = []
        for number, line in enumerate(_LINE_BREAK.split(text), start=1):
            low = line.casefold()
            here = self._classes(detected, possible(specific, low), line)
            here = here or self._classes(detected, possible(generic, low), line)
            findings.extend(SecretFinding(name, number) for name in here)
        return tuple(findings)

    def redact(self, text: str) -> tuple[str, tuple[SecretFinding, ...]]:
        """Return the text with `[redacted:<class>]` in the place of every secret, and what was found.

        Only the secret's own characters go; where what is left still looks like one, the whole line does. A private
        key goes up to its END line.
        """
        found = self._found(text)
        if not found:
            return text, ()
        by_line = {finding.line: finding.secret_class for finding in found}
        parts = _LINE_BREAK.split(text)
        endings = [*_LINE_BREAK.findall(text), ""]
        result: list[str] = []
        key_open = False
        for number, (line, ending) in enumerate(zip(parts, endings, strict=True), start=1):
            if key_open:
                key_open = "-----END" not in line
                continue
            name = by_line.get(number, "")
            if name == PRIVATE_KEY:
                key_open = "-----END" not in line and any("-----END" in later for later in parts[number:])
            result.append((self._redacted(line, name) if name else line) + ending)
        return "".join(result), found

    def _found(self, text: str) -> tuple[SecretFinding, ...]:
        """Find secrets, also those that invisible characters take apart."""
        plain = text.translate(INVISIBLE)
        more = self.scan(plain) if plain != text else ()
        return tuple(sorted({*self.scan(text), *more}, key=lambda finding: finding.line))

    def _redacted(self, line: str, name: str) -> str:
        """Take the secrets out of one line; `name` is the class of the first."""
        mark = f"[redacted:{name}]"
        if name == PRIVATE_KEY:
            return mark
        plain = line.translate(INVISIBLE)
        if self.scan(plain) and not self.scan(line):
            line = plain
        for finding in self.scan(line):
            values = {
                value
                for detector in self._detectors[finding.secret_class]
                for part in _windows(line)
                for value in detector.analyze_string(part)
                if value
            }
            for value in sorted(values, key=len, reverse=True):
                # Some detectors yield a token's prefix alone: what hangs together goes together.
                whole = re.escape(value)
                pattern = whole if finding.secret_class in GENERIC else f"{_WORD}*{whole}{_WORD}*"
                line = re.sub(pattern, f"[redacted:{finding.secret_class}]", line)
        return mark if self._found(line) else line

    def _classes(self, detected: Callable[[BasePlugin, str], bool], classes: Iterable[str], line: str) -> list[str]:
        return [
            name
            for name in classes
            if any(detected(detector, part) for detector in self._detectors[name] for part in _windows(line))
        ]

    def _load(self) -> Callable[[BasePlugin, str], bool]:
        from memoranda.adapters.secrets import detectors  # noqa: PLC0415 - loads an HTTP client that most texts spare

        with self._loading:
            self._detectors = self._detectors or detectors.build()
        return detectors.detected


def _windows(line: str) -> Iterator[str]:
    if len(line) <= WINDOW:
        yield line
        return
    for start in range(0, len(line) - STEP, STEP):
        yield line[start : start + WINDOW]
