"""What every handle is: the parts of a home, and who acts in which scope."""

from __future__ import annotations

import contextlib

from memoranda.domain.access import Action, require
from memoranda.domain.checkpoint import CheckpointReason
from memoranda.domain.operation import Batch, Operation, check_operation
from memoranda.domain.outcome import BatchOutcome, Saved
from memoranda.domain.record import Provenance
from memoranda.domain.scope import Scope, Viewer
from memoranda.errors import BackendError, IntegrityError
from memoranda.memory.parts import Parts
from memoranda.services import gateway
from memoranda.services.embedding import embed_pending

_EMBED_AT_ONCE = 64
"""Passages a save embeds at most before it returns: its own, the newest; the rest is the watcher's."""


_ACTIONS: dict[CheckpointReason, Action] = {
    "delete": "agent.memory.delete", "forget": "agent.memory.delete", "propose": "team.memory.propose",
}  # fmt: skip
"""The action that a write needs, by its reason; all others write."""


class Handle:
    """One caller; identity and reach are fixed when it is made."""

    def __init__(self, parts: Parts, viewer: Viewer, session_id: str = "") -> None:
        self._parts = parts
        self.viewer = viewer
        self._session_id = session_id

    @property
    def scope(self) -> Scope:
        """The scope it writes to."""
        return self.viewer.own

    def _guard(self) -> None:
        """Called before everything that touches memory; a session in a shared audience stops here."""

    def _provenance(self, tool: str) -> Provenance:
        return Provenance(session_id=self._session_id, tool=tool)

    def _commit(
        self,
        operation: Operation,
        reason: CheckpointReason,
        tool: str,
        *,
        proposes: bool = False,
        scope: Scope | None = None,
    ) -> BatchOutcome:
        self._guard()
        check_operation(operation)
        goal = scope or self.scope
        require(self.viewer, _ACTIONS.get(reason, "agent.memory.write"), goal)
        batch = Batch(self.viewer.principal, goal, (operation,), reason, self._provenance(tool), proposes=proposes)
        return self._commit_batch(batch)

    def _commit_batch(self, batch: Batch) -> BatchOutcome:
        outcome = gateway.commit(self._parts.stores, batch)
        fresh = sum(len(item.record_ids) for item in outcome.items if isinstance(item, Saved))
        if fresh and outcome.indexed:
            self._embed_if_loaded(fresh)
        return outcome

    def _embed_if_loaded(self, fresh: int) -> None:
        """Give vectors to what was just saved, where a model is in memory; elsewhere it waits for the next one."""
        parts = self._parts
        embedder = parts.embedders.open() if parts.embedders.loaded else None
        if embedder is not None:
            with contextlib.suppress(BackendError, IntegrityError):  # it waits, and keyword search finds it meanwhile
                embed_pending(parts.stores.index, embedder, parts.cache, self.scope, limit=min(fresh, _EMBED_AT_ONCE))
