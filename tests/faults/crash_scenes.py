"""Homes before a write, and the write that a child is killed in: one scene for each kind of change."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import memoranda
from memoranda.adapters.files import atomic
from memoranda.domain.record import Details
from memoranda.domain.scope import agent_scope
from memoranda.memory import Memory
from tests.faults.crash_child import SETTINGS

NOTES = "memory/notes.md"
OFFERED = "An agent offers this."
PERSON = "A person wrote this in the last instant."


def _undone_three(memory: Memory) -> None:
    memory.person("main").undo(3)


def _brought_back(memory: Memory) -> None:
    person = memory.person("main")
    person.restore(person.checkpoints()[0].id)


def _restored(memory: Memory) -> None:
    person = memory.person("main")
    person.restore(person.checkpoints(path_contains="notes")[0].id)


def _appended(memory: Memory) -> None:
    memory.agent("main").save("The first new paragraph.\n\nThe second new paragraph.", file=NOTES)


def _created(memory: Memory) -> None:
    memory.agent("main").save("A file of its own.\n\nWith two paragraphs.", file="memory/fresh.md")


def _replaced(memory: Memory) -> None:
    memory.person("main").save("Notes written anew.\n\nGreen tea is kept.", file=NOTES, append=False)


def _cut(memory: Memory) -> None:
    memory.person("main").delete(file=NOTES, text="Coffee is drunk on Sundays.")


def _emptied(memory: Memory) -> None:
    memory.person("main").delete(file=NOTES, delete_file=True)


def _remembered(memory: Memory) -> None:
    details = Details(title="Swimming", tags=("sport",))
    memory.agent("main").remember("Swims on Mondays.\n\nDives on Fridays.", details=details, file=NOTES)


def _updated(memory: Memory) -> None:
    memory.agent("main").update(_record(memory, "Green tea"), "Black tea is kept.")


def _removed(memory: Memory) -> None:
    memory.person("main").remove(_record(memory, "Green tea"))


def _written_again(memory: Memory) -> None:
    memory.person("main").save("Rejected before.", file=NOTES)


def _offered_by_a_page(memory: Memory) -> None:
    memory.agent("main").session("reading").save("A page says this.\n\nAnd this.", file=NOTES)


def _block_begun(memory: Memory) -> None:
    memory.agent("main").core_append("human", "Likes green tea.")


def _block_set(memory: Memory) -> None:
    memory.agent("main").core_set("human", "- Likes black tea.\n- Is called Ann.")


def _approved(memory: Memory) -> None:
    operator = memory.operator(at_terminal=True)
    (waiting,) = operator.waiting()
    operator.approve(waiting.id, waiting.content_hash)


def _ruled_out(memory: Memory) -> None:
    operator = memory.operator(at_terminal=True)
    (waiting,) = operator.waiting()
    operator.reject(waiting.id, waiting.content_hash)


def _adopted(memory: Memory) -> None:
    memory.operator(at_terminal=True).adopt(_record(memory, "Green tea"))


def _record(memory: Memory, text: str) -> str:
    hits = memory.person("main").search(text, limit=5, min_score=0).hits
    return next(hit.record_id for hit in hits if text in hit.text)


def synced(memory: Memory) -> None:
    """Take note of what is on disk."""
    memory.sync()


def save_over_an_edit(memory: Memory) -> None:
    """Save while a person edits the file right before the exchange."""
    notes, rename, acted = memory.home / NOTES, atomic._rename, list[Path]()

    def swap(source: Path, target: Path, flags: int) -> bool:
        if not acted:
            acted.append(source)
            with notes.open("a", encoding="utf-8") as stream:
                stream.write(f"\n{PERSON}\n")
        return rename(source, target, flags)

    atomic._rename = swap
    memory.agent("main").save(OFFERED, file=NOTES)


def save_half_of_a_copy(memory: Memory) -> None:
    """Save, and be killed when half of the copy is written."""

    def torn(path: Path, data: bytes, mode: int) -> None:
        del mode
        path.write_bytes(data[: len(data) // 2 + 5])
        os.kill(os.getpid(), signal.SIGKILL)

    atomic._write = torn
    memory.agent("main").save(OFFERED, file=NOTES)


SCENES: dict[str, Callable[[Memory], None]] = {
    "append": _appended,
    "new file": _created,
    "replace": _replaced,
    "delete text": _cut,
    "delete file": _emptied,
    "restore": _restored,
    "undo of three files": _undone_three,
    "restore of three files": _brought_back,
    "sync of a person's edit": synced,
    "remember": _remembered,
    "update": _updated,
    "remove and reject": _removed,
    "lift by writing again": _written_again,
    "offer of a tainted session": _offered_by_a_page,
    "approval": _approved,
    "approval of an edit": _approved,
    "rejection": _ruled_out,
    "rejection of an edit": _ruled_out,
    "adopt": _adopted,
    "first line of a block": _block_begun,
    "a block written anew": _block_set,
}
"""What each scene's child does."""


