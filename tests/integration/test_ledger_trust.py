"""The ledger's part of trust: look-ups by index, intents that carry it, what sticks, what was believed, its proof."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memoranda.adapters.sqlite.connection import rows_of
from memoranda.adapters.sqlite.ledger import SqliteLedger
from memoranda.domain import operation as ops
from memoranda.domain.entry import Change, Entry, FileEdit, FileState
from memoranda.domain.fingerprint import Fingerprints
from memoranda.domain.proposal import Decision, Proposal
from memoranda.domain.record import Details, Epistemic, Kind, Provenance, Record, Status, Trust
from memoranda.domain.report import Problem
from memoranda.domain.scope import Principal, agent_scope
from memoranda.domain.session import SessionState
from memoranda.domain.tombstone import Mark, Tombstone
from memoranda.errors import BackendError, IntegrityError, MemorandaError

KEY = bytes(range(32))
PRINTS = Fingerprints(KEY)
MAIN, OTHER = agent_scope("main"), agent_scope("other")
AGENT, PERSON = Principal("agent", "main"), Principal("application")
TEXT = "The kettle is blue."
MARK = PRINTS.marks(TEXT)[0]


def moment(hour: int) -> str:
    """A time on one day."""
    return f"2026-03-01T{hour:02d}:00:00.000000+00:00"


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[SqliteLedger]:
    """An empty ledger."""
    with closing(SqliteLedger(tmp_path / "ledger.db", PRINTS)) as made:
        yield made


def record(ident: str, text: str = TEXT, **fields: Any) -> Record:
    """A record of the agent with this text."""
    return replace(
        Record(
            id=ident, scope=MAIN, path="MEMORY.md", block_hash=PRINTS.content(text), value_key=PRINTS.value_key(text),
            near_key=PRINTS.near_key(text), author=AGENT, recorded_at=moment(1),
        ),
        **fields,
    )  # fmt: skip


def entry(number: int, *changes: Change, **fields: Any) -> Entry:
    """A batch of the agent that changes no file."""
    made = Entry(
        batch_id=f"bat_{number}", at=moment(number), author=AGENT, scope=MAIN, reason="save", checkpoint_id="",
        edits=(), changes=changes, texts={PRINTS.content(TEXT): TEXT},
    )  # fmt: skip
    return replace(made, **fields)


def stone(ident: str, **fields: Any) -> Tombstone:
    """A person's tombstone of the text."""
    made = Tombstone(
        id=ident, scope=MAIN, value=MARK.value, near=MARK.near, binds="models", author=PERSON, at=moment(1),
        record_id="rec_1",
    )  # fmt: skip
    return replace(made, **fields)


def proposal(ident: str, *operations: ops.Operation, **fields: Any) -> Proposal:
    """A proposal of the agent that waits."""
    made = Proposal(
        id=ident, scope=MAIN, kind="quarantine", reason="tainted", author=AGENT, session_id="ses_1", tainted=True,
        at=moment(1), operations=operations or (ops.Append("MEMORY.md", TEXT),), record_ids=("rec_1",),
        content_hash=f"hash of {ident}",
    )  # fmt: skip
    return replace(made, **fields)


def waits(ident: str = "rec_1") -> Change:
    """A record that waits."""
    return Change("record.quarantined", record(ident, status=Status.QUARANTINED, ever_quarantined=True, capped=True))


SESSION = SessionState(id="ses_1", scope=MAIN, key="talk", opened_at=moment(1))


def put(ledger: SqliteLedger, state: SessionState, kind: str = "session.opened") -> None:
    """Store a session's state."""
    ledger.put_session(state, at=moment(1), author=AGENT, kind=kind)


def rows(ledger: SqliteLedger) -> Mapping[str, list[object]]:
    """Every row of every table."""
    found = rows_of(ledger._db, "SELECT name FROM sqlite_schema WHERE type='table'")
    return {
        table: rows_of(ledger._db, f"SELECT * FROM {table} ORDER BY 1")  # noqa: S608 - names of the schema
        for (table,) in found
    }


def problems(ledger: SqliteLedger) -> list[tuple[str, str]]:
    """What verify finds: area and subject."""
    return [(found.area, found.subject) for found in ledger.verify() if isinstance(found, Problem)]


