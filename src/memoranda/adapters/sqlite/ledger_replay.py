"""What the ledger's tables should hold after the events, worked out from the events alone."""

from __future__ import annotations

import json
from typing import Any

from memoranda.adapters.sqlite import ledger_rows as rows
from memoranda.adapters.sqlite.ledger_conflicts import ASSERTION, GATE
from memoranda.adapters.sqlite.ledger_trust import PROPOSAL, SESSION, STONE
from memoranda.domain.policy import writes_as_person
from memoranda.domain.scope import Principal

ERASED_EVENT = "memory.erased"


class Replay:
    """The tables after the events so far. `erased_events` and `erased_objects` are what an erasure has named."""

    def __init__(self) -> None:
        self.records: dict[str, tuple[object, ...]] = {}
        self.files: dict[tuple[str, str], tuple[str, str, int]] = {}
        self.checkpoints: dict[str, tuple[tuple[object, ...], list[list[object]]]] = {}
        self.tombstones: dict[str, tuple[object, ...]] = {}
        self.proposals: dict[str, tuple[object, ...]] = {}
        self.sessions: dict[str, tuple[object, ...]] = {}
        self.assertions: dict[str, tuple[object, ...]] = {}
        self.gates: dict[str, tuple[object, ...]] = {}
        self.erased_events: set[int] = set()
        self.erased_objects: dict[str, str] = {}
        self.pruned = False

    def apply(self, seq: int, at: str, principal: str, kind: str, scope: str, subject: str, text: str) -> None:
        """Take in one event; an erased one has no payload."""
        if not text:
            return
        payload: dict[str, Any] = json.loads(text)
        if kind.startswith("record."):
            row = rows.row_of_payload(payload["record"])
            self.records[str(row[0])] = row
        elif kind == "checkpoints.pruned":
            self.pruned = True
            for checkpoint in payload["checkpoints"]:
                self.checkpoints.pop(checkpoint, None)
        elif kind in ("batch.committed", "batch.discarded"):
            self._batch(seq, at, principal, kind, scope, payload)
        elif kind == ERASED_EVENT:
            self.erased_events.update(payload["events"])
            self.erased_objects.update(payload["objects"])
        elif kind.startswith(("memory.conflict.", "memory.assertion.", "gate.")):
            self._conflicts(kind, subject, payload)
        else:
            self._trust(kind, subject, payload)

    def _batch(self, seq: int, at: str, principal: str, kind: str, scope: str, payload: dict[str, Any]) -> None:
        if "checkpoint" in payload:
            head = (seq, at, scope, payload["reason"], principal)
            files = [[position, *file[:3]] for position, file in enumerate(payload["files"])]
            self.checkpoints[payload["checkpoint"]] = (head, files)
        if kind == "batch.committed":
            for path, _, after, content_hash in payload["files"]:
                before = self.files.get((scope, path), ("", "", 0))
                by_person = bool(after) and (
                    bool(before[2]) or writes_as_person(Principal.parse(principal), payload["reason"])
                )
                self.files[scope, path] = (after, content_hash, int(by_person))

    def _conflicts(self, kind: str, subject: str, payload: dict[str, Any]) -> None:
        match kind:
            case "memory.assertion.dropped":
                for ident in payload["records"]:
                    self.assertions.pop(ident, None)
            case "gate.passed" | "gate.blocked" | "gate.refused":
                pass  # nothing of these waits
            case _ if kind.startswith("gate."):
                self.gates[subject] = tuple(payload[name] for name in GATE)
            case _:
                self.assertions[subject] = tuple(payload[name] for name in ASSERTION)

    def _trust(self, kind: str, subject: str, payload: dict[str, Any]) -> None:
        match kind:
            case "tombstone.made":
                self.tombstones[subject] = tuple(payload[name] for name in STONE)
            case "tombstone.lifted":
                self._change(self.tombstones, STONE, subject, payload)
            case "tombstone.erased":
                self.tombstones.pop(subject, None)
            case "proposal.made" | "proposal.erased":
                self.proposals[subject] = tuple(payload[name] for name in PROPOSAL)
            case "proposal.approved" | "proposal.rejected" | "proposal.withdrawn":
                self._change(self.proposals, PROPOSAL, subject, payload)
            case "session.opened" | "session.tainted" | "session.closed" | "session.erased":
                self.sessions[subject] = tuple(payload[name] for name in SESSION if name != "settled")
            case _:
                pass

    @staticmethod
    def _change(
        table: dict[str, tuple[object, ...]], names: tuple[str, ...], subject: str, payload: dict[str, Any]
    ) -> None:
        if subject not in table:
            return  # what it changes was erased
        old = dict(zip(names, table[subject], strict=True))
        table[subject] = tuple({**old, **{name: payload[name] for name in names if name in payload}}.values())
