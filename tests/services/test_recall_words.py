"""Tests of what recall finds by words alone: many scripts, symbols, and odd questions."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from memoranda.adapters.sqlite.index import SqliteIndex
from memoranda.domain.scope import APPLICATION, Viewer
from memoranda.services.embedding import embed_pending
from memoranda.testing.index_suite import SCOPE
from memoranda.testing.memory_index import MemoryIndex
from memoranda.testing.turn_suite import LOG, mark, said
from tests.services.recall_setup import TopicEmbedder, ask, fill, ids


@pytest.fixture
def index(tmp_path: Path) -> Iterator[SqliteIndex]:
    """Return an empty index."""
    index = SqliteIndex(tmp_path / "index")
    yield index
    index.close()


LANGUAGES = {
    "zh": "这个进程的内存管理很好", "ja": "彼は長期記憶システムを設計した",
    "ko": "에이전트는 메모리를 관리한다", "th": "หน่วยความจำของเครื่องนี้เต็มแล้ว",
    "ru": "Долгая память агента", "ar": "هٰذا كِتَابٌ قديم", "hi": "यह किताब पुरानी है",
    "de": "Frau Müller wohnt in der Straße",
}  # fmt: skip


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("内存", "zh"), ("存", "zh"), ("内存管理", "zh"), ("記憶", "ja"), ("長期記憶システム", "ja"),
        ("메모리", "ko"), ("관리", "ko"),
        ("ความจำ", "th"), ("память", "ru"), ("ПАМЯТЬ", "ru"), ("كتاب", "ar"), ("किताब", "hi"),
        ("Müller", "de"), ("muller", "de"),
        ("strasse", "de"), ("Straße", "de"),
    ],
)  # fmt: skip
def test_words_of_many_scripts_are_found(index: SqliteIndex, question: str, expected: str) -> None:
    """By words alone each language finds its own text first, in the middle of a run without spaces too."""
    fill(index, **LANGUAGES)
    assert ids(ask(index, question))[:1] == [f"rec_{expected}"]


SYMBOLS = {
    "cs": "The service is written in C# by Ann", "c": "The driver is written in C by Bob",
    "cpp": "The engine is written in C++",
    "net": "We target .NET eight", "plain_net": "The net was torn", "tag": "Filed under #release",
    "plain_tag": "The release is late",
    "name": "Ask @carol first", "plain_name": "Carol sings", "version": "Pinned to 1.2.3 for now",
    "parts": "Pages 1 2 3 are gone",
    "win": "Logs are in C:\\Users\\x\\logs", "dotted": "See a.b.c there", "dash": "The foo-bar flag",
    "foo": "Only foo here",
    "force": "Never pass --force", "mail": "Write to user@host.com", "slash": "Edit src/main.py",
    "colon": "Set key:value",
}  # fmt: skip


@pytest.mark.parametrize(
    ("question", "first", "absent"),
    [
        ("C#", "cs", "c"), ("c#", "cs", "cpp"), ("C++", "cpp", "c"), ("C", "c", "cs"),
        (".NET", "net", None), ("#release", "tag", None),
        ("@carol", "name", None), ("1.2.3", "version", None), ("C:\\Users\\x\\logs", "win", None),
        ("a.b.c", "dotted", None),
        ("foo-bar", "dash", None), ("--force", "force", None), ("user@host.com", "mail", None),
        ("src/main.py", "slash", None),
        ("key:value", "colon", None), ("foo AND NOT bar", "dash", None), ("NEAR(foo)", "dash", None),
        ("foo*", "dash", None),
        ("main.py", "slash", None), ("host.com", "mail", None), ("carol", "name", None),
    ],
)  # fmt: skip
def test_symbols_that_touch_a_word_matter(index: SqliteIndex, question: str, first: str, absent: str | None) -> None:
    """The text with the very word comes first, and a letter with a sign is not the letter."""
    fill(index, **SYMBOLS)
    found = ids(ask(index, question, limit=20, min_score=0.0))
    assert found[0] == f"rec_{first}"
    assert f"rec_{absent}" not in found


@pytest.mark.slow
def test_ten_thousand_odd_questions_never_fail(index: SqliteIndex) -> None:
    """Generated questions of every sign, operator and script raise nothing, and plain ones find."""
    fill(index, **LANGUAGES, **SYMBOLS)
    pieces = (
        *map(chr, range(33, 127)), " ", "  ", "\t", "\n", "\x00", "\x1f", "\u200b", "\u202e", "\ufeff",
        "\ud800", "\udfff", "‖", "¦",
        "AND", "OR", "NOT", "NEAR", "NEAR(a b, 2)", "col:", "terms:", "{terms}", "-", "^", "*", '"', '""',
        "'", "''", "--", "/*", "*/", ";",
        "foo", "release", "C#", "内存", "記", "메모리", "ความจำ", "كتاب", "שלום", "किताब", "é", "e\u0301",
        "😀", "👨‍👩‍👧", "🇩🇪", "\U0010ffff", "ﷺ", "½",
    )  # fmt: skip
    generator = random.Random(20260131)
    viewer = Viewer(APPLICATION, SCOPE, frozenset({SCOPE}))
    for _ in range(10_000):
        text = generator.choice(("", " ")).join(generator.choices(pieces, k=generator.randint(0, 12)))
        ask(index, text, viewer=viewer)
    for long in (
        "foo " * 25_000,
        '"' * 100_000,
        "内" * 100_000,
        "a-" * 50_000,
        " ".join(map(str, range(20_000))),
    ):
        ask(index, long, viewer=viewer)
    assert ids(ask(index, "release late")) != []


def test_the_fake_index_answers_alike(index: SqliteIndex) -> None:
    """The index in memory gives the same hits and scores as the built-in one."""
    fake = MemoryIndex()
    embedder = TopicEmbedder()
    for each in (index, fake):
        fill(each, **LANGUAGES, **SYMBOLS, a="peach jam", b="apricot tree in the night")
        embed_pending(each, embedder, None, SCOPE)
    for question in ("release", "peach night", "written in C#", "内存", '"in the night"', ""):
        real, made_up = (ask(each, question, embedder=embedder, limit=10) for each in (index, fake))
        assert ids(real) == ids(made_up)
        assert [hit.score for hit in real.hits] == pytest.approx([hit.score for hit in made_up.hits])
        assert ids(real)


INFLECTED = {
    "de": ("Meine Schwester hat zwei alte Häuser in den Bergen gekauft.", "Welches Haus hat sie gekauft?"),
    "fr": ("Ma sœur a acheté deux vieux chevaux à la montagne.", "Quel cheval est-ce qu'elle a acheté ?"),
    "es": ("Mi hermana escribe canciones para los niños.", "¿Qué canción es para un niño?"),
    "ru": ("Моя сестра читает старые книги.", "Где книга?"),
}


@pytest.mark.parametrize("language", INFLECTED)
def test_a_word_is_found_in_its_other_forms(index: SqliteIndex, language: str) -> None:
    """A question in the language of a note finds it by another form of its word; English beside it stays out."""
    fill(index, **{name: text for name, (text, _) in INFLECTED.items()}, en="The old horses are in the mountains.")
    assert ids(ask(index, INFLECTED[language][1]))[:1] == [f"rec_{language}"]
    assert ids(ask(index, "Which horse was it?")) == ["rec_en"]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("pgho*", ["rec_a"]), ("PGHO*", ["rec_a"]), ("configu*", ["rec_b"]), ("get_us*", ["rec_c"]),
        ("zür*", ["rec_d"]), ("the foo-b*", ["rec_b"]),
        ("pgho* configu*", ["rec_a", "rec_b"]), ("p*", []), ("nothi*", []), ("**pgho**", []),
        ("pgho *", []), ("count(*)", []),
    ],
)  # fmt: skip
def test_a_star_stands_for_the_rest_of_a_word(index: SqliteIndex, question: str, expected: list[str]) -> None:
    """The beginning of a word with a star finds notes, and turns, with any word that begins so."""
    fill(
        index, a="The server is PGHOST=db.internal.", b="Configurations of foo-bar are in TOML.",
        c="Call get_user_by_id first.", d="We met in Zürich.",
    )  # fmt: skip
    assert sorted(ids(ask(index, question))) == expected
    told = said("1", "Our configuration is in order.")
    assert index.put_turns(SCOPE, told, path=LOG, before=None, after=mark(99))
    found = [hit.text for hit in ask(index, question).hits if hit.turn]
    assert found == (["Our configuration is in order."] if "configu" in question else [])


def test_a_star_finds_what_was_known_then(index: SqliteIndex) -> None:
    """The beginning of a word finds in the past what still has the word, and tells no word that is gone."""
    fill(index, a="apricot jam")
    assert ids(ask(index, "apri*")) == ["rec_a"]
    index.put(SCOPE, (), remove=("rec_a",))
    result = ask(index, "apri*")
    assert (ids(result), result.trace.terms) == ([], ("apri",))


def test_function_words_alone_answer_nothing(index: SqliteIndex) -> None:
    """A German question about what nobody wrote has no answer though all its small words are there."""
    fill(index, a="Was ist das und wo ist der Hund von meinem Bruder?")
    assert ids(ask(index, "Was ist mit dem Hund?")) == ["rec_a"]
    assert not ids(ask(index, "Was ist mit dem Flugzeug von meinem Chef und wo ist das?"))
