"""What the command line says about embedders: which one was detected, and which does not answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.interfaces.command_line import TEA, CommandLine


def settings_of(home: Path, toml: str) -> None:
    """Write the settings of a home that there is."""
    (home / ".state").mkdir(exist_ok=True)
    (home / "memoranda.toml").write_text(toml, encoding="utf-8")


def test_what_was_detected_is_shown(cli: CommandLine, home: Path) -> None:
    """Where nothing is set, `config`, `status` and `doctor` say which embedder it is and why."""
    settings_of(home, "")
    listed = {item["key"]: item for item in cli("config", "list", "--json").json["settings"]}["memory.provider"]
    assert (listed["value"], listed["default"]) == ("minilm", "")
    assert listed["source"].startswith("detected: its weights")
    status = cli("status").out
    assert "minilm (detected: its weights" in status
    assert "minilm: detected" in cli("doctor").out
    settings_of(home, '[memory]\nprovider = "hashing:64"\n')
    listed = {item["key"]: item for item in cli("config", "list", "--json").json["settings"]}["memory.provider"]
    assert (listed["value"], listed["source"]) == ("hashing:64", "memoranda.toml")


def test_a_server_that_is_away_stops_no_save_and_no_search(cli: CommandLine, home: Path) -> None:
    """With its embedder away a note is saved and found by words; `doctor` names the server, and no key."""
    settings_of(home, '[memory]\nprovider = "custom:m"\n[memory.embedding]\nquery_timeout_seconds = 0.3\n')
    environment = {"MEMORANDA_MEMORY_BASE_URL": "http://127.0.0.1:9/v1", "MEMORANDA_MEMORY_API_KEY": "very-secret"}
    assert cli("save", TEA, **environment).code == 0
    found = cli("search", "green tea", "--json", **environment)
    assert found.code == 0
    assert found.json["mode"] == "keyword"
    assert len(found.json["results"]) == 1
    assert "no vector yet: custom at 127.0.0.1:9 cannot be reached" in found.err
    doctor = cli("doctor", **environment)
    assert "custom at 127.0.0.1:9 cannot be reached" in doctor.out
    listed = cli("config", "list", **environment)
    assert "memory.api_key = (hidden)" in listed.out
    assert "secret" not in found.err + doctor.out + listed.out


def test_a_file_sets_no_server(cli: CommandLine, home: Path) -> None:
    """A settings file that names a server or a key is refused, with the variable to use instead."""
    settings_of(home, '[memory]\nprovider = "custom:m"\nbase_url = "https://evil.example"\n')
    refused = cli("status")
    assert refused.code != 0
    assert "MEMORANDA_MEMORY_BASE_URL" in refused.err
    assert "evil" not in refused.err


@pytest.mark.parametrize("verb", ["sync", "reindex"])
def test_a_server_that_is_away_stops_no_sync(cli: CommandLine, home: Path, verb: str) -> None:
    """What was edited is taken in and found by words; that vectors wait, and why, is a warning and no failure."""
    settings_of(home, '[memory]\nprovider = "custom:m"\n[memory.embedding]\ntimeout_seconds = 0.3\n')
    environment = {"MEMORANDA_MEMORY_BASE_URL": "http://127.0.0.1:9/v1", "MEMORANDA_MEMORY_API_KEY": "very-secret"}
    (home / "MEMORY.md").write_text(f"- {TEA}\n", encoding="utf-8")
    done = cli(verb, "--json", **environment)
    assert done.code == 0
    assert done.json["pending_vectors"] == 1
    assert "custom at 127.0.0.1:9 cannot be reached" in done.json["embedding_failed"]
    assert "vectors wait for the next sync" in done.err
    assert "secret" not in done.err + done.out
    assert len(cli("search", "green tea", "--json", "--no-sync", **environment).json["results"]) == 1
    settings_of(home, '[memory]\nprovider = "hashing:64"\n')
    again = cli("sync", "--json")
    assert (again.json["embedded"], again.json["embedding_failed"], again.err) == (1, "", "")


def test_another_backend_is_named_built_and_used(cli: CommandLine, home: Path) -> None:
    """`reindex --backend zvec` builds its collections; set in the file it is what `status` names and searches ask."""
    settings_of(home, '[memory]\nprovider = "hashing:64"\n')
    assert cli("save", TEA).code == 0
    assert "backend   builtin" in cli("status").out
    collection = home / ".state" / "index" / "agent+main" / "zvec" / "data"
    assert not collection.exists()
    built = cli("reindex", "--backend", "zvec")
    assert built.code == 0
    assert 'backend = "zvec"' in built.err
    assert collection.is_dir()
    settings_of(home, '[memory]\nprovider = "hashing:64"\nbackend = "zvec"\n')
    assert "backend   zvec" in cli("status").out
    assert cli("status", "--json").json["backend"] == "zvec"
    found = cli("search", "green tea", "--json", "--explain")
    assert TEA in found.json["results"][0]["text"]
    assert "built-in scan" not in found.out
    assert cli("verify").code == 0


def test_a_backend_that_there_is_not_is_refused(cli: CommandLine, home: Path) -> None:
    """The error names those there are, and nothing is forgotten."""
    settings_of(home, '[memory]\nprovider = "hashing:64"\n')
    assert cli("save", TEA).code == 0
    refused = cli("reindex", "--backend", "zwec")
    assert refused.code != 0
    assert "zvec" in refused.err
    assert len(cli("search", "green tea", "--json").json["results"]) == 1
