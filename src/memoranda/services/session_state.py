"""A session's private values: JSON by namespace and key. No memory, in no prompt, gone with the session."""

from __future__ import annotations

import json
from typing import Any

from memoranda.domain.given import check_str, check_text
from memoranda.domain.session import RESERVED
from memoranda.errors import InvalidInput
from memoranda.services.secret_text import secret_refused
from memoranda.services.stores import Stores

MAX_NAME_CHARS = 200
MAX_VALUE_CHARS = 65_536
MAX_VALUES, MAX_TOTAL_CHARS = 1_000, 4_000_000


def get(stores: Stores, session: str, namespace: str, key: str) -> Any:
    """Return a value; None where there is none."""
    found = stores.ledger.state_get(session, _name(namespace), _key(key))
    return None if found is None else json.loads(found)


def put(stores: Stores, session: str, namespace: str, key: str, value: object) -> None:
    """Store a value.

    Raises:
        InvalidInput: a name or the value is too long, holds a secret or is no JSON, or the session has too many.
    """
    namespace, key = _name(namespace), _key(key)
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"a value of session_state must be JSON ({type(error).__name__})") from error
    check_text(value=text)
    if len(text) > MAX_VALUE_CHARS:
        raise InvalidInput(f"a value has at most {MAX_VALUE_CHARS:,} characters of JSON, this one has {len(text):,}")
    refused = secret_refused(stores, f"{namespace}\n{key}\n{text}")
    if refused is not None:
        raise InvalidInput(refused.message)
    count, size = stores.ledger.state_size(session, but=(namespace, key))
    if count >= MAX_VALUES or size + len(text) > MAX_TOTAL_CHARS:
        raise InvalidInput("this session holds too many values already; delete some first")
    stores.ledger.state_set(session, namespace, key, text, at=stores.clock.now())


def delete(stores: Stores, session: str, namespace: str, key: str) -> bool:
    """Remove a value; return whether there was one."""
    return bool(stores.ledger.state_delete(session, _name(namespace), _key(key)))


def keys(stores: Stores, session: str, namespace: str) -> tuple[str, ...]:
    """Return the keys of a namespace, in order."""
    return tuple(stores.ledger.state_keys(session, _name(namespace)))


def clear(stores: Stores, session: str, namespace: str) -> int:
    """Remove all of a namespace; return how many values there were."""
    return stores.ledger.state_delete(session, _name(namespace))


def _name(namespace: str) -> str:
    check_str(namespace=namespace)
    if namespace.startswith(RESERVED):
        raise InvalidInput(f"namespaces that begin with {RESERVED} are not for use")
    return _key(namespace, "namespace")


def _key(key: str, what: str = "key") -> str:
    check_str(**{what: key})
    if not key.strip() or len(key) > MAX_NAME_CHARS or not key.isprintable():
        raise InvalidInput(f"a {what} is 1 to {MAX_NAME_CHARS} printable characters")
    return key
