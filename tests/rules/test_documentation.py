"""Holds the documentation to the program: examples run, names exist, generated pages are current.

Run as a program it writes `docs/reference/settings.md`.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import apsw
import pytest

from memoranda.adapters.files.locks import WAIT_SECONDS
from memoranda.adapters.sqlite.connection import BUSY_MILLISECONDS
from memoranda.adapters.sqlite.embedding_cache import CACHED_ROWS
from memoranda.adapters.sqlite.index import OPEN_INDEXES
from memoranda.adapters.sqlite.ledger import SALT_BYTES
from memoranda.adapters.sqlite.ledger_schema import MIGRATIONS
from memoranda.adapters.sqlite.objects import KEYFRAME
from memoranda.config import PREFIX
from memoranda.config.settings import SETTINGS, Setting
from memoranda.domain.passage import PASSAGE_WORDS
from memoranda.domain.policy import MAX_WRITE_BYTES
from memoranda.domain.reconcile import EDIT_SIMILARITY
from memoranda.interfaces.cli.app import verbs
from memoranda.interfaces.cli.pasting import http_configuration
from memoranda.services.embedding import BATCH
from memoranda.services.gateway import ATTEMPTS
from memoranda.services.writing import KEEP_CHECKPOINTS, KEEP_DAYS

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "memoranda"
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
README, QUICKSTART, FORMAT = ROOT / "README.md", ROOT / "docs/quickstart.md", ROOT / "docs/format.md"
GUIDES = sorted((ROOT / "docs/howto").glob("*.md"))
SETTINGS_PAGE = ROOT / "docs/reference/settings.md"

_FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`([^`\n]+)`")
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)
_FORBIDDEN = re.compile(
    r"\b(todo|fixme|xxx|tbd|lorem|coming soon|blazing(ly)?|seamless(ly)?|cutting[- ]edge|state of the art|"
    r"revolutionary|effortless(ly)?|game[- ]chang\w+|world[- ]class|supercharge\w*)\b|/(home|root|tmp|work)/",
    re.IGNORECASE,
)


def text_of(page: Path) -> str:
    """Return a page's text."""
    return page.read_text(encoding="utf-8")


def name_of(page: Path) -> str:
    """Return a page's path in the repository, to name a test by."""
    return page.relative_to(ROOT).as_posix()


def fences(page: Path) -> list[tuple[str, str]]:
    """Return (language, body) of every fenced block, in order."""
    return [(match[1], match[2]) for match in _FENCE.finditer(text_of(page))]


def prose(page: Path) -> str:
    """Return a page without its fenced blocks."""
    return _FENCE.sub("", text_of(page))


def matches(expected: str, printed: str) -> bool:
    """Tell whether an output is as documented; `…` stands for anything in a line, alone for any lines."""
    lines = [
        "(?s:.*)" if line == "…" else "[^\n]*".join(map(re.escape, line.split("…")))
        for line in expected.rstrip().splitlines()
    ]
    return re.fullmatch("\n".join(lines), printed.rstrip()) is not None


@dataclass(frozen=True, slots=True)
class Place:
    """A user's folder with a home `.memoranda` in it and nothing of this machine's settings."""

    folder: Path

    def run(self, arguments: list[str]) -> subprocess.CompletedProcess[str]:
        """Run a program there."""
        environment = {name: text for name, text in os.environ.items() if not name.startswith(PREFIX)}
        environment |= {
            "HOME": str(self.folder),
            "MEMORANDA_HOME": str(self.folder / ".memoranda"),
            "PATH": f"{self.folder / 'bin'}{os.pathsep}{environment['PATH']}",
        }
        return subprocess.run(
            arguments, cwd=self.folder, env=environment, capture_output=True, check=False, encoding="utf-8"
        )

    def shell(self, line: str) -> str:
        """Run a line of a console block and return what it printed; the command must succeed."""
        done = self.run(["bash", "-euo", "pipefail", "-c", line])
        assert done.returncode == 0, f"{line}\n{done.stderr}"
        return done.stdout


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A user's folder, with the command `memoranda` of this interpreter."""
    command = tmp_path / "bin" / "memoranda"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m memoranda "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    return Place(tmp_path)


def commands(page: Path) -> Iterator[tuple[str, str]]:
    """Yield (command, documented output) of all console blocks of a page, in order."""
    for language, body in fences(page):
        for part in re.split(r"^\$ ", body, flags=re.MULTILINE) if language == "console" else ():
            if part.strip():
                line, _, output = part.partition("\n")
                yield line, output


def programs(page: Path) -> list[tuple[str, str]]:
    """Return (Python block, documented output) of a page; each has its output right below it."""
    found = fences(page)
    return [
        (body, found[number + 1][1] if found[number + 1 : number + 2] else "")
        for number, (language, body) in enumerate(found)
        if language == "python"
    ]


def test_outputs_are_compared_line_by_line() -> None:
    """A documented output matches what it says, with gaps, and nothing else."""
    assert matches("saved: rec_…\nend\n", "saved: rec_01ab\nend\n")
    assert matches("first\n…\n", "first\nsecond\nthird\n")
    assert not matches("saved: rec_…\n", "saved: rec_01ab\nmore\n")
    assert not matches("saved\n", "refused\n")


