"""Exercises on peers: averages over other firms, and attention along a graph.

The challenge is an economy with rivals in which some firms are private.
"""

import math

import numpy as np

from course_lib import data, oracle
from course_lib.homework.challenge import Challenge, draw_explained, explained
from course_lib.homework.exercise import Exercise


def _cases(rng):
    def firms(*batch, n=5, d=3):
        q, k = (rng.standard_normal((*batch, n, d)) for _ in range(2))
        return q, k, rng.standard_normal((*batch, n))

    some = np.array([True, True, False, True, True])
    lonely = np.array([False, False, False, True, False])
    return {
        "all firms listed": (*firms(), None),
        "several quarters": (*firms(2), None),
        "one firm not listed": (*firms(), some),
        "a firm without a listed peer": (*firms(), lonely),
    }


def _allowed(n, listed, *, own=False, use="columns"):
    allowed = np.ones((n, n), dtype=bool) if own else ~np.eye(n, dtype=bool)
    if listed is None or use == "no":
        return allowed
    return allowed & (listed if use == "columns" else listed[:, None])


def _peer_average(
    q,
    k,
    returns,
    listed,
    *,
    own="before",
    root=True,
    axis=-1,
    use="columns",
    empty=0.0,
    swap=False,
):
    q, k = (k, q) if swap else (q, k)
    scores = q @ np.swapaxes(k, -1, -2) / (math.sqrt(q.shape[-1]) if root else 1)
    n = scores.shape[-1]
    exps = np.where(
        _allowed(n, listed, own=own != "before", use=use), np.exp(scores), 0
    )
    total = exps.sum(axis=axis, keepdims=True)
    weights = np.where(total > 0, exps / np.where(total > 0, total, 1), empty)
    if own == "after":
        weights = weights * ~np.eye(n, dtype=bool)
    return (weights @ returns[..., None])[..., 0]


def _peer_oracle(q, k, returns, listed):
    mask = np.broadcast_to(_allowed(q.shape[-2], listed), (*q.shape[:-1], k.shape[-2]))
    return oracle.attention(q, k, returns[..., None], mask)[0][..., 0]


PEER_AVERAGE = Exercise(
    call="f(q, k, returns, listed)",
    cases=_cases,
    oracle=_peer_oracle,
    forbidden=("oracle",),  # attention may be the package's
    mistaken=_peer_average,
    slips={
        "a firm is among its own peers: forbid the diagonal before the softmax": {
            "own": "in"
        },
        "a firm's own weight is taken out after the softmax, so that the rest no "
        "longer sums to 1": {"own": "after"},
        "the scores are not divided by sqrt(d)": {"root": False},
        "softmax runs over the queries; it must run over the keys, so that each row "
        "sums to 1": {"axis": -2},
        "firms that are not listed are still attended to": {"use": "no"},
        "firms that are not listed do not search; they may, but no firm may attend to "
        "them": {"use": "rows"},
        "a firm without a listed peer gets 0/0; its average must be 0": {
            "empty": np.nan
        },
        "queries and keys are swapped: row i must search with q_i": {"swap": True},
    },
)


def _graphs(rng):
    def graph(n, d, lonely=False):
        edges = rng.random((n, n)) < 0.5
        edges |= np.eye(n, dtype=bool)
        if lonely:
            edges[1] = False
        draws = (rng.standard_normal(shape) for shape in ((d,), (d,)))
        return rng.standard_normal((n, d)), edges, *draws

    return {
        "five nodes": graph(5, 3),
        "seven nodes": graph(7, 2),
        "a node without neighbors": graph(5, 2, lonely=True),
    }


def _gat_oracle(h, edges, a_query, a_key):
    weights = {
        "proj.weight": np.eye(h.shape[1]),
        "a_query": a_query[None],
        "a_key": a_key[None],
        "bias": np.zeros(h.shape[1]),
    }
    return oracle.graph_attention(h, edges, weights)[0]


