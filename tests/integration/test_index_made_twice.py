"""Two processes that make one index at a time: the slower one leaves what the faster one has stored."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from memoranda.adapters.sqlite import index_schema
from memoranda.adapters.sqlite.connection import transaction
from memoranda.domain.scope import Scope

SCOPE = Scope.parse("agent:main")


def test_what_was_stored_meanwhile_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection that saw an empty file looks again before it makes tables: those of another are not emptied."""
    path = tmp_path / "index.db"
    begun: list[str] = []

    def after_another(connection: apsw.Connection) -> object:
        monkeypatch.setattr(index_schema, "transaction", transaction)
        other = index_schema.open_index(path, SCOPE)
        other.execute("UPDATE meta SET value = '7' WHERE name = 'applied'")
        other.close()
        begun.append("another was faster")
        return transaction(connection)

    monkeypatch.setattr(index_schema, "transaction", after_another)
    connection = index_schema.open_index(path, SCOPE)

    assert begun
    assert connection.execute("SELECT value FROM meta WHERE name = 'applied'").get == "7"
    connection.close()
