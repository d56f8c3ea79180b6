"""The command line: every verb, its formats, its exit codes, who acts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from memoranda.interfaces.cli.app import behind_dashes, build, verbs
from memoranda.interfaces.cli.options import json_wanted
from memoranda.interfaces.cli.output import plain
from memoranda.interfaces.reference import cli_page
from tests.interfaces.command_line import TEA, CommandLine

DOCS = Path(__file__).parents[2] / "docs" / "reference"

VERBS = {
    "init", "status", "doctor", "save", "search", "get", "delete", "history", "blame", "log", "undo", "diff",
    "checkpoints", "sync", "reindex", "watch", "verify", "config list", "config get", "mcp", "serve",
    "update", "forget", "dream run", "dream list", "dream show", "dream undo", "pin", "unpin", "timeline",
    "dream contradictions", "dream steward", "dream usage",
    "review list", "review show", "review diff", "review approve", "review reject", "proposals", "adopt", "retier",
    "operator set", "operator status", "session list", "session open", "session tool-result", "session reset",
    "session close", "session say", "session messages", "session compact", "session tidy", "erase", "export", "import",
    "import-transcript", "context", "timeframe", "injections", "blocks list", "blocks show", "blocks set",
    "blocks append", "blocks replace", "bench quality", "eval jobs", "chat",
    "conflicts list", "conflicts add", "conflicts resolve", "conflicts stores", "conflicts gate", "conflicts gates",
    "conflicts approve", "conflicts deny",
}  # fmt: skip


def test_the_verbs_are_the_documented_ones() -> None:
    """The command line has exactly the verbs it should have."""
    assert set(verbs()) == VERBS


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(VERBS))
def test_every_verb_has_help_and_json(name: str) -> None:
    """Each verb explains itself and offers --json."""
    shown = CliRunner().invoke(build(), [*name.split(), "--help"])
    assert shown.exit_code == 0
    assert shown.output.startswith(f"Usage: memoranda {name}")
    assert "--json" in shown.output


@pytest.mark.slow
def test_the_command_line_page_is_the_real_help() -> None:
    """docs/reference/cli.md is what the verbs print now."""
    assert (DOCS / "cli.md").read_text(encoding="utf-8") == cli_page()


def save(cli: CommandLine, text: str, *more: str, **environment: str) -> str:
    """Save a text and return its record's id."""
    saved = cli("save", text, "--json", *more, **environment)
    assert saved.code == 0, saved
    return str(saved.json["record_ids"][0])


@pytest.mark.slow
def test_a_saved_text_is_found_and_read_by_other_processes(cli: CommandLine) -> None:
    """Save in one process, search and get in others; authors and lines are right."""
    ident = cli.process("save", TEA, "--json").json["record_ids"][0]
    found = cli.process("search", "green tea", "--json").json["results"][0]
    assert found["record_id"] == ident
    assert found["author"] == "application"
    assert found["trust"] == "application"
    read = cli("get", ident, "--json").json
    assert read["text"].strip() == TEA
    assert cli("get", f"{found['path']}:{found['start_line']}", "--json").json["record_id"] == ident
    assert TEA in cli("get", ident).out
    assert TEA in cli("search", "green tea").out


def test_a_person_edits_a_file_and_the_next_read_sees_it(cli: CommandLine, home: Path) -> None:
    """Search and blame take in edited files first; --no-sync leaves them for later."""
    save(cli, TEA)
    file = home / "MEMORY.md"
    file.write_text(file.read_text(encoding="utf-8") + "\nThe dog is called Rex.\n", encoding="utf-8")
    assert cli("search", "dog Rex", "--no-sync", "--json").json["results"] == []
    assert cli("search", "dog Rex", "--json").json["results"][0]["author"] == "external"
    authors = [block["record"]["author"] for block in cli("blame", "MEMORY.md", "--json").json["blocks"]]
    assert authors == ["application", "external"]
    assert "Rex" in cli("blame", "MEMORY.md").out


