"""Runs `memoranda` in processes of its own, as a person or another program does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

TEA = "The user drinks green tea every morning."


@dataclass(frozen=True)
class Ran:
    """What a finished command left."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one JSON document on standard output."""
        return json.loads(self.out)


@dataclass(frozen=True)
class CommandLine:
    """Runs `memoranda` in a process of its own."""

    home: Path
    environment: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, *arguments: str, stdin: str | None = None, **environment: str) -> Ran:
        """Run one command line to its end."""
        done = subprocess.run(
            [sys.executable, "-m", "memoranda", *arguments],
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            env=self.clean() | environment,
            capture_output=True,
            encoding="utf-8",
            check=False,
            timeout=120,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    def clean(self) -> dict[str, str]:
        """Return an environment that names this home and pins nobody."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("MEMORANDA_")}
        return kept | {"MEMORANDA_HOME": str(self.home)} | dict(self.environment)
