"""Turns are ranked by their own words and those around them; what speaks for one beside that is an addend."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoranda.domain.scope import Scope
from memoranda.domain.spoken import Spoken, asked_of, scored
from memoranda.domain.turn_marks import FOREIGN, SHORT_QUESTION, TIME_WORD, asks_when, marks_of
from memoranda.domain.turn_table import Floats, TurnColumns, TurnEvidence, TurnTable, empty_table
from memoranda.domain.words import analyse, parse_query

SCOPE = Scope.parse("agent:main")
MAY, JUNE = date(2023, 5, 8).toordinal(), date(2023, 6, 1).toordinal()

Said = tuple[str, str, str]
"""Session, speaker, text."""


def told(*turns: Said, day: int = MAY, cosines: Sequence[float] | None = None) -> TurnEvidence:
    """What an index would know of these turns, for any question."""
    words = [analyse(text) for *_, text in turns]
    table = TurnTable.of(
        TurnColumns(
            keys=np.arange(1, len(turns) + 1, dtype=np.int64),
            sessions=[session for session, *_ in turns],
            positions=np.arange(len(turns), dtype=np.int64),
            speakers=[speaker for _, speaker, _ in turns],
            lengths=np.array([len(found.exact) for found in words], np.float64),
            marks=np.array(
                [marks_of(text, len(found.exact)) for (*_, text), found in zip(turns, words, strict=True)], np.int64
            ),
            days=np.full(len(turns), day, np.int64),
        )
    )
    terms = {term for found in words for term in found.terms}
    postings = {
        term: (
            np.array([at for at, found in enumerate(words) if term in found.terms], np.int64),
            np.array([float(found.terms.count(term)) for found in words if term in found.terms]),
        )
        for term in terms
    }
    return TurnEvidence(table, postings, None, None if cosines is None else np.array(cosines))


def ask(question: str, evidence: TurnEvidence, weight: float = 0.0) -> Spoken:
    """Ask one scope's turns."""
    words = parse_query(question)
    return scored(asked_of(question, words, [evidence]), {SCOPE: evidence}, weight)[SCOPE]


def order(total: Floats) -> list[int]:
    """The turns that are answers, best first."""
    return [int(at) for at in np.argsort(-total, kind="stable") if np.isfinite(total[at])]


def test_an_answer_has_the_words_of_its_question() -> None:
    """The turn after a short question comes first, the question after it, and another session is no neighbour."""
    evidence = told(
        ("ses_1", "Ann", "Good morning to you."), ("ses_1", "Ann", "Where did you put the ladder?"),
        ("ses_1", "Bob", "Behind the shed."), ("ses_2", "Bob", "I will think about it."),
    )  # fmt: skip
    found = ask("ladder", evidence)
    assert order(found.total) == [2, 1, 0]
    assert found.words[3] == 0


def test_a_long_turn_explains_itself() -> None:
    """It takes less from its neighbours than a short one does."""
    long = " ".join(f"word{number}" for number in range(200))
    short = told(("ses_1", "Ann", "The ladder is blue."), ("ses_1", "Bob", "Fine."))
    lengthy = told(("ses_1", "Ann", "The ladder is blue."), ("ses_1", "Bob", long))
    assert 0 < ask("ladder", lengthy).words[1] < ask("ladder", short).words[1]


@pytest.mark.parametrize(
    ("question", "addend", "row"),
    [
        ("What did Ann say of the ladder?", "said by who is named", 0),
        ("When was the ladder painted?", "tells a time", 1),
        ("ladder", "a question itself", 2),
        ("What of the ladder in May?", "of the day or month named", 0),
    ],
)
def test_what_speaks_for_a_turn_is_an_addend(question: str, addend: str, row: int) -> None:
    """Named speaker, time words, the day of the log; against it that it asks itself. Others have none of it."""
    evidence = told(
        ("ses_1", "Ann", "The ladder is blue."), ("ses_1", "Bob", "I painted the ladder yesterday."),
        ("ses_1", "Cid", "Is the ladder dry?"),
    )  # fmt: skip
    values = ask(question, evidence).addends[addend]
    assert values[row] != 0
    assert all((values[at] != 0) == (addend == "of the day or month named") for at in range(3) if at != row)
    assert not ask("paint", evidence).addends.get(addend, np.zeros(3))[0]


def test_names_of_speakers_are_no_words_of_the_question() -> None:
    """Two names mean nobody; a question of names alone is asked by them."""
    evidence = told(("ses_1", "Ann", "Ann likes ladders."), ("ses_1", "Bob", "I like saws."))
    words = parse_query("What does Ann like?")
    assert asked_of("What does Ann like?", words, [evidence]).terms == ("like",)
    assert asked_of("What do Ann and Bob like?", parse_query("What do Ann and Bob like?"), [evidence]).speaker == ""
    assert asked_of("Ann", parse_query("Ann"), [evidence]).terms == ("ann",)


