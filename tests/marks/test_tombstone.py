"""Mark `tombstone`: a rejected value, keyed on the value, cannot be asserted again by any road."""

from __future__ import annotations

from pathlib import Path

import pytest

from memoranda.domain.outcome import Quarantined, Refused, Saved
from memoranda.domain.scope import agent_scope
from memoranda.memory import Memory
from tests.homes import home, read, texts, write

VALUE = "User prefers dark mode."
DRESSES = {
    "case": "USER PREFERS DARK MODE.",
    "white space": "User   prefers\tdark \n mode.",
    "list marker": "- User prefers dark mode.",
    "quote": "> User prefers dark mode.",
    "emphasis": "User **prefers** `dark` _mode_.",
    "full width": "\uff35ser prefers dark mode.",
    "ligature and compatibility": "User prefers d\u1d43rk mode.",
    "zero-width letters": "User pre\u200bfers d\u200dark mo\ufeffde.",
    "soft hyphens": "User pre\u00adfers dark mode.",
    "bidi controls": "User \u202eprefers\u202c dark mode.",
    "cyrillic look-alikes": "Us\u0435r pr\u0435f\u0435rs d\u0430rk m\u043ed\u0435.",
    "greek look-alikes": "User prefers d\u03b1rk m\u03bfde.",
    "lone punctuation": "User prefers - dark mode.",
}
"""The same value in other dress: refused."""

REWORDED = {
    "final stop": "User prefers dark mode",
    "exclamation": "User prefers dark mode!",
    "article": "The user prefers dark mode.",
    "word order": "Dark mode is what the user prefers.",
    "inflection": "Users preferred dark modes.",
    "commas": "User, prefers, dark mode.",
    "link": "[User prefers dark mode.](https://example.com)",
    "tag": "<b>User prefers</b> dark mode.",
    "comment": "User prefers<!-- x --> dark mode.",
    "entity": "User prefers d&#97;rk&nbsp;mode.",
    "check box": "- [x] User prefers dark mode.",
    "footnote": "User prefers dark mode.[^1]",
    "escapes": "User\\ prefers\\ dark\\ mode\\.",
    "diacritics": "U\u0301ser pr\u00e9fers d\u0332ark mode.",
    "among others": "We met on Monday. User prefers dark mode. Then we ate.",
    "as a line": "Notes of today\nUser prefers dark mode.\nMore of it",
    "in a cell": "| who | what |\n|---|---|\n| x | User prefers dark mode. |",
    "in a nested item": "- Settings\n  - User prefers dark mode.",
}
"""The same statement in other words: it waits for a person."""

DIFFERENT = [
    ("The service listens on 8080.", "The service listens on 8081."),
    ("She writes C# at work.", "She writes C at work."),
    ("He likes olives.", "He does not like olives."),
    ("The limit is -5 degrees.", "The limit is 5 degrees."),
    ("Use --force for pushes.", "Use force for pushes."),
    ("The rate is 1.5% a year.", "The rate is 15% a year."),
    ("Lights are on.", "Lights are off."),
    ("The door is open.", "The door is not open. The window is open."),
    (
        "\u305f\u3044\u304b\u304f\u306f\u9ad8\u3044\u3067\u3059\u304b\u3089\u306d",
        "\u3060\u3044\u304c\u304f\u306f\u9ad8\u3044\u3067\u3059\u304b\u3089\u306d",
    ),
    ("See [the map](a.png) of Rome.", "See [the plan](a.png) of Rome."),
]
"""Pairs that must never be taken for each other."""


def reject(memory: Memory, text: str) -> None:
    """A person saves a value and deletes it again."""
    person = memory.person("main")
    person.save(text)
    assert person.delete(file="MEMORY.md", text=text).done


