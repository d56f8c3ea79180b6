"""One QMD collection beside each scope's index, asked through its command line.

QMD is given what is indexed, a file a passage, and never the workspace: that may hold what waits for review. Settings
and index are in the scope's own folder, so that a person's own QMD is untouched. Only `collection add`, `update` and
`search` are used: the commands that need models wait for downloads. QMD keeps the text of documents that are gone, so
where any passage goes everything here is removed, and made again by the next search.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

FOLDER, NOTES, STATE = "qmd", "notes", "state.json"
_COLLECTION = "memoranda"
_FILE = re.compile(r"qmd://memoranda/(\d+)\.md")
_WORD = re.compile(r"\w+")
_MOST_WORDS = 8
"""QMD finds what holds all words; a long question holds more than any note."""


class QmdArm:
    """A `TextArm` that runs QMD; used by one thread at a time, or behind its own lock."""

    def __init__(self, folder: Path, *, command: str = "qmd", max_results: int = 20, timeout: float = 30.0) -> None:
        self._folder = folder / FOLDER
        self._command, self._most, self._timeout = command, max_results, timeout
        self._lock = threading.Lock()
        self._problem = ""

    @property
    def problem(self) -> str:
        """Why it does not answer; see the port."""
        return self._problem

    def follow(self, state: str, passages: Callable[[], Iterable[tuple[int, str]]]) -> None:
        """Bring files and collection up to these passages; see the port."""
        with self._lock:
            known, keys = self._known()
            if known == state:
                self._problem = ""
                return
            try:
                self._write(state, keys, dict(passages()))
            except OSError as error:
                self._problem = f"the files for qmd cannot be written: {error.strerror}"

    def named(self, terms: Sequence[str]) -> Sequence[int] | None:
        """Return the keys that QMD finds for words, best first; see the port."""
        words = [word for term in terms for word in _WORD.findall(term) if len(word) > 1]
        with self._lock:
            if self._problem or not words:
                return None
            # A word is no option and no operator: letters and digits alone, and the dashes end the options.
            wanted = ["search", "--json", "-n", str(self._most), "-c", _COLLECTION, "--", " ".join(words[:_MOST_WORDS])]
            printed = self._run(*wanted)
            if printed is None:
                return None
            try:
                hits: list[Any] = json.loads(printed)
                return [int(match[1]) for hit in hits if (match := _FILE.fullmatch(str(hit["file"])))]
            except (ValueError, KeyError, TypeError):
                self._problem = "qmd printed no JSON that is known"
                return None

    def keep(self, alive: Callable[[Sequence[int]], int]) -> None:
        """Remove everything where any passage is gone; see the port."""
        with self._lock:
            _, keys = self._known()
            if keys and alive(keys) != len(keys):
                shutil.rmtree(self._folder, ignore_errors=True)

    def close(self) -> None:
        """Do nothing: no process is kept."""

    def _known(self) -> tuple[str, Sequence[int]]:
        try:
            state, keys = json.loads((self._folder / STATE).read_text(encoding="utf-8"))
        except (OSError, ValueError, TypeError):
            return "", ()
        return str(state), [int(key) for key in keys]

    def _write(self, state: str, keys: Sequence[int], texts: dict[int, str]) -> None:
        gone = set(keys) - texts.keys()
        if gone or not keys:
            shutil.rmtree(self._folder, ignore_errors=True)
            keys = ()
        notes = self._folder / NOTES
        notes.mkdir(mode=0o700, parents=True, exist_ok=True)
        (self._folder / STATE).write_text(json.dumps(["", sorted(texts)]), encoding="utf-8")
        for key in texts.keys() - set(keys):
            (notes / f"{key}.md").write_text(texts[key], encoding="utf-8")
        if keys:
            done = self._run("update")
        else:
            done = self._run("collection", "add", str(notes), "--name", _COLLECTION, "--mask", "**/*.md")
        if done is not None:
            (self._folder / STATE).write_text(json.dumps([state, sorted(texts)]), encoding="utf-8")

    def _run(self, *arguments: str) -> str | None:
        """Run QMD and return what it printed; None where it failed, and `problem` says how."""
        places = {"XDG_CONFIG_HOME": "config", "QMD_CONFIG_DIR": "config/qmd", "XDG_CACHE_HOME": "cache"}
        environment = os.environ | {name: str(self._folder / place) for name, place in places.items()}
        try:
            done = subprocess.run(
                [shutil.which(self._command) or self._command, *arguments],
                cwd=self._folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                timeout=self._timeout, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            self._problem = f"qmd did not answer within {self._timeout:g} s"
        except OSError:
            self._problem = f"qmd is not there: {self._command!r} cannot be run (npm install -g @tobilu/qmd)"
        else:
            if done.returncode == 0:
                self._problem = ""
                return done.stdout.decode("utf-8", "replace")
            self._problem = f"qmd {arguments[0]} ended with {done.returncode}"
        return None