LOOK_UPS: dict[str, Callable[[SqliteLedger], object]] = {
    "standing": lambda ledger: ledger.standing(MAIN, ["v", "w"], [[MARK], [MARK]], [[MARK], []], at=moment(2)),
    "active_with_value": lambda ledger: ledger.active_with_value(MAIN, "v"),
    "has_tombstones": lambda ledger: ledger.has_tombstones(MAIN),
    "tombstones": lambda ledger: ledger.tombstones(MAIN),
    "proposal": lambda ledger: ledger.proposal("prp_1"),
    "proposals": lambda ledger: ledger.proposals([MAIN, OTHER], pending=True, limit=5),
    "proposals, decided too": lambda ledger: ledger.proposals([MAIN], pending=False, limit=5),
    "proposal_with": lambda ledger: ledger.proposal_with(MAIN, "hash", at=moment(2)),
    "waiting": lambda ledger: ledger.waiting(MAIN, at=moment(2)),
    "session": lambda ledger: ledger.session("ses_1"),
    "session_named": lambda ledger: ledger.session_named(MAIN, "talk"),
    "sessions": lambda ledger: ledger.sessions(MAIN),
    "sessions, unsettled": lambda ledger: ledger.sessions(MAIN, unsettled=True),
    "believed": lambda ledger: ledger.believed(["rec_1"], moment(2)),
}


def plans(ledger: SqliteLedger, look_up: Callable[[SqliteLedger], object]) -> list[str]:
    """How SQLite carries out each statement of a look-up, step by step."""
    asked: list[tuple[str, Any]] = []

    def note(_: object, statement: str, bindings: object) -> bool:
        asked.append((statement, bindings))
        return True

    ledger._db.exec_trace = note
    look_up(ledger)
    ledger._db.exec_trace = None
    steps = [ledger._db.execute(f"EXPLAIN QUERY PLAN {query}", values).fetchall() for query, values in asked]
    return [str(step[-1]) for found in steps for step in found]


@pytest.mark.parametrize("name", LOOK_UPS)
def test_no_look_up_reads_a_whole_table(ledger: SqliteLedger, name: str) -> None:
    """Each question of trust goes by an index, whatever the ledger holds; one that is not about a scope scans."""
    ledger.commit([entry(1, waits(), tombstones=(stone("tmb_1"),), proposals=(proposal("prp_1"),))])
    steps = plans(ledger, LOOK_UPS[name])
    assert any(step.startswith("SEARCH") for step in steps)
    scans = [step for step in steps if step.startswith("SCAN") and "VIRTUAL TABLE" not in step]
    assert scans == []
    everything = plans(ledger, lambda ledger: ledger.proposals(None, pending=False, limit=5))
    assert any(step.startswith("SCAN proposals") for step in everything)


def test_what_stands_is_of_one_scope(ledger: SqliteLedger) -> None:
    """A rejected value is exact, its statement in other words near, until it is lifted; elsewhere nothing is known."""
    ledger.commit([entry(1, Change("record.created", record("rec_1")), tombstones=(stone("tmb_1"),))])
    value, other = PRINTS.value_key(TEXT), Mark("another", MARK.near)
    (found,) = ledger.standing(MAIN, [value], [[MARK]])
    assert (found.active, [item.id for item in found.exact], found.near) == ("rec_1", ["tmb_1"], ())
    (found,) = ledger.standing(MAIN, ["unknown"], [[other]])
    assert (found.active, found.exact, [item.id for item in found.near]) == ("", (), ["tmb_1"])
    (found,) = ledger.standing(MAIN, ["unknown"], [[]], [[Mark(MARK.value, "")]])
    assert [item.id for item in found.near] == ["tmb_1"]
    (found,) = ledger.standing(OTHER, [value], [[MARK]])
    assert (found.active, found.exact, found.near, found.removed_by) == ("", (), (), None)
    ledger.commit([entry(2, lifted=("tmb_1",), scope=OTHER)])
    assert ledger.has_tombstones(MAIN), "another scope lifts nothing"
    ledger.commit([entry(3, lifted=("tmb_1",))])
    (found,) = ledger.standing(MAIN, [value], [[MARK]])
    assert (found.active, found.exact, found.near) == ("rec_1", (), ())
    assert not ledger.has_tombstones(MAIN)
    assert [item.lifted_at for item in ledger.tombstones(MAIN, all_of_them=True)] == [moment(3)]
    assert problems(ledger) == []


