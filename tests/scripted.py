"""Language models for tests: what they answer is written down beforehand, and what they were asked is kept."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from memoranda.errors import ModelFailed
from memoranda.ports.model import Answer, Question

Reply = str | dict[str, Any] | Answer | ModelFailed


@dataclass(slots=True)
class Scripted:
    """A model that answers from a script, its last reply for ever, or by a function of the question."""

    script: Sequence[Reply] | Callable[[Question], Reply]
    name: str = "scripted:test"
    asked: list[Question] = field(default_factory=list)

    def ask(self, question: Question) -> Answer:
        """Give the next reply; raise where that is a failure."""
        self.asked.append(question)
        if callable(self.script):
            reply = self.script(question)
        else:
            reply = self.script[min(len(self.asked), len(self.script)) - 1]
        if isinstance(reply, ModelFailed):
            raise reply
        if isinstance(reply, Answer):
            return reply
        text = reply if isinstance(reply, str) else json.dumps(reply)
        return Answer(text=text, input_tokens=len(question.messages[0].text) // 4, output_tokens=len(text) // 4)

    def shown(self, number: int = -1) -> Any:
        """Return the JSON of a question's first message."""
        return json.loads(self.asked[number].messages[0].text)

    @property
    def everything_shown(self) -> str:
        """Return all that it was ever shown."""
        return "\n".join(
            question.instructions + "\n" + "\n".join(said.text for said in question.messages) for question in self.asked
        )


def writes(*contents: str, path: str = "memory/notes.md") -> dict[str, Any]:
    """Return an answer of an extraction that appends these texts."""
    return {"writes": [{"path": path, "content": text, "append": True} for text in contents]}


def operations(*items: dict[str, Any]) -> dict[str, Any]:
    """Return an answer of a dream."""
    return {"operations": list(items)}
