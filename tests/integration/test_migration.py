"""A ledger of the first format, written by the program of that format, goes on under the present one."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from memoranda.adapters.sqlite.ledger import SqliteLedger
from memoranda.adapters.sqlite.ledger_schema import MIGRATIONS
from memoranda.domain.fingerprint import Fingerprints
from memoranda.domain.outcome import Quarantined, Refused, Saved
from memoranda.domain.record import Status, Trust
from memoranda.domain.report import Problem
from memoranda.domain.scope import agent_scope
from tests.homes import home, read, texts, write

ROWS = Path(__file__).with_name("first_format.sql")
KEY = bytes(range(32))
SECRET = "pass" + "word = 'kT9!vQ2x-Lm4zR7w'"
NOTES = "memory/notes.md"
FILES = {
    NOTES: (
        "# Kitchen\n\nThe kettle is blue.\n\n- Tea is green.\n\nThe oven is on the left.\n\n"
        "Written when the process was killed.\n"
    ),
    "memory/hand.md": f"The cat sleeps until ten on weekdays.\n\n{SECRET}\n",
    "memory/birds.md": "The bird sings.\n",
    "agents/second/MEMORY.md": "Of another agent.\n",
}
"""What that program left; the last batch was killed after its file was exchanged."""


@pytest.fixture
def first(tmp_path: Path) -> Path:
    """A home as the program of the first format left it: no index, an unfinished batch."""
    for path, text in FILES.items():
        write(tmp_path, path, text)
    write(tmp_path, ".state/key", KEY)
    with closing(apsw.Connection(str(tmp_path / ".state/ledger.db"))) as ledger:
        ledger.execute(MIGRATIONS[0])
        with ledger:
            ledger.execute(ROWS.read_text(encoding="utf-8"))
        ledger.execute("PRAGMA user_version = 1")
    return tmp_path


def _ledger(folder: Path) -> closing[SqliteLedger]:
    return closing(SqliteLedger(folder / ".state/ledger.db", Fingerprints(KEY)))


def _problems(folder: Path) -> list[Problem]:
    with _ledger(folder) as ledger:
        return [found for found in ledger.verify() if isinstance(found, Problem)]


def _columns(folder: Path) -> Iterator[str]:
    with closing(apsw.Connection(str(folder / ".state/ledger.db"))) as ledger:
        query = "SELECT t.name || '.' || c.name FROM sqlite_schema t, pragma_table_info(t.name) c WHERE t.type='table'"
        yield from (str(name) for (name,) in ledger.execute(query).fetchall())


def test_every_row_is_taken_over_and_proven(first: Path) -> None:
    """Opened, the ledger has the new columns, the same events and no problem."""
    assert not {"records.capped", "objects.erased", "sessions.id"} & set(_columns(first))
    assert _problems(first) == []
    assert {"records.capped", "objects.erased", "sessions.id", "events.hash"} <= set(_columns(first))
    with _ledger(first) as ledger:
        assert ledger.size()[:2] == (36, 14)
        assert ledger.counts(agent_scope("main")) == {"active": 5, "retired": 4, "superseded": 1, "withheld": 1}
        assert {record.capped for record in ledger.present(agent_scope("main"))} == {False}
        assert {record.retired_by for record in ledger.past(agent_scope("main"))} == {""}


def test_a_row_changed_in_the_first_format_is_named(first: Path) -> None:
    """What someone changed in the old ledger is named by the new program: the record alone, nothing else."""
    with closing(apsw.Connection(str(first / ".state/ledger.db"))) as ledger:
        record = ledger.execute("SELECT id FROM records WHERE path='memory/birds.md'").get
        ledger.execute("UPDATE records SET trust=4 WHERE id=?", (record,))
    found = [(problem.area, problem.subject, problem.message) for problem in _problems(first)]
    assert found == [("records", record, "differs from the events in trust")]


def test_the_unfinished_batch_is_finished(first: Path) -> None:
    """The batch that was killed is committed, with its author; files and index are proven then, and nothing changed."""
    with _ledger(first) as ledger:
        (intent,) = ledger.intents(agent_scope("main"))
        assert (intent.tombstones, intent.lifted, intent.proposals, intent.decision) == ((), (), (), None)
    with home(first) as memory:
        assert memory.sync().files_changed == 0
        assert memory.verify().problems == ()
        assert memory._parts.stores.ledger.intents(agent_scope("main")) == []
        assert texts(memory.agent("main"), "killed") == ["Written when the process was killed."]
        lines = {line.text: line.record for line in memory.agent("main").blame(NOTES)}
        killed, oven = lines["Written when the process was killed."], lines["The oven is on the left."]
        assert killed is not None
        assert oven is not None
        assert {str(killed.author), str(oven.author)} == {"agent:main"}
    assert {path: read(first, path) for path in FILES} == FILES


def test_authors_history_and_undo_go_on(first: Path) -> None:
    """A person's words stay a person's, the secret stays withheld, an old checkpoint brings its text back."""
    with home(first) as memory:
        memory.sync()
        person = memory.person("main")
        cat, secret = (line.record for line in person.blame("memory/hand.md"))
        assert cat is not None
        assert secret is not None
        assert (str(cat.author), cat.trust, cat.status) == ("external", Trust.APPLICATION, Status.ACTIVE)
        assert (secret.status, secret.reason) == (Status.WITHHELD, "secret:password")
        versions = person.history(cat.id).versions
        assert [version.text for version in versions] == [
            "The cat sleeps until noon on weekdays.", "The cat sleeps until ten on weekdays."]  # fmt: skip
        (plan,) = (found for found in person.checkpoints(path_contains="plan") if found.reason == "delete")
        assert person.restore(plan.id).done
        assert len(texts(memory.agent("main"), "plan")) == 1
        assert texts(memory.agent("second"), "") == ["Of another agent."]
        assert memory.verify().problems == ()


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("Coffee is black.", Quarantined),
        ("The dog barks at nine.", Quarantined),
        ("The fridge hums.", Saved),
        ("The freezer hums.", Saved),
    ],
)
def test_what_a_person_took_out_before_waits(first: Path, text: str, outcome: type) -> None:
    """What a person deleted or cut out under the first format waits when an agent writes it; its own does not."""
    with home(first) as memory:
        memory.sync()
        (found,) = memory.agent("main").save(text).items
        assert isinstance(found, outcome)
        assert memory.verify().problems == ()


def test_trust_begins_at_once(first: Path) -> None:
    """In the home that was taken over values are rejected, tainted offers wait, and both are proven."""
    with home(first) as memory:
        memory.sync()
        assert memory.person("main").delete(file=NOTES, text="The kettle is blue.").done
        assert isinstance(memory.agent("main").save("The kettle is blue.").items[0], Refused)
        assert isinstance(memory.agent("main").save("The kettle is red.").items[0], Saved)
        session = memory.agent("main").session("reading")
        session.tool_result("web_fetch", "a page")
        assert isinstance(session.save("Said by a page.").items[0], Quarantined)
        assert memory.verify().problems == ()


def test_it_is_brought_up_once(first: Path) -> None:
    """Opened by four threads at once, the ledger is migrated by one of them and open to all."""
    start, problems = threading.Barrier(4), list[list[Problem]]()

    def check() -> None:
        start.wait()
        problems.append(_problems(first))

    threads = [threading.Thread(target=check) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == [[], [], [], []]
    with closing(apsw.Connection(str(first / ".state/ledger.db"))) as ledger:
        assert ledger.execute("PRAGMA user_version").get == len(MIGRATIONS)