@pytest.mark.slow
def test_console_examples_run(place: Place) -> None:
    """Every command of the quickstart succeeds and prints what the page shows."""
    found = list(commands(QUICKSTART))
    assert sum(line.startswith("memoranda ") for line, _ in found) > 10
    for line, expected in found:
        printed = place.shell(line)
        assert matches(expected, printed), f"$ {line}\n{printed}"


@pytest.mark.slow
def test_commands_of_the_guides_run(place: Place) -> None:
    """Every console example of the guides succeeds, in a home of its own, and prints what the page shows."""
    found = [(page, *found) for page in GUIDES for found in commands(page)]
    assert len(found) > 2
    place.shell("memoranda init")
    for page, line, expected in found:
        printed = place.shell(line)
        assert matches(expected, printed), f"{name_of(page)}: $ {line}\n{printed}"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "number"), [(page, number) for page in [QUICKSTART, *GUIDES] for number in range(len(programs(page)))]
)
def test_python_examples_run(place: Place, page: Path, number: int) -> None:
    """Every Python block of the quickstart and the guides runs in a new home and prints what the page shows."""
    program, expected = programs(page)[number]
    done = place.run([sys.executable, "-W", "error", "-c", program])
    assert done.returncode == 0, done.stderr
    assert matches(expected, done.stdout), done.stdout


def test_readme_examples_are_those_of_the_quickstart() -> None:
    """Every example of the README stands in the quickstart, in the same order, and so is run."""
    wanted = [block for block in fences(README) if block[0] in ("python", "console", "output")]
    assert {language for language, _ in wanted} == {"python", "console", "output"}
    whole = fences(QUICKSTART)
    for language in ("python", "console", "output"):
        there = iter(block for block in whole if block[0] == language)
        assert all(block in there for block in wanted if block[0] == language)


def test_readme_shows_what_a_server_prints() -> None:
    """The MCP configuration of the README has the shape that `memoranda serve` prints."""
    shown = [json.loads(body) for language, body in fences(README) if language == "json"]
    assert shown == [http_configuration("http://127.0.0.1:8765/mcp", "YOUR-TOKEN")]


@pytest.mark.slow
def test_the_chain_is_proven_by_the_documented_recipe(place: Place) -> None:
    """The program in the format page proves a ledger, and notices a changed event."""
    program, expected = programs(FORMAT)[0]
    place.shell('memoranda save "- one fact" && memoranda save "- another matter"')
    done = place.run([sys.executable, "-W", "error", "-c", program])
    assert done.returncode == 0, done.stderr
    assert matches(expected, done.stdout), done.stdout

    ledger = apsw.Connection(str(place.folder / ".memoranda/.state/ledger.db"))
    ledger.execute("UPDATE events SET payload = replace(payload, 'save', 'undo') WHERE seq = 1")
    ledger.close()
    assert "AssertionError" in place.run([sys.executable, "-c", program]).stderr


CLAIMS = [
    ("docs/format.md", f"the {KEEP_CHECKPOINTS} newest of a scope and all of the last {KEEP_DAYS} days"),
    (
        "README.md",
        f"the {KEEP_CHECKPOINTS} newest checkpoints of each agent and all of the last\n  {KEEP_DAYS} days",
    ),
    ("docs/format.md", f"is at least {EDIT_SIMILARITY}"),
    ("docs/format.md", f"about {PASSAGE_WORDS} words"),
    ("docs/format.md", f"After {KEYFRAME - 1} differences"),
    ("docs/format.md", f"{SALT_BYTES} random bytes"),
    ("docs/format.md", f"`PRAGMA user_version`, now {len(MIGRATIONS)}"),
    ("docs/format.md", f"the {CACHED_ROWS:,} used last"),
    ("docs/concepts.md", f"more than {MAX_WRITE_BYTES // 1024} KiB in one write"),
    ("docs/architecture.md", f"tried again up to {ATTEMPTS} times"),
    ("docs/architecture.md", f"within {WAIT_SECONDS:.0f} seconds"),
    ("docs/architecture.md", f"waits up to {BUSY_MILLISECONDS // 1000} seconds"),
    ("docs/architecture.md", f"in groups of {BATCH}"),
    ("docs/decisions/0002-index-is-derived.md", f"{OPEN_INDEXES} are open at a time"),
]


@pytest.mark.parametrize(("page", "claim"), CLAIMS)
def test_numbers_are_those_of_the_program(page: str, claim: str) -> None:
    """A number that a page names is the constant in the source."""
    assert " ".join(claim.split()) in " ".join(text_of(ROOT / page).split())


