"""Challenges on a ledger in code: the code that comes next, and codes that are missing.

The marker knows the source, so an answer is charged its expected loss under the true
distribution, which no luck can lower:

    loss = -sum_x p(x) log q(x),   at best the entropy of p                  (eq. 1)
"""

import numpy as np

from course_lib.data.ledger import ledger
from course_lib.data.markov import Source, entropy
from course_lib.homework.challenge import Challenge, Draw, wide_seed

N_TRAIN, N_NEW = 4000, 500
N_CONTEXT, N_WITH_GAPS = 24, 12  # codes of a stretch
SECONDS = 90  # the assignments say 60: a machine that marks a class is a busy one


def _draw_ledger(rng: np.random.Generator, length: int):
    source = ledger(seed=wide_seed(rng))
    ids = source.sample(N_TRAIN + N_NEW, length, seed=wide_seed(rng))
    return source, ids[:N_TRAIN], ids[N_TRAIN:]


def _table_of_pairs(ids: np.ndarray, n_codes: int) -> Source:
    """The Markov chain with the counted pairs, each counted once more than it occurs.

    Its state is the last code; before the first there is one more state.
    """
    before = np.concatenate([np.full((len(ids), 1), n_codes), ids[:, :-1]], axis=1)
    counts = np.ones((n_codes + 1, n_codes))
    np.add.at(counts, (before, ids), 1)
    table = np.zeros((n_codes, n_codes + 1, n_codes + 1))
    codes = np.arange(n_codes)
    table[codes, :, codes] = (counts / counts.sum(axis=1, keepdims=True)).T
    return Source(table, start=n_codes)


def _expected_loss(logits: np.ndarray, truth: np.ndarray) -> float:
    """Eq. 1, the mean over the rows of `truth` that are distributions."""
    z = logits.astype(np.float64)
    z = z - z.max(axis=-1, keepdims=True)
    log_q = z - np.log(np.exp(z).sum(axis=-1, keepdims=True))
    asked = truth.sum(axis=-1) > 0
    return float(-(truth * log_q).sum(axis=-1)[asked].mean())


def _draw(arguments, truth, by_pairs):
    return Draw(
        arguments=arguments,
        truth=truth,
        shape=truth.shape,
        baseline=_expected_loss(np.log(by_pairs), truth),
        bound=float(entropy(truth[truth.sum(axis=-1) > 0]).mean()),
    )


def _next_code(rng):
    source, train, new = _draw_ledger(rng, N_CONTEXT + 1)
    n_codes, contexts = len(source.table), new[:, :-1]
    truth = source.next_symbol(contexts)[:, -1]
    by_pairs = _table_of_pairs(train, n_codes).next_symbol(contexts)[:, -1]
    return {"a ledger": _draw((train, contexts, n_codes), truth, by_pairs)}


def _missing_codes(rng):
    source, train, new = _draw_ledger(rng, N_WITH_GAPS)
    n_codes, missing = len(source.table), rng.random(new.shape) < 0.15
    shown = np.where(missing, n_codes, new)
    likely = np.where(missing[..., None], 1.0, np.eye(n_codes)[new])
    truth = source.posterior(likely) * missing[..., None]
    by_pairs = _table_of_pairs(train, n_codes).posterior(likely)
    return {"a ledger": _draw((train, shown, n_codes), truth, by_pairs)}


NEXT_CODE = Challenge(
    call="f(ids, contexts, vocab_size)",
    draw=_next_code,
    score=_expected_loss,
    measure="expected loss in nats",
    baseline="a table of pairs",
    bound="the ledger's own probabilities",
    full=0.8,
    seconds=SECONDS,
)
MISSING_CODES = Challenge(
    call="f(ids, gaps, vocab_size)",
    draw=_missing_codes,
    score=_expected_loss,
    measure="expected loss in nats",
    baseline="a table of pairs, read from both sides",
    bound="the ledger's own probabilities",
    full=0.6,
    seconds=SECONDS,
)