def test_a_lapsed_offer_waits_no_longer(ledger: SqliteLedger) -> None:
    """After its time a change is neither found, counted nor in the way, but a tainted one's value still is."""
    lapsing = {"kind": "change", "expires_at": moment(5), "tainted": False, "content_hash": "same"}
    ledger.commit([entry(1, waits(), proposals=(proposal("prp_1", **lapsing),))])
    value = PRINTS.value_key(TEXT)
    for hour, count in ((4, 1), (5, 0)):
        found = ledger.proposal_with(MAIN, "same", at=moment(hour))
        assert (found is not None) == bool(count)
        assert ledger.waiting(MAIN, at=moment(hour)) == count
        (standing,) = ledger.standing(MAIN, [value], [[]], at=moment(hour))
        assert bool(standing.quarantined) == bool(count)
    again = proposal("prp_2", **{**lapsing, "expires_at": moment(9), "tainted": True})
    ledger.commit([entry(6, proposals=(again,))])
    found = ledger.proposal_with(MAIN, "same", at=moment(6))
    assert found is not None
    assert found.id == "prp_2"
    assert (ledger.waiting(MAIN, at=moment(6)), ledger.waiting(MAIN, at=moment(9))) == (1, 0)
    (standing,) = ledger.standing(MAIN, [value], [[]], at=moment(9))
    assert standing.quarantined == "rec_1"


DETAILS = Details(
    title="Kettle", description="when tea is made", tags=("kitchen",), kind=Kind.GOTCHA,
    epistemic=Epistemic.OPERATOR_SAID, evidence=("rec_7",), valid_from=moment(1), valid_to=moment(2),
)  # fmt: skip
OPERATIONS: tuple[ops.Operation, ...] = (
    ops.Append("MEMORY.md", "Ümläute, “quotes” and\n\na second paragraph."),
    ops.ReplaceFile("memory/a.md", "- one\n- two", ((1, DETAILS),)),
    ops.Cut("memory/a.md", "two", all_matches=True, delete_if_empty=False, keep_value=True),
    ops.DeleteFile("memory/a.md"),
    ops.Restore("memory/a.md", PRINTS.content(TEXT)),
    ops.Create("memory/a.md", "A body.", DETAILS),
    ops.Create("memory/a.md", "Without details."),
    ops.Supersede("rec_1", "Another body.", DETAILS, expected="hash"),
    ops.Remove("rec_1", keep_value=True, expected="hash"),
    ops.Retier("rec_1", Trust.AGENT_VERIFIED, ("rec_2", "ses_1")),
    ops.Adopt("rec_1"),
    ops.Admit("rec_1"),
)
"""One of each kind that can wait."""


def test_an_intent_comes_back_as_it_was(tmp_path: Path) -> None:
    """Tombstones, lifts, proposals of every kind and the decision survive in an intent, and are committed from it."""
    path = tmp_path / "ledger.db"
    decision = Decision(
        proposal_id="prp_1", verdict="approved", by=Principal("operator"), content_hash="hash of prp_1",
        rationale="I know it.", successors=("rec_2",),
    )  # fmt: skip
    offered = proposal("prp_2", *OPERATIONS, expires_at=moment(9), kind="change")
    foreign = stone("tmb_2", key_id="0123", binds="jobs", author=Principal("importer", "run"))
    edit = FileEdit("MEMORY.md", "", PRINTS.content(TEXT), "", PRINTS.content(TEXT), ((0, 0, TEXT),))
    state = FileState("MEMORY.md", PRINTS.content(TEXT), PRINTS.content(TEXT), len(TEXT), 1, by_person=True)
    whole = entry(
        2, Change("record.created", record("rec_2", provenance=Provenance(session_id="ses_1", evidence=("a",)))),
        reason="review", author=Principal("operator"), checkpoint_id="cp_1", edits=(edit,), states=(state,),
        corroborated=("rec_2",), tombstones=(stone("tmb_3"), foreign), lifted=("tmb_1",), proposals=(offered,),
        decision=decision,
    )  # fmt: skip
    with closing(SqliteLedger(path, PRINTS)) as ledger:
        ledger.commit([entry(1, waits(), tombstones=(stone("tmb_1"),), proposals=(proposal("prp_1"),))])
        ledger.prepare(whole)
    with closing(SqliteLedger(path, PRINTS)) as ledger:
        (found,) = ledger.intents(MAIN)
        assert found == whole
        assert [item.id for item in ledger.tombstones(MAIN)] == ["tmb_1"], "an intent has no effect yet"
        ledger.commit([found])
    with closing(SqliteLedger(path, PRINTS)) as ledger:
        assert ledger.intents(MAIN) == []
        assert set(ledger.tombstones(MAIN)) == {stone("tmb_3"), foreign}
        assert ledger.proposal("prp_2") == offered
        ruled = ledger.proposal("prp_1")
        assert ruled is not None
        assert (ruled.state, ruled.decided_by, ruled.successors) == ("approved", "operator", ("rec_2",))
        assert problems(ledger) == []