def settings_page() -> str:
    """Return the page of all settings, from the table that reads them."""
    rows = "".join(
        f"| `{item.key}` | {_shown(item.default)} | {_accepted(item)} | {item.purpose} |\n" for item in SETTINGS
    )
    return f"""# Settings

<!-- Written by `python tests/rules/test_documentation.py`; do not edit. -->

Settings stand in `memoranda.toml` in the home. Each key of the first table can also be given in the
environment: `memory.provider` is `{PREFIX}MEMORY_PROVIDER`. The environment overrides the file, and what a
program gives to `memoranda.open` overrides both. An unknown key or value is an error that names the nearest
right one. `memoranda config list` shows each value and where it came from. Settings are read when a home is
opened.

| key | default | values | meaning |
|---|---|---|---|
{rows}
## Tables

These stand in `memoranda.toml` alone. Ids have 1 to 64 of `a-z`, `0-9`, `_` and `-`, and begin with a letter
or digit.

```toml
[teams.web]
members = ["coder", "reviewer"]   # these agents read teams/web/memory/

[server.tokens]
"a-long-random-text-of-your-own" = "coder"   # at least 16 characters; who sends it acts as this agent
```

Where `[server.tokens]` is absent, `memoranda serve` makes a token of its own for the agent `main` and keeps
it in `.state/token`.

## Environment

| variable | meaning |
|---|---|
| `MEMORANDA_HOME` | the home, where none is given; else `~/.memoranda` |
| `MEMORANDA_AGENT` | pins the command line to one agent: it acts as that agent and as nobody else |
| `MEMORANDA_SESSION` | the key of the session that a pinned command line or a tool server works in |
| `MEMORANDA_OPERATOR_PASSPHRASE` | the operator's passphrase, for a script of the operator's own; never for an agent |
"""


def _shown(value: object) -> str:
    if value is None:
        return "not set"
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return f"`{text}`" if text else "empty"


def _accepted(setting: Setting) -> str:
    """Return what the setting's own check asks for when it is given something else."""
    with pytest.raises(ValueError, match="use ") as refusal:
        setting.check(object())
    return str(refusal.value).removeprefix("use ").removeprefix("one of ").removeprefix("a ")


def test_settings_page_is_current() -> None:
    """The settings page is what the table of settings gives."""
    assert text_of(SETTINGS_PAGE) == settings_page()
    assert all(f"`{setting.key}`" in text_of(SETTINGS_PAGE) for setting in SETTINGS)


def named_paths(page: Path) -> Iterator[tuple[str, Path]]:
    """Yield (as written, place) of what a page names as a path of this repository."""
    for code in _CODE.findall(prose(page)):
        if re.fullmatch(r"(src|docs|tests|bench)/[\w./-]*", code):
            yield code, ROOT / code
        elif re.fullmatch(r"(domain|services|adapters|interfaces)/[\w./-]+\.py|(config|ports)\.py", code):
            yield code, SOURCE / code
        elif code in ("LICENSE", "NOTICE", "README.md", "CHANGELOG.md", "pyproject.toml"):
            yield code, ROOT / code
    for script in set(re.findall(r"(?<![\w.])\./(run|test)\b", text_of(page))):
        yield f"./{script}", ROOT / script


def test_named_paths_exist() -> None:
    """Every path of the repository that a page names is there."""
    found = [(name_of(page), code, place) for page in PAGES for code, place in named_paths(page)]
    assert {"services/gateway.py", "./run", "./test"} <= {code for _, code, _ in found}
    assert [(page, code) for page, code, place in found if not place.exists()] == []


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in _HEADING.findall(prose(page))}


def test_relative_links_resolve() -> None:
    """Every relative link leads to a page that exists, and to a heading of it where it names one."""
    links = [(page, link) for page in PAGES for link in _LINK.findall(prose(page)) if not link.startswith("http")]
    assert (README, "docs/architecture.md#two-writers-one-file") in links
    broken = []
    for page, link in links:
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.is_file() or (anchor and anchor not in anchors(target)):
            broken.append((name_of(page), link))
    assert broken == []


def test_named_verbs_exist() -> None:
    """Every `memoranda VERB` that a page names is a verb of the command line."""
    known = {verb.split()[0] for verb in verbs()}
    named = {
        (name_of(page), code.split()[1])
        for page in PAGES
        for code in _CODE.findall(prose(page))
        if re.match(r"memoranda [a-z]", code)
    }
    assert {"sync", "undo", "serve"} <= {verb for _, verb in named}
    assert [pair for pair in sorted(named) if pair[1] not in known] == []


def test_every_decision_is_listed() -> None:
    """The list of decisions names every decision record, and nothing else."""
    folder = ROOT / "docs/decisions"
    listed = set(_LINK.findall(text_of(folder / "README.md")))
    assert "0001-markdown-is-truth.md" in listed
    assert listed == {page.name for page in folder.glob("0*.md")}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_no_page_holds_a_forbidden_word(page: Path) -> None:
    """No page holds a note to its author, a word of advertising or a path of somebody's machine."""
    assert _FORBIDDEN.search("to do: TODO")
    text = text_of(page).replace("`todo`", "")  # the name of a store
    assert [match[0] for match in _FORBIDDEN.finditer(text)] == []


if __name__ == "__main__":
    SETTINGS_PAGE.write_text(settings_page(), encoding="utf-8")
