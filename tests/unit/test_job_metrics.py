"""Scores of what models made of the cases, against values reckoned by hand."""

from __future__ import annotations

from importlib import resources

import pytest

from memoranda.domain.job_cases import (
    Candidate,
    CaseTurn,
    ContradictionCase,
    ExtractCase,
    ForgetCase,
    JobCase,
    Kind,
    read_cases,
    spellings,
)
from memoranda.domain.job_metrics import TOTAL, JobResult, JobScore, is_good, scored, table
from memoranda.errors import InvalidInput

CASES = read_cases(resources.files("memoranda.testing").joinpath("job_cases.json").read_bytes())


def conversation(name: str, kind: Kind, keep: tuple[tuple[str, ...], ...], never: tuple[str, ...] = ()) -> ExtractCase:
    """Make a conversation of one turn."""
    return ExtractCase(
        id=name, kind=kind, language="en", turns=(CaseTurn("user", "…"),), known=(), keep=keep, never=never
    )


FACTS = conversation("keep-en-01", "keep", (("lisbon",), ("clara", "peanut")), ("oak",))
CHAT = conversation("ignore-en-01", "ignore", ())
PAIR = ContradictionCase(id="contradiction-en-01", language="en", one="a", other="b", label="update")
OTHER_PAIR = ContradictionCase(id="contradiction-en-02", language="en", one="a", other="c", label="same")
WISH = ForgetCase(
    id="forget-en-01", language="en", request="…", chosen=("rec_a", "rec_b"),
    candidates=tuple(Candidate(f"rec_{letter}", letter) for letter in "abcd"),
)  # fmt: skip
UNSURE = ForgetCase(id="forget-en-02", language="en", request="…", chosen=(), candidates=(Candidate("rec_a", "a"),))


def perfect(case: JobCase) -> JobResult:
    """Return the right answer to a case."""
    if isinstance(case, ExtractCase):
        return JobResult(
            case=case.id, notes=tuple(" ".join(spellings(word)[0] for word in group) for group in case.keep)
        )
    if isinstance(case, ContradictionCase):
        return JobResult(case=case.id, label=case.label)
    return JobResult(case=case.id, chosen=case.chosen)


def one(case: JobCase, result: JobResult) -> JobScore:
    """Return the score of one case; that of its kind and the total say the same."""
    by_kind, total = scored([case], [result])
    assert (by_kind.kind, total.kind) == (case.kind, TOTAL)
    assert (by_kind.precision, by_kind.recall, by_kind.right) == (total.precision, total.recall, total.right)
    return by_kind


def test_notes_reckoned_by_hand() -> None:
    """Of four notes one is right, one has half a group, one a word of `never`, one nothing; of two facts one is found.

    Precision 1/4, recall 1/2, F1 2 · 1/4 · 1/2 / (3/4) = 1/3.
    """
    notes = ("The user lives in Lisbon.", "Clara visits.", "Clara has a peanut allergy and an oak table.", "It rains.")
    score = one(FACTS, JobResult(case=FACTS.id, notes=notes, tokens=120, cost=0.5))
    assert (score.given, score.good, score.wanted, score.found) == (4, 1, 2, 1)
    assert (score.precision, score.recall, score.f1) == pytest.approx((0.25, 0.5, 1 / 3))
    assert (score.false_memories, score.right, score.tokens, score.cost) == (3, 0, 120, 0.5)


def test_one_note_may_hold_several_facts() -> None:
    """All groups in one note are all found, and a fact that is written twice is not two finds."""
    both = JobResult(case=FACTS.id, notes=("Lives in LISBON; sister Clara is allergic to peanuts.",))
    assert (one(FACTS, both).precision, one(FACTS, both).recall, one(FACTS, both).right) == (1.0, 1.0, 1)
    twice = one(FACTS, JobResult(case=FACTS.id, notes=("Lisbon", "Lisbon again")))
    assert (twice.precision, twice.recall, twice.found) == (1.0, 0.5, 1)
    assert [is_good(FACTS, note) for note in ("Lisbon", "Lisbon, oak", "Clara", "")] == [True, False, False, False]


def test_labels_reckoned_by_hand() -> None:
    """Of two pairs one has the right label and one has none: precision 1, recall 1/2; a wrong label is in both."""
    right = JobResult(case=PAIR.id, label="update")
    unanswered, _ = scored([PAIR, OTHER_PAIR], [right, JobResult(case=OTHER_PAIR.id)])
    assert (unanswered.precision, unanswered.recall, unanswered.right) == (1.0, 0.5, 1)
    wrong, _ = scored([PAIR, OTHER_PAIR], [right, JobResult(case=OTHER_PAIR.id, label="contradiction")])
    assert (wrong.precision, wrong.recall, wrong.f1, wrong.false_memories) == (0.5, 0.5, 0.5, 0)


def test_ids_reckoned_by_hand() -> None:
    """One of two ids that are meant, and two that are not: precision 1/3, recall 1/2; an id named twice is one."""
    score = one(WISH, JobResult(case=WISH.id, chosen=("rec_a", "rec_a", "rec_c", "rec_d")))
    assert (score.precision, score.recall, score.f1) == pytest.approx((1 / 3, 1 / 2, 0.4))
    assert one(UNSURE, JobResult(case=UNSURE.id)).right == 1
    rash = one(UNSURE, JobResult(case=UNSURE.id, chosen=("rec_a",)))
    assert (rash.precision, rash.recall, rash.f1, rash.right) == (0.0, 1.0, 0.0, 0)


