"""The labelled cases for jobs: enough of each kind, no two alike, labels that texts bear out, and a strict reader."""

from __future__ import annotations

import json
from collections import Counter
from importlib import resources
from typing import Any

import pytest

from memoranda.domain.job_cases import (
    KINDS,
    ContradictionCase,
    ExtractCase,
    ForgetCase,
    JobCase,
    Kind,
    holds,
    read_cases,
    spellings,
)
from memoranda.errors import InvalidInput

DATA = resources.files("memoranda.testing").joinpath("job_cases.json").read_bytes()
CASES = read_cases(DATA)
CONVERSATIONS = [case for case in CASES if isinstance(case, ExtractCase)]
LEAST: dict[Kind, int] = {
    "keep": 30, "ignore": 18, "duplicate": 12, "update": 14, "injection": 16, "noise": 8, "contradiction": 24,
    "forget": 18,
}  # fmt: skip


def said(case: ExtractCase) -> str:
    """Return all that is said in a conversation."""
    return "\n".join(turn.text for turn in case.turns)


def matter(case: JobCase) -> tuple[str, ...]:
    """Return the texts that a case is about."""
    if isinstance(case, ExtractCase):
        return tuple(turn.text for turn in case.turns)
    return (case.one, case.other) if isinstance(case, ContradictionCase) else (case.request,)


def test_there_are_enough_of_every_kind_and_language() -> None:
    """Every kind has its number of cases in all, and some in each language; each language has its number."""
    kinds = Counter(case.kind for case in CASES)
    assert set(kinds) == set(LEAST) == set(KINDS)
    assert [kind for kind, least in LEAST.items() if kinds[kind] < least] == []
    assert len(CASES) >= 132
    languages = Counter(case.language for case in CASES)
    assert languages["en"] >= 50
    assert all(languages[language] >= 25 for language in ("de", "zh", "es"))
    both = Counter((case.kind, case.language) for case in CASES)
    assert all(both[kind, language] >= 2 for kind in kinds for language in languages)


def test_every_answer_is_asked_for() -> None:
    """Each label stands for several pairs, and requests mean one record, several, and none that is sure."""
    labels = Counter(case.label for case in CASES if isinstance(case, ContradictionCase))
    assert len(labels) == 4
    assert min(labels.values()) >= 5
    chosen = [len(case.chosen) for case in CASES if isinstance(case, ForgetCase)]
    assert min(chosen.count(0), chosen.count(1), sum(count > 1 for count in chosen)) >= 4


def test_no_two_cases_are_the_same() -> None:
    """Ids are unique and name kind and language; no two cases are about the same texts, however they are written."""
    assert len({case.id for case in CASES}) == len(CASES)
    assert [case.id for case in CASES if not case.id.startswith(f"{case.kind}-{case.language}-")] == []
    texts = Counter(tuple(text.casefold().strip(" .!") for text in matter(case)) for case in CASES)
    assert len(texts) == len(CASES)
    assert texts.most_common(1)[0][1] == 1
    pairs = [frozenset(matter(case)) for case in CASES if isinstance(case, ContradictionCase)]
    assert len(set(pairs)) == len(pairs)
    assert all(len(pair) == 2 for pair in pairs)


def test_what_is_to_be_kept_was_said_and_is_new() -> None:
    """Every word of every group occurs in the conversation, and nothing known already holds a whole group."""
    groups = [(case, group) for case in CONVERSATIONS for group in case.keep]
    assert len(groups) > 70
    assert [(case.id, word) for case, group in groups for word in group if not holds(said(case), word)] == []
    known = [
        (case.id, text) for case, group in groups for text in case.known if all(holds(text, word) for word in group)
    ]
    assert known == []


def test_what_no_note_may_hold_was_said_and_is_not_to_be_kept() -> None:
    """Every word of `never` occurs in its conversation, and neither it nor a word to be kept is within the other."""
    words = [(case, word) for case in CONVERSATIONS for word in case.never]
    assert len(words) > 100
    assert [(case.id, word) for case, word in words if not holds(said(case), word)] == []
    clashes = [
        (case.id, word, other)
        for case, word in words
        for group in case.keep
        for wanted in group
        for other in spellings(wanted)
        if holds(other, word) or any(holds(spelling, wanted) for spelling in spellings(word))
    ]
    assert clashes == []


def test_injected_orders_are_told_from_what_the_user_says() -> None:
    """Some injections stand beside a fact of the user's own, some alone, and each has words to know it by."""
    injections = [case for case in CONVERSATIONS if case.kind == "injection"]
    assert all(case.never for case in injections)
    assert sum(bool(case.keep) for case in injections) >= 5
    assert sum(not case.keep for case in injections) >= 5


@pytest.mark.parametrize(
    ("text", "word", "expected"),
    [
        ("Die Nutzerin ist Vegetarierin.", "vegetari", True),
        ("She trusts him.", "rust", False),
        ("后端用Rust写", "rust", True),
        ("用户对海鲜过敏", "海鲜", True),
        ("用户对海鲜过敏", "花生", False),
        ("It is at 14:00.", "14", True),
        ("It costs 140.", "14", False),
        ("It costs 214, then 14.", "14", True),
        ("CELÍACA", "celiac", True),
        ("budget 25万", "二十五万|25万", True),
        ("on Tuesday", "monday|mon", False),
        ("on Mon.", "monday|mon", True),
        ("", "mon", False),
    ],
)
def test_words_are_found_where_a_word_begins(text: str, word: str, expected: bool) -> None:
    """Case and accents do not matter, a word's inside is not its beginning, and numbers are whole."""
    assert holds(text, word) is expected


