"""Host, Origin and token checks, without a network."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import anyio
import pytest

from memoranda.errors import BackendError, ConfigurationError
from memoranda.interfaces.http.guard import Doors, Guard, Tokens, is_loopback
from memoranda.interfaces.http.token import own_token

TOKENS = Tokens.of({"token-of-ada": "ada", "token-of-bob": "bob"})


def knock(
    *headers: tuple[str, str], path: str = "/mcp", doors: Doors | None = None
) -> tuple[int, dict[str, str], str | None]:
    """Send one request through the guard; return status, headers and the agent that came through."""
    seen: dict[str, Any] = {"status": 0, "headers": {}, "agent": None}

    async def inner(scope: Any, _: Any, send: Any) -> None:
        seen["agent"] = scope.get("state", {}).get("agent", "")
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            seen["status"] = message["status"]
            seen["headers"] = {name.decode(): value.decode() for name, value in message["headers"]}

    scope = {
        "type": "http",
        "method": "POST",
        "path": path,
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers],
    }
    anyio.run(Guard(inner, doors or Doors(), TOKENS), scope, receive, send)
    return seen["status"], seen["headers"], seen["agent"]


HOST = ("host", "127.0.0.1:8765")
ADA = ("authorization", "Bearer token-of-ada")


def test_a_token_names_its_agent() -> None:
    """Each token lets in as its own agent, whatever the case of the scheme."""
    assert knock(HOST, ADA)[::2] == (200, "ada")
    assert knock(HOST, ("authorization", "bearer token-of-bob"))[::2] == (200, "bob")


@pytest.mark.parametrize(
    "header",
    ["", "Bearer", "Bearer ", "Bearer token-of-ad", "Bearer token-of-adaa", "Basic token-of-ada", "ada"],
)
def test_without_a_valid_token_nobody_comes_in(header: str) -> None:
    """A missing, wrong, shortened or differently labelled token is answered 401 with the way to do it."""
    assert knock(HOST, ADA)[0] == 200
    status, headers, agent = knock(HOST, *([("authorization", header)] if header else []))
    assert (status, agent) == (401, None)
    assert headers["www-authenticate"].startswith("Bearer")


@pytest.mark.parametrize(
    "host", ["localhost", "localhost:1", "127.0.0.1", "127.0.0.1:8765", "[::1]:8765", "LOCALHOST:5"]
)
def test_loopback_names_are_served(host: str) -> None:
    """Every spelling of this machine is a Host of ours, with any port."""
    assert knock(("host", host), ADA)[0] == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8765",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "127.0.0.1:8765@evil.example",
        "127.0.0.1:x",
        "",
        "192.168.1.5",
    ],
)
def test_a_foreign_host_is_refused_even_with_a_token(host: str) -> None:
    """A name that is not ours is answered 403 before the token is looked at."""
    assert knock(HOST, ADA)[0] == 200
    assert knock(("host", host), ADA)[0] == 403


def test_exactly_one_host_is_needed() -> None:
    """No Host and two Hosts are both refused."""
    assert knock(HOST, ADA)[0] == 200
    assert knock(ADA)[0] == 400
    assert knock(HOST, ("host", "evil.example"), ADA)[0] == 400


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://localhost:3000", 200),
        ("https://127.0.0.1", 200),
        ("http://evil.example", 403),
        ("http://localhost.evil.example", 403),
        ("http://127.0.0.1:1@evil.example", 403),
        ("null", 403),
        ("file://", 403),
        ("chrome-extension://localhost", 403),
    ],
)
def test_a_page_from_elsewhere_is_refused(origin: str, status: int) -> None:
    """A request with an Origin passes only when the page came from this machine."""
    assert knock(HOST, ADA, ("origin", origin))[0] == status


def test_the_health_page_needs_no_token_but_the_right_host() -> None:
    """/health is open to this machine only; no other path is open."""
    assert knock(HOST, path="/health")[::2] == (200, "")
    assert knock(("host", "evil.example"), path="/health")[0] == 403
    assert knock(HOST, path="/health/")[0] == 401


def test_a_wildcard_address_lets_in_bare_addresses_and_no_names() -> None:
    """Bound to every interface, an IP address as Host is served, a name that could be rebound is not."""
    doors = Doors.of("0.0.0.0")  # noqa: S104 - nothing is bound
    assert knock(("host", "192.168.1.5:8765"), ADA, doors=doors)[0] == 200
    assert knock(("host", "evil.example"), ADA, doors=doors)[0] == 403
    assert knock(("host", "box.lan"), ADA, doors=Doors.of("box.lan"))[0] == 200


@pytest.mark.parametrize(
    ("host", "local"),
    [
        ("127.0.0.1", True),
        ("127.8.8.8", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),  # noqa: S104 - nothing is bound
        ("::", False),
        ("10.0.0.1", False),
        ("box.lan", False),
    ],
)
def test_loopback_is_told_from_the_rest(host: str, local: bool) -> None:
    """Only addresses that no other machine reaches count as loopback."""
    assert is_loopback(host) is local


def test_the_own_token_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    """The first start makes a long token, readable by its owner only; the second finds it."""
    (tmp_path / ".state").mkdir()
    token = own_token(tmp_path)
    assert len(token) >= 43
    assert own_token(tmp_path) == token
    file = tmp_path / ".state" / "token"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [path.name for path in file.parent.iterdir()] == ["token"]


def test_a_token_file_that_cannot_serve_is_an_error(tmp_path: Path) -> None:
    """An empty or unwritable token file never means an open door."""
    with pytest.raises(BackendError):
        own_token(tmp_path / "absent")
    (tmp_path / ".state").mkdir()
    (tmp_path / ".state" / "token").write_text("\n", encoding="utf-8")
    with pytest.raises(ConfigurationError, match="is empty"):
        own_token(tmp_path)
