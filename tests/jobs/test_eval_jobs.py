"""`eval jobs`: a model that answers as the labels say scores full marks, one that answers nonsense none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memoranda.domain.job_cases import KINDS, ContradictionCase, ExtractCase, ForgetCase, JobCase
from memoranda.interfaces.job_quality import cases_shipped, measured
from memoranda.ports.model import Question
from tests.interfaces.command_line import CommandLine
from tests.model_server import model_server
from tests.scripted import Scripted, writes


def perfect(cases: list[JobCase]) -> Scripted:
    """Return a model that answers every case as it is labelled."""

    def answer(question: Question) -> dict[str, Any]:
        shown = json.loads(question.messages[0].text)
        text = question.messages[0].text
        for case in cases:
            if isinstance(case, ExtractCase) and "conversation" in shown:
                if [one["text"] for one in shown["conversation"]] == [turn.text for turn in case.turns]:
                    return writes(*("- " + " ".join(word.split("|")[0] for word in group) for group in case.keep))
            elif isinstance(case, ForgetCase) and shown.get("request") == case.request:
                meant = {one.text for one in case.candidates if one.id in case.chosen}
                return {"choices": [{"id": one["id"]} for one in shown["candidates"] if one["text"] in meant]}
            elif (
                isinstance(case, ContradictionCase)
                and "pairs" in shown
                and json.dumps(case.one, ensure_ascii=False)[1:-1] in text
            ):
                return {"pairs": [{"ids": pair, "label": case.label} for pair in shown["pairs"]]}
        return {"writes": [], "choices": [], "pairs": []}

    return Scripted(answer)


@pytest.mark.slow
def test_a_model_that_answers_as_labelled_scores_nearly_all() -> None:
    """The way from a case through a real home to its score loses nothing that the labels ask for."""
    cases = [case for kind in KINDS for case in [one for one in cases_shipped() if one.kind == kind][:6]]
    found = measured(cases, lambda *_: None, given=perfect(cases))
    total = found.scores[-1]
    assert total.cases == len(cases)
    assert total.failures == 0
    assert total.false_memories == 0
    assert total.recall > 0.85
    assert total.precision > 0.9


@pytest.mark.slow
def test_nonsense_scores_as_nonsense() -> None:
    """Unreadable answers are failures and no memories; made-up facts are false memories."""
    cases = [case for case in cases_shipped() if isinstance(case, ExtractCase)][:8]
    silent = measured(cases, lambda *_: None, given=Scripted(["I would rather not."])).scores[-1]
    assert (silent.failures, silent.false_memories, silent.found) == (8, 0, 0)
    liar = measured(cases, lambda *_: None, given=Scripted([writes("- The moon is a lamp.")])).scores[-1]
    assert (liar.failures, liar.good) == (0, 0)
    assert liar.false_memories >= 7
    assert liar.tokens > 0


@pytest.mark.slow
def test_the_command_asks_a_real_server_and_prints_a_table(tmp_path: Path) -> None:
    """From the command line over HTTP to the table; an unknown kind is an error."""
    with model_server('{"writes": [], "choices": [], "pairs": []}') as server:
        cli = CommandLine(tmp_path)
        address = {"MEMORANDA_LLM_MODEL": "custom:test", "MEMORANDA_LLM_BASE_URL": server.url}
        done = cli("eval", "jobs", "-n", "1", "--kind", "keep", "--kind", "ignore", **address)
        assert done.code == 0, done
        assert "| keep |" in done.out
        assert len(server.asked) == 2
        assert cli("eval", "jobs", "--kind", "nothing", **address).code == 2
