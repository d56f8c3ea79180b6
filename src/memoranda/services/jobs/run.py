"""One run of a job: asks the model within budget and time, and leaves a record of every step in the ledger."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from typing import Literal, TypeVar

from memoranda.domain.given import readable
from memoranda.domain.job import JobKind, RunReport, RunState, Step, estimated_tokens
from memoranda.domain.model_answer import Misread, json_in
from memoranda.domain.prompt import clipped
from memoranda.domain.scope import Principal, Scope
from memoranda.errors import BudgetSpent, Busy, MemorandaError, ModelFailed, Truncated, Unparsable
from memoranda.ports.model import Answer, LanguageModel, Question, Said, Schema
from memoranda.services.jobs.accounts import run, spent_today
from memoranda.services.secret_text import redacted
from memoranda.services.stores import Stores

T = TypeVar("T")

MAX_WHY_CHARS = 200
MAX_STEPS = 500
_MENDED_BYTES = 4_000
"""Of an answer that could not be read, as it is shown to the model again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """What every job works with. `budget` counts tokens of a day, 0 for no limit; `timeout` is in seconds."""

    stores: Stores
    model: LanguageModel
    budget: int = 0
    timeout: float = 120.0


class NoModel:
    """In the place of a model, for work that asks none."""

    name = ""

    def ask(self, question: Question) -> Answer:
        """Raise ModelFailed: there is nobody to ask."""
        raise ModelFailed(f"this job asks no model, and was about to ({len(question.messages)} messages)")


