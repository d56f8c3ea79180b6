"""One changed byte in any row of the ledger or of an index is named by `verify`."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import apsw
import numpy as np
import pytest

import memoranda
from memoranda.domain.operation import Append, Batch
from memoranda.domain.outcome import Quarantined
from memoranda.domain.record import Provenance
from memoranda.domain.scope import Principal, agent_scope
from memoranda.errors import MemorandaError
from memoranda.memory import Memory
from memoranda.services import gateway
from tests.integration.tampering import Place, columns, tables, tamper

SETTINGS = {"memory.provider": "none"}
LEDGER, INDEX = Path(".state/ledger.db"), Path(".state/index/agent+main/index.db")
LEDGER_TABLES = (
    "events", "event_salts", "records", "files", "checkpoints", "checkpoint_files", "objects",
    "tombstones", "proposals", "proposal_records", "sessions", "assertions", "gates")  # fmt: skip
INDEX_TABLES = ("current", "past", "vectors", "embedders", "postings", "word_vectors")
WORDS = tuple(f"{table}_words_{part}" for table in ("current", "past") for part in ("data", "idx", "docsize", "config"))
NOT_TRUTH = {
    "files.size": "a hint for the next sync, which reads the file again where it differs",
    "files.stamp": "the same",
    "sessions.settled": "a hint for the next sync, which takes an edit for the session's where it is not set",
    "vectors.id": "the order in which vectors are loaded, which no answer depends on",
    "vectors.stamp": "when a vector came, for processes that have loaded some already; see the test of meta",
    "past_words_config.v": "FTS5's own version of the file format, of which it reads both",
}
"""Columns that say nothing of what was written, by whom or when, each with the reason why it may stay unnamed."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with every kind of row: agents' and a person's records, past ones, objects of all codecs, vectors."""
    home = tmp_path_factory.mktemp("tamper") / "home"
    with memoranda.open(home, settings=SETTINGS) as memory:
        agent = memory.agent("main")
        for number in range(5):
            agent.save(f"# Part {number}\n\nFact number {number} of the house.\n\n" + f"- a long list {number}\n" * 30)
        _save_with_provenance(memory)
        memory.person("main").delete(file="MEMORY.md", text="Fact number 3 of the house.")
        notes = home / "MEMORY.md"
        notes.write_text(notes.read_text(encoding="utf-8").replace("Fact number 1", "Fact number 11"), encoding="utf-8")
        memory.sync()
        _vectors(memory)
        tainted = memory.agent("main").session("reading")
        tainted.tool_result("web_fetch", "a page")
        assert isinstance(tainted.save("Said by a page.").items[0], Quarantined)
        tainted.close()
        _ledger(memory)
        talk = memory.agent("main").session("talk")
        for number in range(3):
            talk.user(f"Said at dinner, number {number}.", speaker="Ann")
        assert memory.verify().clean
    return home


def _ledger(memory: Memory) -> None:
    agent, person = memory.agent("main"), memory.person("main")
    for fact in ("The house is red.", "The house is blue."):
        agent.conflicts_index("house", "colour", fact=fact, metadata={"seen": "twice"}, conflict=True)
        person.conflicts_resolve("house", "colour", decision="blue", rationale="It was painted.")
    agent.conflicts_index("house", "roof", conflict=True, conflict_reason="One says flat.")
    waits = agent.gate("paint the house", "R3", entity="house", topic="colour", approver="application")
    person.gate_approve(waits.id, rationale="It needs paint.")


def _save_with_provenance(memory: Memory) -> None:
    session = memory.agent("main").session("talk")
    provenance = Provenance(session_id=session.id, message_from=1, message_to=2, tool="memory_save", evidence=("e-1",))
    operation = Append("MEMORY.md", "Said in a session.")
    batch = Batch(Principal("agent", "main"), agent_scope("main"), (operation,), "save", provenance)
    assert gateway.commit(memory._parts.stores, batch).done


def _vectors(memory: Memory) -> None:
    index, scope = memory._parts.stores.index, agent_scope("main")
    keys = [key for key, _ in index.pending(scope, "made-up", 1_000)]
    vectors = np.random.default_rng(1).standard_normal((len(keys), 8)).astype(np.float32)
    words = [bytes([number % 100] * 128) for number in range(len(keys))]
    index.put_vectors(scope, "made-up", keys, vectors / np.linalg.norm(vectors, axis=1, keepdims=True), words)


@pytest.fixture
def copy(whole: Path, tmp_path: Path) -> Iterator[Path]:
    """A copy of that home to damage."""
    home = tmp_path / "home"
    shutil.copytree(whole, home)
    yield home
    shutil.rmtree(home)


def _restored(whole: Path, home: Path, database: Path) -> Path:
    """Put the sound database back and return its path."""
    for ending in ("", "-wal", "-shm"):
        Path(f"{home / database}{ending}").unlink(missing_ok=True)
    shutil.copy2(whole / database, home / database)
    return home / database


