"""Linear attention and the delta rule, one query and one key at a time."""

import numpy as np

from course_lib.oracle.weights import floats

__all__ = ["delta_rule", "linear_attention"]


def linear_attention(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, causal: bool = False
) -> np.ndarray:
    """Linear attention: weights phi(q) · phi(k) / their sum, phi(x) = elu(x) + 1.

    Katharopoulos et al. 2020, eqs. 5 to 7, arXiv:2006.16236. Queries are `*B T Dh`,
    keys `*B S Dh`, values `*B S Dv`; causal, a query has the keys up to its own
    position.
    """

    def phi(x):
        return np.where(x > 0, x + 1, np.exp(np.minimum(x, 0)))

    q, k, v = floats(q, k, v)
    output = np.empty((*q.shape[:-1], v.shape[-1]))
    for *b, i in np.ndindex(q.shape[:-1]):
        last = i + 1 if causal else k.shape[-2]
        weights = [phi(q[*b, i]) @ phi(k[*b, j]) for j in range(last)]
        output[*b, i] = np.array(weights) / sum(weights) @ v[*b, :last]
    return output


def delta_rule(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    beta: np.ndarray,
    alpha: np.ndarray | None = None,
) -> np.ndarray:
    """The gated delta rule: fade the memory, then write the error of its answer.

    Yang et al. 2025, section 3.1, arXiv:2412.06464. Queries and keys are `*B T Dh`,
    values `*B T Dv`, beta and alpha `*B T`; without alpha nothing fades.
    """
    q, k, v, beta = floats(q, k, v, beta)
    alpha = np.ones(beta.shape) if alpha is None else np.asarray(alpha, np.float64)
    output = np.empty((*q.shape[:-1], v.shape[-1]))
    for b in np.ndindex(q.shape[:-2]):
        memory = np.zeros((k.shape[-1], v.shape[-1]))
        for t in range(q.shape[-2]):
            memory = alpha[*b, t] * memory
            error = v[*b, t] - k[*b, t] @ memory
            memory = memory + beta[*b, t] * np.outer(k[*b, t], error)
            output[*b, t] = q[*b, t] @ memory
    return output
