"""`./run`, with an environment that is already there."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.interfaces.command_line import CommandLine

ROOT = Path(__file__).parents[2]

PREPARED = 'prepare_environment() { printf "%s\\n" "$1" >> "$PWD/prepared"; }\n'


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of `run` in a folder with a space, whose interpreter is this one and whose installer only takes notes."""
    folder = tmp_path / "a copy"
    (folder / "requirements").mkdir(parents=True)
    (folder / ".venv" / "bin").mkdir(parents=True)
    shutil.copy(ROOT / "run", folder / "run")
    (folder / "requirements" / "environment.sh").write_text(PREPARED, encoding="utf-8")
    python = folder / ".venv" / "bin" / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    return folder


@pytest.mark.slow
def test_run_prepares_its_own_folder_and_works_in_the_callers(cli: CommandLine, copy: Path, tmp_path: Path) -> None:
    """Called by path from elsewhere it prepares its own folder, and a relative path means the caller's."""
    (tmp_path / "here").mkdir()
    ran = subprocess.run(
        [str(copy / "run"), "init", "notes", "--json"],
        cwd=tmp_path / "here",
        env=cli.clean() | {"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=60,
    )
    assert ran.returncode == 0, ran.stderr
    assert (tmp_path / "here" / "notes" / ".state").is_dir()
    assert (copy / "prepared").read_text(encoding="utf-8") == "requirements/lock.txt\n"


@pytest.mark.slow
def test_run_hands_through_the_exit_code_and_serves_by_default(cli: CommandLine, copy: Path) -> None:
    """A verb's exit code is the script's; without arguments it is `serve`, which a pinned agent is denied."""
    environment = cli.clean() | {"PYTHONPATH": str(ROOT / "src")}
    command = str(copy / "run")
    assert subprocess.run([command, "nonsense"], env=environment, capture_output=True, check=False).returncode == 2
    served = subprocess.run(
        [command],
        env=environment | {"MEMORANDA_AGENT": "ada"},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert served.returncode == 9
    assert "serve is for a person" in served.stderr


@pytest.mark.slow
def test_run_imports_nothing_of_the_callers_folder(cli: CommandLine, copy: Path, tmp_path: Path) -> None:
    """Started in a folder with modules of its own, the script runs the verb and none of them."""
    project = tmp_path / "project"
    (project / "memoranda").mkdir(parents=True)
    for name in ("anyio.py", "shutil.py", "memoranda/__init__.py", "memoranda/__main__.py"):
        (project / name).write_text("import sys; sys.stderr.write('TRAP')", encoding="utf-8")
    environment = cli.clean() | {"PYTHONPATH": str(ROOT / "src")}
    trapped = subprocess.run(
        [sys.executable, "-m", "memoranda"], cwd=project, env=environment, capture_output=True, check=False
    )
    assert b"TRAP" in trapped.stderr
    ran = subprocess.run(
        [str(copy / "run"), "init", "--json"], cwd=project, env=environment, capture_output=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert b"TRAP" not in ran.stderr
