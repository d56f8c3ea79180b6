"""Refusals that are easy to take for something else: plain HTTP answers, and an empty folder name."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.testclient import TestClient

from memoranda.errors import IntegrityError, NotFound
from memoranda.interfaces.cli.output import Output
from memoranda.interfaces.http.guard import Doors, Tokens
from memoranda.interfaces.http.server import build_app
from memoranda.interfaces.mcp.server import answer
from memoranda.interfaces.tools import TOOLS, Caller
from memoranda.memory import Memory
from tests.interfaces.command_line import TEA, CommandLine


@contextlib.asynccontextmanager
async def _nothing() -> AsyncIterator[None]:
    yield


async def _large(_: Request) -> Response:
    return PlainTextResponse("too much", status_code=413)


async def _own(_: Request) -> Response:
    return JSONResponse({"own": True}, status_code=404)


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/nowhere", 404, "not_found"),
        ("POST", "/health", 405, "method_not_allowed"),
        ("GET", "/large", 413, "too_large"),
    ],
)
def test_plain_refusals_have_the_one_error_shape(method: str, path: str, status: int, code: str) -> None:
    """What a framework refuses in plain text is JSON; a JSON answer with such a status stays what it is."""
    routes = [Route("/large", _large), Route("/own", _own)]
    app = build_app(list(routes), doors=Doors(), tokens=Tokens.of({"t": "a"}), running=_nothing)
    client = TestClient(app, base_url="http://localhost", headers={"authorization": "Bearer t"})
    refused = client.request(method, path)
    assert refused.status_code == status
    assert refused.json()["error"]["code"] == code
    assert refused.json()["error"]["message"]
    assert client.get("/own").json() == {"own": True}
    assert client.get("/health").json() == {"status": "ok"}


def test_an_empty_home_is_refused(cli: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--home ""` does not make the current folder a memory; naming that folder does."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert cli("save", TEA, "--home", "").code == 2
    assert list((tmp_path / "here").iterdir()) == []
    assert cli("save", TEA, "--home", ".").code == 0
    assert (tmp_path / "here" / ".state").is_dir()


def test_an_unknown_chunk_is_an_error_with_its_documented_body(memory: Memory) -> None:
    """memory_get marks an unknown id as an error, and what is there as none."""
    caller = Caller(memory.agent("ada"))
    missing = answer(TOOLS, "memory_get", lambda: caller, {"chunk_id": "rec_unknown"})
    assert missing.is_error
    assert missing.structured_content == {"error": "chunk not found", "chunk_id": "rec_unknown"}
    saved = answer(TOOLS, "memory_save", lambda: caller, {"content": TEA}).structured_content
    assert saved is not None
    assert not answer(TOOLS, "memory_get", lambda: caller, {"chunk_id": saved["record_ids"][0]}).is_error


def test_undoing_a_creation_says_removed(cli: CommandLine) -> None:
    """A file that an undo takes away is called removed, one that it brings back restored."""
    cli("save", TEA, "--file", "memory/tea.md")
    assert "removed: memory/tea.md" in cli("undo", "--yes").out
    assert "restored: memory/tea.md" in cli("undo", "--yes").out


def test_damage_speaks_of_a_backup_and_other_errors_do_not(capsys: pytest.CaptureFixture[str]) -> None:
    """A person whose ledger is damaged is told where to look and what brings it back."""
    Output(as_json=False).fail(NotFound("unknown"))
    assert "backup" not in capsys.readouterr().err
    Output(as_json=False).fail(IntegrityError("the chain is broken"))
    assert "backup" in capsys.readouterr().err
