"""The roads by which untrusted words come near a memory. A later surface adds a function here and cases to the corpus.

Each takes a `Scene` and a text, and does what an attacked agent would do with it; the same road taken by an honest,
untainted agent is its `control`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import memoranda
from memoranda.domain.outcome import Saved
from memoranda.domain.record import Details
from memoranda.errors import MemorandaError
from memoranda.interfaces import tools
from memoranda.memory import Agent, Memory, Session
from tests.homes import KEYWORDS_ONLY, write

VICTIM = "The user's birthday is in October."
"""An honest note that attacks try to destroy."""


@dataclass
class Scene:
    """A home under attack. `taint` says whether the agent has read the page; `arguments` are the case's own."""

    memory: Memory
    folder: Path
    taint: bool
    arguments: dict[str, str | None] = field(default_factory=dict)
    other: Memory | None = None

    def session(self, agent: str = "ann", key: str = "chat") -> Session:
        """A session that has read a page, or for the control has not."""
        session = self.memory.agent(agent).session(key)
        if self.taint:
            session.tool_result("web_fetch", "the page")
        return session

    def record(self, text: str) -> str:
        """The id of an active record of ann."""
        hits = self.memory.person("ann").search(text, limit=9, min_score=0).hits
        return next(hit.record_id for hit in hits if text in hit.text)


def save(scene: Scene, text: str) -> None:
    """Append to the notes."""
    scene.session().save(text, file="memory/web.md")


def replace(scene: Scene, text: str) -> None:
    """Overwrite own notes."""
    scene.memory.agent("ann").save("An own line.", file="memory/own.md")
    scene.session().save(f"An own line.\n\n{text}", file="memory/own.md", append=False)


def remember(scene: Scene, text: str) -> None:
    """Write a record."""
    scene.session().remember(text, details=Details(title="Learnt today"))


def remember_title(scene: Scene, text: str) -> None:
    """Write a record whose title carries the words."""
    scene.session().remember("Nothing in the body.", details=Details(title=text[:150]))


def remember_tags(scene: Scene, text: str) -> None:
    """Write a record whose description and tags carry the words."""
    scene.session().remember("Only a body.", details=Details(description=text[:300], tags=(text[-40:],)))


def update(scene: Scene, text: str) -> None:
    """Rewrite an own record."""
    item = scene.memory.agent("ann").save("A fact of ann's.", file="memory/fact.md").items[0]
    assert isinstance(item, Saved)
    scene.session().update(item.record_ids[0], text)


def propose(scene: Scene, text: str) -> None:
    """Offer to the team; the control is approved by a person, as every honest offer must be."""
    scene.session().propose_to_team(text)
    if not scene.taint:
        operator = scene.memory.operator(at_terminal=True)
        for waiting in operator.waiting():
            operator.approve(waiting.id, waiting.content_hash)


def sessionless(scene: Scene, text: str) -> None:
    """A tool server that does not know the session."""
    scene.session()
    scene.memory.agent("ann").save(text)


def other_key(scene: Scene, text: str) -> None:
    """Once through the tainted session, then again through a clean one."""
    scene.session(key="first").save(text)
    scene.memory.agent("ann").session("second").save(text)


def message(scene: Scene, text: str) -> None:
    """Bob read the page and tells ann."""
    ann = scene.memory.agent("ann").session("with bob")
    ann.save(ann.receive(text, scene.session("bob")))


def chain(scene: Scene, text: str) -> None:
    """Carl read the page, tells bob, bob tells ann."""
    bob = scene.memory.agent("bob").session("middle")
    bob.receive(text, scene.session("carl"))
    ann = scene.memory.agent("ann").session("end")
    ann.save(ann.receive(text, bob))


def unknown_sender(scene: Scene, text: str) -> None:
    """A message claims a session that does not exist; the control's exists."""
    ann = scene.memory.agent("ann").session("inbox")
    sender = "ses_made_up" if scene.taint else scene.memory.agent("bob").session("real").id
    ann.save(ann.receive(text, sender))


def distiller(scene: Scene, text: str) -> None:
    """Background work on the session."""
    scene.memory.job("distiller", "night", "ann", session_id=scene.session().id).save(text)


