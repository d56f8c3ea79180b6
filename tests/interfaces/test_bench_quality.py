"""`memoranda bench quality`: one's own labelled questions, in each form that is read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.interfaces.command_line import CommandLine, Ran

PLACES = ("harbour", "orchard", "quarry", "lighthouse", "vineyard", "foundry")


def lines(path: Path, rows: list[dict[str, object]]) -> None:
    """Write rows as JSONL."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


@pytest.fixture
def beir(tmp_path: Path) -> Path:
    """Return six texts and six questions, of which the last asks for what is in none of its words."""
    folder = tmp_path / "beir"
    folder.mkdir()
    lines(
        folder / "corpus.jsonl",
        [{"_id": f"d{n}", "text": f"The {name} opens at {n}."} for n, name in enumerate(PLACES)],
    )
    asked = [f"When does the {name} open?" for name in PLACES[:5]] + ["zebra crossing"]
    lines(
        folder / "queries.jsonl",
        [{"_id": f"q{n}", "text": text, "category": str(n % 2)} for n, text in enumerate(asked)],
    )
    rows = ["query-id\tcorpus-id\tscore", *(f"q{n}\td{n}\t1" for n in range(6)), "q0\td5\t0"]
    (folder / "qrels.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return folder


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    """Return three Markdown files with questions in both forms beside them."""
    folder = tmp_path / "docs"
    (folder / "texts").mkdir(parents=True)
    for name in PLACES[:3]:
        (folder / "texts" / f"the-{name}.md").write_text(f"# On the {name}\n\nIt was built of {name} stone.\n", "utf-8")
    lines(folder / "asked.jsonl", [{"query": f"{name} stone", "expected_doc": name} for name in PLACES[:3]])
    fixture = {"queries": [{"query": "quarry", "type": "exact", "expected_files": ["the-quarry.md"]}]}
    (folder / "fixture.json").write_text(json.dumps(fixture), encoding="utf-8")
    return folder


@pytest.fixture
def conversations(tmp_path: Path) -> Path:
    """Return one conversation of two sessions in the form of LoCoMo, with an id that is written otherwise."""
    talk = {
        "speaker_a": "Ann", "speaker_b": "Bob",
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            {"speaker": "Ann", "dia_id": "D1:1", "text": "Where is the fuse box?"},
            {"speaker": "Bob", "dia_id": "D1:2", "text": "In the hall.", "blip_caption": "a grey box"},
        ],
        "session_2_date_time": "9:00 am on 9 June, 2023",
        "session_2": [{"speaker": "Ann", "dia_id": "D2:1", "text": "I planted tomatoes in the greenhouse."}],
    }  # fmt: skip
    asked = [
        {"question": "Where is the fuse box?", "category": 1, "evidence": ["D:1:02; D1:1"]},
        {"question": "What did Ann plant?", "category": 2, "evidence": ["D2:1"]},
        {"question": "Nobody said this", "category": 2, "evidence": []},
    ]
    path = tmp_path / "talks.json"
    path.write_text(json.dumps([{"sample_id": "conv-1", "conversation": talk, "qa": asked}]), encoding="utf-8")
    return path


def bench(cli: CommandLine, *paths: Path) -> Ran:
    """Measure with words alone."""
    return cli("bench", "quality", *map(str, paths), "--provider", "none", "--json")


def test_texts_and_questions(cli: CommandLine, beir: Path, home: Path) -> None:
    """A planted miss costs its share in the means and in its category; nothing is left in anybody's home."""
    before = sorted(path.name for path in home.iterdir())
    (found,) = bench(cli, beir).json["results"]
    assert (found["form"], found["texts"], found["embedder"]) == ("beir", 6, "none")
    groups = {group["name"]: group for group in found["groups"]}
    assert {name: group["questions"] for name, group in groups.items()} == {"all": 6, "0": 3, "1": 3}
    assert groups["all"]["means"]["R@10"] == pytest.approx(5 / 6)
    assert groups["0"]["means"]["MRR"] == 1.0
    assert groups["1"]["means"]["Hit@1"] == pytest.approx(2 / 3)
    low, high = groups["all"]["intervals"]["R@10"]
    assert low < 5 / 6 <= high
    assert found["p95"] >= found["p50"] > 0
    assert sorted(path.name for path in home.iterdir()) == before


def test_files_and_questions(cli: CommandLine, documents: Path) -> None:
    """Questions beside Markdown files are answered by files, in both forms of a question."""
    results = {item["name"]: item for item in bench(cli, documents).json["results"]}
    assert set(results) == {"docs asked", "docs fixture"}
    for item in results.values():
        assert item["form"] == "documents"
        assert item["groups"][0]["means"]["Hit@1"] == 1.0


def test_conversations_and_questions(cli: CommandLine, conversations: Path) -> None:
    """Turns are told in sessions, found with their neighbours, and sessions are scored as well."""
    (found,) = bench(cli, conversations).json["results"]
    whole = found["groups"][0]
    assert (found["form"], found["texts"], whole["questions"]) == ("locomo", 3, 2)
    assert whole["means"]["R@10"] == 1.0
    assert whole["means"]["session hit@5"] == 1.0


def test_the_table_says_the_same(cli: CommandLine, beir: Path) -> None:
    """For a person it is a table with each group, its means and the interval below."""
    shown = cli("bench", "quality", str(beir), "--provider", "none").out.splitlines()
    assert shown[0] == "beir (beir): 6 texts, embedder none"
    assert shown[1].split() == ["group", "n", "R@5", "R@10", "Hit@1", "Hit@3", "MRR", "nDCG@10"]
    assert shown[2].split()[:4] == ["all", "6", "0.8333", "0.8333"]
    assert shown[3].startswith(" " * 14 + "95 %")


def test_several_embedders_are_measured_in_turn(cli: CommandLine, beir: Path) -> None:
    """Each address is a result of its own."""
    done = cli("bench", "quality", str(beir), "--provider", "none", "--provider", "hashing:64", "--json")
    assert [item["embedder"] for item in done.json["results"]] == ["none", "hashing:64"]


def test_what_is_no_set_is_refused(cli: CommandLine, beir: Path, tmp_path: Path) -> None:
    """A path without data, broken lines and shapes: the place is named, what is written there is not."""
    empty = tmp_path / "empty"
    empty.mkdir()
    no_list = tmp_path / "other.json"
    no_list.write_text('{"secret-word": 1}', encoding="utf-8")
    for path, says in (
        (tmp_path / "absent", "does not exist"),
        (empty, "no labelled questions"),
        (no_list, "no list of conversations"),
    ):
        refused = bench(cli, path)
        assert refused.code != 0
        assert says in refused.err + refused.out
    for name, content, says in (
        ("corpus.jsonl", '{"_id": "d0", "text": "x"}\nsecret-word\n', "corpus.jsonl, line 2: no JSON"),
        ("corpus.jsonl", '{"text": "secret-word"}\n', "corpus.jsonl, line 1: no '_id'"),
        ("qrels.tsv", "h\nsecret-word\n", "qrels.tsv, line 2"),
        ("queries.jsonl", "", "no question of which an answer is known"),
    ):
        kept = (beir / name).read_text(encoding="utf-8")
        (beir / name).write_text(content, encoding="utf-8")
        refused = bench(cli, beir)
        assert refused.code != 0
        assert says in refused.err + refused.out
        assert "secret-word" not in refused.err + refused.out
        (beir / name).write_text(kept, encoding="utf-8")
    assert bench(cli, beir).code == 0
