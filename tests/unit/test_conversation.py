"""The conversation of a session: what is followed, where it is cut, and what a checkpoint brings back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoranda.domain.conversation import Conversation, Message, checkpoint_of, cut, read_checkpoint
from memoranda.domain.episode import Episode, EpisodeKind, Role

SESSION = "ses_one"
AT = "2026-11-30T10:00:00.000000+00:00"


def episode(position: int, kind: EpisodeKind = EpisodeKind.TURN, role: Role = "user", **named: Any) -> Episode:
    """An episode of the session at a position, its text the position unless it is given."""
    fields = {"text": f"text {position}", **named}
    return Episode(
        id=f"epi_{position}", at=AT, session=SESSION, key="k", position=position, kind=kind, role=role,
        author="agent:main", **fields,
    )  # fmt: skip


def call(position: int, ident: str) -> Episode:
    """A tool's call."""
    return episode(position, EpisodeKind.TOOL_CALL, "assistant", tool="ls", call=ident)


def result(position: int, ident: str) -> Episode:
    """A tool's result."""
    return episode(position, EpisodeKind.TOOL_RESULT, "tool", tool="ls", call=ident)


def followed(*episodes: Episode, limit: int = 100) -> Conversation:
    """A conversation that took these episodes in."""
    conversation = Conversation(session=SESSION)
    for item in episodes:
        conversation.follow(item, limit)
    return conversation


def positions(conversation: Conversation) -> list[int]:
    """Where the messages that are left were said."""
    return [message.position for message in conversation.messages]


def test_an_episode_becomes_a_message_with_all_that_a_model_needs() -> None:
    """Role, text, speaker, tool and the id of the call are those of the episode."""
    conversation = followed(episode(1, speaker="Ann"), call(2, "c1"), result(3, "c1"))
    assert conversation.messages == [
        Message(role="user", text="text 1", id="epi_1", speaker="Ann", position=1, at=AT),
        Message(role="assistant", text="text 2", id="epi_2", kind="tool_call", tool="ls", call="c1", position=2, at=AT),
        Message(role="tool", text="text 3", id="epi_3", kind="tool_result", tool="ls", call="c1", position=3, at=AT),
    ]


def test_what_is_not_said_is_no_message_and_counts_as_a_position() -> None:
    """Decisions, notes, errors and heartbeats move the position alone; system text is a message."""
    silent = (EpisodeKind.DECISION, EpisodeKind.NOTE, EpisodeKind.ERROR, EpisodeKind.HEARTBEAT)
    conversation = followed(*(episode(number, kind, "system") for number, kind in enumerate(silent, 1)))
    assert (conversation.messages, conversation.position) == ([], 4)
    conversation.follow(episode(5, EpisodeKind.SYSTEM, "system"), 100)
    assert positions(conversation) == [5]


def test_an_episode_is_followed_once() -> None:
    """The same position again, or an older one, changes nothing; the next one counts."""
    conversation = followed(episode(1), episode(2), episode(2, text="again"), episode(1))
    assert positions(conversation) == [1, 2]
    conversation.follow(episode(3), 100)
    assert positions(conversation) == [1, 2, 3]


