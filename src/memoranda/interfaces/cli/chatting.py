"""The verb `chat`: the reference agent in a terminal, or in a pipe."""

from __future__ import annotations

import io
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated

import typer

from memoranda.adapters.web.pages import UrlFetcher
from memoranda.domain.context import Context
from memoranda.domain.job import RunReport
from memoranda.errors import InvalidInput, MemorandaError
from memoranda.interfaces.chatting import Chat
from memoranda.interfaces.cli.background import Tender, Watcher
from memoranda.interfaces.cli.changes import restored_lines
from memoranda.interfaces.cli.options import AgentId, AsJson, Home, verb
from memoranda.interfaces.cli.output import plain
from memoranda.interfaces.cli.progress import busy
from memoranda.interfaces.cli.prompting import context_lines
from memoranda.interfaces.cli.session import Session, forbid_agents, opened
from memoranda.interfaces.errors import answer_to, ensure_done

HELP = """/context  what the newest prompt got from memory
/undo     take back the last change to memory; once more brings it back
/taint    whether untrusted content has been read in this conversation
/new      end this conversation and begin a clean one
/end      end this conversation and leave
/exit     leave; the conversation goes on next time (also Ctrl-D, Ctrl-C)
/help     this list"""
_WAITS = "untrusted content has been read here: what this conversation teaches waits for `memoranda review`"


def register(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    app.command()(chat)


@verb
def chat(
    *,
    model: Annotated[
        str | None,
        typer.Option("--model", metavar="NAME", show_default="llm.model", help="The model, such as ollama:llama3.2."),
    ] = None,
    key: Annotated[
        str, typer.Option("--session", metavar="KEY", help="The conversation to begin or to go on with.")
    ] = "chat",
    agent: AgentId = None,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Talk with the reference agent, with all of memory wired; /help lists its commands.

    A line is a turn. Answers go to standard output, everything else to standard error. With --json an answer is one
    document.
    """
    forbid_agents("talking with the agent")
    settings = None if model is None else {"llm.model": model}
    with opened(home, agent, as_json=as_json, make=True, settings=settings) as here:
        asked = here.memory.language_model()
        here.refresh()
        talk = here.memory.agent(here.agent_id).session(key)
        with busy("(opening memory …)"):
            here.agent.search(
                "Where were we?", limit=1
            )  # opens the embedder: the first turn waits for recall but briefly
        with Watcher(here.memory, agents=(here.agent_id,)), Tender(here.memory):
            screen = _Screen(here, Chat(talk, asked, UrlFetcher(), here.memory.config, tell=_tell))
            failed = screen.run(_lines())
        screen.remember()
    if failed is not None and not _is_terminal():
        raise typer.Exit(answer_to(failed).exit_code)


def _is_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _lines() -> Iterator[str]:
    """Yield what is typed, line by line; Ctrl-D and Ctrl-C end it."""
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="surrogateescape")  # what is no UTF-8 is refused as a turn, and the talk goes on
    if not _is_terminal():
        yield from sys.stdin
        return
    import readline  # noqa: F401, PLC0415 - gives `input` editing and a history

    while True:
        try:
            yield input("> ")
        except EOFError:
            _tell("")
            return


def _tell(line: str) -> None:
    typer.echo(plain(f"({line})" if line else ""), err=True)


@dataclass(slots=True)
class _Screen:
    """A chat on a terminal or in a pipe. `spoke` tells whether anything was said, `ended` whether it is over."""

    here: Session
    chat: Chat
    spoke: bool = False
    ended: bool = False
    closing: bool = False

    def run(self, lines: Iterable[str]) -> MemorandaError | None:
        """Go on until there are no more lines; return the last error that a turn ended with."""
        failed: MemorandaError | None = None
        self._greet()
        try:
            for line in lines:
                try:
                    self._line(line.strip())
                except MemorandaError as error:
                    self.here.out.note(f"memoranda: {error}")
                    failed = error
                if self.ended:
                    break
        except KeyboardInterrupt:
            _tell("leaving; Ctrl-C again leaves without remembering")
        return failed

    def _greet(self) -> None:
        if _is_terminal():
            self.here.out.note(f"{self.chat.model.name}, agent {self.here.agent_id}. /help lists commands.")
        for warning in self.chat.session.warnings:
            _tell(warning)
        if self.chat.session.tainted:
            _tell(f"{_WAITS}; /new begins a clean one")

    def _line(self, line: str) -> None:
        if line.startswith("/"):
            self._command(line.split(maxsplit=1)[0])
        elif line:
            tainted = self.chat.session.tainted
            self.spoke = True
            with busy("(thinking …)"):
                answer = self.chat.turn(line)
            self.here.out.result({"answer": answer, "tainted": self.chat.session.tainted}, [plain(answer)])
            sys.stdout.flush()
            if self.chat.session.tainted and not tainted:
                _tell(_WAITS)

    def _command(self, name: str) -> None:
        match name:
            case "/exit" | "/quit":
                self.ended = True
            case "/end":
                self.ended = self.closing = True
            case "/context":
                shown = self.chat.shown
                self._show(context_lines(shown if shown.parts else self._agent_context()))
            case "/undo":
                done = self.here.memory.person(self.here.agent_id).undo(1)
                self._show(restored_lines(ensure_done(done)))
            case "/taint":
                source = self.chat.session.state.taint_source
                _tell(f"tainted by {source}: {_WAITS}" if self.chat.session.tainted else "clean")
            case "/new":
                with busy("(remembering …)"):
                    self.chat.session.reset()
                self.chat.injected = Context()
                _tell("a new conversation")
            case "/help":
                self._show(HELP.splitlines())
            case _:
                raise InvalidInput("there is no such command; /help lists them")

    def _agent_context(self) -> Context:
        """Return what a prompt would get before anything was said."""
        return self.here.memory.agent(self.here.agent_id).context()

    def _show(self, lines: Iterable[str]) -> None:
        for line in lines:
            typer.echo(line, err=True)

    def remember(self) -> None:
        """Let the model write down what was said and dream over it once, where anything was said."""
        try:
            self._wrote_down()
            if self.spoke and self.here.memory.config.jobs.dreams:
                with busy("(dreaming …)"):
                    _tell(_did(self.here.memory.agent(self.here.agent_id).dream()))
        except MemorandaError as error:
            self.here.out.note(f"memoranda: {error}")

    def _wrote_down(self) -> None:
        talk = self.chat.session
        with busy("(remembering …)"):
            if self.closing:
                before = talk.warnings
                talk.close()
                for warning in talk.warnings:
                    if warning not in before:
                        _tell(warning)
            elif self.spoke:
                _tell(_did(talk.extract()))


def _did(report: RunReport) -> str:
    """Say in one line what a run did, or why it did nothing."""
    counts = Counter(step.outcome for step in report.steps)
    did = ", ".join(f"{count} {outcome}" for outcome, count in counts.items())
    return f"{report.kind} {report.state}: {did or report.message or 'nothing to keep'}"
