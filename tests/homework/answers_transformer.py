"""Answers on masks, the norm, the MLP, blocks, recurrent networks, LoRA."""

import math

from students import INF, parts, right, wrong

# --- masks


@right("causal")
def triangle(xp, t, s):
    return xp.tril(xp.ones((t, s), dtype=bool), s - t)


@right("causal")
def comparison(xp, t, s):
    return xp.arange(s)[None, :] <= xp.arange(s - t, s)[:, None]


def compare(xp, t, s, ok):
    return xp.array([[ok(i, j) for j in range(s)] for i in range(t)])


C = "causal"
wrong(C, "lined up with the first", lambda xp, t, s: compare(xp, t, s, int.__ge__))
wrong(C, "a row for each key", lambda xp, t, s: compare(xp, s, s, int.__ge__))
wrong(
    C,
    "may not see itself",
    lambda xp, t, s: compare(xp, t, s, lambda i, j: j < i + s - t),
)
wrong(
    C,
    "True means may attend",
    lambda xp, t, s: compare(xp, t, s, lambda i, j: j > i + s - t),
)
wrong(
    C,
    "future is allowed",
    lambda xp, t, s: compare(xp, t, s, lambda i, j: j >= i + s - t),
)
wrong(
    C,
    "numbers to be added",
    lambda xp, t, s: xp.where(triangle(xp, t, s), 0.0, -INF),
)
wrong(C, "every pair", lambda xp, t, s: compare(xp, t, s, lambda i, j: True))


@right("padding")
def below_length(xp, lengths, n):
    return (xp.arange(n) < lengths[:, None])[:, None, None, :]


@right("padding")
def row_by_row(xp, lengths, n):
    rows = [[[[j < int(m) for j in range(n)]]] for m in lengths]
    return xp.array(rows)


D = "padding"
wrong(
    D,
    "one key too many",
    lambda xp, m, n: (xp.arange(n) <= m[:, None])[:, None, None, :],
)
wrong(
    D,
    "wrong way round",
    lambda xp, m, n: (xp.arange(n) >= m[:, None]).reshape(-1, 1, 1, n),
)
wrong(D, "shape is B S", lambda xp, m, n: xp.arange(n) < m[:, None])
wrong(
    D,
    "on the left",
    lambda xp, m, n: (xp.arange(n) >= n - m[:, None]).reshape(-1, 1, 1, n),
)
wrong(
    D,
    "numbers to be added",
    lambda xp, m, n: xp.where(below_length(xp, m, n), 0.0, -INF),
)


@right("masked_softmax")
def guarded(xp, s, m):
    return xp.where(m, xp.softmax(xp.where(m, s, -INF)), 0.0)


@right("masked_softmax")
def exp_of_allowed(xp, s, m):
    top = xp.amax(xp.where(m, s, -INF), axis=-1, keepdims=True)
    e = xp.where(m, xp.exp(s - xp.where(xp.isinf(top), 0.0, top)), 0.0)
    total = e.sum(-1)[..., None]
    return e / xp.where(total > 0, total, 1.0)


MS = "masked_softmax"
wrong(MS, "mask is not used", lambda xp, s, m: xp.softmax(s))
wrong(MS, "read the wrong way", lambda xp, s, m: xp.softmax(xp.where(m, -INF, s)))
wrong(MS, "applied after", lambda xp, s, m: xp.softmax(s) * xp.real(m))
wrong(MS, "set to 0", lambda xp, s, m: xp.softmax(s * xp.real(m)))
wrong(MS, "-10,000 is", lambda xp, s, m: xp.softmax(xp.where(m, s, -10000.0)))
for words, axis in (("the queries", -2), ("the first axis", 0), ("axis 1", 1)):
    wrong(
        MS,
        words,
        lambda xp, s, m, axis=axis: xp.softmax(xp.where(m, s, -INF), axis),
    )


def no_shift(xp, s, m):
    e = xp.where(m, xp.exp(s), 0.0)
    return e / e.sum(-1)[..., None]


