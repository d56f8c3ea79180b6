"""Trust at the command line: review, the operator's credential, sessions, forgetting, erasing, archives, the past."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

from memoranda.errors import Conflict, Denied, InvalidInput, NotFound, Ruled
from memoranda.interfaces.errors import TABLE, RefusedWrite
from tests.interfaces.command_line import TEA, CommandLine

PASSPHRASE = "correct horse battery"
AS_OPERATOR = {"MEMORANDA_OPERATOR_PASSPHRASE": PASSPHRASE}
AS_AGENT = {"MEMORANDA_AGENT": "main"}


def at_terminal(cli: CommandLine, *arguments: str, answers: list[str]) -> tuple[int, str]:
    """Run a command at a real terminal, giving each answer when it asks; return its exit code and all it showed."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "memoranda", *arguments],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=cli.clean() | {"TERM": "dumb"},
        start_new_session=True,
    )
    os.close(theirs)
    shown, waiting = b"", list(answers)
    limit = time.monotonic() + 30
    while time.monotonic() < limit:
        ready, _, _ = select.select([ours], [], [], 1.0)
        if not ready:
            if process.poll() is not None:
                break
            continue
        try:
            part = os.read(ours, 4096)
        except OSError:
            break
        shown += part
        if waiting and shown.endswith((b": ", b"? ")):  # the space comes once the echo is off
            os.write(ours, f"{waiting.pop(0)}\n".encode())
    os.close(ours)
    try:
        return process.wait(timeout=10), shown.decode(errors="replace")
    finally:
        process.kill()


def set_passphrase(cli: CommandLine) -> None:
    """Let the operator set a passphrase at a terminal."""
    code, shown = at_terminal(cli, "operator", "set", answers=[PASSPHRASE, PASSPHRASE])
    assert code == 0, shown
    assert PASSPHRASE not in shown


@pytest.fixture
def waiting(cli: CommandLine) -> dict[str, object]:
    """A home with one thing that waits."""
    assert cli("save", TEA).code == 0
    assert cli("session", "tool-result", "chat", "web_fetch", "--json", **AS_AGENT).json["tainted"] is True
    told = cli("save", "A page says so.", "--json", **AS_AGENT, MEMORANDA_SESSION="chat").json
    assert told["saved"] is False
    assert told["quarantined_ids"]
    found: dict[str, object] = cli("proposals", "--json").json["proposals"][0]
    return found


@pytest.mark.slow
def test_a_review_from_list_to_approval(cli: CommandLine, waiting: dict[str, object]) -> None:
    """List, show, diff and approve by the hash that was shown; then the text is found and nothing waits."""
    set_passphrase(cli)
    assert "1 waiting for a ruling" in cli("status").out
    listed = cli("review", "list", "--json", **AS_OPERATOR).json
    assert [item["id"] for item in listed["proposals"]] == [waiting["id"]]
    assert "A page says so." not in cli("review", "list", "--json", **AS_OPERATOR).out
    shown = cli("review", "show", str(waiting["id"]), "--json", **AS_OPERATOR).json
    assert shown["records"][0]["text"] == "A page says so."
    assert "+ A page says so." in cli("review", "diff", str(waiting["id"]), **AS_OPERATOR).out
    no_hash = cli("review", "approve", str(waiting["id"]), **AS_OPERATOR)
    assert no_hash.code == TABLE[InvalidInput].exit_code
    wrong = cli("review", "approve", str(waiting["id"]), "--hash", "0" * 32, "--json", **AS_OPERATOR)
    assert wrong.code == TABLE[Ruled].exit_code
    assert wrong.json["error"]["rule"] == "content_mismatch"
    right = ("review", "approve", str(waiting["id"]), "--hash", shown["content_hash"], "--json")
    assert cli(*right, **AS_OPERATOR).json["state"] == "approved"
    assert cli(*right, **AS_OPERATOR).code == 0
    assert cli("search", "page", "--json").json["results"][0]["text"] == "A page says so."
    assert cli("review", "list", **AS_OPERATOR).out == "nothing waits\n"


