"""Answers on kernel regression, softmax, attention, heads, positions, tokens, peers."""

import math
from collections import Counter
from itertools import pairwise

from students import INF, parts, right, wrong

# --- kernel regression


def gauss(xp, q, k, h):
    return xp.exp(-0.5 * (((q[:, None, :] - k) / h) ** 2).sum(-1))


@right("nadaraya_watson")
def in_one_go(xp, q, k, v, h):
    w = gauss(xp, q, k, h)
    return w @ v / w.sum(-1)[:, None]


@right("nadaraya_watson")
def by_softmax(xp, q, k, v, h):
    squares = (q**2).sum(-1)[:, None] - 2 * q @ k.T + (k**2).sum(-1)
    return xp.softmax(-squares / 2 / h**2) @ v


@right("nadaraya_watson")
def query_by_query(xp, q, k, v, h):
    rows = []
    for one in q:
        w = xp.exp(-((one - k) ** 2).sum(-1) / (2 * h * h))
        rows.append((w[:, None] * v).sum(0) / w.sum())
    return xp.stack(rows)


def norms(xp, q, k):
    return (((q[:, None] - k[None]) ** 2).sum(-1)) ** 0.5


NW = "nadaraya_watson"
wrong(NW, "not divided by their sum", lambda xp, q, k, v, h: gauss(xp, q, k, h) @ v)
wrong(
    NW,
    "over the queries",
    lambda xp, q, k, v, h: xp.softmax(-(norms(xp, q, k) ** 2) / 2 / h**2, 0) @ v,
)
wrong(NW, "the ½", lambda xp, q, k, v, h: xp.softmax(-((norms(xp, q, k) / h) ** 2)) @ v)
wrong(
    NW,
    "multiplied by the bandwidth",
    lambda xp, q, k, v, h: xp.softmax(-((norms(xp, q, k) * h) ** 2) / 2) @ v,
)
wrong(
    NW,
    "only the keys are divided",
    lambda xp, q, k, v, h: xp.softmax(-(norms(xp, q, k / h) ** 2) / 2) @ v,
)
wrong(
    NW,
    "bandwidth is not squared",
    lambda xp, q, k, v, h: xp.softmax(-(norms(xp, q, k) ** 2) / (2 * h)) @ v,
)
wrong(
    NW,
    "bandwidth is not used",
    lambda xp, q, k, v, h: xp.softmax(-(norms(xp, q, k) ** 2) / 2) @ v,
)
wrong(
    NW,
    "the distance is not squared",
    lambda xp, q, k, v, h: xp.softmax(-norms(xp, q, k) / h) @ v,
)
wrong(
    NW,
    "is halved and",
    lambda xp, q, k, v, h: xp.softmax(-norms(xp, q, k) / (2 * h)) @ v,
)
wrong(
    NW,
    "sign is missing",
    lambda xp, q, k, v, h: xp.softmax(norms(xp, q, k) ** 2 / (2 * h**2)) @ v,
)
wrong(
    NW,
    "this is their mean",
    lambda xp, q, k, v, h: v.mean(0) + 0 * (q[:, :1] @ v[:1]),
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


LOO = "leave_one_out"
wrong(LOO, "on its own list", lambda xp, k, v, h: in_one_go(xp, k, k, v, h))
wrong(
    LOO,
    "after the softmax",
    lambda xp, k, v, h: (
        xp.where(itself(xp, k), 0, xp.softmax(-((norms(xp, k, k) / h) ** 2) / 2)) @ v
    ),
)
wrong(LOO, "the errors are returned", lambda xp, k, v, h: masked(xp, k, v, h) - v)
wrong(LOO, "bandwidth is not used", lambda xp, k, v, h: masked(xp, k, v, 1))


@right("soft_lookup")
def lookup(xp, query, keys, values, t):
    return xp.softmax(keys @ query / t) @ values


@right("soft_lookup")
def lookup_by_exp(xp, query, keys, values, t):
    w = xp.exp((query * keys).sum(-1) / t)
    return (w[:, None] * values).sum(0) / w.sum()


SL = "soft_lookup"
wrong(SL, "not soft", lambda xp, q, k, v, t: v[(k @ q).argmax()])
wrong(SL, "not divided by their sum", lambda xp, q, k, v, t: xp.exp(k @ q / t) @ v)
wrong(SL, "these are the weights", lambda xp, q, k, v, t: xp.softmax(k @ q / t))
wrong(SL, "this is their mean", lambda xp, q, k, v, t: v.mean(0))
wrong(SL, "temperature is not used", lambda xp, q, k, v, t: xp.softmax(k @ q) @ v)
wrong(SL, "after the softmax", lambda xp, q, k, v, t: xp.softmax(k @ q) / t @ v)
wrong(SL, "multiplied", lambda xp, q, k, v, t: xp.softmax(t * (k @ q)) @ v)
wrong(
    SL,
    "minus the distance",
    lambda xp, q, k, v, t: xp.softmax(-(((k - q) ** 2).sum(-1) ** 0.5) / t) @ v,
)

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
wrong("softmax", "over all rows", lambda xp, s: xp.exp(s) / xp.sum(xp.exp(s)))


def down(xp, s):
    if s.ndim == 1:
        return xp.exp(s) / xp.exp(s).sum()
    return xp.exp(s) / xp.exp(s).sum(-2)[..., None, :]


wrong("softmax", "down the columns", down)
wrong("softmax", "the first axis", lambda xp, s: xp.exp(s) / xp.exp(s).sum(0))
wrong(
    "softmax",
    "axis 1",
    lambda xp, s: xp.exp(s) / xp.exp(s).sum(axis=1, keepdims=True),
)
wrong(
    "softmax", "exp overflows", lambda xp, s: xp.exp(s) / xp.exp(s).sum(-1)[..., None]
)
wrong("softmax", "without exp", lambda xp, s: s / s.sum(-1)[..., None])


def one_shift(xp, s):
    e = xp.exp(s - s.max())
    return e / e.sum(-1)[..., None]


wrong("softmax", "of the whole array", one_shift)

# --- self_attention


def one_head(xp, x, w_q, w_k, w_v, by=None, axis=-1):
    scores = (x @ w_q) @ (x @ w_k).mT / (w_q.shape[-1] ** 0.5 if by is None else by)
    return xp.softmax(scores, axis) @ (x @ w_v)


@right("self_attention")
def bilinear(xp, x, w_q, w_k, w_v):
    return xp.softmax(x @ (w_q @ w_k.mT) @ x.mT / w_k.shape[-1] ** 0.5) @ x @ w_v


right("self_attention")(one_head)
SA = "self_attention"
wrong(
    SA, "queries and keys are swapped", lambda xp, x, q, k, v: one_head(xp, x, k, q, v)
)
wrong(SA, "not divided by sqrt(d)", lambda xp, *a: one_head(xp, *a, by=1))
wrong(
    SA,
    "of the width D of the words",
    lambda xp, x, *w: one_head(xp, x, *w, by=x.shape[-1] ** 0.5),
)
wrong(
    SA, "divided by d, not", lambda xp, x, q, *w: one_head(xp, x, q, *w, by=q.shape[-1])
)
wrong(SA, "d ** 1 / 2", lambda xp, x, q, *w: one_head(xp, x, q, *w, by=q.shape[-1] / 2))
wrong(SA, "the first axis", lambda xp, *a: one_head(xp, *a, axis=0))
wrong(SA, "over axis 1", lambda xp, *a: one_head(xp, *a, axis=1))
wrong(
    SA,
    "runs over the queries",
    lambda xp, x, q, k, v: (
        xp.softmax(((x @ q) @ (x @ k).mT / q.shape[-1] ** 0.5).mT).mT @ (x @ v)
    ),
)
wrong(
    SA,
    "softmax is missing",
    lambda xp, x, q, k, v: (x @ q) @ (x @ k).mT / q.shape[-1] ** 0.5 @ (x @ v),
)
wrong(
    SA,
    "averaged as they are",
    lambda xp, x, q, k, v: xp.softmax((x @ q) @ (x @ k).mT / q.shape[-1] ** 0.5) @ x,
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


def scores_with(f, how=None):
    """Attention as `attend`, the scores from `f` and the rest from `how`."""

    def answer(xp, q, k, v, mask=None):
        s = f(xp, q, k)
        if mask is None:
            return xp.softmax(s) @ v
        return xp.where(mask, xp.softmax(xp.where(mask, s, -INF)), 0.0) @ v

    return answer


A = "attention"
wrong(A, "scores are not divided by sqrt(d)", scores_with(lambda xp, q, k: q @ k.mT))
wrong(A, "divided by d, not", scores_with(lambda xp, q, k: q @ k.mT / q.shape[-1]))
wrong(
    A,
    "number of keys",
    scores_with(lambda xp, q, k: q @ k.mT / math.sqrt(k.shape[-2])),
)
wrong(
    A,
    "number of queries",
    scores_with(lambda xp, q, k: q @ k.mT / math.sqrt(q.shape[-2])),
)
wrong(
    A,
    "multiplied by sqrt(d)",
    scores_with(lambda xp, q, k: q @ k.mT * k.shape[-1] ** 0.5),
)


def late_root(xp, q, k, v, mask=None):
    s = q @ k.mT
    w = xp.softmax(s if mask is None else xp.where(mask, s, -INF)) / q.shape[-1] ** 0.5
    return (w if mask is None else xp.where(mask, w, 0.0)) @ v


wrong(A, "after the softmax; divide", late_root)


def root(q, k):
    return q @ k.mT / math.sqrt(k.shape[-1])


def over(axis):
    def answer(xp, q, k, v, mask=None):
        s = root(q, k) if mask is None else xp.where(mask, root(q, k), -INF)
        return xp.softmax(s, axis) @ v

    return answer


wrong(A, "d ** 1 / 2", scores_with(lambda xp, q, k: q @ k.mT / (q.shape[-1] ** 1 / 2)))
wrong(A, "runs over the queries", over(-2))
wrong(A, "the first axis", over(0))
wrong(A, "over axis 1", over(1))
wrong(
    A,
    "softmax is missing",
    lambda xp, q, k, v, mask=None: (
        (root(q, k) if mask is None else xp.where(mask, root(q, k), -INF)) @ v
    ),
)
wrong(
    A,
    "the weights come first",
    lambda xp, q, k, v, mask=None: (
        xp.softmax(root(q, k) if mask is None else xp.where(mask, root(q, k), -INF)),
        None,
    ),
)
wrong(A, "mask is not used", lambda xp, q, k, v, mask=None: xp.softmax(root(q, k)) @ v)


def filled(xp, q, k, v, mask, hide, fill):
    s = root(q, k)
    return xp.softmax(s if mask is None else xp.where(hide(mask), fill, s)) @ v


wrong(
    A,
    "wrong way round",
    lambda xp, q, k, v, mask=None: filled(xp, q, k, v, mask, lambda m: m, -INF),
)
wrong(
    A,
    "True means may attend",  # and a row without keys is set to 0
    lambda xp, q, k, v, mask=None: xp.nan_to_num(
        filled(xp, q, k, v, mask, lambda m: m, -INF)
    ),
)
wrong(
    A,
    "is set to 0",
    lambda xp, q, k, v, mask=None: filled(xp, q, k, v, mask, lambda m: ~m, 0.0),
)
wrong(
    A,
    "mask is applied after",
    lambda xp, q, k, v, mask=None: (
        xp.softmax(root(q, k)) * (1 if mask is None else xp.real(mask)) @ v
    ),
)
wrong(
    A,
    "nothing but -inf is 0/0",
    lambda xp, q, k, v, mask=None: filled(xp, q, k, v, mask, lambda m: ~m, -INF),
)
wrong(
    A,
    "averages all values",
    lambda xp, q, k, v, mask=None: filled(xp, q, k, v, mask, lambda m: ~m, -1e10),
)


def bare_exp(xp, q, k, v, mask=None):
    e = xp.exp(root(q, k))
    e = e if mask is None else xp.where(mask, e, 0.0)
    return e / e.sum(-1)[..., None] @ v


wrong(A, "exp overflows", bare_exp)

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


def linear(form, weigh=lambda xp, s: s / s.sum(-1)[..., None], lower=True):
    def answer(xp, q, k, v, causal=None):
        s = form(xp, q) @ form(xp, k).mT
        if causal and lower:
            s = xp.tril(s)
        return weigh(xp, s) @ v

    return answer


def own_exp(xp, s):
    """Softmax that leaves the zeros out, as `tril` made them."""
    e = xp.where(s == 0, 0.0, xp.exp(s))
    return e / e.sum(-1)[..., None]


LA = "linear_attention"
wrong(LA, "is not divided by", linear(features, lambda xp, s: s))
wrong(
    LA,
    "1 over the queries",
    linear(features, lambda xp, s: s / s.sum(-2)[..., None, :]),
)
wrong(LA, "the 1 in elu", linear(lambda xp, x: features(xp, x) - 1))
wrong(LA, "are relu(x)", linear(lambda xp, x: xp.relu(x)))
wrong(LA, "no feature map", linear(lambda xp, x: x))
wrong(LA, "features go through a softmax", linear(features, own_exp))
wrong(LA, "this is softmax attention", linear(lambda xp, x: x, own_exp))
wrong(LA, "causal is not used", linear(features, lower=False))

# --- heads


@parts("multihead", "cross_attention")
def four_projections(d, h):
    return {f"{p}_proj": ("linear", d, d) for p in "qkvo"}


def apart(xp, t, h):
    return xp.permute(t.reshape(*t.shape[:2], h, -1), (0, 2, 1, 3))


def together(xp, t):
    t = xp.permute(t, (0, 2, 1, 3))
    return t.reshape(*t.shape[:2], -1)


@right("multihead", "cross_attention")
def heads(xp, self, x, context=None, mask=None):
    h = self.args[1]
    context = x if context is None else context
    q = apart(xp, self.q_proj(x), h)
    k, v = apart(xp, self.k_proj(context), h), apart(xp, self.v_proj(context), h)
    s = q @ k.mT / math.sqrt(q.shape[-1])
    s = s if mask is None else xp.where(mask, s, -INF)
    return self.o_proj(together(xp, xp.softmax(s) @ v))


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


def heads_but(
    split=apart,
    join=together,
    root=lambda d, h: (d // h) ** 0.5,
    out=True,
    after=1.0,
    q_from=lambda x, c: x,
    k_from=lambda x, c: c,
    v_from=lambda x, c: c,
    hide=lambda xp, m, s: s if m is None else xp.where(m, s, -INF),
    n=None,
):
    def forward(xp, self, x, context=None, mask=None):
        d, h = self.args
        h = n or h
        context = x if context is None else context
        q = split(xp, self.q_proj(q_from(x, context)), h)
        k = split(xp, self.k_proj(k_from(x, context)), h)
        v = split(xp, self.v_proj(v_from(x, context)), h)
        w = xp.softmax(hide(xp, mask, q @ k.mT / root(d, h)))
        z = join(xp, w @ v * after)
        return self.o_proj(z) if out else z

    return forward


def strided(xp, t, h):
    return xp.permute(t.reshape(*t.shape[:2], -1, h), (0, 3, 1, 2))


def strided_back(xp, t):
    t = xp.permute(t, (0, 2, 3, 1))
    return t.reshape(*t.shape[:2], -1)


def at_once(xp, t, h):
    b, n, d = t.shape
    return t.reshape(b, h, n, d // h)


def at_once_back(xp, t):
    b, h, n, w = t.shape
    return t.reshape(b, n, h * w)


for words, answer in {
    "W_O is missing": heads_but(out=False),
    "divided by sqrt(d_model)": heads_but(root=lambda d, h: d**0.5),
    "scores are not divided by sqrt(d_head)": heads_but(root=lambda d, h: 1),
    "heads are divided by sqrt(d_head)": heads_but(root=lambda d, h: 1, after=0.5),
    "only one head": heads_but(n=1),
    "a reshape to (B, H, T, Dh) mixes": heads_but(split=at_once, join=at_once_back),
    "though they are joined": heads_but(split=at_once),
    "not moved back": heads_but(join=at_once_back),
    "every H-th": heads_but(split=strided, join=strided_back),
    "mask is not used": heads_but(hide=lambda xp, m, s: s),
    "wrong way round": heads_but(
        hide=lambda xp, m, s: s if m is None else xp.where(m, -INF, s)
    ),
}.items():
    wrong("multihead cross_attention", words, answer)


def own(x, c):
    return x


def other(x, c):
    return c


wrong("multihead", "context is not used", heads_but(k_from=own, v_from=own))
CA = "cross_attention"
wrong(CA, "keys and values come from x", heads_but(k_from=own, v_from=own))
wrong(CA, "have changed places", heads_but(q_from=other, k_from=own, v_from=own))
wrong(CA, "queries come from the memory", heads_but(q_from=other))
wrong(CA, "the keys come from x", heads_but(k_from=own))
wrong(CA, "the values come from x", heads_but(v_from=own))

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


def waves(exponent, first=0, even="sin", base=1e4, power=-1):
    def answer(xp, n, d):
        rows = []
        for t in range(first, n + first):
            angles = [t * base ** (power * exponent(j, d)) for j in range(d)]
            rows.append(
                [
                    math.sin(a) if (j % 2 == 0) == (even == "sin") else math.cos(a)
                    for j, a in enumerate(angles)
                ]
            )
        return xp.array(rows)

    return answer


def pairs(j, d):
    return 2 * (j // 2) / d


S = "sinusoidal"
wrong(S, "wavelength of its own", waves(lambda j, d: j / d))
wrong(
    S, "hardly anything", waves(lambda j, d: 2 - math.log((j // 2 or 1e-99) / d, 1e4))
)
wrong(S, "not doubled", waves(lambda j, d: (j // 2) / d))


def in_halves(xp, n, d):
    angle = xp.arange(n)[:, None] / 1e4 ** (xp.arange(d // 2) / (d // 2))
    return xp.concatenate([xp.sin(angle), xp.cos(angle)], axis=1)


wrong(S, "sines come first", in_halves)
wrong(S, "cosine comes before", waves(pairs, even="cos"))
wrong(S, "counted from 1", waves(pairs, first=1))
wrong(S, "angle is multiplied", waves(pairs, power=1))
wrong(S, "same speed", waves(pairs, base=1))
wrong(S, "transposed", lambda xp, n, d: waves(pairs)(xp, n, d).T)


def angles(xp, n, d, start=0, base=1e4, step=2):
    return (start + xp.arange(n))[:, None] * base ** (-step * xp.arange(d // 2) / d)


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


def turned(sign=1, use_offset=True, **options):
    def answer(xp, x, offset=0):
        n, d = x.shape[-2:]
        start = options.get("start", 0) + (offset if use_offset else 0)
        a = angles(xp, n, d, **{**options, "start": start})
        u, w = x[..., : d // 2], x[..., d // 2 :]
        c, s = xp.cos(a), sign * xp.sin(a)
        return xp.concatenate([u * c - w * s, w * c + u * s], axis=-1)

    return answer


def neighbors(xp, x, offset=0):
    a = angles(xp, *x.shape[-2:], offset)
    u, w = x[..., 0::2], x[..., 1::2]
    both = (u * xp.cos(a) - w * xp.sin(a), u * xp.sin(a) + w * xp.cos(a))
    return xp.stack(both, axis=-1).reshape(x.shape)


R = "rotary"
wrong(R, "neighbors make a pair", neighbors)
wrong(R, "the other way", turned(sign=-1))
wrong(R, "not doubled", turned(step=1))
wrong(R, "hardly anything", lambda xp, x, offset=0: x)
wrong(R, "same speed", turned(base=1.0))
wrong(R, "counted from 1", turned(start=1))


def first_axis(xp, x, offset=0):
    return turn(xp, x.swapaxes(0, -2), offset).swapaxes(0, -2)


wrong(R, "an axis before the last two", first_axis)
wrong(R, "offset is not used", turned(use_offset=False))
wrong(R, "added as a wave", lambda xp, x, o=0: x + by_pairs(xp, *x.shape[-2:]))

# --- tokens


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


def winner(pairs_of, key):
    def answer(xp, ids):
        counts = Counter(pairs_of(ids.tolist()))
        return xp.array(sorted(counts, key=lambda p: (-counts[p], *key(p)))[0])

    return answer


def plain(t):
    return list(pairwise(t))


def no_overlap(t):
    found, i = [], 0
    previous = None
    while i < len(t) - 1:
        pair = (t[i], t[i + 1])
        if pair == previous:
            previous = None
        else:
            found.append(pair)
            previous = pair
        i += 1
    return found


M = "most_frequent_pair"
wrong(
    M,
    "not told apart",
    winner(lambda t: [tuple(sorted(p)) for p in plain(t)], lambda p: p),
)
wrong(
    M,
    "two most frequent tokens",
    lambda xp, ids: xp.array(
        [i for i, _ in sorted(Counter(ids.tolist()).items(), key=lambda c: (-c[1], c))][
            :2
        ]
    ),
)
wrong(M, "every other pair", winner(no_overlap, lambda p: p))
wrong(M, "first in the text", winner(plain, lambda p: ()))
wrong(M, "larger ids are taken", winner(plain, lambda p: (-p[0], -p[1])))
wrong(M, "larger right id", winner(plain, lambda p: (p[0], -p[1])))


@right("tied_logits")
def tied(xp, ids, table, w, bias):
    return table[ids] @ w @ table.T + bias


@right("tied_logits")
def tied_einsum(xp, ids, table, w, bias):
    one_hot = xp.real(ids[..., None] == xp.arange(len(table)))
    return xp.einsum("...u,ud,de,ve->...v", one_hot, table, w, table) + bias


T = "tied_logits"
wrong(T, "bias is missing", lambda xp, i, t, w, b: t[i] @ w @ t.T)
wrong(T, "w is transposed", lambda xp, i, t, w, b: t[i] @ w.T @ t.T + b)
wrong(T, "w is not used", lambda xp, i, t, w, b: t[i] @ t.T + b)
wrong(T, "counted from 1", lambda xp, i, t, w, b: tied(xp, i - 1, t, w, b))
wrong(T, "probabilities", lambda xp, i, t, w, b: xp.softmax(tied(xp, i, t, w, b)))
wrong(
    T,
    "root of the width",
    lambda xp, i, t, w, b: t[i] @ w @ t.T / math.sqrt(t.shape[1]) + b,
)
wrong(T, "comes out of w", lambda xp, i, t, w, b: t[i] @ w)

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


def peers_but(
    root=0.5,
    own=False,
    axis=-1,
    zero=True,
    who=lambda m, some: m if some is None else m & some,
):
    def answer(xp, q, k, returns, listed=None):
        n = q.shape[-2]
        mask = xp.ones((n, n), dtype=bool) if own else ~xp.eye(n, dtype=bool)
        mask = who(mask, listed)
        w = xp.softmax(xp.where(mask, q @ k.mT / q.shape[-1] ** root, -INF), axis)
        w = xp.where(mask, w, 0.0) if zero else w
        return (w @ returns[..., None])[..., 0]

    return answer


P = "peer_average"
wrong(P, "among its own peers", peers_but(own=True))


def crossed_out(xp, q, k, returns, listed=None):
    s = q @ k.mT / math.sqrt(q.shape[-1])
    w = xp.softmax(s if listed is None else xp.where(listed, s, -INF))
    w = xp.where(xp.eye(q.shape[-2], dtype=bool), 0.0, w)
    return (w * returns[..., None, :]).sum(-1)


wrong(P, "taken out after", crossed_out)
wrong(P, "not divided by sqrt(d)", peers_but(root=0))
wrong(P, "over the queries", peers_but(axis=-2))
wrong(P, "still attended to", peers_but(who=lambda m, some: m))
wrong(
    P,
    "do not search",
    peers_but(who=lambda m, some: m if some is None else m & some[:, None]),
)
wrong(P, "gets 0/0", peers_but(zero=False))
wrong(P, "swapped", lambda xp, q, k, r, some=None: peers(xp, k, q, r, some))


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


def gat_but(slope=0.2, edge=lambda e: e, swap=False, hide=-INF, zero=True, axis=-1):
    def answer(xp, h, edges, a_q, a_k):
        a_q, a_k = (a_k, a_q) if swap else (a_q, a_k)
        edges = edge(edges)
        s = (h @ a_q).reshape(-1, 1) + h @ a_k
        s = xp.where(edges, xp.where(s > 0, s, slope * s), hide)
        w = xp.softmax(s, axis)
        return (xp.where(edges, w, 0.0) if zero else w) @ h

    return answer


G = "graph_attention"
wrong(G, "edges are not used", gat_but(edge=lambda e: e | ~e))
wrong(G, "wrong way round", gat_but(edge=lambda e: e.T))
wrong(G, "changed places", gat_but(swap=True))
wrong(G, "LeakyReLU is missing", gat_but(slope=1.0))
wrong(G, "this is ReLU", gat_but(slope=0.0))
wrong(G, "slope is 0.01", gat_but(slope=0.01))


def unnormalized(xp, h, edges, a_q, a_k):
    s = (h @ a_q)[:, None] + (h @ a_k)[None]
    return xp.where(edges, xp.exp(xp.maximum(s, 0.2 * s)), 0.0) @ h


wrong(G, "not divided by their sum", unnormalized)
wrong(G, "over the nodes that attend", gat_but(axis=0, zero=False))


def flat(xp, h, edges, a_q, a_k):
    e = xp.real(edges)
    return e @ h / e.sum(-1)[:, None]


wrong(G, "this is their mean", flat)
wrong(G, "has score 0", gat_but(hide=0.0, zero=False))
wrong(G, "is 0/0", gat_but(zero=False))
wrong(G, "averages all nodes", gat_but(hide=-1e9, zero=False))
