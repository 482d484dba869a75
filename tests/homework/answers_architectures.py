"""Answers on language models, generation, vision, forecasting."""

import math

from students import INF, parts, right, wrong

# --- GPT


def log_softmax(xp, z):
    z = z - xp.amax(z, axis=-1, keepdims=True)
    return z - xp.log(xp.exp(z).sum(-1))[..., None]


def pick(xp, table, ids):
    return xp.take(table, ids[..., None])[..., 0]


@right("next_token_loss")
def loss(xp, z, ids):
    return -pick(xp, log_softmax(xp, z[:, :-1]), ids[:, 1:]).mean()


@right("next_token_loss")
def loss_loop(xp, z, ids):
    losses = []
    for text, words in zip(z, ids, strict=True):
        for row, word in zip(text[:-1], words[1:], strict=True):
            losses.append(xp.log(xp.exp(row - row[word]).sum()))
    return sum(losses) / len(losses)


wrong(
    "next_token_loss",
    "its own token",
    lambda xp, z, i: -pick(xp, log_softmax(xp, z), i).mean(),
)


@parts("gpt")
def gpt_parts(v, n, d, n_layers, n_heads):
    block = {
        "attention_norm": ("norm", d),
        "attention": ("parts", {f"{p}_proj": ("linear", d, d) for p in "qkvo"}),
        "feed_forward_norm": ("norm", d),
        "feed_forward": (
            "parts",
            {"up": ("linear", d, 4 * d), "down": ("linear", 4 * d, d)},
        ),
    }
    return {
        "tokens": ("table", v, d),
        "positions": ("table", n, d),
        "blocks": ("blocks", n_layers, block),
        "norm": ("norm", d),
    }


