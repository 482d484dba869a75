"""Answers on language models, generation, vision, forecasting."""

import math

from students import INF, parts, right, wrong

# --- GPT


@right("next_token_pairs")
def shifted(xp, ids):
    return ids[:, :-1], ids[:, 1:]


@right("next_token_pairs")
def by_index(xp, ids):
    n = ids.shape[1]
    return ids[:, xp.arange(n - 1)], ids[:, xp.arange(1, n)]


NP = "next_token_pairs"
wrong(NP, "changed places", lambda xp, i: shifted(xp, i)[::-1])
wrong(NP, "the inputs themselves", lambda xp, i: (i[:, :-1], i[:, :-1]))
wrong(NP, "among the inputs", lambda xp, i: (i, i[:, 1:]))
wrong(NP, "come round", lambda xp, i: (i, xp.roll(i, -1, 1)))
wrong(NP, "texts are shifted", lambda xp, i: (i[:-1], i[1:]))


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


def nll(xp, z, ids):
    return -pick(xp, log_softmax(xp, z), ids)


NL = "next_token_loss"
wrong(NL, "its own token", lambda xp, z, i: nll(xp, z, i).mean())
wrong(NL, "token before it", lambda xp, z, i: nll(xp, z[:, 1:], i[:, :-1]).mean())
wrong(
    NL,
    "asked for the first token",
    lambda xp, z, i: nll(xp, z, xp.roll(i, -1, 1)).mean(),
)
wrong(
    NL,
    "sums over the positions",
    lambda xp, z, i: nll(xp, z[:, :-1], i[:, 1:]).sum() / len(z),
)
wrong(NL, "sum over all targets", lambda xp, z, i: nll(xp, z[:, :-1], i[:, 1:]).sum())
wrong(
    NL,
    "over all rows",
    lambda xp, z, i: nll(xp, z[:, :-1], i[:, 1:]).sum() / (i.shape[0] * i.shape[1]),
)
wrong(NL, "losses of the tokens", lambda xp, z, i: nll(xp, z[:, :-1], i[:, 1:]))
wrong(NL, "in bits", lambda xp, z, i: loss(xp, z, i) / math.log(2))
wrong(NL, "perplexity", lambda xp, z, i: xp.exp(loss(xp, z, i)))
wrong(NL, "sign is wrong", lambda xp, z, i: -loss(xp, z, i))
wrong(NL, "softmax is missing", lambda xp, z, i: -pick(xp, z[:, :-1], i[:, 1:]).mean())


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


def everything(xp, n_old, n_new):
    return xp.arange(n_old + n_new)[None, :] >= xp.zeros(n_new)[:, None]


def from_the_first(xp, n_old, n_new):
    return xp.arange(n_old + n_new)[None, :] <= xp.arange(n_new)[:, None]


def new_only(xp, n_old, n_new):
    is_new = xp.arange(n_old + n_new)[None, :] >= n_old
    return past_only(xp, n_old, n_new) & is_new


def append(xp, old, new):
    return new if old is None else xp.concatenate([old, new], axis=-2)


def pre_norm(norm, f, x):
    return x + f(norm(x))


