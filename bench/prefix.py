"""Measures what a provider's prefix cache keeps of the prompts of one conversation, in bytes.

    python bench/prefix.py [--quick]

Each turn's prompt is put together as messages, one JSON object a line. Kept is the common prefix with the prompt of
the turn before; a provider caches whole blocks of tokens and forgets after a while, which is not modelled. Three
designs share memory, questions and answers:

* `conversation`: the stable part is the system prompt, then the conversation, what is recalled just before the newest
  user message. It stays there afterwards, as each record is recalled once a session.
* `newest turn only`: the same, but what was recalled leaves the conversation with the next turn.
* `system prompt`: what is recalled for a turn, whether or not it was before, ends the system prompt of that turn.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import memoranda
from memoranda.memory import Agent, Memory, Session
from synthetic import Corpus, write_notes

SETTINGS = {"memory.provider": "none"}
NOTES, LONG_TERM = 200, 20
TURNS, QUICK_TURNS = 100, 12
CHANGE_EVERY = 10
WINDOW, QUICK_WINDOW = 100, 10
"""Messages of a session that are kept in the process, by default."""

Message = tuple[str, str]


@dataclass
class Turn:
    """One turn: its system prompt, what is recalled by both ways, and what is said."""

    stable: str
    recalled: str
    recalled_again: str
    user: str
    assistant: str


@dataclass
class Sum:
    """Bytes of all prompts of a design, and those of them that are the same as in the prompt before."""

    before: bytes = b""
    total: int = 0
    kept: int = 0
    shares: list[float] = field(default_factory=list)

    def add(self, prompt: bytes) -> None:
        """Take in the next prompt."""
        same = common_prefix(self.before, prompt)
        self.total, self.kept, self.before = self.total + len(prompt), self.kept + same, prompt
        self.shares.append(same / len(prompt))


def main() -> None:
    """Print a table for memory that stays, for memory that changes, and for a conversation that is cut."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", "--small", action="store_true", help="a few turns: a smoke test")
    quick = parser.parse_args().quick
    turns, window = (QUICK_TURNS, QUICK_WINDOW) if quick else (TURNS, WINDOW)
    corpus = Corpus(NOTES + LONG_TERM + 2 * turns)
    with tempfile.TemporaryDirectory() as folder:
        stays = conversation(Path(folder) / "stays", corpus, turns, change_every=0)
        changes = conversation(Path(folder) / "changes", corpus, turns, change_every=CHANGE_EVERY)
    compare(f"Memory stays as it is, {turns} turns", stays, 0)
    compare(f"Memory changes every {CHANGE_EVERY} turns, {turns} turns", changes, 0)
    compare(f"Memory stays, at most {window} messages are sent, {turns} turns", stays, window)


def conversation(folder: Path, corpus: Corpus, count: int, *, change_every: int) -> list[Turn]:
    """Hold a conversation in one home; ask another of the same memory, where it is not heard, what fits each turn."""
    with _home(folder / "heard", corpus) as memory, _home(folder / "unheard", corpus) as other:
        session, unheard = memory.agent("main").session("prefix"), other.agent("main")
        questions = corpus.questions(count, among=NOTES)
        return [
            _turn(session, unheard, questions[number].text, corpus, number, change_every) for number in range(count)
        ]


def _home(home: Path, corpus: Corpus) -> Memory:
    """Make a home with notes, a long-term file and core blocks."""
    write_notes(home, corpus.texts[:NOTES])
    (home / "MEMORY.md").write_text("\n\n".join(corpus.texts[NOTES : NOTES + LONG_TERM]) + "\n", encoding="utf-8")
    memory = memoranda.open(home, settings=SETTINGS)
    memory.sync()
    agent = memory.agent("main")
    for block in agent.blocks():
        if not agent.core_set(block.spec.label, f"What is known under {block.spec.label}: {corpus.texts[0]}").done:
            raise SystemExit("a core block was refused")
    return memory


def _turn(session: Session, unheard: Agent, question: str, corpus: Corpus, number: int, change_every: int) -> Turn:
    """Say a question and its answer; memory changes before each turn whose number is a multiple."""
    if change_every and number and number % change_every == 0:
        said = f"What came up in turn {number}."
        if not (session.save(said).done and unheard.save(said).done):
            raise SystemExit("a save was refused")
    user = session.user(f"What do we know of {question}?")
    context, again = session.context(question), unheard.context(question)
    if context.stable != again.stable:
        raise SystemExit("the two homes do not show the same")
    said_again = corpus.texts[NOTES + LONG_TERM + number]
    return Turn(context.stable, context.volatile, again.volatile, user, session.assistant(said_again))


def compare(title: str, turns: list[Turn], window: int) -> None:
    """Print one row for each design."""
    print(f"\n{title}\n")
    print(
        "| what is recalled goes into | bytes of all prompts | kept | kept share | median of turns | bytes read anew |"
    )
    print("|---|---|---|---|---|---|")
    shares: dict[str, float] = {}
    for name, prompt in DESIGNS.items():
        found = Sum()
        for number in range(len(turns)):
            found.add(prompt(turns[: number + 1], window))
        shares[name] = found.kept / found.total
        middle = sorted(found.shares)[len(found.shares) // 2]
        print(
            f"| {name} | {found.total:,} | {found.kept:,} | {shares[name]:.1%} | {middle:.1%} | "
            f"{found.total - found.kept:,} |"
        )
    print()
    for name in ("conversation", "newest turn only"):
        print(f"shares kept, {name} / system prompt: {shares[name] / shares['system prompt']:.2f}")


def in_conversation(turns: list[Turn], window: int) -> bytes:
    """Return the prompt of the last turn with everything that was recalled where it was recalled."""
    return _prompt(turns[-1].stable, turns, window, lambda turn: turn.recalled)


def in_newest_turn(turns: list[Turn], window: int) -> bytes:
    """Return the prompt of the last turn with what was recalled for this turn alone."""
    return _prompt(turns[-1].stable, turns, window, lambda turn: turn.recalled if turn is turns[-1] else "")


def in_system_prompt(turns: list[Turn], window: int) -> bytes:
    """Return the prompt of the last turn with what was recalled at the end of the system prompt."""
    return _prompt(f"{turns[-1].stable}\n\n{turns[-1].recalled_again}", turns, window, lambda _: "")


DESIGNS: dict[str, Callable[[list[Turn], int], bytes]] = {
    "conversation": in_conversation, "newest turn only": in_newest_turn, "system prompt": in_system_prompt,
}  # fmt: skip


def _prompt(system: str, turns: list[Turn], window: int, recalled: Callable[[Turn], str]) -> bytes:
    """Put the messages of a prompt one after the other; of what was said `window` messages at most."""
    said: list[tuple[Message, str]] = []
    for turn in turns:
        said += [(("user", turn.user), recalled(turn)), (("assistant", turn.assistant), "")]
    said = said[:-1]
    messages: list[Message] = [("system", system)]
    for message, before in said[_first(len(said), window) :]:
        messages += [("user", before), message] if before else [message]
    return b"".join(json.dumps({"role": role, "content": text}).encode() + b"\n" for role, text in messages)


def _first(count: int, window: int) -> int:
    """Return the index of the oldest message that is sent: as in a session a quarter goes at once; 0 for all."""
    first = 0
    for number in range(1, count + 1 if window else 0):
        if number - first > window:
            first = number - window + window // 4
    return first


def common_prefix(one: bytes, other: bytes) -> int:
    """Return how many bytes two texts have in common from their beginning."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


if __name__ == "__main__":
    main()
