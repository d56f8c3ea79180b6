"""Finds credentials with `detect-secrets` plugins; reads no file, uses no network, keeps no value."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from memoranda.adapters.secrets.anchors import GENERIC, SPECIFIC, possible
from memoranda.domain.withheld import SecretFinding

if TYPE_CHECKING:
    from detect_secrets.plugins.base import BasePlugin

_LINE_BREAK = re.compile(r"\r\n|\n|\r")
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
