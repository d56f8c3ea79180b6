"""Jobs with a real small model: whatever it answers, a run ends with a record, in time, and memory is whole."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from memoranda.adapters.models.providers import open_model
from memoranda.domain.settings import ModelSettings
from memoranda.errors import ModelFailed
from memoranda.memory import Memory, Session
from memoranda.ports.model import Question, Said
from memoranda.services.jobs.extract import INSTRUCTIONS, SCHEMA
from tests.homes import home
from tests.small_model import KEY_VARIABLE, SmallModel, small_model

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def served() -> Iterator[SmallModel]:
    """The small model; homes give it half a minute for an answer."""
    with small_model() as model:
        yield model


@pytest.fixture
def asks(served: SmallModel, monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """The settings of a home that asks it."""
    monkeypatch.setenv(KEY_VARIABLE, served.key)
    return {name.replace(".", "__"): text for name, text in served.settings.items()} | {"llm__timeout_seconds": 30}


def talk(memory: Memory) -> Session:
    """Return a session in which something was said."""
    session = memory.agent("main").session("one")
    session.user("My sister Ana lives in Lisbon and plays the cello.")
    session.assistant("I see.")
    return session


def kept(memory: Memory, run: str) -> tuple[str, int]:
    """Return the state and the number of questions of a run, as the ledger has them."""
    report = memory.person("main").run(run)
    return report.state, report.questions


def test_an_extraction_a_dream_and_a_request_to_forget_end_with_a_record(
    tmp_path: Path, asks: dict[str, object]
) -> None:
    """Each run is done or has failed with a code, its questions are counted, and memory is whole after each."""
    with home(tmp_path, **asks) as memory:
        session, person = talk(memory), memory.person("main")
        person.save("- The heron stands at the pond.")
        for work in (session.extract, memory.agent("main").dream):
            report = work()
            assert report.state in ("done", "failed")
            assert bool(report.code) is (report.state == "failed")
            assert kept(memory, report.id) == (report.state, report.questions)
            assert report.questions > 0
            assert memory.verify().problems == ()
        person.forget("that thing about the heron")
        (forgotten,) = person.runs(kind="forget")
        assert forgotten.state in ("done", "failed")
        assert memory.verify().problems == ()
        assert len(person.runs()) == 3


def test_an_answer_with_a_form_is_json(served: SmallModel) -> None:
    """The server keeps the schema: an answer that was not cut off is JSON of that form."""
    settings = ModelSettings(model="custom:smollm2", base_url=served.url, api_key=served.key)
    prompt = json.dumps({"known": [], "conversation": [{"role": "user", "text": "Ana lives in Lisbon."}]})
    said = (Said(role="user", text=prompt),)
    question = Question(instructions=INSTRUCTIONS, messages=said, schema=SCHEMA, max_tokens=160, timeout=120)
    answer = open_model(settings).ask(question)
    assert answer.output_tokens > 0
    if answer.truncated:
        assert answer.text.lstrip().startswith("{")
    else:
        assert isinstance(json.loads(answer.text)["writes"], list)


def test_free_text_and_its_tokens_come_back(served: SmallModel) -> None:
    """A plain question is answered within its length; the tokens that it used are counted and cost nothing known."""
    settings = ModelSettings(model="custom:smollm2", base_url=served.url, api_key=served.key)
    question = Question(
        instructions="Be brief.", messages=(Said(role="user", text="Say hello."),), max_tokens=12, timeout=60
    )
    answer = open_model(settings).ask(question)
    assert answer.text.strip()
    assert 0 < answer.output_tokens <= 12
    assert answer.input_tokens > 5


def test_the_budget_is_kept(tmp_path: Path, asks: dict[str, object]) -> None:
    """With too few tokens left the model is not asked, and the run says so; with enough it is asked."""
    with home(tmp_path, llm__daily_budget=100, **asks) as memory:
        report = talk(memory).extract()
        assert (report.state, report.code, report.input_tokens) == ("failed", "budget_spent", 0)
        assert memory.verify().problems == ()
    with home(tmp_path, **asks) as memory:
        assert memory.agent("main").session("one").extract().code != "budget_spent"


def test_a_short_time_out_ends_the_question_and_leaves_the_server_free(
    tmp_path: Path, asks: dict[str, object], served: SmallModel
) -> None:
    """What does not come in time is left, the run has failed and changed nothing; the next question is answered."""
    with home(tmp_path, **asks | {"llm__timeout_seconds": 0.2}) as memory:
        session = talk(memory)
        began = time.monotonic()
        report = session.extract()
        assert time.monotonic() - began < 10
        assert (report.state, report.code) == ("failed", "model_failed")
        assert "within 0.2 s" in report.message
        assert memory.verify().problems == ()
        assert memory.agent("main").search("Lisbon", min_score=0).hits
        assert not (tmp_path / "memory" / "notes.md").exists()
    settings = ModelSettings(model="custom:smollm2", base_url=served.url, api_key=served.key)
    hello = Question(instructions="", messages=(Said(role="user", text="Hello"),), max_tokens=4, timeout=60)
    assert open_model(settings).ask(hello).output_tokens > 0


def test_a_wrong_key_is_refused_by_the_server(served: SmallModel) -> None:
    """The server asks for its key: another one is a failure that does not repeat it."""
    settings = ModelSettings(model="custom:smollm2", base_url=served.url, api_key="wrong-key")
    hello = Question(instructions="", messages=(Said(role="user", text="Hello"),), max_tokens=4, timeout=30)
    with pytest.raises(ModelFailed, match="401") as caught:
        open_model(settings).ask(hello)
    assert "wrong-key" not in str(caught.value)
