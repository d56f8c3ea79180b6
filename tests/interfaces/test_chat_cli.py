"""`memoranda chat` in a pipe: answers alone on standard output, commands and errors beside it, memory at the end."""

from __future__ import annotations

import json

import pytest

from tests.interfaces.command_line import TEA, CommandLine
from tests.model_server import ModelServer, model_server

NOTHING = json.dumps({"writes": [], "operations": []})
SECOND = "The user has a sister called Ana."


def environment(server: ModelServer) -> dict[str, str]:
    """Return what makes a process ask this server."""
    return {"MEMORANDA_LLM_MODEL": "custom:small", "MEMORANDA_LLM_BASE_URL": server.url}


def test_answers_alone_are_on_standard_output(cli: CommandLine) -> None:
    """A line is a turn; at the end the talk is written down and dreamt over once, and says so beside the answers."""
    with model_server("Hello.", "Green tea.", NOTHING) as server:
        done = cli("chat", stdin=f"Good morning\n\nWhat do I drink?\n{'/context'}\n", **environment(server))
        assert (done.code, done.out) == (0, "Hello.\nGreen tea.\n")
        assert "--- core memory" in done.err
        assert "extract done: nothing to keep" in done.err
        assert done.err.count("dream") >= 1
        asked = [one["messages"] for one in server.asked]
        assert [message["content"] for message in asked[1] if message["role"] == "assistant"] == ["Hello."]
        assert len(asked) == 4


def test_json_answers_are_one_document_each(cli: CommandLine) -> None:
    """With --json each answer is a line of JSON that says whether the conversation is tainted."""
    with model_server("Hello.", "Again.", NOTHING) as server:
        done = cli("chat", "--json", stdin="Good morning\nAgain\n", **environment(server))
        assert [json.loads(line) for line in done.out.splitlines()] == [
            {"answer": "Hello.", "tainted": False}, {"answer": "Again.", "tainted": False},
        ]  # fmt: skip


def test_a_conversation_goes_on_the_next_time(cli: CommandLine) -> None:
    """The second run shows the model what was said in the first; after /new and /end it does not."""
    with model_server("Hello.", NOTHING) as server:
        cli("chat", stdin="My name is Ben.\n/exit\nnever said\n", **environment(server))
        cli("chat", stdin="And now?\n/new\nA fresh start\n/end\n", **environment(server))
        cli("chat", stdin="Is anybody there?\n", **environment(server))
        told = [
            [message["content"] for message in one["messages"] if message["role"] == "user"]
            for one in server.asked
            if "tools" in one
        ]
        assert [any("My name is Ben." in text for text in turn) for turn in told] == [True, True, False, False]
        assert told[3][0] == "Is anybody there?"
        assert "never said" not in json.dumps(server.asked)
        assert len(cli("session", "list", "--json").json["sessions"]) == 1


def test_undo_and_taint_and_a_wrong_command(cli: CommandLine) -> None:
    """/undo takes back the newest change, twice brings it back; an unknown command is an error and ends nothing."""
    with model_server("Hello.", NOTHING) as server:
        cli("save", TEA)
        cli("save", SECOND)
        once = cli("chat", stdin="/undo\n/taint\n/help\n/undoo\n", **environment(server))
        assert "restored: MEMORY.md" in once.err
        assert "(clean)" in once.err
        assert "/exit" in once.err
        assert "there is no such command" in once.err
        assert (once.out, once.code, server.asked) == ("", 2, [])
        assert (cli.home / "MEMORY.md").read_text(encoding="utf-8").strip() == TEA
        cli("chat", stdin="/undo\n", **environment(server))
        assert SECOND in (cli.home / "MEMORY.md").read_text(encoding="utf-8")


def test_undo_works_in_a_tainted_conversation(cli: CommandLine) -> None:
    """What a person types is a person's: the taint of the conversation does not hold it up, and /taint names it."""
    with model_server("Hello.", NOTHING) as server:
        cli("save", TEA)
        cli("session", "tool-result", "chat", "web_fetch")
        done = cli("chat", stdin="/undo\n/taint\n/new\n/taint\n", **environment(server))
        assert "removed: MEMORY.md" in done.err
        assert "tainted by tool:web_fetch" in done.err
        assert "(clean)" in done.err
        assert not (cli.home / "MEMORY.md").exists()


def test_a_model_that_fails_is_one_line_and_the_talk_goes_on(cli: CommandLine) -> None:
    """The failed turn is named, the next is answered, and a pipe ends with the error's code."""
    with model_server(400, "Here.", NOTHING) as server:
        done = cli("chat", stdin="Hello\nAgain\n", **environment(server))
        assert (done.out, done.code) == ("Here.\n", 18)
        assert sum("did not answer" in line for line in done.err.splitlines()) == 1
        assert cli("verify").code == 0


def test_a_model_is_named_by_option_or_said_to_be_missing(cli: CommandLine) -> None:
    """Without a model the error says what to set; --model goes before the environment's."""
    missing = cli("chat", stdin="Hello\n")
    assert (missing.code, missing.out) == (15, "")
    assert "llm.model" in missing.err
    with model_server("Hello.", NOTHING) as server:
        done = cli("chat", "--model", "custom:other", stdin="Hello\n", **environment(server))
        assert (done.code, done.out) == (0, "Hello.\n")
        assert {one["model"] for one in server.asked} == {"other"}


def test_escape_sequences_of_a_model_steer_no_terminal(cli: CommandLine) -> None:
    """What a model says is printed with its control characters made visible."""
    with model_server("\x1b[2JGone.", NOTHING) as server:
        assert cli("chat", stdin="Hello\n", **environment(server)).out == "\N{REPLACEMENT CHARACTER}[2JGone.\n"


def test_a_pinned_agent_does_not_chat(cli: CommandLine) -> None:
    """The verb is for a person; a process that is pinned to an agent is refused."""
    with model_server("Hello.") as server:
        denied = cli("chat", stdin="Hello\n", MEMORANDA_AGENT="main", **environment(server))
        assert (denied.code, server.asked) == (9, [])
        assert cli("chat", stdin="/taint\n", **environment(server)).code == 0


@pytest.mark.slow
def test_other_agents_have_their_own_talk(cli: CommandLine) -> None:
    """--agent and --session choose whose memory and which conversation it is, in a process of its own as well."""
    with model_server("Hello.", NOTHING) as server:
        done = cli.process(
            "chat", "--agent", "ada", "--session", "tea", stdin=b"caf\xe9 au lait\n/exit\n", **environment(server)
        )
        assert (done.code, done.out) == (0, "Hello.\n")
        sessions = cli("session", "list", "--agent", "ada", "--json").json["sessions"]
        assert [one["key"] for one in sessions] == ["tea"]
        assert cli("session", "list", "--json").json["sessions"] == []


@pytest.mark.slow
def test_the_first_turn_recalls(cli: CommandLine) -> None:
    """In a new process with an embedder the first question gets what fits it: the embedder is open by then."""
    assert cli("save", TEA, "--file", "memory/notes.md").code == 0
    with model_server("Green tea.", NOTHING) as server:
        named = environment(server) | {"MEMORANDA_MEMORY_PROVIDER": "minilm"}
        done = cli.process("chat", stdin=b"What do I drink in the morning?\n", **named)
        assert done.code == 0, done
        last = server.asked[0]["messages"][-1]["content"]
        assert "recalled_memory_" in last
        assert TEA in last
