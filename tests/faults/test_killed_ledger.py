"""A process killed while it writes into the operational ledger loses nothing that it was told is kept."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.homes import home

CHILD = """
import sys, memoranda
with memoranda.open(sys.argv[1], settings={"memory.provider": "none"}) as memory:
    agent = memory.agent("main")
    for number in range(100_000):
        agent.conflicts_index("ann", f"topic {number}", fact=f"Fact {number}.", conflict=True)
        agent.gate(f"Act {number}.", "R2", entity="ann", topic="other")
        print(number, flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is not there")
@pytest.mark.parametrize("after", [1, 7, 20])
def test_killed_while_it_writes(tmp_path: Path, after: int) -> None:
    """Each acknowledged fact has its contradiction and its gate's event, none stands alone, and the chain holds."""
    with home(tmp_path):
        pass
    with subprocess.Popen([sys.executable, "-c", CHILD, str(tmp_path)], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        told = [int(child.stdout.readline()) for _ in range(after)]
        child.kill()
        told += [int(line) for line in child.stdout if line.endswith("\n")]
    assert child.returncode < 0
    with home(tmp_path) as memory:
        assert memory.verify().problems == ()
        found = memory.agent("main").conflicts_query()
        facts = {item.topic for item in found.assertions}
        assert facts == {item.topic for item in found.conflicts}
        assert facts >= {f"topic {number}" for number in told}
        events = memory.person("main").log(limit=500, kind="gate")
        assert len(told) <= len(events) <= len(told) + 1
        assert len(found.conflicts[-1].sides) == 1