def into_heads(xp, x):
    b, t, d = x.shape
    return xp.permute(x.reshape(b, t, 3, d // 3), (0, 2, 1, 3))


def past_only(xp, n_old, n_new):
    queries, places = n_old + xp.arange(n_new), xp.arange(n_old + n_new)
    return places[None, :] <= queries[:, None]


def append(xp, old, new):
    return new if old is None else xp.concatenate([old, new], axis=-2)


def read_from(first):
    """GPT with a cache; its new words stand at `first` and behind."""

    def model(xp, self, ids, keys=None, values=None):
        n_old = 0 if keys is None else keys.shape[-2]
        n_new = ids.shape[1]
        x = self.tokens(ids) + self.positions(first(n_old) + xp.arange(n_new))
        seen, kept = past_only(xp, n_old, n_new), []
        for i, block in enumerate(self.blocks):
            old = (None, None) if keys is None else (keys[i], values[i])
            part, z = block.attention, block.attention_norm(x)
            q, k, v = (
                into_heads(xp, project(z))
                for project in (part.q_proj, part.k_proj, part.v_proj)
            )
            k, v = append(xp, old[0], k), append(xp, old[1], v)
            kept.append((k, v))
            z = xp.softmax(xp.where(seen, q @ k.mT / 2.0, -INF)) @ v
            x = x + part.o_proj(xp.permute(z, (0, 2, 1, 3)).reshape(x.shape))
            part = block.feed_forward
            x = x + part.down(xp.gelu(part.up(block.feed_forward_norm(x))))
        keys, values = (xp.stack(list(side)) for side in zip(*kept, strict=True))
        return xp.tied(self.tokens, self.norm(x)), keys, values

    return model


read = right("gpt")(read_from(lambda n_old: n_old))
wrong("gpt", "from 0 in each call", read_from(lambda n_old: 0))


@right("gpt")
def token_by_token(xp, self, ids, keys=None, values=None):
    rows = []
    for t in range(ids.shape[1]):
        logits, keys, values = read(xp, self, ids[:, t : t + 1], keys, values)
        rows.append(logits)
    return xp.concatenate(rows, axis=1), keys, values


# --- BERT


@right("cover_words")
def cover(xp, ids, chosen, fate, words):
    shown = xp.where(fate < 0.8, 3, xp.where(fate < 0.9, words, ids))
    return xp.where(chosen, shown, ids)


@right("cover_words")
def cover_in_steps(xp, ids, chosen, fate, words):
    out = xp.where(chosen & (fate < 0.8), 3, ids)
    return xp.where(chosen & (fate >= 0.8) & (fate < 0.9), words, out)


def cover_all(xp, ids, chosen, fate, words):
    return xp.where(fate < 0.8, 3, xp.where(fate < 0.9, words, ids))


wrong("cover_words", "not chosen are covered", cover_all)


@right("mlm_targets")
def targets(xp, ids, chosen):
    return xp.where(chosen, ids, -100)


@right("mlm_targets")
def targets_by_arithmetic(xp, ids, chosen):
    c = xp.whole(chosen)
    return ids * c - 100 * (1 - c)


wrong("mlm_targets", "every word is a target", lambda xp, i, c: i)


@right("masked_loss")
def asked_only(xp, z, targets):
    asked = targets != -100
    scores = pick(xp, log_softmax(xp, z), xp.where(asked, targets, 0 * targets))
    return -(scores * asked).sum() / asked.sum()


@right("masked_loss")
def word_by_word(xp, z, targets):
    losses = [
        xp.log(xp.exp(row - row[word]).sum())
        for rows, words in zip(z, targets.tolist(), strict=True)
        for row, word in zip(rows, words, strict=True)
        if word >= 0
    ]
    return sum(losses) / len(losses)


def over_all(xp, z, targets):
    asked = targets != -100
    scores = pick(xp, log_softmax(xp, z), xp.where(asked, targets, 0 * targets))
    return -(scores * asked).sum() / (targets.shape[0] * targets.shape[1])


wrong("masked_loss", "divided by all", over_all)

# --- generation


@right("top_p")
def nucleus(xp, z, p):
    order = xp.order(-z)
    share = xp.take(xp.softmax(z), order)
    share = xp.where(xp.cumsum(share, -1) - share < p, share, 0.0)
    share = share / share.sum(-1)[..., None]
    return xp.take(share, xp.order(order))


@right("top_p")
def pairwise(xp, z, p):
    share = xp.softmax(z)
    better = xp.where(z[..., None, :] > z[..., :, None], share[..., None, :], 0.0)
    kept = xp.where(better.sum(-1) < p, share, 0.0)
    return kept / kept.sum(-1)[..., None]


def no_crossing(xp, z, p):
    share = xp.softmax(z)
    better = xp.where(z[..., None, :] > z[..., :, None], share[..., None, :], 0.0)
    kept = better.sum(-1) + share <= p + 1e-6 * (p == 1.0)
    share = xp.where(kept, share, 0.0)
    return share / share.sum(-1)[..., None]


wrong("top_p", "past p is left out", no_crossing)


@right("speculative_rule")
def keep_or_redraw(xp, p, q):
    return xp.where(p < q, p / q, 1.0), normalized(xp, xp.where(p > q, p - q, 0.0))


@right("speculative_rule")
def common_part(xp, p, q):
    both = xp.where(p < q, p, q)
    missing = 1 - both.sum(-1)[..., None]
    return both / q, (p - both) / missing


def normalized(xp, rows):
    return rows / rows.sum(-1)[..., None]


def upside_down(xp, p, q):
    return xp.where(q < p, q / p, 1.0), keep_or_redraw(xp, p, q)[1]


wrong("speculative_rule", "upside down", upside_down)


def latent(width):
    """Absorbed attention, its scores divided by the root of some width."""

    def answer(xp, q, q_turned, c, turned, w_k, w_v):
        s = q @ w_k @ c.mT + q_turned @ turned.mT
        return xp.softmax(s / math.sqrt(width(q, turned, c))) @ c @ w_v.mT

    return answer


right("absorbed_attention")(latent(lambda q, t, c: q.shape[-1] + t.shape[-1]))


@right("absorbed_attention")
def with_keys(xp, q, q_turned, c, turned, w_k, w_v):
    k, v = c @ w_k.mT, c @ w_v.mT
    s = (q[:, :, None] * k[:, None]).sum(-1) + q_turned @ turned.mT
    return xp.softmax(s / math.sqrt(q.shape[-1] + turned.shape[-1])) @ v


wrong(
    "absorbed_attention",
    "root of C + R",
    latent(lambda q, t, c: c.shape[-1] + t.shape[-1]),
)


@right("draw")
def invert(xp, z, u):
    return (xp.cumsum(xp.softmax(z), -1) <= u[:, None]).sum(-1)


@right("draw")
def row_by_row(xp, z, u):
    ids = []
    for shares, one in zip(xp.softmax(z).tolist(), u.tolist(), strict=True):
        total = 0.0
        for share in shares:
            total += share
            if one < total:
                break
        ids.append(shares.index(share))
    return xp.array(ids)


wrong("draw", "likeliest token is taken", lambda xp, z, u: xp.softmax(z).argmax(-1))


@right("cached_attention")
def grow(xp, q, k, v, keys, values):
    keys = xp.concatenate([keys, k], axis=-2)
    values = xp.concatenate([values, v], axis=-2)
    return xp.softmax(q @ keys.mT / math.sqrt(q.shape[-1])) @ values, keys, values


@right("cached_attention")
def two_parts(xp, q, k, v, keys, values):
    root = q.shape[-1] ** -0.5
    old, new = xp.exp(q @ keys.mT * root), xp.exp((q * k).sum(-1)[..., None] * root)
    out = (old @ values + new * v) / (old.sum(-1)[..., None] + new)
    return (
        out,
        xp.concatenate([keys, k], axis=-2),
        xp.concatenate([values, v], axis=-2),
    )


def in_front(xp, q, k, v, keys, values):
    out, _, _ = grow(xp, q, k, v, keys, values)
    keys = xp.concatenate([k, keys], axis=-2)
    return out, keys, xp.concatenate([v, values], axis=-2)


wrong("cached_attention", "in front of the old; they", in_front)


def writer(choose):
    def answer(xp, model, prompt, uniform, cached):
        new, text = [], prompt
        logits, keys, values = model(prompt)
        for t in range(uniform.shape[1]):
            if t > 0 and cached:
                logits, keys, values = model(new[-1], keys, values)
            elif t > 0:
                text = xp.concatenate([text, new[-1]], axis=1)
                logits, _, _ = model(text)
            new.append(choose(xp, logits[:, -1], uniform[:, t])[:, None])
        return xp.concatenate(new, axis=1)

    return answer


right("generate")(writer(invert))
wrong("generate", "likeliest token", writer(lambda xp, z, u: z.argmax(-1)))


@right("generate")
def write_recursively(xp, model, prompt, uniform, cached, stored=()):
    logits, *now = model(prompt[:, -1:] if stored else prompt, *stored)
    token = row_by_row(xp, logits[:, -1], uniform[:, 0])[:, None]
    if uniform.shape[1] == 1:
        return token
    longer = xp.concatenate([prompt, token], axis=1)
    stored = now if cached else ()
    rest = write_recursively(xp, model, longer, uniform[:, 1:], cached, stored)
    return xp.concatenate([token, rest], axis=1)


# --- vision


@right("patches")
def two_loops(xp, x):
    b, _, h, w = x.shape
    cut = [
        x[:, :, i : i + 2, j : j + 2].reshape(b, -1)
        for i in range(0, h, 2)
        for j in range(0, w, 2)
    ]
    return xp.stack(cut, axis=1)


@right("patches")
def six_axes(xp, x):
    b, c, h, w = x.shape
    x = xp.permute(x.reshape(b, c, h // 2, 2, w // 2, 2), (0, 2, 4, 1, 3, 5))
    return x.reshape(b, h * w // 4, 4 * c)


wrong(
    "patches", "stripes of pixels", lambda xp, x: x.reshape(len(x), -1, 4 * x.shape[1])
)


@right("attention_rollout")
def rollout(xp, maps):
    through = xp.eye(maps.shape[-1])
    for m in maps:
        through = (m.mean(0) + xp.eye(maps.shape[-1])) / 2 @ through
    return through


@right("attention_rollout")
def rollout_back(xp, maps):
    steps = [0.5 * m + 0.5 * xp.eye(m.shape[-1]) for m in maps.mean(1)]
    product = steps[-1]
    for step in steps[-2::-1]:
        product = product @ step
    return product


def no_skip(xp, maps):
    through = xp.eye(maps.shape[-1])
    for m in maps:
        through = m.mean(0) @ through
    return through


wrong("attention_rollout", "connection is missing", no_skip)

# --- forecasting


@right("scale_by_past")
def scaled(xp, past, future):
    return (future - past.mean(1)[:, None]) / xp.variance(past, 1) ** 0.5


@right("scale_by_past")
def window_by_window(xp, past, future):
    rows = []
    for p, f in zip(past, future, strict=True):
        mean = p.sum() / len(p)
        rows.append((f - mean) / (((p - mean) ** 2).sum() / len(p)) ** 0.5)
    return xp.stack(rows)


def by_all(xp, past, future):
    return scaled(xp, xp.concatenate([past, future], axis=1), future)


wrong("scale_by_past", "are in the moments", by_all)

# --- Quantization


def rounding(xp, w, q, group):
    columns = []
    for at in range(0, w.shape[1], group):
        part = w[:, at : at + group]
        s = xp.amax(xp.abs(part), -1)[:, None] / q
        columns.append(xp.round(part / s) * s)
    return xp.concatenate(columns, axis=1)


right("absmax")(rounding)


@right("absmax")
def to_the_nearest_mark(xp, w, q, group):
    """No function rounds: the mark that is nearest is chosen among all."""
    groups = w.reshape(-1, group)
    marks = xp.real(xp.arange(-q, q + 1)) / q
    size = xp.amax(xp.abs(groups), axis=-1)[:, None]
    gaps = xp.abs(groups[..., None] - size[..., None] * marks)
    nearest = xp.amin(gaps, axis=-1)[..., None] == gaps
    found = (nearest * size[..., None] * marks).sum(-1)
    return found.reshape(w.shape)


wrong("absmax", "row has one step", lambda xp, w, q, g: rounding(xp, w, q, w.shape[1]))


@right("interval_score")
def winkler(xp, low, high, actual, share):
    miss = (low - actual) * xp.real(actual < low) + (actual - high) * xp.real(
        actual > high
    )
    return (high - low + miss / ((1 - share) / 2)).mean()


@right("interval_score")
def by_two_pinballs(xp, low, high, actual, share):
    alpha = (1 - share) / 2

    def pinball(q, level):
        u = actual - q
        return xp.where(u > 0, level * u, (level - 1) * u)

    return ((pinball(low, alpha) + pinball(high, 1 - alpha)) / alpha).mean()


def misses_alone(xp, low, high, actual, share):
    return winkler(xp, low, high, actual, share) - (high - low).mean()


wrong("interval_score", "is not counted", misses_alone)

# --- rewards


@right("group_advantages")
def standardized(xp, rewards, eps):
    mean = rewards.sum(-1) / rewards.shape[-1]
    gaps = rewards - mean[:, None]
    return gaps / ((gaps**2).mean(-1)[:, None] ** 0.5 + eps)


@right("group_advantages")
def group_by_group(xp, rewards, eps):
    def of(group):
        return (group - group.mean()) / (
            xp.sqrt(((group - group.mean()) ** 2).mean()) + eps
        )

    return xp.stack([of(group) for group in rewards])


def not_centered(xp, rewards, eps):
    return rewards / (xp.variance(rewards) ** 0.5 + eps)


wrong("group_advantages", "mean is not subtracted", not_centered)


# --- evaluation


@right("pass_at_k")
def draw_after_draw(xp, n, c, k):
    none = (n - c) / n
    for j in range(1, k):
        none = none * (n - c - j) / (n - j)
    return 1 - none


@right("pass_at_k")
def by_binomials(xp, n, c, k):
    every = math.comb(n, k)
    return xp.array([1 - math.comb(n - int(one), k) / every for one in c])


wrong("pass_at_k", "too low on average", lambda xp, n, c, k: 1 - (1 - c / n) ** k)
