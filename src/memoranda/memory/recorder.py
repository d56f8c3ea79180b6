"""Writing single records with what is known about them: remember, update, remove, forget, propose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from memoranda.domain.access import require
from memoranda.domain.given import check_str
from memoranda.domain.operation import Create, Pin, Remove, Supersede
from memoranda.domain.outcome import BatchOutcome, Refused
from memoranda.domain.policy import LONG_TERM, NOTES
from memoranda.domain.proposal import Proposal
from memoranda.domain.query import Filters, Hit, Query
from memoranda.domain.record import Details
from memoranda.domain.report import ForgetResult
from memoranda.domain.scope import Scope, Viewer
from memoranda.errors import Denied, InvalidInput, NotFound
from memoranda.memory.handle import Handle
from memoranda.services import forget as forgetting
from memoranda.services import reading, review
from memoranda.services.recall import recall

_PLAIN = Details()


class Recorder(Handle):
    """A caller that writes records one by one."""

    def remember(self, body: str, *, details: Details = _PLAIN, file: str | None = None) -> BatchOutcome:
        """Write one record with its details, under a heading where it has a title.

        Without `file` it goes to memory/notes.md (MEMORY.md where the write mode is prompt-only).
        """
        path = file or (LONG_TERM if self._parts.stores.write_mode == "prompt-only" else NOTES)
        return self._commit(Create(path, body, details), "remember", "memory")

    def update(self, record_id: str, body: str, *, details: Details = _PLAIN) -> BatchOutcome:
        """Put a new text in a record's place; a change to a person's record becomes a proposal for an agent.

        Raises NotFound, alike for unknown, foreign and inactive ids.
        """
        return self._found(self._commit(Supersede(record_id, body, details), "update", "memory", proposes=True))

    def remove(self, record_id: str, *, keep_value: bool = False) -> BatchOutcome:
        """Remove one record; unless `keep_value` its value is rejected too. Raises as `update`."""
        operation = Remove(record_id, keep_value=keep_value)
        return self._found(self._commit(operation, "forget", "memory", proposes=True))

    def pin(self, record_id: str, *, pinned: bool = True) -> BatchOutcome:
        """Keep a record from every change by background work, or let it go again.

        Raises NotFound as `update`. Refused for models.
        """
        return self._found(self._commit(Pin(record_id, pinned), "pin", "pin"))

    @staticmethod
    def _found(outcome: BatchOutcome) -> BatchOutcome:
        item = outcome.items[0]
        if isinstance(item, Refused) and item.rule == "not_found":
            raise NotFound("record not found")
        return outcome

    def propose_to_team(self, body: str, *, details: Details = _PLAIN, team: str = "") -> BatchOutcome:
        """Offer a record to a team's memory; it waits there until a person approves it.

        Without `team` it is the only one that this agent is in.

        Raises:
            InvalidInput: the agent is in no team, in several, or not in this one.
        """
        check_str(team=team)
        teams = sorted(scope.id for scope in self.viewer.scopes if scope.kind == "team")
        if team and team not in teams:
            raise InvalidInput(f"this agent is not in a team of this name; its teams: {', '.join(teams) or 'none'}")
        if not team and len(teams) != 1:
            raise InvalidInput(f"name the team; this agent's teams: {', '.join(teams) or 'none'}")
        goal = Scope("team", team or teams[0])
        return self._commit(Create(NOTES, body, details), "propose", "memory", proposes=True, scope=goal)

    def forget(self, request: str, *, dry_run: bool = False, limit: int = 6) -> ForgetResult:
        """Remove the one record that a request names exactly; anything unsure becomes a preview for a person."""
        self._guard()
        check_str(request=request)
        require(self.viewer, "agent.memory.delete", self.scope)
        stores = self._parts.stores
        result = forgetting.forget(
            stores, self._candidates, self.viewer.principal, self.scope, request,
            provenance=self._provenance("memory_forget"), dry_run=dry_run, limit=limit, choose=self._chooser(),
        )  # fmt: skip
        places = reading.Places(stores)
        planned = []
        for item in result.planned:
            record = stores.ledger.record(item.record_id)
            text = stores.ledger.text(record.block_hash) if record else None
            lines = places.locate(record, text) if record and text is not None else None
            planned.append(replace(item, line_start=lines[0], line_end=lines[1]) if lines else item)
        return replace(result, planned=tuple(planned))

    def _chooser(self) -> forgetting.Choose | None:
        """Return who says which candidate is meant; None where no model is set."""
        return None

    def _candidates(self, text: str, limit: int) -> Sequence[Hit]:
        """Find records of the own scope alone."""
        stores = self._parts.stores
        viewer = Viewer(self.viewer.principal, self.scope, frozenset({self.scope}))
        query = Query(text=text, limit=limit, mode="keyword", filters=Filters(), min_score=0.0)
        return recall(
            viewer, query, index=stores.index, embedder=None, clock_now=stores.clock.now,
            locate=reading.Places(stores).locate,
        ).hits  # fmt: skip

    def confirm_forget(self, token: str, *, only: Sequence[str] = ()) -> BatchOutcome:
        """Carry out a removal that was unsure, all of it or `only` these records.

        Raises:
            Denied: a model asks; a person confirms.
            NotFound, Ruled: it does not wait, or not any more.
        """
        if not self.viewer.principal.is_person:
            raise Denied("only a person confirms what is to be forgotten")
        check_str(token=token)
        stores, scopes = self._parts.stores, [self.scope]
        proposal = review.find(stores, scopes, token)
        if proposal.kind != "forget":
            raise NotFound("nothing with this id waits to be forgotten")
        return review.decide(
            stores, self.viewer.principal, scopes, token, "approved", content_hash=proposal.content_hash, only=only
        )

    def proposals(self, *, pending: bool = True, limit: int = 50) -> tuple[Proposal, ...]:
        """Return what waits for a person in this caller's own memory, oldest first: what kind and why, no content.

        For an agent it is what it has offered itself.
        """
        self._guard()
        found = review.listed(self._parts.stores, [self.scope], pending=pending, limit=limit)
        return tuple(replace(item, operations=(), content_hash="", rationale="") for item in found)
