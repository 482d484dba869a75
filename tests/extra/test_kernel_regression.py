"""Kernel regression: the oracle's and statsmodels' numbers, invariants, refusals."""

import warnings

import numpy as np
import pytest
from hypothesis import strategies as st
from wings import assert_close, drawn, each

from course_lib import oracle
from course_lib.data.households import draw_spending, engel

B, T, S, F, DV = 2, 3, 5, 7, 11  # distinct primes: a swapped axis fails
KERNELS = ("gaussian", "epanechnikov", "boxcar")


def draw(rng, dtype="float64", t=T, s=S, f=F, dv=DV):
    shapes = ((t, f), (s, f), (s, dv))
    return [rng.standard_normal(shape).astype(dtype) for shape in shapes]


# One kernel in NNX, but where the kernels themselves are tried.
KERNEL = each("kernel", KERNELS, nnx=["epanechnikov"])
# Few, since JAX compiles each new shape.
SIZES = st.sampled_from([(T, S, F, DV), (7, 1, 3, 2), (1, 1, 1, 1)])


@drawn(
    st.integers(0, 2**32 - 1),
    SIZES,
    st.sampled_from(KERNELS),
    st.sampled_from([0.3, 1.0, 4.0, 50.0, "one a feature"]),
    st.booleans(),
    st.sampled_from(["float32", "float64"]),
)
def test_equals_the_oracle(wing, seed, sizes, kernel, width, masked, dtype):
    (t, s, f, dv), rng = sizes, np.random.default_rng(seed)
    q, k, v = draw(rng, dtype, t, s, f, dv)
    mask = rng.random((t, s)) < 0.6 if masked else None
    bandwidth = (
        rng.uniform(0.5, 5, f).astype(dtype) if width == "one a feature" else width
    )
    expected, expected_weights = oracle.kernel_regression(
        q, k, v, bandwidth, kernel, mask
    )
    output, weights = wing.lib.kernel_regression(
        *map(wing.array, (q, k, v)),
        bandwidth=wing.array(bandwidth) if width == "one a feature" else bandwidth,
        kernel=kernel,
        mask=None if mask is None else wing.array(mask),
    )
    assert str(wing.numpy(output).dtype) == dtype
    # A narrow bandwidth magnifies rounding: scores grow with 1 / bandwidth².
    slack = 1 if width == "one a feature" else max(1.0, f / width**2)
    tolerance = slack * {"float64": 1e-13, "float32": 1e-5}[dtype]
    np.testing.assert_allclose(
        wing.numpy(weights), expected_weights, rtol=0, atol=tolerance
    )
    np.testing.assert_allclose(
        wing.numpy(output), expected, rtol=0, atol=tolerance * s * (1 + np.abs(v).max())
    )


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_stated_tolerance_at_ordinary_size(wing, rng, kernel, dtype):
    q, k, v = draw(rng, dtype)
    got = wing.lib.kernel_regression(
        *map(wing.array, (q, k, v)), bandwidth=4.0, kernel=kernel
    )
    expected = oracle.kernel_regression(q, k, v, 4.0, kernel)
    for a, b in zip(got, expected, strict=True):
        assert_close(wing.numpy(a), b, dtype)


@KERNEL
def test_leading_axes_are_batch(wing, rng, kernel):
    q, k, v = (np.stack(x) for x in zip(draw(rng), draw(rng), strict=True))
    mask = rng.random((T, S)) < 0.8
    got, _ = wing.lib.kernel_regression(
        *map(wing.array, (q, k, v)), bandwidth=4.0, kernel=kernel, mask=wing.array(mask)
    )
    for b in range(B):
        one, _ = oracle.kernel_regression(q[b], k[b], v[b], 4.0, kernel, mask)
        assert_close(wing.numpy(got)[b], one)


def kernel_reg(x, y, bandwidth):
    """Kernel regression as statsmodels has it: a local constant, Gaussian weights."""
    theirs = pytest.importorskip("statsmodels.nonparametric.kernel_regression")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # about a seed that is not used
        return theirs.KernelReg(y, x, var_type="c", reg_type="lc", bw=bandwidth)