def test_standard_input_and_list_items_are_texts(cli: CommandLine) -> None:
    """`-` reads standard input, and a Markdown list item is no option."""
    assert cli("save", "-", "--json", stdin=f"{TEA}\n").json["saved"] is True
    assert cli("save", "- The dog is called Rex.", "--json").json["saved"] is True
    assert cli("search", "dog Rex", "--json").json["results"][0]["text"].strip().endswith("Rex.")
    assert cli("delete", "--file", "MEMORY.md", "--text", "- The dog is called Rex.").code == 0
    assert cli("search", "dog Rex", "--json").json["results"] == []


@pytest.mark.slow
def test_bytes_that_are_not_text_are_refused(cli: CommandLine) -> None:
    """Standard input that is not UTF-8 is an input error and saves nothing."""
    cli("init")
    failed = cli.process("save", "-", "--json", stdin=b"caf\xe9 au lait")
    assert failed.code == 2
    assert failed.json["error"]["code"] == "invalid_input"
    assert "caf" not in failed.out + failed.err
    assert cli("search", "lait", "--json").json["results"] == []
    assert cli("save", "-", stdin="café au lait").code == 0
    assert len(cli("search", "lait", "--json").json["results"]) == 1


def test_a_duplicate_is_a_success_and_says_so(cli: CommandLine) -> None:
    """The same fact again ends with 0 and names the record that exists."""
    ident = save(cli, TEA)
    again = cli("save", TEA)
    assert again.code == 0
    assert f"already known: {ident}" in again.out
    assert cli("save", TEA, "--json").json["duplicate_ids"] == [ident]


def test_a_refused_save_says_why_and_never_what(cli: CommandLine) -> None:
    """A secret ends with the code of a refusal, names its class and never repeats it."""
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
    refused = cli("save", f"The token is {secret}.")
    assert refused.code == 8
    assert refused.out == ""
    assert refused.err.startswith("memoranda: ")
    document = cli("save", f"The token is {secret}.", "--json")
    assert document.code == 8
    assert document.json["error"]["code"] == "refused"
    assert document.json["error"]["rule"] == "secret"
    assert secret not in refused.err + document.out + document.err
    assert cli("save", "The token is on the yellow note.").code == 0


def test_nothing_relevant_is_an_answer_and_an_error_is_not(cli: CommandLine, home: Path) -> None:
    """An empty search ends with 0 and says so; a damaged setting is an error and never an empty result."""
    save(cli, TEA)
    nothing = cli("search", "zeppelin")
    assert (nothing.code, nothing.err) == (0, "")
    assert nothing.out.startswith("nothing")
    assert cli("search", "zeppelin", "--json").json["results"] == []
    (home / "memoranda.toml").write_text("[memory]\nprovidr = 1\n", encoding="utf-8")
    failed = cli("search", "zeppelin", "--json")
    assert failed.code == 15
    assert set(failed.json) == {"error"}
    assert "did you mean memory.provider" in failed.json["error"]["message"]


@pytest.mark.parametrize(
    ("arguments", "code", "kind"),
    [
        (("search", "--limit", "99", "x"), 2, "usage"),
        (("search", "x", "--min-trust", "blind"), 2, "invalid_input"),
        (("save",), 2, "usage"),
        (("nonsense",), 2, "usage"),
        (("get", "rec_unknown"), 4, "not_found"),
        (("diff", "unknown"), 4, "not_found"),
        (("undo", "--checkpoint", "unknown", "--yes"), 4, "not_found"),
        (("config", "get", "memory.styl"), 4, "not_found"),
        (("delete", "--file", "MEMORY.md"), 2, "invalid_input"),
        (("save", "x", "--agent", "No Such"), 2, "invalid_input"),
        (("save", "x", "--agent", ""), 3, "missing_identity"),
    ],
)
def test_errors_have_one_shape_and_the_tables_code(
    cli: CommandLine, arguments: tuple[str, ...], code: int, kind: str
) -> None:
    """With --json one document on standard output, else a line on standard error; the code is the same."""
    cli("init")
    document = cli(*arguments, "--json")
    assert document.code == code
    assert document.json["error"]["code"] == kind
    assert document.json["error"]["message"]
    line = cli(*arguments)
    assert line.code == code
    assert line.out == ""
    assert document.json["error"]["message"].split("\n")[0] in line.err


