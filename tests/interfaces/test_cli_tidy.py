"""The jobs that follow a dream, at the command line: through a real server that speaks like a model's."""

from __future__ import annotations

import json

import pytest

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
