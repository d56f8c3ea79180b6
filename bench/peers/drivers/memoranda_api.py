"""Memoranda through its public API: every turn said in a session, every question asked with `agent.search`."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from protocol import Asked, Turn, serve

import memoranda
from memoranda.memory import Agent, Session


class Memoranda:
    """An agent for each conversation; the embedder is Memoranda's own."""

    name = "Memoranda"

    def __init__(self, folder: Path, provider: str) -> None:
        self._memory = memoranda.open(folder, settings={"memory.provider": provider})
        self._agents: dict[str, Agent] = {}
        self._session: tuple[str, Session] | None = None
        self._ids: dict[tuple[str, int], str] = {}
        self._said: Counter[str] = Counter()

    def version(self) -> str:
        """Return the package's."""
        return memoranda.__version__

    def _agent(self, scope: str) -> Agent:
        if scope not in self._agents:
            self._agents[scope] = self._memory.agent(re.sub(r"[^a-z0-9_-]", "-", scope.lower()))
        return self._agents[scope]

    def add(self, scope: str, turns: Sequence[Turn]) -> None:
        """Say each in its session."""
        for turn in turns:
            session = self._session_of(scope, str(turn["session"]))
            session.say(turn["role"], turn["text"], speaker=turn["speaker"], at=turn["at"])
            self._said[session.id] += 1
            self._ids[session.id, self._said[session.id]] = turn["id"]

    def _session_of(self, scope: str, name: str) -> Session:
        key = f"{scope}/{name}"
        if self._session is None or self._session[0] != key:
            if self._session is not None:
                self._session[1].close()
            self._session = key, self._agent(scope).session(f"session_{name}")
        return self._session[1]

    def finish(self) -> None:
        """Close the last session and embed what was said."""
        if self._session is not None:
            self._session[1].close()
        self._memory.embed()

    def search(self, asked: Asked) -> list[str]:
        """Ask as an agent does."""
        hits = self._agent(asked.scope).search(asked.text, limit=asked.limit, min_score=0).hits
        return [self._ids[hit.turn.session, hit.turn.position] for hit in hits if hit.turn]

    def sessions(self, asked: Asked) -> list[str]:
        """Return a turn of each session found, best session first."""
        hits = self._agent(asked.scope).search(asked.text, limit=asked.limit, min_score=0, grain="session").hits
        return [self._ids[hit.turn.session, hit.turn.position] for hit in hits if hit.turn]

    def close(self) -> None:
        """Close the home."""
        self._memory.close()


if __name__ == "__main__":
    serve(Memoranda(Path(sys.argv[1]), sys.argv[2]), Path(sys.argv[1]))
