"""The secret scanner: made-up credentials of every format are found, look-alikes are not."""

from __future__ import annotations

import logging
import os
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoranda.adapters.secrets import anchors, detectors
from memoranda.adapters.secrets.scanner import STEP, WINDOW, DetectSecretsScanner
from memoranda.domain.withheld import SecretFinding
from memoranda.testing.made_up_secrets import (
    FORMATS,
    SecretFormat,
    made_up,
    made_up_basic_header,
    made_up_jwt,
)

SCANNER = DetectSecretsScanner()
TOKEN = made_up(SecretFormat("github", "ghp_{A:36}"), random.Random(7))
SETTINGS = (
    "The key for the build is {}, keep it.",
    "TOKEN={}",
    "- use `{}` here",
    "({})",
    '{{"value":"{}"}}',
    "it is **{}**.",
)


def classes(text: str) -> set[str]:
    """Return the classes found in a text."""
    return {finding.secret_class for finding in SCANNER.scan(text)}


@pytest.mark.parametrize("entry", FORMATS, ids=lambda entry: entry.name)
@pytest.mark.parametrize("seed", range(5))
def test_every_format_is_found_on_its_line(entry: SecretFormat, seed: int) -> None:
    """A random credential of this format is found in any setting, on the line where it stands."""
    value = made_up(entry, random.Random(f"{entry.name}{seed}"))
    for setting in SETTINGS if entry.bare else ("{}",):
        found = SCANNER.scan("First line.\n\n" + setting.format(value) + "\nLast line.")
        assert {finding.line for finding in found} == {3}, setting


@pytest.mark.parametrize("seed", range(5))
def test_encoded_credentials_are_found(seed: int) -> None:
    """A JSON Web Token and a basic authorization header are found, and base64 that is neither is not."""
    assert classes(f"the token {made_up_jwt(random.Random(seed))}") == {"json-web-token"}
    assert classes(made_up_basic_header(random.Random(seed))) == {"http-credentials"}
    assert not classes("Authorization: Basic authentication is switched off; eyJhbGciOiJub25lIn0 is a header")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('password = "hunter2horse9"', "password"),
        ("password: hunter2", "password"),
        ("Password: swordfish", "password"),
        ("my wifi password is hunter2horse9", "password"),
        ("**Password**: hunter2horse9", "password"),
        ("password: abc1234567890", "password"),
        ("Passwort: geheim!2024", "password"),
        ("contraseña: gato2024negro", "password"),
        ("密码：abc12345", "password"),
        ("DB_PASSWORD=swordfish", "password"),
        ('passphrase = "correct horse battery staple"', "password"),
        ("postgres://user:pw@host", "connection-string"),
        ("mysql://root:s3cret@localhost/app", "connection-string"),
        ("curl --user ann:hunter2horse https://example.org", "http-credentials"),
    ],
)
def test_short_secrets_are_found_by_what_stands_around_them(text: str, expected: str) -> None:
    """A password or connection string is found whatever its length, with its class."""
    assert classes(text) == {expected}


LOOK_ALIKES = (
    "api_key = YOUR_API_KEY",
    "export OPENAI_API_KEY=sk-...",
    "OPENAI_API_KEY=sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "Authorization: Bearer <token>",
    "Authorization: Bearer ${ACCESS_TOKEN}",
    "token: <your-token-here>",
    "password: ${DB_PASSWORD}",
    "password: {{ vault_db_password }}",
    "password: ********",
    "password: xxxxx",
    "password = os.environ['DB_PASSWORD']",
    "password=get_password()",
    "connect(user=user, password=password)",
    "password: str",
    'password = "changeme"',
    "password: required",
    "Password: see the vault",
    "Passwort: liegt im Tresor",
    "password: kept in Bitwarden",
    "the password policy requires 12 characters",
    "the password is 12 characters long",
    "the password is SHA256-hashed",
    "the password is base64-encoded",
    "ask me for the password",
    "she forgot her password again",
    "my password manager is 1Password",
    "secret santa is on 2024-12-20",
    "the secret is to keep the oven at 200 degrees",
    "the key is under the doormat",
    "API key: stored in 1password under deploy-key-production",
    "token_file: /home/ann/.config/service/token2024.json",
    "secret: ./config/k8s/production-secrets-2024.yaml",
    "primary key: customer_account_identifier_2024",
    "postgres://localhost:5432/app",
    "postgres://user:password@host/db",
    "postgres://app:${DB_PASSWORD}@db/app",
    "postgres://<user>:<password>@host/db",
    "see https://example.org/a:b/c@d and mailto:ann@example.org",
    "clone git@github.com:ann/repo.git or ssh://git@host:22/repo",
    "at 10:30@cafe we meet",
    "AKIAIOSFODNN7EXAMPLE",
    'aws_secret_access_key = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"',
    "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
    "sha256 2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
    "id 123e4567-e89b-12d3-a456-426614174000",
    "colours #ff8800 and #1a2b3c",
    "ISBN 978-3-16-148410-0",
    "+49 30 901820 or (555) 867-5309",
    "/usr/local/lib/python3.11/site-packages/sk-learn/key_value_store.py",
    "C:\\Users\\Ann\\Documents\\keys\\list.txt",
    "![logo](data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==)",
    "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft",
    "class SecretTokenAuthenticationKeyProviderFactoryBean2",
    "sk-estimator-doc-link is a class in sklearn's pages",
    "npm_config_registry and hf_hub_download and gho_st",
    "the public key starts with -----BEGIN PUBLIC KEY-----",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ ann@laptop",
    "max_tokens=4096, token budget: 16384, top_k = 40",
    "keyboard: German layout, monkey: 3, turkey: cold",
    "[auth]: https://docs.example.org/authentication/oauth2/getting-started",
)


