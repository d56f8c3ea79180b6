"""What a short command must not load."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.interfaces.command_line import TEA, CommandLine

HEAVY = {
    "onnxruntime", "tokenizers", "mcp", "mcp_types", "uvicorn", "starlette", "numpy", "pydantic", "httpx2", "tenacity",
    "xllamacpp", "pydantic_ai", "openai",
}  # fmt: skip

LOADED = """
import sys
from memoranda.interfaces.cli.app import run
code = run(sys.argv[1:])
print(code, *sorted(sys.modules), file=sys.stderr)
"""


def loaded(cli: CommandLine, arguments: Sequence[str]) -> set[str]:
    """Run a command line in a fresh process and return the modules it loaded."""
    done = subprocess.run(
        [sys.executable, "-c", LOADED, *arguments],
        env=cli.clean(),
        capture_output=True,
        encoding="utf-8",
        check=True,
        timeout=120,
    )
    code, *modules = done.stderr.splitlines()[-1].split()
    assert code == "0", done.stderr
    return set(modules)


@pytest.mark.slow
def test_only_a_search_by_meaning_loads_the_embedder(cli: CommandLine, home: Path) -> None:
    """Save, keyword search and help leave the model and the servers alone; a hybrid search loads the model."""
    (home / "memoranda.toml").write_text('[memory]\nprovider = "minilm"\n', encoding="utf-8")
    assert not loaded(cli, ["save", TEA]) & HEAVY
    assert not loaded(cli, ["search", "--mode", "keyword", "tea"]) & HEAVY
    assert not loaded(cli, ["--help"]) & HEAVY
    assert loaded(cli, ["search", "tea"]) & HEAVY == {"onnxruntime", "tokenizers", "numpy"}


def test_a_saved_text_gets_its_vector_from_the_next_search(cli: CommandLine, home: Path) -> None:
    """A save queues the vector, and the search that loads the model makes it and finds by meaning."""
    (home / "memoranda.toml").write_text('[memory]\nprovider = "minilm"\n', encoding="utf-8")
    assert cli("save", TEA, "--json").json["saved"] is True
    scope = cli("status", "--json").json["scopes"][0]
    assert (scope["vectors"], scope["pending_vectors"]) == (0, 1)
    assert cli("search", "--mode", "keyword", "hot beverage", "--json").json["results"] == []
    found = cli("search", "hot beverage after waking up", "--json").json
    assert found["mode"] == "hybrid"
    assert found["results"][0]["text"].strip() == TEA
    assert cli("status", "--json").json["scopes"][0]["vectors"] == 1


@pytest.mark.slow
def test_only_a_job_loads_jobs(cli: CommandLine) -> None:
    """Saving and searching load no job and no gate; listing what jobs did loads them."""
    jobs = {"memoranda.services.jobs.run", "memoranda.services.jobs.accounts", "memoranda.services.gating"}
    assert not loaded(cli, ["save", TEA]) & jobs
    assert not loaded(cli, ["search", "--mode", "keyword", "tea"]) & jobs
    assert "memoranda.services.jobs.accounts" in loaded(cli, ["dream", "list"])
