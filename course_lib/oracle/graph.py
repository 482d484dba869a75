"""Graph attention, one node and one neighbor at a time."""

import numpy as np

from course_lib.oracle.attention import softmax
from course_lib.oracle.weights import Weights

__all__ = ["graph_attention"]


def graph_attention(
    x: np.ndarray, edges: np.ndarray, weights: Weights
) -> tuple[np.ndarray, np.ndarray]:
    """Graph attention (GAT), head after head: features `N D` and weights `H N N`.

    Veličković et al. 2018, section 2.1, arXiv:1710.10903. Nodes are `N Din`; edges, `N
    N`, are True in row i, column j where i attends to j. The weights are called
    `proj.weight`, `a_query`, `a_key`, `bias`.
    """
    n, (n_heads, d_head) = len(x), weights["a_query"].shape
    h = (x @ weights["proj.weight"].T).reshape(n, n_heads, d_head)
    maps = np.zeros((n_heads, n, n))
    output = np.zeros((n, n_heads, d_head))
    for head in range(n_heads):
        for i in range(n):
            scores = np.full(n, -np.inf)
            for j in np.flatnonzero(edges[i]):
                pair = weights["a_query"][head] @ h[i, head]
                pair = pair + weights["a_key"][head] @ h[j, head]
                scores[j] = pair if pair > 0 else 0.2 * pair
            maps[head, i] = softmax(scores)
            output[i, head] = maps[head, i] @ h[:, head]
    return output.reshape(n, -1) + weights["bias"], maps
