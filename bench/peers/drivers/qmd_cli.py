"""QMD's command line: a collection and a note a turn, `qmd search` for each question (a process each time)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from protocol import Asked, Turn, content, serve


class Qmd:
    """A folder of notes for each conversation, asked through the command."""

    name = "QMD search"

    def __init__(self, folder: Path, command: str) -> None:
        self._folder, self._command = folder, command
        homes = {name: str(folder / name.lower()) for name in ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME")}
        self._environment = os.environ | homes | {"NO_COLOR": "1"}
        self._ids: dict[str, str] = {}
        self._scopes: dict[str, str] = {}

    def _run(self, *words: str, seconds: int = 60) -> str:
        ran = subprocess.run(
            [self._command, *words],
            env=self._environment,
            capture_output=True,
            encoding="utf-8",
            timeout=seconds,
            check=False,
            stdin=subprocess.DEVNULL,
            cwd=self._folder,
        )
        if ran.returncode:
            raise RuntimeError(f"qmd {words[0]} ended with {ran.returncode}: {ran.stderr.strip()[:200]}")
        return ran.stdout

    def version(self) -> str:
        """Return the command's."""
        return self._run("--version").strip()

    def add(self, scope: str, turns: Sequence[Turn]) -> None:
        """Write a note for each."""
        name = self._scopes.setdefault(scope, f"c{len(self._scopes)}")
        notes = self._folder / "notes" / name
        notes.mkdir(parents=True, exist_ok=True)
        for turn in turns:
            file = f"t{len(self._ids)}.md"
            self._ids[f"{name}/{file}"] = turn["id"]
            (notes / file).write_text(f"{content(turn)}\n", encoding="utf-8")

    def finish(self) -> None:
        """Index every folder."""
        for name in self._scopes.values():
            self._run("collection", "add", str(self._folder / "notes" / name), "--name", name, seconds=600)

    def search(self, asked: Asked) -> list[str]:
        """Ask the command."""
        told = self._run("search", asked.text, "--json", "-n", str(asked.limit), "-c", self._scopes[asked.scope])
        return [self._ids[hit["file"].removeprefix("qmd://")] for hit in json.loads(told)]

    def close(self) -> None:
        """Do nothing more."""


if __name__ == "__main__":
    serve(Qmd(Path(sys.argv[1]), sys.argv[2]), Path(sys.argv[1]))
