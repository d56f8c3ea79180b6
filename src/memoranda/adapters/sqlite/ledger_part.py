"""What every part of the ledger rests on: `SqliteLedger` gives it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager

import apsw

from memoranda.adapters.sqlite.objects import Objects
from memoranda.domain.scope import Principal, Scope


class LedgerPart:
    """A part of the ledger: it reads and writes through these alone."""

    _objects: Objects

    def _reading(self) -> AbstractContextManager[apsw.Connection]:
        raise NotImplementedError

    def _writing(self) -> AbstractContextManager[apsw.Connection]:
        raise NotImplementedError

    def _event(
        self,
        db: apsw.Connection,
        at: str,
        author: Principal,
        kind: str,
        scope: Scope,
        subject: str,
        payload: Mapping[str, object],
    ) -> int:
        raise NotImplementedError