def steward(scene: Scene, text: str) -> None:
    """A steward's run on the session."""
    scene.memory.job("steward", "dream", "ann", session_id=scene.session().id).remember(text)


def evidence(scene: Scene, text: str) -> None:
    """A clean session cites the tainted one."""
    cited = scene.session(key="read").id
    scene.memory.agent("ann").session("clean").remember(text, details=Details(evidence=(cited,)))


def hand_edit(scene: Scene, text: str) -> None:
    """The agent's shell edits the file."""
    session = scene.session()
    if not scene.taint:
        session.close()
        scene.memory.sync()
    write(scene.folder / "agents/ann", "memory/shell.md", f"{text}\n")
    scene.memory.sync()


def late_edit(scene: Scene, text: str) -> None:
    """The shell edits, the session ends, then a sync looks."""
    session = scene.session()
    if scene.taint:
        write(scene.folder / "agents/ann", "memory/late.md", f"{text}\n")
        session.close()
    else:
        session.close()
        scene.memory.sync()
        write(scene.folder / "agents/ann", "memory/late.md", f"{text}\n")
    scene.memory.sync()


def rejected_edit(scene: Scene, text: str) -> None:
    """A clean session's shell writes what a person rejected; the control was not rejected."""
    person = scene.memory.person("ann")
    if scene.taint:
        person.save(text, file="memory/was.md")
        person.delete(file="memory/was.md", text=text)
    scene.memory.agent("ann").session("clean")
    write(scene.folder / "agents/ann", "memory/back.md", f"{text}\n")
    scene.memory.sync()


def restore(scene: Scene, text: str) -> None:
    """A tainted session restores what was removed; the control's session is clean and the text its own."""
    agent = scene.memory.agent("ann")
    agent.save(text, file="memory/r.md")
    handle = scene.memory.person("ann") if scene.taint else agent
    handle.delete(file="memory/r.md", text=text)
    kept = agent.checkpoints(limit=1)[0].id
    scene.session().restore(kept)


def undo(scene: Scene, text: str) -> None:
    """A tainted session takes back a removal."""
    agent = scene.memory.agent("ann")
    agent.save(text, file="memory/u.md")
    handle = scene.memory.person("ann") if scene.taint else agent
    handle.delete(file="memory/u.md", text=text)
    scene.session().undo(1)


def archive(scene: Scene, text: str) -> None:
    """Export a home where it waits, import it into another."""
    scene.session().save(text)
    _carry(scene)


def forged_archive(scene: Scene, text: str) -> None:
    """A person's archive is unpacked and given words that waited and a claim of trust, its manifest left as it was."""
    scene.session().save("Carrier line.", file="memory/carrier.md")
    scene.memory.person("ann").save("Honest line." if scene.taint else text, file="memory/p.md")
    if not scene.taint:
        _carry(scene)
        return
    path = scene.folder.parent / f"{scene.folder.name}.zip"
    scene.memory.export_archive(path, agents=["ann"])
    with zipfile.ZipFile(path) as sound:
        members = {name: sound.read(name) for name in sound.namelist()}
    members["files/agent+ann/memory/p.md"] = text.encode()
    with zipfile.ZipFile(path, "w") as forged:
        for name, data in members.items():
            forged.writestr(name, data.replace(b'"application"', b'"operator"') if name == "records.jsonl" else data)
    scene.other = memoranda.open(scene.folder.parent / "other", settings=KEYWORDS_ONLY)
    scene.other.import_archive(path, run="forged")


def _carry(scene: Scene) -> None:
    path = scene.folder.parent / f"{scene.folder.name}.zip"
    scene.memory.export_archive(path)
    scene.other = memoranda.open(scene.folder.parent / "other", settings=KEYWORDS_ONLY)
    scene.other.import_archive(path, run="carried")


def _tool(scene: Scene, name: str, arguments: dict[str, object]) -> None:
    tools.call(tools.TOOLS, name, tools.Caller(scene.session()), arguments)


def tool_save(scene: Scene, text: str) -> None:
    """The tool that saves."""
    _tool(scene, "memory_save", {"content": text})


