"""The reference agent in a real terminal, with a real small model: what it remembers, shows and takes back.

The model may say anything, so files and what was injected are looked at, never its words.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.interfaces.command_line import CommandLine
from tests.small_model import SmallModel, small_model

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed"),
]

PROMPT = "> "
TMUX = shutil.which("tmux") or "tmux"
WAIT_SECONDS = 120.0


@pytest.fixture(scope="module")
def model() -> Iterator[SmallModel]:
    """The small model; what takes it too long is left."""
    with small_model() as served:
        yield served


@dataclass(frozen=True, slots=True)
class Pane:
    """A terminal in which a chat runs."""

    socket: str

    def tmux(self, *arguments: str) -> str:
        """Run a command of the terminal multiplexer on a server of this test's own."""
        done = subprocess.run([TMUX, "-L", self.socket, *arguments], capture_output=True, text=True, check=True)
        return done.stdout

    @property
    def screen(self) -> str:
        """Everything that was shown, wrapped lines joined."""
        return "\n" + self.tmux("capture-pane", "-p", "-J", "-S", "-3000")

    def wait(self, text: str, times: int = 1) -> str:
        """Wait until a text is on the screen so many times, and return the screen."""
        end = time.monotonic() + WAIT_SECONDS
        while True:
            shown = self.screen
            if shown.count(text) >= times:
                return shown
            assert time.monotonic() < end, f"{text!r} did not come:\n{shown}"
            time.sleep(0.1)

    def ready(self, times: int) -> str:
        """Wait until the chat asks for a line for the given time."""
        return self.wait(f"\n{PROMPT.strip()}", times)

    def type(self, line: str) -> None:
        """Type a line."""
        self.tmux("send-keys", "-l", line)
        self.tmux("send-keys", "Enter")

    def press(self, key: str) -> None:
        """Press a key such as `C-c`."""
        self.tmux("send-keys", key)


@contextmanager
def chat(cli: CommandLine, model: SmallModel, *arguments: str) -> Iterator[Pane]:
    """Run `memoranda chat` in a pane; the shell around it says when it has ended, and how."""
    pane = Pane(f"memoranda-{uuid.uuid4().hex[:12]}")
    environment = cli.clean() | model.environment | {"MEMORANDA_LLM_TIMEOUT_SECONDS": "30", "TMUX": ""}
    named = [f"{name}={text}" for name, text in environment.items() if name.startswith(("MEMORANDA_", "SMALL_"))]
    named.append(f"PYTHONPATH={environment.get('PYTHONPATH', '')}")
    command = shlex.join(["env", *named, sys.executable, "-m", "memoranda", "chat", *arguments])
    subprocess.run(
        [TMUX, "-L", pane.socket, "-f", "/dev/null", "new-session", "-d", "-x", "160", "-y", "50",
         f"{command}; echo ENDED WITH $?; exec sleep 600"],
        check=True,
    )  # fmt: skip
    try:
        yield pane
    finally:
        subprocess.run([TMUX, "-L", pane.socket, "kill-server"], check=False, capture_output=True)


def logged(home: Path) -> str:
    """Return the daily logs of the agent `main`."""
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted((home / "log").rglob("*")) if path.is_file())


def test_it_remembers_across_two_runs(cli: CommandLine, model: SmallModel) -> None:
    """What was saved and what was said in the first run is injected in the second, in another conversation."""
    with chat(cli, model, "--session", "first") as pane:
        pane.ready(1)
        pane.type("My sister Ana lives in Lisbon and plays the cello.")
        pane.ready(2)
        assert cli("save", "- The boiler is in the cellar.").code == 0
        pane.type("/exit")
        shown = pane.wait("ENDED WITH 0")
        assert "extract " in shown
        assert "dream " in shown
    assert "plays the cello" in logged(cli.home)
    with chat(cli, model, "--session", "second") as pane:
        pane.ready(1)
        pane.type("Where does my sister Ana play the cello?")
        pane.ready(2)
        pane.type("/context")
        shown = pane.wait("tokens in all")
        assert "The boiler is in the cellar." in shown
        assert "<recalled_memory_NONCE" in shown
        assert "My sister Ana lives in Lisbon and plays the cello." in shown.partition("<recalled_memory_NONCE")[2]
        pane.press("C-d")
        pane.wait("ENDED WITH 0")
    assert len(cli("dream", "list", "--json").json["runs"]) == 4
    assert cli("verify").code == 0


def test_undo_works_at_the_prompt(cli: CommandLine, model: SmallModel) -> None:
    """/undo takes back the newest change, and the next /context shows it no longer; once more brings it back."""
    cli("save", "- The tea is green.")
    cli("save", "- The boiler is in the cellar.")
    with chat(cli, model) as pane:
        pane.ready(1)
        pane.type("/context")
        assert "The boiler is in the cellar." in pane.wait("tokens in all")
        pane.type("/undo")
        pane.wait("restored: MEMORY.md")
        assert "boiler" not in (cli.home / "MEMORY.md").read_text(encoding="utf-8")
        pane.type("/context")
        after = pane.wait("tokens in all", 2).partition("restored: MEMORY.md")[2]
        assert "The tea is green." in after
        assert "boiler" not in after
        pane.type("/undo")
        pane.wait("restored: MEMORY.md", 2)
        assert "boiler" in (cli.home / "MEMORY.md").read_text(encoding="utf-8")
        pane.type("/exit")
        shown = pane.wait("ENDED WITH 0")
        assert "dream " not in shown


def test_ctrl_c_ends_it_in_the_middle_of_an_answer(cli: CommandLine, model: SmallModel) -> None:
    """Ctrl-C at the prompt or while the model answers ends the chat, what was said is kept, and nothing is torn."""
    with chat(cli, model) as pane:
        pane.ready(1)
        pane.type("Tell me about the history of the city of Lisbon.")
        deadline = time.monotonic() + WAIT_SECONDS
        while "history of the city" not in logged(cli.home):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        pane.press("C-c")
        shown = pane.wait("ENDED WITH")
        assert "ENDED WITH 0" in shown
        assert "Traceback" not in shown
    with chat(cli, model) as pane:
        pane.ready(1)
        pane.press("C-c")
        assert "Traceback" not in pane.wait("ENDED WITH 0")
    assert cli("verify").code == 0
