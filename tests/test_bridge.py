"""Weights in and out: PyTorch's layout everywhere, nothing lost, everything listed."""

import numpy as np
import pytest
from wings import assert_close


def make(wing, seed=0):
    return wing.make(wing.lib.MultiHeadAttention, 14, 7, n_kv_heads=1, seed=seed)


@pytest.mark.parametrize("order", "<>")
def test_what_goes_in_comes_out_though_it_runs_backwards_and_is_read_only(wing, order):
    model = make(wing)
    weights = wing.lib.get_weights(model)
    for name, w in weights.items():
        weights[name] = np.flip(np.flip(w).astype(w.dtype.newbyteorder(order)))
        weights[name].flags.writeable = False
    new = make(wing, seed=1)
    wing.lib.set_weights(new, weights)
    for name, w in wing.lib.get_weights(new).items():
        np.testing.assert_array_equal(w, weights[name])


def test_weights_are_copies(wing):
    model = make(wing)
    weights = wing.lib.get_weights(model)
    before = weights["q_proj.weight"].copy()
    weights["q_proj.weight"][:] = 0
    np.testing.assert_array_equal(wing.lib.get_weights(model)["q_proj.weight"], before)


def test_both_wings_use_the_same_names_and_layout(both):
    torch, nnx = (w.lib.get_weights(make(w)) for w in both)
    assert {n: w.shape for n, w in torch.items()} == {
        n: w.shape for n, w in nnx.items()
    }
    assert torch["k_proj.weight"].shape == (2, 14)  # out, in


def test_the_parameters_dtype_is_kept(wing):
    model = make(wing)
    wing.lib.set_weights(
        model,
        {n: w.astype("float64") for n, w in wing.lib.get_weights(model).items()},
    )
    for w in wing.lib.get_weights(model).values():
        assert w.dtype == np.float32


def test_everything_that_does_not_fit_is_listed_and_nothing_changed(wing):
    model = make(wing)
    before = wing.lib.get_weights(model)
    weights = {name: w + 1 for name, w in before.items()}
    del weights["q_proj.bias"]
    weights["z_proj.weight"] = np.ones(3)
    weights["o_proj.weight"] = np.ones((2, 3))
    with pytest.raises(ValueError, match=r"Missing: q_proj\.bias") as error:
        wing.lib.set_weights(model, weights)
    assert "Not expected: z_proj.weight" in str(error.value)
    assert "o_proj.weight (model (14, 14), given (2, 3))" in str(error.value)
    for name, w in wing.lib.get_weights(model).items():
        np.testing.assert_array_equal(w, before[name])


@pytest.mark.parametrize("shape", ["linear", "conv1d", "conv2d", "norm", "embed"])
def test_each_row_of_the_table_computes_the_same(both, rng, shape):
    torch = pytest.importorskip("torch")
    nnx = pytest.importorskip("flax.nnx")
    rngs = nnx.Rngs(0)
    x = rng.standard_normal((2, 3, 5, 7)).astype("float32")  # B C H W
    # The input each layer reads, and how a channels-last answer is turned for PyTorch.
    pairs = {
        "linear": (torch.nn.Linear(7, 11), nnx.Linear(7, 11, rngs=rngs)),
        "conv1d": (
            torch.nn.Conv1d(5, 11, 3),
            nnx.Conv(5, 11, (3,), padding="VALID", rngs=rngs),
        ),
        "conv2d": (
            torch.nn.Conv2d(3, 11, (2, 3)),
            nnx.Conv(3, 11, (2, 3), padding="VALID", rngs=rngs),
        ),
        "norm": (
            torch.nn.LayerNorm(7, eps=1e-5),
            nnx.LayerNorm(7, epsilon=1e-5, rngs=rngs),
        ),
        "embed": (torch.nn.Embedding(13, 7), nnx.Embed(13, 7, rngs=rngs)),
    }
    first, second = pairs[shape]
    both[1].lib.set_weights(second, both[0].lib.get_weights(first))
    if shape == "embed":
        ids = np.array([[0, 12, 5]])
        expected, got = first(both[0].array(ids)), second(both[1].array(ids))
    elif shape == "conv1d":
        expected = first(both[0].array(x[:, 0]))
        got = second(both[1].array(x[:, 0].swapaxes(1, 2))).swapaxes(1, 2)
    elif shape == "conv2d":
        expected = first(both[0].array(x))
        got = second(both[1].array(x.transpose(0, 2, 3, 1))).transpose(0, 3, 1, 2)
    else:
        expected, got = first(both[0].array(x)), second(both[1].array(x))
    assert_close(both[1].numpy(got), both[0].numpy(expected), "float32")


def test_a_builtin_that_ours_cannot_hold_is_refused(wing):
    if wing.name == "torch":
        import torch

        layer = torch.nn.MultiheadAttention(14, 7, kdim=3, vdim=5)
        message = "kdim = vdim = embed_dim"
    else:
        from flax import nnx

        layer = nnx.MultiHeadAttention(7, 14, qkv_features=21, rngs=nnx.Rngs(0))
        message = "qkv_features"
    with pytest.raises(ValueError, match=message):
        wing.lib.from_builtin(layer)


