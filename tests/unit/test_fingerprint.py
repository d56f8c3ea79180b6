"""Keyed hashes: what is one value, what is nearly one, and what is another."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoranda.domain.fingerprint import Fingerprints, normalise

PRINTS = Fingerprints(bytes(range(32)))
OTHER_HOME = Fingerprints(bytes(32))


@pytest.mark.parametrize(
    ("one", "same"),
    [
        ("The user prefers dark mode.", "the  USER\nprefers dark mode."),
        ("- item", "* item"),
        ("1. item", "item"),
        ("**bold** word", "bold word"),
        ("some *emphasis* here", "some emphasis here"),
        ("`code` word", "code word"),
        ("ﬁle", "file"),
        ("zero\u200bwidth", "zerowidth"),
        ("\u0440\u0430ypal", "paypal"),
        ("Stra\u00dfe", "strasse"),
        ("caf\u0065\u0301", "caf\u00e9"),
        ("a - b", "a b"),
        ("> quoted", "quoted"),
    ],
)
def test_dress_does_not_make_another_value(one: str, same: str) -> None:
    """White space, case, markers, emphasis, invisible and look-alike letters do not tell values apart."""
    assert PRINTS.value_key(one) == PRINTS.value_key(same)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("C", "C#"),
        ("C", "C++"),
        ("5", "-5"),
        ("15 %", "1.5 %"),
        ("force", "--force"),
        ("snake_case", "snakecase"),
        ("8080", "8081"),
        ("likes tea", "does not like tea"),
        ("port 1", "port l"),
        ("port 0", "port o"),
        ("!!!", "???"),
        ("caf\u00e9", "cafe"),
        ("- [ ] task", "- [x] task"),
    ],
)
def test_symbols_and_digits_make_another_value(one: str, other: str) -> None:
    """Symbols that touch a word, digits, accents and a ticked box tell values apart."""
    assert PRINTS.value_key(one) != PRINTS.value_key(other)


def test_near_key_sees_through_rephrasing() -> None:
    """A statement with other function words, order or inflection has the same near key; numbers and negation count."""
    near = PRINTS.near_key
    assert near("The user prefers dark mode") == near("User prefers dark mode.")
    assert near("The server listens on port 8080") != near("The server listens on port 8081")
    assert near("He likes coffee") != near("He does not like coffee")
    assert near("...") == ""


@given(st.text(max_size=300))
def test_every_text_has_keys(text: str) -> None:
    """No text breaks the keys, and normalising twice is normalising once for the key's purpose."""
    assert len(PRINTS.value_key(text)) == 32
    assert PRINTS.value_key(text) == PRINTS.value_key(f"  {text}\n") or not text.strip()
    assert isinstance(PRINTS.near_key(text), str)
    assert normalise(text) or not text


def test_hashes_are_keyed_and_kept_apart() -> None:
    """Another home's key gives other hashes, and no use of the key can stand for another."""
    assert PRINTS.content("x") != OTHER_HOME.content("x")
    assert PRINTS.value_key("x") != OTHER_HOME.value_key("x")
    assert len({PRINTS.content("x"), PRINTS.value_key("x"), PRINTS.near_key("xylophone")}) == 3
    assert PRINTS.payload(b"a", "b") != PRINTS.payload(b"", "ab")


@pytest.mark.parametrize(
    "text",
    [
        "The door code is man<b></b>go.", "The door code is man<!-- x -->go.",
        "The d\u0585\u0585r c\u0585de is mang\u0585.",
        "The door code is man\u0261o.", "The door code is m\u0251ngo.",
        "The door code is \u1d0d\u1d00\u0274\u0262\u1d0f.",
        "The door code is \U0001f1f2\U0001f1e6\U0001f1f3\U0001f1ec\U0001f1f4.",
        "The door code is \U0001f15c\U0001f150\U0001f15d\U0001f156\U0001f15e.",
        "The\u2800door\u2800code\u2800is\u2800mango.", "The door code is m\u20dda\u20ddngo.",
        "The door code is man\ufe0fgo.",
        "The door code is man\U000e0100go.", "The door code is <i>man</i>go", "The door code is man\u3164go.",
    ],
)  # fmt: skip
def test_a_rejected_value_is_near_in_other_letters(text: str) -> None:
    """Letters that look otherwise and marks that part no word do not tell a statement from the rejected one."""
    (rejected,) = PRINTS.marks("The door code is mango.")
    (offered,) = PRINTS.marks(text)
    (other,) = PRINTS.marks("The door code is melon.")
    assert offered.near == rejected.near
    assert other.near != rejected.near
