"""A GPT in one file (PyTorch): read a text, learn to continue it, write.

    python gpt.py my_text.txt     # learns, keeps the model in gpt.pt, and writes
    python gpt.py --prompt The    # writes with the model that was kept

It needs PyTorch and NumPy alone. Letters are its tokens, and the last
tenth of the text is held out, to tell learning from memorizing. The pieces come
first, as the pages of the course write them, and then what a text needs.
"""

import argparse
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

SETTINGS = {"steps": 500, "batch": 16, "rate": 0.002, "temperature": 0.8, "seed": 0}
SIZES = {"T": 128, "d_model": 128, "n_heads": 4, "n_layers": 4}  # T: how far it looks


class Embedding(nn.Module):
    def __init__(self, vocab_size, d_model, std=0.1):
        super().__init__()
        self.weight = nn.Parameter(std * torch.randn(vocab_size, d_model))

    def forward(self, ids):  # any shape
        return self.weight[ids]  # one more axis, of length d_model


def cross_entropy(logits, targets):  # ... N, and ids of shape ...
    log_p = logits.log_softmax(dim=-1)
    return -log_p.gather(-1, targets[..., None]).mean()


def attention(q, k, v, mask=None):
    scores = q @ k.mT / math.sqrt(q.shape[-1])  # ... T S; mT swaps the last two axes
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    weights = scores.softmax(dim=-1)  # ... T S, each row adds up to 1
    return weights @ v, weights


class Rotary:
    def __init__(self, d_head, pace=1.0):
        self.d_head = d_head
        self.speeds = pace * 10000.0 ** (-2 * torch.arange(d_head // 2) / d_head)

    def __call__(self, x):  # (..., T, d_head)
        angles = torch.arange(x.shape[-2])[:, None] * self.speeds
        cos, sin = angles.cos(), angles.sin()
        a, b = x.chunk(2, dim=-1)  # entries m and m + d_head/2 make a pair
        return torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1)


def split(x, n_heads):  # (..., T, D) -> (..., H, T, d)
    return x.unflatten(-1, (n_heads, -1)).transpose(-3, -2)


def join(z):  # (..., H, T, d) -> (..., T, D)
    return z.transpose(-3, -2).flatten(-2)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads, rotary=None):
        super().__init__()
        self.n_heads, self.rotary = n_heads, rotary
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.o_proj = nn.Linear(d_model, d_model)

    def heads(self, x, mask=None):  # (..., H, T, d) and (..., H, T, T)
        projections = (self.q_proj, self.k_proj, self.v_proj)
        q, k, v = (split(proj(x), self.n_heads) for proj in projections)
        if self.rotary is not None:
            q, k = self.rotary(q), self.rotary(k)
        return attention(q, k, v, mask)

    def forward(self, x, mask=None):
        output, _ = self.heads(x, mask)
        return self.o_proj(join(output))


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.up_proj = nn.Linear(d_model, d_ff)
        self.down_proj = nn.Linear(d_ff, d_model)

    def forward(self, x):
        return self.down_proj(F.gelu(self.up_proj(x)))


class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))
        self.eps = eps

    def forward(self, x):
        mean = x.mean(dim=-1, keepdim=True)
        variance = x.var(dim=-1, correction=0, keepdim=True)  # over D, not D - 1
        return (x - mean) / torch.sqrt(variance + self.eps) * self.weight + self.bias


class Block(nn.Module):
    def __init__(self, d_model, n_heads, rotary=None):
        super().__init__()
        self.attention_norm = LayerNorm(d_model)
        self.attention = MultiHeadAttention(d_model, n_heads, rotary=rotary)
        self.feed_forward_norm = LayerNorm(d_model)
        self.feed_forward = FeedForward(d_model, 4 * d_model)

    def forward(self, x, mask=None):
        x = x + self.attention(self.attention_norm(x), mask=mask)
        return x + self.feed_forward(self.feed_forward_norm(x))


def causal_mask(T):
    return torch.ones(T, T, dtype=torch.bool).tril()


