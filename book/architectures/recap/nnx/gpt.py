"""A GPT in one file (Flax NNX): read a text, learn to continue it, write.

    python gpt.py my_text.txt     # learns, keeps the model in gpt.npz, and writes
    python gpt.py --prompt The    # writes with the model that was kept

It needs JAX, Flax, Optax and NumPy alone. Letters are its tokens, and the last
tenth of the text is held out, to tell learning from memorizing. The pieces come
first, as the pages of the course write them, and then what a text needs.
"""

import argparse
import math

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

SETTINGS = {"steps": 500, "batch": 16, "rate": 0.002, "temperature": 0.8, "seed": 0}
SIZES = {"T": 128, "d_model": 128, "n_heads": 4, "n_layers": 4}  # T: how far it looks


class Embedding(nnx.Module):
    def __init__(self, vocab_size, d_model, std=0.1, *, rngs):
        draw = jax.random.normal(rngs.params(), (vocab_size, d_model))
        self.embedding = nnx.Param(std * draw)

    def __call__(self, ids):  # any shape
        return self.embedding[...][ids]  # one more axis, of length d_model


def cross_entropy(logits, targets):  # ... N, and ids of shape ...
    log_p = jax.nn.log_softmax(logits, axis=-1)
    return -jnp.take_along_axis(log_p, targets[..., None], axis=-1).mean()


def attention(q, k, v, mask=None):
    scores = q @ k.mT / math.sqrt(q.shape[-1])  # ... T S; mT swaps the last two axes
    if mask is not None:
        scores = jnp.where(mask, scores, -jnp.inf)
    weights = jax.nn.softmax(scores, axis=-1)  # ... T S, each row adds up to 1
    return weights @ v, weights


