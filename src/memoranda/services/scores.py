"""What models said of search hits, kept for as long as the process lives."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

_KEPT = 4_096

Key = tuple[str, str, str]


@dataclass(slots=True)
class Scores:
    """What models said of (model, question, hash of a text); the ones not asked for longest are dropped."""

    _kept: OrderedDict[Key, float] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def known(self, keys: Sequence[Key]) -> dict[Key, float]:
        """Return those that are kept."""
        with self._lock:
            for key in keys:
                if key in self._kept:
                    self._kept.move_to_end(key)
            return {key: self._kept[key] for key in keys if key in self._kept}

    def keep(self, scores: Mapping[Key, float]) -> None:
        """Keep what a model said."""
        with self._lock:
            self._kept.update(scores)
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
