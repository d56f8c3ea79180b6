"""Archives: memory travels with what is known of it and with every rejection; nothing in one is believed."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from memoranda.domain.archive import MANIFEST, flattened
from memoranda.domain.outcome import Quarantined, Refused, Saved
from memoranda.domain.record import Details, Kind, Trust
from memoranda.errors import Conflict, IntegrityError, InvalidInput, MemorandaError
from memoranda.memory import Memory
from tests.homes import home, read, texts, write


def furnished(memory: Memory, folder: Path) -> None:
    """A home with everything an archive has to do with."""
    agent, person = memory.agent("main"), memory.person("main")
    agent.remember(
        "Deploys run on Friday.",
        details=Details(title="Deploys", tags=("ops",), kind=Kind.PROCEDURE, valid_from="2026-01-01"),
    )
    person.save("# Tools\n\n- hammer\n- saw\n\n| a | b |\n|---|---|\n| 1 | 2 |")
    person.save("A rejected value.")
    person.delete(file="MEMORY.md", text="A rejected value.")
    write(folder, "memory/deep/ly/my notes.markdown", "nested note\n\npassword: Xk9-Tr7-Qm2-Lp4\n")
    memory.sync()
    session = memory.agent("main").session("s")
    session.tool_result("fetch", "…")
    assert isinstance(session.save("What a page said.").items[0], Quarantined)
    session.close()
    memory.agent("other").save("Another agent's note.")
    memory.sync()


def inside(path: Path) -> dict[str, bytes]:
    """An archive's members."""
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def rewritten(path: Path, members: dict[str, bytes], *, honest: bool = False) -> Path:
    """Write an archive anew; an `honest` manifest has the right hashes."""
    if honest:
        manifest = json.loads(members[MANIFEST])
        manifest["members"] = {
            name: hashlib.sha256(data).hexdigest() for name, data in members.items() if name != MANIFEST
        }
        members = members | {MANIFEST: json.dumps(manifest).encode()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def snapshot(folder: Path) -> dict[str, bytes]:
    """Every file of a home but locks and logs of databases."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix != ".lock" and not path.name.endswith(("-shm", "-wal"))
    }


def test_memory_arrives_with_its_structure_and_metadata_and_without_trust(tmp_path: Path) -> None:
    """Headings, lists, tables, titles, tags, kinds and validity arrive; every record is the importer's, untrusted."""
    with home(tmp_path / "a") as source:
        furnished(source, tmp_path / "a")
        report = source.export_archive(tmp_path / "x.zip")
        assert (report.withheld, report.waiting) == (1, 1)
    assert (tmp_path / "x.zip").stat().st_mode & 0o777 == 0o600
    with home(tmp_path / "b") as goal:
        done = goal.import_archive(tmp_path / "x.zip", run="moved")
        assert done.refused == ()
        assert read(tmp_path / "b", "MEMORY.md").rstrip() == read(tmp_path / "a", "MEMORY.md").rstrip()
        assert read(tmp_path / "b", "memory/notes.md") == "## Deploys\n\nDeploys run on Friday.\n"
        assert read(tmp_path / "b", "memory/deep-ly-my-notes.md") == "nested note\n"
        hits = goal.agent("main").search("", limit=64).hits
        assert {(hit.trust, hit.author) for hit in hits} == {(Trust.UNTRUSTED, "importer:moved")}
        deploys = next(hit for hit in hits if hit.title == "Deploys")
        assert (deploys.tags, deploys.kind) == (("ops",), Kind.PROCEDURE)
        assert deploys.valid_from.startswith("2026-01-01")
        assert texts(goal.agent("other"), "note") == ["Another agent's note."]
        assert goal.verify().problems == ()


def test_what_waits_is_withheld_or_was_rejected_does_not_travel(tmp_path: Path) -> None:
    """No byte of it is in the archive, packed or not; the control of each kind is."""
    with home(tmp_path / "a") as source:
        furnished(source, tmp_path / "a")
        source.export_archive(tmp_path / "x.zip")
        key = (tmp_path / "a/.state/key").read_bytes()
    whole = b"\n".join([(tmp_path / "x.zip").read_bytes(), *inside(tmp_path / "x.zip").values()])
    for absent in (b"What a page said", b"A rejected value", b"Xk9-Tr7", key, key.hex().encode()):
        assert absent not in whole
    for present in (b"Deploys run on Friday", b"hammer", b"nested note", b"tombstone.made"):
        assert present in whole


def test_a_no_travels_and_binds(tmp_path: Path) -> None:
    """A value rejected in one home is refused to agents and jobs of another after an import, over two journeys too."""
    with home(tmp_path / "a") as source:
        furnished(source, tmp_path / "a")
        source.export_archive(tmp_path / "x.zip")
    with home(tmp_path / "b") as middle:
        middle.import_archive(tmp_path / "x.zip", run="one")
        middle.export_archive(tmp_path / "y.zip")
    with home(tmp_path / "c") as goal:
        goal.import_archive(tmp_path / "y.zip", run="two")
        for author in (goal.agent("main"), goal.job("distiller", "d", "main"), goal.job("importer", "i", "main")):
            for dress in (
                "A rejected value.",
                "a REJECTED value.",
                "A re\u200bjected value.",
                "A r\u0435jected value.",
            ):
                assert isinstance(author.save(dress).items[0], Refused), dress
        assert isinstance(goal.agent("main").save("An accepted value.").items[0], Saved)
    with home(tmp_path / "c") as goal:
        assert isinstance(goal.agent("main").save("A rejected value.").items[0], Refused)
        assert goal.person("main").save("A rejected value.").done
        assert goal.verify().problems == ()


def test_an_archive_brings_nothing_back_that_this_home_rejected(tmp_path: Path) -> None:
    """What is rejected here is left out of what comes in, and no archive lifts it; the neighbour line comes in."""
    with home(tmp_path / "a") as source:
        source.person("main").save("- neighbour line\n- the moon is cheese")
        source.export_archive(tmp_path / "x.zip")
    with home(tmp_path / "b") as goal:
        goal.person("main").save("The moon is cheese.")
        goal.person("main").delete(file="MEMORY.md", text="The moon is cheese.")
        done = goal.import_archive(tmp_path / "x.zip", run="r")
        assert (done.written, done.rejected) == (1, 1)
        assert texts(goal.agent("main"), "") == ["- neighbour line"]


def test_importing_twice_and_into_its_own_home_changes_nothing(tmp_path: Path) -> None:
    """The second import, and one of a home's own archive, find duplicates only; the files stay byte for byte."""
    with home(tmp_path / "a") as source:
        furnished(source, tmp_path / "a")
        source.export_archive(tmp_path / "x.zip")
        before = read(tmp_path / "a", "MEMORY.md")
        again = source.import_archive(tmp_path / "x.zip", run="self")
        assert (again.written, again.files) == (0, 0)
        assert again.duplicates > 3
        assert read(tmp_path / "a", "MEMORY.md") == before
        assert source.verify().problems == ()
    with home(tmp_path / "b") as goal:
        goal.person("main").save("Own first line.")
        first = goal.import_archive(tmp_path / "x.zip", run="r")
        second = goal.import_archive(tmp_path / "x.zip", run="r")
        assert first.written
        assert (second.written, second.duplicates) == (0, first.written)
        assert read(tmp_path / "b", "MEMORY.md") == "Own first line.\n"
        assert "hammer" in read(tmp_path / "b", "memory/MEMORY-imported.md")


Forge = Callable[[dict[str, bytes]], dict[str, bytes]]


def _trap(members: dict[str, bytes]) -> dict[str, bytes]:
    return members | {"files/agent+main/memory/trap.md": b"0" * 30_000_000}


FORGERIES: dict[str, tuple[Forge, bool]] = {
    "changed member": (lambda m: m | {"files/agent+main/MEMORY.md": b"forged\n"}, False),
    "member too many": (lambda m: m | {"files/agent+main/memory/x.md": b"extra\n"}, False),
    "member missing": (lambda m: {k: v for k, v in m.items() if k != "tombstones.jsonl"}, False),
    "no records": (lambda m: {k: v for k, v in m.items() if k != "records.jsonl"}, True),
    "other format": (lambda m: m | {MANIFEST: m[MANIFEST].replace(b'"format": 1', b'"format": 99')}, False),
    "broken manifest": (lambda m: m | {MANIFEST: b"{"}, False),
    "climbing name": (lambda m: m | {"files/agent+main/../../evil.md": b"evil\n"}, True),
    "absolute name": (lambda m: m | {"/evil.md": b"evil\n"}, True),
    "backslash": (lambda m: m | {"files/agent+main/a\\..\\b.md": b"evil\n"}, True),
    "bad scope": (lambda m: m | {"files/agent+..%2f/MEMORY.md": b"evil\n"}, True),
    "not UTF-8": (lambda m: m | {"files/agent+main/MEMORY.md": b"\xff\xfe\x00"}, True),
    "no key": (lambda m: {k: v for k, v in m.items() if not k.startswith("keys/")}, True),
    "renamed key": (
        lambda m: {("keys/0123456789abcdef" if k.startswith("keys/") else k): v for k, v in m.items()},
        True,
    ),
    "bomb": (_trap, True),
    "odd records": (lambda m: m | {"records.jsonl": b'{"scope": 1}\n'}, True),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_archive_changes_nothing(tmp_path: Path, name: str) -> None:
    """Refused before anything is written: the home is the same, byte for byte; the sound archive comes in."""
    with home(tmp_path / "a") as source:
        furnished(source, tmp_path / "a")
        source.export_archive(tmp_path / "x.zip")
    forge, honest = FORGERIES[name]
    forged = rewritten(tmp_path / "forged.zip", forge(inside(tmp_path / "x.zip")), honest=honest)
    with home(tmp_path / "b") as goal:
        goal.person("main").save("Was here before.")
    before = snapshot(tmp_path / "b")
    with home(tmp_path / "b") as goal, pytest.raises((InvalidInput, IntegrityError)):
        goal.import_archive(forged, run="r")
    assert snapshot(tmp_path / "b") == before
    with home(tmp_path / "b") as goal:
        assert goal.import_archive(tmp_path / "x.zip", run="r").written > 3


@pytest.mark.parametrize("data", [b"", b"not a zip", b"PK\x03\x04 cut off"])
def test_what_is_no_archive_is_said_so(tmp_path: Path, data: bytes) -> None:
    """Other files, cut ones and absent ones are named as what they are."""
    (tmp_path / "x.zip").write_bytes(data)
    with home(tmp_path / "b") as goal:
        with pytest.raises(InvalidInput):
            goal.import_archive(tmp_path / "x.zip", run="r")
        with pytest.raises(InvalidInput):
            goal.import_archive(tmp_path / "absent.zip", run="r")


def test_a_claim_of_trust_is_no_trust(tmp_path: Path) -> None:
    """An archive whose records claim operator trust, with right hashes, comes in untrusted all the same."""
    with home(tmp_path / "a") as source:
        furnished(source, tmp_path / "a")
        source.export_archive(tmp_path / "x.zip")
    members = inside(tmp_path / "x.zip")
    members["records.jsonl"] = members["records.jsonl"].replace(b'"application"', b'"operator"')
    assert b'"operator"' in members["records.jsonl"]
    forged = rewritten(tmp_path / "forged.zip", members, honest=True)
    with home(tmp_path / "b") as goal:
        assert goal.import_archive(forged, run="r").written > 3
        assert {hit.trust for hit in goal.agent("main").search("", limit=64).hits} == {Trust.UNTRUSTED}


def test_an_export_does_not_overwrite_and_leaves_no_half(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An existing file is kept without `replace`; a failure leaves neither a half archive nor a temporary file."""
    with home(tmp_path / "a") as source:
        source.person("main").save("A line.")
        path = tmp_path / "x.zip"
        path.write_bytes(b"precious")
        with pytest.raises(Conflict):
            source.export_archive(path)
        assert path.read_bytes() == b"precious"
        with monkeypatch.context() as patch:
            patch.setattr(zipfile.ZipFile, "writestr", _fails)
            with pytest.raises(MemorandaError):
                source.export_archive(path, replace=True)
        assert path.read_bytes() == b"precious"
        assert sorted(item.name for item in tmp_path.iterdir()) == ["a", "x.zip"]
        assert source.export_archive(path, replace=True).files == 1
        assert zipfile.is_zipfile(io.BytesIO(path.read_bytes()))


def _fails(*_: object, **__: object) -> None:
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize(
    ("path", "flat"),
    [
        ("MEMORY.md", "MEMORY.md"),
        ("memory/a.md", "memory/a.md"),
        ("memory/a b.md", "memory/a-b.md"),
        ("memory/x/y/z.markdown", "memory/x-y-z.md"),
        ("memory/Größe & Maß.md", "memory/Größe-Maß.md"),
        ("memory/ .md", "memory/imported.md"),
    ],
)
def test_deep_and_odd_paths_are_flattened(path: str, flat: str) -> None:
    """What agents may not write comes in under a legal name that can still be recognised."""
    assert flattened(path) == flat


def test_a_damaged_ledger_is_not_exported_as_an_empty_file(tmp_path: Path) -> None:
    """Where the kept content is damaged the export stops and leaves no file; a sound one is written."""
    with home(tmp_path / "a") as source:
        source.person("main").save("A line that matters.")
        assert source.export_archive(tmp_path / "sound.zip").records == 1
    with closing(apsw.Connection(str(tmp_path / "a/.state/ledger.db"))) as ledger:
        ledger.execute("DELETE FROM objects")
    with home(tmp_path / "a") as source:
        with pytest.raises(IntegrityError):
            source.export_archive(tmp_path / "x.zip")
        assert not (tmp_path / "x.zip").exists()
