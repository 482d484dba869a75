"""Efficient attention: exact where it says exact, small where it says small."""

import numpy as np
import pytest
from hypothesis import strategies as st
from wings import assert_close, drawn

from course_lib import oracle

DH, DV = 5, 7


def draw(rng, t, s, dtype="float64", batch=(2,)):
    shapes = ((t, DH), (s, DH), (s, DV))
    return [rng.standard_normal((*batch, *shape)).astype(dtype) for shape in shapes]


def causal_mask(t, s):
    return np.arange(s) <= np.arange(t)[:, None] + s - t


# Queries, keys and the tile, and the kind of number: few, since JAX compiles each.
SIZES = st.sampled_from(
    [
        (7, 23, 5, "float64"),
        (23, 7, 1, "float32"),
        (7, 7, 29, "float64"),
        (1, 1, 7, "float32"),
    ]
)


def test_a_query_before_every_key_gets_zero(wing, rng):
    q, k, v = draw(rng, 7, 3)
    got = wing.lib.tiled_attention(*map(wing.array, (q, k, v)), causal=True, tile=2)
    assert (wing.numpy(got)[:, :4] == 0).all()
    assert (wing.numpy(got)[:, 4:] != 0).all()


@drawn(st.integers(0, 2**32 - 1), SIZES, st.booleans(), examples=12)
def test_linear_attention_equals_the_oracle(wing, seed, sizes, causal):
    _, t, tile, dtype = sizes
    q, k, v = draw(np.random.default_rng(seed), t, t, dtype)
    expected = oracle.linear_attention(q, k, v, causal)
    got = wing.lib.linear_attention(
        *map(wing.array, (q, k, v)), causal=causal, tile=tile
    )
    assert_close(wing.numpy(got), expected, dtype)


def test_linear_attention_takes_fewer_queries_than_keys(wing, rng):
    q, k, v = draw(rng, 3, 11)
    got = wing.lib.linear_attention(*map(wing.array, (q, k, v)))
    assert_close(wing.numpy(got), oracle.linear_attention(q, k, v))


@pytest.mark.parametrize("name", ["tiled", "window", "linear"])
def test_the_past_cannot_see_the_future(wing, rng, name):
    q, k, v = draw(rng, 13, 13)
    options = {"tiled": {"tile": 4}, "window": {"size": 4}, "linear": {"tile": 4}}[name]
    f = getattr(wing.lib, f"{name}_attention")
    before = wing.numpy(f(*map(wing.array, (q, k, v)), causal=True, **options))
    q[:, 6:], k[:, 6:], v[:, 6:] = 3.0, -2.0, 5.0
    after = wing.numpy(f(*map(wing.array, (q, k, v)), causal=True, **options))
    np.testing.assert_array_equal(after[:, :6], before[:, :6])
    assert np.abs(after[:, 6:] - before[:, 6:]).max() > 0.1


def largest_array_in_the_program(f, *arrays):
    """Entries of the largest array that appears anywhere in a traced program."""
    import jax

    def sizes(jaxpr):
        for equation in jaxpr.eqns:
            yield from (v.aval.size for v in equation.outvars)
            for value in equation.params.values():
                for one in value if isinstance(value, (tuple, list)) else [value]:
                    if hasattr(inner := getattr(one, "jaxpr", one), "eqns"):
                        yield from sizes(inner)

    return max(sizes(jax.make_jaxpr(f)(*arrays).jaxpr))


@pytest.mark.parametrize("name", ["tiled", "window", "linear"])
def test_no_table_of_all_pairs_is_ever_formed(wing, rng, name):
    length, tile = 512, 16
    q, k, v = draw(rng, length, length, "float32", batch=())
    options = {"size": tile} if name == "window" else {"tile": tile}

    def loss(q, k, v):
        f = getattr(wing.lib, f"{name}_attention")
        return f(q, k, v, causal=True, **options).sum()

    if wing.name == "nnx":
        import jax

        largest = largest_array_in_the_program(
            jax.grad(loss, (0, 1, 2)), *map(wing.array, (q, k, v))
        )
    else:
        from torch.utils._python_dispatch import TorchDispatchMode

        class Watch(TorchDispatchMode):
            largest = 0

            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                out = func(*args, **(kwargs or {}))
                for one in out if isinstance(out, (tuple, list)) else [out]:
                    if hasattr(one, "numel"):
                        Watch.largest = max(Watch.largest, one.numel())
                return out

        with Watch():
            wing.grad(loss, q, k, v)
        largest = Watch.largest
    assert largest <= 4 * length * tile < length**2 / 4


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda lib, q, k: lib.window_attention(q, k, k, size=2), "same positions"),
        (
            lambda lib, q, k: lib.linear_attention(q, k, k, causal=True),
            "3 queries and 5 keys",
        ),
    ],
)
def test_what_cannot_be_computed_is_refused(wing, rng, no_hook, call, message):
    q, k = (wing.array(rng.standard_normal((n, DH))) for n in (3, 5))
    with pytest.raises(ValueError, match=message):
        call(wing.lib, q, k)