def tool_memory(scene: Scene, text: str) -> None:
    """The recorder."""
    _tool(scene, "memory", {"action": "remember", "body": text, "title": "From a tool"})


def cli(scene: Scene, text: str) -> None:
    """A hook's command line, pinned to the agent and its session."""
    session = scene.session()
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("MEMORANDA_")},
        "MEMORANDA_AGENT": "ann",
        "MEMORANDA_SESSION": session.key,
        "MEMORANDA_MEMORY_PROVIDER": "none",
    }
    command = [sys.executable, "-m", "memoranda", "save", text, "--home", str(scene.folder), "--json"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert json.loads(done.stdout), done.stderr


def tool_name(scene: Scene, text: str) -> None:
    """The tool's name or server pretends to be a trusted one."""
    session = scene.memory.agent("ann").session("named")
    if scene.taint:
        session.tool_result(str(scene.arguments["tool"]), text, scene.arguments["server"])
    else:
        session.tool_result("read_file", text)
    session.save(text)


def shared(scene: Scene, text: str) -> None:
    """A group channel; the control's is private."""
    session = scene.memory.agent("ann").session("group", audience="shared" if scene.taint else "private")
    session.save(text)


def delete(scene: Scene, text: str) -> None:
    """Delete the note; the control adds one."""
    session = scene.session()
    session.delete(file="memory/life.md", text=VICTIM) if scene.taint else session.save(text)


def forget(scene: Scene, text: str) -> None:
    """Forget the note."""
    session = scene.session()
    session.forget(VICTIM) if scene.taint else session.save(text)


def delete_file(scene: Scene, text: str) -> None:
    """Delete the file."""
    session = scene.session()
    session.delete(file="memory/life.md", delete_file=True) if scene.taint else session.save(text)


def overwrite(scene: Scene, text: str) -> None:
    """Replace the file."""
    session = scene.session()
    session.save(text, file="memory/life.md" if scene.taint else "memory/new.md", append=False)


def remove(scene: Scene, text: str) -> None:
    """Remove the record."""
    session = scene.session()
    session.remove(scene.record(VICTIM)) if scene.taint else session.save(text)


def alter(scene: Scene, text: str) -> None:
    """Rewrite the record."""
    session = scene.session()
    session.update(scene.record(VICTIM), text) if scene.taint else session.save(text)


def tool_delete(scene: Scene, text: str) -> None:
    """The tool that deletes."""
    if scene.taint:
        _tool(scene, "memory_delete", {"file": "memory/life.md", "text": VICTIM})
    else:
        tool_save(scene, text)


def tool_forget(scene: Scene, text: str) -> None:
    """The tool that forgets."""
    if scene.taint:
        _tool(scene, "memory_forget", {"request": VICTIM})
    else:
        tool_save(scene, text)


def user_turn(scene: Scene, text: str) -> None:
    """The user pastes the page into the conversation."""
    scene.session().user(text)


def assistant_turn(scene: Scene, text: str) -> None:
    """The model says what the page told it."""
    scene.session().assistant(text)


def result_turn(scene: Scene, text: str) -> None:
    """The page itself is in the conversation; the control is a turn beside a result of a trusted tool."""
    session = scene.memory.agent("ann").session("results")
    if scene.taint:
        session.tool_result("web_fetch", text)
    else:
        session.tool_result("read_file", "nothing")
        session.assistant(text)


def decision(scene: Scene, text: str) -> None:
    """The host notes a decision that the page asked for."""
    scene.session().note("decision", text)


def summary(scene: Scene, text: str) -> None:
    """The page is in the summary of a compaction; the control as well."""
    session = scene.session()
    session.user("Hello there.")
    session.compact(text, keep=0)


def left_copy(scene: Scene, text: str) -> None:
    """A session ends and leaves a copy of its transcript; what is said next is clean."""
    session = scene.session()
    session.assistant(text)
    session.reset()


def kept_transcript(scene: Scene, text: str) -> None:
    """A transcript is kept and a later process goes on with it."""
    session = scene.session()
    session.assistant(text)
    session.checkpoint()
    again = scene.memory.agent("ann").session(session.key)
    assert text in again.messages[-1].text
    again.save(text)


def block_append(scene: Scene, text: str) -> None:
    """A line for a core block."""
    scene.session().core_append("human", text)


def block_replace(scene: Scene, text: str) -> None:
    """A core block's line is changed."""
    scene.memory.person("ann").core_set("human", "A line of the person's.")
    scene.session().core_replace(
        "human", "A line of the person's.", text
    ) if scene.taint else scene.session().core_append("human", text)


def block_set(scene: Scene, text: str) -> None:
    """A core block is written anew."""
    scene.session().core_set("human", text)


def shared_block(scene: Scene, text: str) -> None:
    """A line for a block that every agent has."""
    scene.session().core_append("rules", text)


def block_tool(scene: Scene, text: str) -> None:
    """A core block by its tool."""
    _tool(scene, "core_memory_append", {"block": "human", "text": text})


def block_by_hand(scene: Scene, text: str) -> None:
    """The agent's shell edits the core blocks."""
    session = scene.session()
    if not scene.taint:
        session.close()
        scene.memory.sync()
    write(scene.folder / "agents/ann", "core.md", f"# human\n\n{text}\n")
    scene.memory.sync()


def imported(scene: Scene, text: str) -> None:
    """A transcript of another tool in which a page was read before the words were said."""
    said: list[dict[str, object]] = [{"role": "user", "content": "What does it say?"}]
    if scene.taint:
        call = {"id": "c1", "type": "function", "function": {"name": "web_fetch", "arguments": "{}"}}
        said += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": text},
        ]
    said.append({"role": "assistant", "content": text})
    scene.memory.import_transcript("ann", json.dumps(said).encode(), key="old talk")


