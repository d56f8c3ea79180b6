"""The detectors: plugins of `detect-secrets`, its own where they fit and ours in its plugin form.

Imported at the first text that could hold a secret, because the library loads an HTTP client that is never
used here: plugins are called directly, without its settings, baseline files or verification.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Generator, Iterable

from detect_secrets.plugins.aws import AWSKeyDetector
from detect_secrets.plugins.azure_storage_key import AzureStorageKeyDetector
from detect_secrets.plugins.base import BasePlugin, RegexBasedDetector
from detect_secrets.plugins.discord import DiscordBotTokenDetector
from detect_secrets.plugins.github_token import GitHubTokenDetector
from detect_secrets.plugins.gitlab_token import GitLabTokenDetector
from detect_secrets.plugins.jwt import JwtTokenDetector
from detect_secrets.plugins.mailchimp import MailchimpDetector
from detect_secrets.plugins.openai import OpenAIDetector
from detect_secrets.plugins.private_key import PrivateKeyDetector
from detect_secrets.plugins.pypi_token import PypiTokenDetector
from detect_secrets.plugins.sendgrid import SendGridDetector
from detect_secrets.plugins.slack import SlackDetector
from detect_secrets.plugins.square_oauth import SquareOAuthDetector
from detect_secrets.plugins.stripe import StripeDetector
from detect_secrets.plugins.twilio import TwilioKeyDetector

from memoranda.adapters.secrets.anchors import KEY_WORDS, PASSWORD_WORDS
from memoranda.adapters.secrets.placeholders import (
    is_placeholder,
    is_stand_in,
    is_template,
    looks_chosen,
    looks_random,
)

_START = r"(?<![A-Za-z0-9])"
_END = r"(?![A-Za-z0-9])"
_ASSIGN = r"[\"'`*_)\]]{0,4}\s{0,4}(?::=|=>|={1,3}|[:\uff1a])[*_]{0,3}\s{0,4}"
"""What stands between a name and its value in code, configuration, tables and Markdown; also a wide colon."""
_EXPRESSION = re.compile(r"%\w+%|[A-Za-z_][\w.]*[(\[].*|[A-Za-z_]+(?:[._][A-Za-z_]+)+")
"""A call, an index, or a dotted or underscored name."""


class TokenDetector(RegexBasedDetector):
    """Finds tokens that a fixed prefix identifies; each instance knows one class."""

    secret_type = "token"  # noqa: S105 - a class, not a credential
    denylist: Iterable[re.Pattern[str]] = ()

    def __init__(self, *patterns: str) -> None:
        self.denylist = tuple(re.compile(_START + pattern) for pattern in patterns)


class KeyOfProviderDetector(TokenDetector):
    """Finds tokens whose prefix also begins ordinary identifiers: the rest must look random."""

    def analyze_string(self, string: str, **_: object) -> Generator[str, None, None]:
        """Yield the tokens of a line."""
        yield from (found for found in super().analyze_string(string) if looks_random(found))


class ConnectionStringDetector(RegexBasedDetector):
    """Finds passwords in `scheme://user:password@host` and in `Server=…;User Id=…;Password=…`."""

    secret_type = "connection-string"  # noqa: S105
    denylist = (
        re.compile(r"://[^\s:/?#@\[\]\"'`<>]{0,128}:([^\s/@\"'`]{1,256})@[\w\[]"),
        re.compile(
            r"(?:user(?:name| ?id)?|uid)=[^;\s]{1,128};.{0,256}?(?:password|pwd)=([^;\s]{3,256})",
            re.IGNORECASE,
        ),
    )

    def analyze_string(self, string: str, **_: object) -> Generator[str, None, None]:
        """Yield the passwords of a line; short or common words count here, for the place says it all."""
        for found in super().analyze_string(string):
            masked = len(set(found)) == 1 or found.casefold() in ("password", "pass", "passwd")
            if not (masked or is_template(found)):
                yield found


class HttpCredentialsDetector(RegexBasedDetector):
    """Finds bearer tokens, basic credentials that decode to `user:password`, and `curl -u user:password`."""

    secret_type = "http-credentials"  # noqa: S105
    denylist = ()
    _bearer = re.compile(r"\bbearer[ :=\"'`]{1,4}([A-Za-z0-9_\-.+/=~]{16,512})", re.IGNORECASE)
    _basic = re.compile(r"\bbasic[ ]{1,4}([A-Za-z0-9+/]{8,512}={0,2})", re.IGNORECASE)
    _curl = re.compile(r"\bcurl\b.{0,256}?\s(?:-u|--user)[ =]['\"]?[^\s:'\"]{1,128}:([^\s'\"]{1,128})")

    def analyze_string(self, string: str, **_: object) -> Generator[str, None, None]:
        """Yield the credentials of a line."""
        yield from (found for found in self._bearer.findall(string) if looks_random(found))
        yield from (found for found in self._basic.findall(string) if _is_user_and_password(found))
        yield from (found for found in self._curl.findall(string) if not is_stand_in(found))


class PasswordDetector(RegexBasedDetector):
    """Finds passwords that are assigned, as in code, configuration and notes."""

    secret_type = "password"  # noqa: S105
    _word = rf"(?:{'|'.join(PASSWORD_WORDS)})"
    _quoted = re.compile(
        rf"{_word}[\w-]{{0,20}}{_ASSIGN}[@$bru]?(?P<q>[\"'`])(?P<value>(?:(?!(?P=q))\S){{4,256}})(?P=q)",
        re.IGNORECASE,
    )
    _plain = re.compile(rf"{_word}{_ASSIGN}(?P<value>[^\s\"'`,;|]{{4,256}})", re.IGNORECASE)
    _shell = re.compile(r"[A-Z0-9_]{0,40}PASS(?:WORD|WD|PHRASE)?=(?P<value>[^\s\"'`,;|]{4,256})")
    _phrase = re.compile(rf"passphrase{_ASSIGN}(?P<q>[\"'`])(?P<value>[^\"'`]{{8,256}})(?P=q)", re.IGNORECASE)
    _said = re.compile(
        rf"{_word}\s{{1,3}}(?:is|was|ist|est|es|è|é)\s{{1,3}}[\"'`]?(?P<value>\S{{6,256}})", re.IGNORECASE
    )
    denylist = ()

    def analyze_string(self, string: str, **_: object) -> Generator[str, None, None]:
        """Yield the passwords of a line."""
        for match in (
            *self._quoted.finditer(string),
            *self._shell.finditer(string),
            *self._phrase.finditer(string),
        ):
            if not (is_stand_in(match["value"]) or _is_place(match["value"])):
                yield match["value"]
        for match in self._plain.finditer(string):
            value = match["value"].rstrip(".)]}*_")
            alone = not string[match.end("value") :].strip(" \t*_`|.")
            if _is_code(value) or is_stand_in(value):
                continue
            if looks_chosen(value) or (alone and value.isalpha() and value.islower() and len(value) >= 6):  # noqa: PLR2004
                yield value
        for match in self._said.finditer(string):
            value = match["value"].strip(".,;:!?\"'`*_()")
            if len(value) >= 6 and looks_chosen(value) and not is_stand_in(value) and not _is_code(value):  # noqa: PLR2004
                yield value


class ApiKeyDetector(RegexBasedDetector):
    """Finds long random values that are assigned to something called a key, token or secret."""

    secret_type = "api-key"  # noqa: S105
    denylist = (
        re.compile(
            rf"(?:{'|'.join(KEY_WORDS)})(?:s|[_-]?(?:key|id|token|value|secret|header))?{_ASSIGN}"
            r"[@$bru]?[\"'`]?([A-Za-z0-9_\-.+/=~]{16,512})",
            re.IGNORECASE,
        ),
        re.compile(
            rf"(?:{'|'.join(KEY_WORDS)})\s{{1,3}}is\s{{1,3}}[\"'`]?([A-Za-z0-9_\-+/=~]{{16,512}})",
            re.IGNORECASE,
        ),
    )

    def analyze_string(self, string: str, **_: object) -> Generator[str, None, None]:
        """Yield the values of a line that look random and are no path, address or code."""
        for found in super().analyze_string(string):
            if looks_random(found) and not _is_place(found):
                yield found


Detectors = dict[str, tuple[BasePlugin, ...]]


def build() -> Detectors:
    """Return the detectors of each class of `anchors.SPECIFIC` and `anchors.GENERIC`."""
    return {
        **_clouds_and_code_hosts(),
        **_model_providers(),
        **_services(),
        "connection-string": (ConnectionStringDetector(),),
        "http-credentials": (HttpCredentialsDetector(),),
        "password": (PasswordDetector(),),
        "api-key": (ApiKeyDetector(),),
    }


def detected(detector: BasePlugin, line: str) -> bool:
    """Say whether a detector finds something in a line that is no placeholder."""
    # `1234567890` in a token marks an example, but people do choose it as a password.
    judged = isinstance(detector, PasswordDetector | ConnectionStringDetector)
    return any(judged or not is_placeholder(found) for found in detector.analyze_string(line))


def _is_code(value: str) -> bool:
    """Say whether an unquoted value is an expression, a reference or a path rather than a password."""
    return _is_place(value) or value.startswith("--") or bool(_EXPRESSION.fullmatch(value))


def _is_place(value: str) -> bool:
    """Say whether a value says where something is: a path, an address or a reference to a vault."""
    return value.startswith(("/", "~/", "./", "../")) or bool(
        re.match(r"[A-Za-z][A-Za-z0-9+.-]*://|(?:file|env|vault|op):", value)
    )


def _is_user_and_password(text: str) -> bool:
    try:
        user, colon, password = base64.b64decode(text, validate=True).decode("ascii").partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return False
    return bool(user and colon and password) and (user + password).isprintable()


def _clouds_and_code_hosts() -> Detectors:
    return {
        "aws-key": (
            AWSKeyDetector(),
            TokenDetector(r"(?i:aws_?secret(?:_?access)?_?key)[\"'` :=]{1,6}[A-Za-z0-9/+]{40}"),
        ),
        "google-key": (TokenDetector(r"AIza[\w-]{35}", r"GOCSPX-[\w-]{28}"),),
        "azure-key": (
            AzureStorageKeyDetector(),
            TokenDetector(r"[\w~.-]{3}\dQ~[\w~.-]{31,34}", r"SharedAccessKey=[A-Za-z0-9+/]{42,88}={0,2}"),
        ),
        "digitalocean-token": (TokenDetector(r"do[opr]_v1_[a-f0-9]{64}"),),
        "github-token": (GitHubTokenDetector(), TokenDetector(r"github_pat_\w{60,}")),
        "gitlab-token": (GitLabTokenDetector(),),
        "bitbucket-token": (TokenDetector(r"ATBB[A-Za-z0-9]{28,}", r"ATCTT3xF[\w=-]{60,}"),),
        "atlassian-token": (TokenDetector(r"ATATT3xF[\w=-]{60,}"),),
    }


def _model_providers() -> Detectors:
    return {
        "openai-key": (
            OpenAIDetector(),
            TokenDetector(r"sk-(?:proj|svcacct|admin|service)-[\w-]{20,}"),
            KeyOfProviderDetector(r"sk-[A-Za-z0-9]{32,}" + _END),
        ),
        "anthropic-key": (TokenDetector(r"sk-ant-[a-z0-9]{2,12}-[\w-]{24,}", r"sk-ant-[\w-]{40,}"),),
        "openrouter-key": (TokenDetector(r"sk-or-(?:v\d-)?[\w-]{32,}"),),
        "huggingface-token": (TokenDetector(r"hf_[A-Za-z0-9]{30,}"),),
        "xai-key": (TokenDetector(r"xai-[A-Za-z0-9]{60,}"),),
        "groq-key": (TokenDetector(r"gsk_[A-Za-z0-9]{40,}"),),
        "replicate-token": (TokenDetector(r"r8_[A-Za-z0-9]{37,}"),),
        "perplexity-key": (TokenDetector(r"pplx-[A-Za-z0-9]{40,}"),),
    }


def _services() -> Detectors:
    return {
        "slack-token": (
            SlackDetector(),
            TokenDetector(r"xapp-\d-[A-Za-z0-9]+-\d+-[a-zA-Z0-9]{32,}", r"xox[ec][.-][\w.-]{20,}"),
        ),
        "stripe-key": (
            StripeDetector(),
            TokenDetector(r"[sr]k_(?:live|test)_[A-Za-z0-9]{16,}", r"whsec_[A-Za-z0-9+/]{32,}"),
        ),
        "npm-token": (
            TokenDetector(r"npm_[A-Za-z0-9]{36}"),
            KeyOfProviderDetector(r"_authToken=\s{0,4}[\w-]{32,64}"),
        ),
        "pypi-token": (PypiTokenDetector(),),
        "sendgrid-key": (SendGridDetector(), TokenDetector(r"SG\.[\w-]{20,24}\.[\w-]{39,50}")),
        "mailgun-key": (MailchimpDetector(), TokenDetector(r"key-[a-f0-9]{32}" + _END)),
        "twilio-key": (TwilioKeyDetector(),),
        "telegram-token": (TokenDetector(r"\d{8,10}:AA[\w-]{33}" + _END),),
        "discord-token": (
            DiscordBotTokenDetector(),
            TokenDetector(r"discord(?:app)?\.com/api/webhooks/\d{17,20}/[\w-]{60,}"),
        ),
        "docker-token": (TokenDetector(r"dckr_[po]at_[\w-]{27,}"),),
        "databricks-token": (TokenDetector(r"dapi[a-f0-9]{32}"),),
        "grafana-token": (TokenDetector(r"glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}", r"glc_[A-Za-z0-9+/]{32,}"),),
        "linear-key": (TokenDetector(r"lin_(?:api|oauth)_[A-Za-z0-9]{40,}"),),
        "notion-token": (TokenDetector(r"ntn_\d{11}[A-Za-z0-9]{35}"),),
        "doppler-token": (TokenDetector(r"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[\w-]{2,35}\.)?[A-Za-z0-9]{40,44}"),),
        "vault-token": (TokenDetector(r"hv[sb]\.[\w-]{24,}"),),
        "shopify-token": (TokenDetector(r"shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{32}"),),
        "supabase-token": (TokenDetector(r"sbp_[a-f0-9]{40}", r"sb_secret_[\w-]{28,}"),),
        "square-token": (SquareOAuthDetector(),),
        "age-key": (TokenDetector(r"AGE-SECRET-KEY-1[A-Z0-9]{58}"),),
        "json-web-token": (JwtTokenDetector(),),
        "private-key": (
            PrivateKeyDetector(),
            TokenDetector(r"BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY", r"PuTTY-User-Key-File-\d"),
        ),
    }
