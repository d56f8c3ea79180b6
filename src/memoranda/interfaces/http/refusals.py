"""Gives answers that frameworks write as plain text (no such path, wrong method, too large) the one error shape."""

from __future__ import annotations

import json
from dataclasses import dataclass

from starlette.types import ASGIApp, Message, Receive, Scope, Send

KNOWN = {
    404: ("not_found", "there is nothing at this path"),
    405: ("method_not_allowed", "this path does not take this method"),
    413: ("too_large", "the request is too large"),
}


@dataclass(frozen=True, slots=True)
class JsonRefusals:
    """ASGI middleware: replaces the text of a refusal that is not JSON; its status and other headers stay."""

    app: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        refused = False

        async def answer(message: Message) -> None:
            nonlocal refused
            if message["type"] == "http.response.start" and _is_plain(message):
                refused = True
                await _refuse(message, send)
            elif not refused:
                await send(message)

        await self.app(scope, receive, answer)


def _is_plain(message: Message) -> bool:
    kind = dict(message.get("headers", ())).get(b"content-type", b"")
    return message["status"] in KNOWN and not kind.startswith(b"application/json")


async def _refuse(message: Message, send: Send) -> None:
    code, text = KNOWN[message["status"]]
    body = json.dumps({"error": {"code": code, "message": text}}).encode()
    kept = [item for item in message.get("headers", ()) if item[0] not in (b"content-type", b"content-length")]
    about = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({**message, "headers": [*kept, *about]})
    await send({"type": "http.response.body", "body": body})