wrong(MS, "exp overflows", no_shift)
wrong(MS, "nothing but -inf", lambda xp, s, m: xp.softmax(xp.where(m, s, -INF)))
wrong(MS, "get the same weight", lambda xp, s, m: xp.softmax(xp.where(m, s, -1e20)))
wrong(
    MS, "changes nothing", lambda xp, s, m: xp.softmax(s - 10000.0 * (1 - xp.real(m)))
)

# --- layer norm


@right("layer_norm")
def standardize(xp, x, weight, bias, eps):
    centered = x - x.mean(-1)[..., None]
    return weight * centered / xp.sqrt((centered**2).mean(-1)[..., None] + eps) + bias


@right("layer_norm")
def with_variance(xp, x, weight, bias, eps):
    mean = x.sum(-1)[..., None] / x.shape[-1]
    return (x - mean) * (xp.variance(x) + eps) ** -0.5 * weight + bias


def norm_but(f, affine=lambda z, w, b: z * w + b):
    def answer(xp, x, weight, bias, eps):
        return affine(f(xp, x, eps), weight, bias)

    return answer


def central(xp, x):
    return x - x.mean(-1)[..., None]


def over_positions(xp, x, eps):
    axis = -2 if x.ndim > 1 else -1
    mean = x.mean(axis)[..., None, :] if x.ndim > 1 else x.mean()
    return (x - mean) / xp.sqrt(xp.variance(x, axis) + eps)


def proper(xp, x, eps):
    return central(xp, x) / xp.sqrt(xp.variance(x) + eps)


NORMS = {
    "standard deviation; it belongs": norm_but(
        lambda xp, x, e: central(xp, x) / (xp.sqrt(xp.variance(x)) + e)
    ),
    "n - 1": norm_but(
        lambda xp, x, e: central(xp, x) / xp.sqrt(xp.variance(x, ddof=1) + e)
    ),
    "sum of the squares": norm_but(
        lambda xp, x, e: (
            central(xp, x) / xp.sqrt((central(xp, x) ** 2).sum(-1)[..., None] + e)
        )
    ),
    "over everything": norm_but(
        lambda xp, x, e: (x - x.mean()) / xp.sqrt(((x - x.mean()) ** 2).mean() + e)
    ),
    "over the positions": norm_but(over_positions),
    "only the mean": norm_but(
        lambda xp, x, e: x - x.mean(-1)[..., None] / xp.sqrt(xp.variance(x) + e)
    ),
    "mean is not subtracted": norm_but(
        lambda xp, x, e: x / xp.sqrt(xp.variance(x) + e)
    ),
    "RMSNorm": norm_but(lambda xp, x, e: x / xp.sqrt((x * x).mean(-1)[..., None] + e)),
    "eps is missing": norm_but(
        lambda xp, x, e: central(xp, x) / xp.sqrt(xp.variance(x))
    ),
    "divides by the variance": norm_but(
        lambda xp, x, e: central(xp, x) / (xp.variance(x) + e)
    ),
    "weight and bias are not used": norm_but(proper, lambda z, w, b: z),
    "the bias is not used": norm_but(proper, lambda z, w, b: z * w),
    "before the weight": norm_but(proper, lambda z, w, b: (z + b) * w),
}


@parts("layer_norm_module")
def weight_and_bias(d):
    return {"weight": ("parameter", d), "bias": ("parameter", d)}


def as_module(f):
    def forward(xp, self, x):
        return f(xp, x, self.weight[...], self.bias[...], 1e-5)

    return forward


for f in (standardize, with_variance):
    right("layer_norm_module")(as_module(f))
for words, f in NORMS.items():
    wrong("layer_norm", words, f)
    wrong("layer_norm_module", words, as_module(f))

# --- MLP and blocks


@parts("feed_forward")
def two_layers(d, f):
    return {"up_proj": ("linear", d, f), "down_proj": ("linear", f, d)}


@right("feed_forward")
def mlp(xp, self, x):
    return self.down_proj(xp.gelu(self.up_proj(x)))


@right("feed_forward")
def mlp_by_erf(xp, self, x):
    z = self.up_proj(x)
    erf = math.erf
    shares = [0.5 * (1 + erf(v / math.sqrt(2))) for v in z.reshape(-1).tolist()]
    return self.down_proj(z * xp.real(xp.array(shares)).reshape(z.shape))


