"""Training: losses, rates, the optimizer, and fit, over both wings and between them."""

import dataclasses
import inspect
import io
import json
import math
import sys
import types

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny import (
    PAD,
    VOCAB,
    T,
    assert_weights,
    averaged_loss,
    nano_model,
    summed_loss,
    tiny_data,
    tiny_gpt,
    tiny_model,
)
from wings import assert_close, each, get_wing

from course_lib.config import GPTConfig, TrainConfig
from course_lib.training import (
    Batches,
    History,
    TrainingStopped,
    Windows,
    in_turn,
    schedules,
)
from course_lib.training.batches import batch_at
from course_lib.training.progress import Progress, _wanted


def train(
    wing,
    *,
    make=nano_model,
    dropout=0.0,
    dtype="float64",
    loss=summed_loss,
    evaluate=None,
    **config,
):
    """A small model after a short run, and the run's record."""
    model = make(wing, dropout, dtype)
    batches = Batches(*tiny_data(), batch_size=12, seed=2)
    settings = TrainConfig(**{"steps": 3, "learning_rate": 0.02, **config})
    history = wing.lib.fit(
        model, batches, loss(wing), config=settings, evaluate=evaluate
    )
    return model, history


# The loss


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([(5, 7), (1, 1)]),
    st.sampled_from([0.0, 0.1, 0.7]),
    st.sampled_from([1e-3, 1.0, 1e4]),
)
def test_cross_entropy_is_the_number_of_torch(wing, seed, sizes, eps, size):
    torch = pytest.importorskip("torch")
    draw, (rows, n_classes) = np.random.default_rng(seed), sizes
    logits = size * draw.standard_normal((rows, 3, n_classes))
    targets = draw.integers(0, n_classes, (rows, 3))
    targets[draw.random((rows, 3)) < 0.3] = -7
    targets[0, 0] = 0
    expected = torch.nn.functional.cross_entropy(
        torch.tensor(logits).flatten(0, 1),
        torch.tensor(targets).flatten(),
        ignore_index=-7,
        label_smoothing=eps,
    ).item()
    got = wing.lib.cross_entropy(
        wing.array(logits), wing.array(targets), ignore_index=-7, label_smoothing=eps
    )
    np.testing.assert_allclose(wing.numpy(got), expected, rtol=1e-12, atol=1e-12 * size)


def test_the_sum_over_its_count_is_the_mean(wing, rng):
    logits, targets = rng.standard_normal((5, 3, 7)), rng.integers(0, 7, (5, 3))
    targets[1] = PAD
    total, count = wing.lib.cross_entropy_sum(wing.array(logits), wing.array(targets))
    mean = wing.lib.cross_entropy(wing.array(logits), wing.array(targets))
    assert int(count) == 12
    assert_close(wing.numpy(total) / 12, wing.numpy(mean))


LEVELS = (0.2, 0.5, 0.9)


@pytest.mark.parametrize(
    ("levels", "words"),
    [
        ((0.5,), "got 1 levels for quantiles of shape"),
        ((0.1, 0.9, 0.5), "levels must rise"),
        ((0.0, 0.5, 0.9), "without either"),
        ((0.1, 0.5, 1.0), "without either"),
    ],
)
def test_levels_that_fit_no_quantiles_are_refused(wing, no_hook, levels, words):
    with pytest.raises(ValueError, match=words):
        wing.lib.pinball(wing.array(np.ones((2, 3))), wing.array(np.ones(2)), levels)


def test_where_no_target_counts_loss_and_gradient_are_zero(wing, rng):
    logits, targets = rng.standard_normal((5, 7)), wing.array(np.full(5, PAD))
    assert float(wing.lib.cross_entropy(wing.array(logits), targets)) == 0
    (grad,) = wing.grad(lambda x: wing.lib.cross_entropy(x, targets), logits)
    assert (grad == 0).all()


def test_short_floats_are_summed_in_long_ones(wing):
    if wing.name == "torch":
        import torch

        logits = torch.zeros(5, 7, dtype=torch.bfloat16)
    else:
        import jax.numpy as jnp

        logits = jnp.zeros((5, 7), jnp.bfloat16)
    loss = wing.lib.cross_entropy(logits, wing.array(np.arange(5)))
    np.testing.assert_allclose(float(loss), math.log(7), rtol=1e-6)


