"""Tests of the analyser: what a text is found by, and what a question asks for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoranda.domain.query import MAX_QUERY_CHARS
from memoranda.domain.scripts import fold, is_mostly_latin, may_break
from memoranda.domain.words import ParsedQuery, analyse, near_terms, parse_query


def finds(question: str, text: str) -> bool:
    """Tell whether a text holds a term of a question."""
    return not set(parse_query(question).terms).isdisjoint(analyse(text).terms)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("cafe", "Das Café ist zu"), ("café", "Das Cafe ist zu"), ("Muller", "Frau Müller"),
        ("Müller", "Frau Muller"),
        ("straße", "Lange Strasse 5"), ("strasse", "Lange Straße 5"), ("Übergröße", "ÜBERGRÖSSE"),
        ("lodz", "Łódź"), ("running", "he runs"), ("ﬁle", "file"), ("ＡＢＣ", "abc"), ("naïve", "naive"),
        ("内存", "这个进程的内存管理很好"), ("记忆", "长期记忆"), ("存", "内存"),
        ("記憶", "長期記憶システム"), ("システム", "記憶システム"),
        ("ｼｽﾃﾑ", "記憶システム"), ("메모리", "메모리를 관리한다"), ("ความจำ", "หน่วยความจำของเครื่อง"),
        ("ចងចាំ", "ការចងចាំ"),
        ("память", "Долгая ПАМЯТЬ агента"), ("елка", "Ёлка"), ("كتاب", "هٰذا كِتَابٌ"), ("احمد", "أحمد"),
        ("שלום", "שָׁלוֹם"),
        ("किताब", "यह किताब है"), ("किताबें", "ये किताबें हैं"), ("😀", "well 😀 done"), ("€", "5 €"),
    ],
)  # fmt: skip
def test_other_spellings_and_scripts_are_found(question: str, text: str) -> None:
    """A word is found whatever its case, accents, width and inflection, in scripts of both kinds."""
    assert finds(question, text)
    assert not finds(question, "zzz ждать 空港 비행 กบ")


@pytest.mark.parametrize(
    ("question", "text", "other"),
    [
        ("C#", "We write C# here", "We write C here"), ("C++", "C++ and templates", "C and macros"),
        ("C++", "c++17 only", "C 17 only"), ("C", "We write C here", "We write C# here"),
        ("c#", "C#/C++ bridge", "C/C bridge"),
        ("notepad++", "open Notepad++ first", "open Notepad first"), ("F#", "F#.", "press F."),
    ],
)  # fmt: skip
def test_a_letter_with_its_sign_is_another_word(question: str, text: str, other: str) -> None:
    """`C#` and `C++` are found and are not `C`, nor `C` them."""
    assert finds(question, text)
    assert not finds(question, other)


@pytest.mark.parametrize(
    "joined",
    ["foo-bar", "a.b.c", "1.2.3", "c:\\users\\x", "key:value", "user@host", "--force", "#tag", "@name",
     ".net", "snake_case", "x=1", "etc/hosts", "r&d", "50%", "-5", "v1.0-rc.2", "foo/bar.py"],
)  # fmt: skip
def test_joined_forms_and_their_parts_are_words(joined: str) -> None:
    """A word with symbols is indexed and asked for as a whole and in parts, which do not make the whole."""
    text = analyse(f"see ({joined.upper()}), please")
    assert joined in text.terms
    assert joined in parse_query(joined).terms
    parts = [part for part in text.exact if part not in ("see", "please")]
    assert parts
    assert finds(joined, " ".join(parts)) or joined in ("--force", "50%", "-5")
    assert joined not in analyse(" ".join(parts)).terms


def test_parts_are_in_order_for_phrases() -> None:
    """The exact stream of a compound is its parts in order, without its joined forms."""
    assert analyse("Use foo-bar at user@host.com, don't C#").exact == (
        "use", "foo", "bar", "at", "user", "host", "com", "don", "t", "c#",
    )  # fmt: skip


def test_pairs_and_single_characters_are_indexed_and_pairs_are_asked() -> None:
    """A run without spaces is indexed as pairs and characters; a longer question uses pairs alone."""
    assert analyse("数据库").terms == ("数据", "据库", "数", "据", "库")
    assert parse_query("数据库").terms == ("数据", "据库")
    assert parse_query("数").terms == ("数",)
    assert not finds("据数", "数据库")
    assert finds("数据", "数据库")


def test_stop_words_go_unless_nothing_is_left() -> None:
    """Function words leave a question that has others, stay where it has none, and stay in phrases."""
    assert parse_query("Where is the deploy script?").terms == ("deploi", "script")
    assert parse_query("to be or not to be").terms == ("to", "be", "or", "not")
    assert parse_query('"to be or not"').phrases == (("to", "be", "or", "not"),)
    assert parse_query('find "the order" now').terms == ("find", "order")


def test_apostrophes() -> None:
    """A word with an apostrophe is found joined and in parts, with a straight or a curly one."""
    assert {"don", "dont"} <= set(analyse("don’t").terms)
    assert finds("obrien", "O'Brien") is True
    assert finds("homme", "l'homme") is True
    assert "users" not in analyse("the user's").terms
    assert finds("user", "the user's") is True


@pytest.mark.parametrize(
    "text", ["", "   ", "?!… ()[]{}", '""', '"', "\x00", "\ud800", "\u200b\u200d", "***", "--- ## @@"]
)
def test_no_words_is_an_empty_question(text: str) -> None:
    """Blank, punctuation, control, zero-width and surrogate characters ask for nothing; a letter asks."""
    assert parse_query(text) == ParsedQuery()
    assert parse_query(text + " x").terms == ("x",)


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit", ["-", "a", "a-", "a/", "日", "\u0301", "'", "\x00", "a+", '"', '"a', "😀", "\ud800", "c# "]
)
def test_a_hundred_kilobytes_of_anything_are_read(unit: str) -> None:
    """Long monotonous input never raises, and questions stop at their limit."""
    text = unit * (100_000 // len(unit))
    assert analyse(text + " end").terms[-1] == "end"
    assert "end" not in parse_query(text + " end").terms
    assert len(parse_query(text).terms) <= MAX_QUERY_CHARS
    near_terms(text)


@given(st.text(st.characters(codec=None), max_size=200))
def test_any_text_is_read(text: str) -> None:
    """No text raises; no word is empty or holds white space; a text with words is found by itself."""
    analysis = analyse(text)
    assert all(word and not any(c.isspace() for c in word) for word in (*analysis.exact, *analysis.terms))
    near_terms(text)
    asked = parse_query(text.replace('"', " "))
    assert bool(asked.terms) == bool(analysis.terms)
    assert all(not set(unit).isdisjoint(analysis.terms) for unit in asked.units)
    assert len(asked.units) <= max(len(analysis.terms), 0)


@given(st.text(st.characters(codec=None), max_size=100))
def test_folding_is_stable(text: str) -> None:
    """Folding what is folded changes nothing that words are made of."""
    assert analyse(fold(text)).terms == analyse(text).terms or fold(fold(text)) != fold(text)


def test_near_terms_of_reworded_texts_agree() -> None:
    """Articles, case, order, markup and punctuation do not count."""
    expected = near_terms("The user prefers dark mode")
    assert expected == (("dark", "mode", "prefer", "user"), ())
    for text in (
        "User prefers dark mode.",
        "- **user** prefers the dark mode",
        "dark mode: the user prefers it!",
    ):
        assert near_terms(text) == expected


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("port 8080", "port 8081"), ("he likes it", "he does not like it"),
        ("he likes it", "he doesn't like it"),
        ("use C#", "use C"), ("-5 degrees", "5 degrees"), ("from 3 to 5", "from 5 to 3"),
        ("turn it off", "turn it on"),
        ("version 1.2.3", "version 1.2.4"), ("喜欢咖啡", "不喜欢咖啡"), ("never deploy", "deploy"),
        ("pass --force", "pass force"),
        ("with tests", "without tests"),
    ],
)  # fmt: skip
def test_near_terms_tell_statements_apart(one: str, two: str) -> None:
    """A number, a sign, a negation or a symbol makes another statement; the same text makes the same."""
    assert near_terms(one) != near_terms(two)
    assert near_terms(one) == near_terms(one.upper())


def test_units_count_information_once() -> None:
    """A compound is one piece of information, a Chinese grammar character none, a content character one."""
    assert len(parse_query("deploy foo-bar").units) == 2
    assert len(parse_query("内存的大小").units) == 4
    assert len(parse_query("什么").units) == 1


def test_scripts_are_told_apart() -> None:
    """Text is mostly Latin when at least half of its letters are; digits alone count as Latin."""
    assert is_mostly_latin("Crème brûlée 5")
    assert is_mostly_latin("123")
    assert is_mostly_latin("iPhone 手机")
    assert not is_mostly_latin("手机在哪里 iOS")
    assert not is_mostly_latin("память")


@pytest.mark.parametrize("whole", ["é", "👨‍👩‍👧", "👍🏽", "🇩🇪", "कि", "\r\n", "กำ", "각", "❤️"])
def test_characters_are_not_torn(whole: str) -> None:
    """There is no break inside what a reader sees as one character, and there is one behind it."""
    text = f"a{whole}b"
    assert [at for at in range(1, len(text)) if may_break(text, at)] == [1, len(text) - 1]
