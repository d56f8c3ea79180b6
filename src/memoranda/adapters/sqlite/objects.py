"""Texts by their keyed name: whole and compressed, or as a difference to a newer text.

A file that is saved a thousand times would be kept a thousand times as a whole; as in RCS, the newest is whole and
an older one says only how it differs from the next. Every `KEYFRAME`-th in a row stays whole, so that reading an
old one stays fast.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterator

import apsw

from memoranda.adapters.sqlite.connection import rows_of
from memoranda.domain.editing import apply_splices, splices
from memoranda.errors import IntegrityError

RAW, COMPRESSED, DIFFERENCE = 0, 1, 2
KEYFRAME = 64
_SMALL = 200
"""Bytes below which compressing gains nothing."""


class Objects:
    """The `objects` table of one ledger connection; `name_of` is the keyed content hash."""

    def __init__(self, connection: apsw.Connection, name_of: Callable[[str], str]) -> None:
        self._db, self.name_of = connection, name_of

    def put(self, name: str, text: str) -> None:
        """Keep a text under its name; nothing happens where it is kept already."""
        if self._db.execute("SELECT 1 FROM objects WHERE name=?", (name,)).get is not None:
            return
        codec, data = _pack(text)
        self._db.execute("INSERT INTO objects VALUES(?,?,'',0,?,'')", (name, codec, data))

    def get(self, name: str) -> str | None:
        """Return a text; None where there is none.

        Raises:
            IntegrityError: the stored bytes are not the text that the name stands for.
        """
        text = self._expand(name)
        if text is None or self.name_of(text) in (name, self.after_erasing(name)):
            return text
        raise IntegrityError(f"object {name} is damaged: its content has another hash")

    def after_erasing(self, name: str) -> str:
        """Return the hash of the content that is left after something was erased from a text, "" where nothing was."""
        return str(self._db.execute("SELECT erased FROM objects WHERE name=?", (name,)).get or "")

    def _expand(self, name: str) -> str | None:
        steps: list[bytes] = []
        current = name
        while True:
            row = self._db.execute("SELECT codec, base, data FROM objects WHERE name=?", (current,)).fetchone()
            if row is None:
                if steps:
                    raise IntegrityError(f"object {name} is damaged: the object it builds on is missing")
                return None
            codec, base, data = row
            try:
                if codec != DIFFERENCE:
                    text = _unpack(codec, data)
                    break
                if len(steps) > 2 * KEYFRAME:
                    raise IntegrityError(f"object {name} is damaged: its chain does not end")
                steps.append(zlib.decompress(data))
            except (zlib.error, UnicodeDecodeError, ValueError) as error:
                raise IntegrityError(f"object {name} is damaged: it cannot be unpacked") from error
            current = base
        try:
            for step in reversed(steps):
                text = apply_splices(text, json.loads(step))
        except (ValueError, TypeError) as error:
            raise IntegrityError(f"object {name} is damaged: its difference cannot be applied") from error
        return text

    def slim(self, older: str, newer: str, older_text: str, newer_text: str) -> None:
        """Keep the older of two texts as its difference to the newer, where that is smaller and the chain short."""
        row = self._db.execute("SELECT codec, depth, length(data) FROM objects WHERE name=?", (older,)).fetchone()
        if row is None or older == newer or row[0] == DIFFERENCE:
            return
        newer_base = self._db.execute("SELECT codec FROM objects WHERE name=?", (newer,)).get
        if newer_base is None or newer_base == DIFFERENCE:
            return
        deepest = row[1]
        data = zlib.compress(
            json.dumps(splices(newer_text, older_text), ensure_ascii=False).encode("utf-8", "surrogatepass")
        )
        if deepest + 1 >= KEYFRAME or len(data) >= row[2]:
            return
        self._db.execute("UPDATE objects SET codec=?, base=?, data=? WHERE name=?", (DIFFERENCE, newer, data, older))
        self._db.execute("UPDATE objects SET depth=max(depth, ?) WHERE name=?", (deepest + 1, newer))

    def rewrite(self, name: str, text: str) -> None:
        """Keep another text under a name, what is left of the first after an erasure; it says so."""
        self._make_children_whole(name)
        codec, data = _pack(text)
        self._db.execute(
            "UPDATE objects SET codec=?, base='', depth=0, data=?, erased=? WHERE name=?",
            (codec, data, self.name_of(text), name),
        )

    def settle_depths(self) -> None:
        """Count anew how many differences build on each object."""
        bases: dict[str, str] = dict(rows_of(self._db, "SELECT name, base FROM objects"))
        depths = dict.fromkeys(bases, 0)
        for name in bases:
            steps, current = 0, name
            while (base := bases[current]) in bases and steps < len(bases):
                steps, current = steps + 1, base
                if depths[current] >= steps:
                    break
                depths[current] = steps
        self._db.executemany(
            "UPDATE objects SET depth=? WHERE name=? AND depth<>?",
            [(depth, name, depth) for name, depth in depths.items()],
        )

    def _make_children_whole(self, name: str) -> None:
        for (child,) in rows_of(self._db, "SELECT name FROM objects WHERE base=?", (name,)):
            text = self._expand(child)
            if text is not None:
                codec, data = _pack(text)
                self._db.execute("UPDATE objects SET codec=?, base='', data=? WHERE name=?", (codec, data, child))

    def drop(self, names: Iterator[str]) -> None:
        """Remove texts; what builds on one is made whole first."""
        for name in names:
            self._make_children_whole(name)
            self._db.execute("DELETE FROM objects WHERE name=?", (name,))

    def names(self) -> Iterator[str]:
        """Yield every name."""
        for (name,) in rows_of(self._db, "SELECT name FROM objects ORDER BY name"):
            yield name


def _pack(text: str) -> tuple[int, bytes]:
    raw = text.encode("utf-8", "surrogatepass")
    if len(raw) < _SMALL:
        return RAW, raw
    packed = zlib.compress(raw)
    return (COMPRESSED, packed) if len(packed) < len(raw) else (RAW, raw)


def _unpack(codec: int, data: bytes) -> str:
    if codec == RAW:
        return data.decode("utf-8", "surrogatepass")
    if codec == COMPRESSED:
        return zlib.decompress(data).decode("utf-8", "surrogatepass")
    raise ValueError(codec)
