"""Chroma on its own disk store: a collection for each conversation, vectors given, cosine distance."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
import chromadb
from protocol import Asked, Turn, content, serve


class Chroma:
    """A client of a folder."""

    name = "Chroma"

    def __init__(self, folder: Path) -> None:
        settings = chromadb.Settings(anonymized_telemetry=False)
        self._client = chromadb.PersistentClient(str(folder), settings=settings)
        self._collections: dict[str, chromadb.Collection] = {}

    def version(self) -> str:
        """Return the package's."""
        return str(chromadb.__version__)

    def _of(self, scope: str) -> chromadb.Collection:
        if scope not in self._collections:
            name = f"c{hashlib.sha256(scope.encode()).hexdigest()[:20]}"
            self._collections[scope] = self._client.create_collection(
                name, configuration={"hnsw": {"space": "cosine"}}, embedding_function=None
            )
        return self._collections[scope]

    def add(self, scope: str, turns: Sequence[Turn]) -> None:
        """Add them as one batch."""
        self._of(scope).add(
            ids=[turn["id"] for turn in turns],
            documents=[content(turn) for turn in turns],
            embeddings=[turn["vector"] for turn in turns],
            metadatas=[{"session": turn["session"], "at": turn["at"]} for turn in turns],
        )

    def finish(self) -> None:
        """Do nothing more."""

    def search(self, asked: Asked) -> list[str]:
        """Return the nearest."""
        found = self._of(asked.scope).query(query_embeddings=[list(asked.vector)], n_results=asked.limit)
        return list(found["ids"][0])

    def close(self) -> None:
        """Do nothing more."""


if __name__ == "__main__":
    serve(Chroma(Path(sys.argv[1])), Path(sys.argv[1]))
