"""Core blocks of an agent: small texts that are in every prompt."""

from __future__ import annotations

from memoranda.domain.block import CoreBlock
from memoranda.domain.operation import Batch, EditBlock, check_operation
from memoranda.domain.outcome import BatchOutcome
from memoranda.errors import InvalidInput
from memoranda.memory.handle import Handle
from memoranda.services import core_blocks


class CoreMemory(Handle):
    """A caller that reads and changes core blocks; each change goes through the gateway."""

    def blocks(self) -> tuple[CoreBlock, ...]:
        """Return the agent's blocks as they are now, shared ones included, in the order of the settings."""
        self._guard()
        return core_blocks.blocks(self._parts.stores, self._agent_id())

    def core_append(self, block: str, text: str) -> BatchOutcome:
        """Add text at the end of a block: an item joins the list that is there, all else is a paragraph."""
        return self._edit(EditBlock(block, "append", text), "core_memory_append")

    def core_replace(self, block: str, old: str, new: str) -> BatchOutcome:
        """Put `new` in the place of the first `old` in a block; an empty `new` deletes it."""
        return self._edit(EditBlock(block, "replace", new, old), "core_memory_replace")

    def core_set(self, block: str, value: str) -> BatchOutcome:
        """Make `value` the whole value of a block; unchanged lines keep their history."""
        return self._edit(EditBlock(block, "set", value), "core_memory_set")

    def _edit(self, operation: EditBlock, tool: str) -> BatchOutcome:
        self._guard()
        check_operation(operation)
        scope = core_blocks.scope_of(self._parts.stores, self._agent_id(), operation.label)
        batch = Batch(
            self.viewer.principal, scope, (operation,), "block", self._provenance(tool),
            proposes=scope == self.scope,
        )  # fmt: skip
        return self._commit_batch(batch)

    def _agent_id(self) -> str:
        if self.scope.kind != "agent":
            raise InvalidInput("only an agent has core blocks")
        return self.scope.id
