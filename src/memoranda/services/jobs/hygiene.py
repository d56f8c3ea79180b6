"""Hygiene of transcripts: results of tools that are long past, and runs of heartbeats, become one line each.

It asks no model. The log keeps everything, and so does the conversation: what is kept with the session is only the
position up to which it is shown without them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from memoranda.domain.conversation import Message
from memoranda.domain.hygiene import Tidied, tidied, turn_start
from memoranda.domain.job import RunReport
from memoranda.domain.scope import Principal
from memoranda.domain.session import JOBS, SessionState
from memoranda.errors import InvalidInput
from memoranda.services.jobs.run import Desk, NoModel, Run, Skipped, carry_out
from memoranda.services.stores import Stores

_KEY = "tidied_to"


def shown(stores: Stores, session_id: str, messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return a session's messages as hygiene leaves them."""
    return tidied(messages, _until(stores, session_id)).messages


def tidy(stores: Stores, state: SessionState, messages: Sequence[Message], *, keep_turns: int) -> RunReport:
    """Prune what is older than the user's last so many turns; what fails is in the report.

    Raises:
        InvalidInput: `keep_turns` is negative.
    """
    if keep_turns < 0:
        raise InvalidInput(f"a session cannot keep {keep_turns} turns")
    desk = Desk(stores=stores, model=NoModel())
    work = partial(_work, state=state, messages=messages, keep_turns=keep_turns)
    return carry_out(desk, "hygiene", state.scope, "steward", work, session=state.id)


def restore(stores: Stores, state: SessionState, messages: Sequence[Message], *, author: Principal) -> int:
    """Show the whole conversation again, as the log has it; return how many messages came back."""
    until = _until(stores, state.id)
    back = tidied(messages, until)
    if not stores.ledger.state_delete(state.id, JOBS, _KEY):
        return 0
    stores.ledger.note(
        at=stores.clock.now(), author=author, kind="memory.hygiene.restored", scope=state.scope, subject=state.id,
        payload=_said(back, until),
    )  # fmt: skip
    return back.results + back.heartbeats


def _work(run: Run, *, state: SessionState, messages: Sequence[Message], keep_turns: int) -> None:
    stores = run.desk.stores
    before = _until(stores, state.id)
    until = max(before, turn_start(messages, keep_turns))
    found, known = tidied(messages, until), tidied(messages, before)
    new = replace(
        found, results=found.results - known.results, bytes=found.bytes - known.bytes,
        heartbeats=found.heartbeats - known.heartbeats,
    )  # fmt: skip
    if not (new.results or new.heartbeats):
        raise Skipped("nothing", "there is nothing to prune before the turns that are kept")
    at = stores.clock.now()
    stores.ledger.note(
        at=at, author=run.principal, kind="memory.hygiene.pruned", scope=run.scope, subject=state.id,
        payload={**_said(new, until), "run": run.id},
    )  # fmt: skip
    stores.ledger.state_set(state.id, JOBS, _KEY, str(until), at=at)
    run.step("results", "pruned", state.id, why=f"{new.results} of tools, {new.bytes:,} bytes, up to entry {until}")
    run.step("heartbeats", "collapsed", state.id, why=f"{new.heartbeats} in runs, up to entry {until}")


def _until(stores: Stores, session_id: str) -> int:
    return int(stores.ledger.state_get(session_id, JOBS, _KEY) or 0)


def _said(found: Tidied, until: int) -> dict[str, object]:
    return {"until": until, "results": found.results, "bytes": found.bytes, "heartbeats": found.heartbeats}
