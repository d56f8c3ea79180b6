"""A file beside a large scope's index that holds its vectors ready to be scanned: derived, disposable, memory-mapped.

One file is one state: keys in order, the signs of all vectors as bits, which rows are gone, and the vectors themselves.
It is written whole in the byte order of the machine, synced and renamed, and never changed but for rows that go: those
are overwritten in place. What came later is not in it; `VectorCache` holds that beside it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import BinaryIO, Literal

import numpy as np
from numpy.typing import NDArray

from memoranda.adapters.sqlite.vector_files import DRAFT, ENDING, FORMAT, HEADER, WORD, Shape, drop, files, shape_of
from memoranda.ports import Vector

_BLOCK = 1 << 15
"""Rows whose distances are counted at a time: their bits stay in the processor's cache."""

_NEVER = np.iinfo(np.uint16).max

Keys = NDArray[np.int64]
Mask = NDArray[np.bool_]


class Sidecar:
    """One file, mapped into memory."""

    def __init__(self, path: Path, shape: Shape, *, writable: bool = False) -> None:
        self.path, self.shape = path, shape
        mode: Literal["r", "r+"] = "r+" if writable else "r"
        keys, bits, gone, vectors = shape.starts
        self.keys: Keys = np.memmap(path, np.int64, mode, keys, (shape.count,))
        self.bits: NDArray[np.uint64] = np.memmap(path, np.uint64, mode, bits, (shape.words, shape.count))
        self.gone: NDArray[np.uint8] = np.memmap(path, np.uint8, mode, gone, (shape.count,))
        self.matrix: Vector = np.memmap(path, np.float32, mode, vectors, (shape.count, shape.dimensions))

    def rows_of(self, keys: Keys) -> NDArray[np.int64]:
        """Return the rows of those keys that are in the file."""
        at = np.searchsorted(self.keys, keys).clip(max=self.shape.count - 1)
        return np.asarray(at[self.keys[at] == keys], np.int64)

    def nearest(self, query: Vector, allowed: Mask | None, count: int) -> NDArray[np.int64]:
        """Return at least `count` rows, if as many are allowed, whose signs differ least from the query's."""
        distances = self._distances(query)
        if allowed is not None:
            distances[~allowed] = _NEVER
        held = np.cumsum(np.bincount(distances, minlength=self.shape.dimensions + 1)[: self.shape.dimensions + 1])
        bar = int(np.searchsorted(held, count))
        return np.flatnonzero(distances <= min(bar, self.shape.dimensions))

    def _distances(self, query: Vector) -> NDArray[np.uint16]:
        wanted = signs(query[np.newaxis])[:, 0]
        found = np.empty(self.shape.count, np.uint16)
        differ, counted = np.empty(_BLOCK, np.uint64), np.empty(_BLOCK, np.uint8)
        for start in range(0, self.shape.count, _BLOCK):
            part = found[start : start + _BLOCK]
            size = len(part)
            part[:] = 0
            for word, bits in zip(wanted, self.bits, strict=True):
                np.bitwise_xor(bits[start : start + size], word, out=differ[:size])
                np.bitwise_count(differ[:size], out=counted[:size])
                part += counted[:size]
        return found


def signs(matrix: Vector) -> NDArray[np.uint64]:
    """Return the signs of vectors as bits, shape (words, vectors)."""
    packed = np.packbits(matrix > 0, axis=1)
    padded = np.zeros((len(matrix), -(-matrix.shape[1] // WORD) * (WORD // 8)), np.uint8)
    padded[:, : packed.shape[1]] = packed
    return np.ascontiguousarray(padded.view(np.uint64).T)


def opened(folder: Path, index: str, embedder: int, stamp: int) -> Sidecar | None:
    """Return the newest usable file of an embedder that is not of a later generation than `stamp`; None without one.

    What is no such file, or of another index, is removed.
    """
    found: list[tuple[int, Path, Shape]] = []
    for path in files(folder):
        shape = shape_of(path)
        if shape is None or shape.index != index:
            with contextlib.suppress(OSError):
                path.unlink()
        else:
            found.append((shape.stamp, path, shape))
    for made, path, shape in sorted(found, key=lambda item: -item[0]):
        if shape.embedder == embedder and made <= stamp:
            with contextlib.suppress(OSError, ValueError):
                sidecar = Sidecar(path, shape)
                if checked(sidecar.keys) == shape.keys:
                    return sidecar
    return None


def written(
    folder: Path, shape: Shape, keys: Keys, vectors: Iterable[Vector], is_current: Callable[[], bool]
) -> Sidecar | None:
    """Write a file of vectors whose keys are in order, drop the others, and return it; raises OSError.

    `vectors` yields them in order, any number at a time. Nothing is left, and None returned, where `is_current` says
    when all is written that the index has been made anew since.
    """
    path = folder / f"{shape.embedder}-{shape.stamp}-{uuid.uuid4().hex[:8]}{ENDING}"
    draft = path.with_suffix(DRAFT)
    try:
        with draft.open("xb") as file:
            draft.chmod(0o600)
            _write(file, shape, keys, vectors)
        if not is_current():
            draft.unlink()
            return None
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    drop(folder, keep=path)
    return Sidecar(path, shape)


def _write(file: BinaryIO, shape: Shape, keys: Keys, vectors: Iterable[Vector]) -> None:
    file.write(json.dumps({"format": FORMAT, **asdict(shape)}).encode().ljust(HEADER))
    file.write(np.ascontiguousarray(keys, np.int64).tobytes())
    file.truncate(shape.size)
    bits = np.empty((shape.words, shape.count), np.uint64)
    file.seek(shape.starts[3])
    done = 0
    for part in vectors:
        bits[:, done : done + len(part)] = signs(part)
        file.write(np.ascontiguousarray(part, np.float32).data)
        done += len(part)
    if done != shape.count:
        raise ValueError(f"{done} vectors for {shape.count} keys")
    file.seek(shape.starts[1])
    file.write(bits.data)
    file.flush()
    os.fsync(file.fileno())


def wipe(folder: Path, gone: Iterable[tuple[int, int]]) -> None:
    """Overwrite the rows of (embedder, key) that are gone, in every file; raises OSError where that fails."""
    keys: dict[int, list[int]] = {}
    for embedder, key in gone:
        keys.setdefault(embedder, []).append(key)
    for path in files(folder):
        shape = shape_of(path)
        if shape is None:
            path.unlink(missing_ok=True)
        elif shape.embedder in keys and shape.count:
            sidecar = Sidecar(path, shape, writable=True)
            rows = sidecar.rows_of(np.array(keys[shape.embedder], np.int64))
            sidecar.gone[rows] = 1
            sidecar.matrix[rows] = 0
            sidecar.bits[:, rows] = 0
            for part in (sidecar.gone, sidecar.matrix, sidecar.bits):
                if isinstance(part, np.memmap):
                    part.flush()


def all_files(folder: Path) -> Iterator[Sidecar | Path]:
    """Yield every file, mapped, or where it is no such file its path."""
    for path in files(folder):
        shape = shape_of(path)
        yield path if shape is None else Sidecar(path, shape)


def checked(keys: Keys) -> str:
    """Return a checksum of keys."""
    return hashlib.blake2b(np.ascontiguousarray(keys, np.int64).tobytes(), digest_size=16).hexdigest()
