"""Finds out what became of a file's records when its text changed: kept, edited, removed or new.

Identity first (the k-th identical block is the k-th identical record, wherever it stands), then similarity between
the same matched neighbours. Pure, and used for a person's edits and for the gateway's own writes alike.
"""

from __future__ import annotations

import difflib
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

EDIT_SIMILARITY = 0.6
"""From here on (`difflib` ratio of the normalised text) a changed block is an edit and not a new one."""

_PAIRS = 4_000
"""At most so many comparisons in one gap; beyond it only blocks at nearby positions are compared."""

_CHARACTERS = 2_000
"""Longer texts are compared by words, and beyond as many words by their counts alone: the ratio is quadratic."""


@dataclass(frozen=True, slots=True)
class Alignment:
    """`kept` and `edited` map a new index to an old one; `removed` are old indexes, `added` new ones, in order."""

    kept: dict[int, int]
    edited: dict[int, int]
    removed: tuple[int, ...]
    added: tuple[int, ...]


def align(
    old: Sequence[str],
    new: Sequence[str],
    old_text: Callable[[int], str],
    new_text: Callable[[int], str],
    claimed: Callable[[int], bool] = lambda _: False,
) -> Alignment:
    """Match the hashes of old blocks with those of new ones; the texts are asked for only where hashes differ.

    Both texts are in normalised form (see `fingerprint.normalise`). A new block that is `claimed` is known from
    elsewhere by its exact bytes, so that it is no edit of its neighbour.
    """
    kept = _identical(old, new)
    edited = _edits(len(old), len(new), kept, old_text, new_text, claimed)
    matched_old = {*kept.values(), *edited.values()}
    return Alignment(
        kept=kept,
        edited=edited,
        removed=tuple(index for index in range(len(old)) if index not in matched_old),
        added=tuple(index for index in range(len(new)) if index not in kept and index not in edited),
    )


def _identical(old: Sequence[str], new: Sequence[str]) -> dict[int, int]:
    waiting: defaultdict[str, deque[int]] = defaultdict(deque)
    for index, block in enumerate(old):
        waiting[block].append(index)
    return {index: waiting[block].popleft() for index, block in enumerate(new) if waiting.get(block)}


def _edits(
    old_count: int,
    new_count: int,
    kept: dict[int, int],
    old_text: Callable[[int], str],
    new_text: Callable[[int], str],
    claimed: Callable[[int], bool],
) -> dict[int, int]:
    by_old = {old: new for new, old in kept.items()}
    old_gaps = _gaps(old_count, by_old.keys(), lambda index: index)
    new_gaps = _gaps(new_count, kept.keys(), lambda index: kept[index])
    found: dict[int, int] = {}
    for place, new_indexes in new_gaps.items():
        old_indexes = old_gaps.get(place)
        free = [index for index in new_indexes if not claimed(index)] if old_indexes else []
        if old_indexes and free:
            found.update(_pair(old_indexes, free, old_text, new_text))
    return found


def _gaps(count: int, matched: object, name: Callable[[int], int]) -> dict[tuple[int, int], list[int]]:
    """Group unmatched indexes by the (old) indexes of their matched neighbours; -1 is the file's edge."""
    gaps: dict[tuple[int, int], list[int]] = {}
    run: list[int] = []
    left = -1
    for index in range(count):
        if index in matched:  # type: ignore[operator]  # a dict's keys view
            if run:
                gaps[left, name(index)] = run
                run = []
            left = name(index)
        else:
            run.append(index)
    if run:
        gaps[left, -1] = run
    return gaps


def _pair(
    old: list[int], new: list[int], old_text: Callable[[int], str], new_text: Callable[[int], str]
) -> dict[int, int]:
    """Pair the most similar first; near positions only where there are many."""
    reach = max(len(old), len(new)) if len(old) * len(new) <= _PAIRS else max(1, _PAIRS // max(len(old), len(new)))
    old_texts = [old_text(index) for index in old]
    scored: list[tuple[float, int, int]] = []
    for j, new_index in enumerate(new):
        text = new_text(new_index)
        centre = round(j * len(old) / len(new))
        for i in range(max(0, centre - reach), min(len(old), centre + reach + 1)):
            ratio = similarity(old_texts[i], text)
            if ratio >= EDIT_SIMILARITY:
                scored.append((-ratio, abs(i - j), j * len(old) + i))
    found: dict[int, int] = {}
    used: set[int] = set()
    for _, _, code in sorted(scored):
        j, i = divmod(code, len(old))
        if new[j] not in found and i not in used:
            found[new[j]] = old[i]
            used.add(i)
    return found


def similarity(left: str, right: str) -> float:
    """Return `difflib.SequenceMatcher`'s ratio, 0 to 1; of words where a text is long."""
    a: Sequence[str] = left
    b: Sequence[str] = right
    if max(len(left), len(right)) > _CHARACTERS:
        a, b = left.split(), right.split()
    matcher = difflib.SequenceMatcher(None, a, b, autojunk=False)
    if matcher.real_quick_ratio() < EDIT_SIMILARITY:
        return 0.0
    quick = matcher.quick_ratio()
    if quick < EDIT_SIMILARITY or len(a) * len(b) > _CHARACTERS * _CHARACTERS:
        return quick if quick >= EDIT_SIMILARITY else 0.0
    return matcher.ratio()
