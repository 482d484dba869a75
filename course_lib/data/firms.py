r"""A simulated cross-section of firms that learn from each other, by a known network.

How much firm i looks to firm j is a softmax, over all other firms, of

    s_ij = a [same sector] + (b + c size_i) size_j + d rd_i rd_j         (eq. 1)

a product of what i looks for with how j presents itself, so that one head of attention
can hold it. Everybody looks to large firms (b > 0), and large firms look to hardly
anybody else (c > 0): relevance is directed. Next quarter's return is

    y = own + gamma A r + delta A A r + noise,    A = softmax(s)         (eq. 2)

with r the returns of this quarter, which everybody knows; delta adds the peers of
peers, i <- j <- k. Returns are in units of the standard deviation of r, characteristics
in units of their own.
"""

from dataclasses import dataclass, fields, replace

import numpy as np

from course_lib.checks import check_size

FEATURES = ("size", "leverage", "rd", "roa", "last_return")


@dataclass(frozen=True, eq=False)
class Economy:
    """Q quarters of N firms.

    Args:
        size: Log of assets, standardized; skewed, with few giants, `Q N`.
        leverage: Debt over assets, standardized, `Q N`.
        rd: Research and development over sales, standardized, `Q N`.
        roa: Return on assets, standardized, `Q N`.
        last_return: Return r of this quarter, known when the forecast is made, `Q N`.
        sector: A whole number from 0, `Q N`.
        relevance: The true A, `Q N N`: row i is where firm i looks. Rows sum to 1, the
            diagonal is 0.
        own: What a firm's own leverage and return on assets add to y, `Q N`.
        next_return: The target y, `Q N`.
        next_roa: Return on assets of the next quarter, which comes out together with y
            and is driven by it: a trap, not a feature, `Q N`.
        first_order: gamma.
        second_order: delta.
        noise: Standard deviation of the noise in y.
    """

    size: np.ndarray
    leverage: np.ndarray
    rd: np.ndarray
    roa: np.ndarray
    last_return: np.ndarray
    sector: np.ndarray
    relevance: np.ndarray
    own: np.ndarray
    next_return: np.ndarray
    next_roa: np.ndarray
    first_order: float
    second_order: float
    noise: float

    def __getitem__(self, quarters: slice) -> "Economy":
        """Some of the quarters, such as `economy[:80]` to train and `[80:]` to test."""
        chosen = {
            f.name: getattr(self, f.name)[quarters]
            for f in fields(self)
            if isinstance(getattr(self, f.name), np.ndarray)
        }
        return replace(self, **chosen)

    @property
    def largest_first(self) -> "Economy":
        """The same firms, those of each quarter in the order of their size.

        Nothing but the numbering changes: attention cannot tell, a picture shows more,
        and `[:, :16]` are the sixteen largest firms of every quarter.
        """
        order = np.argsort(-self.size, axis=1, kind="stable")

        def sort(array: np.ndarray) -> np.ndarray:
            if array.ndim == 2:
                return np.take_along_axis(array, order, 1)
            rows = np.take_along_axis(array, order[:, :, None], 1)
            return np.take_along_axis(rows, order[:, None], 2)

        arrays = {
            f.name: sort(getattr(self, f.name))
            for f in fields(self)
            if isinstance(getattr(self, f.name), np.ndarray)
        }
        return replace(self, **arrays)

    @property
    def names(self) -> tuple[str, ...]:
        """What the columns of `inputs` are."""
        sectors = (f"sector {k}" for k in range(self._n_sectors))
        return (*FEATURES, *sectors)

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
    def network(self) -> np.ndarray:
        """How y depends on r, all orders together: gamma A + delta A A, `Q N N`."""
        second = self.relevance @ self.relevance
        return self.first_order * self.relevance + self.second_order * second

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

    def ceiling(self, weights: np.ndarray | None = None) -> float:
        """R² of the best forecast that averages last returns by the given weights.

        The forecast may use a firm's own leverage and return on assets, and the average
        `weights @ r` with the best coefficient. The expectation is over r and the
        noise, for the characteristics as they are, so it needs no simulation: the parts
        of y have the variances of eq. 2, row by row.

        Args:
            weights: `Q N N`, or None for the true `network`, which gives the oracle's
                R². `relevance` gives the best of one layer of true peers,
                `sector_weights` the best of the fixed kernel, `np.eye(N)` the best of a
                firm's own features, last return included.

        Returns:
            A number from 0 to 1.
        """
        truth = self.network
        weights = truth if weights is None else np.broadcast_to(weights, truth.shape)
        spread = (weights**2).sum(-1).mean()
        shared = (weights * truth).sum(-1).mean()
        explained = self.own.var() + (shared**2 / spread if spread > 0 else 0.0)
        total = self.own.var() + (truth**2).sum(-1).mean() + self.noise**2
        return float(explained / total)