@pytest.mark.usefixtures("no_hook")
@pytest.mark.parametrize(
    ("logits", "targets", "eps", "message"),
    [
        (
            np.zeros((3, 7)),
            np.zeros(5, int),
            0.0,
            r"logits \(3, 7\) for targets \(5,\)",
        ),
        (np.zeros(7), np.zeros(7, int), 0.0, "each target needs its row"),
        (np.zeros((3, 7), int), np.zeros(3, int), 0.0, "logits must hold floating"),
        (np.zeros((3, 7)), np.zeros(3), 0.0, "targets must be the classes'"),
        (np.zeros((3, 7)), np.zeros(3, int), 1.0, "label_smoothing must be at least 0"),
    ],
)
def test_bad_targets_are_refused_in_the_same_words(wing, logits, targets, eps, message):
    with pytest.raises(ValueError, match=message):
        wing.lib.cross_entropy(
            wing.array(logits), wing.array(targets), label_smoothing=eps
        )


# The rates


@given(
    st.sampled_from(["constant", "linear", "cosine", "inverse_sqrt"]),
    st.integers(1, 50),
    st.integers(51, 200),
)
def test_rates_rise_to_the_peak_and_never_pass_it(schedule, warmup, steps):
    config = TrainConfig(
        steps=steps, schedule=schedule, warmup=warmup, learning_rate=0.5
    )
    rates = [schedules.learning_rate(step, config) for step in range(steps)]
    assert rates[warmup - 1] == max(rates) == 0.5
    assert all(r > 0 for r in rates[:-1])
    np.testing.assert_allclose(np.diff(rates[:warmup]), 0.5 / warmup, rtol=1e-9)
    assert (np.diff(rates[warmup - 1 :]) <= 1e-15).all()
    if schedule in ("linear", "cosine"):
        assert rates[-1] == 0


def test_inverse_sqrt_is_equation_3_of_vaswani():
    peak = (512 * 4000) ** -0.5
    config = TrainConfig(schedule="inverse_sqrt", learning_rate=peak, warmup=4000)
    for t in (1, 2, 3999, 4000, 4001, 100_000):
        published = 512**-0.5 * min(t**-0.5, t * 4000**-1.5)
        ours = schedules.learning_rate(t - 1, config)
        np.testing.assert_allclose(ours, published, rtol=1e-12)


# The optimizer


def decoupled_adamw(w, grads, rates, betas, eps, decay):
    """Algorithm 2 of Loshchilov and Hutter in plain NumPy; the decay times the rate."""
    m, v = np.zeros_like(w), np.zeros_like(w)
    for t, (g, rate) in enumerate(zip(grads, rates, strict=True), 1):
        m = betas[0] * m + (1 - betas[0]) * g
        v = betas[1] * v + (1 - betas[1]) * g**2
        m_hat, v_hat = m / (1 - betas[0] ** t), v / (1 - betas[1] ** t)
        step = m_hat / (np.sqrt(v_hat) + eps)
        w = w - rate * (step + (decay if w.ndim >= 2 else 0) * w)
    return w


def test_unless_told_otherwise_a_rate_is_constant_and_a_cosine_ends_at_zero():
    def rates(**options):
        config = TrainConfig(steps=9, **options)
        return [schedules.learning_rate(step, config) for step in range(9)]

    assert rates() == 9 * [TrainConfig.learning_rate]
    assert rates(schedule="cosine")[-1] == 0


def test_the_optimizers_numbers_are_those_of_torch_unless_told_otherwise():
    torch = pytest.importorskip("torch")
    theirs = inspect.signature(torch.optim.AdamW).parameters
    ours = TrainConfig()
    assert ours.learning_rate == theirs["lr"].default
    for name in ("betas", "eps", "weight_decay"):
        assert getattr(ours, name) == theirs[name].default


def test_steps_are_those_of_the_published_algorithm(wing, rng):
    # A loss that is linear in the parameters has the gradient that we choose.
    model = nano_model(wing)
    start = wing.lib.get_weights(model)
    slopes = [
        {name: rng.standard_normal(w.shape) for name, w in start.items()}
        for _ in range(3)
    ]
    batches = [np.full((1, 1), i) for i in range(3)]
    config = TrainConfig(
        steps=3,
        learning_rate=0.03,
        schedule="cosine",
        betas=(0.8, 0.95),
        eps=1e-3,
        weight_decay=0.4,
        clip=None,
    )
    carriers = [nano_model(wing) for _ in slopes]
    for carrier, slope in zip(carriers, slopes, strict=True):
        wing.lib.set_weights(carrier, slope)

    def products(model, carrier):
        if wing.name == "torch":
            pairs = zip(model.parameters(), carrier.parameters(), strict=True)
            return sum((p * q.detach()).sum() for p, q in pairs)
        import jax
        from flax import nnx

        pairs = zip(
            jax.tree.leaves(nnx.state(model, nnx.Param)),
            jax.tree.leaves(nnx.state(carrier, nnx.Param)),
            strict=True,
        )
        return sum((p * q).sum() for p, q in pairs)

    def loss(model, which):
        return sum(
            (which[0, 0] == i) * products(model, c) for i, c in enumerate(carriers)
        )

    history = wing.lib.fit(model, batches, loss, config=config)
    got = wing.lib.get_weights(model)
    for path in start:
        expected = decoupled_adamw(
            start[path],
            [slope[path] for slope in slopes],
            history.learning_rates,
            config.betas,
            config.eps,
            config.weight_decay,
        )
        assert_close(got[path], expected)


