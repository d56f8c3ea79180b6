"""What is stored already is looked through for secrets, in every kept version, and never shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from memoranda.adapters.secrets.scanner import DetectSecretsScanner
from memoranda.domain.record import Details
from tests.homes import home, write

SECRET = "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def test_a_secret_that_was_let_in_is_found_in_every_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kept while no detector knew its form: found in the record, the checkpoints, what waits and the titles."""
    with home(tmp_path) as memory:
        memory.person("main").save("Clean line.")
        assert [finding.level for finding in memory.scan_secrets()] == ["ok"]
        with monkeypatch.context() as patch:
            patch.setattr(DetectSecretsScanner, "scan", lambda *_: ())
            memory.person("main").save(f"The token is {SECRET}.")
            memory.person("main").save("One more line.")
            memory.person("main").delete(file="MEMORY.md", text=f"The token is {SECRET}.")
            memory.agent("main").remember("A body.", details=Details(description=f"for {SECRET}"))
            session = memory.agent("main").session("s")
            session.tool_result("fetch", "…")
            session.save(f"A page has {SECRET}.", file="memory/page.md")
        found = memory.scan_secrets()
        places = "\n".join(finding.subject for finding in found)
        for place in ("record rec_", "checkpoint cp_", "proposal prp_", "event "):
            assert place in places
        assert SECRET not in repr(found)
        assert "Clean line" not in repr(found)
        assert found[-1].level == "error"
        memory.operator(at_terminal=True).erase(text=SECRET)
        assert [finding.level for finding in memory.scan_secrets()] == ["ok"]


def test_a_secret_in_a_persons_file_is_named_as_withheld(tmp_path: Path) -> None:
    """It is reported by file, line and class; a file without one is not."""
    write(tmp_path, "memory/a.md", "fine\n")
    write(tmp_path, "memory/b.md", f"one\n\ntoken {SECRET}\n")
    with home(tmp_path) as memory:
        memory.sync()
        found = [finding for finding in memory.scan_secrets() if finding.level == "warning"]
        assert [finding.subject for finding in found] == ["agent:main memory/b.md:3"]
        assert "github-token" in found[0].message


def test_redaction_is_offered_for_transcripts(tmp_path: Path) -> None:
    """A home redacts a text as its scanner knows secrets, and leaves a clean one alone."""
    with home(tmp_path) as memory:
        assert memory.redact(f"use {SECRET} now") == "use [redacted:github-token] now"
        assert memory.redact("use nothing now") == "use nothing now"