def economy(
    *,
    seed: int,
    n_quarters: int = 120,
    n_firms: int = 40,
    n_sectors: int = 4,
    first_order: float = 1.5,
    second_order: float = 0.0,
    noise: float = 0.5,
    same_firms: bool = False,
) -> Economy:
    """Draw an economy.

    Args:
        seed: Fixes everything; another seed is another economy under the same laws.
        n_quarters: Q.
        n_firms: N, at least 2.
        n_sectors: Sectors; each firm falls into one at random.
        first_order: gamma, what the peers' news is worth.
        second_order: delta, what the news of the peers' peers is worth.
        noise: Standard deviation of what nobody can foresee.
        same_firms: Keep the characteristics over all quarters, so that the network
            stays the same; otherwise each quarter has firms of its own.

    Raises:
        ValueError: A size is too small, or the noise is negative.
    """
    for name, value in (("n_quarters", n_quarters), ("n_sectors", n_sectors)):
        check_size(name, value)
    if n_firms < 2:
        raise ValueError(f"n_firms must be at least 2, to have a peer: got {n_firms}.")
    if noise < 0:
        raise ValueError(f"noise must not be negative: got {noise}.")
    rng = np.random.default_rng(seed)
    shape = (n_quarters, n_firms)

    def persistent(draw: np.ndarray) -> np.ndarray:
        return np.repeat(draw[:1], n_quarters, axis=0) if same_firms else draw

    size = persistent(rng.exponential(size=shape) - 1)  # mean 0, variance 1
    leverage, rd, roa = (persistent(rng.standard_normal(shape)) for _ in range(3))
    sector = persistent(rng.integers(0, n_sectors, shape))
    last_return = rng.standard_normal(shape)
    own = 0.4 * roa - 0.3 * leverage
    relevance = true_relevance(size, rd, sector)
    known = Economy(
        size=size,
        leverage=leverage,
        rd=rd,
        roa=roa,
        last_return=last_return,
        sector=sector,
        relevance=relevance,
        own=own,
        next_return=np.zeros(shape),
        next_roa=np.zeros(shape),
        first_order=first_order,
        second_order=second_order,
        noise=noise,
    )
    next_return = known.oracle + noise * rng.standard_normal(shape)
    next_roa = roa + 0.5 * next_return + 0.1 * rng.standard_normal(shape)
    return replace(known, next_return=next_return, next_roa=next_roa)


def true_relevance(size: np.ndarray, rd: np.ndarray, sector: np.ndarray) -> np.ndarray:
    """Where each firm looks (eq. 1), with a = 2, b = 0.8, c = 0.5 and d = 0.5.

    Args:
        size: `Q N`.
        rd: `Q N`.
        sector: `Q N`.

    Returns:
        `Q N N`; rows sum to 1, and nobody looks at itself.
    """
    i, j = (slice(None), slice(None), None), (slice(None), None)
    scores = 2.0 * (sector[i] == sector[j])
    scores = scores + (0.8 + 0.5 * size[i]) * size[j] + 0.5 * rd[i] * rd[j]
    scores[:, np.eye(size.shape[1], dtype=bool)] = -np.inf
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def r_squared(y: np.ndarray, forecast: np.ndarray) -> float:
    """Share of the variance of y, over all quarters and firms, that a forecast takes.

    Args:
        y: What happened.
        forecast: What was said before, of the same shape.

    Returns:
        1 - MSE / variance: 1 for a perfect forecast, 0 for the mean of y, below 0 for
        anything worse than the mean.
    """
    return float(1 - np.mean((y - forecast) ** 2) / np.var(y))


def _average(weights: np.ndarray, values: np.ndarray) -> np.ndarray:
    return (weights @ values[..., None])[..., 0]