def test_decay_pulls_on_matrices_and_leaves_vectors_alone(wing):
    start = wing.lib.get_weights(nano_model(wing))
    model, _ = train(
        wing,
        steps=1,
        loss=lambda wing: lambda model, ids, targets: 0 * model(ids).sum(),
        weight_decay=0.5,
        learning_rate=0.1,
    )
    for name, w in wing.lib.get_weights(model).items():
        assert_close(w, start[name] * (0.95 if w.ndim >= 2 else 1))


@given(st.integers(0, 2**32 - 1), st.sampled_from([1e-3, 1.0, 1e3]))
def test_a_clipped_gradient_keeps_its_direction(wing, seed, longest):
    draw = np.random.default_rng(seed)
    grads = [draw.standard_normal(shape) for shape in ((2, 3), (5,))]
    length = math.sqrt(sum((g**2).sum() for g in grads))
    got, norm = wing.lib.clip_gradient([wing.array(g) for g in grads], longest, 2.0)
    assert_close(wing.numpy(norm), 2 * length)
    for after, before in zip(got, grads, strict=True):
        assert_close(wing.numpy(after), before * min(2, longest / length))


def test_without_a_limit_a_gradient_keeps_its_length(wing, rng):
    grad = rng.standard_normal((2, 3))
    for scale in (1.0, 2.0):
        (got,), norm = wing.lib.clip_gradient([wing.array(grad)], None, scale)
        assert_close(wing.numpy(norm), scale * np.linalg.norm(grad))
        assert_close(wing.numpy(got), scale * grad)


@pytest.mark.parametrize(
    ("dtype", "size"), [("float16", 3e4), ("float32", 1e20), ("float32", 2e38)]
)
def test_a_gradient_whose_squares_overflow_is_clipped(wing, dtype, size):
    grads = [wing.array([size, -size], dtype), wing.array([0, size, size], dtype)]
    got, norm = wing.lib.clip_gradient(grads, 1.0)
    np.testing.assert_allclose(float(norm), 2.0 * size if size < 1e38 else np.inf)
    if size < 1e38:
        np.testing.assert_allclose(wing.numpy(got[0]), [0.5, -0.5], rtol=2e-3)
    infinite = wing.array([np.inf, 1.0], dtype)
    assert float(wing.lib.clip_gradient([infinite], None)[1]) == np.inf


def test_a_gradient_of_zero_is_not_divided_by(wing):
    grads, norm = wing.lib.clip_gradient([wing.array(np.zeros((2, 3)))], 1.0)
    assert (wing.numpy(grads[0]) == 0).all()
    assert float(norm) == 0


# fit


@pytest.mark.parametrize(
    "config",
    [
        {"loss": averaged_loss},
        {"clip": 0.1, "weight_decay": 0.3},
        {"schedule": "cosine", "warmup": 1, "accumulate": 2},
        {"clip": None, "betas": (0.9, 0.98), "eps": 1e-6},
    ],
)
def test_three_steps_agree_between_the_wings(both, config):
    (torch, first), (nnx, second) = (train(w, make=tiny_model, **config) for w in both)
    assert_close(second.losses, first.losses)
    assert_close(second.grad_norms, first.grad_norms)
    assert second.learning_rates == first.learning_rates
    weights = both[0].lib.get_weights(torch)
    for name, w in both[1].lib.get_weights(nnx).items():
        assert_close(w, weights[name])


def test_three_steps_of_a_whole_model_agree_between_the_wings(both):
    ends, records = [], []
    for wing in both:
        model = tiny_gpt(wing)
        batches = Batches(*tiny_data(), batch_size=12, seed=2)
        config = TrainConfig(steps=3, learning_rate=0.02)
        records.append(wing.lib.fit(model, batches, summed_loss(wing), config=config))
        ends.append(wing.lib.get_weights(model))
    assert_close(records[1].losses, records[0].losses)
    assert_close(records[1].grad_norms, records[0].grad_norms)
    for name in ends[0]:
        assert_close(ends[1][name], ends[0][name])


