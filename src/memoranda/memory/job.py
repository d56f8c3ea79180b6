"""Background work in an agent's memory: an agent's handle that may also judge, where it is a steward."""

from __future__ import annotations

from collections.abc import Sequence

from memoranda.domain.operation import Retier
from memoranda.domain.outcome import BatchOutcome
from memoranda.domain.record import Trust
from memoranda.memory.agent import Agent


class Job(Agent):
    """A steward, a distiller or an importer at work. It is made by `Memory.job`."""

    def retier(self, record_id: str, trust: Trust, *, evidence: Sequence[str] = ()) -> BatchOutcome:
        """Change how far a record is believed, as a steward: up to `agent_verified`, with evidence that resolves.

        Refused for other jobs, for a person's records, and above the ceiling that descent sets. Raises NotFound as
        `update`.
        """
        return self._found(self._commit(Retier(record_id, trust, tuple(evidence)), "retier", "retier"))
