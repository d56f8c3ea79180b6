"""Where may be written: the rules, and ten thousand attempts to get around them."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from memoranda.domain.outcome import Refused, Saved
from memoranda.domain.policy import path_allowed
from tests.homes import home, write


@pytest.mark.parametrize(
    "path",
    [
        "MEMORY.md",
        "memory.md",
        "memory/notes.md",
        "memory/größe.md",
        "memory/日本.md",
        "memory/a.b.md",
        "memory/2026-11-30.md",
        "memory/C#.md",
    ],
)
def test_allowed(path: str) -> None:
    """Curated files, one level deep, with Unicode names."""
    assert path_allowed(path) is None


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("", "empty"),
        ("/etc/passwd", "absolute"),
        ("~/x.md", "absolute"),
        ("C:/x.md", "drive"),
        ("memory/x.md:stream", "drive"),
        ("memory\\x.md", "backslash"),
        ("../MEMORY.md", "'..'"),
        ("memory/../x.md", "'..'"),
        ("memory/./x.md", "'.'"),
        ("memory//x.md", "empty part"),
        ("memory/a/b.md", "one level"),
        ("memory-archive/x.md", "one level"),
        ("agents/b/MEMORY.md", "one level"),
        ("Memory.md", "one level"),
        ("x.md", "one level"),
        ("memory/x.txt", ".md"),
        ("memory/x.MD", ".md"),
        ("memory/x", ".md"),
        ("memory/.md", "dot"),
        ("memory/.hidden.md", "dot"),
        ("memory/a b.md", "white space"),
        ("memory/a\u00a0b.md", "white space"),
        ("memory/a\tb.md", "white space"),
        ("memory/a\0b.md", "control"),
        ("memory/a\u202eb.md", "control"),
        ("memory/a\u200bb.md", "control"),
        ("memory/\ud800.md", "Unicode"),
        ("memory/" + "x" * 250 + ".md", "longer"),
        ("memory/CON.md", "device"),
        ("memory/nul.notes.md", "device"),
        ("memory/a?.md", "file system"),
        ("memory/", ".md"),
        ("memory", "one level"),
    ],
)
def test_refused_with_the_reason(path: str, why: str) -> None:
    """The refusal names the rule that was broken and never repeats the path."""
    refused = path_allowed(path)
    assert refused is not None
    assert refused.rule == "path"
    assert why in refused.message
    assert len(path) < 12 or path not in refused.message


PARTS = (
    "memory", "MEMORY.md", "..", ".", "", "~", "agents", "b", "x.md", "x.md ", " x.md", "x.MD", ".md", "x", "%2e%2e", "%00",
    "C:",    "con.md", "\0", "\n", "\u202e", "\u200b", "\\", "/", "\ud800", "é", "日本.md", "a" * 300, "a" * 260 + ".md", "$HOME",
    "`id`", "*", "?.md",    "x.md/", "memory.md", ".state", "ledger.db", "key", "😀.md", "‮dm.x", "ﷺ.md", "-rf.md", "--", "|", "x.md\r",
)  # fmt: skip


@pytest.mark.slow
def test_ten_thousand_paths(tmp_path: Path) -> None:
    """No generated path raises an unexpected error or writes a file outside the two allowed places."""
    rng = random.Random(20)
    folder = tmp_path / "home"
    write(tmp_path, "outside.md", "untouched")
    saved = 0
    with home(folder) as memory:
        agent = memory.agent("main")
        agent.save("- of b", file="MEMORY.md")
        memory.agent("b").save("- of b alone")
        before = {path for path in tmp_path.rglob("*") if ".state" not in path.parts}
        for number in range(10_000):
            path = rng.choice(["/", "", "\\"]).join(rng.choices(PARTS, k=rng.randint(1, 4)))
            if rng.random() < 0.3:
                path = (
                    "memory/"
                    + "".join(
                        chr(rng.choice([rng.randrange(32, 127), rng.randrange(0x110000)]))
                        for _ in range(rng.randint(1, 9))
                    )
                    + ".md"
                )
            if path_allowed(path) is not None and number % 10:
                continue
            outcome = agent.save(f"fact number {number}", file=path)
            if isinstance(outcome.items[0], Saved):
                saved += 1
                assert (folder / path).is_file()
            else:
                assert isinstance(outcome.items[0], Refused)
            agent.delete(file=path, delete_file=True)
        after = {path for path in tmp_path.rglob("*") if ".state" not in path.parts}
        assert saved > 100
        assert {path.relative_to(folder).parts[0] for path in after - before} <= {"memory"}
        assert all(len(path.relative_to(folder).parts) <= 2 for path in after - before)
        assert (tmp_path / "outside.md").read_text() == "untouched"
        assert memory.agent("b").search("alone", min_score=0).hits[0].text == "- of b alone"
        assert memory.verify().clean
