"""Answers on kernel regression, softmax, attention, heads, positions, tokens, peers."""

import math
from collections import Counter
from itertools import pairwise

from students import INF, parts, right, wrong

# --- kernel regression


def gauss(xp, q, k, h):
    return xp.exp(-0.5 * (((q[:, None, :] - k) / h) ** 2).sum(-1))


@right("kernel_regression")
def in_one_go(xp, q, k, v, h):
    w = gauss(xp, q, k, h)
    return w @ v / w.sum(-1)[:, None]


@right("kernel_regression")
def by_softmax(xp, q, k, v, h):
    squares = (q**2).sum(-1)[:, None] - 2 * q @ k.T + (k**2).sum(-1)
    return xp.softmax(-squares / 2 / h**2) @ v


@right("kernel_regression")
def query_by_query(xp, q, k, v, h):
    rows = []
    for one in q:
        w = xp.exp(-((one - k) ** 2).sum(-1) / (2 * h * h))
        rows.append((w[:, None] * v).sum(0) / w.sum())
    return xp.stack(rows)


def norms(xp, q, k):
    return (((q[:, None] - k[None]) ** 2).sum(-1)) ** 0.5


wrong(
    "kernel_regression",
    "not divided by their sum",
    lambda xp, q, k, v, h: gauss(xp, q, k, h) @ v,
)


def itself(xp, k):
    return xp.eye(len(k)) > 0


@right("leave_one_out")
def masked(xp, k, v, h):
    scores = -((norms(xp, k, k) / h) ** 2) / 2
    return xp.softmax(xp.where(itself(xp, k), -INF, scores)) @ v


@right("leave_one_out")
def one_by_one(xp, k, v, h):
    rows = []
    for i in range(len(k)):
        rest = [j for j in range(len(k)) if j != i]
        keys, values = xp.stack([k[j] for j in rest]), xp.stack([v[j] for j in rest])
        w = xp.exp(-((k[i] - keys) ** 2).sum(-1) / (2 * h * h))
        rows.append((w[:, None] * values).sum(0) / w.sum())
    return xp.stack(rows)


wrong("leave_one_out", "on its own list", lambda xp, k, v, h: in_one_go(xp, k, k, v, h))
wrong(
    "leave_one_out",
    "after the softmax",
    lambda xp, k, v, h: (
        xp.where(itself(xp, k), 0, xp.softmax(-((norms(xp, k, k) / h) ** 2) / 2)) @ v
    ),
)


def same(xp, groups):
    return groups[:, None] == groups[None]


@right("leave_group_out")
def groups_masked(xp, k, v, groups, h):
    scores = -((norms(xp, k, k) / h) ** 2) / 2
    return xp.softmax(xp.where(same(xp, groups), -INF, scores)) @ v


@right("leave_group_out")
def group_by_group(xp, k, v, groups, h):
    rows = []
    for i in range(len(k)):
        rest = [j for j in range(len(k)) if int(groups[j]) != int(groups[i])]
        keys, values = xp.stack([k[j] for j in rest]), xp.stack([v[j] for j in rest])
        w = xp.exp(-((k[i] - keys) ** 2).sum(-1) / (2 * h * h))
        rows.append((w[:, None] * values).sum(0) / w.sum())
    return xp.stack(rows)


wrong(
    "leave_group_out",
    "its whole group must be",
    lambda xp, k, v, groups, h: masked(xp, k, v, h),
)
wrong(
    "leave_group_out",
    "after the softmax",
    lambda xp, k, v, groups, h: (
        xp.where(same(xp, groups), 0, xp.softmax(-((norms(xp, k, k) / h) ** 2) / 2)) @ v
    ),
)


# --- labels from a model


@right("corrected_mean")
def mean_of_both(xp, guesses, checked, labels):
    n = labels.shape[0]
    missed = labels - guesses[checked]
    square = ((missed - missed.mean()) ** 2).sum() / (n - 1)
    return guesses.mean() + missed.mean(), (square / n - square / len(guesses)) ** 0.5


@right("corrected_mean")
def regression_on_one(xp, guesses, checked, labels):
    n, rows = len(checked), len(guesses)
    known = guesses[checked]
    squares = ((labels - known) ** 2).mean() - (labels - known).mean() ** 2
    mean = labels.mean() + guesses.mean() - known.mean()
    return mean, (squares / (n - 1) * (rows - n) / rows) ** 0.5


