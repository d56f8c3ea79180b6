"""Calls and results of tools in transcripts, under the names that interfaces of models give them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from memoranda.domain.transcript_formats.event import ImportedEvent, Json, arguments_of, text_of, word

_CALLS = ("tool_use", "server_tool_use", "mcp_tool_use")
_RESULT = "tool_result"
_PICTURES = ("image", "document", "input_image")

Tools = dict[str, str]
"""Call id -> name of the tool, filled as calls are met."""


def parts_of(content: object, tools: Tools, about: dict[str, Any]) -> Iterator[ImportedEvent | str]:
    """Yield the texts of a message, and the calls and results among its parts, in order.

    Texts that follow one another are one. The parts are those of messages as Anthropic's interface has them, results of
    tools that run at the provider (`web_search_tool_result`) among them. A result whose call is not known has no name.
    """
    texts: list[object] = []
    for part in content if isinstance(content, list) else [content]:
        kind = word(part.get("type")) if isinstance(part, dict) else ""
        if not isinstance(part, dict) or (kind not in _CALLS and not kind.endswith(_RESULT)):
            texts.append(part)
            continue
        yield text_of(texts)
        texts = []
        if kind in _CALLS:
            yield _call(part, word(part.get("id")), part.get("input"), word(part.get("server_name")), tools, about)
        else:
            call = word(part.get("tool_use_id"))
            yield _result(tools.get(call) or kind.removesuffix(_RESULT).strip("_"), call, part.get("content"), about)
    yield text_of(texts)


def item_of(item: Json, tools: Tools, about: dict[str, Any]) -> Iterator[ImportedEvent]:
    """Yield the call or result that an item without a role is, as OpenAI's Responses interface has them.

    A tool that runs at the provider (`web_search_call`) has its result in the same item, or nowhere.
    """
    kind, call = word(item.get("type")), word(item.get("call_id")) or word(item.get("id"))
    said, server = item.get("arguments") or item.get("input") or item.get("action"), word(item.get("server_label"))
    if kind.endswith("_output"):
        yield _result(tools.get(call, ""), call, item.get("output"), about)
    elif kind in ("function_call", "custom_tool_call"):
        yield _call(item, call, said, server, tools, about)
    elif kind.endswith("_call"):
        named = {"name": word(item.get("name")) or kind.removesuffix("_call")}
        yield _call(named, call, said, server, tools, about)
        yield _result(tools[call], call, item.get("output") or item.get("results"), about)


def _call(part: Json, call: str, said: object, server: str, tools: Tools, about: dict[str, Any]) -> ImportedEvent:
    name = word(part.get("name"))
    tools[call] = f"mcp__{server}__{name}" if server else name
    return ImportedEvent(
        kind="tool_call", role="assistant", text=arguments_of(said or {}), tool=tools[call], call_id=call, **about
    )


def _result(tool: str, call: str, content: object, about: dict[str, Any]) -> ImportedEvent:
    is_picture = isinstance(content, list) and any(
        isinstance(part, dict) and part.get("type") in _PICTURES for part in content
    )
    text = text_of(content) or ("" if is_picture or not content else arguments_of(content))
    return ImportedEvent(kind="tool_result", role="tool", text=text, tool=tool, call_id=call, **about)
