"""The operator's credential: who may review, change trust, adopt and erase.

It keeps an agent's own processes out; a process with all rights of the home's owner is outside what it can stop.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os

from memoranda.domain.scope import OPERATOR, Principal
from memoranda.errors import Denied, InvalidInput
from memoranda.services.stores import Stores

EVENT = "operator.set"
MIN_CHARS = 8
_N, _R, _P, _MEMORY = 2**15, 8, 1, 64 * 1024 * 1024
"""scrypt's cost (RFC 7914): 32 MiB and about 0.1 s a guess."""

PRINCIPAL = Principal("operator")


def is_set(stores: Stores) -> bool:
    """Whether a passphrase has been set."""
    return bool(stores.ledger.events(scope=OPERATOR, limit=1, kind=EVENT))


def set_credential(stores: Stores, new: str, *, old: str = "", at_terminal: bool = False) -> None:
    """Set the operator's passphrase, or change it; only its scrypt hash is kept, in the ledger.

    Raises:
        Denied: the present one is not `old`, or none is set and nobody is at a terminal.
        InvalidInput: the new one has fewer than 8 characters.
    """
    check(stores, old, at_terminal=at_terminal)
    if len(new) < MIN_CHARS:
        raise InvalidInput(f"a passphrase has at least {MIN_CHARS} characters")
    salt = os.urandom(16)
    payload: dict[str, object] = {"salt": salt.hex(), "hash": _hash(new, salt), "n": _N, "r": _R, "p": _P}
    stores.ledger.note(
        at=stores.clock.now(), author=PRINCIPAL, kind=EVENT, scope=OPERATOR, subject="operator", payload=payload
    )


def check(stores: Stores, passphrase: str, *, at_terminal: bool = False) -> Principal:
    """Return the operator's principal to whoever may act as the operator.

    Raises:
        Denied: the passphrase is wrong; or none is set and nobody is at a terminal. It is an event too.
    """
    newest = stores.ledger.events(scope=OPERATOR, limit=1, kind=EVENT)
    if not newest:
        if at_terminal:
            return PRINCIPAL
        raise Denied(
            "this is for the operator, at a terminal or with a passphrase; set one with `memoranda operator set`"
        )
    kept = json.loads(newest[0].payload)
    if hmac.compare_digest(_hash(passphrase, bytes.fromhex(kept["salt"])), kept["hash"]):
        return PRINCIPAL
    stores.ledger.note(
        at=stores.clock.now(), author=Principal("application"), kind="operator.refused", scope=OPERATOR,
        subject="operator", payload={},
    )  # fmt: skip
    raise Denied("this is not the operator's passphrase" if passphrase else "this needs the operator's passphrase")


def _hash(passphrase: str, salt: bytes) -> str:
    raw = passphrase.encode("utf-8", "surrogatepass")
    return hashlib.scrypt(raw, salt=salt, n=_N, r=_R, p=_P, maxmem=_MEMORY).hex()