def test_a_run_learns_what_there_is_to_learn(wing):
    _, history = train(wing, dtype="float32", steps=60, learning_rate=0.05)
    assert history.losses[0] > 2
    assert history.losses[-1] < 0.1


@pytest.mark.parametrize("of_a_step", [False, True])
def test_a_batch_is_one_array_or_several(of_a_step):
    ids, targets = tiny_data()
    for batch, arrays in (ids, [ids]), ((ids, targets), [ids, targets]):
        batches = (lambda step, batch=batch: batch) if of_a_step else [batch]
        got = batch_at(batches)(3)
        assert isinstance(got, tuple)
        assert all(a is b for a, b in zip(got, arrays, strict=True))


def test_a_batch_in_parts_is_the_batch_at_once(wing):
    # Padding is spread unevenly, so the mean of the parts' means would be another.
    whole, first = train(wing)
    cut, second = train(wing, accumulate=6)
    assert_close(second.losses, first.losses)
    assert_close(second.grad_norms, first.grad_norms)
    weights = wing.lib.get_weights(whole)
    for name, w in wing.lib.get_weights(cut).items():
        assert_close(w, weights[name])


def test_of_means_each_parts_counts_the_same(wing):
    ids, targets = (a[:6].copy() for a in tiny_data())
    targets[:3, 1:] = PAD  # the first part has few that count
    loss = mean_loss_of(wing)

    def first(*rows, **options):
        config = TrainConfig(steps=1, **options)
        batches = [tuple(a[slice(*rows)] for a in (ids, targets))]
        model = nano_model(wing, 0.0, "float64")
        return wing.lib.fit(model, batches, loss, config=config).losses[0]

    mean = (first(0, 3) + first(3, 6)) / 2
    assert_close(first(0, 6, accumulate=2), mean)
    assert abs(first(0, 6) - mean) > 1e-3


MEMORY = {
    "another byte order": lambda a: a.astype(a.dtype.newbyteorder("S")),
    "backwards": lambda a: np.flip(np.flip(a).copy()),
    "by columns": np.asfortranarray,
}


@pytest.mark.parametrize("lies", MEMORY)
def test_numbers_are_read_however_they_lie_in_memory(wing, lies):
    arrays, loss = tiny_data(12), summed_loss(wing)
    changed = tuple(map(MEMORY[lies], arrays))
    found = []
    for batch in (arrays, changed):  # compiled for the first, the second is not misread
        model = nano_model(wing, 0.0, "float64")
        before = wing.lib.mean_loss(model, [batch], loss)
        history = wing.lib.fit(model, [batch], loss, config=TrainConfig(steps=2))
        found.append([before, *history.losses])
    assert found[0] == found[1]


def test_a_batch_may_be_overwritten_once_it_was_handed_over(wing):
    rows, loss = tiny_data(36), summed_loss(wing)
    buffer = tuple(np.zeros_like(a[:12]) for a in rows)

    def fresh(step):
        return tuple(a[12 * (step % 3) :][:12].copy() for a in rows)

    def refilled(step):
        for ours, new in zip(buffer, fresh(step), strict=True):
            ours[:] = new
        return buffer

    found = []
    for batch in (fresh, refilled):
        model = nano_model(wing, 0.0, "float64")
        before = wing.lib.mean_loss(model, map(batch, range(9)), loss)
        history = wing.lib.fit(model, batch, loss, config=TrainConfig(steps=9))
        found.append([before, *history.losses])
    assert found[0] == found[1]


def mean_loss_of(wing):
    """A loss that is a mean, as many write it."""
    return lambda model, ids, targets: wing.lib.cross_entropy(model(ids), targets)


def test_the_stretches_between_looks_change_no_bit(wing):
    runs = [train(wing, steps=7, dropout=0.3, chunk=c)[1] for c in (2, 50)]
    assert runs[0].losses == runs[1].losses


def test_dropout_is_on_in_training_and_drawn_from_the_seed(wing):
    first, again, other = (
        train(wing, dropout=0.5, seed=seed)[1].losses for seed in (3, 3, 5)
    )
    assert first == again
    assert first != other
    assert first != train(wing, dropout=0.0)[1].losses


def test_dropout_differs_from_step_to_step(wing):
    model = nano_model(wing, 0.5)
    ids, targets = tiny_data(6)
    still = TrainConfig(steps=3, learning_rate=1e-300, weight_decay=0.0)
    history = wing.lib.fit(model, [(ids, targets)], summed_loss(wing), config=still)
    assert len(set(history.losses)) == 3