def _twice(ledger: SqliteLedger) -> Entry:
    del ledger
    return entry(3, tombstones=(stone("tmb_3"), stone("tmb_1")))


def _same_proposal(ledger: SqliteLedger) -> Entry:
    del ledger
    return entry(3, tombstones=(stone("tmb_3"),), lifted=("tmb_1",), proposals=(proposal("prp_1"),))


def _lost_text(ledger: SqliteLedger) -> Entry:
    del ledger
    edit = FileEdit("MEMORY.md", "0" * 32, "1" * 32, "", "", ((0, 0, "a"),))
    return entry(3, Change("record.created", record("rec_3")), edits=(edit,), checkpoint_id="cp_1")


def _interrupted(ledger: SqliteLedger) -> Entry:
    def stop(_: object, statement: str, __: object) -> bool:
        if "INSERT INTO proposals" in statement:
            raise KeyboardInterrupt
        return True

    ledger._db.exec_trace = stop
    return entry(3, waits("rec_3"), lifted=("tmb_1",), proposals=(proposal("prp_3"),))


@pytest.mark.parametrize(
    ("broken", "error"),
    [
        (_twice, BackendError), (_same_proposal, BackendError), (_lost_text, IntegrityError),
        (_interrupted, KeyboardInterrupt),
    ],
)  # fmt: skip
def test_a_commit_that_fails_writes_nothing(
    ledger: SqliteLedger, broken: Callable[[SqliteLedger], Entry], error: type[BaseException]
) -> None:
    """Where one part of one of two batches cannot be written, no table has changed; the sound batch alone is."""
    ledger.commit([entry(1, waits(), tombstones=(stone("tmb_1"),), proposals=(proposal("prp_1"),))])
    sound = entry(2, Change("record.created", record("rec_2")), tombstones=(stone("tmb_2"),))
    ledger.prepare(sound)
    before = rows(ledger)
    unsound = broken(ledger)
    with pytest.raises(error):
        ledger.commit([sound, unsound])
    ledger._db.exec_trace = None
    assert rows(ledger) == before
    ledger.commit([sound])
    changed = {table for table, found in rows(ledger).items() if found != before[table]}
    assert changed == {"events", "event_salts", "records", "tombstones", "intents"}
    assert problems(ledger) == []


@pytest.mark.parametrize("order", ["taint first", "close first"])
def test_what_sticks_to_a_session(ledger: SqliteLedger, order: str) -> None:
    """Two writers who both read it clean, open and private: taint, end and group all stay, whoever writes last."""
    put(ledger, SESSION)
    writes = [
        (replace(SESSION, tainted_at=moment(2), taint_source="tool:web_fetch"), "session.tainted"),
        (replace(SESSION, audience="shared"), "session.opened"),
        (replace(SESSION, closed_at=moment(3)), "session.closed"),
    ]
    for state, kind in writes if order == "taint first" else reversed(writes):
        put(ledger, state, kind)
    expected = replace(writes[0][0], audience="shared", closed_at=moment(3))
    assert ledger.session("ses_1") == expected
    put(ledger, replace(expected, tainted_at=moment(9), taint_source="tool:other", closed_at=moment(9)))
    assert ledger.session("ses_1") == expected, "the first of each is kept"
    assert problems(ledger) == []


def test_a_key_has_one_open_session(tmp_path: Path) -> None:
    """A second connection cannot open a key that is open; another scope can, and the same one after the end."""
    path = tmp_path / "ledger.db"
    with closing(SqliteLedger(path, PRINTS)) as ledger, closing(SqliteLedger(path, PRINTS)) as second:
        put(ledger, SESSION)
        before = rows(ledger)
        with pytest.raises(BackendError):
            put(second, replace(SESSION, id="ses_2"))
        assert rows(ledger) == before
        put(second, replace(SESSION, id="ses_3", scope=OTHER))
        assert [state.id for state in ledger.sessions(None)] == ["ses_3", "ses_1"]
        put(second, replace(SESSION, closed_at=moment(2)), "session.closed")
        put(second, replace(SESSION, id="ses_2"))
        named = ledger.session_named(MAIN, "talk")
        assert named is not None
        assert named.id == "ses_2"


