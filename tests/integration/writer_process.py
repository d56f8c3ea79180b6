"""What the processes of `test_processes` run: writers, and one that syncs until it is told to stop.

writer_process.py write HOME NAME SAVES
writer_process.py sync HOME STOPFILE
writer_process.py open HOME NAME
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import memoranda

SETTINGS = {"memory.provider": "none"}
NEW_HOMES = 10


def write(home: str, name: str, saves: str) -> None:
    """Save texts of its own into one file, as an agent or, where the name says so, as a person."""
    with memoranda.open(home, settings=SETTINGS) as memory:
        handle = memory.person("main") if name.startswith("person") else memory.agent("main")
        for number in range(int(saves)):
            outcome = handle.save(f"Line {number} of writer {name}.", file="memory/shared.md")
            assert outcome.done, outcome


def sync(home: str, stop: str) -> None:
    """Sync until the stop file is there; print how many syncs there were."""
    count = 0
    with memoranda.open(home, settings=SETTINGS) as memory:
        while not Path(stop).exists():
            memory.sync()
            count += 1
    print(count)  # noqa: T201 - this is how it answers


def open_and_save(homes: str, name: str, go: str) -> None:
    """Open homes that nobody has made yet, from the moment the go file appears, and save one line in each."""
    import memoranda.bootstrap

    print("ready", flush=True)  # noqa: T201 - this is how it answers
    while not Path(go).exists():
        pass
    for number in range(NEW_HOMES):
        with memoranda.open(Path(homes) / str(number), settings=SETTINGS) as memory:
            assert memory.agent("main").save(f"Line of {name}.", file="memory/shared.md").done


DOES: dict[str, Callable[..., None]] = {"write": write, "sync": sync, "open": open_and_save}

if __name__ == "__main__":
    DOES[sys.argv[1]](*sys.argv[2:])