def read_with_cache(
    first=lambda n: n,
    mask=past_only,
    join=append,
    root=2.0,
    skip=pre_norm,
    embed=lambda self, ids, places: self.tokens(ids) + self.positions(places),
    end=lambda self, x: self.norm(x),
    answer=lambda xp, logits, keys, values: (logits, keys, values),
    layer=lambda i: i,
):
    """GPT with a cache, and with a choice of what is done in which way."""

    def model(xp, self, ids, keys=None, values=None):
        n_old = 0 if keys is None else keys.shape[-2]
        n_new = ids.shape[1]
        x = embed(self, ids, first(n_old) + xp.arange(n_new))
        kept = []
        for i, block in enumerate(self.blocks):
            at = layer(i)
            old = (None, None) if keys is None else (keys[at], values[at])

            def attend(x, part=block.attention, old=old):
                q, k, v = (
                    into_heads(xp, project(x))
                    for project in (part.q_proj, part.k_proj, part.v_proj)
                )
                k, v = join(xp, old[0], k), join(xp, old[1], v)
                kept.append((k, v))
                seen = mask(xp, n_old, n_new)
                z = xp.where(seen, q @ k.mT / root, -INF)
                z = xp.permute(xp.softmax(z) @ v, (0, 2, 1, 3))
                return part.o_proj(z.reshape(x.shape))

            def think(x, part=block.feed_forward):
                return part.down(xp.gelu(part.up(x)))

            x = skip(block.attention_norm, attend, x)
            x = skip(block.feed_forward_norm, think, x)
        logits = xp.tied(self.tokens, end(self, x))
        keys, values = (xp.stack(list(side)) for side in zip(*kept, strict=True))
        return answer(xp, logits, keys, values)

    return model


read = right("gpt")(read_with_cache())


@right("gpt")
def token_by_token(xp, self, ids, keys=None, values=None):
    rows = []
    for t in range(ids.shape[1]):
        logits, keys, values = read(xp, self, ids[:, t : t + 1], keys, values)
        rows.append(logits)
    return xp.concatenate(rows, axis=1), keys, values


G = "gpt"
wrong(G, "from 0 in each call", read_with_cache(first=lambda n: 0))
wrong(G, "from 1", read_with_cache(first=lambda n: n + 1))
wrong(
    G,
    "positions are not added",
    read_with_cache(embed=lambda self, ids, places: self.tokens(ids)),
)
wrong(G, "causal mask is missing", read_with_cache(mask=everything))
wrong(G, "lines up the first", read_with_cache(mask=from_the_first))
wrong(G, "are not attended to", read_with_cache(mask=new_only))


def in_front_of(xp, old, new):
    return new if old is None else xp.concatenate([new, old], axis=-2)


wrong(G, "in front of the stored", read_with_cache(join=in_front_of))
wrong(G, "first layer's cache", read_with_cache(layer=lambda i: 0))


def new_ones_only(xp, self, ids, keys=None, values=None):
    n = ids.shape[1]
    logits, keys, values = read(xp, self, ids, keys, values)
    return logits, keys[..., -n:, :], values[..., -n:, :]


wrong(G, "only the new keys", new_ones_only)
wrong(G, "norm behind the last", read_with_cache(end=lambda self, x: x))
wrong(G, "post-norm", read_with_cache(skip=lambda norm, f, x: norm(x + f(x))))
wrong(G, "divided by sqrt(d_head)", read_with_cache(root=1.0))
wrong(G, "divided by sqrt(d_model)", read_with_cache(root=12**0.5))
wrong(
    G,
    "multiplied by sqrt(d_model)",
    read_with_cache(
        embed=lambda self, ids, at: self.tokens(ids) * 12**0.5 + self.positions(at)
    ),
)
wrong(
    G,
    "are probabilities",
    read_with_cache(answer=lambda xp, z, k, v: (xp.softmax(z), k, v)),
)
wrong(G, "changed places", read_with_cache(answer=lambda xp, z, k, v: (z, v, k)))

# --- BERT


@right("cover_words")
def cover(xp, ids, chosen, fate, words):
    shown = xp.where(fate < 0.8, 3, xp.where(fate < 0.9, words, ids))
    return xp.where(chosen, shown, ids)


@right("cover_words")
def cover_in_steps(xp, ids, chosen, fate, words):
    out = xp.where(chosen & (fate < 0.8), 3, ids)
    return xp.where(chosen & (fate >= 0.8) & (fate < 0.9), words, out)


def cover_word_by_word(rule):
    def answer(xp, ids, chosen, fate, words):
        rows = zip(*(t.tolist() for t in (ids, chosen, fate, words)), strict=True)
        return xp.array([[rule(*w) for w in zip(*row, strict=True)] for row in rows])

    return answer


