"""Tests of splitting records into passages and of their fingerprint."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoranda.domain.passage import PASSAGE_WORDS
from memoranda.domain.passages import indexed_form, passages_of
from memoranda.domain.record import Kind, Record, Trust
from memoranda.domain.scope import APPLICATION, Principal, Scope
from memoranda.domain.words import analyse

RECORD = Record(
    id="rec_1",
    scope=Scope("agent", "a"),
    path="memory/notes.md",
    block_hash="h",
    author=APPLICATION,
    recorded_at="t",
)


def parts(text: str) -> list[str]:
    """Return the texts of a record's passages."""
    return [passage.text for passage in passages_of(RECORD, text, "Notes")]


def squeezed(text: str) -> str:
    """Return a text without white space."""
    return "".join(text.split())


def test_a_short_record_is_one_passage_with_the_records_id() -> None:
    """One passage has the record's id; several are numbered from one and know how many they are."""
    (only,) = passages_of(RECORD, "short\n", "Notes")
    assert (only.id, only.part, only.parts, only.text) == ("rec_1", 1, 1, "short")
    many = passages_of(RECORD, "Some words stand here. " * 100, "Notes")
    assert [p.id for p in many] == [f"rec_1#{n}" for n in range(1, len(many) + 1)]
    assert {p.parts for p in many} == {len(many)}
    assert len(many) == 3


def test_blank_text_has_no_passage() -> None:
    """White space alone is nothing to index; one letter is."""
    assert parts(" \n\t") == []
    assert parts("x") == ["x"]


def test_lists_are_cut_at_items_and_prose_at_sentences() -> None:
    """Every part of a list begins with an item, every part of prose with a sentence."""
    items = parts("".join(f"- item {i} has a few words of text in it\n" for i in range(100)))
    assert len(items) > 3
    assert all(part.startswith("- item") for part in items)
    sentences = parts("Sentences begin with a capital and end with a stop. " * 60)
    assert len(sentences) > 2
    assert all(part.startswith("Sentences") and part.endswith("stop.") for part in sentences)
    chinese = parts("这是一个关于记忆的句子。" * 100)
    assert len(chinese) > 2
    assert all(part.startswith("这是") and part.endswith("。") for part in chinese)


def test_parts_are_of_similar_size() -> None:
    """No part is a small remainder of the rest."""
    sizes = [len(part.split()) for part in parts("word " * (PASSAGE_WORDS * 2 + 10))]
    assert len(sizes) == 3
    assert min(sizes) > PASSAGE_WORDS / 2


@given(
    st.lists(
        st.sampled_from(
            [
                "word",
                "日本語の文章です。",
                "é",
                "👨‍👩‍👧",
                "\n",
                "\n- ",
                " ",
                ". ",
                "क्षि",
                "สวัสดี",
                "x" * 700,
                "\r\n",
                "foo-bar",
                "\ud800",
            ]
        ),
        max_size=600,
    ).map("".join)
)
@settings(max_examples=60, deadline=None)
def test_parts_hold_everything_in_order(text: str) -> None:
    """Joined without white space the parts are the text, none begins inside a character or is too long."""
    found = parts(text)
    assert "".join(map(squeezed, found)) == squeezed(text)
    assert all(part[0] not in "\u0301\u200d\u093f\u094d" for part in found)
    assert all(len(part.split()) <= PASSAGE_WORDS for part in found)


@given(st.lists(st.sampled_from(["alpha", "Beta.", "foo-bar", "C#", "gamma,\n", "\n- delta", "don't"]), max_size=900))
@settings(max_examples=40, deadline=None)
def test_parts_hold_all_words(words: list[str]) -> None:
    """The words of the parts are the words of the text."""
    text = " ".join(words)
    assert [w for part in parts(text) for w in analyse(part).exact] == list(analyse(text).exact)


def test_a_long_word_is_cut_somewhere() -> None:
    """A hundred kilobytes without a space become parts that can be embedded, and lose nothing."""
    text = "a" * 100_000
    found = parts(text)
    assert "".join(found) == text
    assert max(map(len, found)) < 3_000


@pytest.mark.parametrize(
    "change",
    [
        {"path": "MEMORY.md"}, {"kind": Kind.GOTCHA}, {"tags": ("x",)}, {"trust": Trust.OPERATOR},
        {"heading": ("H",)},
        {"title": "T"}, {"valid_to": "2026"}, {"recorded_at": "later"}, {"author": Principal("agent", "a")},
        {"description": "d"},
    ],
)  # fmt: skip
def test_the_fingerprint_covers_what_is_indexed(change: dict[str, object]) -> None:
    """A change of a field that is searched or shown changes the fingerprint; lineage does not."""
    before = indexed_form(passages_of(RECORD, "text", "Notes"))
    changed = dataclasses.replace(RECORD, **change)  # type: ignore[arg-type]
    assert indexed_form(passages_of(changed, "text", "Notes")) != before
    lineage = dataclasses.replace(RECORD, superseded_by="rec_2", value_key="k")
    assert indexed_form(passages_of(lineage, "text", "Notes")) == before


def test_the_fingerprint_covers_text_title_and_parts() -> None:
    """Another text, file title or split gives another fingerprint; surrogates do not stop it."""
    texts = ("text", "texts", "text\ud800", "words here. " * 300)
    forms = [indexed_form(passages_of(RECORD, text, title)) for text in texts for title in ("Notes", "Other")]
    assert len(set(forms)) == len(forms)
    assert indexed_form(passages_of(RECORD, "text", "Notes")) == forms[0]
