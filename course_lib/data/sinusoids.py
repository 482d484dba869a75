r"""Sums of sinusoids with noise, and the best forecast that their past allows.

    f(t) = sum_i a_i sin(w_i t + phi_i) + noise,    t = 0, 1, 2, ...     (eq. 1)

The frequencies w_i are the same in all series; each draws its amplitudes (Rayleigh) and
phases (uniform), so that a_i sin(phi_i) and a_i cos(phi_i) are independent normal
variables. A series is then a Gaussian vector, and the best forecast of its future is
the conditional mean, linear in the past (Rasmussen and Williams 2006, Gaussian
Processes for Machine Learning, section 2.2). Its error exceeds the variance of the
noise, as a short noisy past does not determine amplitudes and phases.

With `n_active`, each series has only some of the frequencies, and it is unknown which.
The best forecast is then an average of linear forecasts with weights that depend on the
past, and no linear method reaches it.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from course_lib.checks import check_size

__all__ = ["Sinusoids", "sinusoids"]


@dataclass(frozen=True, eq=False)
class Sinusoids:
    """Windows of series: the past and the future."""

    past: np.ndarray  #: `N P`
    future: np.ndarray  #: `N H`, noise included
    #: The future without its noise, `N H`: for pictures, not for training.
    clean: np.ndarray
    frequencies: np.ndarray  #: w, in radians per step, `K`
    n_active: int  #: How many of them each series holds
    noise: float  #: Standard deviation of the noise at each step

    @cached_property
    def _bases(self) -> list[np.ndarray]:
        """For each set of frequencies that may be active, the columns of eq. 1."""
        length, k = self.past.shape[1] + self.future.shape[1], len(self.frequencies)
        basis = _basis(self.frequencies, length) / math.sqrt(self.n_active)
        return [
            basis[:, [*active, *(i + k for i in active)]]
            for active in combinations(range(k), self.n_active)
        ]

    def _linear(self, signal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """For a signal of this covariance: the best `H P` matrix, and its MSE, `H`."""
        p = self.past.shape[1]
        seen = signal[:p, :p] + self.noise**2 * np.eye(p)
        take = np.linalg.solve(seen, signal[:p, p:]).T
        left = np.diag(signal[p:, p:] - take @ signal[:p, p:])
        return take, left + self.noise**2

    @cached_property
    def linear(self) -> tuple[np.ndarray, np.ndarray]:
        """The best *linear* forecast: its matrix `H P`, and its exact MSE `H`.

        `past @ matrix.T` is the forecast. It needs only the average covariance of the
        series. If all frequencies are active, no forecast is better.
        """
        return self._linear(np.mean([b @ b.T for b in self._bases], axis=0))

    def best(self, past: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """The best forecast there is, knowing the frequencies and the noise.

        Each set of frequencies that may be active has its own linear forecast; they are
        averaged with the probability of the set given the past, `N P`; None takes the
        windows of this data set.

        Returns:
            The conditional mean of the future and its conditional variance, noise
            included, both `N H`. The mean of the variance is the expected MSE.
        """
        past = self.past if past is None else past
        p = past.shape[1]
        scores, means, variances = [], [], []
        for basis in self._bases:
            signal = basis @ basis.T
            take, error = self._linear(signal)
            seen = signal[:p, :p] + self.noise**2 * np.eye(p)
            whitened = np.linalg.solve(np.linalg.cholesky(seen), past.T)
            size = np.linalg.slogdet(seen).logabsdet
            scores.append(-0.5 * (whitened**2).sum(0) - 0.5 * size)
            means.append(past @ take.T)
            variances.append(error)
        weights = np.exp(np.array(scores) - np.max(scores, axis=0))
        weights /= weights.sum(0)  # sets N
        mean = np.einsum("sn,snh->nh", weights, np.array(means))
        spread = np.array(means) - mean
        variance = np.einsum("sn,sh->nh", weights, np.array(variances))
        return mean, variance + np.einsum("sn,snh->nh", weights, spread**2)

    @cached_property
    def floor(self) -> np.ndarray:
        """Expected MSE of the best forecast at each step ahead, `H`, noise included.

        Exact if all frequencies are active; otherwise the conditional variance averaged
        over these windows.
        """
        if self.n_active == len(self.frequencies):
            return self.linear[1]
        return self.best()[1].mean(0)


def sinusoids(
    n: int,
    *,
    seed: int,
    past: int = 48,
    horizon: int = 16,
    periods: tuple[float, ...] = (7.0, 11.0, 17.0, 29.0),
    n_active: int | None = None,
    noise: float = 0.3,
) -> Sinusoids:
    """Draw windows of independent series.

    Periods are 2 pi / w in steps, each above 2 (Nyquist). A series holds `n_active` of
    the frequencies, chosen at random, or all of them; the variance of its signal is 1
    in either case.
    """
    for name, value in (("n", n), ("past", past), ("horizon", horizon)):
        check_size(name, value)
    if not periods or min(periods) <= 2:
        raise ValueError(
            "periods must be longer than 2 steps, or steps are too coarse to see them: "
            f"got {periods}."
        )
    n_active = len(periods) if n_active is None else n_active
    if not 1 <= n_active <= len(periods):
        raise ValueError(
            f"n_active must be from 1 to the number of periods, {len(periods)}: "
            f"got {n_active}."
        )
    if not noise > 0:
        raise ValueError(
            f"noise must be above 0: got {noise}. Try 1e-3 for hardly any."
        )
    rng = np.random.default_rng(seed)
    frequencies = 2 * math.pi / np.array(periods)
    k = len(periods)
    active = np.argsort(rng.random((n, k)), axis=1).argsort(axis=1) < n_active
    coefficients = rng.standard_normal((n, 2 * k)) * np.tile(active, 2)
    basis = _basis(frequencies, past + horizon) / math.sqrt(n_active)
    clean = coefficients @ basis.T
    series = clean + noise * rng.standard_normal(clean.shape)
    seen, future, clean = series[:, :past], series[:, past:], clean[:, past:]
    return Sinusoids(seen, future, clean, frequencies, n_active, noise)


def _basis(frequencies: np.ndarray, length: int) -> np.ndarray:
    """Sines and cosines, `T 2K`."""
    angles = np.arange(length)[:, None] * frequencies
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=1)