class Skipped(Exception):  # noqa: N818 - named by what happened
    """Raised inside a run that has nothing to do; it ends as skipped and leaves no run as an error."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.reason = code


@dataclass(slots=True)
class Run:
    """A run under way. `principal` is whom its writes are by."""

    desk: Desk
    kind: JobKind
    scope: Scope
    principal: Principal
    session: str = ""
    steps: list[Step] = field(default_factory=list)
    questions: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    _took: float = 0.0

    @property
    def id(self) -> str:
        """The run's id, `run_…`."""
        return self.principal.id

    def must_write(self) -> None:
        """Raise Skipped where models write nothing: there is no work for a job then."""
        if self.desk.stores.write_mode == "off":
            raise Skipped("write_mode", "models write nothing here (memory.agent_write_mode is off)")

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other runs of this kind out of this scope, across processes; raises Skipped where one is under way."""
        name = f"{self.kind}-{str(self.scope).replace(':', '-')}"
        with ExitStack() as stack:
            try:
                stack.enter_context(self.desk.stores.locks.alone(name))
            except Busy as error:
                raise Skipped("busy", f"another run is under way: {error}") from error
            yield

    def step(self, what: str, outcome: str, *ids: str, why: str = "") -> None:
        """Note what was done or left; `why` is kept without secrets and in one line."""
        if len(self.steps) < MAX_STEPS:
            plain = " ".join(redacted(self.desk.stores, readable(why)).split())[:MAX_WHY_CHARS]
            self.steps.append(Step(what=what, outcome=outcome, ids=ids, why=plain))

    def ask(
        self, name: str, instructions: str, prompt: str, schema: Schema, read: Callable[[object], T], *, max_tokens: int
    ) -> T:
        """Ask the model and return its answer as `read` understands it; what cannot be read may be mended once.

        Raises:
            BudgetSpent: the day's tokens are used up; the model was not asked.
            ModelFailed, Truncated, Unparsable: there is no answer that can be used.
        """
        said: tuple[Said, ...] = (Said(role="user", text=prompt),)
        for attempt in (1, 2):
            answer = self._asked(name, attempt, instructions, said, schema, max_tokens)
            try:
                value = read(json_in(answer.text))
            except Misread as error:
                self._note(name, attempt, answer, "unparsable")
                fault = str(error)
            else:
                self._note(name, attempt, answer, "ok")
                return value
            wrong = clipped(answer.text, _MENDED_BYTES)
            mend = f"That cannot be used: {fault}. Answer again with the JSON alone, in the form that was asked for."
            said = (*said, Said(role="assistant", text=wrong or "(nothing)"), Said(role="user", text=mend))
        raise Unparsable(f"{self.desk.model.name} answered twice in a form that cannot be used: {fault}")

    def each(self, what: str, found: Iterable[T], do: Callable[[T], None]) -> None:
        """Do each thing that an answer names; one that has not the right form is dropped alone, with the reason."""
        for one in found:
            try:
                do(one)
            except Misread as error:
                self.step(what, "dropped", why=str(error))

    def _asked(
        self, name: str, attempt: int, instructions: str, said: tuple[Said, ...], schema: Schema, max_tokens: int
    ) -> Answer:
        desk = self.desk
        estimate = estimated_tokens(instructions + "".join(one.text for one in said), max_tokens)
        if desk.budget and spent_today(desk.stores) + estimate > desk.budget:
            self._note(name, attempt, None, "denied")
            raise BudgetSpent(
                f"the day's budget of {desk.budget:,} tokens for jobs does not allow this (llm.daily_budget)"
            )
        question = Question(
            instructions=instructions, messages=said, schema=schema, max_tokens=max_tokens, timeout=desk.timeout
        )
        began = time.monotonic()
        try:
            answer = desk.model.ask(question)
        except ModelFailed:
            self._took = time.monotonic() - began
            self._note(name, attempt, None, "failed")
            raise
        self._took = time.monotonic() - began
        if answer.truncated:
            self._note(name, attempt, answer, "truncated")
            raise Truncated(f"the answer of {desk.model.name} was cut off at {max_tokens:,} tokens")
        return answer

    def _note(self, name: str, attempt: int, answer: Answer | None, outcome: str) -> None:
        spent = answer or Answer(text="")
        self.questions += 1
        self.input_tokens += spent.input_tokens
        self.output_tokens += spent.output_tokens
        self.cost += spent.cost or 0.0
        self._event("job.asked", {
            "kind": self.kind, "question": name, "attempt": attempt, "model": self.desk.model.name,
            "input_tokens": spent.input_tokens, "output_tokens": spent.output_tokens, "cost": spent.cost,
            "milliseconds": round(self._took * 1_000), "outcome": outcome,
        })  # fmt: skip

    def _event(self, kind: str, payload: dict[str, object]) -> None:
        stores = self.desk.stores
        stores.ledger.note(
            at=stores.clock.now(), author=self.principal, kind=kind, scope=self.scope, subject=self.id, payload=payload
        )

    def begin(self) -> None:
        """Note that the run begins."""
        self._event("job.started", {"kind": self.kind, "model": self.desk.model.name, "session": self.session})

    def end(self, state: RunState, code: str = "", message: str = "") -> RunReport:
        """Note how the run ended, and return its report as the ledger has it."""
        self._event("job.ended", {
            "kind": self.kind, "state": state, "code": code, "message": message, "session": self.session,
            "model": self.desk.model.name, "questions": self.questions, "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens, "cost": self.cost, "steps": [asdict(one) for one in self.steps],
        })  # fmt: skip
        return run(self.desk.stores, self.scope, self.id)


def carry_out(
    desk: Desk,
    kind: JobKind,
    scope: Scope,
    author: Literal["steward", "distiller"],
    work: Callable[[Run], None],
    *,
    session: str = "",
) -> RunReport:
    """Do the work of a run and return its report: what fails ends the run, is noted, and is not raised.

    An interrupt and an error of the program are noted too, and go on.
    """
    begun = Run(desk, kind, scope, Principal(author, desk.stores.ids.new("run")), session)
    begun.begin()
    try:
        work(begun)
    except Skipped as skipped:
        return begun.end("skipped", skipped.reason, str(skipped))
    except MemorandaError as error:
        return begun.end("failed", error.code, str(error))
    except KeyboardInterrupt:
        begun.end("interrupted", "interrupted", "it was interrupted")
        raise
    except BaseException as error:
        begun.end("failed", "error", f"an error of the program ended it ({type(error).__name__})")
        raise
    return begun.end("done")
