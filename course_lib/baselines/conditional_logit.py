r"""Peer weights by conditional logit, fitted by nonlinear least squares.

    y_i = x_i' beta + gamma sum_j w_ij r_j + noise
    w_ij = exp(z_ij' theta) / sum_(k != i) exp(z_ik' theta)             (eq. 1)

The weights are the choice probabilities of McFadden 1974 ("Conditional logit analysis
of qualitative choice behavior", in Zarembka, ed., Frontiers in Econometrics, 105-142):
a softmax over the other units, as in attention, of features of *pairs* that are chosen
by hand. No choice is observed here, only y, so they are estimated by least squares.

Given theta, eq. 1 is a linear regression: only theta is searched for (variable
projection: Golub and Pereyra 1973, doi:10.1137/0710036).

    fitted = conditional_logit(train.inputs, train.pairs, train.last_return, y)
    forecast = fitted.predict(test.inputs, test.pairs, test.last_return)
"""

from dataclasses import dataclass

import numpy as np

from course_lib.optional import missing

__all__ = ["ConditionalLogit", "conditional_logit"]


@dataclass(frozen=True, eq=False)
class ConditionalLogit:
    """A fitted model of eq. 1."""

    theta: np.ndarray  #: Coefficients of the pair features, `P`: what makes a peer
    gamma: float  #: What the peers' average is worth
    #: Coefficients of a unit's own features, and a constant after them, `F+1`; where
    #: these are collinear (a dummy for every sector), the smallest solution.
    beta: np.ndarray
    #: Of the estimates of theta and gamma, `P+1 P+1`, for noise of equal variance.
    covariance: np.ndarray

    @property
    def standard_errors(self) -> np.ndarray:
        """Of theta and gamma, `P+1`."""
        return np.sqrt(np.diag(self.covariance))

    def weights(self, pairs: np.ndarray) -> np.ndarray:
        """The weights w of eq. 1, `Q N N`, from features of each pair, `Q N N P`."""
        return _weights(pairs, self.theta)

    def predict(
        self, own: np.ndarray, pairs: np.ndarray, news: np.ndarray
    ) -> np.ndarray:
        """The forecast of y, `Q N`, from the same kinds of data as in the fit."""
        peers = self.gamma * _average(self.weights(pairs), news)
        return own @ self.beta[:-1] + self.beta[-1] + peers


def conditional_logit(
    own: np.ndarray, pairs: np.ndarray, news: np.ndarray, y: np.ndarray
) -> ConditionalLogit:
    """Estimate eq. 1 by nonlinear least squares from Q groups of N units each.

    Args:
        own: A unit's own features x, `Q N F`; a constant is added.
        pairs: Features z of each pair (i, j), `Q N N P`; the diagonal is not used.
            What does not vary with j cancels in the softmax and is not identified.
        news: What is averaged over peers, r, `Q N`.
        y: The target, `Q N`.
    """
    try:
        from scipy.optimize import least_squares
    except ImportError as error:
        raise missing("Nonlinear least squares needs", "scipy", "data") from error
    own, pairs, news, y = (np.asarray(a, np.float64) for a in (own, pairs, news, y))
    q, n = y.shape
    if own.shape[:2] != (q, n) or pairs.shape[:3] != (q, n, n) or news.shape != (q, n):
        raise ValueError(
            "own, pairs, news and y must be Q N F, Q N N P, Q N and Q N: got "
            f"{own.shape}, {pairs.shape}, {news.shape} and {y.shape}."
        )

    pairs = np.where(np.eye(n, dtype=bool)[..., None], 0.0, pairs)

    def columns(theta: np.ndarray) -> np.ndarray:
        peers = _average(_weights(pairs, theta), news)
        table = np.concatenate([own, np.ones((q, n, 1)), peers[..., None]], axis=-1)
        return table.reshape(q * n, -1)

    def residuals(theta: np.ndarray) -> np.ndarray:
        x = columns(theta)
        return x @ np.linalg.lstsq(x, y.ravel())[0] - y.ravel()

    theta = least_squares(residuals, np.zeros(pairs.shape[-1])).x
    x = columns(theta)
    *beta, gamma = np.linalg.lstsq(x, y.ravel())[0]
    # The derivative of a softmax average: the covariance of z and r under the weights.
    weights = _weights(pairs, theta)
    mean = np.einsum("qij,qijp->qip", weights, pairs)
    slopes = np.einsum("qij,qijp,qj->qip", weights, pairs, news)
    slopes = gamma * (slopes - mean * _average(weights, news)[..., None])
    jacobian = np.concatenate([x, slopes.reshape(q * n, -1)], axis=1)
    variance = np.mean(residuals(theta) ** 2) * np.linalg.pinv(jacobian.T @ jacobian)
    of_interest = variance[len(beta) :, len(beta) :]
    covariance = np.roll(of_interest, -1, axis=(0, 1))  # gamma goes last
    return ConditionalLogit(theta, float(gamma), np.array(beta), covariance)


def _weights(pairs: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """Conditional-logit probabilities of each unit over all others, `Q N N` (eq. 1)."""
    scores = pairs @ theta
    scores[:, np.eye(scores.shape[-1], dtype=bool)] = -np.inf
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def _average(weights: np.ndarray, values: np.ndarray) -> np.ndarray:
    return (weights @ values[..., None])[..., 0]