def prepare(home: Path, scene: str) -> None:
    """Make the home a scene begins with: notes of an agent and of a person, and a history to go back in."""
    with memoranda.open(home, settings=SETTINGS) as memory:
        memory.agent("main").save("Green tea is kept.\n\nCoffee is drunk on Sundays.", file=NOTES)
        if scene in ("undo of three files", "restore of three files"):
            memory.agent("main").save("Swims every Monday.", file=NOTES)
            memory.person("main").save("A list to be gone.", file="memory/list.md")
            memory.person("main").delete(file="memory/list.md", delete_file=True)
            memory.agent("main").save("A plan of two steps.\n\nThe plan ends here.", file="memory/plan.md")
            memory.person("main").save("A list that stays.", file="memory/list.md")
            memory.person("main").save("Runs every Friday.", file=NOTES)
        if scene == "lift by writing again":
            memory.person("main").save("Rejected before.", file=NOTES)
            memory.person("main").delete(file=NOTES, text="Rejected before.")
        if scene == "restore of three files":
            memory.person("main").undo(3)
        if scene == "a block written anew":
            memory.agent("main").core_set("human", "- Likes green tea.\n- Is called Ann.")
        if scene == "restore":
            memory.person("main").save("Only this is left.", file=NOTES, append=False)
        if scene.endswith("a tainted session"):
            memory.agent("main").session("reading").tool_result("web_fetch", "a page")
        if scene.startswith(("approval", "rejection")):
            _wait(memory, home, in_file=scene.endswith("an edit"))
    if scene == "sync of a person's edit":
        notes = home / NOTES
        notes.write_text(notes.read_text() + "\nA person added this.\n\nAnd this.\n", encoding="utf-8")


def _wait(memory: Memory, home: Path, *, in_file: bool) -> None:
    """Let something wait for a ruling: offered by a tainted session, or written into the file by its shell."""
    session = memory.agent("main").session("reading")
    session.tool_result("web_fetch", "a page")
    if in_file:
        notes = home / NOTES
        notes.write_text(notes.read_text() + "\nThe shell wrote this.\n", encoding="utf-8")
        memory.sync()
    else:
        session.save("A page says this.\n\nAnd this.", file=NOTES)
    session.close()
    memory.sync()


@dataclass(frozen=True)
class Standing:
    """What a home says.

    The files' bytes, who is the author of every block and how far it counts, what waits or was decided, which values
    are rejected.
    """

    files: dict[str, bytes]
    authors: dict[str, tuple[tuple[str, str], ...]]
    trust: dict[str, tuple[str, ...]]
    rulings: tuple[tuple[str, str, int], ...]
    rejected: tuple[str, ...]


def standing(memory: Memory, home: Path) -> Standing:
    """Read what a home says now; every file must be known."""
    paths = sorted((home / "memory").rglob("*.md")) if (home / "memory").is_dir() else []
    paths += [home / "core.md"] if (home / "core.md").exists() else []
    person = memory.person("main")
    authors = {
        path.name: tuple(
            (line.text, str(line.record.author) if line.record else "nobody")
            for line in person.blame(path.relative_to(home).as_posix())
        )
        for path in paths
    }
    trust = {
        path.name: tuple(
            f"{line.record.status} {line.record.trust.label} {line.record.title}" if line.record else ""
            for line in person.blame(path.relative_to(home).as_posix())
        )
        for path in paths
    }
    rulings = tuple((item.kind, item.state, len(item.record_ids)) for item in person.proposals(pending=False))
    stones = memory._parts.stores.ledger.tombstones(agent_scope("main"))
    files = {path.name: path.read_bytes() for path in paths}
    return Standing(files, authors, trust, rulings, tuple(sorted(stone.value for stone in stones)))


def stray_files(home: Path) -> list[str]:
    """Return what is left beside the notes that is neither a note nor a folder."""
    return sorted(str(path.relative_to(home)) for path in home.rglob(".memoranda-*"))
