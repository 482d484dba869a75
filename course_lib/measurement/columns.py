"""Columns of a frame, as the functions of this room ask for them."""

from typing import Any

import numpy as np

from course_lib.optional import missing

__all__ = ["codes", "frame_of", "numbers"]


def frame_of(frame: Any, *columns: str | None) -> Any:
    """A copy of the frame whose rows are numbered, once it has these columns."""
    try:
        import pandas as pd
    except ImportError as error:
        raise missing("Frames need", "pandas", "data") from error
    if not isinstance(frame, pd.DataFrame):
        raise ValueError(
            f"frame must be a pandas DataFrame: got {type(frame).__name__}. "
            "Put the columns into one, pd.DataFrame({'label': …, 'guess': …})."
        )
    absent = sorted({c for c in columns if c is not None and c not in frame.columns})
    if absent:
        raise ValueError(
            f"Columns must be those of the frame: got {absent}, and it has "
            f"{list(frame.columns)[:12]}."
        )
    return frame.reset_index(drop=True)


def numbers(
    frame: Any,
    column: str,
    *,
    gaps: bool = False,
    way_out: str = "Drop these rows first.",
) -> np.ndarray:
    """A column as floats; with `gaps` it may hold NaN, where nothing is known."""
    try:
        found = frame[column].to_numpy(dtype=float, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{column!r} must hold numbers: got values such as "
            f"{frame[column].dropna().iloc[0]!r}. Turn a category into 0 and 1, "
            f"one at a time."
        ) from error
    bad = np.isinf(found) if gaps else ~np.isfinite(found)
    if bad.any():
        raise ValueError(
            f"{column!r} must hold finite numbers in each row: got {bad.sum()} gaps or "
            f"infinities, the first in row {bad.argmax()}. {way_out}"
        )
    return found


def codes(frame: Any, column: str | None) -> np.ndarray:
    """A column's groups as numbers from 0; without a column each row is its own."""
    if column is None:
        return np.arange(len(frame))
    found = frame[column]
    if found.isna().any():
        raise ValueError(
            f"{column!r} must name a group in each row: got {found.isna().sum()} gaps. "
            "Drop these rows, or give each a group of its own."
        )
    return np.unique(found.astype(str), return_inverse=True)[1]