def test_delete_undo_and_diff(cli: CommandLine) -> None:
    """A deleted text is gone, its checkpoint shows the difference, and undo brings it back."""
    save(cli, TEA)
    save(cli, "The dog is called Rex.")
    deleted = cli("delete", "--file", "MEMORY.md", "--text", TEA, "--json").json
    assert deleted["deleted"] is True
    assert cli("search", "green tea", "--json").json["results"] == []
    assert cli("search", "dog Rex", "--json").json["results"]
    assert TEA in cli("diff", deleted["checkpointId"]).out
    listed = cli("checkpoints", "--json").json
    assert listed["checkpoints"][0]["id"] == deleted["checkpointId"]
    assert deleted["checkpointId"] in cli("checkpoints", "--path", "memory").out
    assert cli("checkpoints", "--path", "nowhere", "--json").json["count"] == 0
    undone = cli("undo", "--yes", "--json").json
    assert undone["restored"] is True
    assert cli("search", "green tea", "--json").json["results"][0]["text"].strip() == TEA


def test_undo_asks_a_person_and_never_a_pipe(cli: CommandLine) -> None:
    """Without a terminal undo refuses to act until --yes is given."""
    save(cli, TEA)
    refused = cli("undo")
    assert refused.code == 2
    assert "--yes" in refused.err
    assert cli("search", "green tea", "--json").json["results"]
    assert cli("undo", "--yes").code == 0
    assert cli("search", "green tea", "--json").json["results"] == []


def test_history_and_log_tell_who_did_what(cli: CommandLine) -> None:
    """A record's versions and the ledger's events name their author."""
    ident = save(cli, TEA, MEMORANDA_AGENT="main")
    versions = cli("history", ident, "--json").json["versions"]
    assert [version["author"] for version in versions] == ["agent:main"]
    assert versions[0]["text"].strip() == TEA
    assert ident in cli("history", ident).out
    events = cli("log", "--json").json["events"]
    assert any(event["principal"] == "agent:main" for event in events)
    assert len(cli("log", "-n", "1", "--json").json["events"]) == 1


def test_the_environment_pins_an_agent(cli: CommandLine) -> None:
    """With MEMORANDA_AGENT the author is that agent and nobody else, and a person's verbs are denied."""
    save(cli, TEA, MEMORANDA_AGENT="ada")
    assert cli("search", "tea", "--agent", "ada", "--json").json["results"][0]["author"] == "agent:ada"
    assert cli("search", "tea", "--json").json["results"] == []
    assert cli("search", "tea", "--json", MEMORANDA_AGENT="ada").json["results"]
    denied = cli("search", "tea", "--agent", "bob", "--json", MEMORANDA_AGENT="ada")
    assert (denied.code, denied.json["error"]["code"]) == (9, "denied")
    assert cli("sync", "--accept-removals", "--json", MEMORANDA_AGENT="ada").code == 9
    assert cli("sync", "--accept-removals", "--json").code == 0


@pytest.mark.slow
def test_agents_are_apart_on_the_command_line(cli: CommandLine) -> None:
    """Ids that differ in one character or share a prefix see nothing of each other, in any verb."""
    ident = save(cli, TEA, "--agent", "a-b")
    checkpoint = cli("checkpoints", "--agent", "a-b", "--json").json["checkpoints"][0]["id"]
    for other in ("a_b", "ab", "a", "a-b-c", "main"):
        assert cli("search", "green tea", "--agent", other, "--json").json["results"] == []
        for verb in (("get", ident), ("history", ident), ("diff", checkpoint)):
            assert cli(*verb, "--agent", other, "--json").code == 4
        assert cli("undo", "--checkpoint", checkpoint, "--yes", "--agent", other, "--json").code == 4
        assert cli("delete", "--file", "MEMORY.md", "--text", TEA, "--agent", other, "--json").code != 0
        assert ident not in cli("log", "--agent", other, "--json").out
    for verb in (("get", ident), ("history", ident), ("diff", checkpoint)):
        assert cli(*verb, "--agent", "a-b", "--json").code == 0
    assert ident in cli("log", "--agent", "a-b", "--json").out