FF = "feed_forward"
wrong(FF, "is ReLU", lambda xp, self, x: self.down_proj(xp.relu(self.up_proj(x))))
wrong(
    FF, "with tanh", lambda xp, self, x: self.down_proj(xp.gelu(self.up_proj(x), True))
)
wrong(FF, "no activation", lambda xp, self, x: self.down_proj(self.up_proj(x)))
wrong(FF, "the input is added", lambda xp, self, x: x + mlp(xp, self, x))
wrong(FF, "behind the second", lambda xp, self, x: xp.gelu(mlp(xp, self, x)))


@parts("pre_norm_block", "post_norm_block")
def block_parts(d, h, f):
    return {
        "attention_norm": ("norm", d),
        "attention": ("heads", d, h),
        "feed_forward_norm": ("norm", d),
        "feed_forward": ("mlp", d, f),
    }


def names(self):
    return (
        self.attention_norm,
        self.attention,
        self.feed_forward_norm,
        (self.feed_forward),
    )


@right("pre_norm_block")
def pre(xp, self, x):
    x = x + self.attention(self.attention_norm(x))
    return x + self.feed_forward(self.feed_forward_norm(x))


@right("pre_norm_block")
def pre_in_a_loop(xp, self, x):
    n1, attend, n2, think = names(self)
    for norm, f in ((n1, attend), (n2, think)):
        x = f(norm(x)) + x
    return x


@right("post_norm_block")
def post(xp, self, x):
    x = self.attention_norm(x + self.attention(x))
    return self.feed_forward_norm(x + self.feed_forward(x))


@right("post_norm_block")
def post_in_a_loop(xp, self, x):
    n1, attend, n2, think = names(self)
    for norm, f in ((n1, attend), (n2, think)):
        x = norm(f(x) + x)
    return x


def res_post(xp, self, x):
    n1, attend, n2, think = names(self)
    h = x + n1(attend(x))
    return h + n2(think(h))


def bare(xp, self, x):
    _, attend, _, think = names(self)
    h = x + attend(x)
    return h + think(h)


PRE, POST = "pre_norm_block", "post_norm_block"
wrong(PRE, "this is post-norm", post)
wrong(POST, "this is pre-norm", pre)
wrong(f"{PRE} {POST}", "h + LN(f(h))", res_post)
wrong(f"{PRE} {POST}", "no norm is used", bare)


def chain(xp, self, x):
    n1, attend, n2, think = names(self)
    return think(n2(attend(n1(x))))


def post_chain(xp, self, x):
    n1, attend, n2, think = names(self)
    return n2(think(n1(attend(x))))


wrong(PRE, "no skip connection", chain)
wrong(POST, "no skip connection", post_chain)


def tapped(xp, self, x):
    n1, attend, n2, think = names(self)
    x = n1(x)
    x = n2(x + attend(x))
    return x + think(x)


def backwards(xp, self, x):
    n1, attend, n2, think = names(self)
    x = x + think(n2(x))
    return x + attend(n1(x))


def side_by_side(xp, self, x):
    n1, attend, n2, think = names(self)
    return x + attend(n1(x)) + think(n2(x))


def same_norm(xp, self, x):
    n1, attend, _, think = names(self)
    x = x + attend(n1(x))
    return x + think(n1(x))


def post_same_norm(xp, self, x):
    n1, attend, _, think = names(self)
    x = n1(x + attend(x))
    return n1(x + think(x))


def second_missing(xp, self, x):
    x = x + self.attention(self.attention_norm(x))
    return x + self.feed_forward(x)


def last_missing(xp, self, x):
    x = self.attention_norm(x + self.attention(x))
    return x + self.feed_forward(x)


wrong(PRE, "the skip connection carries", tapped)
wrong(PRE, "comes first", backwards)
wrong(PRE, "both parts read", side_by_side)
wrong(PRE, "used twice", same_norm)
wrong(POST, "used twice", post_same_norm)
wrong(PRE, "norm before the feed-forward", second_missing)
wrong(POST, "norm after the feed-forward", last_missing)


