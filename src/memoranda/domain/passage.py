"""The unit of the index: one record, or a part of a long one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from memoranda.domain.record import Record
from memoranda.domain.withheld import MASK

PASSAGE_WORDS = 180
"""Target size of a part in words: under 256 word pieces of the default embedder for ordinary prose."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """Where a turn stands: its session and the host's name for it, its position there, who spoke, and its line.

    `offset` and `size` are bytes of the log file, `line` counts from 1.
    """

    session: str
    key: str
    position: int
    speaker: str
    role: str
    offset: int
    size: int
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A record's text or a part of it, as it is indexed.

    `id` is the record's id, with `#n` (from 1) where the record has several parts; it is the tools'
    `chunk_id`. `file_title` is the first heading of the file or its name without ending. `turn` is set where it is a
    turn of the daily log: `record` is then the turn in a record's form, which the ledger does not know.
    """

    id: str
    part: int
    parts: int
    record: Record
    file_title: str
    text: str
    turn: Turn | None = None

    @property
    def embedding_text(self) -> str:
        """What is embedded: the heading trail and title for context, or who spoke, then the text."""
        if self.turn is not None:
            return f"{self.turn.speaker or self.turn.role}: {self.text}"
        trail = [self.file_title, *self._headings, self.record.title]
        context = " \u203a ".join(dict.fromkeys(part for part in trail if part))
        return f"{context}\n{self.text}" if context else self.text

    @property
    def heading_text(self) -> str:
        """What is found by keyword beside the text: file title, headings, title, description and tags; who spoke."""
        if self.turn is not None:
            return self.turn.speaker
        record = self.record
        return "\n".join((self.file_title, *self._headings, record.title, record.description, *record.tags))

    @property
    def _headings(self) -> tuple[str, ...]:
        return tuple(part for part in self.record.heading if part != MASK)


@dataclass(frozen=True, slots=True)
class TextStatistics:
    """Keyword statistics of one scope: passages, sum of their lengths in words, document frequencies.

    A term's document frequency counts passages that hold it in their text or, where that is more, in their
    heading fields. `turns` are those of the passages that are turns of the log.
    """

    passages: int
    total_length: int
    document_frequency: Mapping[str, int]
    turns: int = 0


@dataclass(frozen=True, slots=True)
class IndexedPassage:
    """A passage as stored, with the counts that scoring needs; `key` is never given to another passage.

    `counts` are of scored terms in the text, `heading_counts` of those in `Passage.heading_text`,
    `exact_counts` of exact words in both; `length` is the number of words of the text.
    """

    key: int
    passage: Passage
    counts: Mapping[str, int]
    length: int
    heading_counts: Mapping[str, int] = field(default_factory=dict)
    exact_counts: Mapping[str, int] = field(default_factory=dict)