CW = "cover_words"
wrong(
    CW,
    "not chosen are covered",
    cover_word_by_word(lambda i, c, f, w: 3 if f < 0.8 else w if f < 0.9 else i),
)
wrong(
    CW,
    "every chosen word became",
    cover_word_by_word(lambda i, c, f, w: 3 if c else i),
)
wrong(
    CW,
    "last tenth",
    cover_word_by_word(lambda i, c, f, w: i if not c else 3 if f < 0.8 else w),
)
wrong(
    CW,
    "no chosen word is replaced",
    cover_word_by_word(lambda i, c, f, w: 3 if c and f < 0.8 else i),
)
wrong(
    CW,
    "changed places",
    cover_word_by_word(
        lambda i, c, f, w: i if not c else 3 if f < 0.8 else i if f < 0.9 else w
    ),
)
wrong(
    CW,
    "probability 0.1",
    cover_word_by_word(
        lambda i, c, f, w: i if not c else 3 if f < 0.1 else w if f < 0.9 else i
    ),
)
wrong(
    CW,
    "what was not chosen",
    cover_word_by_word(
        lambda i, c, f, w: i if c else 3 if f < 0.8 else w if f < 0.9 else i
    ),
)
wrong(CW, "are the targets", cover_word_by_word(lambda i, c, f, w: i if c else -100))


@right("mlm_targets")
def targets(xp, ids, chosen):
    return xp.where(chosen, ids, -100)


@right("mlm_targets")
def targets_by_arithmetic(xp, ids, chosen):
    c = xp.whole(chosen)
    return ids * c - 100 * (1 - c)


MT = "mlm_targets"
wrong(MT, "every word is a target", lambda xp, i, c: i)
wrong(MT, "are left out, and", lambda xp, i, c: xp.where(c, -100, i))
wrong(MT, "0 is the id", lambda xp, i, c: i * c)
wrong(MT, "are [MASK] here", lambda xp, i, c: xp.where(c, 0 * i + 3, -100))
wrong(MT, "these are the inputs", lambda xp, i, c: xp.where(c, 3, i))


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


def losses_and_places(xp, z, targets):
    asked = targets != -100
    return nll(xp, z, xp.where(asked, targets, 0 * targets)), asked


def sums_of(xp, z, targets):
    losses, asked = losses_and_places(xp, z, targets)
    return (losses * asked).sum(-1), asked.sum(-1)


ML = "masked_loss"
wrong(
    ML,
    "divided by all",
    lambda xp, z, t: sums_of(xp, z, t)[0].sum() / (t.shape[0] * t.shape[1]),
)
wrong(ML, "this is the sum", lambda xp, z, t: sums_of(xp, z, t)[0].sum())


def text_by_text(xp, z, targets):
    sums, counts = sums_of(xp, z, targets)
    return (sums / counts).mean()


wrong(ML, "each text counts", text_by_text)
wrong(ML, "word 0", lambda xp, z, t: losses_and_places(xp, z, t)[0].mean())
wrong(ML, "row before it", lambda xp, z, t: asked_only(xp, z[:, :-1], t[:, 1:]))


def of_logits(xp, z, targets):
    asked = targets != -100
    return -(pick(xp, z, targets * asked) * asked).sum() / asked.sum()


wrong(ML, "softmax is missing", of_logits)
wrong(ML, "sign is wrong", lambda xp, z, t: -asked_only(xp, z, t))

# --- seq2seq


@right("shift_right")
def prepend(xp, ids, start):
    first = xp.ones((len(ids), 1), dtype=ids.dtype) * start
    return xp.concatenate([first, ids[:, :-1]], axis=1)


@right("shift_right")
def by_lists(xp, ids, start):
    return xp.array([[start, *row[:-1]] for row in ids.tolist()])


