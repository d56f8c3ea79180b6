"""What happened: days of the log, what was said around a turn, and what entered which prompt."""

from __future__ import annotations

from collections.abc import Sequence

from memoranda.domain.access import read_action, require
from memoranda.domain.day import time_frame
from memoranda.domain.episode import Episode
from memoranda.domain.given import check_str
from memoranda.domain.injection import Injection
from memoranda.errors import InvalidInput
from memoranda.memory.handle import Handle
from memoranda.services import reading, timeframe
from memoranda.services.timeframe import TimeFrameResult

MAX_INJECTIONS = 1_000


class Recollection(Handle):
    """A caller that looks back."""

    def timeframe(self, day: str = "", *, first: str = "", last: str = "") -> TimeFrameResult:
        """Return what the log says of a day (`2026-11-30`, `today`, `yesterday`) or of the days from first to last.

        Raises:
            InvalidInput: neither or both are given, a date is none, or it is more than 31 days.
        """
        self._guard()
        stores = self._parts.stores
        frame = time_frame(day, first, last, today=stores.zone().day(stores.clock.now()))
        return timeframe.recall_timeframe(stores, self.viewer, frame)

    def around(self, turn_id: str, *, count: int = 3) -> tuple[Episode, ...]:
        """Return what was said around a turn, `count` entries (1 to 20) before and after. Raises NotFound."""
        self._guard()
        check_str(turn_id=turn_id)
        return reading.around(self._parts.stores, self.viewer, turn_id, count)

    def injections(self, *, limit: int = 50, record: str = "") -> Sequence[Injection]:
        """Return what entered this agent's prompts, newest first; of one record where it is named."""
        self._guard()
        check_str(record=record)
        require(self.viewer, read_action(self.scope), self.scope)
        if not 1 <= limit <= MAX_INJECTIONS:
            raise InvalidInput(f"limit {limit} is out of range: use 1 to {MAX_INJECTIONS}")
        return self._parts.stores.ledger.injections(self.scope, limit=limit, record=record)
