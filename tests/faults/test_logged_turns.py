"""Processes that are killed while they talk: every turn that was acknowledged is in the log once, and is found."""

from __future__ import annotations

import json
import random
import signal
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import memoranda
from memoranda.domain.query import Filters
from tests.faults.crash_child import SETTINGS, acknowledge
from tests.faults.forked import finish, start

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL and fork are not there")

TALKERS = ("ann", "ben", "cem", "dia")


def talk(home: str, talker: str, life: int, acknowledged: str) -> None:
    """Say turns in a session of one's own until one is killed; acknowledge each once its call has returned."""
    memory = memoranda.open(home, settings=SETTINGS)
    session = memory.agent("main").session(talker)
    number = 0
    while True:
        number += 1
        text = f"{talker} in life {life} said word{talker}x{life}x{number}."
        if number % 2:
            session.user(text)
        else:
            session.assistant(text)
        acknowledge(acknowledged, text)


class Talk:
    """Four talkers in one home, one of them killed and begun again at a time."""

    def __init__(self, folder: Path, seed: int) -> None:
        self._home, self._acks = folder / "home", folder / "acks"
        self._random = random.Random(seed)
        self._lives: Counter[str] = Counter()
        self._children: dict[str, Any] = {}
        self.kills = 0
        folder.mkdir(exist_ok=True)
        memoranda.open(self._home, settings=SETTINGS).close()

    def _begin(self, talker: str) -> None:
        self._lives[talker] += 1
        self._children[talker] = start(talk, str(self._home), talker, self._lives[talker], str(self._acks))

    def _kill(self, talker: str) -> None:
        child = self._children.pop(talker)
        child.kill()
        assert finish(child) == -signal.SIGKILL
        self.kills += 1

    def play(self, turns: int, seconds: float) -> list[str]:
        """Let them talk until so many turns are acknowledged; return the texts of all that are."""
        deadline = time.monotonic() + seconds
        try:
            for talker in TALKERS:
                self._begin(talker)
            while len(self._acknowledged()) < turns:
                assert time.monotonic() < deadline, f"{len(self._acknowledged())} of {turns} turns in {seconds} s"
                time.sleep(self._random.uniform(0.05, 0.4))
                talker = self._random.choice(TALKERS)
                self._kill(talker)
                self._begin(talker)
        finally:
            for talker in tuple(self._children):
                self._kill(talker)
        return self._acknowledged()

    def _acknowledged(self) -> list[str]:
        return self._acks.read_text(encoding="utf-8").splitlines() if self._acks.exists() else []

    def check(self, acknowledged: list[str]) -> None:
        """Look for every acknowledged turn in the log, in the index, in search and in its session."""
        assert len(set(acknowledged)) == len(acknowledged)
        logged = self._logged()
        counts = Counter(item["text"] for item in logged)
        assert [text for text in acknowledged if counts[text] != 1] == []
        assert [text for text, count in counts.items() if count != 1] == []
        for talker in TALKERS:
            said = [item for item in logged if item["key"] == talker]
            assert len({item["session"] for item in said}) == 1
            positions = [item["position"] for item in said]
            assert positions == sorted(set(positions))  # one that was torn keeps its place
        with memoranda.open(self._home, settings=SETTINGS) as memory:
            memory.sync()
            agent = memory.agent("main")
            for text in acknowledged:
                word = text.rpartition(" ")[2]
                hits = agent.search(word, limit=3, min_score=0, filters=Filters(sources=frozenset({"turn"}))).hits
                assert [hit.text for hit in hits if word in hit.text] == [hits[0].text] == [text]
            assert agent.search("wordannx0x0", min_score=0).hits == ()
            for talker in TALKERS:
                newest = [item["text"] for item in logged if item["key"] == talker][-20:]
                assert [item.text for item in agent.session(talker).messages][-20:] == newest
            report = memory.verify()
            assert report.clean, report.problems

    def _logged(self) -> list[dict[str, Any]]:
        """Return the whole lines of all logs; what is torn can only be what was never acknowledged."""
        found: list[dict[str, Any]] = []
        torn = 0
        for path in sorted((self._home / "log").glob("*.jsonl")):
            for line in path.read_bytes().splitlines():
                try:
                    found.append(json.loads(line))
                except ValueError:
                    torn += 1
        assert torn <= self.kills
        return found


@pytest.mark.slow
def test_four_hundred_turns(tmp_path: Path) -> None:
    """Of 400 turns said by four processes that are killed at any time, none is lost and none is there twice."""
    talk_of_four = Talk(tmp_path / "talk", 1)
    talk_of_four.check(talk_of_four.play(400, 60))
    assert talk_of_four.kills >= len(TALKERS)


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_ten_thousand_turns(tmp_path: Path) -> None:
    """Of 10,000 turns said by four processes that are killed at any time, none is lost and none is there twice."""
    talk_of_four = Talk(tmp_path / "talk", 2)
    talk_of_four.check(talk_of_four.play(10_000, 1_200))
    assert talk_of_four.kills >= 20
