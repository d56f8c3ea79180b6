"""Made-up credentials in the formats of real providers, built at run time so that no source file holds one.

A pattern is literal text with fields `{alphabet:length}`: `A` letters and digits, `U` capitals and digits,
`h` hexadecimal, `d` digits, `B` base64, `W` base64url, `P` a password of letters, digits and signs.
Lengths and prefixes are those the providers document or public scanners use.
"""

from __future__ import annotations

import base64
import json
import random
import re
import string
from dataclasses import dataclass

_FIELD = re.compile(r"\{([AUhdBWP]):(\d+)\}")
_ALPHABETS = {
    "A": string.ascii_letters + string.digits,
    "U": string.ascii_uppercase + string.digits,
    "h": "0123456789abcdef",
    "d": string.digits,
    "B": string.ascii_letters + string.digits + "+/",
    "W": string.ascii_letters + string.digits + "-_",
    "P": string.ascii_letters + string.digits + "!%^*+~",
}


@dataclass(frozen=True, slots=True)
class SecretFormat:
    """One credential format: a name for reports, what is written, whether it is known without any context.

    `bare` formats are found wherever they stand in a sentence; the others bring their context in `pattern`.
    """

    name: str
    pattern: str
    bare: bool = True


FORMATS: tuple[SecretFormat, ...] = (
    SecretFormat("aws access key id", "AKIA{U:16}"),
    SecretFormat("aws temporary key id", "ASIA{U:16}"),
    SecretFormat("aws secret key", 'aws_secret_access_key = "{B:40}"', bare=False),
    SecretFormat("aws secret key, unquoted", "AWS_SECRET_ACCESS_KEY={B:40}", bare=False),
    SecretFormat("google api key", "AIza{W:34}4"),
    SecretFormat("google oauth secret", "GOCSPX-{W:27}4"),
    SecretFormat(
        "azure storage key",
        "DefaultEndpointsProtocol=https;AccountName=store;AccountKey={B:86}==",
        bare=False,
    ),
    SecretFormat("azure client secret", "{A:3}8Q~{A:34}"),
    SecretFormat("digitalocean token", "dop_v1_{h:64}"),
    SecretFormat("github personal token", "ghp_{A:36}"),
    SecretFormat("github oauth token", "gho_{A:36}"),
    SecretFormat("github app token", "ghs_{A:36}"),
    SecretFormat("github fine-grained token", "github_pat_{A:22}_{A:59}"),
    SecretFormat("gitlab personal token", "glpat-{A:20}"),
    SecretFormat("gitlab deploy token", "gldt-{A:20}"),
    SecretFormat("gitlab runner token", "glrt-{A:20}"),
    SecretFormat("bitbucket app password", "ATBB{A:32}"),
    SecretFormat("atlassian api token", "ATATT3xFfGF0{W:171}={U:8}"),
    SecretFormat("openai legacy key", "sk-{A:20}T3BlbkFJ{A:20}"),
    SecretFormat("openai project key", "sk-proj-{W:74}T3BlbkFJ{W:73}A"),
    SecretFormat("openai service key", "sk-svcacct-{W:74}T3BlbkFJ{W:73}A"),
    SecretFormat("anthropic api key", "sk-ant-api03-{W:93}AA"),
    SecretFormat("anthropic admin key", "sk-ant-admin01-{W:93}AA"),
    SecretFormat("hugging face token", "hf_{A:34}"),
    SecretFormat("xai key", "xai-{A:80}"),
    SecretFormat("groq key", "gsk_{A:52}"),
    SecretFormat("replicate token", "r8_{A:37}"),
    SecretFormat("openrouter key", "sk-or-v1-{h:64}"),
    SecretFormat("perplexity key", "pplx-{A:48}"),
    SecretFormat("deepseek key", "DEEPSEEK_API_KEY=sk-{h:32}", bare=False),
    SecretFormat("mistral key", "MISTRAL_API_KEY={A:32}", bare=False),
    SecretFormat("cohere key", 'cohere_api_key: "{A:40}"', bare=False),
    SecretFormat("slack bot token", "xoxb-{d:12}-{d:12}-{A:24}"),
    SecretFormat("slack user token", "xoxp-{d:12}-{d:12}-{d:12}-{h:32}"),
    SecretFormat("slack app token", "xapp-1-{U:11}-{d:13}-{h:64}"),
    SecretFormat("slack webhook", "https://hooks.slack.com/services/T{U:10}/B{U:10}/{A:24}"),
    SecretFormat("stripe live key", "sk_live_{A:24}"),
    SecretFormat("stripe restricted key", "rk_live_{A:24}"),
    SecretFormat("npm token", "npm_{A:36}"),
    SecretFormat("npmrc token", "//registry.npmjs.org/:_authToken=npm_{A:36}", bare=False),
    SecretFormat("pypi token", "pypi-AgEIcHlwaS5vcmc{W:150}"),
    SecretFormat("sendgrid key", "SG.{W:22}.{W:42}A"),
    SecretFormat("twilio key", 'twilio_auth_token = "{h:32}"', bare=False),
    SecretFormat("telegram bot token", "{d:10}:AA{W:32}A"),
    SecretFormat("discord webhook", "https://discord.com/api/webhooks/{d:18}/{W:68}"),
    SecretFormat("docker hub token", "dckr_pat_{W:26}A"),
    SecretFormat("databricks token", "dapi{h:32}"),
    SecretFormat("grafana token", "glsa_{A:32}_{h:8}"),
    SecretFormat("linear key", "lin_api_{A:40}"),
    SecretFormat("notion token", "ntn_{d:11}{A:35}"),
    SecretFormat("doppler token", "dp.pt.{A:43}"),
    SecretFormat("vault token", "hvs.{W:95}A"),
    SecretFormat("shopify token", "shpat_{h:32}"),
    SecretFormat("supabase token", "sbp_{h:40}"),
    SecretFormat("age secret key", "AGE-SECRET-KEY-1{U:58}"),
    SecretFormat("rsa private key", "-----BEGIN RSA PRIVATE KEY-----", bare=False),
    SecretFormat("openssh private key", "-----BEGIN OPENSSH PRIVATE KEY-----", bare=False),
    SecretFormat("private key", "-----BEGIN PRIVATE KEY-----", bare=False),
    SecretFormat("encrypted private key", "-----BEGIN ENCRYPTED PRIVATE KEY-----", bare=False),
    SecretFormat("pgp private key", "-----BEGIN PGP PRIVATE KEY BLOCK-----", bare=False),
    SecretFormat("password, quoted", 'password = "hunter{A:4}horse9"', bare=False),
    SecretFormat("password, colon", "password: {P:12}", bare=False),
    SecretFormat("password, markdown", "- **Password:** `{P:12}`", bare=False),
    SecretFormat("password, yaml", "  db_password: '{P:14}'", bare=False),
    SecretFormat("password, env", "export DB_PASSWORD={A:14}", bare=False),
    SecretFormat("password, json", '{"user": "ann", "password": "{P:12}"}', bare=False),
    SecretFormat("password, sentence", "the wifi password is {A:6}{d:2}{A:6}", bare=False),
    SecretFormat("api key, env", "INTERNAL_API_KEY={A:32}", bare=False),
    SecretFormat("client secret, yaml", "client_secret: {A:40}", bare=False),
    SecretFormat("bearer header", "Authorization: Bearer {A:40}", bare=False),
    SecretFormat("curl user", "curl -u ann:{A:14} https://example.org/api", bare=False),
    SecretFormat("postgres url", "postgres://app:{A:14}@db.example.org:5432/app", bare=False),
    SecretFormat("mongodb url", "mongodb+srv://app:{A:14}@cluster0.abcde.mongodb.net/x", bare=False),
    SecretFormat("redis url", "redis://:{A:14}@cache.example.org:6379/0", bare=False),
    SecretFormat("https url", "https://ann:{A:14}@git.example.org/repo.git", bare=False),
    SecretFormat("ado.net string", "Server=db;Database=app;User Id=app;Password={A:14};", bare=False),
)
"""What a scanner should find; one made-up value per entry and seed."""


def made_up(entry: SecretFormat, rng: random.Random) -> str:
    """Return a credential of this format with random content."""
    return _FIELD.sub(lambda m: "".join(rng.choices(_ALPHABETS[m[1]], k=int(m[2]))), entry.pattern)


def made_up_basic_header(rng: random.Random) -> str:
    """Return an HTTP header with a user and password in base64."""
    password = "".join(rng.choices(_ALPHABETS["P"], k=14))
    return "Authorization: Basic " + base64.b64encode(f"ann:{password}".encode()).decode()


def made_up_jwt(rng: random.Random) -> str:
    """Return a signed-looking JSON Web Token whose parts decode."""
    parts = [
        {"alg": "HS256", "typ": "JWT"},
        {"sub": "".join(rng.choices(string.digits, k=10)), "name": "Ann", "iat": 1_700_000_000},
    ]
    encoded = [base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in parts]
    return ".".join([*encoded, "".join(rng.choices(_ALPHABETS["W"], k=43))])