class GPT(nn.Module):
    def __init__(self, config):
        super().__init__()
        d_model, n_heads = config.d_model, config.n_heads
        rotary = Rotary(d_model // n_heads)
        self.tokens = Embedding(config.vocab_size, d_model)
        self.blocks = nn.ModuleList(
            Block(d_model, n_heads, rotary=rotary) for _ in range(config.n_layers)
        )
        self.norm = LayerNorm(d_model)

    def forward(self, ids):
        x, mask = self.tokens(ids), causal_mask(ids.shape[1])
        for block in self.blocks:
            x = block(x, mask=mask)
        return self.norm(x) @ self.tokens.weight.T


def next_token_loss(model, ids):
    return cross_entropy(model(ids[:, :-1]), ids[:, 1:])


def draw(ids, options, rng):  # windows from anywhere in the text, each T + 1 letters
    starts = rng.integers(len(ids) - options.T, size=options.batch)
    return torch.tensor(ids[starts[:, None] + np.arange(options.T + 1)])


@torch.no_grad()
def mean_loss(model, ids, options):  # the same 20 batches each time
    rng = np.random.default_rng(1)
    losses = [next_token_loss(model, draw(ids, options, rng)) for _ in range(20)]
    return sum(losses).item() / 20


def train(model, ids, held_out, options):
    optimizer = torch.optim.AdamW(model.parameters(), weight_decay=0.1)
    rng = np.random.default_rng(options.seed)
    for step in range(options.steps):
        warm_up, decay = min(1, (step + 1) / 50), 1 - step / options.steps
        optimizer.param_groups[0]["lr"] = options.rate * warm_up * decay
        loss = next_token_loss(model, draw(ids, options, rng))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step == 0 or (step + 1) * 10 % options.steps < 10:  # and ten times more
            new = mean_loss(model, held_out, options)
            print(f"step {step + 1}: loss {loss.item():.2f}, held out {new:.2f}")
            sizes = {name: getattr(options, name) for name in SIZES}
            torch.save((options.letters, sizes, model.state_dict()), options.model)


@torch.no_grad()
def write(model, ids, length, options):
    ids = torch.tensor([ids])
    for _ in range(length):
        logits = model(ids[:, -options.T :])[:, -1] / options.temperature
        ids = torch.cat([ids, torch.multinomial(logits.softmax(dim=-1), 1)], dim=1)
    return ids[0].tolist()


def main():
    parser = argparse.ArgumentParser(description="Learn from a text, and write.")
    parser.add_argument("text", nargs="?", help="in UTF-8, 100,000 letters or more")
    parser.add_argument("--model", default="gpt.pt", help="where the model is kept")
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
            letters, sizes, weights = torch.load(options.model, map_location="cpu")
            parser.set_defaults(**sizes)  # a model brings its own
        except Exception:
            parser.error(f"{options.model} holds no model of this program: name a text")
        options = parser.parse_args()
        if other := [name for name in SIZES if getattr(options, name) != sizes[name]]:
            parser.error(f"{options.model} was trained with {sizes}: leave out {other}")
    prompt = options.prompt or letters[0]
    if unknown := set(prompt) - set(letters):
        parser.error(f"the prompt's {sorted(unknown)} never occur in the text")

    torch.manual_seed(options.seed)
    torch.set_default_device("cuda" if torch.cuda.is_available() else "cpu")
    options.letters, options.vocab_size = letters, len(letters)
    model = GPT(options)
    if options.text:
        ids = np.array([letters.index(letter) for letter in text])
        n_weights = sum(p.numel() for p in model.parameters())
        print(f"{len(ids):,} letters, {len(letters)} different; {n_weights:,} weights")
        train(model, *np.split(ids, [len(ids) * 9 // 10]), options)
    else:
        model.load_state_dict(weights)
    written = write(model, [letters.index(letter) for letter in prompt], 500, options)
    print("".join(letters[i] for i in written))


if __name__ == "__main__":
    main()
