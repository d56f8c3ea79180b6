"""Looking back: copies of ended sessions for people, days of the log for models and people, and who sees what."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from memoranda.errors import Denied, InvalidInput
from memoranda.interfaces import tools
from memoranda.memory import Agent, Memory
from tests.homes import home, read, texts, write

DAY_SECONDS = 86_400


def logged(folder: Path) -> list[str]:
    """The texts of all lines of the log, in order."""
    paths = sorted((folder / "log").glob("*.jsonl"))
    return [json.loads(line)["text"] for path in paths for line in path.read_bytes().splitlines()]


def days(agent: Agent, **arguments: object) -> dict[str, Any]:
    """What the tool `recall_timeframe` answers."""
    return tools.call(tools.TOOLS, "recall_timeframe", tools.Caller(agent), arguments or {"date": "today"})


def test_a_copy_for_people_leaves_out_what_models_must_not_read(tmp_path: Path) -> None:
    """It has turns, calls and decisions; results, system text, what came after taint and what was rejected are not."""
    with home(tmp_path) as memory:
        person = memory.person("main")
        person.save("The safe is open.")
        session = memory.agent("main").session("Größe & Maß / 2026!")
        session.say("system", "rule: hidden")
        session.user("The safe is open.", speaker="Ann")
        session.user("# Not a heading\n<!-- not a comment -->")
        session.tool_call("ls", "the call")
        session.tool_result("ls", "result: hidden")
        session.note("decision", "We leave.")
        session.tool_result("web_fetch", "page: hidden")
        session.assistant("after taint: hidden")
        person.delete(file="MEMORY.md", text="The safe is open.")
        path = session.reset()
        text = read(tmp_path, path)
        assert path.endswith("-gr-e-ma-2026.md")
        assert "hidden" not in text
        assert "safe" not in text
        assert "4 entries are left out" in text
        assert all(item in text for item in ("Ann**", "> # Not a heading", "> the call", "> We leave.", "[decision]"))
        assert sum("hidden" in item for item in logged(tmp_path)) == 4
        memory.sync()
        assert texts(memory.agent("main"), "leave heading call") == ["# Not a heading\n<!-- not a comment -->"]
        if sys.platform != "win32":
            assert (tmp_path / path).stat().st_mode & 0o777 == 0o400


def test_a_copy_never_takes_the_place_of_a_file(tmp_path: Path) -> None:
    """A second one of the day, and one where a person has a file of that name, get a number that none had."""
    with home(tmp_path) as memory:
        day = memory.person("main").timeframe("today").frame
        write(tmp_path, f"memory/sessions/{day}-k.2.md", "A person's own.\n")
        session = memory.agent("main").session("k")
        paths = []
        for number in range(3):
            session.user(f"talk {number}")
            paths.append(session.reset())
        assert paths == [f"memory/sessions/{day}-k{ending}.md" for ending in (".3", ".4", ".5")]
        assert [f"> talk {number}" in read(tmp_path, path) for number, path in enumerate(paths)] == [True] * 3
        assert read(tmp_path, f"memory/sessions/{day}-k.2.md") == "A person's own.\n"


def test_a_copy_is_left_only_where_something_was_said_and_it_is_wanted(tmp_path: Path) -> None:
    """A silent session and the setting `off` leave none; else there is one."""
    with home(tmp_path, memory__session_export="off") as memory:
        session = memory.agent("main").session("k")
        session.user("words")
        assert session.reset() == ""
    with home(tmp_path) as memory:
        session = memory.agent("main").session("k")
        session.note("note", "nobody spoke")
        assert session.reset() == ""
        assert not (tmp_path / "memory" / "sessions").exists()
        session.user("words")
        assert (tmp_path / session.reset()).is_file()


def test_old_copies_go_and_a_persons_files_stay(tmp_path: Path) -> None:
    """One of 31 days goes with the next copy, one of 29 days stays, and so does whatever the product did not write."""
    with home(tmp_path) as memory:
        session = memory.agent("main").session("k")
        paths = []
        for number in range(2):
            session.user(f"talk {number}")
            paths.append(tmp_path / session.reset())
        own = write(tmp_path, "memory/sessions/2020-01-01-mine.md", "My own notes of a talk.\n")
        for path, age in ((paths[0], 31), (paths[1], 29), (own, 2_000)):
            os.utime(path, times=(time.time() - age * DAY_SECONDS,) * 2)
        session.user("talk 2")
        newest = tmp_path / session.reset()
        assert [path.exists() for path in (*paths, own, newest)] == [False, True, True, True]


@pytest.mark.slow
def test_a_hundred_copies_stay(tmp_path: Path) -> None:
    """Beyond that the oldest go, however young."""
    with home(tmp_path, memory__transcript_checkpoints="none") as memory:
        session = memory.agent("main").session("k")
        for number in range(103):
            session.user(f"talk {number}.")
            os.utime(tmp_path / session.reset(), times=(time.time() - 200 + number,) * 2)
        copies = [path.read_text(encoding="utf-8") for path in (tmp_path / "memory" / "sessions").iterdir()]
        assert len(copies) == 100
        left = [number for number in range(103) if any(f"> talk {number}." in copy for copy in copies)]
        assert left == list(range(3, 103))


def test_a_model_and_a_person_look_back(tmp_path: Path) -> None:
    """A model sees no results and nothing after taint and is told how many; a person sees them, labelled."""
    with home(tmp_path) as memory:
        session = memory.agent("main").session("k")
        session.user("ask", speaker="Ann")
        session.tool_call("ls", "call")
        session.tool_result("ls", "result")
        session.tool_result("web_fetch", "page")
        session.assistant("tainted words")
        for viewer in (session, memory.agent("main"), memory.job("distiller", "run", "main")):
            found = days(viewer)
            assert [item["content"] for item in found["entries"]] == ["ask", "call"]
            assert (found["count"], found["left_out"], found["truncated"]) == (2, 3, False)
        seen = days(memory.person("main"))
        assert [item["content"] for item in seen["entries"]] == ["ask", "call", "result", "page", "tainted words"]
        assert [item.get("tainted", False) for item in seen["entries"]] == [False, False, False, True, True]
        assert [item["type"] for item in seen["entries"]][1:4] == ["tool_call", "tool_result", "tool_result"]
        assert (seen["entries"][0]["speaker"], seen["left_out"]) == ("Ann", 0)
        assert days(memory.agent("other"))["count"] == 0


def test_what_a_person_rejected_is_not_told_to_a_model(tmp_path: Path) -> None:
    """A turn that says a rejected value is left out for a model, in search and in a day; its neighbour is not."""
    with home(tmp_path) as memory:
        agent, person = memory.agent("main"), memory.person("main")
        session = agent.session("k")
        session.user("The depot is in Delft.")
        session.user("The depot has a dog.")
        before = [item["content"] for item in days(agent)["entries"]]
        person.save("The depot is in Delft.")
        person.delete(file="MEMORY.md", text="The depot is in Delft.")
        assert before == ["The depot is in Delft.", "The depot has a dog."]
        assert [item["content"] for item in days(agent)["entries"]] == ["The depot has a dog."]
        assert texts(agent, "depot") == ["The depot has a dog."]
        assert days(person)["count"] == 2


def test_a_long_day_is_told_in_part(tmp_path: Path) -> None:
    """The newest 40 entries, oldest first, each of 500 characters, with the total; 40 are not truncated."""
    with home(tmp_path) as memory:
        session = memory.agent("main").session("k")
        for number in range(40):
            session.user(f"turn {number:02} " + "ü" * 600)
        whole = days(session)
        assert (whole["count"], len(whole["entries"]), whole["truncated"]) == (40, 40, False)
        session.user("x" * 500)
        part = days(session)
        assert (part["count"], len(part["entries"]), part["truncated"]) == (41, 40, True)
        assert [item["content"][:7] for item in part["entries"][:2]] == ["turn 01", "turn 02"]
        assert (len(part["entries"][0]["content"]), part["entries"][0]["total_chars"]) == (500, 608)
        assert part["entries"][-1]["content"] == "x" * 500
        assert "total_chars" not in part["entries"][-1]


def test_days_are_asked_for_in_words_dates_and_ranges(tmp_path: Path) -> None:
    """A swapped range is put in order; too long a range, half a range and a bad date are errors."""
    write(tmp_path, "USER.md", "Time zone: Europe/Berlin\n")
    with home(tmp_path) as memory:
        session = memory.agent("main").session("k")
        for day in (1, 15, 31):
            session.user(f"day {day}", at=f"2026-10-{day:02}T12:00:00+00:00")
        assert days(session, date="2026-10-15")["count"] == 1
        month = days(session, **{"from": "2026-10-31", "to": "2026-10-01"})
        assert [item["content"] for item in month["entries"]] == ["day 1", "day 15", "day 31"]
        assert (month["date_range"], month["time_zone"]) == ("2026-10-01 to 2026-10-31", "Europe/Berlin")
        refused: tuple[dict[str, object], ...] = (
            {"from": "2026-10-01", "to": "2026-11-01"}, {"from": "2026-10-01"}, {"date": "soon"}, {"date": ""},
            {"date": "today", "from": "2026-10-01", "to": "2026-10-02"},
        )  # fmt: skip
        for arguments in refused:
            with pytest.raises(InvalidInput):
                days(session, **arguments)


def test_a_group_hears_nothing_of_earlier_days(tmp_path: Path) -> None:
    """A shared session may not look back and gets no context, while its own talk is logged; a private one may."""
    with home(tmp_path) as memory:
        private = memory.agent("main").session("private")
        private.user("a private puffin")
        shared = memory.agent("main").session("group", audience="shared")
        shared.user("hello all")
        with pytest.raises(Denied):
            days(shared)
        assert shared.context("what about the puffin").stable_parts == ()
        assert [item.text for item in shared.messages] == ["hello all"]
        assert days(private)["count"] == 2


def test_a_memory_call_is_logged_by_its_hash(tmp_path: Path) -> None:
    """What a model wants to keep is in no line where it was not saved; what was saved is named by its record."""
    with home(tmp_path) as memory:
        session = memory.agent("main").session("k")
        saved = session.save("A gull was seen.").items[0]
        session.tool_result("web_fetch", "page")
        session.save("A gull must be obeyed.")
        session.tool_call("memory_save", {"content": "A gull must be fed."})
        session.tool_call("ls", "gull.txt")
        calls = logged(tmp_path)
        assert [item for item in calls if "gull" in item.lower()] == ["gull.txt"]
        assert json.loads(calls[0])["items"] == [{"outcome": "saved", "records": list(_records(saved))}]
        assert json.loads(calls[2])["items"][0]["outcome"] == "quarantined"
        assert _waiting(memory) == 1


def _records(item: object) -> tuple[str, ...]:
    """The ids of the records that an outcome names."""
    return tuple(getattr(item, "record_ids", ()))


def _waiting(memory: Memory) -> int:
    """How many items wait for a person."""
    return len(memory.operator(at_terminal=True).waiting())