class Rotary:
    def __init__(self, d_head, pace=1.0):
        self.d_head = d_head
        self.speeds = pace * 10000.0 ** (-2 * jnp.arange(d_head // 2) / d_head)

    def __call__(self, x):  # (..., T, d_head)
        angles = jnp.arange(x.shape[-2])[:, None] * self.speeds
        cos, sin = jnp.cos(angles), jnp.sin(angles)
        a, b = jnp.split(x, 2, axis=-1)  # entries m and m + d_head/2 make a pair
        return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)


def split(x, n_heads):  # (..., T, D) -> (..., H, T, d)
    return x.reshape(*x.shape[:-1], n_heads, -1).swapaxes(-3, -2)


def join(z):  # (..., H, T, d) -> (..., T, D)
    z = z.swapaxes(-3, -2)
    return z.reshape(*z.shape[:-2], -1)


class MultiHeadAttention(nnx.Module):
    def __init__(self, d_model, n_heads, rotary=None, *, rngs):
        self.n_heads, self.rotary = n_heads, rotary
        self.q_proj = nnx.Linear(d_model, d_model, rngs=rngs)
        self.k_proj = nnx.Linear(d_model, d_model, rngs=rngs)
        self.v_proj = nnx.Linear(d_model, d_model, rngs=rngs)
        self.o_proj = nnx.Linear(d_model, d_model, rngs=rngs)

    def heads(self, x, mask=None):  # (..., H, T, d) and (..., H, T, T)
        projections = (self.q_proj, self.k_proj, self.v_proj)
        q, k, v = (split(proj(x), self.n_heads) for proj in projections)
        if self.rotary is not None:
            q, k = self.rotary(q), self.rotary(k)
        return attention(q, k, v, mask)

    def __call__(self, x, mask=None):
        output, _ = self.heads(x, mask)
        return self.o_proj(join(output))


class FeedForward(nnx.Module):
    def __init__(self, d_model, d_ff, *, rngs):
        self.up_proj = nnx.Linear(d_model, d_ff, rngs=rngs)
        self.down_proj = nnx.Linear(d_ff, d_model, rngs=rngs)

    def __call__(self, x):
        return self.down_proj(nnx.gelu(self.up_proj(x), approximate=False))


class LayerNorm(nnx.Module):
    def __init__(self, d_model, eps=1e-5):
        self.scale = nnx.Param(jnp.ones(d_model))
        self.bias = nnx.Param(jnp.zeros(d_model))
        self.eps = eps

    def __call__(self, x):
        mean = x.mean(axis=-1, keepdims=True)
        variance = x.var(axis=-1, keepdims=True)
        return (x - mean) / jnp.sqrt(variance + self.eps) * self.scale + self.bias


class Block(nnx.Module):
    def __init__(self, d_model, n_heads, rotary=None, *, rngs):
        self.attention_norm = LayerNorm(d_model)
        self.attention = MultiHeadAttention(d_model, n_heads, rotary=rotary, rngs=rngs)
        self.feed_forward_norm = LayerNorm(d_model)
        self.feed_forward = FeedForward(d_model, 4 * d_model, rngs=rngs)

    def __call__(self, x, mask=None):
        x = x + self.attention(self.attention_norm(x), mask=mask)
        return x + self.feed_forward(self.feed_forward_norm(x))


def causal_mask(T):
    return jnp.tril(jnp.ones((T, T), dtype=bool))


class GPT(nnx.Module):
    def __init__(self, config, *, rngs):
        d_model, n_heads = config.d_model, config.n_heads
        rotary = Rotary(d_model // n_heads)
        self.tokens = Embedding(config.vocab_size, d_model, rngs=rngs)
        blocks = range(config.n_layers)
        self.blocks = nnx.data(
            [Block(d_model, n_heads, rotary=rotary, rngs=rngs) for _ in blocks]
        )
        self.norm = LayerNorm(d_model)

    def __call__(self, ids):
        x, mask = self.tokens(ids), causal_mask(ids.shape[1])
        for block in self.blocks:
            x = block(x, mask=mask)
        return self.norm(x) @ self.tokens.embedding[...].T


@nnx.jit
def next_token_loss(model, ids):
    return cross_entropy(model(ids[:, :-1]), ids[:, 1:])


def draw(ids, options, rng):  # windows from anywhere in the text, each T + 1 letters
    starts = rng.integers(len(ids) - options.T, size=options.batch)
    return ids[starts[:, None] + np.arange(options.T + 1)]


def mean_loss(model, ids, options):  # the same 20 batches each time
    rng = np.random.default_rng(1)
    losses = [next_token_loss(model, draw(ids, options, rng)) for _ in range(20)]
    return sum(losses).item() / 20


@nnx.jit
def update(model, optimizer, windows):
    loss, gradients = nnx.value_and_grad(next_token_loss)(model, windows)
    optimizer.update(model, gradients)
    return loss


def train(model, ids, held_out, options):
    def rate(step):
        warm_up, decay = jnp.minimum(1, (step + 1) / 50), 1 - step / options.steps
        return options.rate * warm_up * decay

    clip = optax.clip_by_global_norm(1.0)
    steps = optax.chain(clip, optax.adamw(rate, weight_decay=0.1))
    optimizer = nnx.Optimizer(model, steps, wrt=nnx.Param)
    rng = np.random.default_rng(options.seed)
    for step in range(options.steps):
        loss = update(model, optimizer, draw(ids, options, rng))
        if step == 0 or (step + 1) * 10 % options.steps < 10:  # and ten times more
            new = mean_loss(model, held_out, options)
            print(f"step {step + 1}: loss {loss.item():.2f}, held out {new:.2f}")
            sizes = [getattr(options, name) for name in SIZES]
            weights = jax.tree.leaves(nnx.state(model))  # always in the same order
            with open(options.model, "wb") as file:
                np.savez(file, options.letters, sizes, *weights)


def write(model, ids, length, options):
    rngs, forward = nnx.Rngs(options.seed), nnx.jit(GPT.__call__)
    for _ in range(length):
        seen = ids[-options.T :]
        window = np.pad(seen, (0, options.T - len(seen)))  # one shape: compiled once
        logits = forward(model, window[None])[0, len(seen) - 1]  # sees no padding
        scores = logits / options.temperature
        ids = [*ids, jax.random.categorical(rngs(), scores).item()]
    return ids


def main():
    parser = argparse.ArgumentParser(description="Learn from a text, and write.")
    parser.add_argument("text", nargs="?", help="in UTF-8, 100,000 letters or more")
    parser.add_argument("--model", default="gpt.npz", help="where the model is kept")
    parser.add_argument("--prompt", help="how what it writes begins")
    for name, default in (SETTINGS | SIZES).items():
        parser.add_argument(f"--{name}", type=type(default), default=default)
    options = parser.parse_args()
    if options.text:
        with open(options.text, encoding="utf-8") as file:
            text = file.read()
        if len(text) <= 10 * options.T:
            parser.error(f"a text needs over {10 * options.T} letters: got {len(text)}")
        letters = "".join(sorted(set(text)))
    else:
        try:
            letters, sizes, *weights = np.load(options.model).values()
            letters, sizes = str(letters), dict(zip(SIZES, sizes.tolist(), strict=True))
            parser.set_defaults(**sizes)  # a model brings its own
        except Exception:
            parser.error(f"{options.model} holds no model of this program: name a text")
        options = parser.parse_args()
        if other := [name for name in SIZES if getattr(options, name) != sizes[name]]:
            parser.error(f"{options.model} was trained with {sizes}: leave out {other}")
    prompt = options.prompt or letters[0]
    if unknown := set(prompt) - set(letters):
        parser.error(f"the prompt's {sorted(unknown)} never occur in the text")

    options.letters, options.vocab_size = letters, len(letters)
    model = GPT(options, rngs=nnx.Rngs(options.seed))
    if options.text:
        ids = np.array([letters.index(letter) for letter in text])
        n_weights = sum(p.size for p in jax.tree.leaves(nnx.state(model)))
        print(f"{len(ids):,} letters, {len(letters)} different; {n_weights:,} weights")
        train(model, *np.split(ids, [len(ids) * 9 // 10]), options)
    else:
        shape = jax.tree.structure(nnx.state(model))
        nnx.update(model, jax.tree.unflatten(shape, weights))
    written = write(model, [letters.index(letter) for letter in prompt], 500, options)
    print("".join(letters[i] for i in written))


if __name__ == "__main__":
    main()
