"""Makes a peer's own environment, with pip, or with npm for a Node program."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from catalogue import Peer

SECONDS = 1_800


class InstallError(Exception):
    """A peer could not be installed here; the text says why."""


def prepare(peer: Peer, environments: Path, drivers: Path) -> list[str]:
    """Install a peer unless it is, and return the command of its driver with `{folder}` left open.

    Raises:
        InstallError: no Python that is new enough, no npm, or the package host refused.
    """
    home = environments / peer.name
    wanted = json.dumps([peer.packages, peer.node, peer.python])
    done = home / "installed.json"
    if not done.is_file() or done.read_text(encoding="utf-8") != wanted:
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir(parents=True)
        _install(peer, home)
        done.write_text(wanted, encoding="utf-8")
    python = home / "venv" / "bin" / "python" if peer.packages else Path(sys.executable)
    node = str(home / "node_modules" / ".bin")
    return [str(python), str(drivers / peer.driver), *(part.replace("{node}", node) for part in peer.arguments)]


def _install(peer: Peer, home: Path) -> None:
    if peer.packages:
        _run([_python(peer.python), "-m", "venv", str(home / "venv")])
        pip = [str(home / "venv" / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        _run([*pip, *peer.packages])
    if peer.node:
        npm = shutil.which("npm")
        if npm is None:
            raise InstallError("npm is not on this machine")
        _run([npm, "install", "--prefix", str(home), "--no-audit", "--no-fund", "--loglevel=error", peer.node])


def _python(lowest: tuple[int, int]) -> str:
    if sys.version_info[:2] >= lowest:
        return sys.executable
    for candidate in _candidates(lowest):
        if _version(candidate) >= lowest:
            return candidate
    raise InstallError(f"it needs Python {lowest[0]}.{lowest[1]}, which is not on this machine")


def _candidates(lowest: tuple[int, int]) -> Iterator[str]:
    names = [f"python{lowest[0]}.{minor}" for minor in range(lowest[1], lowest[1] + 4)]
    yield from (found for name in names if (found := shutil.which(name)))
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    yield from sorted(str(found) for found in versions.glob("3.*/bin/python"))


def _version(python: str) -> tuple[int, int]:
    asked = "import sys; print(*sys.version_info[:2])"
    ran = subprocess.run([python, "-c", asked], capture_output=True, encoding="utf-8", timeout=60, check=False)
    if ran.returncode:
        return (0, 0)
    major, minor = ran.stdout.split()
    return int(major), int(minor)


def _run(command: Sequence[str]) -> None:
    try:
        ran = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired as error:
        raise InstallError(f"{Path(command[0]).name} took more than {SECONDS} s") from error
    if ran.returncode:
        said = [line for line in ran.stderr.splitlines() if line.strip()]
        raise InstallError(f"{Path(command[0]).name} ended with {ran.returncode}: {' '.join(said[-2:])[:300]}")