def lists(f):
    return lambda xp, ids, start: xp.array([f(row, start) for row in ids.tolist()])


SR = "shift_right"
wrong(SR, "nothing has moved", lambda xp, ids, start: ids + 0)
wrong(SR, "replaced the first", lists(lambda r, s: [s, *r[1:]]))
wrong(SR, "come round", lambda xp, ids, start: xp.roll(ids, 1, 1))
wrong(SR, "to the left", lists(lambda r, s: [*r[1:], s]))
wrong(SR, "still there", lists(lambda r, s: [s, *r]))
wrong(
    SR,
    "sequences have moved",
    lambda xp, ids, start: xp.array(
        [[start] * ids.shape[1], *ids.tolist()[:-1]],
    ),
)

# --- generation


@right("temperature")
def cool(xp, z, t):
    return xp.softmax(z / t)


@right("temperature")
def cool_by_exp(xp, z, t):
    e = xp.exp((z - xp.amax(z, axis=-1, keepdims=True)) / t)
    return e / e.sum(-1)[..., None]


TE = "temperature"
wrong(
    TE,
    "multiplied by",
    lambda xp, z, t: xp.softmax(z) ** t / (xp.softmax(z) ** t).sum(-1)[..., None],
)
wrong(TE, "is not used", lambda xp, z, t: xp.softmax(z))
wrong(TE, "probabilities are divided", lambda xp, z, t: xp.softmax(z) / t)
wrong(TE, "root of the", lambda xp, z, t: xp.softmax(z / math.sqrt(t)))
wrong(TE, "these are logits", lambda xp, z, t: z / t)
wrong(
    TE,
    "exp overflows",
    lambda xp, z, t: xp.exp(z / t) / xp.exp(z / t).sum(-1)[..., None],
)


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


def mass_before(xp, z):
    share = xp.softmax(z)
    more = z[..., None, :] > z[..., :, None]
    return share, xp.where(more, share[..., None, :], 0.0).sum(-1)


def kept(xp, share, keep):
    share = xp.where(keep, share, 0.0)
    return share / share.sum(-1)[..., None]


def no_crossing(xp, z, p):
    share, before = mass_before(xp, z)
    return kept(xp, share, before + share <= p + 1e-6 * (p == 1.0))


def in_order(xp, z, p):
    share = xp.softmax(z)
    return kept(xp, share, xp.cumsum(share, -1) - share < p)


def from_the_bottom(xp, z, p):
    share = xp.softmax(z)
    less = z[..., None, :] < z[..., :, None]
    below = xp.where(less, share[..., None, :], 0.0).sum(-1)
    return kept(xp, share, below < p)


def not_brought_back(xp, z, p):
    share = xp.flip(xp.sort(xp.softmax(z)), -1)
    return kept(xp, share, xp.cumsum(share, -1) - share < p)


def unnormalized(xp, z, p):
    share, before = mass_before(xp, z)
    return xp.where(before < p, share, 0.0)


def zeroed(xp, z, p):
    _, before = mass_before(xp, z)
    return xp.softmax(xp.where(before < p, z, 0.0))


TP = "top_p"
wrong(TP, "past p is left out", no_crossing)
wrong(TP, "no longer sums", unnormalized)
wrong(TP, "score of 0", zeroed)
wrong(TP, "order of the ids", in_order)
wrong(TP, "starts with the least", from_the_bottom)
wrong(TP, "still in sorted order", not_brought_back)
wrong(TP, "with p alone", lambda xp, z, p: kept(xp, xp.softmax(z), xp.softmax(z) >= p))
wrong(
    TP,
    "min-p",
    lambda xp, z, p: kept(
        xp, xp.softmax(z), z >= xp.amax(z, axis=-1, keepdims=True) + math.log(p)
    ),
)
wrong(TP, "nothing was left out", lambda xp, z, p: xp.softmax(z))


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


def larger(xp, p, q):
    return normalized(xp, xp.where(p > q, p - q, 0.0))


