r"""A simulated cross-section of firms that learn from each other, by a known network.

How much firm i looks to firm j is a softmax, over all other firms, of

    s_ij = a [same sector] + (b + c size_i) size_j + d rd_i rd_j         (eq. 1)

a product of what i looks for with how j presents itself, so one attention head can
represent it. All firms look to large firms (b > 0), and large firms look to few others
(c > 0): relevance is directed. Next quarter's return is

    y = own + gamma A r + delta A A r - rho B r + noise,   A = softmax(s)  (eq. 2)

with r the returns of this quarter, which are known. delta adds the peers of peers,
i <- j <- k. rho adds rivals, the firms of similar R&D, B = softmax(2 rd_i rd_j), whose
good news is bad news: signed weights, which no single head can represent, but two heads
can. Returns are in units of the standard deviation of r, characteristics in units of
their own.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace

import numpy as np

__all__ = ["Economy", "economy", "r_squared"]

FEATURES = ("size", "leverage", "rd", "roa", "last_return")
TRUE_THETA = (2.0, 0.8, 0.5, 0.5)  # a, b, c, d of eq. 1
FIRST_ORDER = 1.5  # gamma of eq. 2
N_SECTORS = 4  # each firm falls into one at random


@dataclass(frozen=True, eq=False)
class Economy:
    """Q quarters of N firms; arrays are `Q N` where nothing else is said."""

    size: np.ndarray  #: Log of assets, standardized; skewed, with few giants
    leverage: np.ndarray  #: Debt over assets, standardized
    rd: np.ndarray  #: Research and development over sales, standardized
    roa: np.ndarray  #: Return on assets, standardized
    #: Return r of this quarter, known when the forecast is made.
    last_return: np.ndarray
    sector: np.ndarray  #: A whole number from 0
    #: The true A, `Q N N`: row i is where firm i looks. Rows sum to 1, the diagonal is
    #: 0.
    relevance: np.ndarray
    rivals: np.ndarray  #: The true B, in the same form
    own: np.ndarray  #: What a firm's own leverage and return on assets add to y
    next_return: np.ndarray  #: The target y
    #: Return on assets of the next quarter, which is driven by y: a leak if it is used
    #: as a feature.
    next_roa: np.ndarray
    second_order: float  #: delta
    rivalry: float  #: rho
    noise: float  #: Standard deviation of the noise in y

    def __getitem__(self, quarters: slice) -> "Economy":
        """Some of the quarters, such as `economy[:80]` to train and `[80:]` to test."""
        return self._each(lambda array: array[quarters])

    @property
    def largest_first(self) -> "Economy":
        """The same firms, numbered by size in each quarter, and the same network."""
        order = np.argsort(-self.size, axis=1, kind="stable")

        def sort(array: np.ndarray) -> np.ndarray:
            if array.ndim == 2:
                return np.take_along_axis(array, order, 1)
            rows = np.take_along_axis(array, order[:, :, None], 1)
            return np.take_along_axis(rows, order[:, None], 2)

        return self._each(sort)

    def _each(self, change: Callable[[np.ndarray], np.ndarray]) -> "Economy":
        arrays = {f.name: getattr(self, f.name) for f in fields(self)}
        changed = {n: change(a) for n, a in arrays.items() if isinstance(a, np.ndarray)}
        return replace(self, **changed)

    @property
    def names(self) -> tuple[str, ...]:
        """What the columns of `inputs` are."""
        return (*FEATURES, *(f"sector {k}" for k in range(self._n_sectors)))

    @property
    def inputs(self) -> np.ndarray:
        """All that is known when the forecast is made, `Q N F`, one column a name."""
        columns = [getattr(self, name) for name in FEATURES]
        sectors = [self.sector == k for k in range(self._n_sectors)]
        return np.stack([*columns, *sectors], axis=-1).astype(np.float64)

    @property
    def _n_sectors(self) -> int:
        return int(self.sector.max()) + 1

    @property
    def pairs(self) -> np.ndarray:
        """The four features of each pair of firms in eq. 1, `Q N N 4`.

        Their true coefficients are `TRUE_THETA`; a conditional logit estimates them.
        """
        i, j = (slice(None), slice(None), None), (slice(None), None)
        columns = (
            self.sector[i] == self.sector[j],
            np.broadcast_to(self.size[j], self.relevance.shape),
            self.size[i] * self.size[j],
            self.rd[i] * self.rd[j],
        )
        return np.stack(columns, axis=-1).astype(np.float64)

    @property
    def network(self) -> np.ndarray:
        """How y depends on r in all: gamma A + delta A A - rho B, `Q N N`."""
        second = self.relevance @ self.relevance
        peers = FIRST_ORDER * self.relevance + self.second_order * second
        return peers - self.rivalry * self.rivals

    @property
    def oracle(self) -> np.ndarray:
        """E[y | everything known, and the true network], `Q N`; its MSE is noise²."""
        return self.own + _average(self.network, self.last_return)

    @property
    def sector_weights(self) -> np.ndarray:
        """The fixed kernel: equal weights on the other firms of one's sector, `Q N N`.

        A firm that is alone in its sector has weights 0.
        """
        same = self.sector[:, :, None] == self.sector[:, None]
        weights = (same & ~np.eye(same.shape[-1], dtype=bool)).astype(np.float64)
        return weights / np.maximum(weights.sum(-1, keepdims=True), 1)


def economy(
    *,
    seed: int,
    n_quarters: int = 120,
    n_firms: int = 40,
    second_order: float = 0.0,
    rivalry: float = 0.0,
    noise: float = 0.5,
    same_firms: bool = False,
) -> Economy:
    """Draw an economy; another seed is another economy under the same laws.

    Args:
        seed: Fixes everything.
        n_quarters: Q, the length of the panel.
        n_firms: N, at least 2.
        second_order: delta, what the news of the peers' peers is worth.
        rivalry: rho, what the rivals' good news costs.
        noise: Standard deviation of what cannot be foreseen.
        same_firms: Keep the characteristics, and so the network, over all quarters;
            otherwise each quarter has firms of its own.
    """
    rng = np.random.default_rng(seed)
    shape = (n_quarters, n_firms)

    def persistent(draw: np.ndarray) -> np.ndarray:
        return np.repeat(draw[:1], n_quarters, axis=0) if same_firms else draw

    size = persistent(rng.exponential(size=shape) - 1)  # mean 0, variance 1
    leverage, rd, roa = (persistent(rng.standard_normal(shape)) for _ in range(3))
    sector = persistent(rng.integers(0, N_SECTORS, shape))
    known = Economy(
        size=size,
        leverage=leverage,
        rd=rd,
        roa=roa,
        last_return=rng.standard_normal(shape),
        sector=sector,
        relevance=true_relevance(size, rd, sector),
        rivals=_others_softmax(2.0 * rd[:, :, None] * rd[:, None]),
        own=0.4 * roa - 0.3 * leverage,
        next_return=np.zeros(shape),
        next_roa=np.zeros(shape),
        second_order=second_order,
        rivalry=rivalry,
        noise=noise,
    )
    next_return = known.oracle + noise * rng.standard_normal(shape)
    next_roa = roa + 0.5 * next_return + 0.1 * rng.standard_normal(shape)
    return replace(known, next_return=next_return, next_roa=next_roa)


def true_relevance(size: np.ndarray, rd: np.ndarray, sector: np.ndarray) -> np.ndarray:
    """Where each firm looks, `Q N N`: eq. 1 with the coefficients `TRUE_THETA`."""
    a, b, c, d = TRUE_THETA
    i, j = (slice(None), slice(None), None), (slice(None), None)
    scores = a * (sector[i] == sector[j])
    return _others_softmax(scores + (b + c * size[i]) * size[j] + d * rd[i] * rd[j])


def r_squared(y: np.ndarray, forecast: np.ndarray) -> float:
    """R² = 1 - MSE / variance: 1 for a perfect forecast, 0 for the mean of y."""
    return float(1 - np.mean((y - forecast) ** 2) / np.var(y))


def _others_softmax(scores: np.ndarray) -> np.ndarray:
    scores[:, np.eye(scores.shape[-1], dtype=bool)] = -np.inf
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def _average(weights: np.ndarray, values: np.ndarray) -> np.ndarray:
    return (weights @ values[..., None])[..., 0]
