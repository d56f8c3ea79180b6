"""mem0 with `infer=False` (no model is asked) over its default store, Qdrant in a folder; vectors given."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from protocol import Asked, Turn, content, serve

os.environ |= {"MEM0_TELEMETRY": "False", "OPENAI_API_KEY": "none, for nothing is asked", "MEM0_DIR": sys.argv[1]}
from mem0 import Memory
from mem0.embeddings.base import EmbeddingBase


class Given(EmbeddingBase):
    """An embedder that knows the vectors that were given.

    mem0 asks for those of questions without white space at their ends, and for those of memories as they are.
    """

    def __init__(self) -> None:
        super().__init__(None)
        self._vectors: dict[str, list[float]] = {}

    def give(self, text: str, vector: Sequence[float]) -> None:
        """Keep the vector of a text."""
        self._vectors[text.strip()] = list(vector)

    def forget(self) -> None:
        """Keep none any more."""
        self._vectors.clear()

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:  # noqa: ARG002 - mem0's signature
        """Return the vector of a text."""
        return self._vectors[text.strip()]


class Mem0:
    """A user for each conversation."""

    name = "mem0"

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._given = Given()
        self._opened: Memory | None = None

    def version(self) -> str:
        """Return the packages'."""
        return f"{version('mem0ai')}, Qdrant client {version('qdrant-client')}"

    def _memory(self, dims: int) -> Memory:
        if self._opened is None:
            store = {"path": str(self._folder / "qdrant"), "on_disk": True, "embedding_model_dims": dims}
            self._opened = Memory.from_config(
                {
                    "vector_store": {"provider": "qdrant", "config": store},
                    "history_db_path": str(self._folder / "history.db"),
                }
            )
            self._opened.embedding_model = self._given
        return self._opened

    def add(self, scope: str, turns: Sequence[Turn]) -> None:
        """Add each as a memory."""
        memory = self._memory(len(turns[0]["vector"]))
        for turn in turns:
            self._given.give(content(turn), turn["vector"])
            metadata = {"turn": turn["id"], "session": turn["session"], "at": turn["at"]}
            message = {"role": turn["role"], "content": content(turn)}
            memory.add([message], user_id=scope, metadata=metadata, infer=False)

    def finish(self) -> None:
        """Forget the vectors of the turns: what is left is the store's."""
        self._given.forget()

    def search(self, asked: Asked) -> list[str]:
        """Search a user's memories."""
        self._given.give(asked.text, asked.vector)
        found = self._memory(len(asked.vector)).search(
            asked.text, filters={"user_id": asked.scope}, top_k=asked.limit, threshold=0.0
        )
        return [item["metadata"]["turn"] for item in found["results"]]

    def close(self) -> None:
        """Close the store."""
        if self._opened is not None:
            self._opened.vector_store.client.close()


if __name__ == "__main__":
    serve(Mem0(Path(sys.argv[1])), Path(sys.argv[1]))