def everywhere(folder: Path, memory: Memory) -> str:
    """All that stands in curated files and that an agent can find, as one text."""
    memory.sync()
    files = "\n".join(path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.md")))
    found = texts(memory.agent("main"), "", limit=64)
    return "\n".join([files, *found])


@pytest.mark.slow
@pytest.mark.parametrize("dress", DRESSES.values(), ids=DRESSES.keys())
@pytest.mark.parametrize("author", ["agent", "steward", "distiller", "importer"])
def test_the_value_in_another_dress_is_refused(tmp_path: Path, dress: str, author: str) -> None:
    """No model author and no importer writes a rejected value in any dress; another value they do write."""
    with home(tmp_path) as memory:
        reject(memory, VALUE)
        handle = memory.agent("main") if author == "agent" else memory.job(author, "run-1", "main")  # type: ignore[arg-type]
        refused = handle.save(dress).items[0]
        assert isinstance(refused, Refused)
        assert refused.rule == "tombstone"
        assert "dark" not in refused.message
        assert isinstance(handle.save("User prefers loud music.").items[0], Saved)
        seen = everywhere(tmp_path, memory).casefold()
        assert "loud music" in seen
        assert "mode" not in seen


@pytest.mark.parametrize("words", REWORDED.values(), ids=REWORDED.keys())
def test_the_statement_in_other_words_waits(tmp_path: Path, words: str) -> None:
    """A rephrased rejected statement goes to a person and into no file; the rest of the same save is written."""
    with home(tmp_path) as memory:
        reject(memory, VALUE)
        outcome = memory.agent("main").save(f"Rain is expected.\n\n{words}").items[0]
        assert isinstance(outcome, Saved)
        assert len(outcome.quarantined_ids) == 1
        seen = everywhere(tmp_path, memory)
        assert "Rain is expected." in seen
        assert words not in seen


@pytest.mark.slow
@pytest.mark.parametrize(("rejected", "other"), DIFFERENT, ids=[pair[1] for pair in DIFFERENT])
@pytest.mark.parametrize("turned", [False, True])
def test_different_values_are_not_confused(tmp_path: Path, rejected: str, other: str, *, turned: bool) -> None:
    """A value that differs by one sign, number or negation is written at once, in both directions."""
    rejected, other = (other, rejected) if turned else (rejected, other)
    with home(tmp_path) as memory:
        reject(memory, rejected)
        assert isinstance(memory.agent("main").save(other).items[0], Saved)
        assert not memory.agent("main").save(rejected).done
        assert texts(memory.agent("main"), "") == [other]


def test_the_laundering_sequence(tmp_path: Path) -> None:
    """Through update, replace, heading, title, tag text, restore, import and hand-over the value does not come back."""
    with home(tmp_path) as memory:
        agent, person = memory.agent("main"), memory.person("main")
        saved = agent.save("The office is in Oslo.").items[0]
        assert isinstance(saved, Saved)
        agent.save(VALUE, file="memory/prefs.md")
        checkpoint = agent.checkpoints(limit=1)[0].id
        assert person.delete(file="memory/prefs.md", text=VALUE).done
        gone = person.checkpoints(limit=1)[0].id
        assert not agent.update(saved.record_ids[0], VALUE).done
        assert not agent.save(f"The office is in Oslo.\n\n{VALUE}", file="MEMORY.md", append=False).done
        assert not agent.save(f"# {VALUE}\n\nFollows from settings.").done
        assert not agent.restore(gone).done
        assert isinstance(agent.restore(checkpoint).items[0], Saved | Refused)
        assert not memory.job("importer", "again", "main").save(VALUE).done
        assert "The office is in Oslo." in everywhere(tmp_path, memory)
        assert VALUE not in everywhere(tmp_path, memory)


@pytest.mark.parametrize("step", ["restart", "reindex", "lost index", "prune", "export and import"])
def test_it_survives(tmp_path: Path, step: str) -> None:
    """After a restart, a reindex, a lost index, a prune, an export and import, the value is still refused."""
    folder = tmp_path / "home"
    with home(folder) as memory:
        reject(memory, VALUE)
        memory.person("main").save("Kept line.")
        if step == "reindex":
            memory.reindex()
        if step == "prune":
            ledger, scope = memory._parts.stores.ledger, agent_scope("main")
            when = memory._parts.stores.clock.now()
            assert ledger.prune(scope, keep=0, before=when, at=when, author=memory.person("main").viewer.principal)
        if step == "export and import":
            memory.export_archive(tmp_path / "a.zip")
    if step == "lost index":
        for path in sorted((folder / ".state/index").rglob("*"), reverse=True):
            path.unlink() if path.is_file() else path.rmdir()
    with home(tmp_path / "other" if step == "export and import" else folder) as memory:
        if step == "export and import":
            memory.import_archive(tmp_path / "a.zip", run="moved")
        memory.sync()
        assert not memory.agent("main").save(VALUE).done
        assert not memory.job("distiller", "night", "main").save(VALUE.upper()).done
        assert texts(memory.agent("main"), "") == ["Kept line."]
        assert memory.verify().problems == ()


def test_only_a_person_lifts_a_persons_no(tmp_path: Path) -> None:
    """A person's own save or edit lifts it, as an event; then a model may repeat the value."""
    with home(tmp_path) as memory:
        reject(memory, VALUE)
        assert not memory.agent("main").save(VALUE).done
        write(tmp_path, "memory/mine.md", f"{VALUE}\n")
        memory.sync()
        lifted = memory.person("main").log(kind="tombstone", limit=10)
        assert [event.kind for event in lifted] == ["tombstone.lifted", "tombstone.made"]
        assert lifted[0].principal == "external"
        assert memory.agent("main").save(VALUE).done
        assert read(tmp_path, "memory/mine.md") == f"{VALUE}\n"


def test_an_agents_own_no_binds_jobs_until_it_writes_again(tmp_path: Path) -> None:
    """What an agent deletes no job brings back; the agent's own save lifts that, another agent's does not matter."""
    with home(tmp_path) as memory:
        agent = memory.agent("main")
        agent.save("The build takes nine minutes.")
        agent.delete(file="MEMORY.md", text="The build takes nine minutes.")
        assert not memory.job("distiller", "night", "main").save("The build takes nine minutes.").done
        assert not memory.job("importer", "old", "main").save("The build takes nine minutes.").done
        assert memory.agent("other").save("The build takes nine minutes.").done
        assert agent.save("The build takes nine minutes.").done
        agent.save("Another fact.")
        assert len(texts(agent, "")) == 2


def test_no_tombstone_where_an_identical_record_remains_or_the_value_is_kept(tmp_path: Path) -> None:
    """Deleting one of two copies, a whole file, or with keep_value rejects nothing; a plain delete does."""
    with home(tmp_path) as memory:
        person, agent = memory.person("main"), memory.agent("main")
        write(tmp_path, "MEMORY.md", "- twice\n- twice\n- kept value\n- plain\n")
        write(tmp_path, "memory/file.md", "in a file\n")
        memory.sync()
        person.delete(file="MEMORY.md", text="- twice\n")
        person.delete(file="memory/file.md", delete_file=True)
        person.delete(file="MEMORY.md", text="- kept value\n", keep_value=True)
        person.delete(file="MEMORY.md", text="- plain\n")
        stones = memory._parts.stores.ledger.tombstones(agent_scope("main"))
        assert len(stones) == 1
        assert isinstance(agent.save("plain").items[0], Refused)
        assert isinstance(agent.save("kept value").items[0], Quarantined | Saved)


def test_what_a_person_took_out_by_hand_waits(tmp_path: Path) -> None:
    """A line that a person removes or corrects in an editor is not simply written again by a model."""
    with home(tmp_path) as memory:
        agent = memory.agent("main")
        agent.save("- Meetings are on Monday.\n- Tea is preferred.\n- Bikes are in the cellar.")
        text = read(tmp_path, "MEMORY.md").replace("- Tea is preferred.\n", "").replace("on Monday", "on Tuesday")
        write(tmp_path, "MEMORY.md", text)
        memory.sync()
        for value in ("Tea is preferred.", "Meetings are on Monday."):
            assert isinstance(agent.save(value).items[0], Quarantined), value
        assert isinstance(agent.save("Coffee is served at noon.").items[0], Saved)
        assert "Monday" not in everywhere(tmp_path, memory)