def test_a_perfect_answer_is_one_in_everything() -> None:
    """The right answers to all shipped cases score 1 in every kind, without a false memory."""
    scores = scored(CASES, [perfect(case) for case in CASES])
    assert len(scores) == 9
    assert {(row.precision, row.recall, row.f1, row.false_memories) for row in scores} == {(1.0, 1.0, 1.0, 0)}
    assert all(row.right == row.cases > 0 for row in scores)
    assert scores[-1].cases == len(CASES) == sum(row.cases for row in scores[:-1])


def test_an_empty_answer_finds_nothing_and_says_nothing_false() -> None:
    """Where something was wanted its recall and F1 are 0 and its precision is 1; where nothing was, it is perfect."""
    scores = {row.kind: row for row in scored(CASES, [JobResult(case=case.id) for case in CASES])}
    wanting: tuple[Kind, ...] = ("keep", "update", "contradiction", "forget")
    for kind in wanting:
        row = scores[kind]
        assert (row.precision, row.recall, row.f1) == (1.0, 0.0, 0.0), kind
    quiet: tuple[Kind, ...] = ("ignore", "duplicate", "noise")
    for kind in quiet:
        assert (scores[kind].f1, scores[kind].right) == (1.0, scores[kind].cases), kind
    assert scores[TOTAL].false_memories == 0


def test_nonsense_gives_false_memories() -> None:
    """Notes of nothing that was said are false everywhere, wrong labels and unknown ids are right nowhere."""
    nonsense = [JobResult(case=case.id, notes=("qwx", "zzz"), label="maybe", chosen=("rec_zz",)) for case in CASES]
    scores = scored(CASES, nonsense)
    conversations = sum(isinstance(case, ExtractCase) for case in CASES)
    assert scores[-1].false_memories == 2 * conversations > 200
    assert (scores[-1].good, scores[-1].found, scores[-1].right, scores[-1].f1) == (0, 0, 0, 0.0)


def test_all_that_was_said_as_a_note_is_no_way_to_score() -> None:
    """Whoever writes down whole conversations finds the facts, but is right about few kinds of cases."""
    cases = [case for case in CASES if isinstance(case, ExtractCase)]
    said = [JobResult(case=case.id, notes=("\n".join(turn.text for turn in case.turns),)) for case in cases]
    scores = {row.kind: row for row in scored(cases, said)}
    assert scores["ignore"].false_memories == scores["ignore"].cases
    assert scores["injection"].false_memories == scores["injection"].cases
    assert scores["update"].good > 0
    assert scores[TOTAL].precision < 0.3


def test_a_failure_counts_as_nothing_said_and_is_never_right() -> None:
    """What a failed case says is not read, what it took is counted, and quiet is no excuse where it was wanted."""
    score = one(FACTS, JobResult(case=FACTS.id, notes=("Lisbon",), failed=True, tokens=7, cost=0.1))
    assert (score.given, score.wanted, score.recall, score.failures, score.tokens) == (0, 2, 0.0, 1, 7)
    quiet = one(CHAT, JobResult(case=CHAT.id, failed=True))
    assert (quiet.f1, quiet.failures, quiet.right) == (1.0, 1, 0)
    assert one(CHAT, JobResult(case=CHAT.id)).right == 1


def test_the_total_is_summed_before_it_is_divided() -> None:
    """Kinds come in their order with the total last; its counts, tokens and cost are sums."""
    cases: list[JobCase] = [PAIR, FACTS, WISH, CHAT]
    results = [
        JobResult(case=WISH.id, chosen=("rec_a",), tokens=1, cost=0.25),
        JobResult(case=FACTS.id, notes=("Lisbon", "rain"), tokens=20, cost=0.5),
        JobResult(case=CHAT.id, failed=True, tokens=300),
        JobResult(case=PAIR.id, label="update", tokens=4_000, cost=1.0),
    ]
    scores = scored(cases, results)
    assert [row.kind for row in scores] == ["keep", "ignore", "contradiction", "forget", "total"]
    total = scores[-1]
    assert (total.good, total.given, total.found, total.wanted) == (3, 4, 3, 5)
    assert (total.precision, total.recall, total.f1) == pytest.approx((0.75, 0.6, 2 / 3))
    assert (total.cases, total.right, total.failures, total.tokens, total.cost) == (4, 1, 1, 4_321, 1.75)
    assert table(scores)[0].startswith("| kind | cases | right | precision | recall | F1 | false memories |")
    assert table(scores)[-1] == "| total | 4 | 1 | 0.750 | 0.600 | 0.667 | 1 | 1 | 4,321 | 1.7500 |"
    assert len({line.count("|") for line in table(scores)}) == 1
    assert len(table(scores)) == 7


def test_results_and_cases_belong_together() -> None:
    """A case without a result, one with two, and a result of no case are refused; no cases at all score as empty."""
    fine = JobResult(case=PAIR.id, label="update")
    assert len(scored([PAIR], [fine])) == 2
    unknown = JobResult(case="keep-en-99")
    wrong: list[list[JobResult]] = [[], [fine, fine], [fine, unknown], [unknown]]
    for results in wrong:
        with pytest.raises(InvalidInput, match="one result for each case"):
            scored([PAIR], results)
    (nothing,) = scored([], [])
    assert (nothing.cases, nothing.precision, nothing.recall) == (0, 1.0, 1.0)
