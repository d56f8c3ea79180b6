"""Which text can hold which class of secret: a cheap test before any detector is loaded or run.

Every pattern of a class needs at least one of its anchors, and its shape where it has one, compared after
`str.casefold`. A text without them is clean without a look at it; a test holds the scan to the same answers
with and without this step.
"""

from __future__ import annotations

import re

PASSWORD_WORDS = (
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "pwd",
    "passwort",
    "kennwort",
    "mot de passe",
    "contraseña",
    "contrasena",
    "senha",
    "пароль",
    "密码",
    "密碼",
    "パスワード",
    "비밀번호",
)
"""Words for a password, casefolded; the common languages of notes."""

KEY_WORDS = ("key", "token", "secret", "credential", "auth")

SPECIFIC: dict[str, tuple[str, ...]] = {
    "aws-key": ("a3t", "abia", "acca", "akia", "asia", "aws"),
    "google-key": ("aiza", "gocspx-"),
    "azure-key": ("accountkey=", "sharedaccesskey=", "q~"),
    "digitalocean-token": ("dop_v1_", "doo_v1_", "dor_v1_"),
    "github-token": ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
    "gitlab-token": (
        "glpat-",
        "gldt-",
        "glft-",
        "glsoat-",
        "glrt-",
        "gr1348941",
        "glcbt-",
        "glimt-",
        "glptt-",
        "glagent-",
        "gloas-",
    ),
    "bitbucket-token": ("atbb", "atctt3xf"),
    "atlassian-token": ("atatt3xf",),
    "openai-key": ("t3blbkfj", "sk-"),
    "anthropic-key": ("sk-ant-",),
    "openrouter-key": ("sk-or-",),
    "huggingface-token": ("hf_",),
    "xai-key": ("xai-",),
    "groq-key": ("gsk_",),
    "replicate-token": ("r8_",),
    "perplexity-key": ("pplx-",),
    "slack-token": ("xox", "xapp-", "hooks.slack.com"),
    "stripe-key": ("_live_", "_test_", "whsec_"),
    "npm-token": ("npm_", "_authtoken"),
    "pypi-token": ("pypi-",),
    "sendgrid-key": ("sg.",),
    "mailgun-key": ("key-", "-us"),
    "twilio-key": ("ac", "sk"),
    "telegram-token": (":aa",),
    "discord-token": (".", "/api/webhooks/"),
    "docker-token": ("dckr_pat_", "dckr_oat_"),
    "databricks-token": ("dapi",),
    "grafana-token": ("glsa_", "glc_"),
    "linear-key": ("lin_api_", "lin_oauth_"),
    "notion-token": ("ntn_",),
    "doppler-token": ("dp.",),
    "vault-token": ("hvs.", "hvb."),
    "shopify-token": ("shpat_", "shpca_", "shppa_", "shpss_"),
    "supabase-token": ("sbp_", "sb_secret_"),
    "square-token": ("sq0",),
    "age-key": ("age-secret-key-1",),
    "json-web-token": ("eyj",),
    "private-key": ("private key", "putty-user-key-file"),
}
"""Classes that a fixed mark identifies."""

GENERIC: dict[str, tuple[str, ...]] = {
    "connection-string": ("://", "password=", "pwd="),
    "http-credentials": ("bearer", "basic", "curl"),
    "password": PASSWORD_WORDS,
    "api-key": KEY_WORDS,
}
"""Classes that the words around a value identify; not asked about a line where a specific one was found."""

SHAPES: dict[str, re.Pattern[str]] = {
    "mailgun-key": re.compile(r"[0-9a-z]{32}"),
    "twilio-key": re.compile(r"(?:ac|sk)[a-z0-9]{32}"),
    "discord-token": re.compile(r"[\w-]{23}\.|/api/webhooks/"),
    "openai-key": re.compile(r"sk-[\w-]{20}"),
    "aws-key": re.compile(r"[0-9a-z/+]{20}"),
    "http-credentials": re.compile(r"[\w.+/=~-]{8}|curl"),
    "api-key": re.compile(r"[\w.+/=~-]{16}"),
}
"""What else a class needs, where its anchors alone are common in prose."""


def possible(classes: dict[str, tuple[str, ...]], folded: str) -> dict[str, tuple[str, ...]]:
    """Return the classes that casefolded text can hold at all."""
    return {
        name: anchors
        for name, anchors in classes.items()
        if any(anchor in folded for anchor in anchors) and (name not in SHAPES or SHAPES[name].search(folded))
    }