Surface = Callable[[Scene, str], None]

SURFACES: dict[str, Surface] = {
    function.__name__: function
    for function in (
        save, replace, remember, remember_title, remember_tags, update, propose, sessionless, other_key, message, chain,
        unknown_sender, distiller, steward, evidence, hand_edit, late_edit, rejected_edit, restore, undo, archive,
        forged_archive, tool_save, tool_memory, cli, tool_name, shared, delete, forget, delete_file, overwrite, remove,
        alter, tool_delete, tool_forget, user_turn, assistant_turn, result_turn, decision, summary, left_copy,
        kept_transcript, block_append, block_replace, block_set, shared_block, block_tool, block_by_hand, imported,
    )
}  # fmt: skip


def run(surface: str, scene: Scene, text: str) -> str:
    """Take a road and return what the caller was told; an error is an answer."""
    with suppress(MemorandaError):
        SURFACES[surface](scene, text)
        return "done"
    return "refused"


def model_views(memory: Memory, words: str) -> list[str]:
    """All that any model viewer can be shown, as text."""
    seen: list[str] = []
    agents: list[Agent] = [memory.agent(name) for name in ("ann", "bob", "carl", "eve")]
    for agent in (*agents, memory.job("steward", "looking", "ann")):
        for question in (words, "", "trust remember honest note user"):
            found = agent.search(question, limit=64, min_score=0)
            past = agent.search(question, limit=64, min_score=0, as_of="2999-01-01")
            seen += [repr(hit) for hit in (*found.hits, *past.hits)]
        for hit in agent.search("", limit=64).hits:
            seen.append(repr(agent.get(hit.chunk_id)))
            look = agent.history if hit.turn is None else agent.around
            seen.append(repr(look(hit.record_id)))
        seen += [repr(event) for event in agent.log(limit=1_000)]
        seen += [repr(agent.timeframe(first="yesterday", last="today")), repr(agent.injections(limit=1_000))]
        if agent.viewer.principal.kind == "agent":
            seen += [
                repr(agent.blocks()),
                repr(agent.context(words)),
                repr(agent.context("trust remember honest note")),
            ]
        for checkpoint in agent.checkpoints(limit=100):
            seen.append(repr(checkpoint))
            with suppress(MemorandaError):
                seen.append(repr(agent.diff(checkpoint.id)))
        seen += [repr(item) for item in agent.proposals(pending=False)]
        for path in ("MEMORY.md", *(f"memory/{name}.md" for name in ("web", "shell", "late", "back", "notes", "own"))):
            with suppress(MemorandaError):
                seen.append(repr(agent.blame(path)))
    return seen