def test_a_mass_removal_is_a_warning_for_reads_and_an_error_for_sync(cli: CommandLine, home: Path) -> None:
    """Files that vanished at once stop a sync until accepted, and never a search."""
    for number in range(4):
        save(cli, f"Fact number {number} about tea.", "--file", f"memory/n{number}.md")
    for number in range(3):
        (home / "memory" / f"n{number}.md").unlink()
    read = cli("search", "fact number 3", "--json")
    assert read.code == 0
    assert read.json["results"]
    assert "warning: 3 of 4" in read.err
    stopped = cli("sync", "--json")
    assert stopped.code == 6
    assert stopped.json["error"]["missing"] == 3
    assert cli("sync", "--accept-removals", "--json").json["removed"] == 3
    assert cli("sync", "--json").code == 0


def test_upkeep_verbs_report(cli: CommandLine, tmp_path: Path) -> None:
    """Init, status, doctor, sync, reindex, verify and config end with 0 and print one document each."""
    save(cli, TEA)
    made = cli("init", str(tmp_path / "new"), "--json").json
    assert made["home"] == str(tmp_path / "new")
    assert cli("status", "--json").json["scopes"][0]["active"] == 1
    assert cli("doctor", "--json").json["level"] in ("ok", "warning")
    assert cli("sync", "--json").json["embedded"] == 0
    assert cli("reindex", "--json").code == 0
    assert cli("search", "green tea", "--json").json["results"]
    assert cli("verify", "--json").json["clean"] is True
    settings = {item["key"]: item for item in cli("config", "list", "--json").json["settings"]}
    assert settings["memory.provider"]["value"] == "none"
    assert settings["memory.provider"]["source"] == "memoranda.toml"
    assert cli("config", "get", "memory.style").out == "hybrid\n"
    for verb in ("status", "doctor", "sync", "reindex", "verify"):
        text = cli(verb)
        assert text.code == 0
        assert text.out


def test_verify_names_what_is_damaged(cli: CommandLine, home: Path) -> None:
    """A damaged index is a problem with its own exit code, and --repair rebuilds it."""
    save(cli, TEA)
    assert cli("verify").code == 0
    (index,) = (home / ".state" / "index").glob("*/index.db")
    for file in index.parent.iterdir():
        file.unlink()
    damaged = cli("verify", "--json")
    assert damaged.code == 11
    assert damaged.json["problems"]
    assert cli("verify", "--repair", "--json").json["clean"] is True
    assert cli("search", "green tea", "--no-sync", "--json").json["results"]


def test_a_pinned_agent_sees_its_own_part_of_the_status(cli: CommandLine) -> None:
    """A person sees every scope, an agent its own."""
    save(cli, TEA, "--agent", "ada")
    save(cli, TEA, "--agent", "bob")
    everything = {scope["scope"] for scope in cli("status", "--json").json["scopes"]}
    own = {scope["scope"] for scope in cli("status", "--json", MEMORANDA_AGENT="ada").json["scopes"]}
    assert {"agent:ada", "agent:bob"} <= everything
    assert own == {"agent:ada"}


def test_piped_output_has_no_escapes_and_memory_cannot_steer_a_terminal(cli: CommandLine) -> None:
    """No ANSI code reaches a pipe, and a control character in a memory is shown and not sent."""
    save(cli, "The \x1b[31mred\x1b[0m alarm is a drill.")
    text = cli("search", "alarm drill")
    assert "alarm is a drill" in text.out
    assert "\x1b" not in text.out + text.err
    assert "\x1b[31m" in cli("search", "alarm drill", "--json").json["results"][0]["text"]
    assert plain("a\x1b[1mb\r\nc\td\u202e") == "a\N{REPLACEMENT CHARACTER}[1mb\nc\td\u202e"


