"""Holds the format page to the ledger: tables, columns and event kinds."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import apsw

from memoranda.adapters.sqlite.ledger_replay import ERASED_EVENT
from memoranda.adapters.sqlite.ledger_schema import migrate

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "memoranda"
FORMAT = (ROOT / "docs" / "format.md").read_text(encoding="utf-8")

FAMILIES = (
    "batch", "checkpoints", "erase", "gate", "job", "operator", "proposal", "record", "session", "tombstone",
)  # fmt: skip
"""First words of event kinds; no other text of the source has this form."""

_CODE = re.compile(r"`([^`\n]+)`")
_LEDGER_EVENT = re.compile(r"memory\.(?:(?:assertion|conflict|hygiene|usage)\.[a-z_]+|quarantine\.verdict)")
_EVENT = re.compile(rf"[a-z]+\.[a-z_]+|{_LEDGER_EVENT.pattern}")


def ledger_tables() -> dict[str, set[str]]:
    """Return table -> columns of a new ledger."""
    database = apsw.Connection(":memory:")
    migrate(database)
    tables = [row[0] for row in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    return {
        table: {row[0] for row in database.execute("SELECT name FROM pragma_table_info(?)", (table,))}
        for table in tables
    }


def documented_tables() -> dict[str, set[str]]:
    """Return table -> columns as the format page names them: the first cells of the first table below."""
    found: dict[str, set[str]] = {}
    for section in re.split(r"^### ", FORMAT, flags=re.MULTILINE)[1:]:
        name = re.match(r"`(\w+)`\n", section)
        head = section.find("| column |")
        if name and head >= 0:
            rows = section[head:].split("\n\n", 1)[0].splitlines()[2:]
            found[name[1]] = {column for row in rows for column in _CODE.findall(row.split("|")[1])}
    return found


def test_every_table_and_column_is_documented() -> None:
    """The format page names exactly the tables and columns that a ledger has."""
    tables = ledger_tables()
    assert "hash" in tables["events"]
    assert documented_tables() == tables


def emitted_kinds() -> set[str]:
    """Return every event kind that the source names: texts of that form, one of a family."""
    kinds: set[str] = set()
    for module in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
            text = node.value if isinstance(node, ast.Constant) else None
            if isinstance(text, str) and _EVENT.fullmatch(text):
                family = text.partition(".")[0]
                is_kind = family in FAMILIES or text == ERASED_EVENT or _LEDGER_EVENT.fullmatch(text)
                kinds.update([text] if is_kind else [])
    return kinds


def test_every_event_kind_is_documented() -> None:
    """The format page names exactly the event kinds that the source writes."""
    kinds = emitted_kinds()
    assert {"batch.committed", "record.created", "record.withheld"} <= kinds
    section = FORMAT.split("### `events`", 1)[1].split("### ", 1)[0]
    assert {code for code in re.findall(r"^\| `([^`]+)` \|", section, re.MULTILINE) if "." in code} == kinds
