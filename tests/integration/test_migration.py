"""A ledger of the first format is brought up to the present one when it is opened, and proves itself."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import apsw

from memoranda.adapters.sqlite.ledger_schema import MIGRATIONS
from tests.homes import home, texts, write


def test_a_ledger_of_the_first_format_goes_on(tmp_path: Path) -> None:
    """Columns and tables that came later are taken away again; opened, the home verifies, finds, undoes and rejects."""
    write(tmp_path, "memory/hand.md", "by hand\n")
    with home(tmp_path) as memory:
        memory.sync()
        memory.agent("main").save("The first fact.\n\nThe second fact.")
        memory.person("main").delete(file="MEMORY.md", text="The second fact.", keep_value=True)
    with closing(apsw.Connection(str(tmp_path / ".state/ledger.db"))) as ledger:
        for row in ledger.execute("SELECT seq, payload FROM events WHERE payload LIKE '%retired_by%'").fetchall():
            assert row
        first, second = MIGRATIONS[:2]
        for line in second.split(";"):
            words = line.split()
            if words[:2] == ["ALTER", "TABLE"]:
                ledger.execute(f"ALTER TABLE {words[2]} DROP COLUMN {words[5]}")
            elif words[:2] == ["CREATE", "TABLE"]:
                ledger.execute(f"DROP TABLE {words[2].split('(')[0]}")
        ledger.execute("UPDATE records SET retired_at = retired_at")
        ledger.execute("PRAGMA user_version = 1")
        assert "CREATE TABLE records" in first
    with home(tmp_path) as memory:
        problems = memory.verify().problems
        assert {problem.message for problem in problems} <= {"differs from the events in retired_by"}
        assert sorted(texts(memory.agent("main"), "")) == ["The first fact.", "by hand"]
        assert memory.person("main").undo(1).done
        assert sorted(texts(memory.agent("main"), "fact")) == ["The first fact.", "The second fact."]
        memory.person("main").delete(file="MEMORY.md", text="The first fact.")
        assert not memory.agent("main").save("The first fact.").done
