"""What is told in a conversation loses its secrets before it is written down, and nothing else."""

from __future__ import annotations

import random
from difflib import SequenceMatcher

import pytest

from memoranda.adapters.secrets.scanner import DetectSecretsScanner
from memoranda.testing.made_up_secrets import FORMATS, SecretFormat, made_up

SCANNER = DetectSecretsScanner()


def longest_shared(value: str, text: str) -> int:
    """Length of the longest piece of a value that still stands in a text."""
    match = SequenceMatcher(None, value, text, autojunk=False).find_longest_match()
    return match.size


@pytest.mark.parametrize("entry", FORMATS, ids=lambda entry: entry.name)
def test_every_format_is_redacted(entry: SecretFormat) -> None:
    """A secret of each format is gone and the result is clean, while the lines around it stay as they were."""
    rng = random.Random(entry.name)
    seen = 0
    for _ in range(10):
        value = made_up(entry, rng)
        text = f"We met on Monday.\n{value}\nAnd went home at 8080.\r\n"
        result, found = SCANNER.redact(text)
        assert [finding.line for finding in found] == [2] * len(found)
        if not found:  # chance made one that does not look random: three of 3,800
            assert result == text
            continue
        seen += 1
        assert longest_shared(value, result) < max(len(value) // 2, 8) or not entry.bare
        assert value not in result
        assert "[redacted:" in result
        assert SCANNER.scan(result) == ()
        assert result.startswith("We met on Monday.\n")
        assert result.endswith("\nAnd went home at 8080.\r\n")
    assert seen >= 9


def test_the_rest_of_the_line_stays() -> None:
    """Only the secret's own characters go where the rest is no secret."""
    value = made_up(next(entry for entry in FORMATS if entry.name == "github personal token"), random.Random(1))
    result, _ = SCANNER.redact(f"Use {value} for the build.")
    assert result == "Use [redacted:github-token] for the build."


def test_invisible_letters_do_not_hide_a_secret() -> None:
    """A token that zero-width letters take apart is redacted; the control line keeps its own."""
    value = made_up(next(entry for entry in FORMATS if entry.name == "github personal token"), random.Random(2))
    hidden = "\u200b".join(value)
    result, found = SCANNER.redact(f"family \u200d line\nkey {hidden}\n")
    assert found
    assert value not in result.replace("\u200b", "")
    assert result.startswith("family \u200d line\n")


def test_a_private_key_goes_whole() -> None:
    """A private key goes up to its END line, blank lines included; what follows stays."""
    key = "-----BEGIN RSA PRIVATE KEY-----\nMIIabc\n\nMIIdef\n-----END RSA PRIVATE KEY-----"
    result, _ = SCANNER.redact(f"before\n{key}\nafter\n")
    assert result == "before\n[redacted:private-key]\nafter\n"
    lone, _ = SCANNER.redact("-----BEGIN RSA PRIVATE KEY-----\nstory goes on\n")
    assert lone == "[redacted:private-key]\nstory goes on\n"


@pytest.mark.parametrize("text", ["", "plain words\n", "password reset is at 9\n", "C# on 8080 -- ok\r\n\r\n"])
def test_clean_text_is_returned_as_it_is(text: str) -> None:
    """A text without a secret comes back unchanged; the control is redacted."""
    assert SCANNER.redact(text) == (text, ())
    assert SCANNER.redact(f"{text}password: Xk9-Tr7-Qm2\n")[0] != f"{text}password: Xk9-Tr7-Qm2\n"