def _gat(
    h,
    edges,
    a_query,
    a_key,
    *,
    slope=0.2,
    flip=False,
    form="softmax",
    mask=-np.inf,
    swap=False,
    neighbors=True,
):
    """Right up to NaN, at a node without neighbors, if nothing is switched."""
    a_query, a_key = (a_key, a_query) if swap else (a_query, a_key)
    edges = edges.T if flip else edges if neighbors else np.ones_like(edges)
    scores = (h @ a_query)[:, None] + h @ a_key
    scores = np.where(scores > 0, scores, slope * scores)
    if form == "mean":
        scores = 0 * scores
    scores = np.where(edges, scores, mask)
    exps = np.exp(scores - scores.max(axis=-1, keepdims=True))
    if form == "sum":
        return np.where(edges, np.exp(scores), 0) @ h
    if form == "columns":
        exps = np.exp(scores - scores.max(axis=0))
        return exps / exps.sum(axis=0) @ h
    return exps / exps.sum(axis=-1, keepdims=True) @ h


GRAPH_ATTENTION = Exercise(
    call="f(h, edges, a_query, a_key)",
    cases=_graphs,
    oracle=_gat_oracle,
    mistaken=_gat,
    slips={
        "the edges are not used: a node attends to its neighbors only": {
            "neighbors": False
        },
        "the edges are read the wrong way round: row i holds the neighbors of i": {
            "flip": True
        },
        "a_query and a_key have changed places: a_query meets the node that attends": {
            "swap": True
        },
        "the LeakyReLU is missing": {"slope": 1.0},
        "this is ReLU; LeakyReLU keeps 0.2 of what is negative": {"slope": 0.0},
        "the slope is 0.01, as in the frameworks; GAT has 0.2": {"slope": 0.01},
        "the weights are not divided by their sum": {"form": "sum"},
        "softmax runs over the nodes that attend; it must run over the neighbors": {
            "form": "columns"
        },
        "all neighbors count the same: this is their mean": {"form": "mean"},
        "a missing edge has score 0, which still gets weight; set it to -inf": {
            "mask": 0.0
        },
        "a node without neighbors is 0/0 in softmax; it gets 0": {},
        "a node without neighbors averages all nodes; it gets 0": {"mask": -1e9},
    },
)

EXERCISES = {"peer_average": PEER_AVERAGE, "graph_attention": GRAPH_ATTENTION}

_PRIVATE, _RIVALRY = 0.4, 1.5


def _draw(rng):
    seed = int(rng.integers(2**31))
    e = data.economy(seed=seed, n_quarters=700, rivalry=_RIVALRY)
    listed = rng.random(e.size.shape) >= _PRIVATE
    news = np.where(listed, e.last_return, 0.0)  # unknown, and 0 on average
    x, y = e.inputs, e.next_return
    x[..., e.names.index("last_return")] = news
    x = np.concatenate([x, listed[..., None]], axis=-1)
    # The returns of private firms are independent of all that is known, with mean 0.
    expected = e.own + (e.network @ news[..., None])[..., 0]

    weights = e.sector_weights * listed[:, None]
    weights /= np.maximum(weights.sum(-1, keepdims=True), 1e-9)
    ones = np.ones((*y.shape, 1))
    columns = np.concatenate([ones, x, weights @ news[..., None]], axis=-1)
    past, new = slice(0, 600), slice(600, None)
    design = columns[past].reshape(-1, columns.shape[-1])
    slopes = np.linalg.lstsq(design, y[past].ravel())[0]
    return {
        "new quarters": draw_explained(
            (x[past], y[past], x[new]),
            y[new],
            baseline=columns[new] @ slopes,
            bound=expected[new],
        )
    }


CHALLENGES = {
    "private_firms": Challenge(
        call="f(x, y, x_new)",
        draw=_draw,
        score=explained,
        measure="R²",
        baseline="a regression on a firm's own row and its sector's average news",
        bound="the true networks of peers and rivals",
        full=0.85,
    )
}
