"""Settings: where they come from, and what an odd one is answered with."""

from __future__ import annotations

from pathlib import Path

import pytest

from memoranda.config import Config, load
from memoranda.config.settings import SETTINGS
from memoranda.errors import ConfigurationError


def configured(tmp_path: Path, toml: str = "", environ: dict[str, str] | None = None, **settings: object) -> Config:
    """Load a home with this file, environment and caller's settings (`__` for dots)."""
    (tmp_path / "memoranda.toml").write_text(toml, encoding="utf-8")
    given = {key.replace("__", "."): value for key, value in settings.items()}
    return load(tmp_path, settings=given, environ=environ or {})


def test_defaults_are_complete_and_named(tmp_path: Path) -> None:
    """Without file and environment every setting has its default and says so."""
    values = load(tmp_path, environ={}).values()
    assert [value.key for value in values] == [setting.key for setting in SETTINGS]
    assert {value.source for value in values} == {"default"}
    assert all(value.value == value.default for value in values)


def test_the_caller_wins_over_the_environment_and_that_over_the_file(tmp_path: Path) -> None:
    """Each value says where it came from."""
    toml = '[memory]\nprovider = "minilm"\ncitations = "on"\nstyle = "off"\n'
    environ = {
        "MEMORANDA_MEMORY_CITATIONS": "off",
        "MEMORANDA_MEMORY_STYLE": "hybrid",
        "MEMORANDA_HOME": "/x",
    }
    config = configured(tmp_path, toml, environ, memory__style="search-only")
    assert (config.provider, config.citations, config.style) == ("minilm", "off", "search-only")
    sources = {value.key: value.source for value in config.values()}
    assert sources["memory.provider"] == "memoranda.toml"
    assert sources["memory.citations"] == "MEMORANDA_MEMORY_CITATIONS"
    assert sources["memory.style"] == "caller"


@pytest.mark.parametrize(
    ("toml", "named"),
    [
        ('[memory]\nprovidr = "x"\n', "memory.provider"),
        ('[memory]\nstyle = "hybird"\n', "hybrid"),
        ("[memory]\ndisable_rag = 7\n", "true or false"),
        ("[memory.recall]\nmin_score = 3\n", "0 to 1"),
        ("[server]\nport = 'many'\n", "number"),
        ("[memory]\nvector_weight = true\n", "number"),
        ("[unknown]\nx = 1\n", "unknown"),
        ("not toml at all", "TOML"),
        ("teams = 3\n", "tables"),
        ("[teams.core]\nmember = ['a']\n", "members"),
        ("[teams.core]\nmembers = ['A B']\n", "agent id"),
        ("[teams.'Core Team']\nmembers = ['a']\n", "team id"),
        ("[server.tokens]\nshort = 'main'\n", "16 characters"),
        ("[server]\ntokens = 5\n", "table"),
    ],
)
def test_a_wrong_setting_is_an_error_that_says_what_is_right(tmp_path: Path, toml: str, named: str) -> None:
    """Unknown keys and values name the nearest right one or the range."""
    with pytest.raises(ConfigurationError, match=named):
        configured(tmp_path, toml)
    assert configured(tmp_path, "").style == "hybrid"


def test_a_misspelt_variable_is_an_error(tmp_path: Path) -> None:
    """A variable of our sections that is no setting is not passed over."""
    with pytest.raises(ConfigurationError, match="MEMORANDA_MEMORY_PROVIDER"):
        configured(tmp_path, environ={"MEMORANDA_MEMORY_PROVIDR": "none"})
    assert configured(tmp_path, environ={"MEMORANDA_MEMORY_PROVIDER": "none", "OTHER": "x"}).provider == "none"


def test_teams_and_tokens_are_read(tmp_path: Path) -> None:
    """Tables of a person's own names come from the file."""
    toml = '[teams.core]\nmembers = ["anna", "bob"]\n[server.tokens]\n"0123456789abcdef" = "anna"\n'
    config = configured(tmp_path, toml)
    assert config.teams == {"core": ("anna", "bob")}
    assert config.tokens == {"0123456789abcdef": "anna"}


def test_several_embedders_are_a_list_or_a_text_with_commas(tmp_path: Path) -> None:
    """Both spellings give the same chain, in order."""
    toml = '[memory]\nprovider = ["openai:a", "ollama:b:1", "minilm"]\n'
    assert configured(tmp_path, toml).provider == "openai:a,ollama:b:1,minilm"
    spelt = configured(tmp_path, environ={"MEMORANDA_MEMORY_PROVIDER": "openai:a, ollama:b:1 ,minilm"})
    assert spelt.provider == "openai:a,ollama:b:1,minilm"
    for wrong in (["a,b"], [""], [1], 5):
        with pytest.raises(ConfigurationError, match=r"memory\.provider"):
            configured(tmp_path, memory__provider=wrong)


@pytest.mark.parametrize("key", ["base_url", "api_key"])
def test_server_and_key_come_from_outside_alone(tmp_path: Path, key: str) -> None:
    """A file, which may come with a project, sets neither server nor key; the environment and the caller do."""
    with pytest.raises(ConfigurationError, match=f"MEMORANDA_MEMORY_{key.upper()}") as caught:
        configured(tmp_path, f'[memory]\n{key} = "https://evil.example"\n')
    assert "evil" not in str(caught.value)
    (tmp_path / "memoranda.toml").unlink()
    outside = load(tmp_path, environ={f"MEMORANDA_MEMORY_{key.upper()}": "https://mine"})
    assert getattr(outside.embedding, key) == "https://mine"
    caller = load(tmp_path, settings={f"memory.{key}": "https://mine"}, environ={})
    assert getattr(caller.embedding, key) == "https://mine"


def test_the_ledger_s_endpoint_comes_from_outside_alone(tmp_path: Path) -> None:
    """A file, which may come with a project, does not say which server is asked; the environment does."""
    with pytest.raises(ConfigurationError, match="MEMORANDA_MEMORY_LEDGER_ENDPOINT"):
        configured(tmp_path, '[memory.ledger]\nendpoint = "http://127.0.0.1:9"\n')
    environ = {"MEMORANDA_MEMORY_LEDGER_ENDPOINT": "http://127.0.0.1:9"}
    assert configured(tmp_path, environ=environ).ledger_endpoint == "http://127.0.0.1:9"
    assert configured(tmp_path).ledger_endpoint == ""


def test_keys_are_not_shown(tmp_path: Path) -> None:
    """Neither the list of settings nor a printed configuration holds a key; that there is one is seen."""
    config = configured(tmp_path, environ={"MEMORANDA_MEMORY_API_KEY": "very-secret", "OPENAI_API_KEY": "also-secret"})
    assert (config.embedding.api_key, config.embedding.openai_key) == ("very-secret", "also-secret")
    assert "secret" not in repr(config).replace("secret=", "")
    shown = {value.key: value for value in config.values()}["memory.api_key"]
    assert (shown.value, shown.source) == ("(hidden)", "MEMORANDA_MEMORY_API_KEY")
