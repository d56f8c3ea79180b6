"""Who may speak to the HTTP server: Host, then Origin, then the token, before anything else.

A web page can make a browser send requests to this machine under a name of its own (DNS rebinding). Host must
therefore be a name this server answers to, and a request that a page made (it has an Origin) must come from
there too.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import json
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from memoranda.errors import Denied, InvalidInput, MemorandaError
from memoranda.interfaces.errors import Unauthorized, answer_to, describe

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
OPEN_PATHS = frozenset({"/health"})
"""Answered without a token; they tell nothing about the memory."""


def is_loopback(host: str) -> bool:
    """Return whether a bind address can be reached from this machine only."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class Doors:
    """The names this server answers to; `any_address` adds bare IP addresses, which cannot be rebound."""

    names: frozenset[str] = LOOPBACK_NAMES
    any_address: bool = False

    @classmethod
    def of(cls, host: str) -> Doors:
        """Return the names for a bind address: loopback always, the address itself, any IP for a wildcard."""
        wildcard = host in ("0.0.0.0", "::", "")  # noqa: S104 - recognised, not bound
        return cls(LOOPBACK_NAMES | ({host} if not wildcard else frozenset()), any_address=wildcard)

    def admit(self, name: str | None) -> bool:
        """Return whether a host name without port is one of ours."""
        if name is None:
            return False
        if name in self.names:
            return True
        if not self.any_address:
            return False
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True


@dataclass(frozen=True, slots=True)
class Tokens:
    """Bearer tokens, kept as digests, each with the agent it stands for."""

    agents: Mapping[bytes, str]

    @classmethod
    def of(cls, tokens: Mapping[str, str]) -> Tokens:
        """Take token -> agent id."""
        return cls({hashlib.sha256(token.encode()).digest(): agent for token, agent in tokens.items()})

    def agent(self, header: str | None) -> str:
        """Return the agent of an `Authorization` header.

        Every known digest is compared in constant time, so that timing tells nothing about a near miss.

        Raises:
            Unauthorized: there is no token, or it is unknown.
        """
        scheme, _, token = (header or "").partition(" ")
        digest = hashlib.sha256(token.strip().encode("utf-8", "replace")).digest()
        found = ""
        for known, agent in self.agents.items():
            if hmac.compare_digest(known, digest):
                found = agent
        if scheme.lower() != "bearer" or not found:
            raise Unauthorized("a valid token is needed: send 'Authorization: Bearer <token>'")
        return found


@dataclass(frozen=True, slots=True)
class Guard:
    """ASGI middleware: lets a request through with its agent in `request.state.agent`, or answers why not."""

    app: ASGIApp
    doors: Doors
    tokens: Tokens

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request = Request(scope)
        try:
            self._check_names(request)
            if scope["path"] not in OPEN_PATHS:
                request.state.agent = self.tokens.agent(request.headers.get("authorization"))
        except MemorandaError as error:
            await _refuse(error, send)
            return
        await self.app(scope, receive, send)

    def _check_names(self, request: Request) -> None:
        """Raise InvalidInput or Denied for a Host or Origin that is not ours."""
        hosts = request.headers.getlist("host")
        if len(hosts) != 1:
            raise InvalidInput("exactly one Host header is needed")
        if not self.doors.admit(_name_of(f"//{hosts[0]}")):
            raise Denied("this Host is not served here")
        for origin in request.headers.getlist("origin"):
            if not origin.startswith(("http://", "https://")) or not self.doors.admit(_name_of(origin)):
                raise Denied("requests from this Origin are not served here")


def _name_of(url: str) -> str | None:
    """Return the lower-case host name of a URL without path, or None for anything else."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return None
    if parts.path or parts.query or parts.fragment or "@" in parts.netloc:
        return None
    return parts.hostname


async def _refuse(error: MemorandaError, send: Send) -> None:
    body = json.dumps(describe(error)).encode()
    status = answer_to(error).http
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if isinstance(error, Unauthorized):
        headers.append((b"www-authenticate", b'Bearer realm="memoranda"'))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