def test_a_day_that_is_named_is_an_answer_without_a_word() -> None:
    """The month counts, the day counts again; another month does not."""
    at_may = ask("What happened on 8 May 2023?", told(("ses_1", "Ann", "We moved."), day=MAY))
    at_june = ask("What happened on 8 May 2023?", told(("ses_1", "Ann", "We moved."), day=JUNE))
    assert order(at_may.total) == [0]
    assert at_may.addends["of the day or month named"][0] == 1.0
    assert order(at_june.total) == []


def test_meaning_counts_with_its_neighbours() -> None:
    """A turn between two that fit fits better than one alone; without vectors words decide."""
    cosines = [0.9, 0.5, 0.9, 0.5, 0.0, 0.0]
    turns = [("ses_1", "Ann", f"word{at}") for at in range(3)] + [("ses_2", "Ann", f"other{at}") for at in range(3)]
    found = ask("zebra", told(*turns, cosines=cosines), weight=0.4)
    assert found.meaning is not None
    assert found.meaning[1] > found.meaning[3]
    assert order(ask("zebra", told(*turns), weight=0.4).total) == []


def test_a_turn_without_a_vector_counts_as_the_farthest() -> None:
    """It is found by its words still."""
    evidence = told(("ses_1", "Ann", "blue"), ("ses_2", "Ann", "ladder"), cosines=[0.8, np.nan])
    assert set(order(ask("ladder", evidence, weight=0.4).total)) == {0, 1}
    assert order(ask("blue", evidence, weight=0.4).total) == [0]


def test_no_turn_is_no_trouble() -> None:
    """An empty scope gives an empty answer, one with a turn gives that."""
    found = ask("ladder", TurnEvidence(empty_table(), {}, None, None), weight=0.4)
    assert len(found.total) == 0
    assert order(ask("ladder", told(("ses_1", "Ann", "ladder")), weight=0.4).total) == [0]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["ses_1", "ses_2"]),
            st.just("Ann"),
            st.sampled_from(["ladder", "a blue ladder", "is it?", "the shed and the ladder and the saw", "nothing"]),
        ),
        min_size=1,
        max_size=12,
    )
)
def test_sparse_neighbours_equal_the_plain_sum(turns: list[Said]) -> None:  # fmt: skip
    """The quick way gives what the definition gives, turn by turn."""
    turns = sorted(turns, key=lambda turn: turn[0])
    table = told(*turns).table
    norms = table.norms(float(table.floored.mean()))
    rows = np.array([at for at, turn in enumerate(turns) if "ladder" in turn[2]], np.int64)
    frequency = np.ones(len(rows))
    weights, touched = table.with_neighbours((rows, frequency), norms)
    plain = np.zeros(len(turns))
    for source in rows:
        for target, turn in enumerate(turns):
            distance = target - int(source)
            if turn[0] == turns[source][0] and abs(distance) <= 3:
                if distance == 0:
                    share = 1.0
                elif distance > 0:
                    share = 1.0 if distance == 1 and table.is_question[source] else (0.4, 0.3, 0.2)[distance - 1]
                else:
                    share = (0.3, 0.2, 0.1)[-distance - 1]
                plain[target] += share / norms[source]
    assert sorted(set(touched.tolist())) == list(np.flatnonzero(plain))
    assert weights == pytest.approx(plain)
    scores = table.words([(2.0, (rows, frequency))], norms)
    assert scores == pytest.approx(2.0 * 2.2 * plain / (plain + 1.2))


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        ("Where is it?", SHORT_QUESTION), ("Where is it? [shared image: a map]", SHORT_QUESTION),
        ("It was yesterday.", TIME_WORD), ("It is here.", 0), ("\u5728\u54ea\u91cc\uff1f", SHORT_QUESTION | FOREIGN),
        ("In May or June?", SHORT_QUESTION | TIME_WORD), ("word " * 31 + "?", 0),
    ],
)  # fmt: skip
def test_marks_of_a_turn(text: str, marks: int) -> None:
    """Short questions and words of time, in any place of the text."""
    assert marks_of(text, len(analyse(text).exact)) == marks


def test_what_asks_for_a_time() -> None:
    """Questions of time in several languages; a time that is told is none."""
    assert asks_when("When did she leave?")
    assert asks_when("How long was it?")
    assert not asks_when("Who left when it rained?")
    assert asks_when("Wann kam sie?")
    assert asks_when("\u00bfCu\u00e1ndo lleg\u00f3?")
    assert asks_when("\u3044\u3064\u6765\u307e\u3057\u305f\u304b")
