"""Checks vectors that come from elsewhere and brings them to unit length."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from memoranda.errors import BackendError
from memoranda.ports import Vector


def unit_rows(rows: Sequence[object], *, count: int, dimensions: int | None, source: str) -> Vector:
    """Return rows as unit float32, shape (count, dimensions); `dimensions` None takes the length they have.

    Raises:
        BackendError: there are more or fewer rows, one has another length or holds what is no finite number, or one
            is all zeros. The message names `source` and no content.
    """
    if len(rows) != count:
        raise BackendError(f"{source} returned {len(rows)} vectors for {count} texts")
    try:
        found = np.asarray(rows, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise BackendError(f"{source} returned vectors of different lengths, or no numbers") from error
    if found.ndim != 2 or not found.shape[1]:  # noqa: PLR2004 - rows and columns
        raise BackendError(f"{source} returned no vectors")
    if dimensions is not None and found.shape[1] != dimensions:
        raise BackendError(f"{source} returned vectors of {found.shape[1]} numbers, {dimensions} were expected")
    with np.errstate(all="ignore"):
        lengths = np.linalg.norm(found, axis=1, keepdims=True)
        if not (np.isfinite(lengths).all() and (lengths > 0).all()):
            raise BackendError(f"{source} returned a vector that is zero or holds what is no number")
        units: Vector = (found / lengths).astype(np.float32)
    return units