def test_the_model_is_left_in_evaluation_mode(wing):
    model, _ = train(wing, dropout=0.5)
    ids = wing.array(tiny_data(6)[0])
    assert (wing.numpy(model(ids)) == wing.numpy(model(ids))).all()


def test_the_random_numbers_of_the_caller_stay_as_they_were():
    torch = pytest.importorskip("torch")
    from wings import get_wing

    wing = get_wing("torch")
    model = nano_model(wing, 0.5)
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    wing.lib.fit(model, [tiny_data(6)], summed_loss(wing), config=TrainConfig(steps=2))
    assert (torch.rand(3) == expected).all()


def test_sixteen_bits_change_the_numbers_a_little_and_the_weights_dtype_never(wing):
    model, short = train(wing, dtype="float32", steps=11, precision="bfloat16")
    _, long = train(wing, dtype="float32", steps=11)
    difference = np.abs(np.subtract(short.losses, long.losses))
    assert 1e-6 < difference.max() < 0.05
    assert {str(w.dtype) for w in wing.lib.get_weights(model).values()} == {"float32"}
    logits = wing.numpy(model(wing.array(tiny_data(6)[0])))
    assert str(logits.dtype) == "float32"  # only training is short


MIXED = [
    {"position": position, "dropout": 0.1, **options}
    for position in ("relative", "alibi", "rotary")
    for options in ({"score_cap": 50.0, "qk_norm": True}, {"score_cap": 50.0}, {})
]


@pytest.mark.filterwarnings("ignore:Mismatch dtype between input and weight")
@each("options", MIXED, nnx=MIXED[:1])
def test_every_scoring_trains_in_mixed_precision(wing, options):
    sizes = {"vocab_size": VOCAB, "max_len": T, "d_model": 12, "n_layers": 1}
    model = wing.make(wing.lib.GPT, GPTConfig(**sizes, n_heads=2, **options))
    config = TrainConfig(steps=1, precision="bfloat16", chunk=1)
    batches, loss = [tiny_data(6)[0]], wing.lib.next_token_loss
    history = wing.lib.fit(model, batches, loss, config=config)
    assert abs(history.losses[0] - np.log(VOCAB)) < 1


def test_a_parameter_that_the_loss_does_not_use_still_decays(both):
    models = [
        train(
            w,
            steps=2,
            loss=lambda w: lambda model, ids, _: (model.embed(ids) ** 2).mean(),
            weight_decay=0.5,
        )[0]
        for w in both
    ]
    torch, nnx = (w.lib.get_weights(m) for w, m in zip(both, models, strict=True))
    start = both[0].lib.get_weights(nano_model(both[0]))
    assert (np.abs(torch["head.weight"]) < np.abs(start["head.weight"])).all()
    for name in torch:
        assert_close(nnx[name], torch[name])


def test_evaluation_happens_when_it_is_due_and_at_the_end(wing):
    ids, targets = tiny_data(6)

    def evaluate(model):
        loss = wing.lib.mean_loss(model, [(ids, targets)], summed_loss(wing))
        return {"loss": loss, "constant": 5}

    _, history = train(wing, steps=7, evaluate_every=3, evaluate=evaluate)
    assert history.eval_steps == [3, 6, 7]
    assert history.evals["constant"] == [5.0, 5.0, 5.0]
    assert history.evals["loss"][0] > history.evals["loss"][-1]


def test_evaluating_changes_no_step(wing):
    def evaluate(model):
        return float(model(wing.array(tiny_data(6)[0])).sum())

    plain = train(wing, steps=7, dropout=0.3)[1]
    looked = train(wing, steps=7, dropout=0.3, evaluate_every=2, evaluate=evaluate)[1]
    assert looked.losses == plain.losses


def test_training_stops_early_and_returns_to_the_best_weights(wing):
    answers, seen = iter([3.0, 1.0, 2.0, math.nan, 4.0, 0.0]), []

    def evaluate(model):
        seen.append(wing.lib.get_weights(model))
        return next(answers)

    model, history = train(
        wing, steps=99, evaluate_every=2, patience=3, evaluate=evaluate
    )
    assert history.steps == 10
    assert history.best == 1
    assert history.stopped == "3 evaluations without a new best"
    assert_weights(wing, model, seen[1])
    assert any((seen[1][name] != seen[4][name]).any() for name in seen[1])


def test_a_loss_that_is_no_number_stops_the_run_and_is_named(wing):
    ids = np.ones((3, 5), int)
    batches = [(ids, np.array(x)) for x in (1.0, 2.0, math.inf, 1.0)]
    batches = [(i, np.broadcast_to(x, (3, 1))) for i, x in batches]
    with pytest.warns(TrainingStopped, match="after 2 of 50 steps: the loss of step 2"):
        history = wing.lib.fit(
            nano_model(wing),
            batches,
            lambda model, ids, size: (model(ids) * size[..., None]).mean(),
            config=TrainConfig(steps=50, chunk=2, learning_rate=1e-300),
        )
    assert history.steps == 3
    assert history.stopped.startswith("the loss of step 2 was ")


