"""Answers that no page and no master runs: by loops, and slips that are no edits.

Each takes `xp` first, the functions of a framework under one name each, and then what
the exercise gives. A right answer of the usual form is on the page that asks for it,
and in the master, in both frameworks; it isn't written again here.
"""

import functools
import importlib
from itertools import pairwise


class Framework:
    """PyTorch or JAX. What is not here has the same name in both."""

    def __init__(self, wing):
        self.wing = wing

    @functools.cached_property
    def _rooms(self):
        names = {"torch": ["torch"], "nnx": ["jax.numpy", "jax.nn"]}[self.wing]
        return [importlib.import_module(name) for name in names]

    def __getattr__(self, name):
        return getattr(next(r for r in self._rooms if hasattr(r, name)), name)

    def softmax(self, x):
        return self.__getattr__("softmax")(x, -1)

    def real(self, x):
        return x.float() if self.wing == "torch" else x.astype("float32")

    def whole(self, x):
        return x.long() if self.wing == "torch" else x.astype(int)

    def array(self, x):
        return self.as_tensor(x) if self.wing == "torch" else self.asarray(x)

    def heads(self, forward):
        """A class with the four projections of multi-head attention."""
        layers = {"torch": "torch.nn", "nnx": "flax.nnx"}[self.wing]
        nn, xp = importlib.import_module(layers), self

        class Heads(nn.Module):
            def __init__(self, d, h, **rngs):
                super().__init__()
                self.sizes = d, h
                for name in ("q_proj", "k_proj", "v_proj", "o_proj"):
                    setattr(self, name, nn.Linear(d, d, **rngs))

            def forward(self, *args, **kwargs):
                return forward(xp, self, *args, **kwargs)

        if self.wing == "nnx":
            Heads.__call__ = Heads.forward
        return Heads


XP = {wing: Framework(wing) for wing in ("torch", "nnx")}
LOOPS = {}  # by exercise a right answer


def loop(name):
    def register(f):
        LOOPS[name] = f
        return f

    return register


@loop("causal")
def place_by_place(xp, t, s):
    return xp.array([[j <= i + s - t for j in range(s)] for i in range(t)])


@loop("kernel_regression")
def query_by_query(xp, q, k, v, h):
    rows = []
    for one in q:
        w = xp.exp(-((one - k) ** 2).sum(-1) / (2 * h * h))
        rows.append((w[:, None] * v).sum(0) / w.sum())
    return xp.stack(rows)


@loop("cross_entropy")
def blank_by_blank(xp, logits, targets):
    rows, words = logits.reshape(-1, logits.shape[-1]), targets.reshape(-1)
    losses = []
    for z, word in zip(rows, words, strict=True):
        gaps = z - z[word]  # exp of the largest is taken out of the sum
        losses.append(gaps.max() + xp.log(xp.exp(gaps - gaps.max()).sum()))
    return xp.stack(losses).mean()


@loop("most_frequent_pair")
def pair_by_pair(xp, ids):
    text, best, most = [int(i) for i in ids], (), 0
    for pair in sorted(set(pairwise(text))):
        n = sum(tuple(text[i : i + 2]) == pair for i in range(len(text) - 1))
        if n > most:
            best, most = pair, n
    return xp.array(best)


@loop("cached_attention")
def old_and_new(xp, q, k, v, keys, values):
    root = q.shape[-1] ** -0.5
    old, new = xp.exp(q @ keys.mT * root), xp.exp((q * k).sum(-1)[..., None] * root)
    output = (old @ values + new * v) / (old.sum(-1)[..., None] + new)
    stored = (xp.concatenate(pair, axis=-2) for pair in ([keys, k], [values, v]))
    return output, *stored


@loop("generate")
def write_recursively(xp, model, prompt, uniform, cached, stored=()):
    logits, *now = model(prompt[:, -1:] if stored else prompt, *stored)
    sums = xp.softmax(logits[:, -1]).cumsum(-1)
    token = xp.whole((sums <= uniform[:, :1]).sum(-1))[:, None]
    if uniform.shape[1] == 1:
        return token
    longer = xp.concatenate([prompt, token], axis=1)
    stored = now if cached else ()
    rest = write_recursively(xp, model, longer, uniform[:, 1:], cached, stored)
    return xp.concatenate([token, rest], axis=1)


@loop("multihead")
def head_by_head(xp, self, x, context=None, mask=None):
    d, h = self.sizes
    context = x if context is None else context
    q, k, v = self.q_proj(x), self.k_proj(context), self.v_proj(context)
    done = []
    for i in range(h):
        own = slice(i * d // h, (i + 1) * d // h)
        s = q[..., own] @ k[..., own].mT * (d // h) ** -0.5
        s = s if mask is None else xp.where(mask[:, 0], s, -1e30)
        done.append(xp.softmax(s) @ v[..., own])
    return self.o_proj(xp.concatenate(done, axis=-1))


def scores(xp, k, h):
    return -(((k[:, None] - k[None]) / h) ** 2).sum(-1) / 2


def waves(xp, n, d):
    i = xp.arange(d)
    angles = xp.arange(n)[:, None] / 10000 ** (2 * (i // 2) / d)
    return xp.where(i % 2 == 0, xp.sin(angles), xp.cos(angles))


# By exercise and words of the slip's sentence.
WRONG = {
    ("leave_one_out", "after the softmax"): lambda xp, k, v, h: (
        xp.where(xp.eye(len(k)) > 0, 0, xp.softmax(scores(xp, k, h))) @ v
    ),
    ("leave_group_out", "after the softmax"): lambda xp, k, v, groups, h: (
        xp.where(groups[:, None] == groups, 0, xp.softmax(scores(xp, k, h))) @ v
    ),
    ("rotary", "RoPE multiplies"): lambda xp, x, offset=0: x + waves(xp, *x.shape[-2:]),
}


def answer(name, f, wing):
    """An answer as `check` takes it."""
    if name == "multihead":
        return XP[wing].heads(f)
    return functools.partial(f, XP[wing])
