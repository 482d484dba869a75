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


wrong(
    "causal", "lined up with the first", lambda xp, t, s: compare(xp, t, s, int.__ge__)
)


@right("padding")
def below_length(xp, lengths, n):
    return (xp.arange(n) < lengths[:, None])[:, None, None, :]


@right("padding")
def row_by_row(xp, lengths, n):
    rows = [[[[j < int(m) for j in range(n)]]] for m in lengths]
    return xp.array(rows)


wrong(
    "padding",
    "one key too many",
    lambda xp, m, n: (xp.arange(n) <= m[:, None])[:, None, None, :],
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


wrong("masked_softmax", "mask is not used", lambda xp, s, m: xp.softmax(s))


# --- layer norm


@right("layer_norm")
def standardize(xp, x, weight, bias, eps):
    centered = x - x.mean(-1)[..., None]
    return weight * centered / xp.sqrt((centered**2).mean(-1)[..., None] + eps) + bias


@right("layer_norm")
def with_variance(xp, x, weight, bias, eps):
    mean = x.sum(-1)[..., None] / x.shape[-1]
    return (x - mean) * (xp.variance(x) + eps) ** -0.5 * weight + bias


def eps_outside(xp, x, weight, bias, eps):
    x = x - x.mean(-1)[..., None]
    return x / (xp.sqrt(xp.variance(x)) + eps) * weight + bias


wrong("layer_norm", "standard deviation; it belongs", eps_outside)


@parts("layer_norm_module")
def weight_and_bias(d):
    return {"weight": ("parameter", d), "bias": ("parameter", d)}


def as_module(f):
    def forward(xp, self, x):
        return f(xp, x, self.weight[...], self.bias[...], 1e-5)

    return forward


for f in (standardize, with_variance):
    right("layer_norm_module")(as_module(f))
wrong("layer_norm_module", "deviation; it belongs", as_module(eps_outside))

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


wrong(
    "feed_forward",
    "is ReLU",
    lambda xp, self, x: self.down_proj(xp.relu(self.up_proj(x))),
)


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
        self.feed_forward,
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


PRE, POST = "pre_norm_block", "post_norm_block"
wrong(PRE, "this is post-norm", post)
wrong(POST, "this is pre-norm", pre)


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


wrong(
    "lstm",
    "hidden state is not handed",
    unrolled(lambda xp, x, h, *a: step(xp, x, 0 * h, *a)),
)


@right("additive_scores")
def additive(xp, q, k, w):
    return (xp.tanh(q[:, None] + k) * w).sum(-1)


@right("additive_scores")
def additive_loop(xp, q, k, w):
    return xp.stack([xp.stack([w @ xp.tanh(a + b) for b in k]) for a in q])


wrong("additive_scores", "tanh is missing", lambda xp, q, k, w: (q[:, None] + k) @ w)

# --- LoRA


@right("lora")
def low_rank(xp, x, w, a, b, alpha):
    return x @ w.T + alpha / a.shape[0] * (x @ a.T) @ b.T


@right("lora")
def merged(xp, x, w, a, b, alpha):
    return x @ (w + (b @ a) * (alpha / b.shape[1])).T


wrong("lora", "not scaled", lambda xp, x, w, a, b, alpha: x @ (w + b @ a).T)


# The loss of a batch that several processes share.


@right("mean_over_processes")
def weighted_sum(xp, losses, counts):
    return (losses * counts).sum() / counts.sum()


@right("mean_over_processes")
def shares(xp, losses, counts):
    return losses @ (counts / counts.sum())


wrong("mean_over_processes", "mean of the means", lambda xp, ls, n: ls.mean())