EXTRACT: dict[str, Any] = {
    "id": "keep-en-01", "task": "extract", "kind": "keep", "language": "en",
    "turns": [{"role": "user", "text": "I live in Lisbon."}], "known": [], "keep": [["lisbon"]], "never": [],
}  # fmt: skip
PAIR: dict[str, Any] = {
    "id": "contradiction-en-01", "task": "contradiction", "language": "en", "one": "a", "other": "b", "label": "same",
}  # fmt: skip
FORGET: dict[str, Any] = {
    "id": "forget-en-01", "task": "forget", "language": "en", "request": "Forget a.",
    "candidates": [{"id": "rec_a", "text": "a"}], "chosen": ["rec_a"],
}  # fmt: skip


def test_cases_are_read_as_they_are_written() -> None:
    """Text and bytes are read alike, in order, into what they say."""
    data = json.dumps([EXTRACT, PAIR, FORGET])
    one, two, three = read_cases(data)
    assert read_cases(data.encode()) == (one, two, three)
    assert isinstance(one, ExtractCase)
    assert (one.keep, one.turns[0].role) == ((("lisbon",),), "user")
    assert isinstance(two, ContradictionCase)
    assert (two.kind, two.label) == ("contradiction", "same")
    assert isinstance(three, ForgetCase)
    assert (three.kind, three.chosen, three.candidates[0].text) == ("forget", ("rec_a",), "a")


@pytest.mark.parametrize("data", [b"\xff\xfe\xff", "no", "{}", "3", "[3]", "[{}]", '[{"id": 3}]', "[" * 100_000])
def test_what_is_no_list_of_cases_is_refused(data: bytes | str) -> None:
    """Anything else than a JSON list of objects with ids is an error of its own, not one of the parser's."""
    assert read_cases("[]") == ()
    with pytest.raises(InvalidInput, match="case"):
        read_cases(data)


@pytest.mark.parametrize(
    ("case", "change", "message"),
    [
        (EXTRACT, {"id": "Keep 1"}, "no id such as"),
        (EXTRACT, {"task": "duplicate"}, "task must be one of"),
        (EXTRACT, {"task": ["extract"]}, "task must be one of"),
        (EXTRACT, {"extra": 1}, "'extra' unknown"),
        (EXTRACT, {"kind": "forget"}, "kind must be one of"),
        (EXTRACT, {"language": "fr"}, "language must be one of en, de, zh, es"),
        (EXTRACT, {"turns": []}, "turns is empty"),
        (EXTRACT, {"turns": [{"role": "system", "text": "a"}]}, "role must be one of"),
        (EXTRACT, {"turns": [{"role": "user"}]}, "turns must be objects of role and text"),
        (EXTRACT, {"turns": [{"role": "user", "text": " "}]}, "text must be text"),
        (EXTRACT, {"known": "a"}, "known must be a list"),
        (EXTRACT, {"keep": []}, "keep must not be empty"),
        (EXTRACT, {"keep": [[]]}, "would be in every note"),
        (EXTRACT, {"keep": ["lisbon"]}, "keep must be a list"),
        (EXTRACT, {"keep": [["Lisbon"]]}, "lower case"),
        (EXTRACT, {"never": ["a|"]}, "both sides of a bar"),
        (EXTRACT, {"kind": "ignore"}, "keep must be empty"),
        (EXTRACT, {"kind": "update"}, "known must not be empty"),
        (EXTRACT, {"kind": "injection"}, "never must not be empty"),
        (PAIR, {"label": "differs"}, "label must be one of"),
        (PAIR, {"one": 3}, "one must be text"),
        (FORGET, {"chosen": ["rec_b"]}, "chosen must name candidates"),
        (FORGET, {"chosen": ["rec_a", "rec_a"]}, "each once"),
        (FORGET, {"candidates": []}, "at least one"),
        (FORGET, {"candidates": [{"id": "rec_a", "text": "a"}] * 2}, "an id of its own"),
    ],
)
def test_a_case_that_breaks_a_rule_is_refused(case: dict[str, Any], change: dict[str, Any], message: str) -> None:
    """The same case without the fault is read; the message says which rule it breaks."""
    assert len(read_cases(json.dumps([case]))) == 1
    with pytest.raises(InvalidInput, match=message):
        read_cases(json.dumps([case | change]))


def test_what_is_missing_or_twice_is_named() -> None:
    """A missing field and an id that is given twice are named; without either fault the cases are read."""
    assert len(read_cases(json.dumps([PAIR, FORGET]))) == 2
    with pytest.raises(InvalidInput, match="contradiction-en-01: label missing"):
        read_cases(json.dumps([{name: value for name, value in PAIR.items() if name != "label"}]))
    with pytest.raises(InvalidInput, match="contradiction-en-01 is given to two cases"):
        read_cases(json.dumps([PAIR, PAIR]))