@pytest.mark.parametrize("bandwidth", [20.0, 134.4, 900.0])
def test_equals_statsmodels_on_engels_households(wing, bandwidth):
    income, food = engel()
    grid = np.linspace(300, 5000, 53)
    with np.errstate(invalid="ignore"):
        theirs, _ = kernel_reg(income, food, [bandwidth]).fit(grid)
    ours, _ = wing.lib.kernel_regression(
        *(wing.array(x[:, None]) for x in (grid, income, food)), bandwidth=bandwidth
    )
    # Where statsmodels' weights underflow it gives NaN; ours do not underflow.
    finite = np.isfinite(theirs)
    assert finite.sum() > 25
    assert_close(wing.numpy(ours)[finite, 0], theirs[finite])
    assert np.isfinite(wing.numpy(ours)).all()


def test_leave_one_out_finds_the_bandwidth_of_statsmodels(wing):
    income, food = engel()
    best = float(kernel_reg(income, food, "cv_ls").bw[0])

    def error(h):
        pairs = (wing.array(x[:, None]) for x in (income, food))
        return float(wing.lib.leave_one_out(*pairs, bandwidth=h))

    assert error(best) < error(best * 1.02)
    assert error(best) < error(best / 1.02)


def test_weights_are_a_distribution(wing, rng):
    _, weights = wing.lib.kernel_regression(*map(wing.array, draw(rng)), bandwidth=2.0)
    weights = wing.numpy(weights)
    assert (weights > 0).all()
    np.testing.assert_allclose(weights.sum(-1), 1, rtol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS)
def test_kernel_scores_are_log_kernels(wing, kernel):
    u = np.array([0.0, 0.3, 0.999, 1.0, 1.001, 3.0])
    scores = wing.numpy(wing.lib.kernel_scores(wing.array(u**2), kernel=kernel))
    expected = [oracle.kernel(x, kernel) for x in u]
    np.testing.assert_allclose(np.exp(scores), expected, atol=1e-12)


@pytest.mark.parametrize("name", ["epanechnikov", "boxcar"])
def test_no_key_within_reach_gives_zero(wing, rng, name):
    q, k, v = draw(rng)
    q[1] += 1e3
    output, weights = wing.lib.kernel_regression(
        *map(wing.array, (q, k, v)), bandwidth=20.0, kernel=name
    )
    assert (wing.numpy(output)[1] == 0).all()
    assert (wing.numpy(weights)[1] == 0).all()
    np.testing.assert_allclose(wing.numpy(weights)[[0, 2]].sum(-1), 1)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_far_away_the_gaussian_kernel_becomes_the_nearest_neighbor(wing, dtype):
    k, v = (
        np.array([[0.0], [1.0], [2.0]], dtype),
        np.array([[3.0], [5.0], [7.0]], dtype),
    )
    q = np.array([[1e3], [-1e3], [0.999]], dtype)
    output, _ = wing.lib.kernel_regression(*map(wing.array, (q, k, v)), bandwidth=0.01)
    assert wing.numpy(output).dtype == dtype
    assert_close(wing.numpy(output)[:, 0], [7, 3, 5])


@KERNEL
def test_a_wide_bandwidth_gives_the_mean(wing, rng, kernel):
    q, k, v = draw(rng)
    output, _ = wing.lib.kernel_regression(
        *map(wing.array, (q, k, v)), bandwidth=1e7, kernel=kernel
    )
    assert_close(wing.numpy(output), np.tile(v.mean(0), (T, 1)))


@KERNEL
def test_units_do_not_matter_if_the_bandwidth_has_them_too(wing, rng, kernel):
    q, k, v = draw(rng)
    units = rng.uniform(0.01, 100, F)
    h = rng.uniform(3, 5, F)
    before, _ = wing.lib.kernel_regression(
        *map(wing.array, (q, k, v)), bandwidth=wing.array(h), kernel=kernel
    )
    after, _ = wing.lib.kernel_regression(
        *map(wing.array, (q * units, k * units, v)),
        bandwidth=wing.array(h * units),
        kernel=kernel,
    )
    assert_close(wing.numpy(after), wing.numpy(before))


@KERNEL
def test_reordering_the_neighbors_changes_nothing(wing, rng, kernel):
    q, k, v = draw(rng)
    order = rng.permutation(S)
    before, after = (
        wing.lib.kernel_regression(*map(wing.array, a), bandwidth=4.0, kernel=kernel)[0]
        for a in ((q, k, v), (q, k[order], v[order]))
    )
    assert_close(wing.numpy(after), wing.numpy(before))