@pytest.mark.slow
def test_a_reader_that_leaves_is_no_traceback(cli: CommandLine) -> None:
    """Output into a closed pipe ends quietly with the shell's code for it."""
    for number in range(40):
        save(cli, f"Fact {number}: " + "tea " * 200)
    process = subprocess.Popen(
        [sys.executable, "-m", "memoranda", "search", "tea", "-n", "40", "--no-sync"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=cli.clean(),
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    complaint = process.stderr.read()
    process.stderr.close()
    assert process.wait(60) == 141
    assert complaint == b""


@pytest.mark.slow
def test_other_languages_survive_any_locale(cli: CommandLine) -> None:
    """Input and output are UTF-8 even in the C locale."""
    text = "茶は緑茶が好き。 Grüße 🍵"
    assert cli.process("save", text, LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0").code == 0
    found = cli.process("search", "緑茶", LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert text in found.out
    assert text in cli.process("search", "緑茶").out


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (["save", "- x", "--json"], ["save", "--json", "--", "- x"]),
        (["save", "--file", "F", "- x"], ["save", "--file", "F", "--", "- x"]),
        (["save", "--", "- x", "--json"], ["save", "--", "- x", "--json"]),
        (["delete", "--file", "F", "--text", "- x"], ["delete", "--file", "F", "--text", "- x"]),
        (["save", "-"], ["save", "-"]),
        (["search", "-n", "3", "x"], ["search", "-n", "3", "x"]),
        ([], []),
    ],
)
def test_list_items_move_behind_the_dashes(given: list[str], meant: list[str]) -> None:
    """Only Markdown list items that stand for themselves are moved."""
    assert behind_dashes(given) == meant


def test_json_is_wanted_only_as_an_option() -> None:
    """`--json` after `--` is a text."""
    assert json_wanted(["search", "x", "--json"])
    assert not json_wanted(["save", "--", "--json"])
    assert not json_wanted([])


def test_a_mistyped_home_is_not_made(cli: CommandLine, tmp_path: Path) -> None:
    """A verb that reads says that there is no memory; a save makes it, and then the same verb answers."""
    missing = str(tmp_path / "not there")
    for arguments in (("search", "x"), ("status",), ("verify",), ("config", "list"), ("log",), ("doctor",)):
        failed = cli(*arguments, "--home", missing, "--json")
        assert (failed.code, failed.json["error"]["code"]) == (4, "not_found"), arguments
    assert not Path(missing).exists()
    assert cli("save", TEA, "--home", missing).code == 0
    assert cli("status", "--home", missing).code == 0


def test_undo_takes_a_number_or_a_checkpoint(cli: CommandLine) -> None:
    """Both at once is an error and changes nothing."""
    save(cli, TEA)
    kept = cli("checkpoints", "--json").json["checkpoints"][0]["id"]
    assert cli("undo", "2", "--checkpoint", kept, "--yes").code == 2
    assert cli("undo", "--checkpoint", kept, "--yes").code == 0


@pytest.mark.slow
def test_nothing_of_the_callers_folder_is_run(cli: CommandLine, tmp_path: Path) -> None:
    """The pasted command imports no module of the folder that it is started in."""
    trap = "import sys; sys.stderr.write('TRAP'); sys.stderr.flush()"
    for name in ("anyio.py", "shutil.py", "mcp.py", "memoranda/__init__.py"):
        target = tmp_path / "project" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(trap, encoding="utf-8")
    pasted = cli("mcp", "--json").json["mcpServers"]["memoranda"]
    assert pasted["args"][0] == "-P" or pasted["command"] == "memoranda"
    done = subprocess.run(
        [pasted["command"], *pasted["args"]],
        cwd=tmp_path / "project",
        env=cli.clean(),
        input=b"",
        capture_output=True,
        check=False,
    )
    assert b"TRAP" not in done.stderr
    assert done.returncode == 0, done.stderr


def test_each_verb_is_found_in_the_module_that_is_loaded_for_it() -> None:
    """The table of modules names every verb once, and the module that it names has the verb."""
    from typer.main import get_command

    from memoranda.interfaces.cli.app import _GROUPS

    named = [verb for has in _GROUPS.values() for verb in has]
    assert len(set(named)) == len(named)
    assert set(named) == {verb.split()[0] for verb in verbs()}
    for module, has in _GROUPS.items():
        assert set(has) == set(get_command(build(has[0])).commands), module  # type: ignore[attr-defined]
