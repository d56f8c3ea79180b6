"""Runs `memoranda` in this process, or in one of its own as a person or another program does."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from contextlib import ExitStack, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from memoranda.interfaces.cli.app import run

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
    """Runs the command line on one home."""

    home: Path

    def __call__(self, *arguments: str, stdin: str | None = None, **environment: str) -> Ran:
        """Run one command line to its end, in this process."""
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
        with ExitStack() as stack:
            stack.enter_context(mock.patch.dict(os.environ, self.clean() | environment, clear=True))
            text = io.TextIOWrapper(io.BytesIO((stdin or "").encode()), encoding="utf-8")
            stack.enter_context(mock.patch.object(sys, "stdin", text))
            stack.enter_context(redirect_stdout(out))
            stack.enter_context(redirect_stderr(err))
            code = run(arguments)
        return Ran(code, _written(out), _written(err))

    def process(self, *arguments: str, stdin: bytes = b"", **environment: str) -> Ran:
        """Run one command line to its end, in a process of its own."""
        done = subprocess.run(
            [sys.executable, "-m", "memoranda", *arguments],
            input=stdin,
            env=self.clean() | environment,
            capture_output=True,
            check=False,
            timeout=120,
        )
        return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())

    def clean(self) -> dict[str, str]:
        """Return an environment that names this home and pins nobody."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("MEMORANDA_")}
        return kept | {"MEMORANDA_HOME": str(self.home)}


def _written(stream: io.TextIOWrapper) -> str:
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode()
