"""Which language a text is in, and the stems its words are found by."""

from __future__ import annotations

import pytest

from memoranda.domain.languages import ENGLISH, FUNCTION_WORDS, LATIN, language_of, stem, stems
from memoranda.domain.scripts import fold
from memoranda.domain.words import analyse, near_terms, parse_query

SENTENCES = {
    "german": ("Ich mag grünen Tee.", "Meine Schwester wohnt in Berlin", "Was ist mit dem Garten?"),
    "french": ("J'aime le thé vert le matin", "On va au cinéma demain", "Où est la maison de ma sœur ?"),
    "spanish": ("Me gusta el té verde", "¿Dónde está la casa de mi hermana?", "El perro no come pescado"),
    "italian": ("Mi piace il tè verde", "Dove è la casa di mia sorella?", "Il cane non mangia il pesce"),
    "portuguese": ("Eu não gosto de chá verde", "Onde fica a casa da minha irmã?"),
    "dutch": ("Ik houd niet van groene thee", "Waar is het huis van mijn zus?"),
    ENGLISH: ("The user likes tea", "What was the die size?", "deploy to Berlin in July", "Ben said it to Dan and me"),
    "": ("Kaffee Garten Sommer", "no", "", "東京"),
}
PAIRS = {
    "german": (("Haus", "Häuser"), ("Katze", "Katzen"), ("arbeiten", "arbeitet"), ("große", "groß")),
    "french": (("cheval", "chevaux"), ("préféré", "préférée"), ("travailler", "travaille")),
    "spanish": (("canción", "canciones"), ("trabajar", "trabajo"), ("niño", "niños")),
    "italian": (("casa", "case"), ("lavorare", "lavora"), ("bambino", "bambini")),
    "portuguese": (("canção", "canções"), ("trabalhar", "trabalho")),
    "dutch": (("huis", "huizen"), ("werken", "werkt")),
    "russian": (("книга", "книги"), ("работать", "работает")),
}


@pytest.mark.parametrize(("language", "text"), [(name, text) for name, texts in SENTENCES.items() for text in texts])
def test_a_language_is_told_by_its_function_words(language: str, text: str) -> None:
    """A sentence is of its language; names and words without function words are of none."""
    assert language_of(analyse(text).exact) == language


def test_one_word_may_be_a_name() -> None:
    """A question with one word that another language has, too, is of none: it loses no word."""
    assert language_of(("dan", "prefers", "dark", "mode")) == "dutch"
    assert language_of(("dan", "prefers", "dark", "mode"), 2) == ""
    assert {"dan", "dark"} <= set(parse_query("Dan dark mode").terms)


@pytest.mark.parametrize(
    ("language", "one", "other"), [(name, *pair) for name, pairs in PAIRS.items() for pair in pairs]
)
def test_forms_of_a_word_share_a_stem_in_their_language(language: str, one: str, other: str) -> None:
    """What one word is inflected to has one stem, accents folded; as English words the Latin ones need not."""
    assert stem(fold(one), language) == stem(fold(other), language)
    assert set(stems(fold(one), "")) & set(stems(fold(other), ""))


def test_function_words_are_folded() -> None:
    """Every list is written as words are indexed, or its words would match nothing."""
    assert set(LATIN) < set(FUNCTION_WORDS)
    for words in FUNCTION_WORDS.values():
        assert all(fold(word) == word for word in words)


def test_every_text_keeps_its_english_stems() -> None:
    """A language that was mistaken loses nobody a word: a text in any is indexed as English as well."""
    text = analyse("Der Benutzer hat die Notes von Ben und Dan, user preferences")
    assert {"prefer", "note", "ben", "dan"} <= set(text.terms)
    assert set(parse_query("What notes are of the user's preferences?").terms) & set(text.terms)


def test_a_question_drops_the_function_words_of_its_language() -> None:
    """Only what says something is looked for, and each word is one piece of information in whatever form."""
    asked = parse_query("Wo sind die Häuser von meinem Freund?")
    assert {"haus", "freund"} <= set(asked.terms)
    assert len(asked.units) == 2
    assert parse_query("Where are the houses of my friend?").terms == ("hous", "friend")


def test_what_says_nearly_the_same_is_judged_as_before() -> None:
    """Prints of rejected values stay comparable: near terms know English stems and leave other scripts alone."""
    assert near_terms("Die Häuser sind groß") == (("die", "gross", "hauser", "sind"), ())
    assert near_terms("Долгая память") == (("долгая", "память"), ())
