"""Remembers the last parse of a file, so that a change is read again only where it is."""

from __future__ import annotations

import threading
from collections import OrderedDict

from memoranda.domain.markdown import Document, common_start, parse, reparse
from memoranda.domain.scope import Scope

_FILES = 64
_CHARACTERS = 1_000_000
"""A longer text is not kept: memory is worth more than its parse."""


class Parsed:
    """The documents of the files that were worked on last; a cache, never a truth: the text decides."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._documents: OrderedDict[tuple[Scope, str], Document] = OrderedDict()

    def parse(self, scope: Scope, path: str, text: str) -> Document:
        """Return the parse of a text, using what is remembered of this file."""
        with self._lock:
            near = self._documents.get((scope, path))
        if near is None:
            document = parse(text)
        elif near.text == text:
            document = near
        else:
            document = reparse(near, text, common_start(near.text, text))
        self.remember(scope, path, document)
        return document

    def remember(self, scope: Scope, path: str, document: Document) -> None:
        """Keep a document for the next look at its file."""
        if len(document.text) > _CHARACTERS:
            return
        with self._lock:
            self._documents[scope, path] = document
            self._documents.move_to_end((scope, path))
            while len(self._documents) > _FILES:
                self._documents.popitem(last=False)
