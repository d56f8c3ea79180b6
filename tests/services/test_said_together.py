"""What was said is found with what was said around it: by its question, its day, its speaker; and explained."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from memoranda.memory import Memory
from tests.homes import home, texts, write

ANSWER = "Behind the shed, under the old cover."


def tell(memory: Memory) -> None:
    """A talk of two people, and another one."""
    session = memory.agent("main").session("talk")
    session.user("Good morning, how are you?", speaker="Ann")
    session.user("Where did you put the ladder?", speaker="Ann")
    session.assistant(ANSWER, speaker="Bob")
    session.user("Thanks, I will fetch it.", speaker="Ann")
    memory.agent("main").session("other").user("The weather is fine today.", speaker="Ann")


def test_an_answer_is_found_by_its_question(tmp_path: Path) -> None:
    """It holds no word of it; what another session says is not among the answers, and is found by its own words."""
    with home(tmp_path) as memory:
        tell(memory)
        agent = memory.agent("main")
        assert texts(agent, "ladder")[:2] == [ANSWER, "Where did you put the ladder?"]
        assert "The weather is fine today." not in texts(agent, "ladder")
        assert texts(agent, "weather") == ["The weather is fine today."]


def test_a_hit_says_what_spoke_for_it(tmp_path: Path) -> None:
    """Its parts have names and sum to the score."""
    with home(tmp_path) as memory:
        tell(memory)
        hit = memory.agent("main").search("When did Bob put the ladder away?", min_score=0).hits[0]
        assert hit.text == ANSWER
        parts = dict(hit.addends)
        assert parts["words"] > 0
        assert parts["said by who is named"] > 0
        assert sum(parts.values()) == pytest.approx(hit.score)


def test_what_is_erased_is_not_found_through_its_neighbours(tmp_path: Path) -> None:
    """Its words lead to nobody beside it; before, they did."""
    with home(tmp_path) as memory:
        tell(memory)
        agent = memory.agent("main")
        assert ANSWER in texts(agent, "ladder")
        line = next(path for path in (tmp_path / "log").glob("*.jsonl"))
        kept = [row for row in line.read_bytes().splitlines(keepends=True) if b"ladder" not in row]
        line.write_bytes(b"".join(kept))
        memory.sync()
        assert texts(agent, "ladder") == []
        assert texts(agent, "shed")[0] == ANSWER


def test_a_day_is_found_by_its_name(tmp_path: Path) -> None:
    """By date, by month, or counted from today; it is relevant though it holds no word of it."""
    now = datetime.now(UTC)
    then = now - timedelta(days=1)
    with home(tmp_path) as memory:
        session = memory.agent("main").session("talk")
        session.user("We painted the fence.", at="2023-05-08T12:00:00+00:00")
        session.user("Rain all over.", at=then.isoformat())
        session.user("Now it is dry.", at=now.isoformat())
        agent = memory.agent("main")

        def first(question: str) -> str:
            hits = agent.search(question).hits
            return hits[0].text if hits else ""

        assert first("What happened on 8 May 2023?") == "We painted the fence."
        assert first("Was geschah im Mai 2023?") == "We painted the fence."
        assert first("What happened on 8 May 2022?") == ""
        assert first("What did we speak of yesterday?") == "Rain all over."
        assert first("昨天说了什么") == "Rain all over."


@pytest.mark.parametrize("name", ["Pacific/Kiritimati", "Pacific/Pago_Pago"])
def test_days_are_counted_in_the_users_zone(tmp_path: Path, name: str) -> None:
    """Of two zones that never have the same date one is not that of UTC: yesterday is the user's own in both."""
    noon = datetime.now(ZoneInfo(name)).replace(hour=12, minute=0, second=0, microsecond=0)
    write(tmp_path, "USER.md", f"Time zone: {name}\n")
    with home(tmp_path) as memory:
        session = memory.agent("main").session("talk")
        for days, said in ((3, "Snow fell."), (2, "Rain all over."), (1, "Now it is dry."), (0, "The fence dries.")):
            session.user(said, at=(noon - timedelta(days=days)).isoformat())
        hits = memory.agent("main").search("What did we speak of yesterday?").hits
        assert hits[0].text == "Now it is dry."


def test_a_quoted_title_may_stand_beside_a_turn(tmp_path: Path) -> None:
    """What surrounds it is found, and other talks are not; a title that nobody has said is looked for by its words."""
    with home(tmp_path) as memory:
        agent = memory.agent("main")
        session = agent.session("books")
        session.user("I have read Blue Harbour.")
        session.assistant("Did the ending please you?")
        agent.session("sea").user("The harbour was blue with boats, I read it in the paper.")
        assert texts(agent, 'read "blue harbour"') == ["I have read Blue Harbour.", "Did the ending please you?"]
        assert texts(agent, 'read "harbour of blue"')