def test_only_what_has_ended_is_settled(ledger: SqliteLedger) -> None:
    """Settling marks closed sessions and leaves open ones; unsettled are the open and the closed that no sync saw."""
    put(ledger, SESSION)
    put(ledger, replace(SESSION, id="ses_2", key="other", closed_at=moment(2)))
    assert [state.id for state in ledger.sessions(MAIN, unsettled=True)] == ["ses_2", "ses_1"]
    ledger.settle_sessions(["ses_1", "ses_2"])
    assert [state.id for state in ledger.sessions(MAIN, unsettled=True)] == ["ses_1"]
    assert problems(ledger) == []


def test_believed_knows_gaps(ledger: SqliteLedger) -> None:
    """Between its removal and its revival, and before it was made, a record was not believed; else it was."""
    alive, gone = record("rec_1"), record("rec_1", status=Status.RETIRED, retired_at=moment(4), retired_by="external")
    ledger.commit([entry(2, Change("record.created", alive)), entry(3, waits("rec_2"))])
    ledger.commit([entry(4, Change("record.retired", gone, "active"))])
    ledger.commit([entry(6, Change("record.revived", alive, "retired"))])
    ledger.commit([entry(8, Change("record.moved", replace(alive, path="memory/a.md"), "active"))])
    ledger.commit([entry(9, Change("record.superseded", replace(gone, status=Status.SUPERSEDED), "active"))])
    asked = ["rec_1", "rec_2", "rec_unknown"]
    found = {hour: bool(ledger.believed(asked, moment(hour))) for hour in range(1, 11)}
    assert [hour for hour, is_believed in found.items() if is_believed] == [2, 3, 6, 7, 8]
    assert ledger.believed(asked, moment(3)) == {"rec_1"}
    assert ledger.believed(asked, moment(2).replace("00.0", "00.9")) == {"rec_1"}


def test_who_took_a_value_out_last(ledger: SqliteLedger) -> None:
    """The latest removal counts, whoever made it; while the value is active again nobody has removed it."""
    value = PRINTS.value_key(TEXT)

    def removed_by() -> Principal | None:
        (found,) = ledger.standing(MAIN, [value], [[]])
        return found.removed_by

    old = record("rec_1", status=Status.RETIRED, retired_at=moment(2), retired_by="external")
    new = record("rec_2", status=Status.SUPERSEDED, retired_at=moment(3), retired_by="agent:main")
    ledger.commit([entry(2, Change("record.retired", old))])
    assert removed_by() == Principal("external")
    ledger.commit([entry(3, Change("record.superseded", new))])
    assert removed_by() == AGENT
    ledger.commit([entry(4, Change("record.created", record("rec_3")))])
    assert removed_by() is None


TAMPERINGS = {
    "a tombstone is lifted": ("UPDATE tombstones SET lifted_at='2026', lifted_by='operator' WHERE id='tmb_1'", "tmb_1"),
    "a tombstone is gone": ("DELETE FROM tombstones WHERE id='tmb_1'", "tmb_1"),
    "a lifted one binds again": ("UPDATE tombstones SET lifted_at='' WHERE id='tmb_2'", "tmb_2"),
    "a tombstone is made up": ("INSERT INTO tombstones VALUES('tmb_9','agent:main','v','','jobs','x','','','','','')",
                               "tmb_9"),
    "a proposal is approved": ("UPDATE proposals SET state='approved' WHERE id='prp_1'", "prp_1"),
    "a proposal is gone": ("DELETE FROM proposals WHERE id='prp_1'", "prp_1"),
    "a proposal never lapses": ("UPDATE proposals SET expires_at='9' WHERE id='prp_1'", "prp_1"),
    "a proposal was untainted": ("UPDATE proposals SET tainted=0 WHERE id='prp_1'", "prp_1"),
    "a proposal's record is gone": ("DELETE FROM proposal_records", "prp_1"),
    "a proposal has another record": ("INSERT INTO proposal_records VALUES('rec_9','prp_1')", "prp_1"),
    "taint is washed off": ("UPDATE sessions SET tainted_at='', taint_source='' WHERE id='ses_1'", "ses_1"),
    "a session is open again": ("UPDATE sessions SET closed_at='' WHERE id='ses_1'", "ses_1"),
    "a session is gone": ("DELETE FROM sessions WHERE id='ses_1'", "ses_1"),
    "a record was never quarantined": ("UPDATE records SET ever_quarantined=0 WHERE id='rec_1'", "rec_1"),
    "a record is no longer capped": ("UPDATE records SET capped=0 WHERE id='rec_1'", "rec_1"),
    "a record counts": ("UPDATE records SET status='active' WHERE id='rec_1'", "rec_1"),
    "nobody took a record out": ("UPDATE records SET retired_by='' WHERE id='rec_2'", "rec_2"),
}  # fmt: skip
"""What someone with SQL would do to get round a ruling, and the row that verify must name."""


