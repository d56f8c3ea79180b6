"""What a recalled record was good for: verdicts on single uses, and how many there are of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Use = Literal["load_bearing", "dead_weight", "unknown"]
USES: tuple[Use, ...] = get_args(Use)


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """In how many sessions an answer rested on a record, it was dead weight, or that cannot be told."""

    record: str
    load_bearing: int = 0
    dead_weight: int = 0
    unknown: int = 0