def other_mlp(activation):
    def think(xp, self, x):
        f = self.feed_forward
        return f.down_proj(activation(xp, f.up_proj(x)))

    return think


def with_mlp(think, norm_first):
    def forward(xp, self, x):
        n1, attend, n2, _ = names(self)
        if norm_first:
            x = x + attend(n1(x))
            return x + think(xp, self, n2(x))
        x = n1(x + attend(x))
        return n2(x + think(xp, self, x))

    return forward


for name, norm_first in ((PRE, True), (POST, False)):
    relu = other_mlp(lambda xp, z: xp.relu(z))
    rough = other_mlp(lambda xp, z: xp.gelu(z, True))
    wrong(name, "is ReLU", with_mlp(relu, norm_first))
    wrong(name, "with tanh", with_mlp(rough, norm_first))

# --- recurrent


def sigmoid(xp, z):
    return 1 / (1 + xp.exp(-z))


def step(xp, x, h, c, w, u, b):
    z = w @ x + u @ h + b
    d = len(h)
    i, f, g, o = (z[n * d : (n + 1) * d] for n in range(4))
    c = sigmoid(xp, f) * c + sigmoid(xp, i) * xp.tanh(g)
    return sigmoid(xp, o) * xp.tanh(c), c


def step_joined(xp, x, h, c, w, u, b):
    both = xp.concatenate([w, u], axis=1) @ xp.concatenate([x, h])
    i, f, g, o = (both + b).reshape(4, -1)
    gates = sigmoid(xp, xp.stack([i, f, o]))
    new = gates[1] * c + gates[0] * (2 * sigmoid(xp, 2 * g) - 1)
    return gates[2] * xp.tanh(new), new


def unrolled(one):
    def answer(xp, x, w, u, b):
        h = c = xp.zeros(u.shape[1])
        out = []
        for row in x:
            h, c = one(xp, row, h, c, w, u, b)
            out.append(h)
        return xp.stack(out)

    return answer


right("lstm")(unrolled(step))
right("lstm")(unrolled(step_joined))


def step_but(order="ifgo", new=None, out=lambda xp, o, c, old: o * xp.tanh(c)):
    def one(xp, x, h, c, w, u, b):
        z = dict(zip(order, (w @ x + u @ h + b).reshape(4, -1), strict=True))
        i, f, o = (sigmoid(xp, z[n]) for n in "ifo")
        g = xp.tanh(z["g"])
        made = new(xp, i, f, g, c, z) if new else f * c + i * g
        return out(xp, o, made, c), made

    return one


for words, one in {
    "i, f, o, g": step_but("ifog"),
    "f, i, g, o": step_but("figo"),
    "not through a sigmoid": step_but(
        new=lambda xp, i, f, g, c, z: f * c + i * sigmoid(xp, z["g"])
    ),
    "the cell goes through": step_but(out=lambda xp, o, c, old: o * c),
    "input gate is missing": step_but(new=lambda xp, i, f, g, c, z: f * c + g),
    "forget gate is missing": step_but(new=lambda xp, i, f, g, c, z: c + i * g),
    "1 - i": step_but(new=lambda xp, i, f, g, c, z: (1 - i) * c + i * g),
    "old cell is read": step_but(out=lambda xp, o, c, old: o * xp.tanh(old)),
}.items():
    wrong("lstm", words, unrolled(one))

wrong(
    "lstm",
    "hidden state is not handed",
    unrolled(lambda xp, x, h, *a: step(xp, x, 0 * h, *a)),
)
wrong(
    "lstm",
    "the cell is not handed",
    unrolled(lambda xp, x, h, c, *a: step(xp, x, h, 0 * c, *a)),
)


@right("additive_scores")
def additive(xp, q, k, w):
    return (xp.tanh(q[:, None] + k) * w).sum(-1)


@right("additive_scores")
def additive_loop(xp, q, k, w):
    return xp.stack([xp.stack([w @ xp.tanh(a + b) for b in k]) for a in q])


