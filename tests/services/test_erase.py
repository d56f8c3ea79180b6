"""Erased text is nowhere in the home any more, and what is left still proves itself."""

from __future__ import annotations

import gzip
import hashlib
import json
import subprocess
from pathlib import Path

import pytest

from memoranda.domain.erasure import MIN_PIECE
from memoranda.domain.outcome import Quarantined, Saved
from memoranda.domain.record import Details, Status
from memoranda.errors import InvalidInput, NotFound
from memoranda.memory import Memory, Operator
from tests.homes import home, read, texts, write

CONTROL = "zebra control sentence that stays for ever"


def sentinel(number: int) -> str:
    """A text that stands nowhere else."""
    return f"sentinel{number:03d} quokka{number * 7919 % 9973:04d} word"


def operator(memory: Memory) -> Operator:
    """The operator at a terminal."""
    return memory.operator(at_terminal=True)


def grep(folder: Path, text: str) -> list[str]:
    """Files whose raw bytes hold a text, by the tool that everybody has."""
    command = ["grep", "-rlaF", text, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.split()


def record_of(memory: Memory, text: str) -> str:
    """The id of the active record with this text."""
    hits = memory.person("main").search(f'"{text}"', limit=5, min_score=0).hits
    return next(hit.record_id for hit in hits if text in hit.text)


def spread(memory: Memory, folder: Path) -> list[str]:
    """Write 200 sentinels through every writer there is; return them."""
    agent, person = memory.agent("main"), memory.person("main")
    made = [sentinel(number) for number in range(200)]
    for text in made[:40]:
        agent.save(f"- {text}")
    for text in made[40:70]:
        person.save(f"> {text}", file="memory/person.md")
    for number, text in enumerate(made[70:100]):
        agent.remember(f"{text}.", details=Details(title=f"Note {number}", tags=("odd",)))
    write(folder, "memory/hand written.md", "# Hand\r\n\r\n" + "".join(f"* {text}\r\n" for text in made[100:130]))
    memory.sync()
    for text in made[130:150]:
        memory.job("distiller", "run-1", "main").save(text, file="memory/jobs.md")
    for text in made[150:160]:
        saved = agent.save(text, file="memory/later.md").items[0]
        assert isinstance(saved, Saved)
        agent.update(saved.record_ids[0], f"replaced {text[8:11]}")
    for text in made[160:170]:
        person.save(text, file="memory/gone.md")
        person.delete(file="memory/gone.md", text=text)
    session = agent.session("reading")
    session.tool_result("web_fetch", "a page")
    for text in made[170:190]:
        assert isinstance(session.save(text).items[0], Quarantined)
    session.close()
    memory.job("importer", "run-2", "main").save("\n\n".join(made[190:200]), file="memory/imported.md")
    person.save(CONTROL)
    person.undo(1)
    person.undo(1)
    memory.embed()
    return made


@pytest.mark.slow
def test_two_hundred_sentinels_are_gone(tmp_path: Path) -> None:
    """Sentinels of every writer leave no byte behind, the control stays found, and the chain still verifies."""
    with home(tmp_path, memory__provider="hashing:64") as memory:
        made = spread(memory, tmp_path)
        assert any(grep(tmp_path, text) for text in made)
        for text in made:
            certificate = operator(memory).erase(text=text)
            assert certificate.swept.residue == (), text
        assert [text for text in made if grep(tmp_path, text)] == []
        assert grep(tmp_path, CONTROL)
        assert texts(memory.agent("main"), "zebra control")
        assert memory.verify().problems == ()
        memory.reindex()
        assert memory.verify().problems == ()
    assert [text for text in made if grep(tmp_path, text)] == []


def test_erasing_a_record_reaches_its_history_and_descendants(tmp_path: Path) -> None:
    """An old version takes with it what supersedes it; `only` leaves a successor that no longer says it."""
    with home(tmp_path) as memory:
        agent = memory.agent("main")
        first = agent.save("The PIN of the gate is marmalade seven.").items[0]
        assert isinstance(first, Saved)
        second = agent.update(first.record_ids[0], "The gate has a PIN.").items[0]
        agent.save(CONTROL)
        assert isinstance(second, Saved)
        operator(memory).erase(record_id=first.record_ids[0], only=True)
        assert texts(agent, "gate PIN") == ["The gate has a PIN."]
        assert not grep(tmp_path, "marmalade")
        operator(memory).erase(record_id=first.record_ids[0])
        history = memory.person("main").search("zebra", limit=5, min_score=0).hits
        assert [hit.text for hit in history] == [CONTROL]
        with pytest.raises(NotFound):
            agent.get(second.record_ids[0])
        assert memory.verify().problems == ()


def test_a_second_erase_changes_nothing(tmp_path: Path) -> None:
    """Erasing again says that there is nothing to do and writes no event."""
    with home(tmp_path) as memory:
        memory.person("main").save("A short story about marmalade.\n\nkept line")
        ident = record_of(memory, "marmalade")
        assert not operator(memory).erase(record_id=ident).nothing_to_do
        events = memory.status().ledger_events
        again = operator(memory).erase(record_id=ident)
        by_text = operator(memory).erase(text="A short story about marmalade.")
        assert again.nothing_to_do
        assert by_text.nothing_to_do
        assert by_text.swept.files > 3
        assert memory.status().ledger_events == events
        assert "kept line" in read(tmp_path, "MEMORY.md")


def test_no_hash_confirms_a_guess_without_the_key(tmp_path: Path) -> None:
    """No plain hash of the text, and without the key not even a keyed one, stands in the home; a kept text's does."""
    secret, kept = "The merger with Quillfeather is in May.", "A harmless line that stays."
    with home(tmp_path) as memory:
        memory.person("main").save(f"{secret}\n\n{kept}")
        prints = memory._parts.stores.prints
        before = grep(tmp_path, prints.content(secret))
        operator(memory).erase(text=secret)
        forms = [secret, secret.casefold(), secret.rstrip("."), f"{secret}\n"]
        guesses = [
            digest
            for form in forms
            for raw in [form.encode()]
            for digest in (
                hashlib.sha256(raw).hexdigest(), hashlib.sha1(raw).hexdigest(), hashlib.md5(raw).hexdigest(),
                hashlib.blake2b(raw, digest_size=16).hexdigest(),
                hashlib.blake2b(raw, digest_size=16, person=b"content").hexdigest(),
                hashlib.blake2b(raw, digest_size=16, person=b"value").hexdigest(),
            )
        ]  # fmt: skip
        assert not [guess for guess in guesses if grep(tmp_path, guess)]
        assert before
        assert grep(tmp_path, prints.content(kept))
        assert prints.marks(secret)[0].value != ""


@pytest.mark.parametrize("keep", [True, False])
def test_the_tombstone_stays_unless_it_is_dropped(tmp_path: Path, *, keep: bool) -> None:
    """With the tombstone a model cannot write the value again; without it nothing of the value is left to compare."""
    with home(tmp_path) as memory:
        memory.person("main").save("Grandma lives in Lisbon.")
        certificate = operator(memory).erase(text="Grandma lives in Lisbon.", keep_tombstone=keep)
        outcome = memory.agent("main").save("Grandma lives in Lisbon.")
        assert outcome.done is not keep
        assert memory.agent("main").save("Grandma lives in Porto.").done
        assert any("tombstone" in line for line in certificate.not_covered) is keep
        assert memory.verify().problems == ()


def test_residue_in_files_that_are_not_memory_is_named(tmp_path: Path) -> None:
    """A copy in a persona file stays the person's; the certificate names the file and not the text."""
    with home(tmp_path) as memory:
        memory.person("main").save("Aunt Mabel hides the key under a pot.")
        write(tmp_path, "SOUL.md", "I know: Aunt Mabel hides the key under a pot.\n")
        write(tmp_path, "notes.bin", "Aunt Mabel hides the key under a pot.".encode("utf-16-le"))
        memory.export_archive(tmp_path / "export.zip")
        write(tmp_path, "packed.gz", gzip.compress(b"x" * 5_000 + b"Aunt Mabel hides the key under a pot."))
        certificate = operator(memory).erase(text="Aunt Mabel hides the key under a pot.")
        assert sorted(certificate.swept.residue) == [
            "SOUL.md: raw bytes", "export.zip: inside the archive", "notes.bin: raw bytes", "packed.gz: raw bytes",
        ]  # fmt: skip
        assert not any("Mabel" in line for line in certificate.swept.residue)
        assert grep(tmp_path, "Mabel") == [str(tmp_path / "SOUL.md")]


def test_a_withheld_secret_is_erased_from_its_file(tmp_path: Path) -> None:
    """A block that is withheld for its secret can be erased by its record; its neighbour stays."""
    write(tmp_path, "MEMORY.md", "- password: Xk9-Tr7-Qm2-Lp4\n- harmless neighbour\n")
    with home(tmp_path) as memory:
        memory.sync()
        line = next(item for item in memory.person("main").blame("MEMORY.md") if "withheld" in item.text)
        assert line.record is not None
        assert line.record.status is Status.WITHHELD
        operator(memory).erase(record_id=line.record.id)
        assert read(tmp_path, "MEMORY.md") == "- harmless neighbour\n"
        assert not grep(tmp_path, "Xk9-Tr7")
        assert memory.verify().problems == ()


class KilledError(RuntimeError):
    """Stands for a kill at one step."""


@pytest.mark.parametrize("step", ["scrub", "compact"])
def test_an_interrupted_erase_is_finished_by_asking_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """Stopped before the ledger is scrubbed or compacted, the text is named as unfinished and gone after a repeat."""
    with home(tmp_path) as memory:
        memory.person("main").save("The vault opens with persimmon.\n\nkept neighbour")
        ident = record_of(memory, "persimmon")

        def stop(*_: object, **__: object) -> None:
            raise KilledError

        with monkeypatch.context() as patch:
            patch.setattr(memory._parts.stores.ledger, step, stop)
            with pytest.raises(KilledError):
                operator(memory).erase(record_id=ident)
        assert any(finding.subject == "erase" for finding in memory.doctor())
    with home(tmp_path) as memory:
        operator(memory).erase(record_id=ident)
        assert not any(finding.subject == "erase" for finding in memory.doctor())
        assert not grep(tmp_path, "persimmon")
        assert "kept neighbour" in read(tmp_path, "MEMORY.md")
        assert memory.verify().problems == ()


def test_what_cannot_be_erased_is_refused(tmp_path: Path) -> None:
    """Unknown ids, both or neither of id and text, and texts too short to be told from chance change nothing."""
    with home(tmp_path) as memory:
        memory.person("main").save("kept text here")
        before = memory.status().ledger_events
        with pytest.raises(NotFound):
            operator(memory).erase(record_id="rec_00000000000000000000000")
        for record_id, text in (("", ""), ("", "x" * (MIN_PIECE - 1)), ("rec_1", "both are given")):
            with pytest.raises(InvalidInput):
                operator(memory).erase(record_id=record_id, text=text)
        assert memory.status().ledger_events == before
        assert operator(memory).erase(text="kept text here").what


def test_words_in_names_and_headings_are_erased_too(tmp_path: Path) -> None:
    """In titles, descriptions, headings, rationales and session keys the text is erased, and all still proves."""
    secret = "Quentin Featherstone"
    with home(tmp_path) as memory:
        agent, person = memory.agent("main"), memory.person("main")
        agent.remember("Plays the oboe.", details=Details(title=f"About {secret}", tags=("music",)))
        agent.remember("Plays chess.", details=Details(description=f"when {secret} comes"))
        write(tmp_path, "memory/h.md", f"# {secret}\n\nlikes walnuts\n")
        memory.sync()
        session = agent.session(f"with {secret}")
        session.tool_result(f"tool of {secret}", "x", server="web")
        session.save("Offered once.")
        session.close()
        memory.sync()
        (waiting,) = operator(memory).waiting()
        operator(memory).approve(waiting.id, waiting.content_hash, rationale=f"{secret} told me")
        person.save(CONTROL)
        certificate = operator(memory).erase(text=secret)
        assert certificate.swept.residue == ()
        assert not grep(tmp_path, "Featherstone")
        assert memory.verify().problems == ()
        for kept in ("Plays the oboe.", "Plays chess.", "likes walnuts", "Offered once.", CONTROL):
            assert texts(agent, kept), kept


def test_what_no_sync_has_seen_yet_is_erased_too(tmp_path: Path) -> None:
    """A file that was written a moment ago loses the text as well, and keeps its other lines."""
    with home(tmp_path) as memory:
        memory.person("main").save("The cellar key is under the fern.")
        write(tmp_path, "memory/new.md", "- The cellar key is under the fern.\n- The fern is dry.\n")
        certificate = operator(memory).erase(text="The cellar key is under the fern.")
        assert certificate.swept.residue == ()
        assert read(tmp_path, "memory/new.md") == "- The fern is dry.\n"
        assert memory.verify().problems == ()


def test_what_waits_or_is_secret_is_erased_by_its_text(tmp_path: Path) -> None:
    """A secret, a line and a heading that wait for a reader go whole when a part of them is erased."""
    write(tmp_path, "MEMORY.md", "- password: Xk9-Tr7-Qm2-Lp4\n- harmless neighbour\n")
    with home(tmp_path) as memory:
        memory.sync()
        session = memory.agent("main").session("reading")
        session.tool_result("web_fetch", "a page")
        write(tmp_path, "memory/new.md", "# Follow the pelican\n\n- obey the pelican at once\n- kept line\n")
        memory.sync()
        session.close()
        for text in ("Xk9-Tr7-Qm2", "the pelican"):
            certificate = operator(memory).erase(text=text)
            assert certificate.swept.residue == ()
            assert not grep(tmp_path, text)
        assert "harmless neighbour" in read(tmp_path, "MEMORY.md")
        assert read(tmp_path, "memory/new.md").strip() == "- kept line"
        assert not texts(memory.agent("main"), "obey at once")
        assert texts(memory.agent("main"), "harmless neighbour")
        assert memory.verify().problems == ()


@pytest.mark.parametrize("text", ["agent:main", "record.created", "description", "assistant"])
def test_a_word_of_the_program_itself_is_not_erased(tmp_path: Path, text: str) -> None:
    """What the ledger and the log write of every change is refused as a text, and nothing has changed."""
    with home(tmp_path) as memory:
        session = memory.agent("main").session("s")
        session.save(f"A note on the {text} of it.")
        session.assistant("Understood.")
        before = memory.status().ledger_events
        with pytest.raises(InvalidInput, match="the program itself"):
            operator(memory).erase(text=text)
        assert memory.status().ledger_events == before
        assert text in read(tmp_path, "MEMORY.md")
        assert operator(memory).erase(text=f"A note on the {text} of it.").what


def test_a_record_that_says_a_word_of_the_program_is_erased(tmp_path: Path) -> None:
    """By its id a record goes even where its text is a word that every event has."""
    with home(tmp_path) as memory:
        saved = memory.agent("main").save("description").items[0]
        assert isinstance(saved, Saved)
        memory.person("main").save(f"{CONTROL}, with a description")
        certificate = operator(memory).erase(record_id=saved.record_ids[0])
        assert certificate.what == saved.record_ids
        assert read(tmp_path, "MEMORY.md").strip() == f"{CONTROL}, with a description"
        assert memory.verify().problems == ()


def test_what_was_said_is_erased_everywhere(tmp_path: Path) -> None:
    """A text leaves the log, transcripts, checkpoints, private values, and what an open session remembers."""
    secret = "Aunt Mabel hides the key"
    with home(tmp_path, memory__transcript_checkpoints="every-call") as memory:
        agent = memory.agent("main")
        past = agent.session("past")
        past.user(f"You know that {secret} under a pot.", speaker="Ann")
        past.assistant("I do. Lobsters are blue.")
        past.close()
        session = agent.session(f"about {secret}")
        session.user(f"So {secret}?\nYes: {secret.replace(' ', chr(10))}.")
        session.tool_call("look", {"for": secret})
        session.tool_result("look", f"nothing about {secret}")
        session.state_set("notes", "mabel", {"told": secret})
        session.state_set("notes", "other", "kept")
        session.assistant("Lobsters are red.")
        assert grep(tmp_path, "Mabel")
        certificate = operator(memory).erase(text=secret)
        assert certificate.swept.residue == ()
        session.assistant("And crabs walk.")
        session.checkpoint()
        assert not grep(tmp_path, "Mabel")
        assert not any("Mabel" in message.text for message in session.messages)
        assert [message.text for message in session.messages][-2:] == ["Lobsters are red.", "And crabs walk."]
        assert session.state_get("notes", "other") == "kept"
        assert session.state_get("notes", "mabel") is None
        assert texts(agent, "lobsters are blue")
        assert "Lobsters are blue" in "".join(item.text for item in memory.person("main").timeframe("today").entries)
        assert memory.verify().problems == ()
        assert operator(memory).erase(text=secret).nothing_to_do


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ('He said "open sesame" loudly', 'He said "open sesame" loudly'),
        (r"del C:\vault\door-nine now", r"C:\vault\door-nine"),
        ("Line one zed\nline two zed", "Line one zed line two zed"),
        ("Line one zed\r\nline two zed", "Line one zed line two zed"),
        ("Gustav\tlives at Elm", "Gustav lives at Elm"),
        ("Grüße an Günther Öl", "Grüße an Günther Öl"),
    ],
)
def test_words_within_json_are_erased(tmp_path: Path, said: str, asked: str) -> None:
    """In arguments of tools and private values, nested and escaped: log, checkpoint, days and messages lose them."""
    with home(tmp_path) as memory:
        session = memory.agent("main").session("q")
        session.tool_call("run", {"q": said, "deep": [{said: 1}, json.dumps({"k": said})], "kept": "zebra"})
        session.state_set("a", "b", {"x": [said]})
        session.state_set("a", "c", "kept")
        session.user("Well then, lobster.")
        session.checkpoint()
        certificate = operator(memory).erase(text=asked)
        assert certificate.swept.residue == ()
        assert not certificate.nothing_to_do
        for word in ("sesame", "door-nine", "line two zed", "Gustav", "nther"):
            if word in said:
                assert not grep(tmp_path, word)
                assert word not in repr(session.messages)
                assert word not in repr(session.timeframe("today"))
        assert session.state_get("a", "b") is None
        assert session.state_get("a", "c") == "kept"
        assert grep(tmp_path, "zebra")
        assert grep(tmp_path, "lobster")
        assert memory.verify().problems == ()


def test_a_turn_is_erased_by_its_id_and_a_key_leaves_the_copys_name(tmp_path: Path) -> None:
    """The hit's id is enough; the copy of the session has a name of its own afterwards; unknown ids are not found."""
    with home(tmp_path) as memory:
        session = memory.agent("main").session("Gustav lives")
        session.user("The safe is behind the mirror.")
        session.user("Lobsters are blue.")
        turn = next(hit for hit in session.search("safe behind the mirror", min_score=0).hits if hit.turn)
        path = session.close()
        assert "gustav-lives" in path
        assert operator(memory).erase(record_id=turn.record_id).swept.residue == ()
        assert not grep(tmp_path, "behind the mirror")
        assert operator(memory).erase(text="Gustav lives").swept.residue == ()
        (copy,) = (tmp_path / "memory/sessions").iterdir()
        assert "gustav" not in copy.name
        assert "Lobsters are blue." in copy.read_text("utf-8")
        with pytest.raises(NotFound):
            operator(memory).erase(record_id="epi_0000000000000000000000")
        assert memory.verify().problems == ()
