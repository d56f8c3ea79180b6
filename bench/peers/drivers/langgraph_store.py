"""LangGraph's store with a semantic index: a namespace for each conversation, vectors given.

`SqliteStore` where this Python's sqlite3 loads extensions, which it needs; else `InMemoryStore`. The version tells.
"""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from langgraph.store.base import BaseStore, PutOp
from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite import SqliteStore
from protocol import Asked, Turn, content, serve

ON_DISK = hasattr(sqlite3.Connection, "enable_load_extension")


class LangGraph:
    """A store whose embedding function knows the vectors that were given."""

    name = "LangGraph store"

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._vectors: dict[str, Sequence[float]] = {}
        self._opened: BaseStore | None = None
        self._closing = ExitStack()

    def version(self) -> str:
        """Return the packages'."""
        store = f"SqliteStore {version('langgraph-checkpoint-sqlite')}" if ON_DISK else "InMemoryStore"
        return f"{version('langgraph')}, {store}"

    def _embed(self, texts: Sequence[str]) -> list[list[float]]:
        return [list(self._vectors[text]) for text in texts]

    def _store(self, dims: int) -> BaseStore:
        if self._opened is None:
            index = {"dims": dims, "embed": self._embed, "fields": ["text"]}
            if ON_DISK:
                store = SqliteStore.from_conn_string(str(self._folder / "store.db"), index=index)
                self._opened = self._closing.enter_context(store)
                self._opened.setup()
            else:
                self._opened = InMemoryStore(index=index)
        return self._opened

    def add(self, scope: str, turns: Sequence[Turn]) -> None:
        """Put them as one batch."""
        self._vectors |= {content(turn): turn["vector"] for turn in turns}
        items = [
            PutOp((scope,), turn["id"], {"text": content(turn), "session": turn["session"], "at": turn["at"]})
            for turn in turns
        ]
        self._store(len(turns[0]["vector"])).batch(items)

    def finish(self) -> None:
        """Forget the vectors of the turns: what is left is the store's."""
        self._vectors.clear()

    def search(self, asked: Asked) -> list[str]:
        """Search the namespace by meaning."""
        self._vectors[asked.text] = asked.vector
        store = self._store(len(asked.vector))
        return [item.key for item in store.search((asked.scope,), query=asked.text, limit=asked.limit)]

    def close(self) -> None:
        """Close the file."""
        self._closing.close()


if __name__ == "__main__":
    serve(LangGraph(Path(sys.argv[1])), Path(sys.argv[1]))