def test_a_record_is_plain_numbers(wing):
    _, history = train(wing)
    for values in (history.losses, history.learning_rates, history.grad_norms):
        assert len(values) == 3
        assert all(type(value) is float for value in values)
    assert History(**dataclasses.asdict(history)) == history


def test_the_mean_loss_is_over_everything_that_counts(wing):
    model, (ids, targets) = nano_model(wing, dropout=0.5), tiny_data(31)
    summed, averaged = summed_loss(wing), averaged_loss(wing)
    whole = wing.numpy(averaged(model, wing.array(ids), wing.array(targets)))
    cut = in_turn(ids, targets, batch_size=7)
    assert len(cut) == 5
    model.train()
    assert_close(wing.lib.mean_loss(model, cut, summed), whole)
    ragged = [wing.lib.mean_loss(model, [b], averaged) * len(b[0]) for b in cut]
    assert_close(wing.lib.mean_loss(model, cut, averaged), sum(ragged) / 31)


def test_layers_that_vmap_stacked_drop_each_its_own():
    nnx = pytest.importorskip("flax.nnx")
    import jax.numpy as jnp
    from wings import get_wing

    class Stacked(nnx.Module):
        def __init__(self, rngs):
            self.size = nnx.Param(jnp.ones(()))
            make = nnx.vmap(lambda rngs: nnx.Dropout(0.5, rngs=rngs))
            self.layers = nnx.split_rngs(splits=2)(make)(rngs)

        def __call__(self, x):
            return self.size * nnx.vmap(lambda layer: layer(x))(self.layers)

    def disagreement(model, x):
        one, other = model(x)
        return abs(one - other).mean()

    rows = np.ones((1000, 1), "float32")
    config = TrainConfig(steps=3, learning_rate=1e-9, weight_decay=0.0)
    fit = get_wing("nnx").lib.fit
    losses = fit(Stacked(nnx.Rngs(0)), [rows], disagreement, config=config).losses
    # Each doubles or drops an entry: half of the time they differ, by 2.
    np.testing.assert_allclose(losses, 1, atol=0.2)
    assert len(set(losses)) == 3


def test_a_whole_fit_compiles_once_and_the_next_not_at_all(monkeypatch):
    jax = pytest.importorskip("jax")
    import wings
    from wings import get_wing

    # In a large process a model made anew would clear what is compiled.
    monkeypatch.setattr(wings, "stay_small", lambda: None)
    # A program is lowered before it is compiled, or looked for in a cache on disk.
    wing, traces, lowered = get_wing("nnx"), [], []
    jax.monitoring.register_event_duration_secs_listener(
        lambda event, *_, **__: lowered.append(event) if "to_mlir" in event else None
    )

    def loss(model, *batch):
        traces.append(1)
        return summed_loss(wing)(model, *batch)

    def evaluate(model):
        seen.append((len(traces), len(lowered)))
        return 0.0

    # 29 steps in stretches of 8, cut short by evaluations and by the end.
    seen = []
    evaluation = {"evaluate_every": 5, "evaluate": evaluate}
    model, _ = train(wing, steps=29, loss=lambda _: loss, **evaluation)
    assert seen[0][0] <= 2
    assert seen[0][1] > 0  # the listener hears what there is to hear
    assert set(seen) == {seen[0]}
    model.train()
    # Another seed, other rates, other data, a model trained before.
    train(wing, steps=3, seed=5, learning_rate=0.5, loss=lambda _: loss)
    before = len(lowered)
    wing.lib.fit(
        model, [tiny_data(12)], loss, config=TrainConfig(steps=3, schedule="cosine")
    )
    assert len(lowered) == before
    assert len(traces) == seen[0][0]


# What surrounds a run


def test_nothing_is_printed(wing, capfd):
    train(wing)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("variable", ["COURSE_QUIET", "CI"])
def test_the_bar_moves_for_people_and_keeps_quiet_on_request(monkeypatch, variable):
    screen = io.StringIO()
    screen.isatty = lambda: True
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.delenv("COURSE_QUIET", raising=False)
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv(variable, "1")
    Progress(10).update(5, 1.0)
    assert screen.getvalue() == ""
    monkeypatch.delenv(variable)
    bar = Progress(10)
    bar.update(5, 1.25)
    bar.close()
    assert "5/10" in screen.getvalue()
    assert "1.2500" in screen.getvalue()