@pytest.mark.parametrize("what", TAMPERINGS)
def test_a_ruling_changed_by_hand_is_named(ledger: SqliteLedger, what: str) -> None:
    """Each change of a row behind the ledger's back is named with its row, and nothing else is; before, nothing is."""
    gone = record("rec_2", status=Status.RETIRED, retired_at=moment(1), retired_by="external")
    stones = (stone("tmb_1"), stone("tmb_2"))
    ledger.commit(
        [entry(1, waits(), Change("record.retired", gone), tombstones=stones, proposals=(proposal("prp_1"),))]
    )
    ledger.commit([entry(2, lifted=("tmb_2",))])
    put(ledger, replace(SESSION, tainted_at=moment(1), taint_source="tool:web_fetch", closed_at=moment(2)))
    assert problems(ledger) == []
    statement, subject = TAMPERINGS[what]
    ledger._db.execute(statement)
    assert ledger._db.changes() == 1
    assert {named for _, named in problems(ledger)} == {subject}


def test_a_ruling_on_something_else_is_named(ledger: SqliteLedger) -> None:
    """A ruling that names another content than the one that waited is found by verify; one on that content is sound."""
    ledger.commit([entry(1, waits(), proposals=(proposal("prp_1"), proposal("prp_2")))])
    operator = Principal("operator")
    ruling = Decision(proposal_id="prp_1", verdict="rejected", by=operator, content_hash="hash of prp_1")
    ledger.commit([entry(2, author=operator, decision=ruling)])
    assert problems(ledger) == []
    ledger.commit([entry(3, author=operator, decision=replace(ruling, proposal_id="prp_2"))])
    assert problems(ledger) == [("proposals", "prp_2")]


def test_a_damaged_row_is_an_error_of_ours(ledger: SqliteLedger) -> None:
    """Operations that cannot be read raise the library's error and name the row, not what stands in it."""
    ledger.commit([entry(1, waits(), proposals=(proposal("prp_1"),))])
    assert ledger.proposal("prp_1") == proposal("prp_1")
    damage = {"operations": '[{"op":"private words"}]', "record_ids": "private words", "scope": "private words"}
    for column, value in damage.items():
        ledger._db.execute("SAVEPOINT damage")
        ledger._db.execute(f"UPDATE proposals SET {column}=?", (value,))  # noqa: S608 - a name from above
        with pytest.raises(MemorandaError, match="memoranda verify") as caught:
            ledger.proposal("prp_1")
        assert "private" not in str(caught.value)
        ledger._db.execute("ROLLBACK TO damage; RELEASE damage")
    assert isinstance(ledger.proposal("prp_1"), Proposal)


def test_pruning_keeps_what_waits(ledger: SqliteLedger) -> None:
    """A text that a proposal names outlives the checkpoint that shared it; one that nobody names goes."""
    offered, unnamed = "Offered and kept.", "Named by nobody."
    edits = tuple(
        FileEdit(f"memory/{number}.md", "", PRINTS.content(text), "", PRINTS.content(text), ((0, 0, text),))
        for number, text in enumerate((offered, unnamed))
    )
    waiting = proposal("prp_1", ops.Append("MEMORY.md", offered), record_ids=())
    ledger.commit([entry(1, texts={}, edits=edits, checkpoint_id="cp_1", proposals=(waiting,))])
    assert ledger.prune(MAIN, keep=0, before=moment(9), at=moment(9), author=PERSON) == 1
    assert ledger.text(PRINTS.content(offered)) == offered
    assert ledger.text(PRINTS.content(unnamed)) is None
    assert ledger.proposal("prp_1") == waiting
