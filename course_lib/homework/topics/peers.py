"""Exercises on peers: averages over other firms, and attention along a graph.

The challenge is an economy with rivals in which some firms are private.
"""

import math

import numpy as np

from course_lib import data, oracle
from course_lib.homework.challenge import (
    CHALLENGES,
    Challenge,
    draw_explained,
    explained,
    wide_seed,
)
from course_lib.homework.exercise import EXERCISES, Exercise, softmax


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


def _peer_average(q, k, returns, listed):
    n = q.shape[-2]
    allowed = ~np.eye(n, dtype=bool)
    if listed is not None:
        allowed = allowed & listed
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    exps = np.where(allowed, np.exp(scores), 0)
    total = exps.sum(axis=-1, keepdims=True)
    weights = exps / np.where(total == 0, 1, total)
    return (weights @ returns[..., None])[..., 0]


def _peer_oracle(q, k, returns, listed):
    firms = range(q.shape[-2])
    peers = [[i != j and (listed is None or listed[j]) for j in firms] for i in firms]
    return oracle.attention(q, k, returns[..., None], np.array(peers))[0][..., 0]


EXERCISES["peer_average"] = Exercise(
    call="f(q, k, returns, listed)",
    cases=_cases,
    oracle=_peer_oracle,
    equation=(_peer_average,),
    forbidden=("oracle",),  # attention may be the package's
    slips={
        "a firm is among its own peers: forbid the diagonal before the softmax": (
            "~np.eye(n, dtype=bool) -> np.array(True)"
        ),
        "a firm's own weight is taken out after the softmax, so that the rest no "
        "longer sums to 1": (
            "~np.eye(n, dtype=bool) -> np.array(True); "
            "weights @ -> (weights * (1 - np.eye(n))) @"
        ),
        "the scores are not divided by sqrt(d)": " / math.sqrt(q.shape[-1]) ->",
        "softmax runs over the queries; it must run over the keys, so that each row "
        "sums to 1": "axis=-1 -> axis=-2",
        "firms that are not listed are still attended to": " & listed ->",
        "firms that are not listed do not search; they may, but no firm may attend to "
        "them": "& listed -> & listed[:, None]",
        "a firm without a listed peer gets 0/0; its average must be 0": (
            "total == 0, 1 -> total == 0, np.nan"
        ),
        "queries and keys are swapped: row i must search with q_i": (
            "q @ k.mT -> k @ q.mT"
        ),
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


def _gat(h, edges, a_query, a_key):  # right up to NaN, at a node without neighbors
    scores = (h @ a_query)[:, None] + h @ a_key
    scores = np.maximum(scores, 0.2 * scores)
    weights = softmax(np.where(edges, scores, -np.inf), axis=-1)
    return weights @ h


EXERCISES["graph_attention"] = Exercise(
    call="f(h, edges, a_query, a_key)",
    cases=_graphs,
    oracle=_gat_oracle,
    equation=(_gat,),
    slips={
        "the edges are not used: a node attends to its neighbors only": (
            "where(edges -> where(True"
        ),
        "the edges are read the wrong way round: row i holds the neighbors of i": (
            "where(edges -> where(edges.T"
        ),
        "a_query and a_key have changed places: a_query meets the node that attends": (
            "a_query)[:, None] + h @ a_key -> a_key)[:, None] + h @ a_query"
        ),
        "the LeakyReLU is missing": "0.2 * scores -> scores",
        "this is ReLU; LeakyReLU keeps 0.2 of what is negative": "0.2 -> 0",
        "the slope is 0.01, as in the frameworks; GAT has 0.2": "0.2 -> 0.01",
        "the weights are not divided by their sum": (
            "softmax(np -> np.exp(np; , axis=-1) -> )"
        ),
        "softmax runs over the nodes that attend; it must run over the neighbors": (
            "axis=-1 -> axis=0"
        ),
        "all neighbors count the same: this is their mean": ", scores -> , 0.0",
        "a missing edge has score 0, which still gets weight; set it to -inf": (
            "-np.inf -> 0"
        ),
        "a node without neighbors is 0/0 in softmax; it gets 0": "",
        "a node without neighbors averages all nodes; it gets 0": "-np.inf -> -1e9",
    },
)

_PRIVATE, _RIVALRY = 0.4, 1.5


def _draw(rng):
    seed = wide_seed(rng)
    e = data.economy(seed=seed, n_quarters=700, rivalry=_RIVALRY)
    listed = rng.random(e.size.shape) >= _PRIVATE
    news = np.where(listed, e.last_return, 0.0)  # unknown, and 0 on average
    x, y = e.inputs, e.next_return
    x[..., e.names.index("last_return")] = news
    # The networks' law is public: what the columns mean has to be learned.
    mixing, _ = np.linalg.qr(rng.standard_normal((4, 4)))
    x[..., :4] = x[..., :4] @ mixing
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


CHALLENGES["private_firms"] = Challenge(
    call="f(x, y, x_new)",
    draw=_draw,
    score=explained,
    measure="R²",
    baseline="a regression on a firm's own row and its sector's average news",
    bound="the true networks of peers and rivals",
    full=0.85,
)