SR = "speculative_rule"
wrong(
    SR, "upside down", lambda xp, p, q: (xp.where(q < p, q / p, 1.0), larger(xp, p, q))
)
wrong(SR, "above 1", lambda xp, p, q: (p / q, larger(xp, p, q)))
wrong(SR, "draft and keep", lambda xp, p, q: (xp.where(p < q, p, q), larger(xp, p, q)))
wrong(SR, "from p itself", lambda xp, p, q: (xp.where(p < q, p / q, 1.0), p))
wrong(
    SR,
    "has less of",
    lambda xp, p, q: (xp.where(p < q, p / q, 1.0), larger(xp, q, p)),
)
wrong(
    SR,
    "absolute difference",
    lambda xp, p, q: (
        xp.where(p < q, p / q, 1.0),
        normalized(xp, xp.where(p < q, q - p, p - q)),
    ),
)
wrong(
    SR,
    "does not sum to 1",
    lambda xp, p, q: (xp.where(p < q, p / q, 1.0), xp.where(p > q, p - q, 0.0)),
)


def compared(own, shared, d, r, c):
    return (own + shared) / math.sqrt(d + r)


def latent(compare, weigh=lambda xp, s: xp.softmax(s), back=True):
    """Absorbed attention with the scores that `compare` makes of both parts."""

    def answer(xp, q, q_turned, c, turned, w_k, w_v):
        own, shared = q @ w_k @ c.mT, q_turned @ turned.mT
        s = compare(own, shared, q.shape[-1], turned.shape[-1], c.shape[-1])
        average = weigh(xp, s) @ c
        return average @ w_v.mT if back else average

    return answer


@right("absorbed_attention")
def without_keys(xp, *given):
    return latent(compared)(xp, *given)


@right("absorbed_attention")
def with_keys(xp, q, q_turned, c, turned, w_k, w_v):
    k, v = c @ w_k.mT, c @ w_v.mT
    s = (q[:, :, None] * k[:, None]).sum(-1) + q_turned @ turned.mT
    return xp.softmax(s / math.sqrt(q.shape[-1] + turned.shape[-1])) @ v


AB = "absorbed_attention"
wrong(AB, "root of C + R", latent(lambda a, b, d, r, c: (a + b) / math.sqrt(c + r)))
wrong(AB, "root of Dh;", latent(lambda a, b, d, r, c: (a + b) / math.sqrt(d)))
wrong(AB, "are not divided", latent(lambda a, b, d, r, c: a + b))
wrong(AB, "parts are missing", latent(lambda a, b, d, r, c: a / math.sqrt(d + r)))
wrong(AB, "add first", latent(lambda a, b, d, r, c: a + b / math.sqrt(d + r)))
wrong(AB, "1 over the queries", latent(compared, lambda xp, s: xp.softmax(s, -2)))
wrong(AB, "back with W_K", lambda xp, *given: without_keys(xp, *given[:5], given[4]))
wrong(AB, "vectors is returned", latent(compared, back=False))


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


DR = "draw"
wrong(DR, "likeliest token is taken", lambda xp, z, u: xp.softmax(z).argmax(-1))
wrong(
    DR,
    "on the edge",
    lambda xp, z, u: (xp.cumsum(xp.softmax(z), -1) < u[:, None]).sum(-1),
)
wrong(DR, "one token too far", lambda xp, z, u: invert(xp, z, u) + 1)
wrong(
    DR,
    "places in a sorted list",
    lambda xp, z, u: invert(xp, xp.flip(xp.sort(z), (-1,)), u),
)
wrong(
    DR,
    "exponentiated but",
    lambda xp, z, u: (xp.cumsum(xp.exp(z), -1) <= u[:, None]).sum(-1),
)
wrong(DR, "each probability", lambda xp, z, u: (xp.softmax(z) <= u[:, None]).sum(-1))
wrong(
    DR,
    "from the last token",
    lambda xp, z, u: z.shape[-1] - 1 - invert(xp, xp.flip(z, (-1,)), u),
)


