"""The one form of JSON in the ledger."""

from __future__ import annotations

import json


def canonical(value: object) -> str:
    """Write JSON in the one form that is hashed: sorted keys, no spaces, no escapes of Unicode."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