@pytest.mark.parametrize("text", LOOK_ALIKES)
def test_placeholders_and_look_alikes_pass(text: str) -> None:
    """A look-alike is clean, and a real token on the next line of the same text is still found there."""
    assert not SCANNER.scan(text)
    assert SCANNER.scan(f"{text}\n{TOKEN}") == (SecretFinding("github-token", 2),)


def test_a_private_key_is_found_on_its_header_line() -> None:
    """A block of a private key is one finding, on the line of its header, and its certificate is none."""
    kinds = ("RSA ", "EC ", "OPENSSH ", "ENCRYPTED ", "DSA ", "")
    for kind in kinds:
        block = f"-----BEGIN {kind}PRIVATE KEY-----\nMIIEowIBAAKCAQEA\n-----END {kind}PRIVATE KEY-----"
        found = SCANNER.scan("-----BEGIN CERTIFICATE-----\nMIID\n-----END CERTIFICATE-----\n" + block)
        assert found == (SecretFinding("private-key", 4),)


def test_lines_are_counted_as_an_editor_does() -> None:
    """CRLF, LF and CR each end one line; other separators do not."""
    assert SCANNER.scan(f"a\r\nb\nc\rd\u2028e\x0bf\x85{TOKEN}")[0].line == 4
    assert SCANNER.scan(f"\r\n\r\n{TOKEN}\r\n{TOKEN}") == (
        SecretFinding("github-token", 3),
        SecretFinding("github-token", 4),
    )


def test_a_specific_class_replaces_the_generic_one() -> None:
    """A token that names its provider is reported once, and a password on another line as a password."""
    assert SCANNER.scan(f'api_token = "{TOKEN}"\npassword: hunter2horse9') == (
        SecretFinding("github-token", 1),
        SecretFinding("password", 2),
    )


@given(
    st.text(alphabet=st.sampled_from("abcdeyj.-_:/@=\"' PASSWORDskey0123\r\nßİK"), max_size=200),
    st.sampled_from([entry.pattern for entry in FORMATS]),
    st.integers(min_value=0, max_value=2**32),
)
def test_the_cheap_step_loses_nothing(prose: str, pattern: str, seed: int) -> None:
    """Anchors and shapes only save work: without them the detectors find nothing more."""
    line = " ".join(prose.split()) + " " + made_up(SecretFormat("any", pattern), random.Random(seed))
    built = detectors.build()
    thorough = {
        name for name in anchors.SPECIFIC if any(detectors.detected(detector, line) for detector in built[name])
    } or {name for name in anchors.GENERIC if any(detectors.detected(detector, line) for detector in built[name])}
    assert classes(line) == thorough


def test_every_class_has_anchors_and_detectors() -> None:
    """The classes of the anchors and those of the detectors are the same."""
    assert set(detectors.build()) == set(anchors.SPECIFIC) | set(anchors.GENERIC)
    assert set(anchors.SHAPES) <= set(anchors.SPECIFIC) | set(anchors.GENERIC)
    for table in (anchors.SPECIFIC, anchors.GENERIC):
        assert all(anchor == anchor.casefold() for row in table.values() for anchor in row)


@pytest.mark.parametrize("offset", [0, STEP - 20, STEP, WINDOW - 20, WINDOW, 3 * STEP - 1, 50_000])
def test_a_long_line_hides_nothing(offset: int) -> None:
    """A token is found anywhere in a line of 100,000 characters, and the line without it is clean."""
    words = ("lorem ipsum dolor " * 6_000)[:100_000]
    assert not SCANNER.scan(words)
    assert SCANNER.scan(words[:offset] + f" {TOKEN} " + words[offset:]) == (SecretFinding("github-token", 1),)


def test_threads_agree() -> None:
    """A fresh scanner that four threads use at once answers as one thread would."""
    texts = [f"line\n{made_up(entry, random.Random(3))}" for entry in FORMATS] + list(LOOK_ALIKES)
    fresh = DetectSecretsScanner()
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(fresh.scan, texts)) == [SCANNER.scan(text) for text in texts]


def test_findings_and_logs_never_hold_the_value(caplog: pytest.LogCaptureFixture) -> None:
    """Neither a finding nor anything logged at any level holds the token that was found."""
    with caplog.at_level(logging.DEBUG):
        found = SCANNER.scan(f"use {TOKEN} now")
        logging.getLogger("control").debug("heard")
    assert found
    assert "heard" in caplog.text
    assert TOKEN[8:] not in repr(found) + caplog.text


def test_clean_text_loads_no_library_and_no_settings_are_read(tmp_path: Path) -> None:
    """Ordinary prose imports no detector, a token does, and a baseline in the working folder is ignored."""
    (tmp_path / ".secrets.baseline").write_text('{"plugins_used": [], "filters_used": []}', encoding="utf-8")
    program = (
        "import sys, os\n"
        "from memoranda.adapters.secrets.scanner import DetectSecretsScanner\n"
        "scanner = DetectSecretsScanner()\n"
        "print(len(scanner.scan('Ann likes tea. The build runs at 9.')), 'detect_secrets' in sys.modules)\n"
        "print(len(scanner.scan('x ' + os.environ['MADE_UP'])), 'detect_secrets' in sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        cwd=tmp_path,
        env={**os.environ, "MADE_UP": TOKEN, "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert done.stdout.split() == ["0", "False", "1", "True"]
    assert done.stderr == ""


def test_scanning_opens_no_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """The library's verification by network is never reached: finding works where sockets are forbidden."""
    import socket

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    for entry in FORMATS:
        assert SCANNER.scan(made_up(entry, random.Random(11))), entry.name
