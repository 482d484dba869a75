"""Several runs of one training, which differ by their seeds alone."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from course_lib.training.history import History

__all__ = ["Runs", "Spread", "spread"]


class Spread(NamedTuple):
    """What several runs have in common: the median, the smallest, the largest."""

    median: Any
    low: Any
    high: Any


@dataclass
class Runs:
    """What `fit_many` returns: for each seed a model and the record of its training."""

    seeds: list[int]  #: The seeds, in the order of the runs
    models: list[Any]  #: The trained models
    histories: list[History]  #: Their records

    @property
    def losses(self) -> np.ndarray:
        """The loss of each step, one row a run; NaN where a run stopped early."""
        return _rows([history.losses for history in self.histories])

    def evals(self, name: str = "loss") -> np.ndarray:
        """What the evaluations returned under this name, one row a run."""
        return _rows([history.evals[name] for history in self.histories])

    def final(self, name: str = "loss") -> Spread:
        """Median and range of each run's last evaluation.

        >>> histories = [History(evals={"loss": [5.0, x]}) for x in (2.0, 1.0, 4.0)]
        >>> Runs([0, 1, 2], [None] * 3, histories).final()
        Spread(median=2.0, low=1.0, high=4.0)
        """
        last = [history.evals[name][-1] for history in self.histories]
        return Spread(*(float(number) for number in spread(np.array(last))))


def spread(rows: np.ndarray) -> Spread:
    """Median and range over runs, for `ax.plot` and `ax.fill_between`.

    `rows` has one row a run, such as `Runs.losses`; NaN, where a run had ended, is left
    out.
    """
    with warnings.catch_warnings():  # where every run had ended, NaN is right
        warnings.simplefilter("ignore", RuntimeWarning)
        return Spread(*(f(rows, axis=0) for f in (np.nanmedian, np.nanmin, np.nanmax)))


def _rows(lists: Sequence[Sequence[float]]) -> np.ndarray:
    rows = np.full((len(lists), max(map(len, lists))), np.nan)
    for row, numbers in zip(rows, lists, strict=True):
        row[: len(numbers)] = numbers
    return rows