def test_a_builtin_that_normalizes_queries_and_keys_is_refused():
    nnx, cn = pytest.importorskip("flax.nnx"), pytest.importorskip("course_lib.nnx")
    layer = nnx.MultiHeadAttention(2, 6, normalize_qk=True, rngs=nnx.Rngs(0))
    with pytest.raises(ValueError, match="normalize_qk=False"):
        cn.from_builtin(layer)


def test_a_model_keeps_none_of_the_callers_memory(wing):
    if wing.name == "torch":
        from torch import nn

        make = nn.Embedding
    else:
        from flax import nnx

        make = nnx.Embed
    # Whether a framework could go on using an array depends on where it happens to lie.
    for rows in (3, 101, 499, 997, 1009, 4001):
        model = wing.make(make, rows, 251)
        (name,) = wing.lib.get_weights(model)
        weights = {name: np.full((rows, 251), 0.5, "float32")}
        wing.lib.set_weights(model, weights)
        weights[name][:] = 7
        assert (wing.lib.get_weights(model)[name] == 0.5).all()


def waves(wing):
    """A piece with dropout and a drawn start."""
    if wing.name == "torch":
        from torch import nn

        class Waves(nn.Module):
            def __init__(self, d):
                super().__init__()
                self.maps = nn.ModuleList([wing.lib.linear(d, d) for _ in range(2)])
                self.drops = nn.ModuleList([nn.Dropout(0.5) for _ in range(2)])

            def forward(self, x):
                for drop, f in zip(self.drops, self.maps, strict=True):
                    x = drop(f(x))
                return x

        return Waves
    from flax import nnx

    class Waves(nnx.Module):
        def __init__(self, d, *, rngs):
            self.maps = nnx.data([wing.lib.linear(d, d, rngs=rngs) for _ in range(2)])
            self.drops = nnx.data([nnx.Dropout(0.5, rngs=rngs) for _ in range(2)])

        def __call__(self, x):
            for drop, f in zip(self.drops, self.maps, strict=True):
                x = drop(f(x))
            return x

    return Waves


def test_a_model_made_of_weights_equals_one_that_they_were_set_in(wing, rng):
    piece, x = waves(wing), wing.array(rng.standard_normal((5, 7)).astype("float32"))
    usual = wing.make(piece, 7)
    drawn = {
        name: rng.standard_normal(w.shape).astype("float32")
        for name, w in wing.lib.get_weights(usual).items()
    }
    wing.lib.set_weights(usual, drawn)
    given = dict(drawn)
    made = wing.module("bridge").from_weights(piece, given, 7)
    assert given == {}, "each array is let go of once it is copied"
    made.eval()
    np.testing.assert_array_equal(wing.numpy(made(x)), wing.numpy(usual(x)))
    for name, w in wing.lib.get_weights(made).items():
        np.testing.assert_array_equal(w, drawn[name])
    made.train()
    assert (wing.numpy(made(x)) != wing.numpy(made(x))).any(), "dropout draws nothing"


def test_layers_of_a_model_made_of_weights_drop_different_entries():
    nnx = pytest.importorskip("flax.nnx")
    from wings import get_wing

    wing = get_wing("nnx")
    piece = waves(wing)
    usual = wing.make(piece, 7)
    weights = wing.lib.get_weights(usual)
    made = wing.module("bridge").from_weights(piece, weights, 7)
    made.train()
    ones = np.ones((5, 7), np.float32)
    first, second = (wing.numpy(drop(ones)) for drop in made.drops)
    assert (first != second).any()
    assert nnx.graphdef(usual) != nnx.graphdef(made)  # only the mode differs
    made.eval()
    assert nnx.graphdef(usual) == nnx.graphdef(made), "two programs for one model"


def test_16_bits_travel_as_32_without_a_rounding(wing, rng):
    model = wing.cast(wing.make(wing.lib.linear, 3, 5), "bfloat16")
    weights = wing.lib.get_weights(model)
    assert {w.dtype.name for w in weights.values()} == {"float32"}
    other = wing.cast(wing.make(wing.lib.linear, 3, 5, seed=1), "bfloat16")
    wing.lib.set_weights(other, weights)
    for name, w in wing.lib.get_weights(other).items():
        np.testing.assert_array_equal(w, weights[name])


def test_a_compiled_models_weights_are_a_plain_ones(tmp_path):
    torch, lib = pytest.importorskip("torch"), pytest.importorskip("course_lib.torch")

    def block(seed):
        torch.manual_seed(seed)
        return lib.Block(6, 2)

    plain, compiled = block(0), torch.compile(block(1), backend="eager")
    parts = block(2)
    parts.attention = torch.compile(parts.attention, backend="eager")
    for model in (compiled, parts):
        assert not any("_orig_mod" in name for name in lib.get_weights(model))
        lib.save_weights(model, tmp_path / "w.safetensors")
        lib.load_weights(plain, tmp_path / "w.safetensors")
        for name, w in lib.get_weights(model).items():
            np.testing.assert_array_equal(lib.get_weights(plain)[name], w)
        lib.set_weights(model, lib.get_weights(block(3)))
