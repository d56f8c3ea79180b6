"""Reads labelled questions: folders as of BEIR, folders of Markdown with questions, conversations as of LoCoMo.

A BEIR folder has `corpus.jsonl` (`_id`, `text`, `title`, `scope`), `queries.jsonl` (`_id`, `text`, `category`, `scope`)
and `qrels.tsv` (question, document, score). A folder of documents has `*.md`, in it or in a folder below, and beside
them `*.jsonl` with `query` and `expected_doc`, or `*.json` with `queries` of `query` and `expected_files`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from memoranda.domain.episode import Role
from memoranda.domain.labelled import Asked, Document, Labelled, Said
from memoranda.errors import InvalidInput

ALL = "all"
_SESSION = re.compile(r"session_(\d+)")
_EVIDENCE = re.compile(r"D:?(\d+):(\d+)")
_WHEN = "%I:%M %p on %d %B, %Y"
_STEP = timedelta(seconds=30)
"""Turns of one session follow each other by so much, where only the session has a time."""

Row = Mapping[str, Any]


def read_labelled(path: Path) -> Iterator[Labelled]:
    """Yield the sets of labelled questions at a path.

    Raises:
        InvalidInput: nothing is there, or it has none of the forms, or a line of it cannot be read; no text is shown.
    """
    if not path.exists():
        raise InvalidInput(f"{path} does not exist")
    if path.is_file():
        yield _conversations(path)
    elif (path / "corpus.jsonl").exists():
        yield _beir(path)
    elif any(path.rglob("*.md")):
        yield from _documents(path)
    else:
        raise InvalidInput(
            f"{path} holds no labelled questions: corpus.jsonl with queries.jsonl and qrels.tsv, or Markdown files "
            "with questions beside them, or name a JSON file of conversations"
        )


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InvalidInput(f"{path} is missing") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path} cannot be read: {type(error).__name__}") from None


def _lines(path: Path) -> Iterator[tuple[int, Row]]:
    """Yield the objects of a JSONL file with the numbers of their lines."""
    for number, line in enumerate(_text(path).splitlines(), 1):
        if line.strip():
            try:
                row = json.loads(line)
            except ValueError:
                raise InvalidInput(f"{path}, line {number}: no JSON") from None
            if not isinstance(row, dict):
                raise InvalidInput(f"{path}, line {number}: no JSON object")
            yield number, row


def _field(row: Row, name: str, where: str) -> str:
    value = row.get(name)
    if not isinstance(value, str | int) or str(value) == "":
        raise InvalidInput(f"{where}: no {name!r}")
    return str(value)


def _json(path: Path) -> Any:
    try:
        return json.loads(_text(path))
    except ValueError:
        raise InvalidInput(f"{path}: no JSON") from None


def _beir(folder: Path) -> Labelled:
    corpus, queries, qrels = (folder / name for name in ("corpus.jsonl", "queries.jsonl", "qrels.tsv"))
    documents = []
    for number, row in _lines(corpus):
        ident, text = _field(row, "_id", f"{corpus}, line {number}"), str(row.get("text") or "")
        title = str(row.get("title") or "")
        documents.append(Document(ident, str(row.get("scope", ALL)), f"{title}\n\n{text}".strip()))
    known = {document.id for document in documents}
    gold: dict[str, set[str]] = {}
    for number, line in enumerate(_text(qrels).splitlines(), 1):
        parts = line.split("\t")
        if len(parts) < 3 or not re.fullmatch(r"-?\d+", parts[2].strip()):  # noqa: PLR2004 - question, document, score
            if number > 1 and line.strip():
                raise InvalidInput(f"{qrels}, line {number}: not question, document and score with tabs between")
            continue
        if int(parts[2]) > 0 and parts[1] in known:
            gold.setdefault(parts[0], set()).add(parts[1])
    questions = [
        Asked(
            scope=str(row.get("scope", ALL)),
            text=_field(row, "text", f"{queries}, line {number}"),
            category=str(row.get("category") or ""),
            gold=frozenset(gold[str(row["_id"])]),
        )
        for number, row in _lines(queries)
        if str(row.get("_id")) in gold
    ]
    return _checked(Labelled(folder.name, "beir", tuple(documents), (), tuple(questions)), folder)


def _documents(folder: Path) -> Iterator[Labelled]:
    paths = sorted(folder.rglob("*.md"))
    documents = tuple(Document(path.name, ALL, _text(path)) for path in paths)
    names = [document.id for document in documents]
    found = False
    for path in sorted((*folder.glob("*.jsonl"), *folder.glob("*.json"))):
        rows: Sequence[tuple[int, Row]] = []
        if path.suffix == ".jsonl":
            rows = list(_lines(path))
        elif isinstance(whole := _json(path), dict) and isinstance(whole.get("queries"), list):
            rows = [(number, row) for number, row in enumerate(whole["queries"], 1) if isinstance(row, dict)]
        questions = [
            Asked(ALL, _field(row, "query", f"{path}, question {number}"), str(row.get("type") or ""), gold)
            for number, row in rows
            if (gold := _files_of(row, names))
        ]
        if questions:
            found = True
            yield Labelled(f"{folder.name} {path.stem}", "documents", documents, (), tuple(questions))
    if not found:
        raise InvalidInput(f"{folder} has Markdown files, but no questions that name any of them beside them")


def _files_of(row: Row, names: Sequence[str]) -> frozenset[str]:
    """Return the files that answer: those named, or those whose name holds what is expected."""
    listed = row.get("expected_files")
    if isinstance(listed, list):
        return frozenset(str(name).rpartition("/")[2] for name in listed) & frozenset(names)
    expected = str(row.get("expected_doc") or "")
    return frozenset(name for name in names if expected and expected in name)


def _conversations(path: Path) -> Labelled:
    data = _json(path)
    if not isinstance(data, list) or not all(
        isinstance(item, dict) and isinstance(item.get("conversation"), dict) and isinstance(item.get("qa"), list)
        for item in data
    ):
        raise InvalidInput(f"{path} is no list of conversations with `conversation` and `qa`, as LoCoMo has them")
    turns: list[Said] = []
    questions: list[Asked] = []
    for number, item in enumerate(data, 1):
        scope = str(item.get("sample_id") or number)
        try:
            own = list(_turns(scope, item["conversation"]))
            known = {turn.id for turn in own}
            questions += [
                Asked(scope, str(row["question"]), str(row.get("category") or ""), gold)
                for row in item["qa"]
                if (gold := _evidence(scope, row.get("evidence"), known))
            ]
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise InvalidInput(f"{path}, conversation {number}: {type(error).__name__} in its shape") from None
        turns += own
    return _checked(Labelled(path.stem, "locomo", (), tuple(turns), tuple(questions)), path)


def _turns(scope: str, conversation: Row) -> Iterator[Said]:
    numbers = sorted(int(match[1]) for name in conversation if (match := _SESSION.fullmatch(name)))
    first = ""
    for number in numbers:
        told = str(conversation.get(f"session_{number}_date_time", ""))
        began = datetime.strptime(told, _WHEN).replace(tzinfo=UTC) if told else None
        for position, turn in enumerate(conversation[f"session_{number}"] or (), 1):
            speaker, caption = str(turn["speaker"]), turn.get("blip_caption")
            first = first or speaker
            text = f"{turn['text']} [shared image: {caption}]" if caption else str(turn["text"])
            at = (began + position * _STEP).isoformat() if began else ""
            role: Role = "user" if speaker == first else "assistant"
            yield Said(f"{scope}|{turn['dia_id']}", scope, f"session_{number}", role, speaker, text or "…", at)


def _evidence(scope: str, evidence: object, known: set[str]) -> frozenset[str]:
    """Return the turns that answer; ids are sometimes several in one, or written otherwise."""
    found = set()
    for item in evidence if isinstance(evidence, list) else ():
        for part in re.split(r"[;,\s]+", str(item).strip()):
            match = _EVIDENCE.fullmatch(part)
            found.add(f"{scope}|D{int(match[1])}:{int(match[2])}" if match else f"{scope}|{part}")
    return frozenset(found & known)


def _checked(data: Labelled, path: Path) -> Labelled:
    if not data.questions:
        raise InvalidInput(f"{path} has no question of which an answer is known")
    return data