AD = "additive_scores"
wrong(AD, "tanh is missing", lambda xp, q, k, w: (q[:, None] + k) @ w)
wrong(
    AD,
    "not before",
    lambda xp, q, k, w: (xp.tanh(q) @ w)[:, None] + (xp.tanh(k) @ w)[None],
)
wrong(AD, "not after", lambda xp, q, k, w: xp.tanh((q @ w)[:, None] + k @ w))
wrong(AD, "not multiplied", lambda xp, q, k, w: xp.tanh(q[:, None] * k) @ w)
wrong(AD, "without w", lambda xp, q, k, w: xp.tanh(q[:, None] + k).sum(-1))
wrong(AD, "these are the weights", lambda xp, *a: xp.softmax(additive(xp, *a)))
wrong(AD, "transposed", lambda xp, q, k, w: additive(xp, k, q, w))

# --- LoRA


@right("lora")
def low_rank(xp, x, w, a, b, alpha):
    return x @ w.T + alpha / a.shape[0] * (x @ a.T) @ b.T


@right("lora")
def merged(xp, x, w, a, b, alpha):
    return x @ (w + (b @ a) * (alpha / b.shape[1])).T


def lora_but(scale=lambda alpha, r: alpha / r, base=1, update=1, act=lambda xp, z: z):
    def answer(xp, x, w, a, b, alpha):
        r = a.shape[0]
        return base * (x @ w.T) + update * scale(alpha, r) * act(xp, x @ a.T) @ b.T

    return answer


LORA = {
    "not scaled by alpha / r": lora_but(lambda alpha, r: 1.0),
    "scaled by alpha; divide": lora_but(lambda alpha, r: alpha),
    "but not multiplied": lora_but(lambda alpha, r: 1 / r),
    "root of the rank": lora_but(lambda alpha, r: alpha / math.sqrt(r)),
    "r / alpha": lora_but(lambda alpha, r: r / alpha),
    "the frozen layer is missing: ": lora_but(base=0),
    "update is not used": lora_but(update=0),
    "activation between": lora_but(act=lambda xp, z: xp.relu(z)),
}


@parts("lora_linear")
def lora_parts(d_in, d_out, rank, alpha):
    return {
        "base": ("linear", d_in, d_out),
        "a": ("parameter", rank, d_in),
        "b": ("parameter", d_out, rank),
    }


@right("lora_linear")
def lora_layer(xp, self, x):
    _, _, rank, alpha = self.args
    return self.base(x) + alpha / rank * x @ self.a[...].T @ self.b[...].T


@right("lora_linear")
def lora_einsum(xp, self, x):
    _, _, rank, alpha = self.args
    update = xp.einsum("...i,ri,or->...o", x, self.a[...], self.b[...])
    return self.base(x) + update * alpha / rank


def lora_module(f, bias=True):
    def forward(xp, self, x):
        zero = x[..., :0].sum(-1)[..., None]  # of the batch's shape
        b0 = self.base(0 * x)
        columns = [self.base(row) - self.base(0 * row) for row in xp.eye(x.shape[-1])]
        w = xp.stack(columns, axis=1)
        made = f(xp, x, w, self.a[...], self.b[...], self.args[3])
        return made + (b0 if bias else zero)

    return forward


for words, f in LORA.items():
    wrong("lora", words, f)
    wrong("lora_linear", words, lora_module(f))
wrong("lora_linear", "bias of the frozen", lora_module(low_rank, bias=False))


# The loss of a batch that several processes share.


@right("mean_over_processes")
def weighted_sum(xp, losses, counts):
    return (losses * counts).sum() / counts.sum()


@right("mean_over_processes")
def shares(xp, losses, counts):
    return losses @ (counts / counts.sum())


wrong("mean_over_processes", "mean of the means", lambda xp, ls, n: ls.mean())
wrong("mean_over_processes", "not divided", lambda xp, ls, n: (ls * n).sum())
wrong("mean_over_processes", "by that of tokens", lambda xp, ls, n: (ls * n).mean())
wrong("mean_over_processes", "means already", lambda xp, ls, n: ls.sum() / n.sum())
