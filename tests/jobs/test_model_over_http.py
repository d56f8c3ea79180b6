"""Language models over real HTTP: what a server does wrong ends as one error with its own code, and harms nothing."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path

import pytest
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from memoranda.adapters.models.asked import PydanticModel
from memoranda.adapters.models.providers import open_model
from memoranda.domain.settings import ModelSettings
from memoranda.errors import ConfigurationError, ModelFailed
from memoranda.ports.model import Question, Said, Tool
from tests.homes import holding, home
from tests.model_server import model_server

FACT = json.dumps({"writes": [{"path": "memory/notes.md", "content": "- Ana lives in Lisbon.", "append": True}]})
HELLO = Question(instructions="Be brief.", messages=(Said(role="user", text="Hello"),), timeout=10)


@pytest.mark.parametrize("ending", ["", "/v1", "/v1/chat/completions"])
def test_every_form_of_a_servers_address_works(ending: str) -> None:
    """Root, /v1 and the full address reach the same server; tokens are counted."""
    with model_server("Hi.") as server:
        model = open_model(ModelSettings(model="custom:small", base_url=server.url + ending, api_key="k"))
        answer = model.ask(HELLO)
        assert (answer.text, answer.input_tokens, answer.output_tokens) == ("Hi.", 11, 7)
        assert model.name == "custom:small"
        assert server.asked[0]["model"] == "small"


def test_a_schema_is_sent_or_told(tmp_path: Path) -> None:
    """What is asked for has a form, and the server is told which."""
    with model_server(FACT) as server, home(tmp_path, llm__model="custom:small", llm__base_url=server.url) as memory:
        session = memory.agent("main").session("one")
        session.user("Ana lives in Lisbon.")
        assert session.extract().count("saved") == 1
        assert "writes" in json.dumps(server.asked[0].get("response_format", server.asked[0]["messages"]))
        assert holding(memory.person("main"), "Lisbon")


@pytest.mark.parametrize(
    ("replies", "code", "asked"),
    [
        ((500,), "model_failed", 3),
        ((400,), "model_failed", 1),
        ((401,), "model_failed", 1),
        (("reset",), "model_failed", 3),
        (("hang",), "model_failed", 1),
        (("cut",), "model_truncated", 1),
        (("I would rather not.",), "model_unparsable", 2),
        (("Half a pair \ud800 here.",), "model_unparsable", 2),
        (("x" * 2_000_000,), "model_unparsable", 2),
    ],
)
def test_what_a_server_does_wrong_has_a_code(
    tmp_path: Path, replies: tuple[str | int, ...], code: str, asked: int
) -> None:
    """A busy or broken server is asked again, a refusal is not; the run ends with a code and memory is whole."""
    with (
        model_server(*replies) as server,
        home(tmp_path, llm__model="custom:small", llm__base_url=server.url, llm__timeout_seconds=6) as memory,
    ):
        session = memory.agent("main").session("one")
        session.user("Ana lives in Lisbon.")
        report = session.extract()
        assert (report.state, report.code, len(server.asked)) == ("failed", code, asked)
        assert memory.verify().problems == ()
        server.replies = (FACT,)
        assert session.extract().count("saved") == 1


def test_a_server_that_recovers_is_asked_again(tmp_path: Path) -> None:
    """One 503 and one 429 are survived within a single question."""
    with (
        model_server(503, 429, FACT) as server,
        home(tmp_path, llm__model="custom:small", llm__base_url=server.url) as memory,
    ):
        session = memory.agent("main").session("one")
        session.user("Ana lives in Lisbon.")
        report = session.extract()
        assert (report.state, report.questions, len(server.asked)) == ("done", 1, 3)


def test_a_time_out_is_kept() -> None:
    """A server that hangs is left after the time that was given, all attempts together."""
    with model_server("hang") as server:
        model = open_model(ModelSettings(model="custom:small", base_url=server.url, api_key="k"))
        began = time.monotonic()
        with pytest.raises(ModelFailed, match=r"within 0\.5 s"):
            model.ask(Question(instructions="", messages=HELLO.messages, timeout=0.5))
        assert time.monotonic() - began < 5


def test_threads_share_a_model() -> None:
    """Several questions at once are answered each for itself."""
    with model_server("Hi.") as server:
        model = open_model(ModelSettings(model="custom:small", base_url=server.url, api_key="k"))
        answers: list[str] = []
        threads = [threading.Thread(target=lambda: answers.append(model.ask(HELLO).text)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
        assert answers == ["Hi."] * 8


def test_tools_are_offered() -> None:
    """A tool's name and schema reach the server."""
    with model_server("Hi.") as server:
        model = open_model(ModelSettings(model="custom:small", base_url=server.url, api_key="k"))
        tool = Tool(name="fetch", description="Get a page.", schema={"type": "object", "properties": {}})
        model.ask(Question(instructions="", messages=HELLO.messages, tools=(tool,), timeout=10))
        assert [one["function"]["name"] for one in server.asked[0]["tools"]] == ["fetch"]


@pytest.mark.parametrize("address", ["", "llama3", ":x", "custom:", "custom:x", "nobody:x"])
def test_an_address_that_cannot_be_used_says_so(address: str) -> None:
    """Each wrong address is a clear error, before anything is asked."""
    with pytest.raises(ConfigurationError):
        open_model(ModelSettings(model=address))


def test_without_a_model_a_dream_says_what_to_set(tmp_path: Path) -> None:
    """No model, no dream: the error names the setting; closing a session needs none."""
    with home(tmp_path) as memory:
        with pytest.raises(ConfigurationError, match=r"llm\.model"):
            memory.person("main").dream()
        session = memory.agent("main").session("one")
        session.user("Hello")
        session.close()
        assert session.warnings == ()


@pytest.mark.parametrize(("name", "has_price"), [("gpt-4o-mini", True), ("a-model-of-my-own", False)])
def test_a_model_with_a_known_price_has_a_cost(name: str, has_price: bool) -> None:
    """What a question cost is counted where the model's price is known, and said to be unknown elsewhere."""
    with model_server("Hi.") as server:
        answer = open_model(ModelSettings(model=f"openai:{name}", base_url=server.url, api_key="k")).ask(HELLO)
        assert (answer.cost is not None and 0 < answer.cost < 1) is has_price
        assert (answer.cost is None) is not has_price


def test_a_planner_runs_on_pydantic_ais_own_test_model(tmp_path: Path) -> None:
    """The same road with no server: a function of pydantic-ai answers, and its calls of tools come back."""

    def answers(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if info.function_tools:
            return ModelResponse(parts=[ToolCallPart("fetch", {"url": "http://127.0.0.1/"}, "c1")])
        return ModelResponse(parts=[TextPart(FACT if "Lisbon" in str(messages) else "{}")])

    model = PydanticModel(FunctionModel(answers), "function:test")
    with home(tmp_path, model=model) as memory:
        session = memory.agent("main").session("one")
        session.user("Ana lives in Lisbon.")
        assert session.extract().count("saved") == 1
    tool = Tool(name="fetch", description="Get a page.", schema={"type": "object", "properties": {}})
    (call,) = model.ask(Question(instructions="", messages=HELLO.messages, tools=(tool,), timeout=10)).calls
    assert (call.id, call.tool, dict(call.arguments)) == ("c1", "fetch", {"url": "http://127.0.0.1/"})
