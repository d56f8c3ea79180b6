"""Cases for the jobs of a language model, labelled by people: what has to come of each, and what must not."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

from memoranda.domain.scripts import fold, is_unspaced
from memoranda.errors import InvalidInput

Kind = Literal["keep", "ignore", "duplicate", "update", "injection", "noise", "contradiction", "forget"]
Language = Literal["en", "de", "zh", "es"]
Speaker = Literal["user", "assistant"]
Label = Literal["contradiction", "update", "compatible", "same"]

KINDS: tuple[Kind, ...] = get_args(Kind)
"""The first six are conversations to extract notes from; `noise` is what a machine says in one, such as a heartbeat."""

_LANGUAGES: tuple[Language, ...] = get_args(Language)
_LABELS: tuple[Label, ...] = get_args(Label)
_SPEAKERS: tuple[Speaker, ...] = get_args(Speaker)
_NOTHING_TO_KEEP = ("ignore", "duplicate", "noise")
_NEEDS_KNOWN = ("duplicate", "update")
_ID = re.compile(r"[a-z]+(-[a-z0-9]+)+")
_HEAD = frozenset({"id", "task", "language"})
_FIELDS = {
    "extract": _HEAD | {"kind", "turns", "known", "keep", "never"},
    "contradiction": _HEAD | {"one", "other", "label"},
    "forget": _HEAD | {"request", "candidates", "chosen"},
}


@dataclass(frozen=True, slots=True)
class CaseTurn:
    """One turn of a conversation."""

    role: Speaker
    text: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """A record that a request to forget may mean."""

    id: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractCase:
    """A conversation and what is known before it.

    `keep` has one group of words for each fact to be kept: a note holds the fact where it holds all words of the group.
    A word with bars (`monday|mon`) stands for any of its spellings. `never` are words that no note may hold.
    """

    id: str
    kind: Kind
    language: Language
    turns: tuple[CaseTurn, ...]
    known: tuple[str, ...]
    keep: tuple[tuple[str, ...], ...]
    never: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ContradictionCase:
    """Two statements, and how the second stands to the first."""

    id: str
    language: Language
    one: str
    other: str
    label: Label
    kind: Kind = "contradiction"


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetCase:
    """A request to forget, the records it may mean, and the ids of those it does mean, none where that is not sure."""

    id: str
    language: Language
    request: str
    candidates: tuple[Candidate, ...]
    chosen: tuple[str, ...]
    kind: Kind = "forget"


JobCase = ExtractCase | ContradictionCase | ForgetCase


def holds(text: str, word: str) -> bool:
    """Tell whether a text holds a word, or one of its spellings where it has bars.

    Case, width and diacritics do not matter. A word is found where a word begins with it, in scripts without spaces
    anywhere; one that ends in a digit ends there, so that 14 is not in 140.
    """
    folded = fold(text)
    return any(_begins(folded, spelling) for spelling in spellings(word))


def spellings(word: str) -> tuple[str, ...]:
    """Return the spellings that a word with bars stands for, folded."""
    return tuple(fold(one).strip() for one in word.split("|"))


def _begins(folded: str, wanted: str) -> bool:
    at = folded.find(wanted) if wanted else -1
    while at >= 0:
        before, after = folded[:at][-1:], folded[at + len(wanted) :][:1]
        is_start = not (_is_letter(wanted[0]) and _is_letter(before))
        if is_start and not (wanted[-1].isdigit() and after.isdigit()):
            return True
        at = folded.find(wanted, at + 1)
    return False


def _is_letter(character: str) -> bool:
    return character.isalnum() and not is_unspaced(character)


def read_cases(data: bytes | str) -> tuple[JobCase, ...]:
    """Return the cases of a JSON list, in order.

    Raises:
        InvalidInput: it is no such list, or a case is not as its task asks for; the message names the case and field.
    """
    try:
        raw: Any = json.loads(data)
    except (ValueError, RecursionError):
        raise InvalidInput("the cases are no JSON; give a list of cases in UTF-8") from None
    if not isinstance(raw, list):
        raise InvalidInput("the cases are no list; give a JSON list of cases")
    cases = tuple(_case(item, number) for number, item in enumerate(raw, 1))
    seen: set[str] = set()
    for case in cases:
        if case.id in seen:
            raise InvalidInput(f"the id {case.id} is given to two cases; give each its own")
        seen.add(case.id)
    return cases


def _case(item: object, number: int) -> JobCase:
    if not isinstance(item, dict):
        raise InvalidInput(f"case {number} is no object")
    name = item.get("id")
    if not isinstance(name, str) or not _ID.fullmatch(name):
        raise InvalidInput(f"case {number} has no id such as keep-en-01")
    task = item.get("task")
    if not isinstance(task, str) or task not in _FIELDS:
        raise InvalidInput(f"{name}: task must be one of {', '.join(_FIELDS)}")
    fields = _FIELDS[task]
    if missing := sorted(fields - item.keys()):
        raise InvalidInput(f"{name}: {', '.join(missing)} missing; a case of {task} has {', '.join(sorted(fields))}")
    if unknown := sorted(map(repr, item.keys() - fields)):
        raise InvalidInput(f"{name}: {', '.join(unknown)} unknown; a case of {task} has {', '.join(sorted(fields))}")
    if task == "extract":
        return _extract(item, name)
    return _contradiction(item, name) if task == "contradiction" else _forget(item, name)


def _extract(item: Mapping[str, object], name: str) -> ExtractCase:
    case = ExtractCase(
        id=name,
        kind=cast("Kind", _one_of(item, "kind", KINDS[:6], name)),
        language=_language(item, name),
        turns=tuple(
            CaseTurn(cast("Speaker", _one_of(turn, "role", _SPEAKERS, name)), _text(turn, "text", name))
            for turn in _objects(item, "turns", {"role", "text"}, name)
        ),
        known=_texts(item["known"], "known", name),
        keep=tuple(_words(group, "keep", name) for group in _list(item["keep"], "keep", name)),
        never=_words(item["never"], "never", name),
    )
    _check_extract(case)
    return case


def _check_extract(case: ExtractCase) -> None:
    if not case.turns:
        raise InvalidInput(f"{case.id}: turns is empty")
    if not all(case.keep):
        raise InvalidInput(f"{case.id}: a group of keep is empty, and would be in every note")
    if case.kind in _NOTHING_TO_KEEP and case.keep:
        raise InvalidInput(f"{case.id}: keep must be empty where the kind is {case.kind}")
    if case.kind in ("keep", "update") and not case.keep:
        raise InvalidInput(f"{case.id}: keep must not be empty where the kind is {case.kind}")
    if case.kind in _NEEDS_KNOWN and not case.known:
        raise InvalidInput(f"{case.id}: known must not be empty where the kind is {case.kind}")
    if case.kind == "injection" and not case.never:
        raise InvalidInput(f"{case.id}: never must not be empty where the kind is injection")


def _contradiction(item: Mapping[str, object], name: str) -> ContradictionCase:
    return ContradictionCase(
        id=name, language=_language(item, name), one=_text(item, "one", name), other=_text(item, "other", name),
        label=cast("Label", _one_of(item, "label", _LABELS, name)),
    )  # fmt: skip


def _forget(item: Mapping[str, object], name: str) -> ForgetCase:
    candidates = tuple(
        Candidate(_text(one, "id", name), _text(one, "text", name))
        for one in _objects(item, "candidates", {"id", "text"}, name)
    )
    chosen, ids = _texts(item["chosen"], "chosen", name), [candidate.id for candidate in candidates]
    if not ids or len(set(ids)) < len(ids):
        raise InvalidInput(f"{name}: candidates must be at least one, each with an id of its own")
    if len(set(chosen)) < len(chosen) or not set(chosen) <= set(ids):
        raise InvalidInput(f"{name}: chosen must name candidates, each once")
    return ForgetCase(
        id=name, language=_language(item, name), request=_text(item, "request", name), candidates=candidates,
        chosen=chosen,
    )  # fmt: skip


def _language(item: Mapping[str, object], name: str) -> Language:
    return cast("Language", _one_of(item, "language", _LANGUAGES, name))


def _one_of(item: Mapping[str, object], field: str, allowed: Sequence[str], name: str) -> str:
    value = item[field]
    if not isinstance(value, str) or value not in allowed:
        raise InvalidInput(f"{name}: {field} must be one of {', '.join(allowed)}")
    return value


def _text(item: Mapping[str, object], field: str, name: str) -> str:
    return _checked(item[field], field, name)


def _checked(value: object, field: str, name: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise InvalidInput(f"{name}: {field} must be text that is not empty")
    return value


def _list(value: object, field: str, name: str) -> Sequence[object]:
    if not isinstance(value, list):
        raise InvalidInput(f"{name}: {field} must be a list")
    return value


def _texts(value: object, field: str, name: str) -> tuple[str, ...]:
    return tuple(_checked(one, field, name) for one in _list(value, field, name))


def _words(value: object, field: str, name: str) -> tuple[str, ...]:
    """Return words to look for: in lower case, and no spelling of them empty, for that would be in every note."""
    words = _texts(value, field, name)
    for word in words:
        if word != word.lower() or not all(spellings(word)):
            raise InvalidInput(f"{name}: {field} must have words in lower case, with text on both sides of a bar")
    return words


def _objects(item: Mapping[str, object], field: str, fields: set[str], name: str) -> Sequence[Mapping[str, object]]:
    found = _list(item[field], field, name)
    for one in found:
        if not isinstance(one, dict) or one.keys() != fields:
            raise InvalidInput(f"{name}: {field} must be objects of {' and '.join(sorted(fields))}")
    return cast("Sequence[Mapping[str, object]]", found)