def test_gaussian_weights_are_attention_with_a_bias_for_each_key(wing, rng):
    h = 1.7
    q, k, v = draw(rng)
    expected, expected_weights = wing.lib.kernel_regression(
        *map(wing.array, (q, k, v)), bandwidth=h
    )
    # One more feature, always 1 in the query, carries the bias -|k|²/2h² in the key.
    bias = -(k**2).sum(-1, keepdims=True) / 2
    wide_q = np.concatenate([q, np.ones((T, 1))], axis=1) * np.sqrt(F + 1) / h**2
    wide_k = np.concatenate([k, bias], axis=1)
    output, weights = wing.lib.attention(*map(wing.array, (wide_q, wide_k, v)))
    assert_close(wing.numpy(weights), wing.numpy(expected_weights))
    assert_close(wing.numpy(output), wing.numpy(expected))


def test_with_keys_of_one_length_the_bias_is_not_needed(wing, rng):
    q, k, v = draw(rng)
    k /= np.linalg.norm(k, axis=1, keepdims=True)
    h = F**0.25  # bandwidth² = √d: attention's own temperature
    _, ours = wing.lib.kernel_regression(*map(wing.array, (q, k, v)), bandwidth=h)
    _, theirs = wing.lib.attention(*map(wing.array, (q, k, v)))
    assert_close(wing.numpy(ours), wing.numpy(theirs))


def test_the_slope_is_the_covariance_of_keys_and_values(wing, rng):
    h = 1.3
    q, k, v = draw(rng, t=1, dv=1)
    (slope,) = wing.grad(
        lambda q: (
            wing.lib.kernel_regression(q, wing.array(k), wing.array(v), bandwidth=h)[0]
        ).sum(),
        q,
    )
    w = oracle.kernel_regression(q, k, v, h)[1][0]
    covariance = (w * v[:, 0]) @ k - (w @ v[:, 0]) * (w @ k)
    assert_close(slope[0], covariance / h**2)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("edge", [0.0, 1 - 1e-16, 1 - 1e-9, 1.0, 1 + 1e-9, 30.0])
def test_gradients_are_finite_at_the_kernels_edges(wing, kernel, edge):
    k = np.array([[0.0], [0.4], [2.0]])
    v = np.array([[3.0], [5.0], [7.0]])
    q = np.array([[edge]])  # at distance `edge` from the first key

    def loss(q, k, v, h):
        out = wing.lib.kernel_regression(q, k, v, bandwidth=h, kernel=kernel)[0]
        return (out**2).sum()

    for grad in wing.grad(loss, q, k, v, np.array([1.0])):
        assert np.isfinite(grad).all()


@pytest.mark.parametrize("kernel", KERNELS)
def test_wings_give_the_same_gradients(both, rng, kernel):
    arrays = (*draw(rng), rng.uniform(3, 5, F))

    def loss(wing):
        return lambda q, k, v, h: (
            wing.lib.kernel_regression(q, k, v, bandwidth=h, kernel=kernel)[0] ** 2
        ).sum()

    for a, b in zip(*(wing.grad(loss(wing), *arrays) for wing in both), strict=True):
        assert_close(a, b)


@KERNEL
@pytest.mark.parametrize("bandwidth", [0.4, 2.0, 50.0])
def test_leave_one_out_equals_the_oracle(wing, rng, kernel, bandwidth):
    _, k, v = draw(rng, s=13, f=2, dv=3)
    got = wing.lib.leave_one_out(
        *map(wing.array, (k, v)), bandwidth=bandwidth, kernel=kernel
    )
    assert_close(wing.numpy(got), oracle.leave_one_out(k, v, bandwidth, kernel))


def test_leaving_out_the_only_one_predicts_zero(wing):
    error = wing.lib.leave_one_out(
        wing.array([[1.0]]), wing.array([[3.0]]), bandwidth=1.0
    )
    assert float(error) == 9.0


@KERNEL
def test_nan_stays_with_the_query_that_holds_it(wing, rng, kernel):
    q, k, v = draw(rng)
    q[1, 2] = np.nan
    output, _ = wing.lib.kernel_regression(
        *map(wing.array, (q, k, v)), bandwidth=9.0, kernel=kernel
    )
    nan = np.isnan(wing.numpy(output))
    assert nan[1].all()
    assert nan.sum() == DV


def fit_metric(wing, sample, steps=60):
    model = wing.make(wing.lib.LearnedMetric, sample.features.shape[1], bandwidth=1.0)
    model = wing.cast(model, "float64")
    keys, values = wing.array(sample.features), wing.array(sample.values)

    def loss(m):
        return wing.lib.leave_one_out(keys, values, bandwidth=m.bandwidth)

    if wing.name == "torch":
        import torch

        adam = torch.optim.Adam(model.parameters(), lr=0.1)
        for _ in range(steps):
            adam.zero_grad()
            loss(model).backward()
            adam.step()
    else:
        import optax
        from flax import nnx

        adam = nnx.Optimizer(model, optax.adam(0.1), wrt=nnx.Param)

        @nnx.jit
        def step(model, adam):
            adam.update(model, nnx.grad(loss)(model))

        for _ in range(steps):
            step(model, adam)
    return model


