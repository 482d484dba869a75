"""Kernel regression: statsmodels' numbers, edges, a learned metric, refusals."""

import warnings

import numpy as np
import pytest
from wings import assert_close, each

from course_lib import oracle
from course_lib.data.households import draw_spending, engel

T, S, F, DV = 3, 5, 7, 11
KERNELS = ("gaussian", "epanechnikov", "boxcar")


def draw(rng):
    return [rng.standard_normal(shape) for shape in ((T, F), (S, F), (S, DV))]


# One kernel in NNX, but where the kernels themselves are tried.
KERNEL = each("kernel", KERNELS, nnx=["epanechnikov"])


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


@pytest.mark.parametrize("kernel", KERNELS)
def test_kernel_scores_are_log_kernels(wing, kernel):
    u = np.array([0.0, 0.3, 0.999, 1.0, 1.001, 3.0])
    log_kernel = wing.module("extra.kernel_regression")._kernel_scores
    scores = wing.numpy(log_kernel(wing.array(u**2), kernel=kernel))
    expected = [oracle.kernel(x, kernel) for x in u]
    np.testing.assert_allclose(np.exp(scores), expected, atol=1e-12)


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


def fit_metric(wing, sample):
    model = wing.make(wing.lib.LearnedMetric, sample.features.shape[1])
    model = wing.cast(model, "float64")
    keys, values = wing.array(sample.features), wing.array(sample.values)

    def loss(m):
        return wing.lib.leave_one_out(keys, values, bandwidth=m.bandwidth)

    if wing.name == "torch":
        import torch

        adam = torch.optim.Adam(model.parameters(), lr=0.1)
        for _ in range(60):
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

        for _ in range(60):
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


def test_numpys_numbers_are_bandwidths(wing, rng, no_hook):
    arrays = [wing.array(a.astype("float16")) for a in draw(rng)]
    output, _ = wing.lib.kernel_regression(*arrays, np.float32(0.5))
    assert wing.numpy(output).dtype == "float16"


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