def test_in_a_notebook_there_are_people_too(monkeypatch):
    shell = type("ZMQInteractiveShell", (), {})()
    python = types.SimpleNamespace(get_ipython=lambda: shell)
    monkeypatch.setattr("sys.stderr", io.StringIO())  # no terminal
    monkeypatch.delenv("COURSE_QUIET", raising=False)
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setitem(sys.modules, "IPython", None)
    assert not _wanted()
    monkeypatch.setitem(sys.modules, "IPython", python)
    assert _wanted()
    monkeypatch.setenv("CI", "true")
    assert not _wanted()


def test_every_epoch_sees_every_row_once_in_a_new_order():
    rows = np.arange(35)
    batches = Batches(rows, rows**2, batch_size=5, seed=1)
    assert len(batches) == 7
    epochs = [
        np.concatenate([batches(7 * epoch + i)[0] for i in range(7)])
        for epoch in range(3)
    ]
    for epoch in epochs:
        assert sorted(epoch) == list(rows)
    assert (epochs[0] != epochs[1]).any()
    first, second = batches(3)
    assert (second == first**2).all()


def test_a_batch_depends_on_its_step_alone():
    rows = np.arange(37)
    batches = Batches(rows, batch_size=5, seed=1)
    forwards = [batches(step)[0].tolist() for step in range(30)]
    backwards = [batches(step)[0].tolist() for step in reversed(range(30))]
    assert forwards == backwards[::-1]
    kept = Batches(rows, batch_size=5, shuffle=False)
    assert kept(8)[0].tolist() == [5, 6, 7, 8, 9]


def test_windows_are_pieces_of_the_row():
    tokens = np.arange(100, 141)
    windows = Windows(tokens, length=7, batch_size=50, seed=1)
    (cut,) = windows(3)
    assert cut.shape == (50, 8)
    assert (np.diff(cut) == 1).all()
    assert (windows(3)[0] == cut).all()
    assert (windows(4)[0] != cut).any()
    starts = np.concatenate([windows(step)[0][:, 0] for step in range(20)])
    assert {starts.min(), starts.max()} == {100, 133}
    unsaid, zero = (
        Windows(tokens, length=7, batch_size=50, **seed) for seed in ({}, {"seed": 0})
    )
    assert (unsaid(3)[0] == zero(3)[0]).all()


# What is refused


def fit_nothing(wing, **changes):
    given = {"batches": [tiny_data(6)], "loss": summed_loss(wing), **changes}
    model = nano_model(wing)
    return wing.lib.fit(model, given.pop("batches"), given.pop("loss"), **given)


@pytest.mark.usefixtures("no_hook")
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"batches": iter([])}, "a function of the step, or a list"),
        ({"batches": []}, "a list that is not empty"),
        (
            {"config": TrainConfig(accumulate=4)},
            r"6 rows for accumulate=4.*remainder 2",
        ),
        ({"batches": [(np.ones((2, 5), int), np.ones((3, 5), int))]}, "equally many"),
        ({"config": TrainConfig(evaluate_every=5)}, "pass evaluate="),
        ({"config": TrainConfig(checkpoint_every=5)}, "pass checkpoint="),
        ({"resume": True}, "pass checkpoint="),
        ({"loss": lambda model, ids, _: model(ids)}, r"got shape \(6, 5, 11\)"),
        ({"loss": lambda model, ids, _: "high"}, "one number, or the pair.*got str"),
    ],
)
def test_a_run_that_cannot_be_is_refused_in_the_same_words(wing, changes, message):
    with pytest.raises(ValueError, match=message):
        fit_nothing(wing, **changes)


def test_pytorch_without_gradients_is_refused():
    torch, wing = pytest.importorskip("torch"), get_wing("torch")
    for without in (torch.no_grad, torch.inference_mode):
        with without(), pytest.raises(ValueError, match="training needs gradients"):
            train(wing)


def test_patience_must_have_a_loss_to_judge_by(wing):
    config = TrainConfig(steps=2, evaluate_every=1, patience=3)
    with pytest.raises(ValueError, match=r'judges by the "loss".*got accuracy'):
        fit_nothing(wing, config=config, evaluate=lambda model: {"accuracy": 1})


def test_batches_of_several_shapes_are_refused_where_steps_are_compiled():
    pytest.importorskip("flax")
    from wings import get_wing

    ids, targets = tiny_data(6)
    with pytest.raises(ValueError, match="every batch must have the same shapes"):
        fit_nothing(get_wing("nnx"), batches=[(ids, targets), (ids[:3], targets[:3])])