def test_a_rejection_holds(cli: CommandLine, waiting: dict[str, object]) -> None:
    """Rejected at the command line, the value is refused to the agent afterwards; another is taken."""
    set_passphrase(cli)
    shown = cli("review", "show", str(waiting["id"]), "--json", **AS_OPERATOR).json
    done = cli("review", "reject", str(waiting["id"]), "--hash", shown["content_hash"], **AS_OPERATOR)
    assert done.code == 0
    assert cli("session", "close", "chat").code == 0
    assert cli("save", "a PAGE says so.", **AS_AGENT).code == TABLE[RefusedWrite].exit_code
    assert cli("save", "Something else.", **AS_AGENT).code == 0


VERBS = {
    "review list": [], "review show": ["ID"], "review diff": ["ID"], "review approve": ["ID", "--hash", "x"],
    "review reject": ["ID", "--hash", "x"], "adopt": ["ID"], "retier": ["ID", "--trust", "untrusted"],
    "erase": ["ID", "--yes"],
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("verb", VERBS)
def test_only_the_operator_rules(cli: CommandLine, waiting: dict[str, object], verb: str) -> None:
    """From a pipe without a credential, with a wrong one, and as an agent even with the right one: denied."""
    arguments = [*verb.split(), *(str(waiting["id"]) if part == "ID" else part for part in VERBS[verb])]
    assert cli(*arguments).code == TABLE[Denied].exit_code
    set_passphrase(cli)
    assert cli(*arguments).code == TABLE[Denied].exit_code
    assert cli(*arguments, MEMORANDA_OPERATOR_PASSPHRASE="wrong horse").code == TABLE[Denied].exit_code
    assert cli(*arguments, **AS_OPERATOR, **AS_AGENT).code == TABLE[Denied].exit_code
    assert cli(*arguments, **AS_OPERATOR).code in (
        0, TABLE[NotFound].exit_code, TABLE[Ruled].exit_code,
    )  # fmt: skip
    assert (
        "passphrase"
        not in cli("log", "--json", "-n", "1000")
        .out.replace("operator", "")
        .casefold()
        .replace("operator passphrase", "")
        or PASSPHRASE not in cli("log", "--json", "-n", "1000").out
    )


@pytest.mark.slow
def test_without_a_passphrase_the_operator_is_at_a_terminal(cli: CommandLine, waiting: dict[str, object]) -> None:
    """At a terminal `yes` makes the operator, anything else does not."""
    code, shown = at_terminal(cli, "review", "show", str(waiting["id"]), answers=["yes"])
    assert code == 0
    assert "A page says so." in shown
    code, shown = at_terminal(cli, "review", "show", str(waiting["id"]), answers=["sure"])
    assert code == 1
    assert "A page says so." not in shown


@pytest.mark.slow
def test_the_passphrase_is_changed_by_its_owner_alone(cli: CommandLine) -> None:
    """Two different entries change nothing; the present one is asked for; an agent and a pipe set none."""
    cli("save", TEA)
    assert cli("operator", "set").code == TABLE[Denied].exit_code
    assert cli("operator", "set", **AS_AGENT).code == TABLE[Denied].exit_code
    assert at_terminal(cli, "operator", "set", answers=[PASSPHRASE, "other"])[0] == TABLE[InvalidInput].exit_code
    assert at_terminal(cli, "operator", "set", answers=["short", "short"])[0] == TABLE[InvalidInput].exit_code
    assert cli("operator", "status", "--json").json == {"set": False}
    set_passphrase(cli)
    assert cli("operator", "status", "--json").json == {"set": True}
    code, _ = at_terminal(cli, "operator", "set", answers=["wrong horse", "new horse battery", "new horse battery"])
    assert code == TABLE[Denied].exit_code
    code, _ = at_terminal(cli, "operator", "set", answers=[PASSPHRASE, "new horse battery", "new horse battery"])
    assert code == 0
    assert cli("review", "list", MEMORANDA_OPERATOR_PASSPHRASE="new horse battery").code == 0
    assert cli("review", "list", **AS_OPERATOR).code == TABLE[Denied].exit_code


def test_an_agent_cannot_shake_off_its_taint(cli: CommandLine) -> None:
    """A pinned agent may open and mark sessions, and end a clean one; a tainted one is a person's to end."""
    cli("save", TEA)
    assert cli("session", "open", "a", "--json", **AS_AGENT).json["tainted"] is False
    assert cli("session", "close", "a", **AS_AGENT).code == 0
    assert cli("session", "tool-result", "b", "read_file", "--json", **AS_AGENT).json["tainted"] is False
    assert cli("session", "tool-result", "b", "notes", "--server", "web", "--json", **AS_AGENT).json["tainted"] is True
    for verb in ("reset", "close"):
        assert cli("session", verb, "b", **AS_AGENT).code == TABLE[Denied].exit_code
    assert cli("session", "open", "fresh", "--json", **AS_AGENT).json["tainted"] is True
    assert cli("save", "Under another key.", "--json", **AS_AGENT, MEMORANDA_SESSION="newer").json["saved"] is False
    assert cli("session", "open", "by a person", "--json").json["tainted"] is False
    for key in ("fresh", "newer", "by a person"):
        assert cli("session", "close", key).code == 0
    assert "tainted by tool:notes" in cli("session", "list").out
    assert "read untrusted content" in cli("doctor").out
    assert cli("session", "reset", "b", "--json").json["tainted"] is False
    assert cli("save", "Later.", "--json", **AS_AGENT).json["saved"] is True


def test_records_with_facts_are_written_updated_and_forgotten(cli: CommandLine) -> None:
    """`save` with a title, `update`, `forget` by text, a preview with a token and its confirmation."""
    made = cli(
        "save", "Deploys run on Friday.", "--title", "Deploys", "--tag", "Ops", "--kind", "procedure", "--json"
    ).json
    assert made["path"] == "memory/notes.md"
    found = cli("search", "deploys", "--json").json["results"][0]
    assert (found["title"], found["tags"], found["kind"]) == ("Deploys", ["ops"], "procedure")
    changed = cli("update", made["record_ids"][0], "Deploys run on Monday.", "--json").json
    assert changed["saved"] is True
    assert cli("update", "rec_0000000000000000000000", "x").code == TABLE[NotFound].exit_code
    cli("save", "- Deploys need two people.\n- Deploys are announced.")
    preview = cli("forget", "deploys", "--json").json
    assert preview["deleted"] is False
    assert preview["candidate_count"] == 3
    assert cli("forget", "--confirm", preview["token"], **AS_AGENT).code == TABLE[Denied].exit_code
    only = preview["planned_matches"][0]["chunk_id"]
    assert cli("forget", "--confirm", preview["token"], "--only", only, "--json").json["results"] == [only]
    assert cli("forget", "Deploys are announced.", "--dry-run").code == 0
    assert cli("forget", "Deploys are announced.", "--json").json["deleted"] is True
    assert cli("forget").code == TABLE[InvalidInput].exit_code
    assert len(cli("search", "deploys", "--json").json["results"]) == 1


def test_delete_keeps_or_rejects_the_value(cli: CommandLine) -> None:
    """With --keep-value an agent may save it again, without it may not."""
    cli("save", "- keep this value\n- reject this value")
    cli("delete", "--file", "MEMORY.md", "--text", "- keep this value\n", "--keep-value")
    cli("delete", "--file", "MEMORY.md", "--text", "- reject this value\n")
    assert cli("save", "reject this value", **AS_AGENT).code == TABLE[RefusedWrite].exit_code
    assert cli("save", "keep this value", **AS_AGENT).code == 0


def test_the_past_is_searched(cli: CommandLine) -> None:
    """--as-of finds what was believed, --valid-at what was true."""
    cli("save", "The rent is 900.", "--valid-to", "2025-01-01")
    cli("save", "The rent is 990.", "--valid-from", "2025-01-01")
    now = cli("search", "rent", "--json").json["results"]
    assert [hit["text"] for hit in now] == ["The rent is 990."]
    assert now[0]["valid_from"].startswith("2025-01-01")
    then = cli("search", "rent", "--valid-at", "2024-05-01", "--json").json["results"]
    assert [hit["text"] for hit in then] == ["The rent is 900."]
    assert cli("search", "rent", "--as-of", "2020-01-01", "--json").json["results"] == []
    cli("delete", "--file", "memory/notes.md", "--all")
    assert len(cli("search", "rent", "--as-of", now[0]["recorded_at"], "--json").json["results"]) == 1
    assert cli("search", "rent", "--as-of", "someday").code == TABLE[InvalidInput].exit_code


@pytest.mark.slow
def test_erase_prints_a_certificate(cli: CommandLine, tmp_path: Path) -> None:
    """With the operator's passphrase a text is erased, the certificate written; residue elsewhere is an error exit."""
    cli("save", "The secret garden is in Lyon.\n\nkept line")
    set_passphrase(cli)
    assert cli("erase", "--text", "The secret garden is in Lyon.", **AS_OPERATOR).code == TABLE[InvalidInput].exit_code
    out = tmp_path / "certificate.json"
    arguments = ("erase", "--text", "The secret garden is in Lyon.", "--yes", "--out", str(out), "--json")
    done = cli(*arguments, **AS_OPERATOR)
    assert (done.code, done.json["residue"]) == (0, 0)
    assert done.json["not_covered"]
    assert out.read_text(encoding="utf-8").count("residue")
    assert cli(*arguments, **AS_OPERATOR).json["nothing_to_do"] is True
    (cli.home / "SOUL.md").write_text("kept line\n", encoding="utf-8")
    left = cli("erase", "--text", "kept line", "--yes", **AS_OPERATOR)
    assert left.code != 0
    assert "SOUL.md" in left.err
    assert "kept line" not in left.err


def test_archives_travel(cli: CommandLine, tmp_path: Path) -> None:
    """Export, refuse to overwrite, import elsewhere with --yes; agents do neither."""
    cli("save", TEA)
    path = str(tmp_path / "a.zip")
    assert cli("export", path, **AS_AGENT).code == TABLE[Denied].exit_code
    assert cli("export", path, "--json").json["records"] == 1
    assert cli("export", path).code == TABLE[Conflict].exit_code
    other = str(tmp_path / "other")
    assert cli("import", path, "--home", other).code == TABLE[InvalidInput].exit_code
    assert cli("import", path, "--home", other, "--yes", **AS_AGENT).code == TABLE[Denied].exit_code
    assert cli("import", path, "--home", other, "--yes", "--json").json["written"] == 1
    assert cli("search", "tea", "--home", other, "--json").json["results"][0]["trust"] == "untrusted"


def test_doctor_finds_secrets_that_are_stored(cli: CommandLine) -> None:
    """A clean home says so; a secret that was kept before its class was known is found by class and place."""
    cli("save", TEA)
    clean = cli("doctor", "--scan-secrets", "--json")
    assert (clean.code, clean.json["level"]) == (0, "ok")
    (cli.home / "memory").mkdir()
    (cli.home / "memory/s.md").write_text("password: Xk9-Tr7-Qm2-Lp4\n", encoding="utf-8")
    cli("sync")
    found = cli("doctor", "--scan-secrets")
    assert found.code != 0
    assert "memory/s.md:1: a secret (password) is withheld" in found.out
    assert "Xk9" not in found.out + found.err


def test_a_pinned_agent_is_told_of_nothing_but_its_own(cli: CommandLine) -> None:
    """Doctor, sync, reindex and verify name no file of another agent; a person is told of all."""
    for folder in ("agents/other/memory", "agents/main/memory"):
        (cli.home / folder).mkdir(parents=True, exist_ok=True)
        (cli.home / folder / f"{folder.split('/')[1]} plans.md").write_bytes(b"\xff\xfe\x00bad")
    cli("sync")
    for verb in (("doctor",), ("status",), ("sync",), ("reindex",)):
        mine, every = cli(*verb, **AS_AGENT), cli(*verb)
        assert "other plans" not in mine.out, verb
        assert "main plans" in mine.out, verb
        assert "other plans" in every.out, verb
    assert cli("doctor", "--scan-secrets", **AS_AGENT).code == TABLE[Denied].exit_code
    assert cli("doctor", "--scan-secrets").code == 0