def weigh(xp, q, k, v, root=True):
    s = (q * k).sum(-1)[..., None, :] / (q.shape[-1] ** 0.5 if root else 1)
    return xp.softmax(s) @ v


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


def both(xp, a, b):
    return xp.concatenate([a, b], axis=-2)


CH = "cached_attention"


def in_front(xp, q, k, v, keys, values):
    keys, values = both(xp, k, keys), both(xp, v, values)
    return weigh(xp, q, keys, values), keys, values


def crossed(xp, q, k, v, keys, values):
    keys, values = both(xp, keys, k), both(xp, v, values)
    return weigh(xp, q, keys, values), keys, values


wrong(CH, "in front of the old; they", in_front)
wrong(CH, "values no longer fit", crossed)
wrong(
    CH,
    "cache is not used",
    lambda xp, q, k, v, a, b: (v, both(xp, a, k), both(xp, b, v)),
)
wrong(
    CH,
    "does not see its own",
    lambda xp, q, k, v, a, b: (weigh(xp, q, a, b), both(xp, a, k), both(xp, b, v)),
)
wrong(CH, "as it came", lambda xp, q, k, v, a, b: (grow(xp, q, k, v, a, b)[0], a, b))


def swapped(xp, *given):
    out, keys, values = grow(xp, *given)
    return out, values, keys


wrong(CH, "have changed places", swapped)
wrong(
    CH,
    "not divided by sqrt(d)",
    lambda xp, q, k, v, a, b: (
        weigh(xp, q, both(xp, a, k), both(xp, b, v), root=False),
        both(xp, a, k),
        both(xp, b, v),
    ),
)


@right("generate")
def write(xp, model, prompt, uniform, cached):
    new, text = [], prompt
    logits, keys, values = model(prompt)
    for t in range(uniform.shape[1]):
        if t > 0 and cached:
            logits, keys, values = model(new[-1], keys, values)
        elif t > 0:
            text = xp.concatenate([text, new[-1]], axis=1)
            logits, _, _ = model(text)
        new.append(invert(xp, logits[:, -1], uniform[:, t])[:, None])
    return xp.concatenate(new, axis=1)


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


def writer(
    choose=invert,
    number=lambda u, t: u[:, t],
    at=-1,
    keep=lambda first, now: now,
    again=False,
    read=True,
    give=lambda text, n: text[:, n:],
):
    def answer(xp, model, prompt, uniform, cached):
        text, first = prompt, model(prompt)
        logits, *now = first
        if again and cached:
            logits, *now = model(prompt[:, -1:], *now)
        for t in range(uniform.shape[1]):
            token = choose(xp, logits[:, at], number(uniform, t))[:, None]
            text = xp.concatenate([text, token], axis=1)
            if read and cached:
                logits, *now = model(token, *keep(first[1:], now))
            elif read:
                logits, *_ = model(text)
        return give(text, prompt.shape[1])

    return answer


GE = "generate"
wrong(GE, "likeliest token", writer(choose=lambda xp, z, u: z.argmax(-1)))
wrong(GE, "first number of a row", writer(number=lambda u, t: u[:, 0]))
wrong(GE, "first position", writer(at=0))
wrong(GE, "behind the prompt", writer(read=False))
wrong(GE, "prompt's keys", writer(keep=lambda first, now: first))
wrong(GE, "read twice", writer(again=True))
wrong(GE, "prompt is returned", writer(give=lambda text, n: text))

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


def looped(rows_first=True, inside=lambda xp, p: p):
    def answer(xp, x):
        b, _, h, w = x.shape
        places = [(i, j) for i in range(0, h, 2) for j in range(0, w, 2)]
        if not rows_first:
            places.sort(key=lambda ij: ij[::-1])
        cut = [inside(xp, x[:, :, i : i + 2, j : j + 2]) for i, j in places]
        return xp.stack([p.reshape(b, -1) for p in cut], axis=1)

    return answer


