"""Background work on an agent's memory with a language model, as handles offer it.

Jobs are imported where they are run: no other verb waits for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from memoranda.domain.access import require
from memoranda.domain.given import check_str
from memoranda.domain.query import Filters, Hit, Query
from memoranda.domain.scope import Viewer
from memoranda.domain.times import read_time
from memoranda.errors import BackendError, Denied, IntegrityError
from memoranda.memory.core import CoreMemory
from memoranda.services import core_blocks, reading
from memoranda.services.recall import recall

if TYPE_CHECKING:
    from memoranda.domain.job import RunReport
    from memoranda.domain.timeline import TimelineEvent
    from memoranda.domain.usage import Usage
    from memoranda.services.forget import Choose
    from memoranda.services.jobs.material import Sight
    from memoranda.services.jobs.run import Desk
    from memoranda.services.jobs.undoing import Undone


class Tending(CoreMemory):
    """A caller whose memory is tended by jobs; what they change is bound by what every model is bound by."""

    def dream(self, *, asked: bool = True, dry_run: bool = False) -> RunReport:
        """Consolidate this agent's memory now; what failed is in the report.

        Unless `asked`, only where the agent's sessions are silent and the last dream was long enough ago. A `dry_run`
        asks the model and changes nothing.

        Raises:
            ConfigurationError: no model is set (`llm.model`), or it cannot be used.
            MissingExtra: the extra `llm` is not installed.
        """
        from memoranda.services.jobs.dream import dream  # noqa: PLC0415 - few verbs run a job

        self._may_tend()
        report = dream(
            self._desk(), self._sight(), self.scope, self._agent_id(), self._parts.config.jobs, asked=asked,
            dry_run=dry_run,
        )  # fmt: skip
        self._embed_if_loaded(report.count("saved"))
        return report

    def contradictions(self) -> RunReport:
        """Compare what is new in this memory with what is nearest to it; raises as `dream`, beside Denied.

        What cannot both be true becomes an event `memory.conflict.signal`, what was updated a proposal.
        """
        from memoranda.services.jobs.contradictions import contradictions  # noqa: PLC0415 - few verbs run a job

        self._may_tend()
        return contradictions(self._desk(), self._sight(), self.scope, self._parts.config.jobs)

    def steward(self) -> RunReport:
        """Note a verdict on what waits, and let the model check claims against their evidence; raises as `dream`.

        What evidence bears or refutes becomes a proposal to believe it more or less.
        """
        from memoranda.services.jobs.steward import steward  # noqa: PLC0415 - few verbs run a job

        self._may_tend()
        return steward(self._desk(), self.scope, self._parts.config.jobs)

    def audit_usage(self) -> RunReport:
        """Let the model say which recalled records an answer rested on, in sessions that are over; raises as `dream`.

        No record changes; `usage` counts the verdicts.
        """
        from memoranda.services.jobs.usage import audit_usage  # noqa: PLC0415 - few verbs run a job

        self._may_tend()
        return audit_usage(self._desk(), self.scope, self._parts.config.jobs)

    def usage(self, record_id: str) -> Usage:
        """Count in how many of this agent's sessions a record mattered, as audits found. Raises NotFound."""
        from memoranda.services.jobs.usage import usage  # noqa: PLC0415 - few verbs run a job

        self._guard()
        check_str(record_id=record_id)
        found = reading.history(self._parts.stores, self.viewer, record_id)
        return usage(self._parts.stores, self.scope, found.versions[-1].record.id)

    def _may_tend(self) -> None:
        self._guard()
        require(self.viewer, "agent.memory.write", self.scope)

    def runs(self, *, kind: str = "", limit: int = 20) -> tuple[RunReport, ...]:
        """Return the newest runs of jobs in this memory, newest first."""
        from memoranda.services.jobs import accounts  # noqa: PLC0415 - few verbs run a job

        self._guard()
        check_str(kind=kind)
        return accounts.runs(self._parts.stores, self.scope, kind=kind, limit=limit)

    def run(self, run_id: str) -> RunReport:
        """Return one run, step by step. Raises NotFound."""
        from memoranda.services.jobs import accounts  # noqa: PLC0415 - few verbs run a job

        self._guard()
        check_str(run_id=run_id)
        return accounts.run(self._parts.stores, self.scope, run_id)

    def timeline(self, *, limit: int = 50, since: str = "", name: str = "") -> tuple[TimelineEvent, ...]:
        """Return what happened to this memory under stable names, newest first; see `docs/howto/timeline.md`.

        `name` may be the beginning of names before a dot. Raises InvalidInput.
        """
        from memoranda.services.timeline import timeline  # noqa: PLC0415 - few verbs run a job

        self._guard()
        check_str(since=since, name=name)
        after = read_time(since) if since else ""
        return timeline(self._parts.stores, self.scope, limit=limit, since=after, name=name)

    def undo_run(self, run_id: str) -> Undone:
        """Take a whole run back: what it changed, what a person let take effect for it, and what still waits.

        Raises:
            Denied: a model asks; a person takes back what a job did.
            NotFound: there is no such run here.
        """
        from memoranda.services.jobs.undoing import undo_run  # noqa: PLC0415 - few verbs run a job

        if not self.viewer.principal.is_person:
            raise Denied("only a person takes back what a job did")
        self.run(run_id)
        return undo_run(self._parts.stores, self.viewer.principal, self.scope, run_id)

    def _chooser(self) -> Choose | None:
        """Return who says which candidate a request to forget means; None where no model is set."""
        if not self._parts.models.name:
            return None
        from memoranda.services.jobs.choosing import Chooser  # noqa: PLC0415 - few verbs run a job

        return Chooser(self._desk(), self.scope).choose

    def _desk(self) -> Desk:
        from memoranda.services.jobs.run import Desk  # noqa: PLC0415 - few verbs run a job

        llm = self._parts.config.llm
        return Desk(
            stores=self._parts.stores, model=self._parts.models.open(), budget=llm.daily_budget,
            timeout=llm.timeout_seconds,
        )  # fmt: skip

    def _sight(self) -> Sight:
        """Return what a job may look at: this scope's records, and the blocks of this agent."""
        from memoranda.services.jobs.material import Sight  # noqa: PLC0415 - few verbs run a job

        return Sight(
            search=self._near, cosines=self._cosines,
            blocks=partial(core_blocks.blocks, self._parts.stores, self._agent_id()),
        )  # fmt: skip

    def _near(self, text: str, limit: int) -> Sequence[Hit]:
        """Find records of the own scope alone, without turns, however weak they are."""
        parts, stores = self._parts, self._parts.stores
        viewer = Viewer(self.viewer.principal, self.scope, frozenset({self.scope}))
        query = Query(text=text, limit=limit, filters=Filters(sources=frozenset({"note"})), min_score=0.0)
        return recall(
            viewer, query, index=stores.index, embedder=parts.embedders.open(), clock_now=stores.clock.now,
            locate=reading.Places(stores).locate,
        ).hits  # fmt: skip

    def _cosines(self, text: str, others: Sequence[str]) -> Sequence[float] | None:
        embedder = self._parts.embedders.open()
        if embedder is None:
            return None
        try:
            vectors = embedder.embed_documents([text, *others])
        except (BackendError, IntegrityError):
            return None
        return [float(value) for value in vectors[1:] @ vectors[0]]