@pytest.mark.usefixtures("no_hook")
@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"steps": 0}, "steps must be a whole number of at least 1: got 0"),
        ({"steps": 2.5}, "steps must be a whole number"),
        ({"learning_rate": 0.0}, "learning_rate must be positive"),
        ({"learning_rate": math.nan}, "learning_rate must be positive"),
        ({"clip": 0.0}, "clip must be positive"),
        ({"schedule": "step"}, "schedule must be one of constant, linear, cosine"),
        ({"precision": "float16"}, "precision must be one of float32, bfloat16"),
        ({"betas": (0.9, 1.0)}, r"betas\[1\] must be at least 0 and less than 1"),
        ({"betas": (0.9,)}, "betas must be two numbers"),
        ({"weight_decay": -1.0}, "weight_decay must be 0 or positive"),
        ({"patience": 2}, "patience counts evaluations"),
        ({"schedule": "inverse_sqrt"}, "must have a warmup of at least 1"),
        ({"schedule": "cosine", "warmup": 9, "steps": 9}, "warmup must end before"),
        ({"schedule": "linear", "warmup": 9, "steps": 9}, "warmup must end before"),
        ({"seed": -1}, "seed must be a whole number of at least 0"),
    ],
)
def test_a_configuration_is_checked_when_it_is_made(fields, message):
    with pytest.raises(ValueError, match=message):
        TrainConfig(**fields)


def test_an_evaluation_is_kept_as_numbers_of_python(wing):
    history = History()
    history.add_evaluation(wing.array(np.float32(0.5)), None)
    history.add_evaluation({"loss": wing.array(np.float32(0.25))}, None)
    assert json.loads(json.dumps(history.evals)) == {"loss": [0.5, 0.25]}


def test_an_evaluation_keeps_its_names():
    history = History()
    history.add_evaluation({"loss": 1.0, "accuracy": 0.5}, None)
    with pytest.raises(ValueError, match="got loss after loss, accuracy"):
        history.add_evaluation({"loss": 1.0}, None)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Batches(np.ones(3), np.ones(5), batch_size=2), "equally many rows"),
        (lambda: Batches(np.ones(3), batch_size=5), "batch_size=5 for 3 rows"),
        (lambda: Batches(batch_size=5), "got no array"),
        (lambda: Batches(np.ones(3), batch_size=1, seed=-1), "seed must be a whole"),
        (
            lambda: Windows(np.ones(7), length=2, batch_size=1, seed=-1),
            "seed must be a whole",
        ),
        (lambda: Windows(np.ones(7), length=7, batch_size=2), r"shape \(7,\) for len"),
        (lambda: Windows(np.ones((7, 7)), length=2, batch_size=2), "must be one row"),
        (
            lambda: in_turn(np.ones(3), batch_size=0),
            "batch_size must be a whole number",
        ),
    ],
)
def test_data_that_cannot_be_batched_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_with_a_rate_alone_a_list_is_gone_through_once_by_adam(wing):
    x, y = tiny_data(20)
    batches = [(x[[k]], y[[k]]) for k in range(20)]
    config = {"schedule": "linear", "warmup": 2, "weight_decay": 0.0, "clip": None}
    config = TrainConfig(steps=20, learning_rate=0.02, **config)
    one, other = nano_model(wing), nano_model(wing)
    wing.lib.fit(one, batches, summed_loss(wing), config=config)
    batches = [tuple(map(wing.array, batch)) for batch in batches]
    history = wing.lib.fit(other, batches, summed_loss(wing), 0.02)
    assert_weights(wing, other, one)
    done = np.arange(1, 21) / 20
    expected = 0.02 * np.minimum(10 * done, (1 - done) / 0.9)
    np.testing.assert_allclose(history.learning_rates, expected, atol=1e-12)


@pytest.mark.parametrize("change", [{"config": TrainConfig()}, {"batches": tiny_data}])
def test_a_rate_alone_needs_a_list_and_no_configuration(wing, change):
    given = {"batches": [tiny_data()], "loss": summed_loss(wing), "learning_rate": 0.1}
    with pytest.raises(ValueError, match="learning_rate needs a list of batches"):
        wing.lib.fit(nano_model(wing), **(given | change))


def test_next_token_loss_compares_each_position_with_the_next_id(wing, rng):
    ids, logits = rng.integers(0, 7, (3, 5)), rng.standard_normal((3, 4, 7))
    got = wing.lib.next_token_loss(lambda _: wing.array(logits), wing.array(ids))
    log_p = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    chosen = np.take_along_axis(log_p, ids[:, 1:, None], axis=-1)
    np.testing.assert_allclose(float(got), -chosen.mean())
