"""Looks for secrets in what is written and in what stands in files, the same way everywhere."""

from __future__ import annotations

import re

from memoranda.domain.fingerprint import INVISIBLE
from memoranda.domain.outcome import Refused
from memoranda.domain.withheld import SecretFinding
from memoranda.services.stores import Stores


def secrets_in(stores: Stores, text: str) -> tuple[SecretFinding, ...]:
    """Find the secrets in a text, also those that invisible characters take apart."""
    found = stores.scanner.scan(text)
    plain = text.translate(INVISIBLE)
    if plain == text:
        return found
    return tuple(sorted({*found, *stores.scanner.scan(plain)}, key=lambda finding: finding.line))


def secret_refused(stores: Stores, text: str) -> Refused | None:
    """Refuse a text that holds a secret, with its class; the text is neither echoed, logged nor stored."""
    found = secrets_in(stores, text)
    if not found:
        return None
    classes = ", ".join(sorted({finding.secret_class for finding in found}))
    return Refused("secret", f"the text holds a secret ({classes}); keep secrets in a password manager, not in memory")


def redacted(stores: Stores, text: str) -> str:
    """Return a text without its secrets, for transcripts and logs: what is told in a conversation is not refused."""
    return stores.scanner.redact(text)[0]


def name_words(path: str) -> str:
    """Return a path's names as words, for the scan."""
    return path.replace("/", " ").rpartition(".")[0]


def spoken(path: str) -> str:
    """Return what a file's own name says, as a sentence would."""
    return re.sub(r"[-_+.]+", " ", path.rpartition("/")[2].rpartition(".")[0])