def test_at_most_so_many_messages_stay() -> None:
    """The oldest go first, a quarter at once, so that a host's prompt begins alike for many turns."""
    for limit in (2, 3, 10, 40):
        conversation, beginnings = followed(episode(1), limit=limit), set()
        for number in range(2, 2 + 3 * limit):
            conversation.follow(episode(number), limit)
            found = positions(conversation)
            assert found == list(range(found[0], number + 1))
            assert min(number, limit - limit // 4) <= len(found) <= limit
            beginnings.add(found[0])
        assert len(beginnings) <= 3 * limit // max(1, limit // 4)


def test_a_compaction_puts_its_summary_first_and_it_stays() -> None:
    """What it kept follows the summary; the limit takes messages and never the summary; a newer one replaces it."""
    compaction = episode(6, EpisodeKind.COMPACTION, "system", text="so far", kept_from=4)
    conversation = followed(*(episode(number) for number in range(1, 6)), compaction)
    assert [(item.kind, item.text) for item in conversation.messages] == [
        ("summary", "so far"), ("turn", "text 4"), ("turn", "text 5"),
    ]  # fmt: skip
    assert conversation.epoch == 1
    for number in range(7, 20):
        conversation.follow(episode(number), 4)
    assert positions(conversation) == [6, 17, 18, 19]
    conversation.follow(episode(20, EpisodeKind.COMPACTION, "system", text="anew", kept_from=19), 4)
    assert [item.text for item in conversation.messages] == ["anew", "text 19"]
    assert conversation.epoch == 2


@pytest.mark.parametrize(("at", "expected"), [(0, 0), (1, 1), (2, 3), (3, 3), (4, 4)])
def test_a_cut_moves_behind_a_pair(at: int, expected: int) -> None:
    """Turn, call, result, turn: only the place between call and result is moved."""
    messages = followed(episode(1), call(2, "a"), result(3, "a"), episode(4)).messages
    assert cut(messages, at) == expected


def test_a_cut_moves_behind_pairs_that_cross() -> None:
    """Two calls answered in the same or in turned order are one block; at the end it is left whole."""
    for answers in (("a", "b"), ("b", "a")):
        block = (call(2, "a"), call(3, "b"), result(4, answers[0]), result(5, answers[1]))
        messages = followed(episode(1), *block, episode(6)).messages
        assert [cut(messages, at) for at in range(7)] == [0, 1, 5, 5, 5, 5, 6]
        open_end = followed(episode(1), *block).messages
        assert [cut(open_end, at) for at in (1, 2, 3, 4)] == [1, 1, 1, 1]


def test_an_answer_without_its_call_parts_nothing() -> None:
    """A result whose call is gone, and a call that waits, may stand alone."""
    messages = followed(result(1, "gone"), call(2, "waits"), episode(3)).messages
    assert [cut(messages, at) for at in range(4)] == [0, 1, 2, 3]


@st.composite
def talks(draw: st.DrawFn) -> list[Episode]:
    """Turns with calls whose answers come later, in any order."""
    made: list[Episode] = []
    waiting: list[str] = []
    for position in range(1, draw(st.integers(1, 40)) + 1):
        what = draw(st.sampled_from(("turn", "call", "result" if waiting else "turn")))
        if what == "call":
            waiting.append(f"c{position}")
            made.append(call(position, waiting[-1]))
        elif what == "result":
            made.append(result(position, waiting.pop(draw(st.integers(0, len(waiting) - 1)))))
        else:
            made.append(episode(position))
    return made


@given(talks(), st.integers(0, 40))
def test_no_cut_parts_a_pair(said: list[Episode], at: int) -> None:
    """Wherever it is asked for, a cut has both of a call and its result on one side, and it never lies outside."""
    messages = followed(*said).messages
    place = cut(messages, min(at, len(messages)))
    assert 0 <= place <= len(messages)
    before, after = ({item.call for item in part if item.call} for part in (messages[:place], messages[place:]))
    assert not before & after


@st.composite
def orderly_talks(draw: st.DrawFn) -> list[Episode]:
    """Turns, and one or two calls that are answered at once, in any order."""
    made: list[Episode] = []
    for number in range(draw(st.integers(1, 20))):
        calls = [f"c{number}.{index}" for index in range(draw(st.integers(0, 2)))]
        made += [call(len(made) + index, ident) for index, ident in enumerate(calls, 1)]
        made += [result(len(made) + index, ident) for index, ident in enumerate(draw(st.permutations(calls)), 1)]
        made += [] if calls else [episode(len(made) + 1)]
    return made


@given(orderly_talks(), st.integers(4, 12))
def test_no_answer_is_left_without_its_call(said: list[Episode], limit: int) -> None:
    """Where a block of calls fits the limit, each result that is left has its call, and the newest message stays."""
    conversation = Conversation(session=SESSION)
    for item in said:
        conversation.follow(item, limit)
        calls = [message.call for message in conversation.messages if message.kind == "tool_call"]
        answers = [message.call for message in conversation.messages if message.kind == "tool_result"]
        assert set(answers) <= set(calls)
        assert conversation.messages[-1].position == item.position


@given(talks(), st.integers(2, 12))
def test_a_checkpoint_brings_back_the_same(said: list[Episode], limit: int) -> None:
    """Messages, position, epoch and what was read of which file are as they were."""
    conversation = followed(*said, limit=limit)
    conversation.epoch, conversation.seen = 3, {"log/2026-11-30.jsonl": 1234}
    assert read_checkpoint(checkpoint_of(conversation), SESSION) == conversation


@pytest.mark.parametrize("text", ["Ünï çödé 日本語 😀", 'quotes " and \\', "line\nbreak\r\u2028x", "\x00\x1f", ""])
def test_a_checkpoint_keeps_any_text(text: str) -> None:
    """Every character comes back."""
    conversation = followed(episode(1, text=text))
    found = read_checkpoint(checkpoint_of(conversation), SESSION)
    assert found is not None
    assert found.messages[0].text == text


WHOLE = json.loads(checkpoint_of(followed(episode(1))))


@pytest.mark.parametrize(
    "change",
    [
        {"format": 2},
        {"format": None},
        {"session": "ses_other"},
        {"messages": 5},
        {"messages": ["text"]},
        {"messages": [{"role": "user"}]},
        {"messages": [{"role": "robot", "text": "x"}]},
        {"messages": [{"role": "user", "text": "x", "colour": "red"}]},
        {"position": "1"},
        {"position": None},
        {"epoch": [1]},
        {"seen": {"log/a.jsonl": "x"}},
        {"unknown": 1},
    ],
)
def test_a_checkpoint_of_another_kind_is_none(change: dict[str, object]) -> None:
    """Another format or session, a wrong type, a strange field: it is not used; unchanged it is."""
    assert read_checkpoint(json.dumps({**WHOLE, **change}).encode(), SESSION) is None
    assert read_checkpoint(json.dumps(WHOLE).encode(), SESSION) == followed(episode(1))


@pytest.mark.parametrize("data", [b"", b"null", b"[]", b"5", b"{}", b"\xff\xfe", b"[" * 100_000, b'"text"'])
def test_what_is_no_checkpoint_is_none(data: bytes) -> None:
    """Nothing that stands in a file raises."""
    assert read_checkpoint(data, SESSION) is None


def test_a_checkpoint_that_was_cut_is_none() -> None:
    """At whatever byte it ends too early; whole it is read."""
    data = checkpoint_of(followed(episode(1), call(2, "a"), result(3, "a")))
    assert all(read_checkpoint(data[:end], SESSION) is None for end in range(len(data)))
    assert read_checkpoint(data, SESSION) is not None


@pytest.mark.parametrize("ident", ["c1", ""])
def test_the_result_of_a_call_that_went_is_no_message(ident: str) -> None:
    """It comes after its call was cut; the result of a later call under the same name is one."""
    turns = [episode(position) for position in range(2, 14)]
    conversation = followed(call(1, ident), *turns, result(14, ident), limit=8)
    assert [message.kind for message in conversation.messages] == ["turn"] * len(conversation.messages)
    assert conversation.position == 14
    back = read_checkpoint(checkpoint_of(conversation), SESSION)
    assert back == conversation
    for item in (call(15, ident), result(16, ident)):
        conversation.follow(item, 8)
    assert positions(conversation)[-2:] == [15, 16]


def test_what_the_user_asked_stays_though_its_calls_are_too_many() -> None:
    """Calls at the same time and their results are one piece; the question before them is not lost with them."""
    calls = [call(position, f"c{position}") for position in range(2, 22)]
    results = [result(position + 20, f"c{position}") for position in range(2, 22)]
    done = episode(42, role="assistant")
    conversation = followed(episode(1), *calls, *results, done, limit=10)
    assert positions(conversation) == [1, 42]


def test_a_line_that_is_there_twice_counts_once_and_one_of_the_same_position_is_not_lost() -> None:
    """A line can be copied; a line that could not be read for a while can have left its place to another."""
    other = Episode(
        id="epi_other", at=AT, session=SESSION, key="k", position=2, kind=EpisodeKind.TURN, role="user",
        author="agent:main", text="other",
    )  # fmt: skip
    conversation = followed(episode(1), episode(2), other, episode(1), episode(2), episode(3))
    assert [message.id for message in conversation.messages] == ["epi_1", "epi_2", "epi_other", "epi_3"]
