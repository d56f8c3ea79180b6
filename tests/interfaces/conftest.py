"""A home without an embedder, its memory, and the command line on it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import memoranda
from memoranda.memory import Memory
from tests.interfaces.command_line import CommandLine


@pytest.fixture(autouse=True)
def _nobody_pinned(monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable of the machine reaches a test."""
    for name in [name for name in os.environ if name.startswith("MEMORANDA_")]:
        monkeypatch.delenv(name)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home whose settings switch the embedder off, so that no test waits for a model."""
    folder = tmp_path / "home with space"
    folder.mkdir(mode=0o700)
    (folder / "memoranda.toml").write_text('[memory]\nprovider = "none"\n', encoding="utf-8")
    return folder


@pytest.fixture
def memory(home: Path) -> Iterator[Memory]:
    """The memory of that home."""
    with memoranda.open(home) as opened:
        yield opened


@pytest.fixture
def cli(home: Path) -> CommandLine:
    """The command line on that home."""
    return CommandLine(home)
