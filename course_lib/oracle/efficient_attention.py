"""Linear attention, one query and one key at a time."""

import numpy as np

from course_lib.oracle.weights import floats

__all__ = ["linear_attention"]


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