wrong(
    "corrected_mean",
    "sign of the correction",
    lambda xp, guesses, checked, labels: (
        guesses.mean() + (guesses[checked] - labels).mean(),
        mean_of_both(xp, guesses, checked, labels)[1],
    ),
)


# --- the soft look-up


@right("soft_lookup")
def lookup(xp, query, keys, values, t):
    return xp.softmax(keys @ query / t) @ values


@right("soft_lookup")
def lookup_by_exp(xp, query, keys, values, t):
    w = xp.exp((query * keys).sum(-1) / t)
    return (w[:, None] * values).sum(0) / w.sum()


wrong("soft_lookup", "not soft", lambda xp, q, k, v, t: v[(k @ q).argmax()])

# --- softmax


@right("softmax")
def shifted(xp, s):
    e = xp.exp(s - xp.amax(s, axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


@right("softmax")
def through_logs(xp, s):
    s = s - xp.amax(s, -1)[..., None]
    return xp.exp(s - xp.log(xp.exp(s).sum(-1))[..., None])


wrong("softmax", "exponentials are not divided", lambda xp, s: xp.exp(s))


# --- self_attention


def one_head(xp, x, w_q, w_k, w_v, by=None, axis=-1):
    scores = (x @ w_q) @ (x @ w_k).mT / (w_q.shape[-1] ** 0.5 if by is None else by)
    return xp.softmax(scores, axis) @ (x @ w_v)


@right("self_attention")
def bilinear(xp, x, w_q, w_k, w_v):
    return xp.softmax(x @ (w_q @ w_k.mT) @ x.mT / w_k.shape[-1] ** 0.5) @ x @ w_v


right("self_attention")(one_head)

wrong(
    "self_attention",
    "queries and keys are swapped",
    lambda xp, x, q, k, v: one_head(xp, x, k, q, v),
)

# --- attention


@right("attention")
def attend(xp, q, k, v, mask=None):
    s = q @ k.mT / math.sqrt(q.shape[-1])
    if mask is None:
        return xp.softmax(s) @ v
    return xp.where(mask, xp.softmax(xp.where(mask, s, -INF)), 0.0) @ v


@right("attention")
def by_einsum(xp, q, k, v, mask=None):
    s = xp.einsum("...id,...jd->...ij", q * q.shape[-1] ** -0.5, k)
    allowed = xp.ones(tuple(s.shape), dtype=bool) if mask is None else mask
    s = xp.where(allowed, s, -1e30)
    e = xp.where(allowed, xp.exp(s - xp.amax(s, axis=-1, keepdims=True)), 0.0)
    total = e.sum(-1)[..., None]
    weights = e / xp.where(total == 0, 1.0, total)
    return xp.einsum("...ij,...jv->...iv", weights, v), weights


@right("attention")
def with_nan_to_num(xp, q, k, v, mask=None):
    s = q @ k.mT / q.shape[-1] ** 0.5
    if mask is not None:
        s = s + xp.where(mask, 0.0, -INF)
    return xp.nan_to_num(xp.softmax(s)) @ v


def undivided(xp, q, k, v, mask=None):
    return attend(xp, q * math.sqrt(q.shape[-1]), k, v, mask)


wrong("attention", "scores are not divided by sqrt(d)", undivided)

# --- linear attention


def features(xp, x):
    return xp.where(x > 0, x + 1, xp.exp(x))


@right("linear_attention")
def all_pairs(xp, q, k, v, causal=None):
    s = features(xp, q) @ features(xp, k).mT
    s = xp.tril(s) if causal else s
    return s / s.sum(-1)[..., None] @ v


@right("linear_attention")
def never_a_map(xp, q, k, v, causal=None):
    q, k = features(xp, q), features(xp, k)
    if not causal:
        return q @ (k.mT @ v) / (q @ k.sum(-2)[..., None])
    moments = xp.cumsum(k[..., :, None] * v[..., None, :], -3)
    above = (q[..., None, :] @ moments)[..., 0, :]
    return above / (q * xp.cumsum(k, -2)).sum(-1)[..., None]


def all_pairs_undivided(xp, q, k, v, causal=None):
    s = features(xp, q) @ features(xp, k).mT
    return (xp.tril(s) if causal else s) @ v


wrong("linear_attention", "is not divided by", all_pairs_undivided)

# --- heads


@parts("multihead", "cross_attention")
def four_projections(d, h):
    return {f"{p}_proj": ("linear", d, d) for p in "qkvo"}


def apart(xp, t, h):
    return xp.permute(t.reshape(*t.shape[:2], h, -1), (0, 2, 1, 3))


def together(xp, t):
    t = xp.permute(t, (0, 2, 1, 3))
    return t.reshape(*t.shape[:2], -1)


def before_the_output(xp, self, x, context=None, mask=None):
    h = self.args[1]
    context = x if context is None else context
    q = apart(xp, self.q_proj(x), h)
    k, v = apart(xp, self.k_proj(context), h), apart(xp, self.v_proj(context), h)
    s = q @ k.mT / math.sqrt(q.shape[-1])
    s = s if mask is None else xp.where(mask, s, -INF)
    return together(xp, xp.softmax(s) @ v)


wrong("multihead cross_attention", "W_O is missing", before_the_output)


@right("multihead", "cross_attention")
def heads(xp, self, *args, **kwargs):
    return self.o_proj(before_the_output(xp, self, *args, **kwargs))


@right("multihead", "cross_attention")
def head_by_head(xp, self, x, context=None, mask=None):
    d, h = self.args
    context = x if context is None else context
    q, k, v = self.q_proj(x), self.k_proj(context), self.v_proj(context)
    done = []
    for i in range(h):
        own = slice(i * d // h, (i + 1) * d // h)
        s = q[..., own] @ k[..., own].mT * (d // h) ** -0.5
        s = s if mask is None else xp.where(mask[:, 0], s, -1e30)
        done.append(xp.softmax(s) @ v[..., own])
    return self.o_proj(xp.concatenate(done, axis=-1))


# --- positions


@right("sinusoidal")
def feature_by_feature(xp, n, d):
    place = xp.arange(n)
    columns = []
    for j in range(d):
        angle = place / 10000 ** ((j - j % 2) / d)
        columns.append(xp.cos(angle) if j % 2 else xp.sin(angle))
    return xp.stack(columns, axis=1)


@right("sinusoidal")
def by_pairs(xp, n, d):
    speeds = xp.exp(-math.log(1e4) * xp.arange(0, d, 2) / d)
    angle = xp.arange(n)[:, None] * speeds
    return xp.stack([xp.sin(angle), xp.cos(angle)], axis=-1).reshape(n, d)


def no_pairs(xp, n, d):
    angle = xp.arange(n)[:, None] / 10000 ** (xp.arange(d) / d)
    return xp.where(xp.arange(d) % 2 == 0, xp.sin(angle), xp.cos(angle))


wrong("sinusoidal", "wavelength of its own", no_pairs)


def angles(xp, n, d, start=0):
    return (start + xp.arange(n))[:, None] * 1e4 ** (-2 * xp.arange(d // 2) / d)


@right("rotary")
def turn(xp, x, offset=0):
    n, d = x.shape[-2:]
    a = angles(xp, n, d, offset)
    left, right_ = x[..., : d // 2], x[..., d // 2 :]
    cos, sin = xp.real(xp.cos(a)), xp.real(xp.sin(a))
    return xp.concatenate(
        [left * cos - right_ * sin, left * sin + right_ * cos], axis=-1
    )


@right("rotary")
def rotate_half(xp, x, offset=0):
    n, d = x.shape[-2:]
    a = xp.tile(angles(xp, n, d, offset), (1, 2))
    half = xp.concatenate([-x[..., d // 2 :], x[..., : d // 2]], axis=-1)
    return xp.real(x * xp.cos(a) + half * xp.sin(a))


def neighbors(xp, x, offset=0):
    a = angles(xp, *x.shape[-2:], offset)
    u, w = x[..., 0::2], x[..., 1::2]
    both = (u * xp.cos(a) - w * xp.sin(a), u * xp.sin(a) + w * xp.cos(a))
    return xp.stack(both, axis=-1).reshape(x.shape)


wrong("rotary", "neighbors make a pair", neighbors)


wrong("rotary", "added as a wave", lambda xp, x, o=0: x + by_pairs(xp, *x.shape[-2:]))

# --- tokens


@right("cross_entropy")
def minus_log(xp, logits, targets):
    z = logits - xp.amax(logits, axis=-1, keepdims=True)
    log_p = z - xp.log(xp.exp(z).sum(axis=-1, keepdims=True))
    one_hot = xp.real(targets[..., None] == xp.arange(logits.shape[-1]))
    return -(one_hot * log_p).sum(axis=-1).mean()


@right("cross_entropy")
def blank_by_blank(xp, logits, targets):
    rows, words = logits.reshape(-1, logits.shape[-1]), targets.reshape(-1)
    losses = []
    for z, word in zip(rows, words, strict=True):
        gaps = z - z[word]  # exp of the largest is taken out of the sum
        losses.append(gaps.max() + xp.log(xp.exp(gaps - gaps.max()).sum()))
    return xp.stack(losses).mean()


def underflows(xp, logits, targets):
    p = xp.softmax(logits, axis=-1)
    one_hot = xp.real(targets[..., None] == xp.arange(logits.shape[-1]))
    return -xp.log((one_hot * p).sum(axis=-1)).mean()


wrong("cross_entropy", "rounded to 0", underflows)


@right("most_frequent_pair")
def count_pairs(xp, ids):
    ids = ids.tolist()
    counts = Counter(pairwise(ids))
    return xp.array(max(sorted(counts), key=counts.__getitem__))


@right("most_frequent_pair")
def by_hand(xp, ids):
    text, best, most = [int(i) for i in ids], None, 0
    for pair in sorted(set(pairwise(text))):
        n = sum(tuple(text[i : i + 2]) == pair for i in range(len(text) - 1))
        if n > most:
            best, most = pair, n
    return xp.array(best)


def without_order(xp, ids):
    counts = Counter(tuple(sorted(pair)) for pair in pairwise(ids.tolist()))
    return xp.array(max(sorted(counts), key=counts.__getitem__))


wrong("most_frequent_pair", "not told apart", without_order)


@right("tied_logits")
def tied(xp, ids, table, w, bias):
    return table[ids] @ w @ table.T + bias


@right("tied_logits")
def tied_einsum(xp, ids, table, w, bias):
    one_hot = xp.real(ids[..., None] == xp.arange(len(table)))
    return xp.einsum("...u,ud,de,ve->...v", one_hot, table, w, table) + bias


wrong("tied_logits", "bias is missing", lambda xp, i, t, w, b: t[i] @ w @ t.T)

# --- peers


@right("peer_average")
def peers(xp, q, k, returns, listed=None):
    mask = ~xp.eye(q.shape[-2], dtype=bool)
    mask = mask if listed is None else mask & listed
    s = xp.where(mask, q @ k.mT / q.shape[-1] ** 0.5, -INF)
    return (xp.where(mask, xp.softmax(s), 0.0) @ returns[..., None])[..., 0]


@right("peer_average")
def peers_by_exp(xp, q, k, returns, listed=None):
    e = xp.exp(xp.einsum("...id,...jd->...ij", q, k) / math.sqrt(k.shape[-1]))
    e = e * xp.real(~xp.eye(q.shape[-2], dtype=bool))
    e = e if listed is None else e * xp.real(listed)
    total = e.sum(-1)
    return (e * returns[..., None, :]).sum(-1) / xp.where(total == 0, 1.0, total)


def own_peer(xp, q, k, returns, listed=None):
    s = q @ k.mT / q.shape[-1] ** 0.5
    if listed is None:
        return (xp.softmax(s) @ returns[..., None])[..., 0]
    w = xp.where(listed, xp.softmax(xp.where(listed, s, -INF)), 0.0)
    return (w @ returns[..., None])[..., 0]


wrong("peer_average", "among its own peers", own_peer)


@right("graph_attention")
def gat(xp, h, edges, a_q, a_k):
    s = (h @ a_q)[:, None] + (h @ a_k)[None]
    s = xp.where(edges, xp.where(s > 0, s, 0.2 * s), -INF)
    return xp.where(edges, xp.softmax(s), 0.0) @ h


@right("graph_attention")
def node_by_node(xp, h, edges, a_q, a_k):
    rows = []
    for i in range(len(h)):
        near = [j for j in range(len(h)) if bool(edges[i, j])]
        if not near:
            rows.append(0 * h[i])
            continue
        s = xp.stack([h[i] @ a_q + h[j] @ a_k for j in near])
        w = xp.exp(xp.maximum(s, 0.2 * s))
        rows.append(sum(w[n] * h[j] for n, j in enumerate(near)) / w.sum())
    return xp.stack(rows)


wrong(
    "graph_attention",
    "edges are not used",
    lambda xp, h, edges, a_q, a_k: gat(xp, h, edges | ~edges, a_q, a_k),
)