PA = "patches"
wrong(PA, "stripes of pixels", lambda xp, x: x.reshape(len(x), -1, 4 * x.shape[1]))
wrong(PA, "column by column", looped(rows_first=False))
wrong(PA, "swapped within", looped(inside=lambda xp, p: p.mT))
wrong(
    PA, "channels come last", looped(inside=lambda xp, p: xp.permute(p, (0, 2, 3, 1)))
)


def by_channel(xp, x):
    b, c = x.shape[:2]
    cut = [two_loops(xp, x[:, i : i + 1]) for i in range(c)]
    return xp.concatenate(cut, axis=1).reshape(b, -1, 4 * c)


wrong(PA, "patches of its own", by_channel)


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


def rollout_but(mix=lambda m, one: (m + one) / 2, heads=lambda m: m.mean(0), turn=1):
    def answer(xp, maps):
        one = xp.eye(maps.shape[-1])
        through = one
        for layer in list(maps)[::turn]:
            through = mix(heads(layer), one) @ through
        return through

    return answer


AR = "attention_rollout"
wrong(AR, "connection is missing", rollout_but(lambda m, one: m))
wrong(AR, "wrong order", rollout_but(turn=-1))
wrong(AR, "rows don't sum", rollout_but(lambda m, one: m + one))
wrong(
    AR,
    "mean over the layers",
    lambda xp, maps: (maps.mean(1).mean(0) + xp.eye(maps.shape[-1])) / 2,
)
wrong(AR, "heads are added", rollout_but(heads=lambda m: m.sum(0)))
wrong(AR, "last layer", lambda xp, maps: maps[-1].mean(0))
wrong(AR, "transposed", lambda xp, maps: rollout(xp, maps).T)

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


def moments(xp, x, ddof=0):
    return x.mean(1)[:, None], xp.variance(x, 1, ddof) ** 0.5


def by(seen, ddof=0):
    def answer(xp, past, future):
        mean, root = moments(xp, seen(xp, past, future), ddof)
        return (future - mean) / root

    return answer


SP = "scale_by_past"
wrong(SP, "are in the moments", by(lambda xp, p, f: xp.concatenate([p, f], axis=1)))
wrong(SP, "future's own", by(lambda xp, p, f: f))
wrong(
    SP,
    "all windows share",
    lambda xp, p, f: (f - p.mean()) / ((p - p.mean()) ** 2).mean() ** 0.5,
)
wrong(
    SP,
    "over the windows",
    lambda xp, p, f: (f - p.mean(0).mean()) / (xp.variance(p, 0) ** 0.5).mean(),
)
wrong(SP, "n - 1", by(lambda xp, p, f: p, ddof=1))
wrong(
    SP,
    "divides by the variance",
    lambda xp, p, f: (f - moments(xp, p)[0]) / xp.variance(p, 1),
)
wrong(SP, "mean is not taken off", lambda xp, p, f: f / moments(xp, p)[1])
wrong(SP, "is not divided by", lambda xp, p, f: f - moments(xp, p)[0])
wrong(
    SP,
    "takes the last value",
    lambda xp, p, f: (f - p[:, -1:]) / moments(xp, p)[1],
)
wrong(
    SP,
    "this is the past",
    lambda xp, p, f: (p - moments(xp, p)[0]) / moments(xp, p)[1],
)


# --- Quantization


def rounding(xp, w, q, group, code=None, step=lambda xp, g: xp.amax(xp.abs(g), -1)):
    columns = []
    for at in range(0, w.shape[1], group):
        part = w[:, at : at + group]
        s = (step(xp, part) / q)[:, None]
        columns.append((code or xp.round)(part / s) * s)
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


