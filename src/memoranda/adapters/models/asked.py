"""A pydantic-ai model behind the port: synchronous, with a deadline, retries, and counted tokens."""

from __future__ import annotations

import asyncio
import concurrent.futures
import json
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING

from pydantic_ai.direct import model_request
from pydantic_ai.exceptions import (
    AgentRunError,
    ModelConnectionError,
    ModelRateLimitError,
    ModelServerError,
    ModelTimeoutError,
    ModelUnavailableError,
    UserError,
)
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.tools import ToolDefinition
from tenacity import AsyncRetrying, retry_if_exception, stop_after_attempt, wait_random_exponential

from memoranda.domain.given import readable
from memoranda.errors import ModelFailed
from memoranda.ports.model import Answer, Call, Question, Said

if TYPE_CHECKING:
    from pydantic_ai.models import Model

ATTEMPTS = 3
"""Of one question: a busy or failing server is asked again, a wrong request is not."""

_AGAIN = (ModelRateLimitError, ModelServerError, ModelUnavailableError, ModelConnectionError)
_FORM = "Answer with one JSON value of this JSON schema and nothing else:\n"


class PydanticModel:
    """A model of pydantic-ai, or a scripted one of its test models. Its event loop runs in a thread of its own."""

    def __init__(self, model: Model, name: str = "") -> None:
        self._model = model
        self.name = name or f"{model.system}:{model.model_name}"

    def ask(self, question: Question) -> Answer:
        """Return the answer; see the port."""
        future = asyncio.run_coroutine_threadsafe(self._within(question), _loop())
        try:
            return future.result()
        except concurrent.futures.CancelledError as error:
            raise ModelFailed(f"the question to {self.name} was cancelled") from error
        except BaseException:
            future.cancel()
            raise

    async def _within(self, question: Question) -> Answer:
        try:
            async with self._model, asyncio.timeout(question.timeout):  # its connections end with the question
                return _answer(await self._asked(question))
        except TimeoutError as error:
            raise ModelFailed(f"{self.name} did not answer within {question.timeout:g} s") from error
        except (AgentRunError, UserError) as error:
            raise ModelFailed(f"{self.name} did not answer: {_reason(error)}") from error
        except (OSError, RuntimeError, ValueError) as error:
            raise ModelFailed(f"{self.name} did not answer: {type(error).__name__}") from error

    async def _asked(self, question: Question) -> ModelResponse:
        parameters = self._parameters(question)
        messages = _messages(question, in_words=question.schema is not None and parameters.output_mode != "native")
        async for attempt in AsyncRetrying(
            stop=stop_after_attempt(ATTEMPTS), wait=wait_random_exponential(multiplier=0.2, max=5), reraise=True,
            retry=retry_if_exception(_is_worth_it),
        ):  # fmt: skip
            with attempt:
                return await model_request(
                    self._model, messages, model_request_parameters=parameters,
                    model_settings={"max_tokens": question.max_tokens, "max_retries": 0, "timeout": question.timeout},
                )  # fmt: skip
        raise ModelFailed(f"{self.name} was not asked")

    def _parameters(self, question: Question) -> ModelRequestParameters:
        tools = [
            ToolDefinition(name=tool.name, description=tool.description, parameters_json_schema=dict(tool.schema))
            for tool in question.tools
        ]
        if question.schema is None or not self._model.profile.get("supports_json_schema_output", False):
            return ModelRequestParameters(function_tools=tools)
        form = OutputObjectDefinition(json_schema=dict(question.schema), name="answer")
        return ModelRequestParameters(function_tools=tools, output_mode="native", output_object=form)


def _is_worth_it(error: BaseException) -> bool:
    return isinstance(error, _AGAIN) and not isinstance(error, ModelTimeoutError)


def _messages(question: Question, *, in_words: bool) -> list[ModelMessage]:
    instructions = question.instructions
    if in_words:
        instructions += "\n\n" + _FORM + json.dumps(question.schema, ensure_ascii=False)
    found: list[ModelMessage] = [ModelRequest(parts=[SystemPromptPart(instructions)])]
    return [*found, *map(_message, question.messages)]


def _message(said: Said) -> ModelMessage:
    match said.role:
        case "user":
            return ModelRequest(parts=[UserPromptPart(said.text)])
        case "tool":
            return ModelRequest(parts=[ToolReturnPart(said.tool, said.text, said.call)])
        case "assistant":
            calls = [ToolCallPart(call.tool, dict(call.arguments), call.id) for call in said.calls]
            return ModelResponse(parts=[*([TextPart(said.text)] if said.text else []), *calls])


def _answer(response: ModelResponse) -> Answer:
    try:
        cost = float(response.cost().total_price)
    except (LookupError, ValueError, AssertionError):  # a local model has no price
        cost = None
    calls = tuple(
        Call(id=part.tool_call_id, tool=part.tool_name, arguments=_arguments(part)) for part in response.tool_calls
    )
    return Answer(
        text=readable(response.text or ""), calls=calls, cost=cost, truncated=response.finish_reason == "length",
        input_tokens=response.usage.input_tokens, output_tokens=response.usage.output_tokens,
    )  # fmt: skip


def _arguments(part: ToolCallPart) -> Mapping[str, object]:
    """Return a call's arguments; what is no JSON object is handed on under a name that no tool has."""
    try:
        return part.args_as_dict()
    except (ValueError, AssertionError):
        return {"unreadable": str(part.args)}


def _reason(error: Exception) -> str:
    """Say what kind of failure it was: a server's own words may repeat what it was sent."""
    status = getattr(error, "status_code", None)
    return f"{type(error).__name__}{f' (HTTP {status})' if status else ''}"


_STARTING = threading.Lock()
_running: list[asyncio.AbstractEventLoop] = []


def _loop() -> asyncio.AbstractEventLoop:
    """Return the process's event loop for models, started at the first question."""
    with _STARTING:
        if not _running:
            loop = asyncio.new_event_loop()
            threading.Thread(target=loop.run_forever, name="memoranda-models", daemon=True).start()
            _running.append(loop)
        return _running[0]