def _named(home: Path) -> list[str]:
    """Return what verify (or opening) says is wrong."""
    try:
        with memoranda.open(home, settings=SETTINGS) as memory:
            return [f"{found.area}: {found.subject}: {found.message}" for found in memory.verify().problems]
    except MemorandaError as error:
        return [f"opening: {error}"]


def _silent(whole: Path, home: Path, database: Path, table: str) -> list[str]:
    """Tamper with each column of a table in turn; return those that nobody noticed."""
    silent, touched = [], 0
    for column in columns(whole / database, table):
        place = Place(table, column)
        if str(place) in NOT_TRUTH or not tamper(_restored(whole, home, database), place):
            continue
        touched += 1
        if not _named(home):
            silent.append(str(place))
    assert touched
    _restored(whole, home, database)
    return silent


@pytest.mark.slow
@pytest.mark.parametrize("table", LEDGER_TABLES)
def test_byte_in_the_ledger(whole: Path, copy: Path, table: str) -> None:
    """A byte changed in any column of a ledger's row is named; the untouched copy is clean."""
    assert _silent(whole, copy, LEDGER, table) == []
    assert _named(copy) == []


@pytest.mark.slow
@pytest.mark.parametrize("table", [*INDEX_TABLES, *WORDS])
def test_byte_in_the_index(whole: Path, copy: Path, table: str) -> None:
    """A byte changed in any column of an index's row, keyword tables included, is named; the untouched is clean."""
    assert _silent(whole, copy, INDEX, table) == []
    assert _named(copy) == []


def test_every_table_is_tampered_with(whole: Path) -> None:
    """No table of the ledger or of an index is left out but those that hold no history and no answers."""
    assert set(tables(whole / LEDGER)) == {*LEDGER_TABLES, "intents", "skipped", "usage", "session_state", "injections"}
    assert set(tables(whole / INDEX)) == {*INDEX_TABLES, *WORDS, "meta", "logs", "vectors_gone"}


@pytest.mark.parametrize(
    ("name", "value"),
    [("schema", "0"), ("scope", "agent:other"), ("embedder", "0"), ("applied", "1"), ("generation", "1")],
)
def test_value_in_the_meta_table(copy: Path, name: str, value: str) -> None:
    """A wrong value about a whole index is named; the untouched copy is clean."""
    assert _named(copy) == []
    connection = apsw.Connection(str(copy / INDEX))
    connection.execute("UPDATE meta SET value=? WHERE name=?", (value, name))
    assert connection.changes() == 1
    connection.close()
    assert _named(copy)


def test_byte_in_a_file(copy: Path) -> None:
    """A byte changed in a file is named as a change that no sync has seen; the untouched copy is clean."""
    assert _named(copy) == []
    notes = copy / "MEMORY.md"
    notes.write_bytes(notes.read_bytes().replace(b"Said", b"Sayd"))
    assert any("MEMORY.md" in found for found in _named(copy))


def test_byte_in_the_key(copy: Path) -> None:
    """A home with another key proves nothing, and says so; the untouched copy is clean."""
    assert _named(copy) == []
    key = copy / ".state" / "key"
    key.write_bytes(bytes([key.read_bytes()[0] ^ 1]) + key.read_bytes()[1:])
    assert any("the key does not fit" in found for found in _named(copy))


@pytest.mark.parametrize("row", ["first", "middle", "last"])
def test_missing_event(copy: Path, row: str) -> None:
    """An event taken out of the chain is named, wherever it stood but where nothing follows it and nothing needs it."""
    assert _named(copy) == []
    connection = apsw.Connection(str(copy / LEDGER))
    last = int(connection.execute("SELECT max(seq) FROM events").get)
    connection.execute("DELETE FROM events WHERE seq=?", ({"first": 1, "middle": last // 2, "last": last}[row],))
    connection.close()
    assert _named(copy)


def test_repair_rebuilds_the_index(copy: Path) -> None:
    """`repair` makes a damaged index whole again."""
    assert tamper(copy / INDEX, Place("current", "passage"))
    with memoranda.open(copy, settings=SETTINGS) as memory:
        assert not memory.verify().clean
        assert memory.verify(repair=True).repaired == ("index of agent:main",)
        assert memory.verify().clean


def test_repair_leaves_a_damaged_object_alone(copy: Path) -> None:
    """`repair` reports a damaged object, changes nothing of it, and leaves an index that still answers."""
    assert tamper(copy / LEDGER, Place("objects", "data"))
    with memoranda.open(copy, settings=SETTINGS) as memory:
        assert any(found.area == "objects" for found in memory.verify().problems)
        assert any(found.area == "objects" for found in memory.verify(repair=True).problems)
        assert memory.agent("main").search("Fact number 4").hits