AM = "absmax"
wrong(AM, "row has one step", lambda xp, w, q, g: rounding(xp, w, q, w.shape[1]))
wrong(
    AM,
    "whole matrix shares",
    lambda xp, w, q, g: rounding(
        xp, w, q, g, step=lambda xp, _: xp.amax(xp.abs(w))[None]
    ),
)
wrong(
    AM,
    "absolute values first",
    lambda xp, w, q, g: rounding(xp, w, q, g, step=lambda xp, p: xp.amax(p, axis=-1)),
)
wrong(
    AM,
    "multiply them by the step",
    lambda xp, w, q, g: xp.round(
        w.reshape(-1, g) / (xp.amax(xp.abs(w.reshape(-1, g)), axis=-1) / q)[:, None]
    ).reshape(w.shape),
)
wrong(AM, "toward zero", lambda xp, w, q, g: rounding(xp, w, q, g, code=xp.trunc))
wrong(AM, "rounded down", lambda xp, w, q, g: rounding(xp, w, q, g, code=xp.floor))
wrong(AM, "the largest weight itself", lambda xp, w, q, g: rounding(xp, w, 1, g))
wrong(AM, "twice too small", lambda xp, w, q, g: rounding(xp, w, 2 * q, g))
wrong(AM, "into q + 1 parts", lambda xp, w, q, g: rounding(xp, w, q + 1, g))


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


def scored(width=1.0, cost=None, size=None, total=None):
    def answer(xp, low, high, actual, share):
        below = xp.where(actual < low, low - actual, 0 * low)
        above = xp.where(actual > high, actual - high, 0 * low)
        factor = 2 / (1 - share) if cost is None else cost(share)
        miss = below + above if size is None else size(xp, below, above)
        score = width * (high - low) + factor * miss
        return score.mean() if total is None else total(score)

    return answer


IS = "interval_score"
wrong(IS, "is not counted", scored(width=0.0))
wrong(IS, "as a reward", scored(width=-1.0))
wrong(IS, "1 / (1 - share) here", scored(cost=lambda share: 1 / (1 - share)))
wrong(IS, "2 / share here", scored(cost=lambda share: 2 / share))
wrong(IS, "which is divided by", scored(cost=lambda share: 2 * (1 - share)))
wrong(IS, "falls below", scored(size=lambda xp, below, above: above))
wrong(IS, "falls above", scored(size=lambda xp, below, above: below))
wrong(
    IS,
    "misses are counted",
    scored(size=lambda xp, below, above: xp.real((below + above) > 0)),
)
wrong(IS, "are squared", scored(size=lambda xp, below, above: (below + above) ** 2))
wrong(IS, "this is the sum", scored(total=lambda score: score.sum()))
wrong(IS, "for each interval", scored(total=lambda score: score))


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


def relative(mean=None, deviation=None, eps=1.0, sign=1):
    def answer(xp, rewards, e):
        variance = xp.variance(rewards)
        m = rewards.mean(-1)[:, None] if mean is None else mean(rewards)
        s = variance**0.5 if deviation is None else deviation(xp, rewards, variance)
        return sign * (rewards - m) / (s + eps * e)

    return answer


GA = "group_advantages"
wrong(GA, "mean is not subtracted", relative(mean=lambda rewards: 0.0))
wrong(GA, "mean is that of all", relative(mean=lambda rewards: rewards.mean()))
wrong(GA, "gaps are not divided", relative(deviation=lambda xp, r, v: 1.0, eps=0))
wrong(
    GA,
    "deviation is that of all",
    relative(deviation=lambda xp, r, v: ((r - r.mean()) ** 2).mean() ** 0.5),
)
wrong(GA, "divided by the variance", relative(deviation=lambda xp, r, v: v))
wrong(
    GA,
    "divided by G - 1",
    relative(deviation=lambda xp, r, v: xp.variance(r, ddof=1) ** 0.5),
)
wrong(GA, "eps is not added", relative(eps=0))
wrong(GA, "sign is reversed", relative(sign=-1))