def test_the_learned_metric_finds_which_features_matter(wing):
    sample = draw_spending(97, n_noise=5, seed=0)
    model = fit_metric(wing, sample)
    bandwidth = wing.numpy(model.bandwidth)
    assert bandwidth.shape == (7,)
    assert bandwidth[:2].max() < bandwidth[2:].min() / 2
    fresh = draw_spending(101, n_noise=5, seed=1)
    arrays = [wing.array(x) for x in (fresh.features, sample.features, sample.values)]
    learned = wing.numpy(model(*arrays)) - fresh.truth
    fixed = (
        wing.numpy(wing.lib.kernel_regression(*arrays, bandwidth=0.5)[0]) - fresh.truth
    )
    assert (learned**2).mean() < (fixed**2).mean() / 2


def test_wings_learn_the_same_metric(both):
    sample = draw_spending(29, n_noise=3, seed=2)
    torch, nnx = (w.numpy(fit_metric(w, sample, 5).bandwidth) for w in both)
    # Adam adds 1e-8 inside torch and optax at places that differ in the last digits.
    np.testing.assert_allclose(torch, nnx, rtol=1e-6)


def test_numpys_numbers_are_bandwidths(wing, rng, no_hook):
    metric = wing.make(wing.lib.LearnedMetric, 3, bandwidth=np.int64(2))
    np.testing.assert_allclose(wing.numpy(metric.bandwidth), 2)
    arrays = [wing.array(a.astype("float16")) for a in draw(rng)]
    output, _ = wing.lib.kernel_regression(*arrays, np.float32(0.5))
    assert wing.numpy(output).dtype == "float16"


def test_a_metric_predicts_with_its_bandwidths(wing, rng):
    q, k, v = draw(rng)
    model = wing.cast(wing.make(wing.lib.LearnedMetric, F, bandwidth=2.5), "float64")
    assert_close(wing.numpy(model.bandwidth), np.full(F, 2.5), "float32")
    expected, _ = oracle.kernel_regression(q, k, v, 2.5)
    assert_close(wing.numpy(model(*map(wing.array, (q, k, v)))), expected, "float32")


BAD = {
    "zero bandwidth": ({"bandwidth": 0.0}, "bandwidth must be positive and finite"),
    "negative bandwidth": ({"bandwidth": -1.0}, "bandwidth must be positive"),
    "infinite bandwidth": ({"bandwidth": float("inf")}, "bandwidth must be positive"),
    "nan bandwidth": ({"bandwidth": float("nan")}, "bandwidth must be positive"),
    "one zero among them": (
        {"bandwidth": np.r_[np.ones(F - 1), 0]},
        "must be positive",
    ),
    "too few bandwidths": ({"bandwidth": np.ones(F - 1)}, "one for each feature"),
    "unknown kernel": ({"kernel": "triangle"}, "kernel must be one of gaussian"),
    "mask of numbers": ({"mask": np.ones((T, S))}, "mask must be boolean"),
    "mask does not fit": ({"mask": np.ones((S, T), bool)}, "mask must broadcast"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_gets_the_same_rule_in_both_wings(both, rng, no_hook, case):
    change, words = BAD[case]
    q, k, v = draw(rng)
    given = {"q": q, "k": k, "v": v, "bandwidth": 1.0, **change}
    rules = []
    for wing in both:
        arguments = {
            name: wing.array(x) if isinstance(x, np.ndarray) else x
            for name, x in given.items()
        }
        with pytest.raises(ValueError, match=words) as error:
            wing.lib.kernel_regression(**arguments)
        rules.append(str(error.value).split(": got")[0])
    assert len(set(rules)) == 1


@pytest.mark.parametrize(
    ("n", "bandwidth", "words"),
    [(0, 1.0, "n_features must be"), (3, 0.0, "positive"), (2.5, 1.0, "n_features")],
)
def test_a_metric_refuses_what_it_cannot_be(wing, no_hook, n, bandwidth, words):
    with pytest.raises(ValueError, match=words):
        wing.make(wing.lib.LearnedMetric, n, bandwidth=bandwidth)
