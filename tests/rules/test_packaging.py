"""What is installed: locked, complete, and from nowhere in particular."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
_PIN = re.compile(r"^([a-z0-9][a-z0-9._-]*)==([^ ;\\]+)", re.MULTILINE)


def locked(name: str) -> dict[str, Version]:
    """Return package -> version of a lock file."""
    text = (ROOT / "requirements" / name).read_text(encoding="utf-8")
    return {package: Version(version) for package, version in _PIN.findall(text)}


LEFT_OUT = {"gguf", "zvec"}
"""Extras that are not in the users' lock, for their size: who wants one installs it by name."""


def wanted(*, left_out: set[str]) -> list[Requirement]:
    """Return what users need, with extras."""
    project = PROJECT["project"]
    extras = [
        line for name, lines in project["optional-dependencies"].items() if name not in left_out for line in lines
    ]
    return [Requirement(line) for line in (*project["dependencies"], *extras)]


def test_locks_hold_what_the_project_asks_for() -> None:
    """Every dependency is pinned within its range, the tests' lock holds the users' lock, and every pin has hashes."""
    users, tests = locked("lock.txt"), locked("lock-dev.txt")
    for requirement in wanted(left_out=LEFT_OUT):
        version = users[requirement.name.lower()]
        assert requirement.specifier.contains(version), f"{requirement} is locked at {version}"
    for requirement in wanted(left_out=set()):
        assert requirement.specifier.contains(tests[requirement.name.lower()]), f"{requirement} in lock-dev.txt"
    for line in PROJECT["dependency-groups"]["dev"]:
        assert Requirement(line).name in tests
    assert {name: tests[name] for name in users} == users


@pytest.mark.parametrize("name", ["lock.txt", "lock-dev.txt"])
def test_locks_name_no_host(name: str) -> None:
    """A lock says what and which bytes, never from where."""
    lines = (ROOT / "requirements" / name).read_text(encoding="utf-8").splitlines()
    assert all(re.match(r"( {4}--hash=sha256:[0-9a-f]{64}|[a-z0-9])", line) for line in lines if line)
    assert not any("://" in line or line.startswith("-") for line in lines)
    assert sum(1 for line in lines if "--hash=" in line) > 100


def test_the_base_installation_is_small() -> None:
    """What every user installs is a dozen packages at most; servers and models are extras."""
    base = {wanted.name for wanted in map(Requirement, PROJECT["project"]["dependencies"]) if wanted.marker is None}
    assert len(base) <= 12
    assert not base & {"mcp", "uvicorn", "starlette", "pydantic", "torch"}
