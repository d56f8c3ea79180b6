"""The jobs that follow a dream, at the command line: through a real server that speaks like a model's."""

from __future__ import annotations

import json

import pytest

from tests.homes import home as memory_of
from tests.interfaces.command_line import CommandLine
from tests.model_server import model_server

ANSWER = json.dumps({"pairs": [], "verdicts": []})


@pytest.mark.slow
def test_a_person_runs_each_and_reads_what_it_did(cli: CommandLine) -> None:
    """Each verb prints its run, `dream show` has the same; a model that fails gives exit code 1, none set another."""
    for text in ("The heron sleeps in the barn.", "The heron never sleeps in the barn."):
        assert cli("save", text).code == 0
    assert cli("dream", "contradictions").code not in (0, 1)
    with model_server("I would rather not.", "I would rather not.", ANSWER) as server:
        named = {"MEMORANDA_LLM_MODEL": "custom:small", "MEMORANDA_LLM_BASE_URL": server.url}
        failed = cli("dream", "contradictions", "--json", **named)
        assert (failed.code, failed.json["code"]) == (1, "model_unparsable")
        done = cli("dream", "contradictions", "--json", **named)
        assert (done.code, done.json["state"], done.json["steps"][-1]["outcome"]) == (0, "done", "compared")
        assert "compared" in cli("dream", "show", done.json["id"], **named).out
        for verb in ("steward", "usage"):
            ran = cli("dream", verb, "--json", **named)
            assert (ran.code, ran.json["kind"], ran.json["code"]) == (0, verb, "nothing_new")
        listed = cli("dream", "list", "--kind", "usage", "--json", **named).json
        assert [one["kind"] for one in listed["runs"]] == ["usage"]


def test_a_transcript_is_tidied_and_restored(cli: CommandLine) -> None:
    """From the command line older results of tools become lines, and come back whole."""
    with memory_of(cli.home) as memory:
        session = memory.agent("main").session("work")
        session.tool_call("calculator", "{}", call_id="1")
        session.tool_result("calculator", "12 " * 400, call_id="1")
        for number in range(3):
            session.user(f"Turn {number}")
    assert "12 12 12" in cli("session", "messages", "work").out
    tidied = cli("session", "tidy", "work", "--keep", "1", "--json")
    assert (tidied.code, tidied.json["kind"], tidied.json["steps"][0]["outcome"]) == (0, "hygiene", "pruned")
    assert "12 12 12" not in cli("session", "messages", "work").out
    assert "Turn 0" in cli("session", "messages", "work").out
    assert cli("session", "tidy", "work", "--restore", "--json").json == {"restored": 1}
    assert "12 12 12" in cli("session", "messages", "work").out
