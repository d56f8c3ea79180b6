"""Tells whether two statements say the same, resemble each other, or have nothing to do with each other."""

from __future__ import annotations

import re
from typing import Literal

from memoranda.domain.fingerprint import normalise
from memoranda.domain.words import near_terms

Likeness = Literal["same", "similar", "other"]

SAME_SHARE = 0.60
SIMILAR_COSINE, SIMILAR_SHARE = 0.72, 0.60
"""Bounds of the share of words that two texts have in common, and of the cosine of their vectors.

A cosine never makes two texts the same: "enables" and "disables" have one of 0.95. What `tests/unit/test_likeness.py`
lists holds: nothing that puts another word in the place of one is the same, and no paraphrase there is `other`.
"""

_NAME = re.compile(r"(?<=[\w,;:] )[^\W\d_a-z]\w+|\w*\d\w*")


def likeness(new: str, known: str, cosine: float | None = None) -> Likeness:
    """Compare a new statement with one that is known; `cosine` is that of their vectors, None where there is none.

    It is the same only where it adds no word of its own: a word in the place of another, a number, a negation or a name
    may turn what is said, however alike it sounds.
    """
    stems, exact = near_terms(normalise(new))
    known_stems, known_exact = near_terms(normalise(known))
    one, two = set(stems), set(known_stems)
    if (stems, exact) == (known_stems, known_exact):
        return "same"
    shared = len(one & two)
    jaccard = shared / len(one | two) if one | two else 0.0
    overlap = shared / min(len(one), len(two)) if one and two else 0.0
    alike = max(cosine or 0.0, 0.0)
    if one and one <= two and exact == known_exact and jaccard >= SAME_SHARE and not _names(new) - _words(known):
        return "same"
    return "similar" if overlap >= SIMILAR_SHARE or alike >= SIMILAR_COSINE else "other"


def _names(text: str) -> set[str]:
    """Return what reads as a name or a number: capitals within a sentence, and whatever has a digit."""
    return {found.casefold() for found in _NAME.findall(text)}


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.casefold()))
